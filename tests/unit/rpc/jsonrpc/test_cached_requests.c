/* Cached requests, alone and in batches: answered and refused in the same way as on the general path. With
 * JPEER_FASTPATH off nothing is cached, and the answers are the same. */
#include "service_bench.h"
#include "tests/unit/cases.h"

enum { BATCH_MAX = 4 };

/* members: of the envelope, each with a comma after it */
#define CALL_ADD(members, args)                                                                              \
  "{\"jsonrpc\":\"2.0\"," members "\"method\":\"call\",\"params\":{\"type\":\"C\",\"method\":\"add\","       \
  "\"args\":[" args "]}}"

static struct stub_member members[] = {STUB_MEMBER_ADD};

static int set_up(void **state)
{
  const struct service_bench_options options = {
      .members = members, .member_count = COUNT_OF(members), .batch_max = BATCH_MAX};
  const struct rpc_client_info info = {.channel = OP_CHANNEL_WEBSOCKET};
  bench = service_bench_create(&options);
  bench->client = bench_open(bench, &info);
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  members[0].whole_number = 0;
  return service_bench_destroy(bench) ? 0 : 1;
}

static int set_up_whole_numbers(void **state)
{
  members[0].whole_number = 'I';
  return set_up(state);
}

static unsigned count_calls(void)
{
  return stub.invoked + stub.whole_numbers;
}

static enum rpc_served serve_message(struct service_bench *bench, struct text message)
{
  return bench_serve(bench, bench->client, message, 0);
}

/* Writes the answers to the requests one by one, each on the general path, because no shape begins with
 * white space. */
static void answer_one_by_one(struct service_bench *bench, const char *const *requests,
                              struct buffer *answers)
{
  for (size_t i = 0; requests[i] != NULL; i++) {
    char request[256];
    snprintf(request, sizeof request, " %s", requests[i]);
    if (serve_message(bench, text_of(request)) == RPC_NO_REPLY)
      continue;
    buffer_append_char(answers, answers->len == 0 ? '[' : ',');
    buffer_append_text(answers, buffer_text(&bench->out));
  }
  if (answers->len > 0)
    buffer_append_char(answers, ']');
}

static void check_batch(struct service_bench *bench, const char *const *requests)
{
  struct buffer batch;
  struct buffer wanted;
  buffer_init(&batch);
  buffer_init(&wanted);
  for (size_t i = 0; requests[i] != NULL; i++)
    buffer_printf(&batch, "%s%s", i == 0 ? "[" : ", ", requests[i]);
  buffer_append_text(&batch, TEXT("]\n"));
  unsigned before = count_calls();
  answer_one_by_one(bench, requests, &wanted);
  unsigned called = count_calls() - before;
  for (unsigned round = 0; round < 3; round++) {
    before = count_calls();
    assert_int_equal(serve_message(bench, buffer_text(&batch)), wanted.len == 0 ? RPC_NO_REPLY : RPC_REPLY);
    unit_assert_text(buffer_text(&bench->out), buffer_text(&wanted), __FILE__, __LINE__);
    assert_int_equal(count_calls() - before, called);
  }
  buffer_fini(&batch);
  buffer_fini(&wanted);
}

UNIT_TEST_WITH(batches_are_answered_as_one_by_one, set_up, tear_down)
{
  static const char *const batches[][BATCH_MAX + 1] = {
      {CALL_ADD("\"id\":1,", "5,3")},
      {CALL_ADD("\"id\":1,", "5,3"), CALL_ADD("\"id\":\"a\",", "5,3"), CALL_ADD("\"id\":-2.5,", "7,8d")},
      {CALL_ADD("", "5,3"), CALL_ADD("", "1,2")},
      {CALL_ADD("", "5,3"), CALL_ADD("\"id\":3,", "\"x\",null"), CALL_ADD("", "1,2"),
       CALL_ADD("\"id\":4,", "1")},
      {CALL_ADD("\"id\":1,", "5,3"), "1", "{\"id\":5,\"jsonrpc\":\"2.0\"}", CALL_ADD("\"id\":2,", "5,4")},
      {CALL_ADD("\"id\":1,", "5,3"), CONTROL("ping", ""), CONTROL("pong", ""), CALL_ADD("\"id\":2,", "[]")},
  };
  for (size_t i = 0; i < COUNT_OF(batches); i++)
    check_batch(bench, batches[i]);
}
UNIT_TEST_ALSO(batches_are_answered_as_one_by_one, set_up_whole_numbers, tear_down)

