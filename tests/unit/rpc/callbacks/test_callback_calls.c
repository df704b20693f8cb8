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

static void recurse(void);

static struct stub_member members[] = {
    {.type = "C", .member = "keep", .kind = JVM_STATIC_METHOD, .modifiers = JVM_ACC_PUBLIC | JVM_ACC_STATIC},
    {.type = "C",
     .member = "recurse",
     .kind = JVM_STATIC_METHOD,
     .modifiers = JVM_ACC_PUBLIC | JVM_ACC_STATIC,
     .run = recurse},
    STUB_MEMBER_CONSTRUCTOR,
};

/* The connection that the nested request "recurse" calls, and how. */
static struct stub_call recursion;

static void recurse(void)
{
  stub_call(&recursion);
}

/* ---- a thread of the application ---- */

struct caller {
  struct stub_call call;
  pthread_t thread;
};

static void *run_caller(void *argument)
{
  struct caller *caller = argument;
  stub_call(&caller->call);
  return NULL;
}

static void begin_call(struct caller *caller)
{
  assert_int_equal(pthread_create(&caller->thread, NULL, run_caller, caller), 0);
}

static void end_call(struct caller *caller)
{
  assert_int_equal(pthread_join(caller->thread, NULL), 0);
}

static void assert_told(const struct stub_call *call, enum stub_told told, const char *text)
{
  if (call->told != told || strcmp(call->text, text) != 0)
    fail_msg("told %d: %s", call->told, call->text);
}

/* Waits for the message of a call; fails where the next message is another. */
static void expect_sent(struct rpc_duplex *duplex, const char *wanted)
{
  char *sent = bench_take_sent(duplex);
  if (strcmp(sent, wanted) != 0)
    fail_msg("sent   %s\nwanted %s", sent, wanted);
  free(sent);
}

struct fixture {
  struct service_bench *bench;
  struct rpc_duplex *duplex;
  struct caller caller; /* of the callback 7 */
};

static struct fixture *make_fixture(int64_t timeout_ms)
{
  struct fixture *f = test_calloc(1, sizeof *f);
  f->bench = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .callback_timeout_ms = timeout_ms});
  f->duplex = bench_connect(f->bench);
  uint64_t proxy = bench_give(f->duplex, 7);
  f->caller.call = (struct stub_call){.callbacks = bench_callbacks(f->duplex), .id = 7, .proxy = proxy};
  recursion = f->caller.call;
  return f;
}

static int set_up(void **state)
{
  *state = make_fixture(0);
  return 0;
}

static int set_up_with_timeout(void **state)
{
  *state = make_fixture(20);
  return 0;
}

/* The proxy goes last, as Java's may. */
static int tear_down(void **state)
{
  struct fixture *f = *state;
  struct jvm_callbacks *callbacks = f->caller.call.callbacks;
  if (f->duplex->client != NULL)
    bench_close_client(f->duplex);
  stub_callbacks.hooks->released(callbacks, 7, f->caller.call.proxy);
  bench_disconnect(f->duplex);
  bool is_clean = service_bench_destroy(f->bench);
  assert_int_equal(atomic_load(&stub_callbacks.waiters), 0);
  assert_int_equal(atomic_load(&stub_callbacks.threads), 0);
  test_free(f);
  return is_clean ? 0 : -1;
}

/* A call that nobody looks at, so that what comes for it is kept. */
static struct jvm_callback_call *hold_call(struct fixture *f, struct stub_call *call)
{
  static const struct jvm_callback_method method = {.interface = TEXT("a.B"), .name = TEXT("m")};
  const struct jvm_callback_given given = {.id = call->id};
  struct jvm_callback_call *held;
  struct jvm_callback_failure failure;
  struct jvm_request request;
  assert_int_equal(
      stub_callbacks.hooks->open(call->callbacks, &given, call->proxy, &method, NULL, &held, &failure),
      JP_OK);
  assert_int_equal(stub_callbacks.hooks->enter(held, &request), JP_OK);
  assert_int_equal(stub_callbacks.hooks->send(held, NULL, 0, &failure), JVM_CALLBACK_SENT);
  stub_callbacks.hooks->leave(held);
  free(bench_take_sent(f->duplex));
  return held;
}

/* ---- answers ---- */

