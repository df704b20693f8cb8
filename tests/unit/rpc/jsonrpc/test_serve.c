/* Messages in, answers out: the peer's whole service over a stub of jni. */
#include "rpc/jsonrpc/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static struct stub_member members[] = {STUB_MEMBER_ADD, STUB_MEMBER_CONSTRUCTOR};

static int set_up_with(void **state, bool compat_pal)
{
  *state = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .compat_pal = compat_pal});
  return 0;
}

static int set_up(void **state)
{
  return set_up_with(state, false);
}

static int set_up_compat(void **state)
{
  return set_up_with(state, true);
}

static int tear_down(void **state)
{
  return service_bench_destroy(*state) ? 0 : 1;
}

static void answers_what_is_no_request(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  check_answer(
      bench, client, "{\"x\":42}",
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\"data\":"
      "{\"message\":\"The member jsonrpc is "
      "missing\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}}}");
  check_part(bench, client, "{\"id\":", "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"");
  check_answer(
      bench, client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"new\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Invalid params\"," ERROR_DATA(
          "Params are missing") "}}");
  bench_close(bench, client, NULL);
}

static void serves_calls_batches_and_notifications(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  static const char sum[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"int\","
      "\"null\":false,\"value\":\"8\"}}}";
  check_answer(bench, client, ADD, sum);
  struct buffer batch;
  buffer_init(&batch);
  buffer_printf(&batch, "[%s,%s]", ADD, CONTROL("ping", ""));
  buffer_append_char(&batch, '\0');
  struct buffer wanted;
  buffer_init(&wanted);
  buffer_printf(&wanted, "[%s,%s]", sum, VOID_ANSWER);
  buffer_append_char(&wanted, '\0');
  check_answer(bench, client, batch.data, wanted.data);
  assert_int_equal(
      bench_serve(
          bench, client,
          TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\"}}"),
          0),
      RPC_NO_REPLY);
  assert_int_equal(bench->out.len, 0);
  assert_int_equal(stub.invoked, 3);
  buffer_fini(&batch);
  buffer_fini(&wanted);
  bench_close(bench, client, NULL);
}

static void echoes_ids_of_malformed_messages(void **state)
{
  static const struct {
    const char *message;
    const char *id;
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":\"abc\",\"method\":", "\"abc\""},
      {"{\"id\" : 17, 'method'", "17"},
      {"{\"id\":-1.5e3,}", "-1.5e3"},
      {"{\"id\":\"a\\\"b\",}", "\"a\\\"b\""},
      {"{\"id\":\"open", "null"},
      {"{\"id\":\"bad\\x\",", "null"},
      {"{\"id\":01,", "null"},
      {"{\"id\":true,", "null"},
      {"{\"id\"", "null"},
      {"{\"id\":", "null"},
      {"{", "null"},
      {"", "null"},
  };
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_ZMQ, NULL);
  char wanted[512];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(wanted, sizeof wanted,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\"data\":"
             "{\"message\":\"Failed to deserialize JSON-RPC message\",\"request_id\":%s,\"requestId\":%s,"
             "\"stack_trace\":[],\"cause\":null}}}",
             cases[i].id, cases[i].id, cases[i].id);
    check_answer(bench, client, cases[i].message, wanted);
  }
  check_part(bench, client, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}",
             "\"id\":5,\"error\":{\"code\":-32600,");
  check_answer(
      bench, client, ADD,
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,"
      "\"value\":\"8\"},\"from\":{\"class\":\"C\",\"method\":\"add\",\"modifiers\":9}}}");
  bench_close(bench, client, NULL);
}

static void keeps_no_large_memory(void **state)
{
  struct service_bench *bench = *state;
  struct rpc_client *client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  enum { LENGTH = 1024 * 1024 };
  const struct outcome of_add = members[0].outcome;
  char *text = test_malloc(LENGTH);
  memset(text, 'x', LENGTH);
  members[0].outcome.value = (struct op_value){.kind = OP_TEXT, .text = {text, LENGTH}};
  check_part(bench, client, ADD, "\"value\":\"\\\"xxx");
  assert_true(rpc_jsonrpc_worker(bench->lent.worker)->scratch.cap <= 64 * 1024);
  members[0].outcome = of_add;
  test_free(text);
  bench_close(bench, client, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(answers_what_is_no_request, set_up, tear_down),
      cmocka_unit_test_setup_teardown(serves_calls_batches_and_notifications, set_up, tear_down),
      cmocka_unit_test_setup_teardown(echoes_ids_of_malformed_messages, set_up_compat, tear_down),
      cmocka_unit_test_setup_teardown(keeps_no_large_memory, set_up_compat, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
