/* What Java does with a callback, what its client is told of a call, and what becomes of its answer. */
#include "tests/unit/jni/callbacks/fake_client.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/objects/object_table.h"
#include "jni/runtime/throwables.h"

#include <stdio.h>

static struct jvm *the_jvm;
static struct members_session session;
static struct jvm_callbacks client;

#define ON       "'type':'fixtures.members.Callbacks'"
#define SEVEN    "{'ref':{'callback':7}}"
#define AS(type) "{'type':'" type "','ref':{'callback':7}}"

static int set_up(void **state)
{
  (void)state;
  members_session_init(&session, session.thread);
  fake_client_init(&client, the_jvm, session.objects, &session.limits);
  session.callbacks = &client;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  fake_client_fini(&client);
  members_session_fini(&session);
  return 0;
}

static void check(const char *params, const char *wanted)
{
  const struct members_case one = {"call", params, wanted, NULL};
  members_check(&session, &one);
}

static void check_last(const char *wanted)
{
  assert_string_equal(client.last, wanted);
}

/* ---- answers by the name of the method ---- */

static void answer_usual(struct jvm_callback_call *call)
{
  struct text name = call->method->name;
  if (call->method->is_void)
    fake_answer_null(call);
  else if (text_equal(name, TEXT("greet")) || text_equal(name, TEXT("name")))
    fake_answer_text(call, "me");
  else
    fake_answer_int(call, 1);
}

static void tells_what_is_called(void **state)
{
  (void)state;
  client.answer = answer_usual;
  check("{" ON ",'method':'compare','args':[" SEVEN ",'a',3]}", "int 1");
  check_last("java.util.Comparator.compare(java.lang.String a, java.lang.Integer 3)");
  check("{" ON ",'method':'compare','args':[" SEVEN ",null,{'type':'java.util.Date','value':'x'}]}",
        "-32602");
  check("{" ON ",'method':'compare','args':[" SEVEN ",null,['x']]}", "int 1");
  check_last("java.util.Comparator.compare(java.lang.Object null, java.util.ArrayList ref)");
  check("{" ON ",'method':'greet','args':[" SEVEN ",'x']}",
        "-32602 argument 0: callback 7: Java has this object as a "
        "java.util.Comparator, which is no "
        "fixtures.members.Callbacks$Secret");
}

static void answer_sorted(struct jvm_callback_call *call)
{
  const char *last = client.last;
  const char *first = strstr(last, "String ") + 7;
  const char *second = strstr(first, "String ") + 7;
  fake_answer_int(call, *second - *first); /* descending */
}

static void sorts_by_a_client(void **state)
{
  (void)state;
  client.answer = answer_sorted;
  check("{" ON ",'method':'compareAll','args':[" SEVEN "]}", "java.lang.String [d, c, b, a]");
}

