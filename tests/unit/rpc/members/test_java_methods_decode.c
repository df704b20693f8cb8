/* Requests by a Java member's own name: each case is a name, its params, and the operation as text or the
 * error. */
#include "classfile/catalog.h"
#include "rpc/members/java_methods_decode.h"
#include "rpc/members/java_methods_index.h"
#include "tests/unit/rpc/show_operation.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define CLASS "meta.fixtures.Overloads"

enum { DIGITS_MAX = 100 };

struct bench {
  struct catalog *catalog;
  struct java_methods_index *index;
  struct arena arena;
  struct operation operation;
  struct outcome outcome;
  struct buffer shown;
  struct rpc_names names;
  struct policy_config config;
  struct java_method_rules rules;
};

struct decode_case {
  const char *member;
  const char *params; /* NULL: none */
  const char *wanted; /* an operation behind the class's name, or an error's text */
};

/* No object is looked at here. */
bool jvm_target_find_supertype(const struct jvm_target *target, const struct jvm_supertype_judge *judge,
                               struct jvm_target *found)
{
  (void)target;
  (void)judge;
  (void)found;
  return false;
}

static int set_up(void **state)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  const struct catalog_config config = {.class_path = TEST_CLASSES};
  arena_init(&bench->arena);
  buffer_init(&bench->shown);
  bench->config.default_action = POLICY_ALLOW;
  bench->rules.digits_max = DIGITS_MAX;
  bench->index = java_methods_index_create();
  *state = bench;
  return catalog_create(&config, &bench->catalog, NULL) == JP_OK && bench->index != NULL ? 0 : 1;
}

static int tear_down(void **state)
{
  struct bench *bench = *state;
  catalog_destroy(bench->catalog);
  java_methods_index_destroy(bench->index);
  arena_fini(&bench->arena);
  buffer_fini(&bench->shown);
  test_free(bench);
  return 0;
}

static enum jp_status decode(struct bench *bench, struct jsonrpc_request *request, const char *params)
{
  static const struct rpc_session_key no_session;
  struct policy *policy = NULL;
  struct jp_error error = {0};
  arena_reset(&bench->arena);
  request->arena = &bench->arena;
  if (params != NULL) {
    struct json_fault fault;
    if (json_validate(text_of(params), (struct json_limits){.max_depth = 100}, TEXT(""), &fault) != JP_OK)
      fail_msg("a case is no JSON: %s", params);
    request->has_params = true;
    request->params = json_root(text_of(params));
  }
  if (policy_create(&bench->config, &policy, &error) != JP_OK)
    fail_msg("%s", error.text);
  const struct rpc_authorizer authorizer = {.policy = policy, .names = &bench->names, .session = &no_session};
  enum jp_status status =
      java_method_decode(request, bench->catalog, bench->index, &authorizer, &bench->rules, &bench->arena,
                         &bench->operation, &bench->outcome);
  policy_destroy(policy);
  return status;
}

static void check_requests(struct bench *bench, enum jsonrpc_version version, const struct decode_case *cases,
                           size_t count)
{
  for (size_t i = 0; i < count; i++) {
    char name[200];
    snprintf(name, sizeof name, CLASS ".%s", cases[i].member);
    struct jsonrpc_request request = {.method = text_of(name), .version = version};
    if (decode(bench, &request, cases[i].params) != JP_OK)
      fail_msg("%s %s: %.*s", name, cases[i].params, TEXT_ARGS(bench->outcome.message));
    assert_true(bench->operation.by_value);
    assert_true(text_equal(bench->operation.type, TEXT(CLASS)));
    show_operation(&bench->shown, &bench->operation);
    struct text shown = buffer_text(&bench->shown);
    struct text head = bench->operation.kind == OP_NEW ? TEXT("new " CLASS " ") : TEXT("call " CLASS " ");
    assert_true(text_starts_with(shown, head));
    shown = text_slice(shown, head.len, shown.len);
    if (!text_equal(shown, text_of(cases[i].wanted)))
      fail_msg("%s %s\ngot    %.*s\nwanted %s", name, cases[i].params, TEXT_ARGS(shown), cases[i].wanted);
  }
}

