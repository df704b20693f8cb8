/* One object a callback, its end, and who may give one. */
#include "tests/unit/await.h"
#include "tests/unit/jni/callbacks/fake_client.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/proxies/proxies.h"
#include "jni/runtime/throwables.h"

#include <stdio.h>
#include <time.h>

#define ON      "'type':'fixtures.members.Callbacks'"
#define THREADS "'type':'fixtures.members.CallbackThreads'"
#define SEVEN   "{'ref':{'callback':7}}"

static void check(const char *params, const char *wanted)
{
  members_check("call", params, wanted, NULL);
}

static size_t count_released(void)
{
  pthread_mutex_lock(&client.lock);
  size_t released = client.released;
  pthread_mutex_unlock(&client.lock);
  return released;
}

/* Until the collector has taken so many, and the Cleaner has told. */
static void await_released(size_t wanted)
{
  const int64_t since_ms = clock_now_ms();
  while (count_released() < wanted) {
    jvm_gc(session.thread);
    AWAIT_PAUSE(since_ms, "the collector and the Cleaner to release the callbacks");
  }
  assert_int_equal(count_released(), wanted);
}

/* No proxy is left for the next test. */
static int tear_down(void **state)
{
  check("{" THREADS ",'method':'letGo'}", "void");
  check("{" THREADS ",'method':'dropHandler'}", "void");
  members_close(state);
  await_released(client.made);
  return fake_client_close(state);
}

/* ---- one object ---- */

UNIT_TEST_WITH(the_same_id_is_the_same_object, fake_client_open, tear_down)
{
#define COMPARATOR "{'type':'java.util.Comparator','ref':{'callback':7}}"
  check("{" ON ",'method':'same','args':[" COMPARATOR "," COMPARATOR "]}", "boolean true");
  check("{" ON ",'method':'same','args':[" COMPARATOR
        ",{'type':'java.util.Comparator','ref':{'callback':8}}]}",
        "boolean false");
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  jvm_gc(session.thread);
  uint32_t ref;
  (void)members_run(&session, "get", "{" THREADS ",'field':'held'}", &ref);
  char params[200];
  snprintf(params, sizeof params, "{" ON ",'method':'same','args':[" COMPARATOR ",{'ref':%u}]}", ref);
  check(params, "boolean true");
}

UNIT_TEST_WITH(other_options_are_refused, fake_client_open, tear_down)
{
#define OTHER                                                                                                \
  "-32602 argument 0: callback 7: Java has this object already, with another oneway, borrow, origin or "     \
  "overrides"
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  check("{" THREADS ",'method':'hold','args':[{'ref':{'callback':7},'oneway':true}]}", OTHER);
  check("{" THREADS ",'method':'hold','args':[{'ref':{'callback':7},'borrow':true}]}", OTHER);
  check("{" THREADS ",'method':'hold','args':[{'ref':{'callback':7},'overrides':['reversed']}]}", OTHER);
  check("{" THREADS ",'method':'hold','args':[{'ref':{'callback':7},'arity':2}]}", "void");
  check("{" ON ",'method':'inner','args':[" SEVEN "]}",
        "-32602 argument 0: callback 7: Java has this object as a java.util.Comparator, which is no "
        "fixtures.members.Callbacks$Inner");
}

/* ---- its end ---- */

UNIT_TEST_WITH(a_proxy_that_is_let_go_is_told, fake_client_open, tear_down)
{
  check("{" THREADS ",'method':'letGo'}", "void");
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  jvm_gc(session.thread);
  assert_int_equal(count_released(), 0);
  check("{" THREADS ",'method':'letGo'}", "void");
  await_released(1);
  assert_int_equal(client.last_released, 7);
  assert_int_equal(client.records[0].number, 0);
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  assert_int_not_equal(client.records[0].number, 0);
  check("{" THREADS ",'method':'letGo'}", "void");
  await_released(2);
}

