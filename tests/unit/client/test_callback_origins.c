/* Calls with an origin: a waiting thread does not run calls that belong to another thread's request. */
#include "callback_fixture.h"
#include "tests/unit/await.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#define ASKED(id_of_callback) "{\"ref\":{\"callback\":" id_of_callback "},\"origin\":true}"
#define CALLED_FROM(origin, id, callback)                                                                    \
  PEER(HEAD("\"" id "\"") "\"method\":\"callback\",\"params\":{\"callback\":" callback                       \
                          ",\"origin\":\"" origin                                                            \
                          "\",\"interface\":\"a.I\",\"method\":\"f\",\"parameters\":[],\"args\":[]}}")
#define RETURNED_INT(id) RETURNED(id, INT_0)

static const struct jp_callback_config by_origin = {.by_origin = true};

/* An object, and the state that its functions share. */
struct script {
  struct object object; /* first */
  pthread_t waiting;    /* the thread that gives the object */
  pthread_t runners[4]; /* of its calls, in order */
  sem_t was_returned;
};

static void return_value(const struct object *object, struct jp_callback_call *call)
{
  const struct jp_argument value = jp_int(object->value);
  assert_int_equal(jp_callback_return(call, &value, NULL), JP_CLIENT_OK);
}

static void note_runner(struct object *object, struct jp_callback_call *call)
{
  struct script *script = (struct script *)object;
  script->runners[object->calls - 1] = pthread_self();
  return_value(object, call);
}

static void *give(void *argument)
{
  assert_given(argument);
  return NULL;
}

/* Another thread gives the object and waits. */
static void begin_waiting(struct script *script)
{
  assert_int_equal(pthread_create(&script->waiting, NULL, give, &script->object), 0);
}

static void open_script(struct script *script)
{
  sem_init(&script->was_returned, 0, 0);
  begin_play(&script->object, NULL, &by_origin);
}

static void begin_script(struct script *script)
{
  open_script(script);
  begin_waiting(script);
}

/* The test calls it after the waiting thread has ended. */
static void close_script(struct script *script)
{
  release_and_close(&script->object);
  sem_destroy(&script->was_returned);
}

static void end_script(struct script *script)
{
  pthread_join(script->waiting, NULL);
  close_script(script);
}

static void process_until(const struct object *object, unsigned calls)
{
  while (object->calls < calls)
    fixture_process(object->client);
}

UNIT_TEST(test_a_request_runs_its_own_calls)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), CALLED_FROM("request", "cb-1", "1"),
                              RETURNED_INT("cb-1"), ANSWER("1")),
                 .behave = note_runner}};
  begin_script(&script);
  end_script(&script);
  assert_int_equal(script.object.calls, 1);
  assert_true(pthread_equal(script.runners[0], script.waiting));
}

/* The waiting request gave the object. */
UNIT_TEST(test_calls_of_other_threads_run_in_the_loop)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), CALLED_FROM("thread", "cb-1", "1"),
                              RETURNED_INT("cb-1"), ANSWER("1")),
                 .behave = note_runner}};
  begin_script(&script);
  process_until(&script.object, 1);
  end_script(&script);
  assert_int_equal(script.object.calls, 1);
  assert_true(pthread_equal(script.runners[0], pthread_self()));
}

/* The first call makes a request, and that request causes a nested call. */
static void ask_in_the_first(struct object *object, struct jp_callback_call *call)
{
  struct script *script = (struct script *)object;
  script->runners[object->calls - 1] = pthread_self();
  if (object->calls == 1)
    assert_int_equal(fixture_call(object->client, 30000, NULL), JP_CLIENT_OK);
  return_value(object, call);
}

UNIT_TEST(test_nested_requests_run_their_own_calls)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), CALLED_FROM("thread", "cb-1", "1"),
                              NESTED("2", "cb-1"), CALLED_FROM("cb-1", "cb-2", "1"), RETURNED_INT("cb-2"),
                              ANSWER("2"), RETURNED_INT("cb-1"), CALLED_FROM("request", "cb-3", "1"),
                              RETURNED_INT("cb-3"), ANSWER("1")),
                 .behave = ask_in_the_first}};
  begin_script(&script);
  process_until(&script.object, 2);
  end_script(&script);
  assert_int_equal(script.object.calls, 3);
  assert_true(pthread_equal(script.runners[0], pthread_self()));
  assert_true(pthread_equal(script.runners[1], pthread_self()));
  assert_true(pthread_equal(script.runners[2], script.waiting));
}

