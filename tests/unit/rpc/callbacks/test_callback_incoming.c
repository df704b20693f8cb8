/* A delete_object is served after the answers that its client has sent before it. */
#include "base/clock.h"
#include "callback_bench.h"
#include "rpc/callbacks/callback_incoming.h"
#include "rpc/callbacks/callbacks_state.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdlib.h>

#define ANSWER(number) "{\"jsonrpc\":\"2.0\",\"id\":\"cb-" number "\",\"result\":{\"ref\":1}}"
#define DELETE         CONTROL("delete_object", "{\"ref\":1}")
#define DELETE_COUNTED CONTROL("delete_object", "{\"ref\":1,\"told\":1}")
#define NESTED_ADD(id)                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\"},"   \
  "\"options\":{\"within\":\"cb-1\"}}"
#define NESTED_DELETE(number)                                                                                \
  "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"control\",\"params\":{\"method\":\"delete_object\",\"args\":"  \
  "[{\"ref\":1,\"told\":1}]},\"options\":{\"within\":\"cb-" number "\"}}"

enum { NO_WAIT_MS = 1500 /* this time is shorter than the wait for an answer */ };

/* Hands in a message for a callback. */
static void hand_in(const char *message)
{
  assert_int_equal(bench_receive_text(duplex, message), RPC_CONSUMED);
}

/* Makes the session's object 1. */
static void make_object(void)
{
  jvm_objects_begin_after(rpc_session_objects(duplex->callbacks->session), 0);
  assert_int_equal(bench_serve_from(duplex, REQUEST("new", "\"type\":\"C\"")), RPC_REPLY);
}

static size_t count_objects(void)
{
  return jvm_objects_count(rpc_session_objects(duplex->callbacks->session));
}

static struct rpc_callback_call *open_call(void)
{
  return bench_hold_call(duplex, 7, proxy_of_7);
}

/* Makes a call on the thread of another call. */
static struct rpc_callback_call *open_inner_call(struct rpc_callback_call *outer)
{
  struct jvm_request request;
  assert_int_equal(stub_callbacks.hooks->enter(outer, &request), JP_OK);
  struct rpc_callback_call *inner = open_call();
  stub_callbacks.hooks->leave(outer);
  return inner;
}

static void assert_sight(struct rpc_callback_call *call, enum jvm_callback_event sight)
{
  struct jvm_callback_failure failure;
  assert_int_equal(stub_callbacks.hooks->poll(call, &failure), sight);
}

/* Java reads the answer, and continues. */
static void read_answer(struct rpc_callback_call *call)
{
  struct jvm_request request;
  struct jvm_callback_answer answer;
  struct outcome outcome;
  assert_sight(call, JVM_CALLBACK_ANSWER);
  assert_int_equal(stub_callbacks.hooks->enter(call, &request), JP_OK);
  assert_int_equal(stub_callbacks.hooks->take_answer(call, &request, &answer, &outcome), JP_OK);
  stub_callbacks.hooks->leave(call);
  stub_callbacks.hooks->close(call);
}

/* ---- another thread ---- */

struct server {
  const char *message; /* NULL: the call's thread serves its inbox */
  struct rpc_callback_call *call;
  pthread_t thread;
  atomic_bool is_done;
};

static void *run_server(void *argument)
{
  struct server *server = argument;
  if (server->message != NULL)
    (void)bench_serve_from(duplex, server->message);
  else
    stub_callbacks.hooks->serve(server->call);
  atomic_store(&server->is_done, true);
  return NULL;
}

static bool is_waiting(void)
{
  struct rpc_callbacks *callbacks = duplex->callbacks;
  pthread_mutex_lock(&callbacks->process->lock);
  bool is_waiting = callbacks->waiting > 0;
  pthread_mutex_unlock(&callbacks->process->lock);
  return is_waiting;
}

/* Fails if the server does not wait. */
static void begin_server(struct server *server)
{
  assert_int_equal(pthread_create(&server->thread, NULL, run_server, server), 0);
  AWAIT(atomic_load(&server->is_done) || is_waiting());
  assert_false(atomic_load(&server->is_done));
}

static void end_server(struct server *server)
{
  assert_int_equal(pthread_join(server->thread, NULL), 0);
}

/* ---- */

UNIT_TEST_WITH(test_requests_wait_until_answers_are_read, duplex_set_up_with_7, duplex_tear_down)
{
  static const char *const messages[] = {DELETE, DELETE_COUNTED, "[" ADD "," DELETE "]"};
  static const char *const answers[] = {ANSWER("1"), "[" ANSWER("2") "]", ANSWER("3")};
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    struct server server = {.message = messages[i]};
    make_object();
    struct rpc_callback_call *call = open_call();
    hand_in(answers[i]);
    begin_server(&server);
    assert_int_equal(count_objects(), 1);
    read_answer(call);
    end_server(&server);
    assert_int_equal(count_objects(), 0);
  }
}

