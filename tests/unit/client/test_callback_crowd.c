/* Java calls a client that many threads use. */
#include "callback_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 24, CALLS = 60, EVENTS_EVERY = 5, LISTENER = 1 };

/* ---- the peer ---- */

/* The callback that a request gives; 0: none. */
static unsigned given_by(struct text message)
{
  const char *found = memmem(message.data, message.len, "\"callback\":", 11);
  return found == NULL ? 0 : (unsigned)strtoul(found + 11, NULL, 10);
}

static uint64_t call_of(struct text message)
{
  const char *found = memmem(message.data, message.len, "\"id\":\"cb-", 9);
  return found == NULL ? 0 : strtoull(found + 9, NULL, 10);
}

static void send_event(struct fake_connection *connection, unsigned number)
{
  fake_write(connection,
             "{\"jsonrpc\":\"2.0\"," CALLBACK("1") ",\"parameters\":[\"int\"],\"args\":[{\"type\":\"int\","
                                                   "\"null\":false,\"value\":\"%u\"}]}}",
             number);
}

/* Answers a request with a callback after the callback has answered, and other requests at once. The
 * listener, the first callback, gets an event for every EVENTS_EVERY-th request. */
static void call_back(struct fake_connection *connection, void *context)
{
  (void)context;
  unsigned requests = 0;
  unsigned events = 0;
  struct text message;
  while (fake_read(connection, &message)) {
    uint64_t call = call_of(message);
    uint64_t id = call == 0 ? fake_id(message) : call;
    unsigned callback = call == 0 ? given_by(message) : 0;
    if (id == 0) /* a release of refs */
      continue;
    if (callback <= LISTENER) {
      fake_answer_int(connection, id, 8);
      continue;
    }
    if (++requests % EVENTS_EVERY == 0)
      send_event(connection, events++);
    fake_write(
        connection,
        HEAD("\"cb-%llu\"") "\"method\":\"callback\",\"params\":{\"callback\":%u,\"interface\":\"a.I\","
                            "\"method\":\"f\",\"parameters\":[\"a.B\"],\"args\":[{\"type\":\"a.B\","
                            "\"null\":false,\"ref\":%u}]}}",
        (unsigned long long)id, callback, requests);
  }
}

/* ---- the program ---- */

struct caller {
  struct object object;
  pthread_t self;
  unsigned good;
};

/* Without a lock: each callback runs only on its own thread. */
static void ask_and_return(struct object *object, struct jp_callback_call *call)
{
  struct caller *caller = (struct caller *)object;
  bool is_mine = pthread_equal(caller->self, pthread_self());
  bool is_answered = object->calls % 2 == 0 || fixture_call(object->client, 30000, NULL) == JP_CLIENT_OK;
  bool is_sent = jp_callback_return(call, NULL, NULL) == JP_CLIENT_OK;
  caller->good += is_mine && is_answered && is_sent;
}

static void *give_often(void *context)
{
  struct caller *caller = context;
  caller->self = pthread_self();
  for (int i = 0; i < CALLS; i++)
    (void)!give_object(&caller->object, 30000, NULL);
  jp_callback_release(caller->object.callback);
  return NULL;
}

static unsigned events;

/* The calls need no lock: they run on any thread, but only one at a time. */
static void count_in_order(struct object *object, struct jp_callback_call *call)
{
  int64_t number = -1;
  (void)object;
  if (jp_answer_integer(jp_callback_argument_at(call, 0), &number) && number == events)
    events++;
}

UNIT_TEST(test_many_threads)
{
  struct jp_client *client = fixture_open(fake_peer_start(call_back, NULL), NULL);
  const struct jp_callback_config oneway = {.oneway = true};
  struct object listener = {.behave = count_in_order};
  static struct caller callers[THREADS];
  pthread_t threads[THREADS];
  events = 0;
  object_init(&listener, client, &oneway);
  assert_given(&listener);
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (struct caller){.object = {.behave = ask_and_return}};
    object_init(&callers[i].object, client, NULL);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, give_often, &callers[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  while (listener.calls < THREADS * CALLS / EVENTS_EVERY)
    fixture_process(client);
  assert_int_equal(events, THREADS * CALLS / EVENTS_EVERY);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(callers[i].good, CALLS);
    assert_int_equal(callers[i].object.released, 0); /* the peer has released no callback */
  }
  jp_callback_release(listener.callback);
  jp_client_close(client);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(callers[i].object.released, 1);
  assert_int_equal(listener.released, 1);
  fake_peer_stop(fixture_peer);
}

