/* Waits that the program's hook ends. */
#include "callback_fixture.h"
#include "tests/unit/await.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* The program's hook: ends the waits of one thread after it was asked `enough` times. */
struct hook {
  atomic_uint asked;
  unsigned enough;
  pthread_t thread;
};

static bool is_enough(void *context)
{
  struct hook *hook = context;
  if (!pthread_equal(hook->thread, pthread_self()))
    return false;
  return atomic_fetch_add(&hook->asked, 1) + 1 >= hook->enough;
}

static struct jp_client *open_with(struct fake_peer *peer, bool (*interrupted)(void *), void *context)
{
  const struct jp_client_config config = {
      .size = sizeof config, .interrupted = interrupted, .interrupted_context = context};
  return fixture_open(peer, &config);
}

/* ---- a peer that delays its answers ---- */

struct gate {
  atomic_bool is_open;
  atomic_uint cancelled; /* the request that the client has cancelled, when it has closed */
};

/* Answers the first request when the gate is open, and the later requests at once. */
static void answer_late(struct fake_connection *connection, void *context)
{
  struct gate *gate = context;
  struct text message;
  while (fake_read(connection, &message)) {
    uint64_t id = fake_id(message);
    AWAIT(atomic_load(&gate->is_open));
    fake_answer_int(connection, id, 8);
  }
  atomic_store(&gate->cancelled, fake_cancelled(connection));
}

UNIT_TEST(test_a_wait_ends_and_the_connection_stays)
{
  struct gate gate = {false};
  struct hook hook = {.enough = 2, .thread = pthread_self()};
  struct jp_client *client = open_with(fake_peer_start(answer_late, &gate), is_enough, &hook);
  struct jp_client_error error;
  assert_int_equal(fixture_call(client, JP_FOREVER, &error), JP_CLIENT_INTERRUPTED);
  assert_int_equal(error.status, JP_CLIENT_INTERRUPTED);
  assert_string_equal(error.text, "the wait was interrupted");
  assert_int_equal(hook.asked, 2);
  assert_int_equal(jp_client_pending(client), 1);
  hook.enough = UINT32_MAX;
  atomic_store(&gate.is_open, true);
  fixture_assert_call(client);
  assert_int_equal(jp_client_pending(client), 0); /* the late answer was consumed */
  fixture_end(client);
  assert_int_not_equal(atomic_load(&gate.cancelled), 0);
}

static bool open_gate(void *context)
{
  struct gate *gate = context;
  atomic_store(&gate->is_open, true);
  return false;
}

UNIT_TEST(test_a_wait_continues_if_the_hook_returns_false)
{
  struct gate gate = {false};
  struct jp_client *client = open_with(fake_peer_start(answer_late, &gate), open_gate, &gate);
  struct jp_client_error error = {.text = "no answer of 8"};
  if (fixture_call(client, JP_FOREVER, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
  fixture_end(client);
}

UNIT_TEST(test_a_timeout_stays_a_timeout)
{
  struct gate gate = {false};
  struct hook hook = {.enough = UINT32_MAX, .thread = pthread_self()};
  struct jp_client *client = open_with(fake_peer_start(answer_late, &gate), is_enough, &hook);
  assert_int_equal(fixture_call(client, 1, NULL), JP_CLIENT_TIMEOUT);
  assert_int_equal(fixture_call(client, 600, NULL), JP_CLIENT_TIMEOUT);
  assert_in_range(hook.asked, 1, UINT32_MAX - 1);
  atomic_store(&gate.is_open, true);
  fixture_end(client);
}

/* ---- signals ---- */

static volatile sig_atomic_t signalled;

static void note_signal(int number)
{
  (void)number;
  signalled = 1;
}

static bool was_signalled(void *context)
{
  (void)context;
  return signalled != 0;
}

/* The handler ends the wait of the thread that gets the signal. */
static void *send_signal(void *thread)
{
  usleep(50000);
  pthread_kill(*(pthread_t *)thread, SIGUSR1);
  return NULL;
}

UNIT_TEST(test_a_signal_ends_a_wait)
{
  struct gate gate = {false};
  pthread_t self = pthread_self();
  pthread_t sender;
  const struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
  struct sigaction before;
  struct jp_client *client = open_with(fake_peer_start(answer_late, &gate), was_signalled, NULL);
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  assert_int_equal(pthread_create(&sender, NULL, send_signal, &self), 0);
  assert_int_equal(fixture_call(client, JP_FOREVER, NULL), JP_CLIENT_INTERRUPTED);
  pthread_join(sender, NULL);
  assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
  atomic_store(&gate.is_open, true);
  fixture_end(client);
}

/* ---- with other threads ---- */

struct call {
  struct jp_client *client;
  struct jp_client_error error;
  enum jp_client_status status;
};

static void *run_call(void *context)
{
  struct call *call = context;
  call->status = fixture_call(call->client, JP_FOREVER, &call->error);
  return NULL;
}

/* One thread reads, and the other thread sleeps. Only the wait of the thread for which the hook returns true
 * ends. */
UNIT_TEST(test_the_hook_ends_the_wait_of_one_thread)
{
  struct gate gate = {false};
  struct hook hook = {.enough = 2, .thread = pthread_self()};
  struct call other = {.client = open_with(fake_peer_start(answer_late, &gate), is_enough, &hook)};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_call, &other), 0);
  AWAIT(jp_client_pending(other.client) != 0);
  assert_int_equal(fixture_call(other.client, JP_FOREVER, NULL), JP_CLIENT_INTERRUPTED);
  atomic_store(&gate.is_open, true);
  pthread_join(thread, NULL);
  assert_int_equal(other.status, JP_CLIENT_OK);
  fixture_end(other.client);
}