static void answer_primitives(struct jvm_callback_call *call)
{
  static const struct {
    const char *called;
    struct op_value value;
  } rows[] = {
      {"not(boolean true)", {.kind = OP_BOOLEAN, .boolean = false}},
      {"next(byte 1)", {.kind = OP_INTEGER, .integer = -128}},
      {"next(char a)", {.kind = OP_TEXT, .text = {"b", 1}}},
      {"next(short 2)", {.kind = OP_TEXT, .text = {"-3", 2}}},
      {"next(int 3)", {.kind = OP_INTEGER, .type = {"int", 3}, .integer = 2147483647}},
      {"next(long 4)", {.kind = OP_INTEGER, .suffix = 'l', .integer = INT64_MIN}},
      {"next(float 5)", {.kind = OP_INTEGER, .integer = 5}},
      {"next(double 6)", {.kind = OP_DOUBLE, .decimal = 0.5}},
      {"next([I values ref)", {.kind = OP_LIST}},
      {"nothing()", {.kind = OP_NULL}},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (strstr(client.last, rows[i].called) != NULL) {
      fake_answer_value(call, rows[i].value);
      return;
    }
  fail_msg("%s", client.last);
}

static void passes_primitives(void **state)
{
  (void)state;
  client.answer = answer_primitives;
  check("{" ON ",'method':'primitives','args':[" SEVEN "]}",
        "java.lang.String false -128 b -3 2147483647 -9223372036854775808 5.0 0.5 0");
  assert_int_equal(client.calls, 10);
  assert_int_equal(client.closed, 10);
}

static struct op_value next_answer;

static void answer_next(struct jvm_callback_call *call)
{
  fake_answer_value(call, next_answer);
}

static void an_answer_that_does_not_fit_is_told(void **state)
{
  (void)state;
  static const struct {
    const char *method;
    struct op_value value;
    const char *message;
  } cases[] = {
      {"nextInt", {.kind = OP_NULL}, "value: null: a primitive cannot be null for int"},
      {"nextInt", {.kind = OP_INTEGER, .integer = 1LL << 31}, "value: 2147483648: out of range for int"},
      {"nextInt", {.kind = OP_TEXT, .text = {"x", 1}}, "value: \"x\":"},
      {"nextInt", {.kind = OP_MAP}, "value: a JSON object:"},
      {"nextInt", {.kind = OP_INTEGER, .type = {"no such", 7}, .integer = 1}, "Invalid characters in type"},
      {"nextInt", {.kind = OP_INTEGER, .type = {"java.lang.String", 16}, .integer = 1}, "value: 1:"},
      {"nextInt", {.kind = OP_REF, .ref = 4711}, "No object found with objRef: 4711"},
      {"nothing", {.kind = OP_INTEGER, .integer = 1}, "a method that returns nothing takes null"},
  };
  client.answer = answer_next;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char params[200];
    char wanted[200];
    next_answer = cases[i].value;
    client.misfit[0] = '\0';
    snprintf(params, sizeof params, "{" ON ",'method':'%s','args':[" SEVEN "]}", cases[i].method);
    snprintf(wanted, sizeof wanted, "-32000 jpeer.peer.CallbackException: %s", cases[i].message);
    check(params, wanted);
    assert_memory_equal(client.misfit, cases[i].message, strlen(cases[i].message));
  }
  assert_int_equal(client.closed, COUNT_OF(cases));
}

static void answer_bottom(struct jvm_callback_call *call)
{
  if (text_equal(call->method->name, TEXT("make")))
    fake_answer_text(call, "x"); /* a StringBuilder is made of no text */
  else
    fake_answer_null(call);
}

static void answer_four(struct jvm_callback_call *call)
{
  fake_answer_text(call, "4");
}

static void answer_many(struct jvm_callback_call *call)
{
  static struct op_value items[2];
  struct text name = call->method->name;
  if (text_equal(name, TEXT("make")))
    fake_answer_value(call, (struct op_value){.kind = OP_REF, .ref = members_ref(&session, "builder")});
  else if (text_equal(name, TEXT("makeMany")))
    fake_answer_value(call, (struct op_value){.kind = OP_LIST, .list = {items, 2}});
  else if (text_equal(name, TEXT("list")))
    fake_answer_value(call, (struct op_value){.kind = OP_LIST, .list = {items, 1}});
  else
    fake_answer_int(call, 9); /* a Long by what Bottom says, an Integer where nothing does */
}

/* "4" becomes an Integer, because that is what the interface says in the place of R. */
static void resolves_type_variables(void **state)
{
  (void)state;
  client.answer = answer_four;
  check("{" ON ",'method':'length','args':[" SEVEN "]}", "int 4");
  check_last("java.util.function.Function.apply(java.lang.String four)");
  check("{" ON ",'method':'count','args':[{'ref':{'callback':8}}]}", "int 44");
  check_last("fixtures.members.Callbacks$Counts.apply(java.lang.String two)"); /* by the bridge of javac */
  client.answer = answer_bottom;
  check("{" ON ",'method':'bottom','args':[{'ref':{'callback':9}}]}",
        "-32000 jpeer.peer.CallbackException: value: \"x\": java.lang.String does not become "
        "java.lang.StringBuilder");
  const struct members_case builder = {"new", "{'type':'java.lang.StringBuilder','args':['b']}",
                                       "java.lang.StringBuilder ref", "builder"};
  members_check(&session, &builder);
  client.answer = answer_many;
  check("{" ON ",'method':'bottom','args':[{'ref':{'callback':9}}]}", "java.lang.String b929[null]");
}

/* ---- throwing ---- */

static struct {
  int code;
  const char *message;
  uint32_t ref;
  const char *type;
} next_error;

static void answer_error(struct jvm_callback_call *call)
{
  fake_answer_error(call, next_error.code, next_error.message, next_error.ref, next_error.type);
}

