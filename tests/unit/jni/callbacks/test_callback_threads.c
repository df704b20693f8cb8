/* Threads that wait for a client: how they are woken, and the nested requests that they run meanwhile. */
#include "tests/unit/await.h"
#include "tests/unit/jni/callbacks/fake_client.h"
#include "tests/unit/jni/members_cases.h"
#include "tests/unit/jni/with_jvm.h"

#include "jni/runtime/throwables.h"

#include <stdatomic.h>
#include <stdio.h>

#define ON    "'type':'fixtures.members.CallbackThreads'"
#define CALLS "'type':'fixtures.members.Callbacks'"
#define SEVEN "{'ref':{'callback':7}}"

static int tear_down(void **state)
{
  fake_client_wait_natively(false);
  fake_client_close(state);
  return members_close(state);
}

static void check(const char *params, const char *wanted)
{
  members_check("call", params, wanted, NULL);
}

/* Runs another operation on a thread that waits, with a session of its own. */
struct nested {
  const char *params;
  char got[256];
};

static void run_nested(void *argument, struct jvm_thread *thread)
{
  struct nested *nested = argument;
  struct members_session inner;
  uint32_t ref;
  members_session_init(&inner, thread);
  inner.callbacks = &client;
  struct text got = members_run(&inner, "call", nested->params, &ref);
  snprintf(nested->got, sizeof nested->got, "%.*s", TEXT_ARGS(got));
  members_session_fini(&inner);
}

static void nest(const char *params, char *got, size_t size)
{
  struct nested nested = {.params = params};
  fake_serve(the_jvm, run_nested, &nested);
  snprintf(got, size, "%s", nested.got);
}

static void check_nested(const char *params, const char *wanted)
{
  char got[256];
  nest(params, got, sizeof got);
  assert_string_equal(got, wanted);
}

/* ---- a thread that answers ---- */

static struct {
  sem_t any;
  sem_t done;
  struct jvm_callback_call *call;
  void (*act)(struct jvm_callback_call *call);
} other;

static void leave_to_other(struct jvm_callback_call *call)
{
  other.call = call;
  sem_post(&other.any);
}

static void act_once(void)
{
  AWAIT_POST(&other.any, "a call for another thread");
  other.act(other.call);
  sem_post(&other.done);
}

/* One that the JVM does not know. */
static void *act_outside(void *unused)
{
  (void)unused;
  act_once();
  return NULL;
}

static void act_inside(void *unused, struct jvm_thread *thread)
{
  (void)unused, (void)thread;
  act_once();
}

static void start_outside(void (*act)(struct jvm_callback_call *call))
{
  pthread_t thread;
  other.act = act;
  client.answer = leave_to_other;
  assert_int_equal(pthread_create(&thread, NULL, act_outside, NULL), 0);
  pthread_detach(thread);
}

static void start_inside(void (*act)(struct jvm_callback_call *call))
{
  struct jp_error error;
  other.act = act;
  client.answer = leave_to_other;
  assert_int_equal(jvm_spawn(the_jvm, "other", act_inside, NULL, &error), JP_OK);
}

static void await_other(void)
{
  AWAIT_POST(&other.done, "the other thread");
}

static void give_five(struct jvm_callback_call *call)
{
  fake_answer_int(call, 5);
}

static void call_java(const char *method)
{
  char params[100];
  snprintf(params, sizeof params, "{" ON ",'method':'%s'}", method);
  struct nested nested = {.params = params};
  fake_serve(the_jvm, run_nested, &nested);
  assert_string_equal(nested.got, "void");
}

static void interrupt(struct jvm_callback_call *call)
{
  (void)call;
  call_java("interruptCaller");
}