static void test_a_call_gets_its_answer(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "42")), RPC_TAKEN);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "42");
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("2", "7"));
  assert_int_equal(bench_come(f->duplex, "[" ANSWER("9", "1") "," ANSWER("2", "null") "]"), RPC_TAKEN);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "null");
  assert_nothing_sent(f->duplex);
}

static void test_errors_and_misfits(void **state)
{
  static const struct {
    const char *answer;
    enum stub_told told;
    const char *text;
    int code;
  } cases[] = {
      {"\"error\":{\"code\":-5,\"message\":\"no\"}", STUB_TOLD_ERROR, "no", -5},
      {"\"error\":5", STUB_TOLD_MISFIT, "the answer's error is no object", 0},
      {"\"result\":{\"ref\":0}", STUB_TOLD_MISFIT, "result: 'ref' must be an integer from 1 to 2147483647",
       0},
      {"\"result\":{\"type\":\"jpeer.peer.Callback\",\"value\":null}", STUB_TOLD_MISFIT,
       "RPC access denied: jpeer.peer.Callback.class via WEBSOCKET_RPC", 0},
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char called[600];
    char answer[200];
    snprintf(called, sizeof called, CALLED("%zu", "7"), i + 1);
    snprintf(answer, sizeof answer, "{\"id\":\"cb-%zu\",%s}", i + 1, cases[i].answer);
    begin_call(&f->caller);
    expect_sent(f->duplex, called);
    assert_int_equal(bench_come(f->duplex, answer), RPC_TAKEN);
    end_call(&f->caller);
    assert_told(&f->caller.call, cases[i].told, cases[i].text);
    if (cases[i].code != 0)
      assert_int_equal(f->caller.call.code, cases[i].code);
  }
}

static void test_answers_that_nobody_waits_for(void **state)
{
  struct fixture *f = *state;
  /* Before anything was asked, none is expected. */
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_ORDINARY);
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_ORDINARY);
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, ANSWER("2", "1")), RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, "{\"id\":1,\"result\":1}"), RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, ADD), RPC_ORDINARY);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "{\"ref\":{\"callback\":7}}")), RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "{\"ref\":{\"callback\":8}}")),
                   RPC_TAKEN); /* a second one */
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "?");
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "[{\"ref\":{\"callback\":9}}]")),
                   RPC_TAKEN); /* a late one */
  /* What the dropped ones gave is accounted for. */
  assert_sent(f->duplex, RELEASED("8", "1"));
  assert_sent(f->duplex, RELEASED("9", "1"));
  assert_nothing_sent(f->duplex);
}

static void test_an_answer_may_give_a_callback(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(
      bench_come(f->duplex, ANSWER("1", "[{\"ref\":{\"callback\":7}},{\"ref\":{\"callback\":8}}]")),
      RPC_TAKEN);
  end_call(&f->caller);
  /* The stub makes no proxy of it. */
  assert_sent(f->duplex, RELEASED("8", "1"));
  assert_nothing_sent(f->duplex);
}

/* Refs are let go of also behind the place where reading failed, and in an answer that came too late to be read. */
static void test_what_an_unread_answer_gives_is_accounted_for(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(
      bench_come(f->duplex,
                 ANSWER("1", "[{\"ref\":{\"callback\":8}},{\"ref\":0},{\"ref\":{\"callback\":9}}]")),
      RPC_TAKEN);
  end_call(&f->caller);
  assert_int_equal(f->caller.call.told, STUB_TOLD_MISFIT);
  assert_sent(f->duplex, RELEASED_TWO("9", "8"));
  assert_nothing_sent(f->duplex);
  struct jvm_callback_call *held = hold_call(f, &f->caller.call);
  assert_int_equal(bench_come(f->duplex, ANSWER("2", "{\"ref\":{\"callback\":8}}")), RPC_TAKEN);
  stub_callbacks.hooks->close(held);
  assert_sent(f->duplex, RELEASED("8", "1"));
  assert_nothing_sent(f->duplex);
}

