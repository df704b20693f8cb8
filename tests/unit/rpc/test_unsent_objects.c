/* Objects that were stored for an answer that its client never gets are removed from the session. */
#include "rpc/peer_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

enum { SHORT_ANSWER = 40, ROUNDS = 20 /* together the rounds make more objects than a session may hold */ };

#define FAIL  REQUEST("call", "\"type\":\"C\",\"method\":\"makeAndFail\"")
#define QUIET "{\"jsonrpc\":\"2.0\",\"method\":\"new\",\"params\":{\"type\":\"C\"}}"
#define CLAIMED                                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"11111111-2222-3333-4444-555555555555\",\"method\":\"new\","   \
  "\"params\":{\"type\":\"C\"}}"

static struct stub_member members[] = {
    STUB_MEMBER_ADD,
    STUB_MEMBER_CONSTRUCTOR,
    {.type = "C",
     .member = "makeAndFail",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PUBLIC,
     .outcome = {.kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .message = TEXT("half done"), .ref = 1}},
};

static int set_up(void **state)
{
  bench = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .sessions_max = 10, .without_sweeper = true});
  bench->client =
      bench_open(bench, &(struct rpc_client_info){.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("a")});
  (void)state;
  return 0;
}

static void check_objects(struct service_bench *bench, const char *message, size_t reply_max,
                          const char *part)
{
  enum rpc_served served = bench_serve(bench, bench->client, text_of(message), reply_max);
  assert_int_equal(served, part == NULL ? RPC_NO_REPLY : RPC_REPLY);
  if (part != NULL)
    assert_part(bench, part);
}

static size_t count_objects(const struct service_bench *bench)
{
  return jvm_objects_count(rpc_session_objects(bench->client->session));
}

/* The ref of the result is sent instead, and no other object of the answer is held. */
UNIT_TEST_WITH(test_an_answer_that_is_too_long, set_up, bench_tear_down)
{
  check_objects(bench, MAKE, SHORT_ANSWER, "\"ref\":2}");
  check_objects(bench, "[" MAKE "," MAKE "]", SHORT_ANSWER, "\"ref\":6}");
  assert_int_equal(count_objects(bench), 3);
}

/* The Java implementation has only an error for this case. */
UNIT_TEST_WITH(test_an_answer_that_is_too_long_with_compat_pal, set_up, bench_tear_down)
{
  bench->peer->config.compat_pal = true;
  for (int i = 0; i < ROUNDS; i++)
    check_objects(bench, MAKE, SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(count_objects(bench), 0);
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
  check_objects(bench, MAKE, 0, "\"ref\":21,");
  for (int i = 0; i < ROUNDS; i++)
    check_objects(bench, "[" MAKE "," MAKE "]", SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(count_objects(bench), 1);
}

/* The parts before it were sent. */
UNIT_TEST_WITH(test_an_answer_in_a_batch_that_is_too_long, set_up, bench_tear_down)
{
  check_objects(bench, "[" MAKE "," MAKE "]", sizeof MADE("1") + 10, MADE("3"));
  assert_non_null(memmem(bench->out.data, bench->out.len, MADE("1"), sizeof MADE("1") - 1));
  assert_int_equal(count_objects(bench), 2);
}

UNIT_TEST_WITH(test_a_notification, set_up, bench_tear_down)
{
  for (int i = 0; i < ROUNDS; i++) {
    check_objects(bench, QUIET, 0, NULL);
    check_objects(bench, "[" QUIET "," QUIET "]", 0, NULL);
    check_objects(bench, "[" QUIET "," ADD "]", 0, "\"8\"");
  }
  assert_int_equal(stub.invoked, 5 * ROUNDS);
  assert_int_equal(count_objects(bench), 0);
}

/* A list of objects in which a later object could not be stored. */
UNIT_TEST_WITH(test_a_result_that_fails_half_way, set_up, bench_tear_down)
{
  check_objects(bench, MAKE, 0, MADE("1"));
  for (int i = 0; i < ROUNDS; i++) {
    check_objects(bench, FAIL, 0, "half done");
    check_objects(bench, "[" FAIL "," FAIL "]", 0, "half done");
  }
  assert_int_equal(count_objects(bench), 1);
  /* the object of the previous request is kept */
  check_objects(bench, "[" MAKE "," FAIL "]", 0, "half done");
  assert_int_equal(count_objects(bench), 2);
}

UNIT_TEST_WITH(test_a_session_that_the_message_names, set_up, bench_tear_down)
{
  bench->peer->config.compat_pal = true;
  for (int i = 0; i < ROUNDS; i++)
    check_objects(bench, CLAIMED, SHORT_ANSWER, "send-buffer-max");
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
  bench->peer->config.compat_pal = false;
  check_objects(bench, CLAIMED, 0, "\"ref\":21}");
  /* The named session is released with the answer; the client's own session is not touched. */
  check_objects(bench, MAKE, 0, MADE("1"));
  check_objects(bench, CLAIMED, 0, "\"ref\":22}");
  bench->service->release_unsent(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
}

/* The transport knows that it cannot send the answer. */
UNIT_TEST_WITH(test_an_answer_that_is_lost, set_up, bench_tear_down)
{
  check_objects(bench, MAKE, 0, MADE("1"));
  check_objects(bench, "[" MAKE "," ADD "," MAKE "]", 0, "\"ref\":3}");
  bench->service->release_unsent(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
  bench->service->release_unsent(bench->service->context, bench->lent.worker, bench->client);
  check_objects(bench, ADD, 0, "\"8\"");
  bench->service->release_unsent(bench->service->context, bench->lent.worker, bench->client);
  assert_int_equal(count_objects(bench), 1);
}

UNIT_MAIN
