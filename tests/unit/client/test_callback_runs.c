/* Calls from Java: which thread runs them, when, and what ends them. */
#include "callback_fixture.h"
#include "tests/unit/await.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- events ---- */

static unsigned next_event;

static void count_event(struct object *object, struct jp_callback_call *call)
{
  int64_t number = -1;
  (void)object;
  assert_null(jp_callback_id(call));
  assert_true(jp_answer_integer(jp_callback_argument_at(call, 0), &number));
  assert_int_equal(number, next_event++);
  if (number == 1)
    assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK); /* has no effect */
}

#define ONEWAY(callback) "{\"ref\":{\"callback\":" callback "},\"oneway\":true}"

static const struct jp_callback_config oneway = {.oneway = true};

static void ask_at_the_first(struct object *object, struct jp_callback_call *call)
{
  count_event(object, call);
  if (next_event == 1)
    assert_int_equal(fixture_call(object->client, 60000, NULL), JP_CLIENT_OK);
}

/* The second event arrives before the function of the first event has returned. */
UNIT_TEST(test_events_wait_for_one_another)
{
  struct object object = {.play = PLAY(REQUEST_WITH("1", ONEWAY("1")), EVENT("1", "0"), REQUEST("2"),
                                       EVENT("1", "1"), EVENT("1", "2"), ANSWER("2"), ANSWER("1")),
                          .behave = ask_at_the_first};
  next_event = 0;
  begin_play(&object, NULL, &oneway);
  assert_given(&object);
  assert_int_equal(object.calls, 3);
  release_and_close(&object);
}

static void ask_in_vain(struct object *object, struct jp_callback_call *call)
{
  (void)call;
  assert_int_equal(fixture_call(object->client, 60000, NULL), JP_CLIENT_LIMIT);
}

/* Events arrive while the function of the first event waits. */
static void check_bound(const struct jp_client_config *config, const char *words)
{
  struct object object = {.play = PLAY(REQUEST_WITH("1", ONEWAY("1")), EVENT("1", "0"), REQUEST("2"),
                                       EVENT("1", "1"), EVENT("1", "2"), EVENT("1", "3")),
                          .behave = ask_in_vain};
  struct jp_client_error error = {0};
  begin_play(&object, config, &oneway);
  assert_int_equal(give_object(&object, 60000, &error), JP_CLIENT_LIMIT);
  assert_non_null(strstr(error.text, words));
  release_and_close(&object);
}

UNIT_TEST(test_events_that_wait_are_bounded)
{
  const struct jp_client_config few = {.size = sizeof few, .pending_max = 2};
  const struct jp_client_config small = {.size = sizeof small, .message_max = 600};
  check_bound(&few, "2 calls from Java wait to be run: pending_max allows no more");
  check_bound(&small, "bytes: message_max allows no more");
}

/* ---- in the program's loop ---- */

static void process_until(const struct object *object, unsigned calls)
{
  while (object->calls < calls)
    fixture_process(object->client);
  assert_int_equal(object->calls, calls);
}

static void count_answer(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  assert_int_equal(status, JP_CLIENT_OK);
  jp_answer_free(answer);
  ++*(unsigned *)context;
}

/* Does nothing but call jp_client_process, until the request with the object is answered and the object is
 * released. */
static void send_and_release(struct object *object)
{
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_callback_argument(object->callback)));
  unsigned answers = 0;
  assert_int_equal(jp_client_send(object->client, &request, 60000, count_answer, &answers, NULL),
                   JP_CLIENT_OK);
  jp_callback_release(object->callback);
  while (object->released == 0 || answers == 0)
    fixture_process(object->client);
  assert_int_equal(answers, 1);
}

static void send_from_a_call(struct object *object, struct jp_callback_call *call)
{
  const struct jp_request request = fixture_request();
  assert_int_equal(jp_client_send(object->client, &request, 60000, count_answer, &object->value, NULL),
                   JP_CLIENT_OK);
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
}

UNIT_TEST(test_a_program_that_never_waits)
{
  struct object object = {.play =
                              PLAY(GIVES, CALLED("cb-1", "1"), NESTED("2", "cb-1"), RETURNED("cb-1", "null"),
                                   ANSWER("2"), ANSWER("1"), RELEASED("1", "1")),
                          .behave = send_from_a_call};
  begin_play(&object, NULL, NULL);
  send_and_release(&object);
  assert_int_equal(object.calls, 1);
  assert_int_equal(object.value, 1);
  close_play(&object);
}