/* What was read of it was released then, and is not counted again with the rest. */
static void test_delete_session_while_an_answer_is_read(void **state)
{
  struct fixture *f = *state;
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  struct jvm_callback_call *held = hold_call(f, &f->caller.call);
  struct jvm_callback_answer answer;
  struct jvm_request request;
  struct outcome outcome;
  assert_int_equal(
      bench_come(f->duplex,
                 ANSWER("1", "[{\"ref\":{\"callback\":8}},{\"ref\":0},{\"ref\":{\"callback\":9}}]")),
      RPC_TAKEN);
  assert_int_equal(hooks->enter(held, &request), JP_OK);
  assert_int_equal(hooks->take_answer(held, &request, &answer, &outcome), JP_INVALID);
  hooks->leave(held);
  assert_int_equal(bench_serve_from(f->duplex, CONTROL("delete_session", "")), RPC_REPLY);
  char *released = bench_take_sent(f->duplex); /* 7 and 8, in any order */
  assert_non_null(strstr(released, "{\"callback\":8,\"given\":1}"));
  free(released);
  hooks->close(held);
  assert_sent(f->duplex, RELEASED("9", "1"));
  assert_nothing_sent(f->duplex);
}

/* What Java may wait for is refused before its turn, and the call that it names ends. */
static void test_what_cannot_be_read_while_a_call_is_open(void **state)
{
  static const struct {
    const char *message; /* of call cb-N, N being the number of the case */
    const char *part;    /* of what the client gets */
    const char *told;
  } cases[] = {
      {"{\"id\":\"cb-1\",\"result\":NaN}", "-32700",
       "the client's answer cannot be read: unexpected character"},
      {"{\"id\":\"cb-2\",\"result\":{\"ref\":{\"callback\":8}},\"error\":{}}", "-32600",
       "the client's answer cannot be read: it must have one of result and error"},
      {"[" ANSWER("3", "1") "," ADD "," ANSWER("9", "1") "]", "the message also has an answer to a callback",
       "the client's answer cannot be read: something else than answers is in its array"},
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    begin_call(&f->caller);
    free(bench_take_sent(f->duplex));
    assert_int_equal(bench_come(f->duplex, "no JSON"), RPC_TAKEN);
    char *refusal = bench_take_sent(f->duplex);
    assert_non_null(strstr(refusal, "\"id\":null,\"error\":{\"code\":-32700"));
    free(refusal);
    assert_int_equal(bench_come(f->duplex, cases[i].message), RPC_TAKEN);
    end_call(&f->caller);
    assert_told(&f->caller.call, STUB_TOLD_FAILURE, cases[i].told);
    if (i == 1)
      assert_sent(f->duplex, RELEASED("8", "1"));
    refusal = bench_take_sent(f->duplex);
    assert_non_null(strstr(refusal, cases[i].part));
    free(refusal);
    assert_nothing_sent(f->duplex);
  }
  /* Without an open call they have their turn. */
  assert_int_equal(bench_come(f->duplex, cases[0].message), RPC_ORDINARY);
  assert_int_equal(bench_come(f->duplex, cases[2].message), RPC_ORDINARY);
}

/* ---- ends ---- */

static void test_ends_are_told_at_once(void **state)
{
  struct fixture *f = *state;
  const struct rpc_service *service = f->bench->service;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  service->client_gone(service->context, f->duplex->callbacks, true);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the peer is shutting down");
  assert_int_equal(f->caller.call.code, -32000);
  service->client_gone(service->context, f->duplex->callbacks, false);
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the peer is shutting down");
}

static void test_calls_of_threads_that_exit(void **state)
{
  struct fixture *f = *state;
  const struct rpc_service *service = f->bench->service;
  struct rpc_callbacks *callbacks = f->duplex->callbacks;
  atomic_store(&stub_callbacks.are_exiting, true);
  assert_false(service->are_exiting(service->context, callbacks));
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_true(service->are_exiting(service->context, callbacks));
  struct jvm_callback_call *held = hold_call(f, &f->caller.call); /* without a waiter */
  assert_false(service->are_exiting(service->context, callbacks));
  stub_callbacks.hooks->close(held);
  atomic_store(&stub_callbacks.are_exiting, false);
  assert_false(service->are_exiting(service->context, callbacks));
  service->client_gone(service->context, callbacks, false);
  end_call(&f->caller);
}

static void test_a_client_may_close_while_it_is_called(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  bench_close_client(f->duplex);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the connection of the client has ended");
}

static void test_delete_session_ends_calls(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_serve_from(f->duplex, CONTROL("delete_session", "")), RPC_REPLY);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the session of the client was deleted");
  assert_sent(f->duplex, RELEASED("7", "1"));
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the session of the client was deleted");
  assert_nothing_sent(f->duplex);
}