static void check_error(struct bench *bench, struct jsonrpc_request *request, const char *params,
                        enum outcome_failure failure, const char *message)
{
  if (decode(bench, request, params) == JP_OK)
    fail_msg("%.*s %s was taken", TEXT_ARGS(request->method), params);
  if (bench->outcome.kind != OUTCOME_ERROR || bench->outcome.failure != failure ||
      !text_equal(bench->outcome.message, text_of(message)))
    fail_msg("%.*s %s\ngot    %d %.*s\nwanted %d %s", TEXT_ARGS(request->method), params,
             bench->outcome.failure, TEXT_ARGS(bench->outcome.message), failure, message);
}

static void check_errors(struct bench *bench, enum outcome_failure failure, const struct decode_case *cases,
                         size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct jsonrpc_request request = {.method = text_of(cases[i].member)};
    check_error(bench, &request, cases[i].params, failure, cases[i].wanted);
  }
}

static void test_by_position(void **state)
{
  static const struct decode_case cases[] = {
      {"new", NULL, "<init>"},
      {"new", "[]", "<init>"},
      {"new", "[4]", "<init> (int)4"},
      {"add", "[3,5]", "add 3 5"},
      {"add-int-int", "[3,5]", "add (int)3 (int)5"},
      {"add-double-double", "[3,5]", "add (double)3 (double)5"},
      {"new-void", "[]", "<init>"},
      {"add", "[{\"type\":\"int\",\"value\":3},5]", "add (int)3 5"},
      {"add-double-double", "[{\"type\":\"int\",\"value\":3},5]", "add (int)3 (double)5"},
      {"sum", "[{\"ref\":3},[1,2]]", "sum on @3 [(java.lang.Long)1,(java.lang.Long)2]"},
      {"sum", "[3,[1]]", "sum on @3 [(java.lang.Long)1]"},
      {"name", "[3,4]", "name on @3 4"},
      {"fill", "[\"QQ==\",[1],true]", "fill 'QQ==' [1] true"},
  };
  check_requests(*state, JSONRPC_2_0, cases, COUNT_OF(cases));
}

static void test_by_name(void **state)
{
  static const struct decode_case cases[] = {
      {"add", "{\"b\":5,\"a\":3}", "add 3 5"},
      {"add-int-int", "{\"\\u0062\":5,\"a\":3}", "add (int)3 (int)5"},
      {"sum", "{\"numbers\":[1],\"instance\":{\"ref\":3}}", "sum on @3 [(java.lang.Long)1]"},
      {"name", "{\"instance\":3,\"instance_\":4}", "name on @3 4"},
      {"size", "{\"instance\":3}", "size on @3"},
      {"size", "{\"of\":3}", "size (java.lang.Object)3"},
  };
  check_requests(*state, JSONRPC_2_0, cases, COUNT_OF(cases));
}

/* A static method and one of an object take the same number of params. */
static void test_a_ref_in_front_is_the_receiver(void **state)
{
  static const struct decode_case cases[] = {
      {"size", "[{\"ref\":7}]", "size on @7"},
      {"size", "[7]", "size (java.lang.Object)7"},
      {"size", "[\"x\"]", "size (java.lang.Object)'x'"},
  };
  check_requests(*state, JSONRPC_2_0, cases, COUNT_OF(cases));
}

static void test_a_value_is_a_receiver(void **state)
{
  static const struct decode_case cases[] = {
      {"sum", "[\"x\",[1]]", "sum on (" CLASS ")'x' [(java.lang.Long)1]"},
      {"sum", "{\"numbers\":[1],\"instance\":\"\\u0041\"}", "sum on (" CLASS ")'A' [(java.lang.Long)1]"},
      {"sum", "[{\"type\":\"T\",\"value\":[{\"ref\":3}]},[1]]", "sum on (T)[@3] [(java.lang.Long)1]"},
      {"size", "{\"instance\":\"x\"}", "size on (" CLASS ")'x'"},
      {"size", "[{\"type\":\"T\",\"value\":\"x\"}]", "size (T)'x'"},
  };
  check_requests(*state, JSONRPC_2_0, cases, COUNT_OF(cases));
  static const struct decode_case coerced[] = {
      {"sum", "[\"x\",[1]]", "sum on (" CLASS ")'x' [(java.lang.Long)1]"},
      {"sum", "[\"3\",[1]]", "sum on @3 [(java.lang.Long)1]"},
  };
  check_requests(*state, JSONRPC_1_1, coerced, COUNT_OF(coerced));
}