/* Java continues the request after the timeout; its call is run later. */
UNIT_TEST(test_a_call_of_a_request_that_has_timed_out)
{
  struct object object = {.play = PLAY(GIVES, CALLED("cb-1", "1"), RETURNED("cb-1", INT_0))};
  begin_play(&object, NULL, NULL);
  assert_int_equal(give_object(&object, 5, NULL), JP_CLIENT_TIMEOUT);
  process_until(&object, 1);
  release_and_close(&object);
}

static void ask_briefly(struct object *object, struct jp_callback_call *call)
{
  assert_int_equal(fixture_call(object->client, 5, NULL), JP_CLIENT_TIMEOUT);
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
}

/* The peer sees that the cancel is not nested (fake_read). */
UNIT_TEST(test_a_nested_request_that_has_timed_out)
{
  struct object object = {.play =
                              PLAY(GIVES, CALLED("cb-1", "1"), NESTED("2", "cb-1"), RETURNED("cb-1", "null"),
                                   ANSWER("2"), ANSWER("1"), RELEASED("1", "1")),
                          .behave = ask_briefly};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  release_and_close(&object);
}

/* ---- deferred answers ---- */

static struct jp_callback_call *kept;

static void keep_call(struct object *object, struct jp_callback_call *call)
{
  (void)object;
  jp_callback_answer_later(call);
  kept = call;
}

static void *answer_kept(void *context)
{
  const struct jp_argument value = jp_string(jp_callback_method(kept));
  *(enum jp_client_status *)context = jp_callback_return(kept, &value, NULL);
  return NULL;
}

static void answer_on_a_thread(struct object *object, struct jp_callback_call *call)
{
  pthread_t thread;
  enum jp_client_status status = JP_CLIENT_PROTOCOL;
  keep_call(object, call);
  assert_int_equal(pthread_create(&thread, NULL, answer_kept, &status), 0);
  pthread_join(thread, NULL);
  assert_int_equal(status, JP_CLIENT_OK);
  assert_string_equal(jp_callback_interface(call), "a.I"); /* valid until the function returns */
}

#define F "{\"type\":\"java.lang.String\",\"value\":\"f\"}"

UNIT_TEST(test_answers_of_another_thread)
{
  struct object object = {.play = PLAY(GIVES, CALLED("cb-1", "1"), RETURNED("cb-1", F), ANSWER("1"),
                                       CALLED("cb-2", "1"), RETURNED("cb-2", F)),
                          .behave = answer_on_a_thread};
  pthread_t thread;
  enum jp_client_status status = JP_CLIENT_PROTOCOL;
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  object.behave = keep_call;
  process_until(&object, 2);
  assert_int_equal(pthread_create(&thread, NULL, answer_kept, &status), 0);
  pthread_join(thread, NULL);
  assert_int_equal(status, JP_CLIENT_OK);
  release_and_close(&object);
}

UNIT_TEST(test_a_call_outlives_its_client)
{
  struct object object = {.play = PLAY(REQUEST_WITH("1", ONEWAY("1")), CALLED("cb-1", "1"), ANSWER("1")),
                          .behave = keep_call};
  struct jp_client_error error;
  begin_play(&object, NULL, &oneway);
  assert_given(&object);
  assert_int_equal(object.calls, 1);
  jp_callback_release(object.callback);
  jp_client_close(object.client);
  assert_int_equal(object.released, 0);
  assert_string_equal(jp_callback_id(kept), "cb-1");
  assert_int_equal(jp_callback_throw(kept, NULL, NULL, &error), JP_CLIENT_CLOSED);
  assert_string_equal(error.text, "the connection of the call has ended");
  assert_int_equal(object.released, 1);
  end_play(&object);
}

/* ---- ends ---- */

static struct play first; /* the peer ends the connection after it */

static void play_both(struct fake_connection *connection, void *context)
{
  if (fake_number(connection) == 1)
    (void)play_through(connection, &first);
  else
    play_lines(connection, context);
}