/* A proxy that was collected and not told yet is replaced. */
UNIT_TEST_WITH(a_new_proxy_takes_the_place_of_a_collected_one, fake_client_open, tear_down)
{
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  uint64_t first = client.records[0].number;
  check("{" THREADS ",'method':'letGo'}", "void");
  check("{" THREADS ",'method':'isCollected'}", "boolean true");
  client.records[0].number = first; /* as if the Cleaner came later */
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void");
  assert_int_not_equal(client.records[0].number, first);
  await_released(1);
  assert_int_not_equal(client.records[0].number, 0);
  check("{" THREADS ",'method':'letGo'}", "void");
  await_released(2);
}

UNIT_TEST_WITH(who_keeps_the_handler_keeps_the_proxy, fake_client_open, tear_down)
{
  check("{" THREADS ",'method':'keepHandler','args':[{'type':'java.util.Comparator','ref':{'callback':7}}]}",
        "void");
  check("{" THREADS ",'method':'isAlive'}", "boolean true");
  assert_int_equal(count_released(), 0);
  check("{" THREADS ",'method':'dropHandler'}", "void");
  await_released(1);
}

static void collect(void *unused, struct jvm_thread *thread)
{
  (void)unused;
  struct members_session inner;
  uint32_t ref;
  members_session_init(&inner, thread);
  (void)members_run(&inner, "call", "{" THREADS ",'method':'collect'}", &ref);
  members_session_fini(&inner);
}

static void nest_collection(struct jvm_callback_call *call)
{
  fake_serve(the_jvm, collect, NULL);
  assert_int_equal(count_released() + 1, client.made);
  fake_answer_int(call, 5);
}

static void collect_then_answer(struct jvm_callback_call *call)
{
  fake_nest(call, nest_collection);
}

UNIT_TEST_WITH(a_proxy_is_not_collected_while_it_is_called, fake_client_open, tear_down)
{
  client.answer = collect_then_answer;
  for (size_t i = 0; i < 3; i++) {
    check("{" THREADS ",'method':'callLast','args':[[" SEVEN "]]}", "int 5");
    await_released(client.made);
  }
}

UNIT_TEST_WITH(many_come_and_go, fake_client_open, tear_down)
{
  enum { MANY = 1000 };
  for (int i = 0; i < MANY; i++) {
    char params[200];
    snprintf(params, sizeof params,
             "{" ON ",'method':'isProxy','args':[{'type':'java.lang.Runnable','ref':{'callback':%d}}]}",
             i % FAKE_IDS + 1);
    uint32_t ref;
    pthread_mutex_lock(&client.lock);
    client.records[i % FAKE_IDS].number = 0;
    pthread_mutex_unlock(&client.lock);
    assert_true(text_equal(members_run(&session, "call", params, &ref), TEXT("boolean true")));
  }
  await_released(MANY);
}

/* ---- loaders ---- */

#define FACES "'type':'fixtures.members.Faces'"

static void answer_text(struct jvm_callback_call *call)
{
  fake_answer_text(call, "x");
}

UNIT_TEST_WITH(a_proxy_lives_in_the_loader_of_its_interface, fake_client_open, tear_down)
{
  client.answer = answer_text;
#define AS(id, type)       "{'type':'" type "','ref':{'callback':" id "}}"
#define BOTH(id, one, two) "{'ref':{'callback':" id "},'interfaces':['" one "','" two "']}"
  check("{" FACES ",'method':'make','args':['FacA']}", "java.lang.Class fixtures.members.FacA ref");
  check("{" FACES ",'method':'make','args':['FacB']}", "java.lang.Class fixtures.members.FacB ref");
  check("{" FACES ",'method':'call','args':[" AS("1", "fixtures.members.FacA") ",'face']}",
        "java.lang.String x of FacA");
  check("{" FACES ",'method':'call','args':[" AS("2", "fixtures.members.FacB") ",'twice']}",
        "java.lang.String xx of FacB");
  check("{" FACES ",'method':'loaderOf','args':[" AS("1", "fixtures.members.FacA") "]}",
        "java.lang.String FacA");
  check("{" FACES ",'method':'loaderOf','args':[" AS("3", "fixtures.members.Face") "]}",
        "java.lang.String app");
  check("{" FACES ",'method':'loaderOf','args':[" AS("4", "java.lang.Runnable") "]}",
        "java.lang.String boot");
  check("{" FACES
        ",'method':'loaderOf','args':[" BOTH("5", "java.lang.Runnable", "fixtures.members.FacA") "]}",
        "java.lang.String FacA");
  check("{" FACES
        ",'method':'loaderOf','args':[" BOTH("6", "fixtures.members.FacB", "fixtures.members.Face") "]}",
        "java.lang.String FacB");
  check("{" FACES
        ",'method':'loaderOf','args':[" BOTH("7", "fixtures.members.FacA", "fixtures.members.FacB") "]}",
        "-32602 argument 0: callback 7: no class loader of these interfaces sees all of them");
}

