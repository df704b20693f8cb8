/* Objects that were stored for an answer that its client never gets: none of them stays in the session. */
#include "lent_worker.h"
#include "rpc/peer_state.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { OBJECTS_MAX = 5, SHORT_ANSWER = 40, ROUNDS = 20 /* come to far more than a session may hold */ };

#define REQUEST(method, params)                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define MAKE  REQUEST("new", "\"type\":\"C\"")
#define FAIL  REQUEST("call", "\"type\":\"C\",\"method\":\"makeAndFail\"")
#define ADD   REQUEST("call", "\"type\":\"C\",\"method\":\"add\",\"args\":[5,3]")
#define QUIET "{\"jsonrpc\":\"2.0\",\"method\":\"new\",\"params\":{\"type\":\"C\"}}"
#define CLAIMED                                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"11111111-2222-3333-4444-555555555555\",\"method\":\"new\","   \
  "\"params\":{\"type\":\"C\"}}"
#define MADE                                                                                                 \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"C\",\"null\":false,"       \
  "\"ref\":1}}}"

static struct stub_member members[] = {
    {.type = "C",
     .member = "<init>",
     .kind = JVM_CONSTRUCTOR,
     .modifiers = JVM_ACC_PUBLIC,
     .outcome = {.kind = OUTCOME_VALUE, .type = TEXT("C"), .ref = 1}},
    {.type = "C",
     .member = "makeAndFail",
     .kind = JVM_STATIC_METHOD,
     .modifiers = JVM_ACC_PUBLIC,
     .outcome = {.kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .message = TEXT("half done"), .ref = 1}},
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
                                              .max_batch = 10,
                                              .session_max_objects = OBJECTS_MAX,
                                              .sessions_max = 10,
                                              .session_ttl_ms = 1000000,
                                              .message_max = 100000}};
  assert_int_equal(rpc_peer_create(&config, &bench->peer, &error), JP_OK);
  bench->service = rpc_peer_service(bench->peer);
  bench->peer->jvm = stub_jvm();
  lent_worker_take(&bench->lent, bench->service);
  struct rpc_client_info info = {.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("a")};
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
  stub_join_threads();
  lent_worker_fini(&bench->lent);
  rpc_sessions_sweep(bench->peer->sessions, stub_thread(), INT64_MAX);
  rpc_peer_destroy(bench->peer);
  policy_source_destroy(bench->policies);
  buffer_fini(&bench->out);
  test_free(bench);
  return atomic_load(&stub.tables) == 0 && stub.frames == 0 && stub.missed == 0 ? 0 : 1;
}

static void check(struct bench *bench, const char *message, size_t reply_max, const char *part)
{
  struct rpc_stream stream;
  buffer_clear(&bench->out);
  enum rpc_served served = bench->service->serve(bench->service->context, bench->lent.worker, bench->client,
                                                 text_of(message), &bench->out, false, reply_max, &stream);
  assert_int_equal(served, part == NULL ? RPC_NO_REPLY : RPC_REPLY);
  if (part != NULL && memmem(bench->out.data, bench->out.len, part, strlen(part)) == NULL)
    fail_msg("%.*s has no %s", (int)bench->out.len, bench->out.data, part);
}

static size_t count_objects(const struct bench *bench)
{
  return jvm_objects_count(rpc_session_objects(bench->client->session));
}

static void test_an_answer_that_is_too_long(void **state)
{
  struct bench *bench = *state;
  for (int i = 0; i < ROUNDS; i++)
    check(bench, MAKE, SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(count_objects(bench), 0);
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
  check(bench, MAKE, 0, "\"ref\":21}");
  for (int i = 0; i < ROUNDS; i++)
    check(bench, "[" MAKE "," MAKE "]", SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(count_objects(bench), 1);
}

/* What stands before it was told. */
static void test_an_answer_in_a_batch_that_is_too_long(void **state)
{
  struct bench *bench = *state;
  check(bench, "[" MAKE "," MAKE "]", sizeof MADE + 10, "send-buffer-max");
  assert_non_null(memmem(bench->out.data, bench->out.len, MADE, sizeof MADE - 1));
  assert_int_equal(count_objects(bench), 1);
}

static void test_a_notification(void **state)
{
  struct bench *bench = *state;
  for (int i = 0; i < ROUNDS; i++) {
    check(bench, QUIET, 0, NULL);
    check(bench, "[" QUIET "," QUIET "]", 0, NULL);
    check(bench, "[" QUIET "," ADD "]", 0, "\"8\"");
  }
  assert_int_equal(stub.invoked, 5 * ROUNDS);
  assert_int_equal(count_objects(bench), 0);
}

/* A list of objects, of which a later one could not be stored. */
static void test_a_result_that_fails_half_way(void **state)
{
  struct bench *bench = *state;
  check(bench, MAKE, 0, MADE);
  for (int i = 0; i < ROUNDS; i++) {
    check(bench, FAIL, 0, "half done");
    check(bench, "[" FAIL "," FAIL "]", 0, "half done");
  }
  assert_int_equal(count_objects(bench), 1);
}

static void test_a_session_that_the_message_names(void **state)
{
  struct bench *bench = *state;
  for (int i = 0; i < ROUNDS; i++)
    check(bench, CLAIMED, SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
  check(bench, CLAIMED, 0, "\"ref\":21}");
  /* It is let go of with the answer: nothing of it is taken from the client's own session. */
  check(bench, MAKE, 0, MADE);
  check(bench, CLAIMED, 0, "\"ref\":22}");
  bench->service->take_back(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
}

/* The transport knows that it cannot send the answer. */
static void test_an_answer_that_is_lost(void **state)
{
  struct bench *bench = *state;
  check(bench, MAKE, 0, MADE);
  check(bench, "[" MAKE "," ADD "," MAKE "]", 0, "\"ref\":3}");
  bench->service->take_back(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
  bench->service->take_back(bench->service->context, bench->lent.worker, bench->client);
  check(bench, ADD, 0, "\"8\"");
  bench->service->take_back(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_an_answer_that_is_too_long, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_answer_in_a_batch_that_is_too_long, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_notification, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_result_that_fails_half_way, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_session_that_the_message_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_answer_that_is_lost, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
