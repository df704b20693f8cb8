/* Calls of a client's objects, from the message to the answer, and the requests that are nested in them. */
#include "callback_bench.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLED(number, id)                                                                                   \
  "C{\"jsonrpc\":\"2.0\",\"id\":\"cb-" number "\",\"method\":\"callback\",\"params\":{\"callback\":" id      \
  ",\"interface\":\"a.Listener\",\"method\":\"tell\",\"parameters\":[\"int\",\"java.lang.Object\"],"         \
  "\"args\":[{"                                                                                              \
  "\"type\":\"int\",\"null\":false,\"value\":\"" id "\"},{\"type\":\"java.lang.Object\",\"null\":true}]}}"
#define ANSWER(number, result) "{\"jsonrpc\":\"2.0\",\"id\":\"cb-" number "\",\"result\":" result "}"
#define WITHIN(number, method, params)                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"" method "\",\"params\":{" params                              \
  "},\"options\":{\"within\":\"cb-" number "\"}}"
#define PING(number) WITHIN(number, "control", "\"method\":\"ping\"")
#define PONG         "A{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"void\":true}}"
#define RELEASED(id, given)                                                                                  \
  "N{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":" id      \
  ",\"given\":" given "}]}}"

#define RELEASED_TWO(first, second)                                                                          \
  "N{\"jsonrpc\":\"2.0\",\"method\":\"callback_released\",\"params\":{\"callbacks\":[{\"callback\":" first   \
  ",\"given\":1},{\"callback\":" second ",\"given\":1}]}}"

/* ---- a thread of the application ---- */

static struct {
  struct stub_call call; /* of the callback 7 */
  pthread_t thread;
} caller;

static void *run_caller(void *unused)
{
  (void)unused;
  stub_call(&caller.call);
  return NULL;
}

static void begin_call(void)
{
  assert_int_equal(pthread_create(&caller.thread, NULL, run_caller, NULL), 0);
}

static void end_call(void)
{
  assert_int_equal(pthread_join(caller.thread, NULL), 0);
}

static void assert_result(const struct stub_call *call, enum stub_result result, const char *text)
{
  if (call->result != result || strcmp(call->text, text) != 0)
    fail_msg("result %d: %s", call->result, call->text);
}

static int set_up(void **state)
{
  duplex_set_up_with_7(state);
  caller.call = (struct stub_call){.callbacks = bench_callbacks(duplex), .id = 7, .proxy = proxy_of_7};
  return 0;
}

/* Waits for the message of a call; fails if the next message is another. */
static void expect_sent(const char *wanted)
{
  char *sent = bench_read_sent(duplex);
  if (strcmp(sent, wanted) != 0)
    fail_msg("sent   %s\nwanted %s", sent, wanted);
  free(sent);
}

/* Begins the first call. */
static void begin_first_call(void)
{
  begin_call();
  expect_sent(CALLED("1", "7"));
}

/* Hands in a message for a callback. */
static void hand_in(const char *message)
{
  assert_int_equal(bench_receive_text(duplex, message), RPC_CONSUMED);
}

/* A call that is not polled, so that messages for it are kept. */
static struct rpc_callback_call *hold_call(void)
{
  return bench_hold_call(duplex, 7, proxy_of_7);
}

/* ---- answers ---- */

UNIT_TEST_WITH(test_a_call_gets_its_answer, set_up, duplex_tear_down)
{
  begin_first_call();
  hand_in(ANSWER("1", "42"));
  end_call();
  assert_result(&caller.call, STUB_RESULT_VALUE, "42");
  begin_call();
  expect_sent(CALLED("2", "7"));
  hand_in("[" ANSWER("9", "1") "," ANSWER("2", "null") "]");
  end_call();
  assert_result(&caller.call, STUB_RESULT_VALUE, "null");
  assert_nothing_sent(duplex);
}

