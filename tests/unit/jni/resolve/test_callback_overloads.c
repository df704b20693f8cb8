/* Which overload a callback without a type goes to: the one that Java would choose for a lambda. */
#include "tests/unit/jni/callbacks/fake_client.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/proxies/kinds.h"
#include "jni/runtime/throwables.h"

static struct jvm *the_jvm;
static struct members_session session;
static struct jvm_callbacks client;

#define ON               "'type':'fixtures.members.Callbacks'"
#define ANY              "{'ref':{'callback':@}}"
#define OF(arity)        "{'ref':{'callback':@},'arity':" #arity "}"
#define AS(type)         "{'type':'" type "','ref':{'callback':@}}"
#define CALL(name, args) "{" ON ",'method':'" name "','args':[" args "]}"

static void answer_five(struct jvm_callback_call *call)
{
  if (call->method->is_void)
    fake_answer_null(call);
  else
    fake_answer_int(call, 5);
}

static int64_t last_id;

/* A new ID for each @, because the same one is the same object. */
static struct text with_ids(const char *params, char *out, size_t size)
{
  size_t at = 0;
  for (; *params != '\0' && at + 8 < size; params++) {
    if (*params == '@')
      at += (size_t)snprintf(out + at, size - at, "%d", (int)(++last_id % FAKE_IDS + 1));
    else
      out[at++] = *params;
  }
  out[at] = '\0';
  return (struct text){out, at};
}

static void check(const char *params, const char *wanted)
{
  char expanded[512];
  (void)with_ids(params, expanded, sizeof expanded);
  const struct members_case one = {"call", expanded, wanted, NULL};
  members_check(&session, &one);
  memset(client.records, 0, sizeof client.records);
}

#define MAP      "fixtures.members.Callbacks.map"
#define FUNCTION "(java.util.function.Function)"
#define AMBIGUOUS(name)                                                                                      \
  "-32601 java.lang.NoSuchMethodException: No matching method '" name "' found: ambiguous for (callback): "

static void chooses_as_for_a_lambda(void **state)
{
  (void)state;
  static const struct {
    const char *params;
    const char *wanted;
  } cases[] = {
      {CALL("map", OF(1)), "java.lang.String function"},
      {CALL("map", OF(2)), "java.lang.String bifunction"},
      {CALL("map", OF(3)), "-32601 java.lang.NoSuchMethodException: No matching method 'map' found: "
                           "fixtures.members.Callbacks.map(callback); candidates: "},
      {CALL("map", ANY), AMBIGUOUS("map") "fixtures.members.Callbacks.map"},
      {CALL("map", AS("java.util.function.Function")), "java.lang.String function"},
      {CALL("map", AS("java.util.function.BiFunction")), "java.lang.String bifunction"},
      {CALL("map", AS("java.lang.Runnable")), "java.lang.String object"},
      {CALL("either", OF(1)), AMBIGUOUS("either") "fixtures.members.Callbacks.either"},
      {CALL("either", AS("java.lang.Comparable")), "java.lang.String comparable"},
      {CALL("special", OF(1)), "java.lang.String lengths"},
      {CALL("special", ANY), "java.lang.String lengths"},
      {CALL("submit", OF(0)), "java.lang.String callable 5"},
      {CALL("submit", ANY), "java.lang.String callable 5"},
      {CALL("submit", AS("java.lang.Runnable")), "java.lang.String runnable"},
      {CALL("hears", ANY ",1"), "java.lang.String listener"},
      {CALL("hears", OF(1) ",1"), "java.lang.String listener"},
      {CALL("widen", ANY ",1"), "java.lang.String long"},
      {CALL("widen", ANY ",'x'"), "java.lang.String text"},
      {CALL("only", ANY), "java.lang.String only"},
      {CALL("only", OF(0)), "java.lang.String only"},
      {CALL("only", OF(1)), "-32602 argument 0: callback "},
      {CALL("object", ANY), "-32601"},
      {CALL("object", AS("java.lang.Runnable")), "java.lang.String object"},
      {CALL("varied", "1"), "int 1"},
      {CALL("varied", "1," ANY), "int 6"},
      {CALL("varied", "1," ANY "," OF(0) "," AS("java.util.concurrent.Callable")), "int 16"},
      {CALL("varied", "1," ANY "," OF(1)), "-32602 argument 2: "},
      {CALL("varied", "1,[" ANY "," ANY "]"), "int 11"},
  };
  client.answer = answer_five;
  for (int pass = 0; pass < 2; pass++) /* the second time from the thread's cache */
    for (size_t i = 0; i < COUNT_OF(cases); i++)
      check(cases[i].params, cases[i].wanted);
}