static void test_a_call_may_time_out(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE,
              "the client has not answered within 20 ms (callback-timeout)");
  assert_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  f->duplex->has_no_room = true;
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE,
              "the client has not answered within 20 ms (callback-timeout)");
  f->caller.call.is_oneway = f->caller.call.is_void = true;
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE,
              "there was no room for the event within 20 ms (callback-timeout)");
}

static void test_an_interrupt_ends_the_wait(void **state)
{
  struct fixture *f = *state;
  f->caller.call.interrupt_after = 1;
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "interrupted");
  assert_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
}

/* ---- sending ---- */

static void test_oneway_calls_do_not_wait(void **state)
{
  struct fixture *f = *state;
  struct stub_call *call = &f->caller.call;
  call->is_oneway = true;
  call->is_void = true;
  stub_call(call);
  assert_sent(
      f->duplex,
      "E{\"jsonrpc\":\"2.0\",\"method\":\"callback\",\"params\":{\"callback\":7,\"interface\":\"a."
      "Listener\",\"method\":\"tell\",\"parameters\":[\"int\",\"java.lang.Object\"],\"args\":[{\"type\":"
      "\"int\",\"null\":false,\"value\":\"7\"},{\"type\":\"java.lang.Object\",\"null\":true}]}}");
  assert_int_equal(atomic_load(&f->duplex->calls_open), 0);
  /* A method that returns something is waited for. */
  call->is_void = false;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
}

static void test_calls_wait_for_room(void **state)
{
  struct fixture *f = *state;
  const struct rpc_service *service = f->bench->service;
  for (int i = 0; i < 2; i++) {
    bool is_oneway = i == 1;
    f->caller.call.is_oneway = f->caller.call.is_void = is_oneway;
    f->duplex->has_no_room = true;
    begin_call(&f->caller);
    service->has_room(service->context, f->duplex->callbacks);
    assert_nothing_sent(f->duplex);
    pthread_mutex_lock(&f->duplex->lock);
    f->duplex->has_no_room = false;
    pthread_mutex_unlock(&f->duplex->lock);
    service->has_room(service->context, f->duplex->callbacks);
    char *sent = bench_take_sent(f->duplex);
    assert_int_equal(*sent, is_oneway ? 'E' : 'C');
    free(sent);
    if (!is_oneway)
      assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
    end_call(&f->caller);
    assert_int_not_equal(f->caller.call.told, STUB_TOLD_FAILURE);
  }
}

static void test_calls_that_cannot_be_sent(void **state)
{
  struct fixture *f = *state;
  f->duplex->too_long = 100;
  stub_call(&f->caller.call);
  assert_int_equal(f->caller.call.told, STUB_TOLD_FAILURE);
  assert_non_null(strstr(f->caller.call.text, "more than may be held for its client (send-buffer-max)"));
  f->duplex->too_long = 0;
  f->duplex->is_closed = true;
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the connection of the client has ended");
}

/* ---- what arguments tell ---- */

static size_t count_objects(const struct fixture *f)
{
  size_t count;
  assert_int_equal(bench_serve_from(f->duplex, CONTROL("stats", "")), RPC_REPLY);
  const char *objects = strstr(f->bench->out.data, "\\\"objects\\\":");
  assert_non_null(objects);
  assert_int_equal(sscanf(objects, "\\\"objects\\\":%zu", &count), 1);
  return count;
}

static void answer_call(struct fixture *f)
{
  char answer[100];
  char *sent;
  begin_call(&f->caller);
  sent = bench_take_sent(f->duplex);
  unsigned number = 0;
  assert_int_equal(sscanf(sent, "C{\"jsonrpc\":\"2.0\",\"id\":\"cb-%u\"", &number), 1);
  free(sent);
  snprintf(answer, sizeof answer, "{\"id\":\"cb-%u\",\"result\":1}", number);
  assert_int_equal(bench_come(f->duplex, answer), RPC_TAKEN);
  end_call(&f->caller);
}