UNIT_TEST_WITH(test_answers_to_no_open_call, set_up, duplex_tear_down)
{
  /* Before the first call no message is an answer. */
  assert_int_equal(bench_receive_text(duplex, ANSWER("1", "1")), RPC_ORDINARY);
  assert_int_equal(bench_receive_text(duplex, PING("1")), RPC_ORDINARY);
  begin_first_call();
  hand_in(ANSWER("2", "1"));
  hand_in("{\"id\":1,\"result\":1}");
  assert_int_equal(bench_receive_text(duplex, ADD), RPC_ORDINARY);
  hand_in(ANSWER("1", "{\"ref\":{\"callback\":7}}"));
  hand_in(ANSWER("1", "{\"ref\":{\"callback\":8}}")); /* the call is answered a second time */
  end_call();
  assert_result(&caller.call, STUB_RESULT_VALUE, "?");
  hand_in(ANSWER("1", "[{\"ref\":{\"callback\":9}}]")); /* the call is answered too late */
  /* The callbacks in answers that were dropped are counted. */
  assert_sent(duplex, RELEASED("8", "1"));
  assert_sent(duplex, RELEASED("9", "1"));
  assert_nothing_sent(duplex);
}

UNIT_TEST_WITH(test_an_answer_may_give_a_callback, set_up, duplex_tear_down)
{
  begin_first_call();
  hand_in(ANSWER("1", "[{\"ref\":{\"callback\":7}},{\"ref\":{\"callback\":8}}]"));
  end_call();
  /* The stub makes no proxy for this callback. */
  assert_sent(duplex, RELEASED("8", "1"));
  assert_nothing_sent(duplex);
}

/* Callbacks are also released if they follow the place where reading failed, or are in an answer that came
 * too late. */
UNIT_TEST_WITH(test_callbacks_in_an_unread_answer_are_counted, set_up, duplex_tear_down)
{
  begin_first_call();
  hand_in(ANSWER("1", "[{\"ref\":{\"callback\":8}},{\"ref\":0},{\"ref\":{\"callback\":9}}]"));
  end_call();
  assert_int_equal(caller.call.result, STUB_RESULT_MISFIT);
  assert_sent(duplex, RELEASED_TWO("9", "8"));
  assert_nothing_sent(duplex);
  struct rpc_callback_call *held = hold_call();
  hand_in(ANSWER("2", "{\"ref\":{\"callback\":8}}"));
  stub_callbacks.hooks->close(held);
  assert_sent(duplex, RELEASED("8", "1"));
  assert_nothing_sent(duplex);
}

/* The callbacks that were read before the fault have been released, and are not counted again with the
 * rest. */
UNIT_TEST_WITH(test_delete_session_while_an_answer_is_read, set_up, duplex_tear_down)
{
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  struct rpc_callback_call *held = hold_call();
  struct jvm_callback_answer answer;
  struct jvm_request request;
  struct outcome outcome;
  hand_in(ANSWER("1", "[{\"ref\":{\"callback\":8}},{\"ref\":0},{\"ref\":{\"callback\":9}}]"));
  assert_int_equal(hooks->enter(held, &request), JP_OK);
  assert_int_equal(hooks->take_answer(held, &request, &answer, &outcome), JP_INVALID);
  hooks->leave(held);
  assert_int_equal(bench_serve_from(duplex, CONTROL("delete_session", "")), RPC_REPLY);
  char *released = bench_read_sent(duplex); /* 7 and 8, in any order */
  assert_non_null(strstr(released, "{\"callback\":8,\"given\":1}"));
  free(released);
  hooks->close(held);
  assert_sent(duplex, RELEASED("9", "1"));
  assert_nothing_sent(duplex);
}

/* ---- ends ---- */

UNIT_TEST_WITH(test_ends_are_reported_at_once, set_up, duplex_tear_down)
{
  const struct rpc_service *service = bench->service;
  begin_first_call();
  service->client_gone(service->context, duplex->callbacks, true);
  end_call();
  assert_result(&caller.call, STUB_RESULT_FAILURE, "the peer is shutting down");
  assert_int_equal(caller.call.code, -32000);
  service->client_gone(service->context, duplex->callbacks, false);
  stub_call(&caller.call);
  assert_result(&caller.call, STUB_RESULT_FAILURE, "the peer is shutting down");
}