/* The call that the origin names was answered, and its function has returned. */
UNIT_TEST(test_a_call_whose_origin_is_over_runs_in_the_loop)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), CALLED_FROM("request", "cb-1", "1"),
                              RETURNED_INT("cb-1"), CALLED_FROM("cb-1", "cb-2", "1"), RETURNED_INT("cb-2"),
                              ANSWER("1")),
                 .behave = note_runner}};
  begin_script(&script);
  process_until(&script.object, 2);
  end_script(&script);
  assert_true(pthread_equal(script.runners[0], script.waiting));
  assert_true(pthread_equal(script.runners[1], pthread_self()));
}

static void wait_for_the_second(struct object *object, struct jp_callback_call *call)
{
  struct script *script = (struct script *)object;
  bool is_first = strcmp(jp_callback_id(call), "cb-1") == 0;
  if (is_first)
    AWAIT_POST(&script->was_returned, "the return of the second call");
  return_value(object, call);
  if (!is_first)
    sem_post(&script->was_returned);
}

/* The descriptor is not readable for calls that another thread runs. */
static void *process_two(void *argument)
{
  const struct object *object = argument;
  struct pollfd polled = {.fd = jp_client_descriptor(object->client), .events = POLLIN};
  while (object->calls < 2) {
    (void)poll(&polled, 1, 10);
    assert_int_equal(jp_client_process(object->client, NULL), JP_CLIENT_OK);
  }
  return NULL;
}

/* If several threads process, one call may wait for another. */
UNIT_TEST(test_calls_of_other_threads_run_side_by_side)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), ANSWER("1"), CALLED_FROM("thread", "cb-1", "1"),
                              CALLED_FROM("thread", "cb-2", "1"), RETURNED_INT("cb-2"), RETURNED_INT("cb-1")),
                 .behave = wait_for_the_second}};
  pthread_t second;
  begin_script(&script);
  assert_int_equal(pthread_create(&second, NULL, process_two, &script.object), 0);
  process_two(&script.object);
  pthread_join(second, NULL);
  end_script(&script);
  assert_int_equal(script.object.calls, 2);
}

UNIT_TEST(test_answers_are_processed_without_calls)
{
  struct script script = {.object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), ANSWER("1"),
                                                  CALLED_FROM("thread", "cb-1", "1"), RETURNED_INT("cb-1")),
                                     .behave = note_runner}};
  begin_script(&script);
  pthread_join(script.waiting, NULL);
  while (!jp_client_await_calls(script.object.client, 0)) {
    assert_true(fixture_is_readable(script.object.client, 30000));
    assert_int_equal(jp_client_process_answers(script.object.client, NULL), JP_CLIENT_OK);
  }
  assert_int_equal(jp_client_process_answers(script.object.client, NULL), JP_CLIENT_OK);
  assert_int_equal(script.object.calls, 0);
  assert_true(fixture_is_readable(script.object.client, 30000));
  process_until(&script.object, 1);
  close_script(&script);
}

/* The thread that waits for the answer reads the call, and wakes the thread that waits for calls. */
UNIT_TEST(test_calls_are_awaited_while_another_thread_reads)
{
  struct script script = {
      .object = {.play = PLAY(REQUEST_WITH("1", ASKED("1")), CALLED_FROM("thread", "cb-1", "1"),
                              RETURNED_INT("cb-1"), ANSWER("1")),
                 .behave = note_runner}};
  open_script(&script);
  assert_true(jp_client_descriptor(script.object.client) >= 0);
  assert_false(jp_client_await_calls(script.object.client, 0));
  begin_waiting(&script);
  AWAIT(jp_client_await_calls(script.object.client, 30000000));
  assert_int_equal(jp_client_process(script.object.client, NULL), JP_CLIENT_OK);
  assert_int_equal(script.object.calls, 1);
  assert_true(pthread_equal(script.runners[0], pthread_self()));
  end_script(&script);
}

UNIT_MAIN
