/* Tests clients of one message, and sessions that only one message has used. A client of one message is an
 * HTTP request without a session of its own: a worker keeps its memory for the next request, but no other
 * data. */
#include "rpc/peer_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { SESSIONS_MAX = 3 };

#define DELETE     CONTROL("delete_object", "{\"ref\":1}")
#define DELETE_ALL CONTROL("delete_session", "")
#define PING       CONTROL("ping", "")

/* With a `peer-id` of its own, as ZeroMQ accepts it; digits: the last two digits of the `peer-id`. */
#define OF(digits, method, params)                                                                           \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"11111111-2222-3333-4444-5555555555" digits                    \
  "\",\"method\":\"" method "\",\"params\":{" params "}}"
#define MAKE_OF(digits)       OF(digits, "new", "\"type\":\"C\"")
#define DELETE_OF(digits)     OF(digits, "control", "\"method\":\"delete_object\",\"args\":[{\"ref\":1}]")
#define DELETE_ALL_OF(digits) OF(digits, "control", "\"method\":\"delete_session\",\"args\":[]")

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static int set_up(void **state)
{
  (void)state;
  bench = service_bench_create(&(struct service_bench_options){.members = members,
                                                               .member_count = COUNT_OF(members),
                                                               .sessions_max = SESSIONS_MAX,
                                                               .sessions_per_address = 100,
                                                               .without_sweeper = true});
  return 0;
}

static struct rpc_client *open_client_as(const struct service_bench *bench, bool only_safe)
{
  return bench_open(bench, &(struct rpc_client_info){.channel = OP_CHANNEL_HTTP,
                                                     .peer_id = TEXT_ABSENT,
                                                     .routing_id = TEXT_ABSENT,
                                                     .only_safe = only_safe,
                                                     .worker = bench->lent.worker});
}

static struct rpc_client *open_client(const struct service_bench *bench)
{
  return open_client_as(bench, false);
}

/* Each message of a socket opens the client of its routing id. */
static void check_routed(struct service_bench *bench, const char *routing_id, const char *message,
                         const char *part)
{
  struct rpc_client *client = bench_open(bench, &(struct rpc_client_info){.channel = OP_CHANNEL_ZMQ,
                                                                          .peer_id = TEXT_ABSENT,
                                                                          .routing_id = text_of(routing_id),
                                                                          .worker = bench->lent.worker});
  check_part(bench, client, message, part);
  assert_false(bench_close(bench, client, NULL));
}

/* Sends enough messages, each with a session of its own, to end every other passing session. */
static void flood(struct service_bench *bench)
{
  for (unsigned i = 0; i < 5 * SESSIONS_MAX; i++) {
    char message[sizeof MAKE_OF("%02u")];
    snprintf(message, sizeof message, MAKE_OF("%02u"), 50 + i);
    check_routed(bench, "flood", message, "\"ref\":1}");
  }
}

static void check_alone(struct service_bench *bench, const char *message, const char *part)
{
  struct rpc_client *client = open_client(bench);
  check_part(bench, client, message, part);
  assert_false(bench_close(bench, client, NULL));
}

UNIT_TEST_WITH(test_memory_is_used_again, set_up, bench_tear_down)
{
  struct rpc_client *first = open_client(bench);
  check_part(bench, first, ADD, "\"8\"");
  uint64_t serial = first->key.serial;
  assert_false(bench_close(bench, first, NULL));
  struct rpc_client *second = open_client(bench);
  assert_ptr_equal(second, first);
  assert_null(second->session);
  assert_int_equal(second->key.serial, serial + 1);
  check_part(bench, second, ADD, "\"8\"");
  assert_false(bench_close(bench, second, NULL));
  assert_int_equal(atomic_load(&stub.tables), 1);
}

/* Its memory is freed after the last use. */
UNIT_TEST_WITH(test_a_member_may_outlive_the_peer, set_up, bench_tear_down)
{
  check_alone(bench, ADD, "\"8\"");
  bench->lent.ends = bench->peer;
}

UNIT_TEST_WITH(test_numbers_begin_again, set_up, bench_tear_down)
{
  static const char *const ends[] = {DELETE, DELETE_ALL};
  for (size_t i = 0; i < COUNT_OF(ends); i++) {
    struct rpc_client *client = open_client(bench);
    check_part(bench, client, MAKE, "\"ref\":1}");
    check_part(bench, client, ends[i], "\"void\":true");
    assert_false(bench_close(bench, client, NULL));
  }
  assert_int_equal(atomic_load(&stub.tables), 0);
}