UNIT_TEST_WITH(test_calls_of_threads_that_exit, set_up, duplex_tear_down)
{
  const struct rpc_service *service = bench->service;
  struct rpc_callbacks *callbacks = duplex->callbacks;
  atomic_store(&stub_callbacks.are_exiting, true);
  assert_false(service->are_exiting(service->context, callbacks));
  begin_first_call();
  assert_true(service->are_exiting(service->context, callbacks));
  struct rpc_callback_call *held = hold_call(); /* the call has no waiter */
  assert_false(service->are_exiting(service->context, callbacks));
  stub_callbacks.hooks->close(held);
  atomic_store(&stub_callbacks.are_exiting, false);
  assert_false(service->are_exiting(service->context, callbacks));
  service->client_gone(service->context, callbacks, false);
  end_call();
}

/* ---- sending ---- */

UNIT_TEST_WITH(test_calls_wait_for_room, set_up, duplex_tear_down)
{
  const struct rpc_service *service = bench->service;
  for (int i = 0; i < 2; i++) {
    bool is_oneway = i == 1;
    caller.call.is_oneway = caller.call.is_void = is_oneway;
    duplex->has_no_room = true;
    begin_call();
    service->has_room(service->context, duplex->callbacks);
    assert_nothing_sent(duplex);
    pthread_mutex_lock(&duplex->lock);
    duplex->has_no_room = false;
    pthread_mutex_unlock(&duplex->lock);
    service->has_room(service->context, duplex->callbacks);
    char *sent = bench_read_sent(duplex);
    assert_int_equal(*sent, is_oneway ? 'E' : 'C');
    free(sent);
    if (!is_oneway)
      hand_in(ANSWER("1", "1"));
    end_call();
    assert_int_not_equal(caller.call.result, STUB_RESULT_FAILURE);
  }
}

UNIT_TEST_WITH(test_calls_that_cannot_be_sent, set_up, duplex_tear_down)
{
  duplex->too_long = 100;
  stub_callbacks.is_stack_short = true;
  stub_call(&caller.call);
  stub_callbacks.is_stack_short = false;
  assert_result(&caller.call, STUB_RESULT_FAILURE, "less than 256 KiB of the thread's stack are left");
  stub_call(&caller.call);
  assert_int_equal(caller.call.result, STUB_RESULT_FAILURE);
  assert_non_null(strstr(caller.call.text, "more than may be held for its client (send-buffer-max)"));
  duplex->too_long = 0;
  duplex->is_closed = true;
  stub_call(&caller.call);
  assert_result(&caller.call, STUB_RESULT_FAILURE, "the connection of the client has ended");
}

/* ---- refs in arguments ---- */

static size_t count_objects(void)
{
  size_t count;
  assert_int_equal(bench_serve_from(duplex, CONTROL("stats", "")), RPC_REPLY);
  const char *objects = strstr(bench->out.data, "\\\"objects\\\":");
  assert_non_null(objects);
  assert_int_equal(sscanf(objects, "\\\"objects\\\":%zu", &count), 1);
  return count;
}

static void answer_call(void)
{
  char answer[100];
  char *sent;
  begin_call();
  sent = bench_read_sent(duplex);
  unsigned number = 0;
  assert_int_equal(sscanf(sent, "C{\"jsonrpc\":\"2.0\",\"id\":\"cb-%u\"", &number), 1);
  free(sent);
  snprintf(answer, sizeof answer, "{\"id\":\"cb-%u\",\"result\":1}", number);
  hand_in(answer);
  end_call();
}

UNIT_TEST_WITH(test_borrowed_objects_end_with_the_call, set_up, duplex_tear_down)
{
  caller.call.sends_object = true;
  answer_call();
  assert_int_equal(count_objects(), 1);
  caller.call.borrows = true;
  answer_call();
  assert_int_equal(count_objects(), 1);
  /* A ref that was not sent is released. */
  caller.call.borrows = false;
  duplex->is_closed = true;
  stub_call(&caller.call);
  assert_int_equal(count_objects(), 1);
}