static void test_variable_arity(void **state)
{
  static const struct decode_case cases[] = {
      {"join", "[]", "join"},
      {"join", "[\"a\",\"b\",\"c\"]", "join 'a' 'b' 'c'"},
      {"join", "[[\"a\"]]", "join (java.lang.String[])['a']"},
      {"join", "{\"parts\":[\"a\"]}", "join (java.lang.String[])['a']"},
  };
  check_requests(*state, JSONRPC_2_0, cases, COUNT_OF(cases));
}

static void test_params_of_1_1_are_coerced(void **state)
{
  static const struct decode_case cases[] = {
      {"add-int-int", "[\"3\",true]", "add (int)3 (int)1"},
      {"add-int-int", "[3,5,9]", "add (int)3 (int)5"},
      {"add-int-int", "{\"1\":5,\"0\":3}", "add (int)3 (int)5"},
      {"add-int-int", "{\"1\":5,\"a\":3}", "add (int)3 (int)5"},
      {"add-int-int", "{\"b\":5,\"a\":3,\"c\":9}", "add (int)3 (int)5"},
      {"sum", "[\"3\",[1]]", "sum on @3 [(java.lang.Long)1]"},
      {"fill", "[\"QQ==\",1,1]", "fill 'QQ==' [1] true"},
      {"add-int-int", "[null,5]", "add (int)null (int)5"},
      {"join", "[\"a\",\"b\"]", "join 'a' 'b'"},
  };
  check_requests(*state, JSONRPC_1_1, cases, COUNT_OF(cases));
}

static void test_unknown_names(void **state)
{
  static const struct decode_case cases[] = {
      {"no.such.Class.m", "[]", "Invalid method: no.such.Class.m (no such class)"},
      {CLASS ".nothing", "[]", "Invalid method: " CLASS ".nothing (no such member)"},
      {CLASS ".Add", "[]", "Invalid method: " CLASS ".Add (no such member)"},
      {CLASS ".add-int", "[3]", "Invalid method: " CLASS ".add-int (no such overload)"},
      {CLASS ".<init>", "[]", "Invalid method: " CLASS ".<init> (no such member)"},
      {"rpc.nothing", "[]", "Invalid method: rpc.nothing"},
      {"system.nothing", "[]", "Invalid method: system.nothing"},
      {CLASS ".", "[]", "Invalid method: " CLASS "."},
  };
  check_errors(*state, FAILURE_NOT_FOUND, cases, COUNT_OF(cases));
}

static void test_wrong_params(void **state)
{
  static const struct decode_case cases[] = {
      {CLASS ".add", "[1]", "the number of params is wrong; there is: add(a, b), add(a, b)"},
      {CLASS ".add", NULL, "the number of params is wrong; there is: add(a, b), add(a, b)"},
      {CLASS ".sum", "[[1]]", "the number of params is wrong; there is: sum(instance, numbers)"},
      {CLASS ".sum", "[0,[1]]",
       "'instance' must be a ref ({\"ref\": N}, or N) or a value ({\"type\": T, \"value\": V}, or its text); "
       "there is: sum(instance, numbers)"},
      {CLASS ".sum", "[{\"value\":\"x\"},[1]]",
       "'instance' must be a ref ({\"ref\": N}, or N) or a value ({\"type\": T, \"value\": V}, or its text); "
       "there is: sum(instance, numbers)"},
      {CLASS ".sum", "[{\"type\":\"T\"},[1]]", "instance: has neither 'value' nor 'ref'"},
      {CLASS ".add", "{\"a\":1,\"c\":2}",
       "these are not the names of the params; there is: add(a, b), add(a, b)"},
      {CLASS ".add", "{\"a\":1,\"b\":2,\"c\":3}",
       "these are not the names of the params; there is: add(a, b), add(a, b)"},
      {CLASS ".add", "{\"a\":1,\"a\":2}",
       "these are not the names of the params; there is: add(a, b), add(a, b)"},
      {CLASS ".add", "{\"0\":1,\"1\":2}",
       "these are not the names of the params; there is: add(a, b), add(a, b)"},
      {CLASS ".scale", "{\"a\":1,\"factor\":2}",
       "several overloads have these params in different orders; there is: scale(a, factor), scale(factor, "
       "a)"},
  };
  check_errors(*state, FAILURE_INVALID_PARAMS, cases, COUNT_OF(cases));
}