static void test_borrowed_objects_end_with_the_call(void **state)
{
  struct fixture *f = *state;
  f->caller.call.tells_object = true;
  answer_call(f);
  assert_int_equal(count_objects(f), 1);
  f->caller.call.borrows = true;
  answer_call(f);
  assert_int_equal(count_objects(f), 1);
  /* What was never sent is nobody's. */
  f->caller.call.borrows = false;
  f->duplex->is_closed = true;
  stub_call(&f->caller.call);
  assert_int_equal(count_objects(f), 1);
}

/* tests/integration/test_callback_origins.py has the others. */
static void test_calls_say_that_their_thread_serves_nobody(void **state)
{
  struct fixture *f = *state;
  f->caller.call.is_oneway = f->caller.call.is_void = true;
  f->caller.call.tells_origin = true;
  stub_call(&f->caller.call);
  char *sent = bench_take_sent(f->duplex);
  assert_non_null(strstr(sent, "\"origin\":\"thread\""));
  free(sent);
}

/* ---- nested requests ---- */

static void test_nested_requests_run_on_the_thread(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "new", "\"type\":\"C\"")), RPC_TAKEN);
  expect_sent(f->duplex,
              "A{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"void\":false,\"value\":{\"type\":\"C\","
              "\"null\":false,\"ref\":1}}}");
  assert_int_equal(bench_come(f->duplex, "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":"
                                         "\"ping\"},\"options\":{\"within\":\"cb-1\"}}"),
                   RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "call",
                                                "\"type\":\"C\",\"method\":\"keep\",\"args\":[{"
                                                "\"ref\":{\"callback\":7}}]")),
                   RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
  assert_int_equal(f->caller.call.nested, 4);
  assert_int_equal(count_objects(f), 1);
  assert_nothing_sent(f->duplex);
}

static void test_nested_batches(void **state)
{
  static const char ping[] =
      "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"control\",\"params\":{\"method\":\"ping\"}}";
  char batch[600];
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  snprintf(batch, sizeof batch, "[%s,%s,%s]", PING("1"), ping, PING("2"));
  assert_int_equal(bench_come(f->duplex, batch), RPC_TAKEN);
  expect_sent(f->duplex,
              "A[{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"void\":true}},{\"jsonrpc\":\"2.0\",\"id\":6,"
              "\"result\":{\"void\":true}},{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,"
              "\"message\":\"Invalid params\",\"data\":{\"message\":\"'within': cb-2 is no open "
              "callback that the message is nested in\",\"request_id\":5,\"stack_trace\":[],"
              "\"cause\":null}}}]");
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
}

#define NOT_OPEN(number)                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"Invalid "                          \
  "params\",\"data\":{\"message\":"                                                                          \
  "\"'within': cb-" number                                                                                   \
  " is no open callback that the message is nested in\",\"request_id\":5,\"stack_trace\":[],"                \
  "\"cause\":null}}}"
#define GIVING(number) WITHIN(number, "call", "\"args\":[{\"ref\":{\"callback\":8}}]")

/* The client may wait for the answer inside a callback: it is refused before its turn comes. */
static void test_what_is_nested_in_no_open_call(void **state)
{
  static const char notice[] = "{\"jsonrpc\":\"2.0\",\"method\":\"call\",\"options\":{\"within\":\"cb-2\"}}";
  static const struct {
    const char *message;
    const char *answer;
  } cases[] = {{PING("2"), "R" NOT_OPEN("2")},
               {PING("0"), "R" NOT_OPEN("0")},
               {PING("x"), "R" NOT_OPEN("x")},
               {PING("1"), "R" NOT_OPEN("1")}};
  char batch[400];
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    if (i + 1 == COUNT_OF(cases))
      assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
    assert_int_equal(bench_come(f->duplex, cases[i].message), RPC_TAKEN);
    assert_sent(f->duplex, cases[i].answer);
  }
  assert_int_equal(bench_come(f->duplex, notice), RPC_TAKEN);
  assert_nothing_sent(f->duplex);
  snprintf(batch, sizeof batch, "[%s,%s," ADD "]", GIVING("2"), notice);
  assert_int_equal(bench_come(f->duplex, batch), RPC_TAKEN);
  assert_sent(f->duplex, RELEASED("8", "1"));
  char *answers = bench_take_sent(f->duplex);
  assert_memory_equal(answers, "R[" NOT_OPEN("2") ",{", strlen("R[" NOT_OPEN("2") ",{"));
  assert_non_null(strstr(answers, "the first request of the batch is nested in no open callback"));
  free(answers);
  assert_nothing_sent(f->duplex);
  end_call(&f->caller);
}

