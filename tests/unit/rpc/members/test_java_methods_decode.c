/* Requests by a Java member's own name: what the policy denies, and who is asked for a class. What they mean is said by
 * conformance cases. */
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
      cmocka_unit_test(test_denied_overloads_are_no_candidates),
      cmocka_unit_test(test_get_calls_idempotent_members_alone),
      cmocka_unit_test(test_without_a_catalog),
      cmocka_unit_test(test_classes_beyond_the_catalog),
      cmocka_unit_test(test_a_loader_is_asked_alone),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
