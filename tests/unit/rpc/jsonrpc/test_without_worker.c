/* Answers that need no worker. */
#include "rpc/jsonrpc/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static int set_up(void **state)
{
  (void)state;
  bench = service_bench_create(
      &(struct service_bench_options){.members = members, .member_count = COUNT_OF(members)});
  return 0;
}

#define NOT_MINE(peer_id, method, params)                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":" peer_id ",\"method\":\"" method "\",\"params\":" params "}"

#define PING_WITH(options)                                                                                   \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"options\":" options                                                       \
  ",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}"

static bool answer_ping(struct service_bench *bench, const char *message, enum rpc_served *served)
{
  buffer_clear(&bench->out);
  BUFFER_LITERAL(&bench->out, "before");
  bool done =
      rpc_jsonrpc_serve_without_worker(bench->service->context, text_of(message), &bench->out, served);
  if (!done)
    assert_text(buffer_text(&bench->out), "before");
  return done;
}

UNIT_TEST_WITH(answers_a_ping, set_up, bench_tear_down)
{
  enum rpc_served served;
  assert_false(answer_ping(bench, ADD, &served));
  assert_false(answer_ping(bench, CONTROL("gc", ""), &served));
  assert_false(answer_ping(bench, "{\"jsonrpc\":\"2.0\",", &served));
  assert_false(answer_ping(bench, "[" CONTROL("ping", "") "]", &served));
  assert_false(answer_ping(bench, CONTROL("ping", "1"), &served));
  assert_false(
      answer_ping(bench, "{\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"ping\"}}", &served));
  assert_true(answer_ping(bench, CONTROL("Ping", ""), &served));
  assert_int_equal(served, RPC_REPLY);
  assert_text(buffer_text(&bench->out), "before" VOID_ANSWER);
  /* A wrong name of a session is told by a worker, which knows the transport. */
  assert_false(answer_ping(bench, NOT_MINE("\"me\"", "control", "{\"method\":\"ping\"}"), &served));
  assert_true(answer_ping(
      bench, NOT_MINE("\"11111111-2222-3333-4444-555555555555\"", "control", "{\"method\":\"ping\"}"),
      &served));
  assert_true(answer_ping(
      bench, "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}", &served));
  assert_int_equal(served, RPC_NO_REPLY);
  /* So are wrong options. */
  assert_true(answer_ping(bench, PING_WITH("{\"threadAffinity\":\"FX\"}"), &served));
  assert_false(answer_ping(bench, PING_WITH("{\"other\":1}"), &served));
  assert_false(answer_ping(bench, PING_WITH("null"), &served));
}

UNIT_TEST_WITH(refuses_and_rejects, set_up, bench_tear_down)
{
  const struct rpc_service *service = bench->service;
  assert_int_equal(rpc_jsonrpc_refuse(service->context, TEXT(ADD), "busy: no thread", &bench->out),
                   RPC_REPLY);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\"," ERROR_DATA(
          "busy: no thread") "}}");
  buffer_clear(&bench->out);
  assert_int_equal(rpc_jsonrpc_refuse(service->context, TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"gc\"}"),
                                      "busy", &bench->out),
                   RPC_NO_REPLY);
  assert_int_equal(bench->out.len, 0);
  rpc_jsonrpc_reject(service->context, RPC_REJECT_UNREADABLE, TEXT_ABSENT, "the message is no UTF-8",
                     &bench->out);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":"
      "{\"message\":\"the message is no UTF-8\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}}}");
  static const struct {
    const char *beginning;
    const char *id;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"ca", "17"},
      {"{\"jsonrpc\":\"2.0\",\"id\":17", "null"}, /* there may be more of it */
      {"{\"jsonrpc\":\"2.0\",\"id\":\"a,b", "null"},
      {"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":5,\"x\":", "null"},
  };
  char wanted[64];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&bench->out);
    rpc_jsonrpc_reject(service->context, RPC_REJECT_INVALID, text_of(cases[i].beginning), "too long",
                       &bench->out);
    snprintf(wanted, sizeof wanted, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32600,",
             cases[i].id);
    assert_true(text_starts_with(buffer_text(&bench->out), text_of(wanted)));
  }
  assert_int_equal(stub.resolved, 0);
}

/* ---- beside a request of the same client ---- */

static struct rpc_client *open_client(const struct service_bench *bench, enum op_channel channel,
                                      struct text peer_id)
{
  const struct rpc_client_info info = {
      .channel = channel, .peer_id = peer_id, .routing_id = TEXT_ABSENT, .epoch = TEXT_ABSENT};
  struct rpc_client *client;
  struct jp_error error;
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &client, &error), JP_OK);
  return client;
}

