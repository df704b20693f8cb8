/* Known messages are answered as on the general path, and take the general path if anything is unusual. */
#include "rpc/peer_state.h"
#include "tests/unit/rpc/fastpath/known_bench.h"
#include "tests/unit/unit.h"

enum { MESSAGES_KEPT = 8 };

static int set_up(void **state)
{
  (void)state;
  bench = known_bench_create();
  return 0;
}

static enum served_twice serve_request(struct service_bench *bench, struct rpc_client *client,
                                       const struct sample_request *sample, size_t reply_max)
{
  struct buffer message;
  buffer_init(&message);
  sample_request_write(sample, &message);
  enum served_twice served = known_bench_serve(bench, client, buffer_text(&message), reply_max);
  buffer_fini(&message);
  return served;
}

static void check_served(struct service_bench *bench, const struct sample_request *sample,
                         enum served_twice wanted)
{
  assert_int_equal(serve_request(bench, bench->client, sample, 0), wanted);
}

/* Serves a request until it is known. */
static void learn_request(struct service_bench *bench, const struct sample_request *sample)
{
  check_served(bench, sample, SERVED_GENERALLY);
  check_served(bench, sample, SERVED_AS_KNOWN);
}

static bool has_part(const struct service_bench *bench, const char *part)
{
  return memmem(bench->out.data, bench->out.len, part, strlen(part)) != NULL;
}

UNIT_TEST_WITH(every_kind_of_request_becomes_known, set_up, bench_tear_down)
{
  for (size_t i = 0; i < KNOWN_CONSTRUCTOR; i++)
    learn_request(bench, &known_requests[i]);
  for (size_t i = 0; i < KNOWN_CONSTRUCTOR; i++)
    check_served(bench, &known_requests[i], SERVED_AS_KNOWN);
}

UNIT_TEST_WITH(other_values_are_answered_as_on_the_general_path, set_up, bench_tear_down)
{
  enum { KNOWN = 4 }; /* the first KNOWN of the requests */
  static const char *const values[] = {
      "0",          "-1",
      "2147483647", "-2147483648",
      "2147483648", "999999999999999999",
      "-0",         "007",
      "1e3",        "1.0",
      " 5",         "5 ",
      "5l",         "",
      "-",          "\"5\"",
      "null",       "[5]",
      "{",          "123456789012345678901234567890123456789012345678901234567890"};
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    struct sample_request sample = known_requests[KNOWN_ADD];
    known_bench_forget(bench);
    learn_request(bench, &sample);
    sample.values[i % 2] = values[i];
    check_served(bench, &sample, i < KNOWN ? SERVED_AS_KNOWN : SERVED_GENERALLY);
  }
}

UNIT_TEST_WITH(other_heads_are_answered_as_on_the_general_path, set_up, bench_tear_down)
{
  static const char *const ids[] = {"1", "another", "\xc3\xa9", "\xff", ""};
  struct sample_request sample = known_requests[KNOWN_ADD];
  learn_request(bench, &sample);
  for (size_t i = 0; i < COUNT_OF(ids); i++) {
    sample.id = ids[i];
    check_served(bench, &sample, i < 2 ? SERVED_AS_KNOWN : SERVED_GENERALLY);
    sample.id = "id";
    sample.thread_name = ids[i];
    check_served(bench, &sample, i < 2 || *ids[i] == '\0' ? SERVED_AS_KNOWN : SERVED_GENERALLY);
  }
  sample.thread_name = NULL;
  sample.current_time = 0;
  sample.dispatch_seq = UINT32_MAX;
  sample.builder_seq = 0;
  check_served(bench, &sample, SERVED_AS_KNOWN);
}

UNIT_TEST_WITH(a_throwable_is_answered_as_on_the_general_path, set_up, bench_tear_down)
{
  for (size_t i = 0; i < KNOWN_CONSTRUCTOR; i++) {
    struct stub_member *member = &stub.members[i];
    const struct outcome good = member->outcome;
    learn_request(bench, &known_requests[i]);
    member->outcome = (struct outcome){
        .kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .throwable_type = TEXT("E"), .message = TEXT("no")};
    check_served(bench, &known_requests[i], SERVED_AS_KNOWN);
    assert_true(has_part(bench, "no"));
    member->outcome = good;
    check_served(bench, &known_requests[i], SERVED_AS_KNOWN);
  }
}

UNIT_TEST_WITH(bounds_of_an_answer_hold, set_up, bench_tear_down)
{
  struct sample_request sample = known_requests[KNOWN_ADD];
  unsigned known = 0;
  learn_request(bench, &sample);
  for (size_t max = 1; max < 400; max++) {
    enum served_twice served = serve_request(bench, bench->client, &sample, max);
    assert_int_not_equal(served, SERVED_DIFFERENTLY);
    known += served == SERVED_AS_KNOWN;
  }
  assert_in_range(known, 100, 350);
}

UNIT_TEST_WITH(a_new_policy_is_asked, set_up, bench_tear_down)
{
  const struct policy_config denying = {.default_action = POLICY_DENY};
  const struct policy_config allowing = {.default_action = POLICY_ALLOW};
  struct policy_source *policies = bench->peer->config.policies;
  struct policy_source *others[2];
  assert_int_equal(policy_source_create(&denying, &others[0], NULL), JP_OK);
  assert_int_equal(policy_source_create(&allowing, &others[1], NULL), JP_OK);
  learn_request(bench, &known_requests[KNOWN_ADD]);
  bench->peer->config.policies = others[0];
  check_served(bench, &known_requests[KNOWN_ADD], SERVED_GENERALLY);
  assert_true(has_part(bench, "RpcAccessDeniedException"));
  bench->peer->config.policies = others[1];
  /* The general path has asked for the verdict just before this message. */
  check_served(bench, &known_requests[KNOWN_ADD], SERVED_AS_KNOWN);
  bench->peer->config.policies = policies;
  policy_source_destroy(others[0]);
  policy_source_destroy(others[1]);
}

