/* Answers that need no worker. */
#include "rpc/jsonrpc/codec_state.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

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

static void answers_a_ping(void **state)
{
  struct service_bench *bench = *state;
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

static void refuses_and_rejects(void **state)
{
  struct service_bench *bench = *state;
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

static void refuses_what_is_nested_in_a_call_that_is_not_open(void **state)
{
  struct service_bench *bench = *state;
  enum rpc_served served = rpc_jsonrpc_refuse_nested(
      bench->peer,
      TEXT("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"gc\"},{\"jsonrpc\":\"2.0\",\"method\":\"gc\"},"
           "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"gc\",\"options\":{\"within\":5}}]"),
      &bench->out);
  assert_int_equal(served, RPC_REPLY);
  assert_text(buffer_text(&bench->out),
              "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Invalid params\","
              "\"data\":{\"message\":\"'within': the first request of the batch is nested in no open "
              "callback\",\"request_id\":1,\"stack_trace\":[],\"cause\":null}}},"
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"Invalid params\","
              "\"data\":{\"message\":\"'within' must be a string, not a number\","
              "\"request_id\":2,\"stack_trace\":[],\"cause\":null}}}]");
}

/* Whether a call is open a worker can tell, not the place that answers pings. */
static void leaves_nested_pings_to_a_worker(void **state)
{
  struct service_bench *bench = *state;
  enum rpc_served served;
  assert_false(rpc_jsonrpc_serve_without_worker(bench->service->context,
                                                TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\","
                                                     "\"params\":{\"method\":\"ping\"},\"options\":{"
                                                     "\"within\":\"cb-1\"}}"),
                                                &bench->out, &served));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(answers_a_ping, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_and_rejects, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_what_is_nested_in_a_call_that_is_not_open, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leaves_nested_pings_to_a_worker, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