/* A message without objects does not count, whichever clients hold sessions. */
UNIT_TEST_WITH(test_requests_without_objects_need_no_session, set_up, bench_tear_down)
{
  static const struct rpc_session_maker maker = {0};
  struct rpc_session *others[SESSIONS_MAX];
  struct jp_error error;
  for (size_t i = 0; i < SESSIONS_MAX; i++) {
    assert_int_equal(rpc_session_acquire(bench->peer->sessions, NULL, &maker, &others[i], &error), JP_OK);
    assert_int_equal(stub_put(rpc_session_objects(others[i]), NULL, &error), JP_OK);
  }
  check_alone(bench, ADD, "\"8\"");
  check_alone(bench, PING, "\"void\":true");
  check_alone(bench, MAKE, "sessions-max");
  check_alone(bench, ADD, "\"8\"");
  rpc_session_release(bench->peer->sessions, others[0], stub_thread(), 0);
  struct rpc_client *maker_of_one = open_client(bench);
  check_part(bench, maker_of_one, MAKE, "\"ref\":1}");
  assert_true(bench_close(bench, maker_of_one, NULL));
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), SESSIONS_MAX);
  for (size_t i = 1; i < SESSIONS_MAX; i++)
    rpc_session_release(bench->peer->sessions, others[i], stub_thread(), 0);
}

/* A batch may name a session many times: its session remains a passing session, and can be ended for sessions
 * of other clients. */
UNIT_TEST_WITH(test_a_batch_is_one_message, set_up, bench_tear_down)
{
  static const char batch[] = "[" MAKE_OF("01") "," MAKE_OF("02") "," MAKE_OF("01") "," DELETE_OF(
      "01") "," DELETE_ALL_OF("02") "," MAKE_OF("02") "," MAKE_OF("01") "]";
  static const char *const staying[SESSIONS_MAX] = {"a", "b", "c"};
  for (unsigned i = 0; i < 3; i++) { /* on the general path, and cached by then */
    check_routed(bench, "flood", batch, "\"result\"");
    assert_int_equal(rpc_sessions_count(bench->peer->sessions), 2);
    for (size_t k = 0; k < SESSIONS_MAX; k++)
      check_routed(bench, staying[k], MAKE, "\"ref\":");
    check_routed(bench, "flood", MAKE_OF("01"), "sessions-max");
    for (size_t k = 0; k < SESSIONS_MAX; k++)
      check_routed(bench, staying[k], DELETE_ALL, "\"void\":true");
  }
}

/* A second message makes the session an ordinary one, even if the message only releases a ref. */
UNIT_TEST_WITH(test_the_second_message_makes_a_session_an_ordinary_one, set_up, bench_tear_down)
{
  check_routed(bench, "a", "[" MAKE_OF("01") "," MAKE_OF("01") "]", "\"ref\":2}");
  check_routed(bench, "a", DELETE_OF("01"), "\"void\":true");
  flood(bench);
  check_routed(bench, "a", MAKE_OF("01"), "\"ref\":3}");
}

/* A transport that cannot send the answer also cannot send the name of the session. */
UNIT_TEST_WITH(test_a_session_whose_name_was_not_sent_ends, set_up, bench_tear_down)
{
  struct rpc_client *client = open_client(bench);
  check_part(bench, client, MAKE, "\"ref\":1}");
  bench->service->release_unsent(bench->service->context, bench->lent.worker, client);
  assert_false(bench_close(bench, client, NULL));
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
  assert_int_equal(atomic_load(&stub.tables), 0);
}

/* Tests memory that was set aside and not used, and memory that was set aside and used. */
UNIT_TEST_WITH(test_a_client_may_end_without_java, set_up, bench_tear_down)
{
  static const char *const messages[] = {PING, ADD};
  for (size_t i = 0; i < COUNT_OF(messages); i++) {
    check_alone(bench, ADD, "\"8\"");
    struct rpc_client *client = open_client(bench);
    struct rpc_session_info info;
    check_part(bench, client, messages[i], "\"result\"");
    bench->service->client_close(bench->service->context, NULL, client, &info);
    assert_false(info.is_new);
  }
  assert_int_equal(rpc_sessions_count(bench->peer->sessions), 0);
}

UNIT_MAIN