/* ---- nested requests ---- */

UNIT_TEST_WITH(test_nested_requests_run_on_the_thread, set_up, duplex_tear_down)
{
  begin_first_call();
  hand_in(PING("1"));
  expect_sent(PONG);
  hand_in(WITHIN("1", "new", "\"type\":\"C\""));
  expect_sent("A{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"void\":false,\"value\":{\"type\":\"C\","
              "\"null\":false,\"ref\":1}}}");
  hand_in("{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":"
          "\"ping\"},\"options\":{\"within\":\"cb-1\"}}");
  hand_in(WITHIN("1", "call",
                 "\"type\":\"C\",\"method\":\"keep\",\"args\":[{"
                 "\"ref\":{\"callback\":7}}]"));
  expect_sent(PONG);
  hand_in(ANSWER("1", "1"));
  end_call();
  assert_int_equal(caller.call.nested, 4);
  assert_int_equal(count_objects(), 1);
  assert_nothing_sent(duplex);
}

/* Requests that were sent before the answer are served before it is read. */
UNIT_TEST_WITH(test_nested_requests_come_before_the_answer, set_up, duplex_tear_down)
{
  begin_first_call();
  struct buffer long_ping;
  buffer_init(&long_ping);
  buffer_append_text(&long_ping, TEXT(PING("1")));
  for (int i = 0; i < 5000; i++)
    buffer_append_char(&long_ping, ' ');
  assert_int_equal(bench_receive(duplex, &long_ping), RPC_CONSUMED);
  assert_null(long_ping.data); /* it was not copied */
  buffer_fini(&long_ping);
  hand_in(ANSWER("1", "1"));
  end_call();
  assert_int_equal(caller.call.nested, 1);
  assert_result(&caller.call, STUB_RESULT_VALUE, "1");
  expect_sent(PONG);
}

/* Requests that will not be served get an answer, and the callbacks that they give are counted. */
UNIT_TEST_WITH(test_requests_of_a_call_that_ends, set_up, duplex_tear_down)
{
  const struct rpc_service *service = bench->service;
  struct rpc_callback_call *call = hold_call();
  struct jvm_callback_failure failure;
  hand_in(WITHIN("1", "call", "\"args\":[{\"ref\":{\"callback\":8}}]"));
  assert_int_equal(stub_callbacks.hooks->poll(call, &failure), JVM_CALLBACK_REQUEST);
  service->client_gone(service->context, duplex->callbacks, false);
  assert_int_equal(stub_callbacks.hooks->poll(call, &failure), JVM_CALLBACK_ENDED);
  stub_callbacks.hooks->close(call);
  expect_sent("A{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"Invalid params\","
              "\"data\":{\"message\":\"'within': cb-1 is no open callback that the message is nested "
              "in\",\"request_id\":5,\"stack_trace\":[],\"cause\":null}}}");
  assert_nothing_sent(duplex);
}

UNIT_TEST_WITH(test_a_nested_answer_may_find_no_room, set_up, duplex_tear_down)
{
  begin_first_call();
  duplex->answer_max = 10;
  hand_in(WITHIN("1", "new", "\"type\":\"C\""));
  hand_in(ANSWER("1", "1"));
  end_call();
  assert_int_equal(count_objects(), 0); /* it was released */
}

/* ---- limits ---- */

