/* Batches whose requests came before: answered as each request alone, or refused as a batch that is read. */
#include "lent_worker.h"
#include "rpc/jsonrpc/codec_state.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { BATCH_MAX = 4 };

/* members: of the envelope, each with a comma behind it */
#define ADD(members, args)                                                                                   \
  "{\"jsonrpc\":\"2.0\"," members "\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\","       \
  "\"args\":[" args "]}}"
#define CONTROL(method)                                                                                      \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"" method "\"}}"

static struct stub_member members[] = {
    {.type = "C",
     .member = "add",
     .kind = JVM_STATIC_METHOD,
     .modifiers = JVM_ACC_PUBLIC | JVM_ACC_STATIC,
     .outcome = {.kind = OUTCOME_VALUE,
                 .type = TEXT("int"),
                 .has_value = true,
                 .value = {.kind = OP_INTEGER, .integer = 8}}},
};

struct bench {
  struct policy_source *policies;
  struct rpc_peer *peer;
  const struct rpc_service *service;
  struct lent_worker lent;
  struct rpc_client *client;
  struct buffer out;
};

static int set_up(void **state)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  struct policy_config policy = {.default_action = POLICY_ALLOW};
  struct jp_error error;
  stub_reset(members, COUNT_OF(members));
  assert_int_equal(policy_source_create(&policy, &bench->policies, &error), JP_OK);
  struct rpc_peer_config config = {.policies = bench->policies,
                                   .limits = {.max_depth = 20,
                                              .max_batch = BATCH_MAX,
                                              .session_max_objects = 5,
                                              .sessions_max = 4,
                                              .sessions_per_address = 4,
                                              .session_ttl_ms = 1000000,
                                              .message_max = 100000}};
  assert_int_equal(rpc_peer_create(&config, &bench->peer, &error), JP_OK);
  bench->service = rpc_peer_service(bench->peer);
  assert_int_equal(rpc_peer_attach(bench->peer, stub_jvm(), &error), JP_OK);
  lent_worker_take(&bench->lent, bench->service);
  const struct rpc_client_info info = {.channel = OP_CHANNEL_WEBSOCKET};
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &bench->client, &error),
                   JP_OK);
  buffer_init(&bench->out);
  *state = bench;
  return 0;
}

static int tear_down(void **state)
{
  struct bench *bench = *state;
  bench->service->client_close(bench->service->context, bench->lent.worker, bench->client, NULL);
  lent_worker_return(&bench->lent);
  bool detached = rpc_peer_detach(bench->peer);
  stub_join_threads();
  lent_worker_fini(&bench->lent);
  rpc_peer_destroy(bench->peer);
  policy_source_destroy(bench->policies);
  buffer_fini(&bench->out);
  test_free(bench);
  return detached && stub.frames == 0 ? 0 : 1;
}

static enum rpc_served serve(struct bench *bench, struct text message)
{
  struct rpc_stream stream;
  buffer_clear(&bench->out);
  return rpc_jsonrpc_serve(bench->service->context, bench->lent.worker, bench->client, message, &bench->out,
                           0, &stream);
}

/* Writes the answers to the requests one by one, each read in full: what begins with white space is. */
static void answer_one_by_one(struct bench *bench, const char *const *requests, struct buffer *answers)
{
  for (size_t i = 0; requests[i] != NULL; i++) {
    char request[256];
    snprintf(request, sizeof request, " %s", requests[i]);
    if (serve(bench, text_of(request)) == RPC_NO_REPLY)
      continue;
    buffer_append_char(answers, answers->len == 0 ? '[' : ',');
    buffer_append_text(answers, buffer_text(&bench->out));
  }
  if (answers->len > 0)
    buffer_append_char(answers, ']');
}