static bool answer_beside(const struct service_bench *bench, struct rpc_client *client, const char *message,
                          struct buffer *out)
{
  buffer_clear(out);
  BUFFER_LITERAL(out, "before");
  bool is_answered = rpc_jsonrpc_serve_beside(bench->service->context, client, text_of(message), out);
  if (!is_answered)
    assert_text(buffer_text(out), "before");
  return is_answered;
}

#define SHARE CONTROL("share_session", "")
#define NAMED                                                                                                \
  "before{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\"," \
  "\"null\":false,\"value\":\""
#define ID_OF "11111111-2222-3333-4444-555555555555"

UNIT_TEST_WITH(tells_the_name_of_a_session_beside_a_request, set_up, bench_tear_down)
{
  struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, TEXT(ID_OF));
  static const char *const others[] = {
      ADD,
      CONTROL("ping", ""),
      CONTROL("stats", ""),
      CONTROL("share_session", "1"),
      "[" SHARE "]",
      "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"share_session\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"epoch\":\"0\",\"method\":\"control\",\"params\":{\"method\":\"share_"
      "session\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"options\":{},\"method\":\"control\",\"params\":{\"method\":\"share_"
      "session\"}}",
      REQUEST("call", "\"type\":\"control\",\"method\":\"share_session\",\"args\":[]"),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"share_session\"}",
      "",
  };
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_false(answer_beside(bench, client, others[i], &bench->out));
  assert_true(answer_beside(bench, client, SHARE, &bench->out));
  assert_text(buffer_text(&bench->out), NAMED ID_OF "\"}}}");
  assert_true(
      answer_beside(bench, client, REQUEST("contro\\u006c", "\"method\":\"Share_SESSION\""), &bench->out));
  assert_text(buffer_text(&bench->out), NAMED ID_OF "\"}}}");
  bench->service->client_close(bench->service->context, NULL, client, NULL);
  client = open_client(bench, OP_CHANNEL_HTTP, TEXT(ID_OF)); /* whose answers are in order */
  assert_false(answer_beside(bench, client, SHARE, &bench->out));
  bench->service->client_close(bench->service->context, NULL, client, NULL);
  assert_int_equal(stub.resolved, 0);
}

enum { ASKERS = 4, RACES = 200 };

struct asker {
  const struct service_bench *bench;
  struct rpc_client *client;
  pthread_barrier_t *begin;
  struct buffer out;
};

static void *ask_name(void *argument)
{
  struct asker *asker = argument;
  pthread_barrier_wait(asker->begin);
  return answer_beside(asker->bench, asker->client, SHARE, &asker->out) ? NULL : argument;
}

/* The thread that serves makes the session, or finds the one that the name was made for. */
UNIT_TEST_WITH(the_session_is_the_one_in_which_the_request_runs, set_up, bench_tear_down)
{
  for (int i = 0; i < RACES; i++) {
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    pthread_barrier_t begin;
    struct jp_error error;
    struct rpc_client *client = open_client(bench, OP_CHANNEL_WEBSOCKET, TEXT_ABSENT);
    pthread_barrier_init(&begin, NULL, ASKERS + 1);
    for (int j = 0; j < ASKERS; j++) {
      askers[j] = (struct asker){.bench = bench, .client = client, .begin = &begin};
      assert_int_equal(pthread_create(&threads[j], NULL, ask_name, &askers[j]), 0);
    }
    pthread_barrier_wait(&begin);
    assert_int_equal(rpc_client_hold_session(bench->peer, client, &error), JP_OK);
    struct rpc_session *session = client->session;
    for (int j = 0; j < ASKERS; j++) {
      void *failed;
      pthread_join(threads[j], &failed);
      assert_null(failed);
      assert_true(text_equal(buffer_text(&askers[0].out), buffer_text(&askers[j].out)));
    }
    assert_ptr_equal(session, client->session);
    assert_true(answer_beside(bench, client, SHARE, &bench->out));
    assert_true(text_equal(buffer_text(&askers[0].out), buffer_text(&bench->out)));
    for (int j = 0; j < ASKERS; j++)
      buffer_fini(&askers[j].out);
    pthread_barrier_destroy(&begin);
    bench->service->client_close(bench->service->context, NULL, client, NULL);
  }
}

UNIT_MAIN