UNIT_TEST_WITH(test_kept_messages_are_limited, set_up, duplex_tear_down)
{
  enum { KEPT_MAX = 1000, LARGE = 60000 /* a message may have 100,000 bytes */ };
  struct jvm_callback_failure failure;
  struct rpc_callback_call *first = hold_call();
  struct rpc_callback_call *second = hold_call();
  for (int i = 0; i < KEPT_MAX; i++)
    hand_in(PING("1"));
  hand_in(PING("1"));
  expect_sent("R{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32000,\"message\":\"Server error\","
              "\"data\":{\"message\":\"too many requests wait in this connection's callbacks\","
              "\"request_id\":5,\"stack_trace\":[],\"cause\":null}}}");
  hand_in(ANSWER("2", "1"));
  assert_int_equal(stub_callbacks.hooks->poll(second, &failure), JVM_CALLBACK_ENDED);
  assert_string_equal(failure.text, "the answer is longer than there is room for (message-max)");
  stub_callbacks.hooks->close(second);
  stub_callbacks.hooks->close(first);
  for (int i = 0; i < KEPT_MAX; i++)
    free(bench_read_sent(duplex));

  char *large = test_malloc(LARGE + 1);
  memset(large, ' ', LARGE);
  large[LARGE] = '\0';
  first = hold_call();
  second = hold_call();
  memcpy(large, ANSWER("3", "1"), strlen(ANSWER("3", "1")));
  hand_in(large);
  assert_int_equal(stub_callbacks.hooks->poll(first, &failure), JVM_CALLBACK_ANSWER);
  memcpy(large, ANSWER("4", "1"), strlen(ANSWER("4", "1")));
  hand_in(large);
  assert_int_equal(stub_callbacks.hooks->poll(second, &failure), JVM_CALLBACK_ENDED);
  stub_callbacks.hooks->close(second);
  stub_callbacks.hooks->close(first);
  test_free(large);
}

/* ---- threads of the crew ---- */

/* A crew member that waits on a condition variable instead of a socket. */
struct member {
  struct rpc_waits waits;
  pthread_mutex_t lock;
  pthread_cond_t woken;
  bool was_woken;
  struct stub_call call;
  const struct rpc_service *service;
};

static void wait_natively(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms)
{
  struct member *member = thread;
  (void)deadline_ms;
  while (!is_over(state)) {
    pthread_mutex_lock(&member->lock);
    for (const int64_t since_ms = clock_now_ms(); !member->was_woken;)
      await_signal(&member->woken, &member->lock, since_ms, "the member to be woken");
    member->was_woken = false;
    pthread_mutex_unlock(&member->lock);
  }
}

static void wake_natively(void *thread)
{
  struct member *member = thread;
  pthread_mutex_lock(&member->lock);
  member->was_woken = true;
  pthread_cond_signal(&member->woken);
  pthread_mutex_unlock(&member->lock);
}

static void run_member(void *argument, struct rpc_worker *worker)
{
  struct member *member = argument;
  member->service->set_waits(member->service->context, worker, &member->waits);
  assert_true(stub_callbacks.hooks->waits());
  stub_call(&member->call);
}

UNIT_TEST_WITH(test_crew_members_wait_natively, set_up, duplex_tear_down)
{
  struct jp_error error;
  struct member member = {.call = caller.call, .service = bench->service};
  member.waits = (struct rpc_waits){.thread = &member, .wait = wait_natively, .wake = wake_natively};
  pthread_mutex_init(&member.lock, NULL);
  pthread_cond_init(&member.woken, NULL);
  assert_false(stub_callbacks.hooks->waits());
  assert_int_equal(member.service->spawn(member.service->context, "member", run_member, &member, &error),
                   JP_OK);
  expect_sent(CALLED("1", "7"));
  hand_in(PING("1"));
  expect_sent(PONG);
  const struct rpc_service *service = member.service;
  assert_false(service->are_exiting(service->context, duplex->callbacks));
  atomic_store(&stub.are_exiting, true);
  assert_true(service->are_exiting(service->context, duplex->callbacks));
  atomic_store(&stub.are_exiting, false);
  hand_in(ANSWER("1", "1"));
  AWAIT(atomic_load(&duplex->calls_open) == 0);
  lent_worker_return(&bench->lent);
  assert_true(rpc_peer_detach(bench->peer));
  stub_join_threads();
  assert_result(&member.call, STUB_RESULT_VALUE, "1");
  pthread_mutex_destroy(&member.lock);
  pthread_cond_destroy(&member.woken);
  lent_worker_fini(&bench->lent);
  lent_worker_borrow(&bench->lent, bench->service);
}

UNIT_MAIN