/* The hook returns only after another thread's call has ended. */
struct slow_hook {
  struct gate gate;
  struct jp_client *client;
  pthread_t thread;
  atomic_bool other_is_done;
};

static bool wait_for_other(void *context)
{
  struct slow_hook *hook = context;
  if (!pthread_equal(hook->thread, pthread_self()))
    return false;
  AWAIT(jp_client_pending(hook->client) >= 2); /* the other thread waits, too */
  atomic_store(&hook->gate.is_open, true);
  AWAIT(atomic_load(&hook->other_is_done));
  return false;
}

static void *call_from_other_thread(void *context)
{
  struct slow_hook *hook = context;
  struct call call = {.client = hook->client};
  AWAIT(jp_client_pending(hook->client) != 0);
  run_call(&call);
  atomic_store(&hook->other_is_done, call.status == JP_CLIENT_OK);
  return NULL;
}

UNIT_TEST(test_others_read_while_the_hook_runs)
{
  struct slow_hook hook = {.thread = pthread_self()};
  hook.client = open_with(fake_peer_start(answer_late, &hook.gate), wait_for_other, &hook);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, call_from_other_thread, &hook), 0);
  fixture_assert_call(hook.client); /* this thread reads for both, because it began to wait first */
  pthread_join(thread, NULL);
  assert_true(hook.other_is_done);
  fixture_end(hook.client);
}

/* ---- other waits ---- */

/* Calls the client's function again as soon as it has returned. */
static void call_for_ever(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message))
    fake_write(connection, "%s", CALLED("p1", "1").text);
}

static void pause_and_return(struct object *object, struct jp_callback_call *call)
{
  const struct jp_argument value = jp_int(object->value);
  usleep(1000);
  assert_int_equal(jp_callback_return(call, &value, NULL), JP_CLIENT_OK);
}

UNIT_TEST(test_calls_from_java_do_not_delay_the_hook)
{
  struct hook hook = {.enough = 1, .thread = pthread_self()};
  struct jp_client *client = open_with(fake_peer_start(call_for_ever, NULL), is_enough, &hook);
  struct object object = {.behave = pause_and_return};
  object_init(&object, client, NULL);
  assert_int_equal(give_object(&object, 60000, NULL), JP_CLIENT_INTERRUPTED);
  assert_in_range(object.calls, 1, UINT32_MAX);
  jp_callback_release(object.callback);
  jp_client_close(client);
  assert_int_equal(object.released, 1);
  fake_peer_stop(fixture_peer);
}

static void read_nothing(struct fake_connection *connection, void *context)
{
  (void)connection;
  struct gate *gate = context;
  AWAIT(atomic_load(&gate->is_open));
}

UNIT_TEST(test_waiting_for_room)
{
  enum { SIZE = 8 * 1024 * 1024 };
  struct gate gate = {false};
  struct hook hook = {.enough = 1, .thread = pthread_self()};
  struct jp_client *client = open_with(fake_peer_start(read_nothing, &gate), is_enough, &hook);
  struct jp_client_error error;
  char *text = malloc(SIZE);
  assert_non_null(text);
  memset(text, 'a', SIZE);
  const struct jp_request request =
      jp_build_class_method_call("T", "m", JP_ARGUMENTS(jp_text_argument((struct jp_text){text, SIZE})));
  assert_int_equal(jp_client_notify(client, &request, &error), JP_CLIENT_INTERRUPTED);
  assert_int_equal(error.status, JP_CLIENT_INTERRUPTED);
  free(text);
  atomic_store(&gate.is_open, true);
  fixture_end(client);
}

/* Reads all requests, but answers no request. */
static void read_posts(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text head;
  struct text body;
  while (fake_read_post(connection, &head, &body))
    ;
}

/* Closing waits for the end of the session, with its own timeout and without the hook. */
UNIT_TEST(test_closing_does_not_ask_the_hook)
{
  struct hook hook = {.enough = 1, .thread = pthread_self()};
  struct jp_client *client = open_with(fake_peer_start_http(read_posts, NULL), is_enough, &hook);
  assert_int_equal(fixture_call(client, 60000, NULL), JP_CLIENT_INTERRUPTED);
  assert_int_equal(hook.asked, 1);
  jp_client_close(client);
  assert_int_equal(hook.asked, 1);
  fake_peer_stop(fixture_peer);
}

UNIT_MAIN