/* A request does not wait for a call without an answer, nor for answers that were sent after the request. */
UNIT_TEST_WITH(test_other_calls_are_not_waited_for, duplex_set_up_with_7, duplex_tear_down)
{
  struct server server = {.message = DELETE};
  make_object();
  struct rpc_callback_call *unanswered = open_call();
  struct rpc_callback_call *answered = open_call();
  struct rpc_callback_call *late = open_call();
  hand_in(ANSWER("2"));
  begin_server(&server);
  hand_in(ANSWER("3"));
  stub_callbacks.hooks->close(answered); /* without the second request, the first request would end */
  end_server(&server);
  assert_int_equal(count_objects(), 0);
  stub_callbacks.hooks->close(late);
  stub_callbacks.hooks->close(unanswered);
}

/* Each of two threads has to serve a delete_object before its own answer. */
UNIT_TEST_WITH(test_threads_do_not_wait_for_each_other, duplex_set_up_with_7, duplex_tear_down)
{
  make_object();
  struct rpc_callback_call *one = open_call();
  struct rpc_callback_call *other = open_call();
  struct server server = {.call = other};
  int64_t begin_ms = clock_now_ms();
  hand_in(NESTED_DELETE("1"));
  hand_in(ANSWER("1"));
  hand_in(NESTED_DELETE("2"));
  hand_in(ANSWER("2"));
  assert_sight(one, JVM_CALLBACK_REQUEST);
  assert_sight(other, JVM_CALLBACK_REQUEST);
  begin_server(&server);
  stub_callbacks.hooks->serve(one);
  read_answer(one);
  end_server(&server);
  read_answer(other);
  assert_true(clock_now_ms() - begin_ms < NO_WAIT_MS);
}

/* The outer call serves a request of its own that was sent after the answer of the inner call. */
UNIT_TEST_WITH(test_requests_of_the_same_thread_follow_its_answer, duplex_set_up_with_7, duplex_tear_down)
{
  make_object();
  struct rpc_callback_call *outer = open_call();
  struct rpc_callback_call *inner = open_inner_call(outer);
  hand_in(ANSWER("2"));
  hand_in(NESTED_DELETE("1"));
  read_answer(inner);
  assert_int_equal(count_objects(), 1);
  assert_sight(outer, JVM_CALLBACK_REQUEST);
  stub_callbacks.hooks->serve(outer);
  assert_int_equal(count_objects(), 0);
  stub_callbacks.hooks->close(outer);
}

UNIT_TEST_WITH(test_a_thread_does_not_wait_for_itself, duplex_set_up_with_7, duplex_tear_down)
{
  make_object();
  struct rpc_callback_call *outer = open_call();
  struct rpc_callback_call *inner = open_inner_call(outer);
  int64_t begin_ms = clock_now_ms();
  hand_in(ANSWER("1")); /* before the request nested in it ends */
  hand_in(NESTED_DELETE("2"));
  assert_sight(inner, JVM_CALLBACK_REQUEST);
  stub_callbacks.hooks->serve(inner);
  assert_int_equal(count_objects(), 0);
  stub_callbacks.hooks->close(inner);
  stub_callbacks.hooks->close(outer);
  assert_true(clock_now_ms() - begin_ms < NO_WAIT_MS);
}

static bool cancel(const char *id, enum rpc_nested_state which)
{
  return rpc_callbacks_cancel(NULL, duplex->callbacks, text_of(id), which);
}

/* Its thread has been woken for the message, and finds none. */
UNIT_TEST_WITH(test_a_nested_request_that_waits_is_answered_when_it_is_cancelled, duplex_set_up_with_7,
               duplex_tear_down)
{
  struct rpc_callback_call *call = open_call();
  hand_in(NESTED_ADD("5"));
  hand_in(NESTED_ADD("6"));
  assert_false(cancel("5", RPC_NESTED_RUNS));
  assert_false(cancel("7", RPC_NESTED_WAITS));
  assert_true(cancel("5", RPC_NESTED_WAITS));
  assert_false(cancel("5", RPC_NESTED_WAITS));
  assert_true(cancel("6", RPC_NESTED_WAITS));
  assert_int_equal(duplex->callbacks->kept, 0);
  assert_int_equal(duplex->callbacks->kept_bytes, 0);
  stub_callbacks.hooks->serve(call);
  hand_in(NESTED_ADD("5"));
  hand_in(ANSWER("1"));
  assert_true(cancel("5", RPC_NESTED_WAITS));
  read_answer(call);
}

/* The answer is never read: all requests together wait as long as one. */
UNIT_TEST_WITH(test_the_wait_is_limited, duplex_set_up_with_7, duplex_tear_down)
{
  make_object();
  struct rpc_callback_call *call = open_call();
  hand_in(ANSWER("1"));
  int64_t begin_ms = clock_now_ms();
  assert_int_equal(bench_serve_from(duplex, DELETE), RPC_REPLY);
  assert_int_equal(count_objects(), 0);
  int64_t waited_ms = clock_now_ms() - begin_ms;
  for (int i = 0; i < 100; i++)
    assert_int_equal(bench_serve_from(duplex, DELETE_COUNTED), RPC_REPLY);
  assert_true(waited_ms >= NO_WAIT_MS);
  stub_callbacks.hooks->close(call);
}

UNIT_MAIN
