/* Answers without a worker. */
#include "rpc/jsonrpc/json_codec.h"
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
  bool done = rpc_codec_jsonrpc.serve_without_worker(bench->service->context, NULL, text_of(message),
                                                     &bench->out, served);
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
  /* A wrong name of a session is reported by a worker, which knows the transport. */
  assert_false(answer_ping(bench, NOT_MINE("\"me\"", "control", "{\"method\":\"ping\"}"), &served));
  assert_true(answer_ping(
      bench, NOT_MINE("\"11111111-2222-3333-4444-555555555555\"", "control", "{\"method\":\"ping\"}"),
      &served));
  assert_true(answer_ping(
      bench, "{\"jsonrpc\":\"2.0\",\"method\":\"control\",\"params\":{\"method\":\"ping\"}}", &served));
  assert_int_equal(served, RPC_NO_REPLY);
  /* A worker reports wrong options, too. */
  assert_true(answer_ping(bench, PING_WITH("{\"threadAffinity\":\"FX\"}"), &served));
  assert_false(answer_ping(bench, PING_WITH("{\"other\":1}"), &served));
  assert_false(answer_ping(bench, PING_WITH("null"), &served));
}

UNIT_TEST_WITH(refuses_and_rejects, set_up, bench_tear_down)
{
  const struct rpc_service *service = bench->service;
  assert_int_equal(
      rpc_codec_jsonrpc.refuse(service->context, NULL, TEXT(ADD), "busy: no thread", &bench->out), RPC_REPLY);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\"," ERROR_DATA(
          "busy: no thread") "}}");
  buffer_clear(&bench->out);
  assert_int_equal(rpc_codec_jsonrpc.refuse(service->context, NULL,
                                            TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"gc\"}"), "busy",
                                            &bench->out),
                   RPC_NO_REPLY);
  assert_int_equal(bench->out.len, 0);
  rpc_codec_jsonrpc.reject(service->context, NULL, RPC_REJECT_UNREADABLE, TEXT_ABSENT,
                           "the message is no UTF-8", &bench->out);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":"
      "{\"message\":\"the message is no UTF-8\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}}}");
  static const struct {
    const char *beginning;
    const char *id;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"ca", "17"},
      {"{\"jsonrpc\":\"2.0\",\"id\":17", "null"}, /* the number may continue */
      {"{\"jsonrpc\":\"2.0\",\"id\":\"a,b", "null"},
      {"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":5,\"x\":", "null"},
  };
  char wanted[64];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buffer_clear(&bench->out);
    rpc_codec_jsonrpc.reject(service->context, NULL, RPC_REJECT_INVALID, text_of(cases[i].beginning),
                             "too long", &bench->out);
    snprintf(wanted, sizeof wanted, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32600,",
             cases[i].id);
    assert_true(text_starts_with(buffer_text(&bench->out), text_of(wanted)));
  }
  assert_int_equal(stub.resolved, 0);
}

/* ---- answers while a request of the same client is served ---- */

/* tests/integration/test_share_beside.py tests the requests that are answered in this way, and their
 * answers. */
static bool request_name(struct rpc_client *client, struct buffer *out)
{
  return rpc_codec_jsonrpc.serve_beside(bench->service->context, client, NULL,
                                        TEXT(CONTROL("share_session", "")), out);
}

enum { ASKERS = 4, RACES = 200 };

struct asker {
  struct rpc_client *client;
  pthread_barrier_t *begin;
  struct buffer out;
};

static void *ask_name(void *argument)
{
  struct asker *asker = argument;
  pthread_barrier_wait(asker->begin);
  return request_name(asker->client, &asker->out) ? NULL : argument;
}

/* The thread that serves the request makes the session, or finds the session that has the new name. */
UNIT_TEST_WITH(the_session_is_the_one_in_which_the_request_runs, set_up, bench_tear_down)
{
  for (int i = 0; i < RACES; i++) {
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    pthread_barrier_t begin;
    struct jp_error error;
    struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
    pthread_barrier_init(&begin, NULL, ASKERS + 1);
    for (int j = 0; j < ASKERS; j++) {
      askers[j] = (struct asker){.client = client, .begin = &begin};
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
    buffer_clear(&bench->out);
    assert_true(request_name(client, &bench->out));
    assert_true(text_equal(buffer_text(&askers[0].out), buffer_text(&bench->out)));
    for (int j = 0; j < ASKERS; j++)
      buffer_fini(&askers[j].out);
    pthread_barrier_destroy(&begin);
    bench->service->client_close(bench->service->context, NULL, client, NULL);
  }
}

UNIT_MAIN