/* What was sent before the answer is served before it is taken. */
static void test_nested_requests_come_before_the_answer(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  struct buffer long_ping;
  buffer_init(&long_ping);
  buffer_append_text(&long_ping, TEXT(PING("1")));
  for (int i = 0; i < 5000; i++)
    buffer_append_char(&long_ping, ' ');
  assert_int_equal(bench_take(f->duplex, &long_ping), RPC_TAKEN);
  assert_null(long_ping.data); /* it was not copied */
  buffer_fini(&long_ping);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
  assert_int_equal(f->caller.call.nested, 1);
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "1");
  expect_sent(f->duplex, PONG);
}

/* Recursion: the nested request calls the client again, on the same thread, down to the limit of depth. */
static void test_calls_may_be_nested_down_to_a_depth(void **state)
{
  static const char *const called[] = {CALLED("1", "7"), CALLED("2", "7"), CALLED("3", "7")};
  static const char *const requests[] = {
      WITHIN("1", "call", "\"type\":\"C\",\"method\":\"recurse\""),
      WITHIN("2", "call", "\"type\":\"C\",\"method\":\"recurse\""),
      WITHIN("3", "call", "\"type\":\"C\",\"method\":\"recurse\""),
  };
  static const char *const answers[] = {ANSWER("3", "3"), ANSWER("2", "2"), ANSWER("1", "1")};
  struct fixture *f = *state;
  begin_call(&f->caller);
  for (size_t i = 0; i < COUNT_OF(called); i++) {
    expect_sent(f->duplex, called[i]);
    assert_int_equal(bench_come(f->duplex, requests[i]), RPC_TAKEN);
  }
  expect_sent(f->duplex, PONG); /* the fourth call threw */
  assert_told(&recursion, STUB_TOLD_FAILURE,
              "the limit of 3 callbacks inside one another is reached (callback-depth)");
  assert_int_equal(bench_come(f->duplex, answers[0]), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  /* The inbox is the thread's: a request of the outermost call is served while an inner one waits. */
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(f->duplex, answers[1]), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(f->duplex, answers[2]), RPC_TAKEN);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "1");
}

/* A callback of one connection during that of another: both are served by the one thread. */
static void test_two_connections_and_one_thread(void **state)
{
  struct fixture *f = *state;
  struct rpc_duplex *other = bench_connect(f->bench);
  uint64_t proxy = bench_give(other, 9);
  recursion = (struct stub_call){.callbacks = bench_callbacks(other), .id = 9, .proxy = proxy};
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "call", "\"type\":\"C\",\"method\":\"recurse\"")),
                   RPC_TAKEN);
  expect_sent(other, CALLED("1", "9"));
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(other, PING("1")), RPC_TAKEN);
  expect_sent(other, PONG);
  assert_int_equal(bench_come(other, ANSWER("1", "5")), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
  assert_told(&recursion, STUB_TOLD_VALUE, "5");
  assert_told(&f->caller.call, STUB_TOLD_VALUE, "1");
  stub_callbacks.hooks->released(bench_callbacks(other), 9, proxy);
  bench_disconnect(other);
}

/* delete_session, nested, ends the call that it is nested in. */
static void test_delete_session_nested(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "control", "\"method\":\"delete_session\"")), RPC_TAKEN);
  expect_sent(f->duplex, RELEASED("7", "1"));
  expect_sent(f->duplex, PONG);
  end_call(&f->caller);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "the session of the client was deleted");
}