#define TWICE(text) text text
#define FOUR(text)  TWICE(text) TWICE(text)
/* A request of 20 levels. */
#define DEEP CALL_ADD("\"x\":" FOUR(FOUR("[")) "[[[" FOUR(FOUR("]")) "]]],\"id\":1,", "")
#define ONE  CALL_ADD("\"id\":1,", "5,3")

/* Faults of a batch are found although its elements are known, and before any of them runs. */
UNIT_TEST_WITH(batches_are_refused_as_on_the_general_path, set_up, tear_down)
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
      {"[" ONE "," CALL_ADD("\"id\":1,", "5,03") "]", "\"code\":-32700"},
      {"[" ONE "," CALL_ADD("\"id\":1l,", "5,3") "]", "\"code\":-32700"},
      {"[" DEEP "]", "passes the depth limit of 20"},
      {"[" ONE FOUR("," ONE) "]", "The batch of 5 requests passes the batch limit of 4"},
  };
  assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  assert_int_equal(serve_message(bench, TEXT(DEEP)), RPC_REPLY);
  assert_int_equal(stub.invoked, 2);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(serve_message(bench, text_of(cases[i].batch)), RPC_REPLY);
    assert_part(bench, cases[i].wanted);
  }
  assert_int_equal(stub.invoked, 2);
}

/* The answers to the same message, cached and not, for every limit of an answer. */
UNIT_TEST_WITH(bounds_of_an_answer_hold, set_up_whole_numbers, tear_down)
{
  struct buffer wanted;
  buffer_init(&wanted);
  for (size_t max = 0; max < 400; max++) {
    buffer_clear(&wanted);
    assert_int_equal(bench_serve(bench, bench->client, TEXT(" " ONE), max), RPC_REPLY);
    buffer_append_text(&wanted, buffer_text(&bench->out));
    assert_int_equal(bench_serve(bench, bench->client, TEXT(ONE), max), RPC_REPLY);
    unit_assert_text(buffer_text(&bench->out), buffer_text(&wanted), __FILE__, __LINE__);
  }
  buffer_fini(&wanted);
}

UNIT_TEST_WITH(failures_are_answered_as_on_the_general_path, set_up_whole_numbers, tear_down)
{
  const struct outcome good = members[0].outcome;
  struct buffer wanted;
  buffer_init(&wanted);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  members[0].outcome = (struct outcome){
      .kind = OUTCOME_ERROR, .failure = FAILURE_SERVER, .throwable_type = TEXT("E"), .message = TEXT("no")};
  assert_int_equal(serve_message(bench, TEXT(" " ONE)), RPC_REPLY);
  buffer_append_text(&wanted, buffer_text(&bench->out));
  assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  unit_assert_text(buffer_text(&bench->out), buffer_text(&wanted), __FILE__, __LINE__);
  members[0].outcome = good;
  buffer_fini(&wanted);
}

/* The answer to ONE. */
static struct buffer answer_of_one;

static void check_options(const char *place, const char *request, const char *part)
{
  char batch[512];
  snprintf(batch, sizeof batch, "[%s]", request);
  for (unsigned round = 0; round < 3; round++) {
    unsigned whole_numbers = stub.whole_numbers;
    assert_int_equal(serve_message(bench, text_of(request)), RPC_REPLY);
    if (*part == '\0')
      unit_assert_text(buffer_text(&bench->out), buffer_text(&answer_of_one), place, __LINE__);
    assert_part(bench, part);
    assert_int_equal(serve_message(bench, text_of(batch)), RPC_REPLY);
    assert_part(bench, part);
    assert_int_equal(stub.whole_numbers, whole_numbers);
  }
}

/* The text of a request that is kept, with options at its beginning, in its middle and at its end. */
UNIT_TEST_WITH(requests_with_options_are_neither_kept_nor_taken_for_others, set_up_whole_numbers, tear_down)
{
  assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  buffer_append_text(&answer_of_one, buffer_text(&bench->out));
  assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  assert_int_equal(serve_message(bench, TEXT(ONE)), RPC_REPLY);
  assert_int_equal(stub.whole_numbers > 0, JPEER_FASTPATH);
  unit_cases(OPTIONS, check_options);
  buffer_fini(&answer_of_one);
}

UNIT_MAIN