/* ---- many Java threads call; other threads of the program answer ---- */

enum { CALLED_AT_ONCE = 8 };

/* Sends many calls for one request, which is answered after the last call. */
static void call_at_once(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  uint64_t request = 0;
  unsigned open = 0;
  while (fake_read(connection, &message)) {
    if (call_of(message) != 0) {
      if (--open == 0)
        fake_answer_int(connection, request, 8);
    } else if (given_by(message) == 0) {
      fake_answer_int(connection, fake_id(message), 8);
    } else {
      request = fake_id(message);
      for (open = 0; open < CALLED_AT_ONCE; open++)
        fake_write(connection, HEAD("\"cb-%u\"") CALLBACK("1") ",\"parameters\":[],\"args\":[]}}", open + 1);
    }
  }
}

static pthread_t answerers[CALLED_AT_ONCE];
static atomic_uint answered;

static void *return_later(void *context)
{
  atomic_fetch_add(&answered, jp_callback_return(context, NULL, NULL) == JP_CLIENT_OK);
  return NULL;
}

static void answer_on_another_thread(struct object *object, struct jp_callback_call *call)
{
  jp_callback_answer_later(call);
  assert_int_equal(pthread_create(&answerers[object->calls - 1], NULL, return_later, call), 0);
}

UNIT_TEST(test_answers_from_many_threads)
{
  struct object object = {.behave = answer_on_another_thread};
  object_init(&object, fixture_open(fake_peer_start(call_at_once, NULL), NULL), NULL);
  assert_given(&object);
  assert_int_equal(object.calls, CALLED_AT_ONCE);
  for (int i = 0; i < CALLED_AT_ONCE; i++)
    pthread_join(answerers[i], NULL);
  assert_int_equal(answered, CALLED_AT_ONCE);
  jp_callback_release(object.callback);
  jp_client_close(object.client);
  assert_int_equal(object.released, 1);
  fake_peer_stop(fixture_peer);
}

/* ---- nested calls ---- */

enum { DEPTH_MAX = 1000 };

static unsigned refused;

static void go_deeper(struct object *object, struct jp_callback_call *call)
{
  enum jp_client_status status = give_object(object, 30000, NULL);
  refused += status == JP_CLIENT_REMOTE;
  assert_int_equal(jp_callback_return(call, NULL, NULL), JP_CLIENT_OK);
}

/* One call for each request. If the client refuses the call, the request fails. */
static void call_deeper(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message)) {
    unsigned long long call = call_of(message);
    if (call == 0)
      fake_write(connection, HEAD("\"cb-%llu\"") CALLBACK("1") ",\"parameters\":[],\"args\":[]}}",
                 (unsigned long long)fake_id(message));
    else if (memmem(message.data, message.len, "inside one another", 18) != NULL)
      fake_write(connection, HEAD("%llu") "\"error\":{\"code\":-32000,\"message\":\"refused\"}}", call);
    else
      fake_answer_int(connection, call, 8);
  }
}

static void *give_deeply(void *context)
{
  assert_given(context);
  return NULL;
}

UNIT_TEST(test_depth)
{
  enum { STACK_SIZE = 256 * 1024 * 1024 };
  struct object object = {.behave = go_deeper};
  pthread_attr_t attributes;
  pthread_t thread;
  refused = 0;
  object_init(&object, fixture_open(fake_peer_start(call_deeper, NULL), NULL), NULL);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  assert_int_equal(pthread_create(&thread, &attributes, give_deeply, &object), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  assert_int_equal(object.calls, DEPTH_MAX);
  assert_int_equal(refused, 1);
  jp_callback_release(object.callback);
  fixture_end(object.client);
}

UNIT_MAIN