UNIT_TEST_WITH(a_member_that_may_be_gone_is_resolved_again, set_up, bench_tear_down)
{
  learn_request(bench, &known_requests[KNOWN_ADD]);
  stub.serial++;
  learn_request(bench, &known_requests[KNOWN_ADD]);
}

UNIT_TEST_WITH(a_call_that_does_not_fit_is_left_alone, set_up, bench_tear_down)
{
  learn_request(bench, &known_requests[KNOWN_ADD]);
  stub.members[KNOWN_ADD].is_unfit = true;
  check_served(bench, &known_requests[KNOWN_ADD], SERVED_GENERALLY);
}

UNIT_TEST_WITH(a_thread_affinity_is_obeyed, set_up, bench_tear_down)
{
  struct sample_request sample = known_requests[KNOWN_ADD];
  learn_request(bench, &sample);
  sample.thread_affinity = "fx";
  check_served(bench, &sample, SERVED_GENERALLY);
  check_served(bench, &sample, SERVED_GENERALLY);
}

UNIT_TEST_WITH(the_oldest_message_is_forgotten, set_up, bench_tear_down)
{
  static const char *const types[MESSAGES_KEPT + 1] = {"int", "a", "b", "c", "d", "e", "f", "g", "h"};
  struct sample_request sample = known_requests[KNOWN_ADD];
  for (size_t i = 0; i <= MESSAGES_KEPT; i++) {
    sample.type = types[i];
    learn_request(bench, &sample);
  }
  check_served(bench, &sample, SERVED_AS_KNOWN);
  sample.type = types[0];
  learn_request(bench, &sample);
}

/* Messages that cannot be kept displace at most one known message. */
UNIT_TEST_WITH(a_message_that_cannot_be_kept_displaces_few, set_up, bench_tear_down)
{
  static const char *const types[MESSAGES_KEPT] = {"int", "a", "b", "c", "d", "e", "f", "g"};
  struct sample_request sample = known_requests[KNOWN_ADD];
  struct sample_request many = known_requests[KNOWN_ADD];
  for (size_t i = 0; i < SAMPLE_ARGS_MAX; i++)
    many.values[i] = "1";
  for (size_t i = 0; i < MESSAGES_KEPT; i++) {
    sample.type = types[i];
    learn_request(bench, &sample);
  }
  for (size_t i = 0; i < 2 * MESSAGES_KEPT; i++)
    check_served(bench, &many, SERVED_GENERALLY);
  for (size_t i = 1; i < MESSAGES_KEPT; i++) {
    sample.type = types[i];
    check_served(bench, &sample, SERVED_AS_KNOWN);
  }
}

/* ---- sessions ---- */

UNIT_TEST_WITH(an_object_is_that_of_the_named_session, set_up, bench_tear_down)
{
  struct sample_request sample = known_requests[KNOWN_OWN_ADD];
  learn_request(bench, &sample);
  sample.ref = 2;
  check_served(bench, &sample, SERVED_GENERALLY); /* the session has no object with this ref */
  sample.ref = 1;
  sample.peer_uuid = "another session!";
  check_served(bench, &sample, SERVED_GENERALLY);
  sample.peer_uuid = NULL;
  check_served(bench, &sample, SERVED_GENERALLY); /* the session of the routing id */
  sample.peer_uuid = KNOWN_SESSION;
  check_served(bench, &sample, SERVED_AS_KNOWN);
}

UNIT_TEST_WITH(an_object_is_that_of_the_routing_id, set_up, bench_tear_down)
{
  struct sample_request sample = known_requests[KNOWN_OWN_ADD];
  assert_int_equal(bench_serve(bench, bench->client, TEXT(MAKE), 0), RPC_REPLY);
  sample.peer_uuid = NULL;
  learn_request(bench, &sample);
  sample.ref = 2;
  check_served(bench, &sample, SERVED_GENERALLY);
}

/* The general path holds the session, so that its TTL begins again. */
UNIT_TEST_WITH(a_session_that_is_named_is_held_now_and_then, set_up, bench_tear_down)
{
  struct sample_request sample = known_requests[KNOWN_ADD];
  learn_request(bench, &sample);
  sample.peer_uuid = "another session.";
  learn_request(bench, &sample);
  int64_t ttl = bench->peer->config.limits.session_ttl_ms;
  bench->peer->config.limits.session_ttl_ms = 1;
  check_served(bench, &sample, SERVED_GENERALLY);
  bench->peer->config.limits.session_ttl_ms = ttl;
  check_served(bench, &sample, SERVED_AS_KNOWN);
  sample.peer_uuid = NULL;
  bench->peer->config.limits.session_ttl_ms = 1;
  check_served(bench, &sample, SERVED_AS_KNOWN);
}

UNIT_TEST_WITH(only_some_channels_name_a_session_in_a_message, set_up, bench_tear_down)
{
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  const struct sample_request *own_add = &known_requests[KNOWN_OWN_ADD];
  learn_request(bench, own_add);
  /* The policy has a separate verdict for this channel, and the session of this connection has no object. */
  assert_int_equal(serve_request(bench, client, own_add, 0), SERVED_GENERALLY);
  assert_int_equal(bench_serve(bench, client, TEXT(MAKE), 0), RPC_REPLY);
  assert_int_equal(serve_request(bench, client, own_add, 0), SERVED_AS_KNOWN);
  bench_close(bench, client, NULL);
}

UNIT_MAIN