/* Requests that nobody will serve get an answer, and what they give is counted. */
static void test_requests_of_a_call_that_ends(void **state)
{
  struct fixture *f = *state;
  const struct rpc_service *service = f->bench->service;
  struct jvm_callback_call *call;
  struct jvm_callback_failure failure;
  const struct jvm_callback_method method = {.interface = TEXT("a.B"), .name = TEXT("m")};
  const struct jvm_callback_given given = {.id = 7};
  struct jvm_request request;
  assert_int_equal(stub_callbacks.hooks->open(bench_callbacks(f->duplex), &given, f->caller.call.proxy,
                                              &method, NULL, &call, &failure),
                   JP_OK);
  assert_int_equal(stub_callbacks.hooks->enter(call, &request), JP_OK);
  assert_int_equal(stub_callbacks.hooks->send(call, NULL, 0, &failure), JVM_CALLBACK_SENT);
  stub_callbacks.hooks->leave(call);
  free(bench_take_sent(f->duplex));
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "call", "\"args\":[{\"ref\":{\"callback\":8}}]")),
                   RPC_TAKEN);
  assert_int_equal(stub_callbacks.hooks->look(call, &failure), JVM_CALLBACK_REQUEST);
  service->client_gone(service->context, f->duplex->callbacks, false);
  assert_int_equal(stub_callbacks.hooks->look(call, &failure), JVM_CALLBACK_ENDED);
  stub_callbacks.hooks->close(call);
  expect_sent(f->duplex,
              "A{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"Invalid params\","
              "\"data\":{\"message\":\"'within': cb-1 is no open callback that the message is nested "
              "in\",\"request_id\":5,\"stack_trace\":[],\"cause\":null}}}");
  assert_nothing_sent(f->duplex);
}

static void test_a_nested_answer_may_find_no_room(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  f->duplex->answer_max = 10;
  assert_int_equal(bench_come(f->duplex, WITHIN("1", "new", "\"type\":\"C\"")), RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
  assert_int_equal(count_objects(f), 0); /* it was taken back */
}

static void test_the_end_of_the_stack(void **state)
{
  struct fixture *f = *state;
  begin_call(&f->caller);
  expect_sent(f->duplex, CALLED("1", "7"));
  atomic_store(&stub_callbacks.stack_is_short, true);
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex,
              "A{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32000,\"message\":\"Server error\","
              "\"data\":{\"message\":\"less than 256 KiB of the thread's stack are left\","
              "\"request_id\":5,\"stack_trace\":[],\"cause\":null}}}");
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  end_call(&f->caller);
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE, "less than 256 KiB of the thread's stack are left");
  atomic_store(&stub_callbacks.stack_is_short, false);
}

/* ---- bounds ---- */

static void test_so_many_calls_of_a_connection(void **state)
{
  enum { CALLS = 4 };
  struct fixture *f = *state;
  struct caller callers[CALLS];
  for (int i = 0; i < CALLS; i++) {
    callers[i] = f->caller;
    begin_call(&callers[i]);
    free(bench_take_sent(f->duplex));
  }
  stub_call(&f->caller.call);
  assert_told(&f->caller.call, STUB_TOLD_FAILURE,
              "the limit of 4 open callbacks of a connection is reached (callbacks-max)");
  for (int i = 0; i < CALLS; i++) {
    char answer[100];
    snprintf(answer, sizeof answer, "{\"id\":\"cb-%d\",\"result\":%d}", i + 1, i);
    assert_int_equal(bench_come(f->duplex, answer), RPC_TAKEN);
  }
  for (int i = 0; i < CALLS; i++)
    end_call(&callers[i]);
}

static void test_what_is_kept_is_bounded(void **state)
{
  enum { KEPT_MAX = 1000, LARGE = 60000 /* of 100,000 that a message may have */ };
  struct fixture *f = *state;
  struct jvm_callback_failure failure;
  struct jvm_callback_call *first = hold_call(f, &f->caller.call);
  struct jvm_callback_call *second = hold_call(f, &f->caller.call);
  for (int i = 0; i < KEPT_MAX; i++)
    assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex,
              "R{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32000,\"message\":\"Server error\","
              "\"data\":{\"message\":\"too many requests wait in this connection's callbacks\","
              "\"request_id\":5,\"stack_trace\":[],\"cause\":null}}}");
  assert_int_equal(bench_come(f->duplex, ANSWER("2", "1")), RPC_TAKEN);
  assert_int_equal(stub_callbacks.hooks->look(second, &failure), JVM_CALLBACK_ENDED);
  assert_string_equal(failure.text, "the answer is longer than there is room for (message-max)");
  stub_callbacks.hooks->close(second);
  stub_callbacks.hooks->close(first);
  for (int i = 0; i < KEPT_MAX; i++)
    free(bench_take_sent(f->duplex));

  char *large = test_malloc(LARGE + 1);
  memset(large, ' ', LARGE);
  large[LARGE] = '\0';
  first = hold_call(f, &f->caller.call);
  second = hold_call(f, &f->caller.call);
  memcpy(large, ANSWER("3", "1"), strlen(ANSWER("3", "1")));
  assert_int_equal(bench_come(f->duplex, large), RPC_TAKEN);
  assert_int_equal(stub_callbacks.hooks->look(first, &failure), JVM_CALLBACK_ANSWER);
  memcpy(large, ANSWER("4", "1"), strlen(ANSWER("4", "1")));
  assert_int_equal(bench_come(f->duplex, large), RPC_TAKEN);
  assert_int_equal(stub_callbacks.hooks->look(second, &failure), JVM_CALLBACK_ENDED);
  stub_callbacks.hooks->close(second);
  stub_callbacks.hooks->close(first);
  test_free(large);
}