static void throws_what_the_client_says(void **state)
{
  (void)state;
  static const struct {
    int code;
    const char *message;
    const char *ref; /* kept under this name */
    const char *type;
    const char *plain;
    const char *io; /* of the method that declares IOException */
  } cases[] = {
      {5, "oops", NULL, NULL, "unchecked jpeer.peer.CallbackException: oops",
       "unchecked jpeer.peer.CallbackException: oops"},
      {5, NULL, NULL, NULL, "unchecked jpeer.peer.CallbackException",
       "unchecked jpeer.peer.CallbackException"},
      {5, "m", "io", NULL, "undeclared java.io.IOException: held", "caught java.io.IOException: held"},
      {5, "m", "error", "java.io.IOException", "unchecked java.lang.AssertionError: held",
       "unchecked java.lang.AssertionError: held"},
      {5, "m", "text", NULL, "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", "text", "java.io.IOException", "undeclared java.io.IOException: m",
       "caught java.io.IOException: m"},
      {5, NULL, NULL, "java.io.IOException", "undeclared java.io.IOException", "caught java.io.IOException"},
      {5, "m", NULL, "java.lang.IllegalStateException", "unchecked java.lang.IllegalStateException: m",
       "unchecked java.lang.IllegalStateException: m"},
      {5, "m", NULL, "java.lang.StringBuilder", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", NULL, "java.lang.Number", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", NULL, "no.such.Thing", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", NULL, "no such thing", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", NULL, "int[]", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
      {5, "m", NULL, "", "unchecked jpeer.peer.CallbackException: m",
       "unchecked jpeer.peer.CallbackException: m"},
  };
  static const struct members_case held[] = {
      {"new", "{'type':'java.io.IOException','args':['held']}", "java.io.IOException ref", "io"},
      {"new", "{'type':'java.lang.AssertionError','args':['held']}", "java.lang.AssertionError ref", "error"},
      {"new", "{'type':'java.lang.StringBuilder'}", "java.lang.StringBuilder ref", "text"},
  };
  for (size_t i = 0; i < COUNT_OF(held); i++)
    members_check(&session, &held[i]);
  client.answer = answer_error;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char wanted[200];
    next_error.code = cases[i].code;
    next_error.message = cases[i].message;
    next_error.ref = cases[i].ref == NULL ? 0 : members_ref(&session, cases[i].ref);
    next_error.type = cases[i].type;
    snprintf(wanted, sizeof wanted, "java.lang.String %s", cases[i].plain);
    check("{" ON ",'method':'throwing','args':[" SEVEN ",false]}", wanted);
    snprintf(wanted, sizeof wanted, "java.lang.String %s", cases[i].io);
    check("{" ON ",'method':'throwing','args':[" SEVEN ",true]}", wanted);
  }
  next_error.ref = 4711;
  next_error.type = NULL;
  check("{" ON ",'method':'throwing','args':[" SEVEN ",false]}",
        "java.lang.String unchecked jpeer.peer.CallbackException: m");
  assert_int_equal(jvm_objects_count(session.objects), COUNT_OF(held));
}

static void the_exception_has_the_code(void **state)
{
  (void)state;
  next_error.code = -32099;
  next_error.message = "no";
  next_error.ref = 0;
  next_error.type = NULL;
  client.answer = answer_error;
  uint32_t ref;
  (void)members_run(&session, "call", "{" ON ",'method':'codeOf','args':[" SEVEN "]}", &ref);
  check("{" ON ",'method':'codeOf','args':[" SEVEN "]}", "int -32099");
}

/* ---- default methods ---- */

static void default_methods_run_in_java(void **state)
{
  (void)state;
  client.answer = answer_usual;
  check("{" ON ",'method':'greeter','args':[" SEVEN "]}", "java.lang.String hello me");
  check("{" ON ",'method':'repeat','args':[" SEVEN "]}", "java.lang.String ABABme");
  check("{" ON ",'method':'fail','args':[" SEVEN "]}", "java.lang.String me");
  check_last("fixtures.members.Callbacks$Greeter.name()");
  check("{" ON ",'method':'greetTwice','args':[{'ref':{'callback':8}}]}", "java.lang.String me, me");
  check("{" ON
        ",'method':'greeter','args':[{'type':'fixtures.members.Callbacks$Loud','ref':{'callback':9}}]}",
        "java.lang.String HELLO me");
  size_t calls = client.calls;
  check("{" ON
        ",'method':'greeter','args':[{'type':'fixtures.members.Callbacks$Mute','ref':{'callback':10}}]}",
        "java.lang.String me");
  check_last("fixtures.members.Callbacks$Mute.greet()");
  check("{" ON ",'method':'greeter','args':[{'ref':{'callback':11},'overrides':['greet']}]}",
        "java.lang.String me");
  check_last("fixtures.members.Callbacks$Greeter.greet()");
  check("{" ON ",'method':'repeat','args':[{'ref':{'callback':11},'overrides':['greet']}]}",
        "java.lang.String ABABme");
  assert_int_equal(client.calls, calls + 3);
}

