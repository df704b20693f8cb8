/* Answers that are too long, and answers that are made while they are read. */
#include "rpc/jsonrpc/json_codec.h"
#include "service_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static char long_text[5000];

static struct stub_member members[] = {
    STUB_MEMBER_ADD,
    STUB_MEMBER_CONSTRUCTOR,
    {.type = "C",
     .member = "long",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PUBLIC,
     .outcome = {.kind = OUTCOME_VALUE,
                 .type = TEXT("java.lang.String"),
                 .has_value = true,
                 .value = {.kind = OP_TEXT, .text = {long_text, sizeof long_text}}}},
};

static int set_up(void **state)
{
  memset(long_text, 'x', sizeof long_text);
  (void)state;
  bench = service_bench_create(
      &(struct service_bench_options){.members = members, .member_count = COUNT_OF(members)});
  bench->client = bench_open_named(bench, OP_CHANNEL_WEBSOCKET, NULL);
  return 0;
}

static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"params\":{\"type\":\"C\","
                           "\"method\":\"long\"}}";

UNIT_TEST_WITH(makes_refs_of_long_answers, set_up, bench_tear_down)
{
  assert_int_equal(bench_serve(bench, bench->client, text_of(call), 0), RPC_REPLY);
  assert_true(bench->out.len > 5000);
  assert_int_equal(bench_serve(bench, bench->client, text_of(call), 1000), RPC_REPLY);
  assert_text(
      buffer_text(&bench->out),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\","
      "\"null\":false,\"ref\":1}}}");
}

/* A result that exceeds the limit is sent nevertheless if it is not longer than the error would be. */
UNIT_TEST_WITH(loses_nothing_in_a_batch_that_is_full, set_up, bench_tear_down)
{
  char batch[1024];
  snprintf(batch, sizeof batch, "[%s,%s,%s]", ADD, call, ADD);
  assert_int_equal(bench_serve(bench, bench->client, text_of(batch), 1), RPC_REPLY);
  assert_part(bench, "\"null\":false,\"ref\":1}");
  assert_part(bench, "\"value\":\"8\"");
  assert_null(memmem(bench->out.data, bench->out.len, "error", 5));
}

UNIT_TEST_WITH(makes_errors_of_long_answers_with_compat_pal, set_up, bench_tear_down)
{
  bench->peer->config.compat_pal = true;
  assert_int_equal(bench_serve(bench, bench->client, text_of(call), 1000), RPC_REPLY);
  assert_part(bench, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,");
  assert_part(bench, "longer than the 1000 bytes");
  char batch[1024];
  snprintf(batch, sizeof batch, "[%s,%s,%s]", ADD, call, ADD);
  assert_int_equal(bench_serve(bench, bench->client, text_of(batch), 1000), RPC_REPLY);
  assert_part(bench, "longer than the");
}

UNIT_TEST_WITH(keeps_no_large_memory, set_up, bench_tear_down)
{
  enum { LENGTH = 1024 * 1024 };
  const struct outcome of_add = members[0].outcome;
  char *text = test_malloc(LENGTH);
  memset(text, 'x', LENGTH);
  bench->peer->config.compat_pal = true;
  members[0].outcome.value = (struct op_value){.kind = OP_TEXT, .text = {text, LENGTH}};
  check_part(bench, bench->client, ADD, "\"value\":\"\\\"xxx");
  assert_true(rpc_jsonrpc_worker(bench->lent.worker)->scratch.cap <= (size_t)64 * 1024);
  members[0].outcome = of_add;
  test_free(text);
}

/* An answer that repeated the id for each cause would be 33 times as long as its request. */
UNIT_TEST_WITH(sends_a_long_id_once, set_up, bench_tear_down)
{
  enum { LENGTH = 100000, CAUSES = 31 };
  struct outcome_throwable causes[CAUSES];
  for (size_t i = 0; i < CAUSES; i++)
    causes[i] = (struct outcome_throwable){.type = TEXT("X"), .cause = i > 0 ? &causes[i - 1] : NULL};
  struct outcome_throwable top = {.cause = &causes[CAUSES - 1]};
  const struct outcome of_add = members[0].outcome;
  char *id = test_malloc(LENGTH + 1);
  memset(id, '7', LENGTH);
  id[LENGTH] = '\0';
  members[0].outcome = (struct outcome){
      .kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .message = TEXT("m"), .throwable = &top};
  struct buffer request;
  buffer_init(&request);
  buffer_printf(
      &request,
      "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\"}}",
      id);
  assert_int_equal(bench_serve(bench, bench->client, buffer_text(&request), 0), RPC_REPLY);
  /* the message is in the envelope and in the throwable */
  assert_in_range(bench->out.len, 2 * LENGTH, 3 * LENGTH);
  assert_part(bench, "\"X\",\"message\":null,\"request_id\":null,");
  members[0].outcome = of_add;
  buffer_fini(&request);
  test_free(id);
}

static void reopen_bench(enum op_channel channel)
{
  bench_close(bench, bench->client, NULL);
  bench->client = bench_open_named(bench, channel, NULL);
}

static const char query[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"meta\",\"params\":{\"method\":\"fetch_classes_info\"}}";

#define META_ANSWER(body)                                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":false,\"value\":{\"type\":\"java.lang.String\","       \
  "\"null\":false,\"value\":\"" body "\",\"status\":\"OK\"}}}"

UNIT_TEST_WITH(writes_metadata_whole, set_up, bench_tear_down)
{
  reopen_bench(OP_CHANNEL_ZMQ);
  assert_int_equal(bench_serve(bench, bench->client, text_of(query), 0), RPC_REPLY);
  assert_part(bench, "\"status\":\"ERROR\"");
  assert_part(bench, "the image cannot be read");
  stub.meta = "[{\"a\":\"\xC3\xA9\"}]";
  for (stub.meta_step = 0; stub.meta_step < 4; stub.meta_step++)
    check_answer(bench, bench->client, query, META_ANSWER("[{\\\"a\\\":\\\"\xC3\xA9\\\"}]"));
  assert_int_equal(bench_serve(bench, bench->client, text_of(query), 100), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "longer than the 100 bytes");
  stub.meta_breaks = true;
  stub.meta_step = 2;
  assert_int_equal(bench_serve(bench, bench->client, text_of(query), 0), RPC_REPLY);
  assert_part(bench, "\"code\":-32000");
  assert_part(bench, "\"status\":\"ERROR\"");
  assert_int_equal(stub.bodies, 0);
}

UNIT_TEST_WITH(streams_metadata, set_up, bench_tear_down)
{
  reopen_bench(OP_CHANNEL_HTTP);
  stub.meta = "[\"\xF0\x9F\x98\x80\"]";
  stub.meta_step = 3;
  buffer_clear(&bench->out);
  assert_int_equal(rpc_codec_jsonrpc.serve(bench->service->context, bench->lent.worker, bench->client,
                                           text_of(query), &bench->out, 10, &bench->stream),
                   RPC_STREAM);
  struct outcome_body *body = &bench->stream.body;
  enum jp_status status;
  do {
    size_t before = bench->out.len;
    status = body->read(body->state, &bench->out, 1);
    assert_int_equal(text_valid_utf8(buffer_text(&bench->out)), bench->out.len);
    assert_true(status == JP_CLOSED || bench->out.len > before);
  } while (status == JP_OK);
  assert_int_equal(status, JP_CLOSED);
  body->close(body->state);
  buffer_append_text(&bench->out, bench->stream.tail);
  assert_text(buffer_text(&bench->out), META_ANSWER("[\\\"\xF0\x9F\x98\x80\\\"]"));
}

UNIT_MAIN