/* ---- threads of the crew ---- */

/* How a crew member waits, with a condition in place of a socket. */
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
    while (!member->was_woken)
      pthread_cond_wait(&member->woken, &member->lock);
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

static void test_crew_members_wait_natively(void **state)
{
  struct fixture *f = *state;
  struct jp_error error;
  struct member member = {.call = f->caller.call, .service = f->bench->service};
  member.waits = (struct rpc_waits){&member, wait_natively, wake_natively};
  pthread_mutex_init(&member.lock, NULL);
  pthread_cond_init(&member.woken, NULL);
  assert_false(stub_callbacks.hooks->waits());
  assert_int_equal(member.service->spawn(member.service->context, "member", run_member, &member, &error),
                   JP_OK);
  expect_sent(f->duplex, CALLED("1", "7"));
  assert_int_equal(bench_come(f->duplex, PING("1")), RPC_TAKEN);
  expect_sent(f->duplex, PONG);
  const struct rpc_service *service = member.service;
  assert_false(service->are_exiting(service->context, f->duplex->callbacks));
  atomic_store(&stub.are_exiting, true);
  assert_true(service->are_exiting(service->context, f->duplex->callbacks));
  atomic_store(&stub.are_exiting, false);
  assert_int_equal(bench_come(f->duplex, ANSWER("1", "1")), RPC_TAKEN);
  AWAIT(atomic_load(&f->duplex->calls_open) == 0);
  lent_worker_return(&f->bench->lent);
  assert_true(rpc_peer_detach(f->bench->peer));
  stub_join_threads();
  assert_told(&member.call, STUB_TOLD_VALUE, "1");
  pthread_mutex_destroy(&member.lock);
  pthread_cond_destroy(&member.woken);
  lent_worker_fini(&f->bench->lent);
  lent_worker_take(&f->bench->lent, f->bench->service);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_a_call_gets_its_answer),
      TEST(test_errors_and_misfits),
      TEST(test_answers_that_nobody_waits_for),
      TEST(test_an_answer_may_give_a_callback),
      TEST(test_what_an_unread_answer_gives_is_accounted_for),
      TEST(test_delete_session_while_an_answer_is_read),
      TEST(test_what_cannot_be_read_while_a_call_is_open),
      TEST(test_ends_are_told_at_once),
      TEST(test_calls_of_threads_that_exit),
      TEST(test_a_client_may_close_while_it_is_called),
      TEST(test_delete_session_ends_calls),
      cmocka_unit_test_setup_teardown(test_a_call_may_time_out, set_up_with_timeout, tear_down),
      TEST(test_an_interrupt_ends_the_wait),
      TEST(test_oneway_calls_do_not_wait),
      TEST(test_calls_wait_for_room),
      TEST(test_calls_that_cannot_be_sent),
      TEST(test_borrowed_objects_end_with_the_call),
      TEST(test_calls_say_that_their_thread_serves_nobody),
      TEST(test_nested_requests_run_on_the_thread),
      TEST(test_nested_batches),
      TEST(test_what_is_nested_in_no_open_call),
      TEST(test_nested_requests_come_before_the_answer),
      TEST(test_calls_may_be_nested_down_to_a_depth),
      TEST(test_two_connections_and_one_thread),
      TEST(test_delete_session_nested),
      TEST(test_requests_of_a_call_that_ends),
      TEST(test_a_nested_answer_may_find_no_room),
      TEST(test_the_end_of_the_stack),
      TEST(test_so_many_calls_of_a_connection),
      TEST(test_what_is_kept_is_bounded),
      TEST(test_crew_members_wait_natively),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