/* Who may not use a class does not learn whether it exists; one without a package looks like a mistyped
 * name. */
static void test_denied_classes(void **state)
{
  struct bench *bench = *state;
  bench->config = (struct policy_config){.allow = "other.**", .default_action = POLICY_UNSET};
  struct jsonrpc_request request = {.method = TEXT(CLASS ".add")};
  assert_int_equal(decode(bench, &request, "[3,5]"), JP_DENIED);
  assert_int_equal(bench->outcome.failure, FAILURE_DENIED);
  request.method = TEXT("meta.fixtures.Nothing.add");
  assert_int_equal(decode(bench, &request, "[3,5]"), JP_DENIED);
  assert_int_equal(bench->outcome.failure, FAILURE_DENIED);
  request.method = TEXT("NoPackage.run");
  check_error(bench, &request, "[3,5]", FAILURE_NOT_FOUND, "Invalid method: NoPackage.run");
  request.method = TEXT("other.Nothing.add");
  check_error(bench, &request, "[3,5]", FAILURE_NOT_FOUND,
              "Invalid method: other.Nothing.add (no such class)");
  bench->config = (struct policy_config){.default_action = POLICY_ALLOW};
}

static void test_denied_overloads_are_no_candidates(void **state)
{
  struct bench *bench = *state;
  struct jsonrpc_request request = {.method = TEXT(CLASS ".show")};
  static const char message[] =
      "these are not the names of the params; there is: show(number), show(text, width)";
  check_error(bench, &request, "{\"x\":1}", FAILURE_INVALID_PARAMS, message);
  bench->config.presets = "deny-nonpublic";
  request = (struct jsonrpc_request){.method = TEXT(CLASS ".show")};
  check_error(bench, &request, "{\"x\":1}", FAILURE_INVALID_PARAMS,
              "these are not the names of the params; there is: show(number)");
  bench->config.presets = NULL;
}

static void test_get_calls_idempotent_members_alone(void **state)
{
  struct bench *bench = *state;
  bench->config.idempotent = CLASS ".add";
  struct jsonrpc_request request = {.method = TEXT(CLASS ".add"), .version = JSONRPC_1_1, .only_safe = true};
  assert_int_equal(decode(bench, &request, "[3,5]"), JP_OK);
  request.method = TEXT(CLASS ".join");
  check_error(bench, &request, "[\"a\"]", FAILURE_NOT_SAFE,
              "'" CLASS ".join' may change something, so that it is called by POST");
  bench->config.idempotent = NULL;
}

static void test_without_a_catalog(void **state)
{
  struct bench *bench = *state;
  struct catalog *catalog = bench->catalog;
  struct jsonrpc_request request = {.method = TEXT(CLASS ".add")};
  bench->catalog = NULL;
  check_error(bench, &request, "[3,5]", FAILURE_NOT_FOUND, "Invalid method: " CLASS ".add");
  bench->catalog = catalog;
}

/* ---- classes that only the JVM knows ---- */

enum { PUBLIC = 1, PUBLIC_STATIC = 9, PRIVATE_STATIC = 10, REF_OF_OTHER = 7 };