/* What the peer keeps of the interfaces of the test before keeps no loader. */
UNIT_TEST_WITH(interfaces_can_be_unloaded, fake_client_open, tear_down)
{
  check("{" FACES ",'method':'alive'}", "int 0");
}

/* Of a module that exports neither. */
UNIT_TEST_WITH(interfaces_of_closed_packages_work, fake_client_open, tear_down)
{
  check("{" FACES ",'method':'loaderOf','args':[" AS("1", "java.util.stream.Sink") "]}",
        "java.lang.String boot");
  check("{" FACES ",'method':'loaderOf','args':[" AS("3", "jdk.internal.access.JavaUtilJarAccess") "]}",
        "java.lang.String boot");
  check("{" FACES ",'method':'loaderOf','args':[" BOTH("4", "java.util.stream.Sink",
                                                       "fixtures.members.Callbacks$Secret") "]}",
        "-32602 argument 0: callback 4: ");
}

/* No name finds it: only Java itself can come by one. */
UNIT_TEST_WITH(a_hidden_interface_is_refused, fake_client_open, tear_down)
{
  JNIEnv *env = session.thread->env;
  assert_int_equal((*env)->PushLocalFrame(env, 16), 0);
  jclass callbacks = (*env)->FindClass(env, "fixtures/members/Callbacks");
  jmethodID hide = (*env)->GetStaticMethodID(env, callbacks, "hide", "()Ljava/lang/Class;");
  assert_false((*env)->ExceptionCheck(env));
  jobject hidden = (*env)->CallStaticObjectMethod(env, callbacks, hide);
  assert_false((*env)->ExceptionCheck(env));
  struct jvm_class *interface = jvm_class_of(session.thread, hidden);
  struct callback_kind *kind = NULL;
  jobject object;
  struct jp_error error;
  assert_non_null(interface);
  assert_int_equal(callback_kind_find(session.thread, &interface, 1, (struct callback_overrides){.count = 0},
                                      &kind, &object, &error),
                   JP_INVALID);
  assert_non_null(strstr(error.text, "is a hidden interface, which no proxy can implement"));
  (*env)->PopLocalFrame(env, NULL);
}

/* ---- the policy ---- */

static struct {
  const char *denied;    /* this method, */
  const char *interface; /* or this interface */
  char asked[512];
} guarding;

static enum jp_status deny(struct arena *arena, struct outcome *denied)
{
  outcome_fail(denied, arena, FAILURE_DENIED, NULL, "denied");
  return JP_DENIED;
}

static enum jp_status check_interface(void *context, struct text name, struct arena *arena,
                                      struct outcome *denied)
{
  (void)context;
  size_t at = strlen(guarding.asked);
  snprintf(guarding.asked + at, sizeof guarding.asked - at, "%.*s ", TEXT_ARGS(name));
  return guarding.interface != NULL && text_equal(name, text_of(guarding.interface)) ? deny(arena, denied)
                                                                                     : JP_OK;
}