UNIT_TEST_WITH(any_thread_wakes_one_that_is_parked, fake_client_open, tear_down)
{
  start_outside(give_five);
  check("{" ON ",'method':'onThread','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  start_inside(give_five);
  check("{" ON ",'method':'onThread','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  start_outside(fake_end);
  check("{" ON ",'method':'onThread','args':[" SEVEN "]}", "java.lang.String the client is gone false");
  await_other();
  /* A thread of the peer that cannot wait in C parks, too. */
  start_outside(give_five);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
}

UNIT_TEST_WITH(a_member_of_the_crew_waits_in_c, fake_client_open, tear_down)
{
  fake_client_wait_natively(true);
  start_outside(give_five);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  start_inside(fake_end);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String the client is gone false");
  await_other();
}

UNIT_TEST_WITH(an_interrupt_ends_the_wait, fake_client_open, tear_down)
{
#define INTERRUPTED "java.lang.String the thread was interrupted while it waited for the client true"
  start_inside(interrupt);
  check("{" ON ",'method':'onThread','args':[" SEVEN "]}", INTERRUPTED);
  await_other();
  start_inside(interrupt);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", INTERRUPTED);
  await_other();
  fake_client_wait_natively(true);
  start_inside(interrupt);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", INTERRUPTED);
  await_other();
  assert_int_equal(client.closed, 3);
}

UNIT_TEST_WITH(a_thread_that_is_interrupted_begins_no_call, fake_client_open, tear_down)
{
  client.answer = give_five;
  check("{" ON ",'method':'whenInterrupted','args':[" SEVEN "]}",
        "java.lang.String the thread is interrupted true");
  assert_int_equal(client.calls, 0);
  check("{" ON ",'method':'onewayWhenInterrupted','args':[{'ref':{'callback':8},'oneway':true}]}",
        "java.lang.String ran true");
  assert_int_equal(client.sent, 1);
}

UNIT_TEST_WITH(a_wait_has_an_end, fake_client_open, tear_down)
{
  client.timeout_ns = 1000000;
  check("{" ON ",'method':'onThread','args':[" SEVEN "]}", "java.lang.String the client is gone false");
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String the client is gone false");
  assert_int_equal(client.closed, 2);
}

/* ---- room ---- */

static void make_room_once(struct jvm_callback_call *call)
{
  fake_make_room(call);
}

static void leave_the_first_to_other(struct jvm_callback_call *call)
{
  if (call->lacks_room)
    leave_to_other(call);
  else
    fake_answer_int(call, 5);
}

UNIT_TEST_WITH(a_caller_waits_for_room, fake_client_open, tear_down)
{
  for (int natively = 0; natively < 2; natively++) {
    fake_client_wait_natively(natively != 0);
    client.has_no_room = true;
    start_outside(make_room_once);
    client.answer = leave_the_first_to_other;
    check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String 5 false");
    await_other();
  }
  assert_int_equal(client.sent, 2);
}

UNIT_TEST_WITH(oneway_methods_wait_for_no_answer, fake_client_open, tear_down)
{
  client.answer = NULL;
  check("{" CALLS ",'method':'nothing','args':[{'ref':{'callback':8},'oneway':true}]}", "void");
  assert_int_equal(client.sent, 1);
  assert_int_equal(client.closed, 1);
  client.answer = give_five;
  check("{" CALLS ",'method':'hear','args':[{'ref':{'callback':9},'oneway':true}]}", "int 5");
  assert_int_equal(client.sent, 4);
}

/* ---- nested requests ---- */

static void nest_local(struct jvm_callback_call *call)
{
  check_nested("{" ON ",'method':'local'}", call->waiter == NULL ? "java.lang.String null on tests"
                                                                 : "java.lang.String local on application");
  fake_answer_int(call, 5);
}

static void give_nested(struct jvm_callback_call *call)
{
  fake_nest(call, nest_local);
}

UNIT_TEST_WITH(a_nested_request_runs_on_the_thread_that_waits, fake_client_open, tear_down)
{
  start_outside(give_nested);
  check("{" ON ",'method':'withLocal','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  fake_client_wait_natively(true);
  start_outside(give_nested);
  check("{" ON ",'method':'onThisThread','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  assert_int_equal(client.closed, 2);
}

static void nest_set_loader(struct jvm_callback_call *call)
{
  check_nested("{" ON ",'method':'local'}", "java.lang.String null on application");
  fake_answer_int(call, 5);
}

static void nest_twice(struct jvm_callback_call *call)
{
  fake_nest(call, nest_set_loader);
}

UNIT_TEST_WITH(the_state_of_a_thread_stays_its_own, fake_client_open, tear_down)
{
  client.answer = nest_twice;
  check("{" ON ",'method':'ownState','args':[" SEVEN "]}", "java.lang.String true false");
}

/* Goes down one more level on the same thread, and answers with what that gave. */
static void nest_down(struct jvm_callback_call *call)
{
  char params[200];
  char got[256];
  snprintf(params, sizeof params, "{" ON ",'method':'down','args':[%d," SEVEN "]}", (int)call->numbers[0]);
  nest(params, got, sizeof got);
  int depth;
  if (sscanf(got, "int %d", &depth) == 1)
    fake_answer_int(call, depth);
  else
    fake_answer_error(call, 1, strstr(got, ": ") == NULL ? got : "deeper", 0, NULL);
}

static void go_down(struct jvm_callback_call *call)
{
  fake_nest(call, nest_down);
}

UNIT_TEST_WITH(calls_nest, fake_client_open, tear_down)
{
  client.answer = go_down;
  check("{" ON ",'method':'down','args':[12," SEVEN "]}", "int 12");
  assert_int_equal(client.depth, 12);
  fake_client_wait_natively(true);
  check("{" ON ",'method':'down','args':[12," SEVEN "]}", "int 12");
}

static void nest_endlessly(struct jvm_callback_call *call)
{
  char got[256];
  nest("{" ON ",'method':'endless','args':[" SEVEN "]}", got, sizeof got);
  assert_string_equal(got, "java.lang.String the stack is short");
  fake_answer_error(call, 1, "the stack is short", 0, NULL);
}

static void go_endlessly(struct jvm_callback_call *call)
{
  fake_nest(call, nest_endlessly);
}

UNIT_TEST_WITH(recursion_ends_before_the_stack_does, fake_client_open, tear_down)
{
  client.answer = go_endlessly;
  check("{" ON ",'method':'endless','args':[" SEVEN "]}", "java.lang.String the stack is short");
  assert_true(client.depth > 4);
  fake_client_wait_natively(true);
  check("{" ON ",'method':'endless','args':[" SEVEN "]}", "java.lang.String the stack is short");
}

/* ---- code that runs while a request is prepared, or its result is read ---- */

static void nest_and_answer(struct jvm_callback_call *call)
{
  check_nested("{" CALLS ",'method':'use','args':[{'ref':{'callback':50}}]}", "int 12");
  fake_answer_int(call, 2);
}

static void answer_with_nesting(struct jvm_callback_call *call)
{
  if (text_equal(call->method->name, TEXT("applyAsInt")))
    fake_answer_int(call, 12);
  else
    fake_nest(call, nest_and_answer);
}

UNIT_TEST_WITH(reading_a_result_calls_back, fake_client_open, tear_down)
{
  client.answer = answer_with_nesting;
  members_check("call", "{" CALLS ",'method':'lazy','args':[" SEVEN "]}", "fixtures.members.Callbacks$1 ref",
                "lazy");
  session.by_value = true;
  check("{'type':'java.util.Objects','method':'requireNonNull','args':[{'ref':$lazy}]}", "[2,2]");
  session.by_value = false;
}

UNIT_TEST_WITH(making_an_argument_calls_back, fake_client_open, tear_down)
{
  client.answer = answer_with_nesting;
  check("{" CALLS ",'method':'ask','args':[" SEVEN "]}", "void");
  check("{" CALLS ",'method':'asked','args':[{'type':'fixtures.members.Callbacks$Asked','value':['a','b']}]}",
        "java.lang.String [a-2, b-2]");
}

static void answer_with_name(struct jvm_callback_call *call)
{
  fake_answer_text(call, "fixtures.members.Twin");
}

UNIT_TEST_WITH(loading_a_class_calls_back, fake_client_open, tear_down)
{
  client.answer = answer_with_name;
  members_check("call", "{" CALLS ",'method':'asking','args':[" SEVEN "]}",
                "fixtures.members.Callbacks$2 ref", "asking");
  session.loader = members_ref("asking");
  size_t calls = client.calls;
  members_check("new", "{'type':'fixtures.members.Twin'}", "fixtures.members.Twin ref", NULL);
  assert_true(client.calls > calls);
  session.loader = 0;
}

/* ---- many threads ---- */

static _Atomic int answered;

static void answer_counted(struct jvm_callback_call *call)
{
  atomic_fetch_add(&answered, 1);
  fake_answer_int(call, 1);
}

UNIT_TEST_WITH(threads_of_a_pool_call_at_once, fake_client_open, tear_down)
{
  atomic_store(&answered, 0);
  client.answer = answer_counted;
  check("{" ON ",'method':'invokeAll','args':[" SEVEN ",200]}", "int 200");
  assert_int_equal(atomic_load(&answered), 200);
}

static void answer_difference(struct jvm_callback_call *call)
{
  fake_answer_int(call, call->numbers[0] - call->numbers[1]);
}

UNIT_TEST_WITH(a_parallel_sort_calls_back, fake_client_open, tear_down)
{
  client.answer = answer_difference;
  check("{" ON ",'method':'parallelSort','args':[" SEVEN ",2000]}", "java.lang.String sorted");
}

/* ---- virtual threads ---- */

enum { WAITS = 16 };
static struct {
  pthread_mutex_t lock;
  struct jvm_callback_call *calls[WAITS];
  size_t count;
  bool is_over;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Keeps the answers of all calls until the Runnable is called. */
static void gather(struct jvm_callback_call *call)
{
  bool is_last = text_equal(call->method->name, TEXT("run"));
  pthread_mutex_lock(&waiting.lock);
  bool is_late = waiting.is_over;
  if (is_last)
    waiting.is_over = true;
  else if (!is_late)
    waiting.calls[waiting.count++] = call;
  pthread_mutex_unlock(&waiting.lock);
  if (is_late)
    fake_answer_int(call, 5);
  if (!is_last)
    return;
  for (size_t i = 0; i < waiting.count; i++)
    fake_answer_int(waiting.calls[i], 5);
  fake_answer_null(call);
}

static bool has_virtual_threads(void)
{
  uint32_t ref;
  return text_equal(members_run(&session, "call", "{" ON ",'method':'hasVirtualThreads'}", &ref),
                    TEXT("boolean true"));
}

UNIT_TEST_WITH(virtual_threads_leave_their_carriers, fake_client_open, tear_down)
{
  if (!has_virtual_threads())
    skip();
  client.answer = gather;
  check("{" ON ",'method':'virtual','args':[" SEVEN ",{'ref':{'callback':8}},16]}", "java.lang.String all");
  waiting.count = 0;
  waiting.is_over = false;
  check("{" ON ",'method':'virtualDefault','args':[{'ref':{'callback':9}},{'ref':{'callback':8}},16]}",
        "java.lang.String all");
  start_inside(give_five);
  check("{" ON ",'method':'onVirtual','args':[" SEVEN "]}", "java.lang.String 5 false");
  await_other();
  start_inside(interrupt);
  check("{" ON ",'method':'onVirtual','args':[" SEVEN "]}", INTERRUPTED);
  await_other();
}

static int start(void **state)
{
  sem_init(&other.any, 0, 0);
  sem_init(&other.done, 0, 0);
  return fake_client_start(state);
}

JVM_MAIN(start, NULL)