static void assert_has(struct text text, const char *part)
{
  if (memmem(text.data, text.len, part, strlen(part)) == NULL)
    fail_msg("\"%s\" is not in \"%.*s\"", part, TEXT_ARGS(text));
}

static void errors_say_what_is_wrong(void **state)
{
  (void)state;
  uint32_t ref;
  struct text told =
      members_run(&session, "call", "{" ON ",'method':'either','args':[{'ref':{'callback':1}}]}", &ref);
  assert_has(told, "fixtures.members.Callbacks.either(java.util.function.Function)");
  assert_has(told, "fixtures.members.Callbacks.either(java.lang.Comparable)");
  told = members_run(&session, "call", "{" ON ",'method':'only','args':[{'ref':{'callback':1},'arity':1}]}",
                     &ref);
  assert_has(told, "callback 1: the function of java.lang.Runnable has 0 parameters, not 1");
}

/* A callback with an arity is another one in the thread's cache. */
static void the_arity_counts_in_the_cache(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++) {
    check(CALL("map", OF(1)), "java.lang.String function");
    check(CALL("map", OF(2)), "java.lang.String bifunction");
    check(CALL("map",
               "{'ref':{'callback':@},'interfaces':['java.lang.Runnable','java.util.function.BiFunction']}"),
          "java.lang.String bifunction");
    check(CALL("map", "{'ref':{'callback':@},'interfaces':['java.lang.Runnable','java.util.Comparator']}"),
          "java.lang.String object");
  }
}

static void functions_are_found_by_javas_rules(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    int arity;
    bool is_void;
  } cases[] = {
      {"java.lang.Runnable", 0, true},
      {"java.util.concurrent.Callable", 0, false},
      {"java.util.Comparator", 2, false}, /* equals is Object's */
      {"java.util.function.BiConsumer", 2, true},
      {"fixtures.members.Callbacks$Lengths", 1, false},
      {"fixtures.members.Callbacks$Counts", 1, false},
      {"fixtures.members.Callbacks$Secret", 1, false},
      {"fixtures.members.Callbacks$Greeter", 0, false},
      {"fixtures.members.Callbacks$Mute", CALLBACK_NO_FUNCTION, false},
      {"fixtures.members.Callbacks$Listener", CALLBACK_NO_FUNCTION, false},
      {"fixtures.members.Callbacks$Primitives", CALLBACK_NO_FUNCTION, false},
      {"fixtures.members.Callbacks$Marker", CALLBACK_NO_FUNCTION, false},
      {"fixtures.members.Callbacks$Closed", CALLBACK_NO_FUNCTION, false},
      {"java.lang.Object", CALLBACK_NO_FUNCTION, false},
      {"java.util.ArrayList", CALLBACK_NO_FUNCTION, false},
      {"[Ljava.lang.Runnable;", CALLBACK_NO_FUNCTION, false},
  };
  struct jvm_thread *thread = session.thread;
  assert_int_equal(jvm_request_begin(thread), JP_OK);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jvm_class *class = jvm_class_load(thread, text_of(cases[i].name), the_jvm->class_loader);
    assert_false(throwable_take(thread, NULL));
    for (int again = 0; again < 2; again++) {
      assert_int_equal(callback_function_arity(thread, class), cases[i].arity);
      assert_int_equal(callback_function_is_void(thread, class), cases[i].is_void);
    }
  }
  jvm_request_end(thread);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  the_jvm = jvm;
  members_session_init(&session, thread);
  fake_client_init(&client, jvm, session.objects, &session.limits);
  fake_client_start(jvm);
  session.callbacks = &client;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chooses_as_for_a_lambda),
      cmocka_unit_test(errors_say_what_is_wrong),
      cmocka_unit_test(the_arity_counts_in_the_cache),
      cmocka_unit_test(functions_are_found_by_javas_rules),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fake_client_fini(&client);
  members_session_fini(&session);
  return failed;
}

int main(void)
{
  return with_jvm(run_all);
}