UNIT_TEST(test_another_connection)
{
  first = (struct play)PLAY(GIVES, CALLED("cb-1", "1"), ANSWER("1"), REQUEST("2"));
  struct object object = {.play = PLAY(REQUEST_WITH("3", GIVEN("1")), CALLED("cb-1", "1"),
                                       RETURNED("cb-1", INT_0), RELEASED("1", "1"), ANSWER("3")),
                          .behave = keep_call};
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  object.peer = fake_peer_start(play_both, &object.play);
  object_init(&object, fixture_open(object.peer, &config), NULL);
  assert_given(&object);
  assert_int_equal(fixture_call(object.client, 60000, NULL), JP_CLIENT_CLOSED);
  object.behave = NULL;
  assert_given(&object); /* Java creates a new proxy */
  assert_int_equal(object.calls, 2);
  assert_int_equal(jp_callback_return(kept, NULL, NULL),
                   JP_CLIENT_CLOSED); /* the id cb-1 now belongs to another call */
  release_and_close(&object);
  assert_string_equal(first.fault, "");
}

UNIT_TEST(test_calls_while_the_client_closes)
{
  struct object object = {
      .play = PLAY(GIVES, CALLED_WITH("cb-1", "1", "\"a.B\"", "{\"type\":\"a.B\",\"null\":false,\"ref\":4}"),
                   RETURNED("cb-1", INT_0), ANSWER("1"),
                   CLIENT("{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"delete_"
                          "object\",\"args\":[{\"ref\":4,\"told\":1}]}}"),
                   CLIENT(HEAD("2") "\"method\":\"control\",\"params\":{\"method\":\"delete_session\"}}"),
                   CALLED("cb-2", "1"),
                   FAILED_WITH("cb-2", "\"code\":-32602,\"message\":\"the client closes\""), ANSWER("2"))};
  const struct jp_client_config config = {.size = sizeof config, .reconnects = true};
  begin_play(&object, &config, NULL);
  assert_given(&object);
  jp_client_close(object.client);
  assert_int_equal(object.calls, 1);
  jp_callback_release(object.callback); /* allowed after the client is closed */
  assert_int_equal(object.released, 1);
  end_play(&object);
}

static void call_from_release(void *context)
{
  struct object *object = context;
  object->released++;
  assert_int_equal(fixture_call(object->client, 60000, NULL), JP_CLIENT_OK);
}

UNIT_TEST(test_released_may_use_the_client)
{
  struct object object = {.play = PLAY(GIVES, RELEASED("1", "1"), REQUEST("2"), ANSWER("1"), ANSWER("2"))};
  const struct jp_callback_config config = {.released = call_from_release};
  begin_play(&object, NULL, &config);
  send_and_release(&object);
  close_play(&object);
}

UNIT_TEST(test_a_call_of_a_callback_that_has_ended)
{
  struct object object = {
      .play = PLAY(
          GIVES, RELEASED("1", "1"),
          CALLED_WITH("cb-1", "1", "\"a.B\"", "{\"type\":\"a.B\",\"null\":false,\"ref\":4}"), EVENT("1", "0"),
          FAILED_WITH("cb-1", "\"code\":-32602,\"message\":\"the callback has ended\""), ANSWER("1"))};
  begin_play(&object, NULL, NULL);
  send_and_release(&object);
  assert_int_equal(object.calls, 0);
  assert_int_equal(jp_client_ref_count(object.client), 0);
  close_play(&object);
}

/* ---- a child of fork(2) ---- */

static void use_in_child(struct object *object, struct jp_callback_call *call)
{
  const struct jp_callback_config config = {.size = sizeof config, .function = serve_call};
  struct jp_callback *callback;
  pid_t child = fork();
  if (child == 0) {
    bool good = jp_callback_create(object->client, &config, &callback, NULL) == JP_CLIENT_CLOSED;
    jp_callback_answer_later(call);
    good &= jp_callback_return(call, NULL, NULL) == JP_CLIENT_CLOSED;
    jp_callback_release(object->callback);
    _exit(good && object->released == 0 ? 0 : 1);
  }
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
}

UNIT_TEST(test_fork)
{
  struct object object = {.play = PLAY(GIVES, CALLED("cb-1", "1"), RETURNED("cb-1", "null"), ANSWER("1")),
                          .behave = use_in_child};
  begin_play(&object, NULL, NULL);
  assert_given(&object);
  release_and_close(&object);
}

UNIT_MAIN