/* Loud's method is below Greeter's; neither of Greeter's and Other's is, so that a class would have to say which. */
static void of_several_interfaces_the_lowest_method_counts(void **state)
{
  (void)state;
  client.answer = answer_usual;
#define SEVERAL(id, names) "{'ref':{'callback':" id "},'interfaces':[" names "]}"
#define GREETER            "'fixtures.members.Callbacks$Greeter'"
#define LOUD               "'fixtures.members.Callbacks$Loud'"
#define OTHER              "'fixtures.members.Callbacks$Other'"
  check("{" ON ",'method':'greeter','args':[" SEVERAL("1", GREETER "," LOUD) "]}",
        "java.lang.String HELLO me");
  check("{" ON ",'method':'greeter','args':[" SEVERAL("2", LOUD "," GREETER) "]}",
        "java.lang.String HELLO me");
  check("{" ON ",'method':'other','args':[" SEVERAL("3", OTHER "," LOUD) "]}", "java.lang.String me");
  check("{" ON ",'method':'greeter','args':[" SEVERAL("3", OTHER "," LOUD) "]}", "java.lang.String me");
  check("{" ON ",'method':'both','args':[" SEVERAL(
            "4", "'java.util.concurrent.Callable','java.util.Comparator'") "]}",
        "int 1");
  check_last("java.util.concurrent.Callable.call()");
}

static void object_methods_are_answered_in_java(void **state)
{
  (void)state;
  client.answer = answer_usual;
  check("{" ON ",'method':'odd','args':[" SEVEN "," SEVEN "]}",
        "java.lang.String true false false true callback 7 1");
  assert_int_equal(client.calls, 1);
  check("{" ON
        ",'method':'inMaps','args':[{'ref':{'callback':1}},{'ref':{'callback':1}},{'ref':{'callback':2}}]}",
        "java.lang.String sameother22truefalse");
  assert_int_equal(client.calls, 1);
}

/* ---- misuse ---- */

static void the_handler_acts_for_its_own_proxy_alone(void **state)
{
  (void)state;
#define REFUSED "IllegalArgumentException "
  client.answer = answer_usual;
  check("{" ON ",'method':'misuse','args':[{'ref':{'callback':1}},{'ref':{'callback':2}}]}",
        "java.lang.String " REFUSED REFUSED REFUSED REFUSED REFUSED REFUSED REFUSED REFUSED
        "CallbackException CallbackException 1");
  assert_int_equal(client.sent, 1);
}

static void natives_check_what_they_are_given(void **state)
{
  (void)state;
#define TWICE REFUSED REFUSED
  client.answer = answer_usual;
  check("{" ON ",'method':'natives','args':[{'ref':{'callback':1}},{'ref':{'callback':2}}]}",
        "java.lang.String " TWICE TWICE TWICE TWICE TWICE TWICE TWICE TWICE TWICE "null N me");
  assert_int_equal(client.released, 0);
}

/* ---- refusals ---- */