static void check_batch(struct bench *bench, const char *const *requests)
{
  struct buffer batch;
  struct buffer wanted;
  buffer_init(&batch);
  buffer_init(&wanted);
  for (size_t i = 0; requests[i] != NULL; i++)
    buffer_printf(&batch, "%s%s", i == 0 ? "[" : ", ", requests[i]);
  buffer_append_text(&batch, TEXT("]\n"));
  unsigned before = stub.invoked;
  answer_one_by_one(bench, requests, &wanted);
  unsigned invoked = stub.invoked - before;
  for (unsigned round = 0; round < 3; round++) {
    before = stub.invoked;
    assert_int_equal(serve(bench, buffer_text(&batch)), wanted.len == 0 ? RPC_NO_REPLY : RPC_REPLY);
    unit_assert_text(buffer_text(&bench->out), buffer_text(&wanted), __FILE__, __LINE__);
    assert_int_equal(stub.invoked - before, invoked);
  }
  buffer_fini(&batch);
  buffer_fini(&wanted);
}

static void test_answers_as_one_by_one(void **state)
{
  static const char *const batches[][BATCH_MAX + 1] = {
      {ADD("\"id\":1,", "5,3")},
      {ADD("\"id\":1,", "5,3"), ADD("\"id\":\"a\",", "5,3"), ADD("\"id\":-2.5,", "7,8d")},
      {ADD("", "5,3"), ADD("", "1,2")},
      {ADD("", "5,3"), ADD("\"id\":3,", "\"x\",null"), ADD("", "1,2"), ADD("\"id\":4,", "1")},
      {ADD("\"id\":1,", "5,3"), "1", "{\"id\":5,\"jsonrpc\":\"2.0\"}", ADD("\"id\":2,", "5,4")},
      {ADD("\"id\":1,", "5,3"), CONTROL("ping"), CONTROL("pong"), ADD("\"id\":2,", "[]")},
  };
  for (size_t i = 0; i < COUNT_OF(batches); i++)
    check_batch(*state, batches[i]);
}

#define TWICE(text) text text
#define FOUR(text)  TWICE(text) TWICE(text)
/* A request of 20 levels. */
#define DEEP ADD("\"x\":" FOUR(FOUR("[")) "[[[" FOUR(FOUR("]")) "]]],\"id\":1,", "")
#define ONE  ADD("\"id\":1,", "5,3")

/* What is wrong with a batch is found although its elements are known, and before any of them runs. */
static void test_refuses_as_what_is_read(void **state)
{
  static const struct {
    const char *batch;
    const char *wanted;
  } cases[] = {
      {"[" ONE, "\"code\":-32700"},
      {"[" ONE ",", "\"code\":-32700"},
      {"[" ONE ",]", "\"code\":-32700"},
      {"[" ONE "}", "\"code\":-32700"},
      {"[" ONE "]]", "\"code\":-32700"},
      {"[," ONE "]", "\"code\":-32700"},
      {"[" ONE " " ONE "]", "\"code\":-32700"},
      {"[" ONE "," ADD("\"id\":1,", "5,03") "]", "\"code\":-32700"},
      {"[" ONE "," ADD("\"id\":1l,", "5,3") "]", "\"code\":-32700"},
      {"[" DEEP "]", "passes the depth limit of 20"},
      {"[" ONE FOUR("," ONE) "]", "The batch of 5 requests passes the batch limit of 4"},
  };
  struct bench *bench = *state;
  assert_int_equal(serve(bench, TEXT(ONE)), RPC_REPLY);
  assert_int_equal(serve(bench, TEXT(DEEP)), RPC_REPLY);
  assert_int_equal(stub.invoked, 2);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(serve(bench, text_of(cases[i].batch)), RPC_REPLY);
    if (memmem(bench->out.data, bench->out.len, cases[i].wanted, strlen(cases[i].wanted)) == NULL)
      fail_msg("%s\n%.*s", cases[i].batch, TEXT_ARGS(buffer_text(&bench->out)));
  }
  assert_int_equal(stub.invoked, 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_answers_as_one_by_one, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_refuses_as_what_is_read, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