static enum jp_status check_callback(void *context, const struct jvm_target *method, struct arena *arena,
                                     struct outcome *denied)
{
  (void)context;
  size_t at = strlen(guarding.asked);
  snprintf(guarding.asked + at, sizeof guarding.asked - at, "%.*s:%.*s.%.*s ", TEXT_ARGS(method->named_class),
           TEXT_ARGS(method->declaring_class), TEXT_ARGS(method->member));
  return guarding.denied != NULL && text_equal(method->member, text_of(guarding.denied)) ? deny(arena, denied)
                                                                                         : JP_OK;
}

static enum jp_status check_other(void *context, enum jvm_member_kind kind, struct text class_name,
                                  struct text member, struct arena *arena, struct outcome *denied)
{
  (void)context, (void)kind, (void)class_name, (void)member, (void)arena, (void)denied;
  return JP_OK;
}

static void begin_guarding(void)
{
  memset(&guarding, 0, sizeof guarding);
  session.guard = (struct jvm_guard){
      .stamp = 1, .check = check_other, .check_interface = check_interface, .check_callback = check_callback};
}

static void end_guarding(void)
{
  session.guard = (struct jvm_guard){.stamp = 0};
}

static void check_asked(const char *params, const char *wanted, const char *asked)
{
  guarding.asked[0] = '\0';
  check(params, wanted);
  assert_string_equal(guarding.asked, asked);
}

UNIT_TEST_WITH(each_method_that_would_be_sent_is_judged, fake_client_open, tear_down)
{
  client.answer = answer_text;
  begin_guarding();
  check_asked(
      "{" ON
      ",'method':'object','args':[{'type':'fixtures.members.Callbacks$Lengths','ref':{'callback':1}}]}",
      "java.lang.String object",
      "fixtures.members.Callbacks$Lengths "
      "fixtures.members.Callbacks$Lengths:java.util.function.Function.apply ");
  check_asked("{" ON ",'method':'length','args':[{'ref':{'callback':2}}]}", "-32000",
              "fixtures.members.Callbacks$Lengths:java.util.function.Function.apply ");
  check_asked("{" ON ",'method':'greetTwice','args':[{'ref':{'callback':3},'overrides':['greetTwice']}]}",
              "java.lang.String x",
              "fixtures.members.Callbacks$Secret:fixtures.members.Callbacks$Secret.greet "
              "fixtures.members.Callbacks$Secret:fixtures.members.Callbacks$Secret.greetTwice ");
  check_asked(
      "{" ON ",'method':'object','args':[{'type':'fixtures.members.Callbacks$Odd','ref':{'callback':4}}]}",
      "java.lang.String object",
      "fixtures.members.Callbacks$Odd fixtures.members.Callbacks$Odd:fixtures.members.Callbacks$Odd.one ");
  end_guarding();
}

UNIT_TEST_WITH(what_is_denied_is_not_made, fake_client_open, tear_down)
{
  begin_guarding();
  guarding.interface = "no.such.Interface";
  check_asked("{" ON ",'method':'object','args':[{'type':'no.such.Interface','ref':{'callback':1}}]}",
              "-32001 denied", "no.such.Interface ");
  check_asked("{" ON ",'method':'object','args':[{'ref':{'callback':1},'interfaces':['java.lang.Runnable',"
              "'no.such.Interface']}]}",
              "-32001 denied", "java.lang.Runnable no.such.Interface ");
  guarding.denied = "compare";
  check("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "-32001 denied");
  assert_int_equal(client.records[0].number, 0);
  end_guarding();
}

UNIT_TEST_WITH(a_new_policy_is_asked_again, fake_client_open, tear_down)
{
#define COMPARE "java.util.Comparator:java.util.Comparator.compare "
  begin_guarding();
  check_asked("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void", COMPARE);
  check_asked("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void", "");
  session.guard.stamp = 2;
  check_asked("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "void", COMPARE);
  session.guard.stamp = 3;
  guarding.denied = "compare";
  check_asked("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "-32001 denied", COMPARE);
  check_asked("{" THREADS ",'method':'hold','args':[" SEVEN "]}", "-32001 denied", COMPARE);
  end_guarding();
}

JVM_MAIN(fake_client_start, NULL)