#define METHOD(method_name, method_descriptor, flags, count)                                                 \
  {                                                                                                          \
    .name = TEXT(method_name), .descriptor = TEXT(method_descriptor), .access = (flags),                     \
    .parameter_count = (count)                                                                               \
  }

/* x.Plug, and the one of another loader, whose object is REF_OF_OTHER. */
static struct op_shape_member plug_methods[] = {
    METHOD("run", "(I)V", PUBLIC_STATIC, 1),
    METHOD("run", "(J)V", PRIVATE_STATIC, 1),
};
static struct op_shape_member other_methods[] = {
    METHOD("run", "(I)V", PUBLIC_STATIC, 1),
    METHOD("run", "(Ljava/lang/String;I)V", PUBLIC, 2),
};
static struct op_shape plug = {.name = TEXT("x.Plug"),
                               .methods = plug_methods,
                               .method_count = COUNT_OF(plug_methods),
                               .access = PUBLIC};
static struct op_shape other_plug = {.name = TEXT("x.Plug"),
                                     .methods = other_methods,
                                     .method_count = COUNT_OF(other_methods),
                                     .access = PUBLIC};

struct asking {
  struct arena *arena;
  size_t count;
  struct operation last;
  bool is_several;
};

/* java_class_lookup.find, with a struct asking */
static bool find_plug(void *context, const struct operation *asked, struct op_look *look,
                      struct outcome *outcome)
{
  struct asking *asking = context;
  bool is_other = asked->has_instance && asked->instance == REF_OF_OTHER;
  asking->count++;
  asking->last = *asked;
  assert_true(text_equal(look->only_member, asked->member));
  if (!text_equal(asked->type, TEXT("x.Plug")) || (asking->is_several && !is_other)) {
    outcome_fail(outcome, asking->arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException", "as told");
    outcome->is_ambiguous = asking->is_several;
    return false;
  }
  look->class_name = look->judged_name = TEXT("x.Plug");
  look->shapes = is_other ? &other_plug : &plug;
  look->shape_count = 1;
  return true;
}

static void check_beyond(struct bench *bench, const char *method, const char *params, const char *wanted)
{
  struct jsonrpc_request request = {.method = text_of(method)};
  if (decode(bench, &request, params) != JP_OK)
    fail_msg("%s: %.*s", params, TEXT_ARGS(bench->outcome.message));
  show_operation(&bench->shown, &bench->operation);
  if (!text_equal(buffer_text(&bench->shown), text_of(wanted)))
    fail_msg("%s\ngot    %.*s\nwanted %s", params, TEXT_ARGS(buffer_text(&bench->shown)), wanted);
}

static void test_classes_beyond_the_catalog(void **state)
{
  struct bench *bench = *state;
  struct asking asking = {.arena = &bench->arena};
  const struct java_class_lookup lookup = {&asking, find_plug};
  struct jsonrpc_request request = {.method = TEXT(CLASS ".add")};
  bench->rules.lookup = &lookup;
  assert_int_equal(decode(bench, &request, "[3,5]"), JP_OK);
  assert_int_equal(asking.count, 0); /* the catalog has it */
  check_beyond(bench, "x.Plug.run", "[5]", "call x.Plug run 5");
  assert_true(asking.last.tells_loaders);
  check_beyond(bench, "x.Plug.run-int", "[5]", "call x.Plug run (int)5");
  check_beyond(bench, "x.Plug.run-long", "{\"arg0\":5}", "call x.Plug run (long)5");
  request.method = TEXT("x.Plug.run");
  check_error(bench, &request, "[1,2,3]", FAILURE_INVALID_PARAMS,
              "the number of params is wrong; there is: run(arg0), run(arg0)");
  request = (struct jsonrpc_request){.method = TEXT("x.Plug.stop")};
  check_error(bench, &request, "[]", FAILURE_NOT_FOUND, "Invalid method: x.Plug.stop (no such member)");
  request = (struct jsonrpc_request){.method = TEXT("x.Plag.run")};
  check_error(bench, &request, "[]", FAILURE_NOT_FOUND, "Invalid method: x.Plag.run (no such class)");
  bench->config.presets = "deny-nonpublic";
  request = (struct jsonrpc_request){.method = TEXT("x.Plug.run")};
  check_error(bench, &request, "[1,2]", FAILURE_INVALID_PARAMS,
              "the number of params is wrong; there is: run(arg0)");
  bench->config.presets = NULL;
  bench->rules.lookup = NULL;
}

/* Its class may have other members than the class that the name means without it. */
static void test_the_class_of_the_instance_goes_first(void **state)
{
  struct bench *bench = *state;
  struct asking asking = {.arena = &bench->arena, .is_several = true};
  const struct java_class_lookup lookup = {&asking, find_plug};
  struct jsonrpc_request request = {.method = TEXT("x.Plug.run")};
  bench->rules.lookup = &lookup;
  check_beyond(bench, "x.Plug.run", "[{\"ref\":7},\"a\",1]",
               "call x.Plug run on @7 (java.lang.String)'a' (int)1");
  check_beyond(bench, "x.Plug.run", "[7,\"a\",1]", "call x.Plug run on @7 (java.lang.String)'a' (int)1");
  check_beyond(bench, "x.Plug.run", "{\"arg1\":1,\"instance\":7,\"arg0\":\"a\"}",
               "call x.Plug run on @7 (java.lang.String)'a' (int)1");
  assert_false(asking.last.tells_loaders);
  check_error(bench, &request, "[{\"ref\":7},1]", FAILURE_INVALID_PARAMS,
              "the number of params is wrong; there is: run(arg0), run(instance, arg0, arg1)");
  check_error(bench, &request, "[7]", FAILURE_NOT_FOUND, "as told"); /* an int for the static method */
  assert_true(asking.last.tells_loaders);
  assert_false(asking.last.has_instance);
  check_error(bench, &request, "[8,\"a\",1]", FAILURE_NOT_FOUND, "as told");
  bench->rules.lookup = NULL;
}

/* It is asked alone, also for a class that the catalog has, and its errors are told. */
static void test_a_loader_is_asked_alone(void **state)
{
  struct bench *bench = *state;
  struct asking asking = {.arena = &bench->arena};
  const struct java_class_lookup lookup = {&asking, find_plug};
  struct jsonrpc_request request = {.method = TEXT(CLASS ".add")};
  bench->rules.lookup = &lookup;
  bench->rules.loader = 4;
  check_error(bench, &request, "[3,5]", FAILURE_NOT_FOUND, "as told");
  check_beyond(bench, "x.Plug.run", "[7]", "call x.Plug run 7");
  assert_int_equal(asking.count, 2);
  assert_int_equal(asking.last.loader, 4);
  assert_false(asking.last.has_instance);
  bench->config = (struct policy_config){.allow = "other.**", .default_action = POLICY_UNSET};
  request.method = TEXT("x.Plug.run");
  assert_int_equal(decode(bench, &request, "[7]"), JP_DENIED);
  assert_int_equal(asking.count, 2);
  bench->config = (struct policy_config){.default_action = POLICY_ALLOW};
  bench->rules.lookup = NULL;
  bench->rules.loader = 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_position),
      cmocka_unit_test(test_by_name),
      cmocka_unit_test(test_a_ref_in_front_is_the_receiver),
      cmocka_unit_test(test_a_value_is_a_receiver),
      cmocka_unit_test(test_variable_arity),
      cmocka_unit_test(test_params_of_1_1_are_coerced),
      cmocka_unit_test(test_unknown_names),
      cmocka_unit_test(test_wrong_params),
      cmocka_unit_test(test_denied_classes),
      cmocka_unit_test(test_denied_overloads_are_no_candidates),
      cmocka_unit_test(test_get_calls_idempotent_members_alone),
      cmocka_unit_test(test_without_a_catalog),
      cmocka_unit_test(test_classes_beyond_the_catalog),
      cmocka_unit_test(test_the_class_of_the_instance_goes_first),
      cmocka_unit_test(test_a_loader_is_asked_alone),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
