/* One request: control methods, and the session that a message names itself. */
#include "service_bench.h"
#include "tests/unit/unit.h"

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static int set_up(void **state)
{
  *state = service_bench_create(
      &(struct service_bench_options){.members = members, .member_count = COUNT_OF(members)});
  return 0;
}

static int tear_down(void **state)
{
  return service_bench_destroy(*state) ? 0 : 1;
}

#define NO_OBJECT(ref)                                                                                       \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\"," ERROR_DATA(       \
      "No such object: " ref) "}}"

static void runs_control_methods(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, client, MAKE, MADE("1"));
  check_answer(bench, client, MAKE, MADE("2"));
  check_answer(bench, client, MAKE, MADE("3"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1},{\"ref\":9},{\"ref\":2}"),
               NO_OBJECT("9"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":2}"), VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":3}"), NO_OBJECT("3"));
  check_answer(bench, client, CONTROL("GC", ""), VOID_ANSWER);
  assert_int_equal(stub.collected, 1);
  bench_close(bench, client, NULL);
}

static void tellings_of_unknown_refs_are_no_error(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1,\"told\":1}"), VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1,\"told\":1},{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, MAKE, MADE("1"));
  check_answer(bench, client, MAKE, MADE("2"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":9,\"told\":1},{\"ref\":1,\"told\":1}"),
               VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":9,\"told\":2},{\"ref\":1,\"told\":1}"),
               VOID_ANSWER);
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":1}"), NO_OBJECT("1"));
  check_answer(bench, client, CONTROL("delete_object", "{\"ref\":2}"), VOID_ANSWER);
  bench_close(bench, client, NULL);
}

#define NOT_MINE(peer_id, method, params)                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":" peer_id ",\"method\":\"" method "\",\"params\":" params "}"

static void finds_sessions_by_routing_id_and_by_the_message(void **state)
{
  struct service_bench *bench = *state;
  static const char claimed[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"11111111-2222-3333-4444-555555555555\",\"method\":\"new\","
      "\"params\":{\"type\":\"C\"}}";
  static const char *const wrong[] = {
      NOT_MINE("\"me\"", "new", "{\"type\":\"C\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"gc\"}"),
      NOT_MINE("\"me\"", "control", "{\"method\":\"delete_session\"}"),
      NOT_MINE("\"me\"", "meta", "{\"method\":\"fetch_classes_info\"}"),
      NOT_MINE("\"me\"", "rpc.discover", "{}"),
      NOT_MINE("\"me\"", "bogus", "{}"),
      NOT_MINE("\"\"", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("5", "control", "{\"method\":\"ping\"}"),
      NOT_MINE("null", "control", "{\"method\":\"ping\"}"),
  };
  struct rpc_client *client = bench_open_routed(bench, "a");
  check_answer(bench, client, MAKE, MADE("1"));
  bench_close(bench, client, NULL);
  client = bench_open_routed(bench, "a");
  check_answer(bench, client, MAKE, MADE("2"));
  check_answer(bench, client, claimed, MADE("1"));
  check_answer(bench, client, CONTROL("delete_session", ""), VOID_ANSWER);
  bench_close(bench, client, NULL);
  client = bench_open_routed(bench, "b");
  check_answer(bench, client, claimed, MADE("2"));
  check_answer(bench, client, MAKE, MADE("1"));
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    check_answer(bench, client, wrong[i],
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid "
                 "Request\"," ERROR_DATA("'peer-id' must be a UUID") "}}");
  bench_close(bench, client, NULL);
  /* On a WebSocket the member means nothing. */
  client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(bench, client, claimed, MADE("1"));
  bench_close(bench, client, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(runs_control_methods, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tellings_of_unknown_refs_are_no_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(finds_sessions_by_routing_id_and_by_the_message, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
