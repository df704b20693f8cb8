/* Clients that come and go, and whose session is whose. */
#include "service_bench.h"
#include "tests/unit/unit.h"

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static int set_up(void **state)
{
  *state = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .sessions_per_address = 5});
  return 0;
}

static int tear_down(void **state)
{
  return service_bench_destroy(*state) ? 0 : 1;
}

static void keeps_sessions_by_connection_and_by_peer_id(void **state)
{
  struct service_bench *bench = *state;
  static const char peer_id[] = "11111111-2222-3333-4444-555555555555";
  struct rpc_client *one = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  struct rpc_client *two = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, one, MAKE, MADE("1"));
  check_answer(bench, two, MAKE, MADE("1"));
  check_answer(bench, one, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  check_answer(bench, two, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  bench_close(bench, one, NULL);
  bench_close(bench, two, NULL);
  assert_int_equal(atomic_load(&stub.tables), 0);

  one = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  two = bench_open_named(bench, OP_CHANNEL_HTTP, "11111111-2222-3333-4444-555555555555");
  check_answer(bench, one, MAKE, MADE("1"));
  bench_close(bench, one, NULL);
  check_answer(bench, two, MAKE, MADE("2"));
  struct uuid kept;
  assert_false(bench_close(bench, two, &kept));
  one = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  check_answer(bench, one, CONTROL("delete_object", "{\"ref\":1},{\"ref\":2}"), VOID_ANSWER);
  bench_close(bench, one, NULL);
}

/* Two connections of one peer-id: the one that has asked for nothing yet holds the session, too. */
static void holds_the_session_of_an_idle_connection(void **state)
{
  struct service_bench *bench = *state;
  static const char peer_id[] = "11111111-2222-3333-4444-555555555555";
  struct rpc_client *idle = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  struct rpc_client *busy = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, peer_id);
  check_answer(bench, busy, MAKE, MADE("1"));
  check_answer(bench, busy, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, busy, MAKE, MADE("2"));
  check_answer(bench, busy, CONTROL("delete_session", ""), VOID_ANSWER);
  bench_close(bench, busy, NULL);
  /* It has one counter of refs with the other connection, which is gone. */
  check_answer(bench, idle, MAKE, MADE("3"));
  bench_close(bench, idle, NULL);
}

/* A connection with a name takes nobody's place until it makes an object. */
static void counts_a_named_connection_from_its_first_object(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *clients[6];
  char peer_id[] = "00000000-0000-0000-0000-000000000000";
  for (size_t i = 0; i < COUNT_OF(clients); i++) {
    peer_id[0] = (char)('1' + i);
    clients[i] = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, peer_id);
    assert_int_equal(bench_serve(bench, clients[i], text_of(ADD), 0), RPC_REPLY);
  }
  for (size_t i = 0; i < 4; i++)
    check_answer(bench, clients[i], MAKE, MADE("1"));
  check_part(bench, clients[4], MAKE, "sessions-max");
  check_answer(bench, clients[0], CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, clients[4], MAKE, MADE("1"));
  check_answer(bench, clients[1], CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  check_answer(bench, clients[0], MAKE, MADE("2"));
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    bench_close(bench, clients[i], NULL);
}

static void names_a_session_of_http_that_holds_objects(void **state)
{
  struct service_bench *bench = *state;
  struct uuid kept;
  char name[UUID_TEXT_LENGTH + 1];
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_HTTP, NULL);
  assert_int_equal(bench_serve(bench, client, text_of(ADD), 0), RPC_REPLY);
  assert_false(bench_close(bench, client, &kept));
  client = bench_open_named(bench, OP_CHANNEL_HTTP, NULL);
  check_answer(bench, client, MAKE, MADE("1"));
  assert_true(bench_close(bench, client, &kept));
  uuid_format(&kept, name);
  client = bench_open_named(bench, OP_CHANNEL_HTTP, name);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), VOID_ANSWER);
  assert_false(bench_close(bench, client, &kept));
}

static void refuses_bad_names(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client_info info = {.channel = OP_CHANNEL_HTTP, .peer_id = TEXT("me")};
  struct rpc_client *client;
  struct jp_error error;
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &client, &error), JP_INVALID);
  info = (struct rpc_client_info){.channel = OP_CHANNEL_ZMQ, .routing_id = TEXT("")};
  assert_int_equal(bench->service->client_open(bench->service->context, &info, &client, &error), JP_INVALID);
}

static void names_the_limit_that_is_reached(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *clients[5];
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    clients[i] = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  for (size_t i = 0; i < 4; i++)
    check_answer(bench, clients[i], MAKE, MADE("1"));
  assert_int_equal(bench_serve(bench, clients[4], text_of(MAKE), 0), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "sessions-max");
  for (size_t i = 0; i < COUNT_OF(clients); i++)
    bench_close(bench, clients[i], NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(keeps_sessions_by_connection_and_by_peer_id, set_up, tear_down),
      cmocka_unit_test_setup_teardown(holds_the_session_of_an_idle_connection, set_up, tear_down),
      cmocka_unit_test_setup_teardown(counts_a_named_connection_from_its_first_object, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_a_session_of_http_that_holds_objects, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_bad_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_the_limit_that_is_reached, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