static void what_can_be_no_proxy_is_refused(void **state)
{
  (void)state;
  static const struct {
    const char *type;
    const char *wanted;
  } cases[] = {
      {"java.lang.Runnable[]", "-32602 argument 0: callback 7:"},
      {"java.lang.Object",
       "-32602 argument 0: callback 7: a callback is seen as an interface, and java.lang.Object is none"},
      {"int", "-32602 argument 0: callback 7:"},
      {"fixtures.members.Callbacks$Closed",
       "-32602 argument 0: callback 7: fixtures.members.Callbacks$Closed is sealed"},
      {"no.such.Interface", "-32601 java.lang.ClassNotFoundException: no.such.Interface"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char params[200];
    snprintf(params, sizeof params, "{" ON ",'method':'object','args':[" AS("%s") "]}", cases[i].type);
    check(params, cases[i].wanted);
  }
  check("{" ON ",'method':'closed','args':[" SEVEN "]}",
        "-32602 argument 0: callback 7: fixtures.members.Callbacks$Closed is sealed");
  check("{" ON ",'method':'both','args':[" SEVERAL("1", "'java.lang.Runnable','java.lang.Runnable'") "]}",
        "-32602 argument 0: callback 1: repeated interface: java.lang.Runnable");
  check("{" ON ",'method':'both','args':[" SEVERAL("1", "'java.lang.Runnable','java.lang.String'") "]}",
        "-32602 argument 0: callback 1: java.lang.String is no interface");
  check("{" ON ",'method':'both','args':[" SEVERAL("1", "'java.lang.Runnable','no.such.Thing'") "]}",
        "-32601 java.lang.ClassNotFoundException: no.such.Thing");
  session.callbacks = NULL;
  check("{" ON ",'method':'inner','args':[" SEVEN "]}", "-32602 argument 0:");
  assert_int_equal(client.calls, 0);
}

static void non_public_interfaces_work(void **state)
{
  (void)state;
  client.answer = answer_usual;
  check("{" ON ",'method':'greet','args':[" SEVEN ",'you']}", "java.lang.String me");
  check_last("fixtures.members.Callbacks$Secret.greet(java.lang.String you)");
  check("{" ON ",'method':'inner','args':[{'ref':{'callback':8}}]}", "int 1");
}

static void a_call_that_cannot_begin_throws(void **state)
{
  (void)state;
  client.refuses = true;
  check("{" ON ",'method':'inner','args':[" SEVEN "]}",
        "-32000 jpeer.peer.CallbackException: nobody is there");
  assert_int_equal(client.calls, 0);
}

/* ---- refs ---- */

static uint32_t told_refs[2];

static void answer_with_argument(struct jvm_callback_call *call)
{
  memcpy(told_refs, call->refs, sizeof told_refs);
  fake_answer_int(call, 0);
}

static void arguments_become_refs_of_the_session(void **state)
{
  (void)state;
  const struct members_case user = {"new", "{'type':'java.util.ArrayList'}", "java.util.ArrayList ref",
                                    "list"};
  members_check(&session, &user);
  client.answer = answer_with_argument;
  check("{" ON ",'method':'compare','args':[" SEVEN ",{'ref':$list},['x']]}", "int 0");
  assert_int_equal(told_refs[0], members_ref(&session, "list"));
  assert_int_not_equal(told_refs[1], 0);
  assert_int_not_equal(told_refs[1], told_refs[0]);
  assert_int_equal(jvm_objects_count(session.objects), 2);
}

static void a_full_session_fails_the_call(void **state)
{
  (void)state;
  struct jvm_objects *narrow;
  assert_int_equal(jvm_objects_create(0, &narrow), JP_OK);
  client.objects = narrow;
  client.answer = answer_usual;
  check("{" ON ",'method':'compare','args':[" SEVEN ",1,['x']]}",
        "-32000 jpeer.peer.CallbackException: session-max-objects");
  assert_int_equal(client.sent, 0);
  assert_int_equal(client.closed, 1);
  jvm_objects_destroy(session.thread, narrow);
}

static void lists_may_hold_callbacks(void **state)
{
  (void)state;
  check("{" ON ",'method':'list','args':[[1," AS("java.util.Comparator") ",'x']]}",
        "java.lang.String 1 comparator x ");
  check("{" ON ",'method':'list','args':[[1,{'ref':{'callback':8},'interfaces':['java.util.Comparator']}]]}",
        "java.lang.String 1 comparator ");
  check("{" ON ",'method':'list','args':[[" SEVEN "]]}",
        "-32602 argument 0[0]: callback 7: a callback is seen");
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  the_jvm = jvm;
  session.thread = thread;
  fake_client_start(jvm);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(tells_what_is_called),
      TEST(sorts_by_a_client),
      TEST(passes_primitives),
      TEST(an_answer_that_does_not_fit_is_told),
      TEST(resolves_type_variables),
      TEST(throws_what_the_client_says),
      TEST(the_exception_has_the_code),
      TEST(default_methods_run_in_java),
      TEST(of_several_interfaces_the_lowest_method_counts),
      TEST(object_methods_are_answered_in_java),
      TEST(the_handler_acts_for_its_own_proxy_alone),
      TEST(natives_check_what_they_are_given),
      TEST(what_can_be_no_proxy_is_refused),
      TEST(non_public_interfaces_work),
      TEST(a_call_that_cannot_begin_throws),
      TEST(arguments_become_refs_of_the_session),
      TEST(a_full_session_fails_the_call),
      TEST(lists_may_hold_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
  return with_jvm(run_all);
}
