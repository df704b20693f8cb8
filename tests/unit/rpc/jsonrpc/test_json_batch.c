/* Results of earlier requests in place of their names: each case is JSON in, JSON out. */
#include "op/value.h"
#include "rpc/jsonrpc/json_batch.h"
#include "tests/unit/unit.h"

static struct arena arena;
static struct batch_results *results;

static void note_result(const char *id, const struct outcome *outcome, bool by_value)
{
  batch_results_note(results, text_of(id), outcome, by_value);
}

/* "s": a String. 5: an array by value. 6: a list by value. 8 failed. */
static void note_samples(void)
{
  static int32_t numbers[] = {1, 2};
  static struct op_value items[] = {{.kind = OP_INTEGER, .integer = 1}, {.kind = OP_REF, .ref = 12}};
  const struct op_value text = {.kind = OP_TEXT, .text = TEXT("a\"b")};
  const struct op_value packed = {.kind = OP_PACKED, .packed = {numbers, 2, 'I'}};
  const struct op_value list = {.kind = OP_LIST, .list = {items, 2}};
  const struct outcome samples[] = {
      {.kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .has_value = true, .value = text},
      {.kind = OUTCOME_VALUE, .type = TEXT("[I"), .has_value = true, .value = packed},
      {.kind = OUTCOME_VALUE,
       .type = TEXT("java.util.ArrayList"),
       .has_value = true,
       .ref = 12,
       .value = list},
  };
  note_result("\"s\"", &samples[0], false);
  note_result("5", &samples[1], true);
  note_result("6", &samples[2], true);
  batch_results_note_failure(results, TEXT("8"), TEXT("{\"message\":\"no\"}"), NULL);
}

static int set_up(void **state)
{
  (void)state;
  arena_init(&arena);
  results = batch_results_create(&arena, 100000);
  assert_non_null(results);
  note_samples();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  arena_fini(&arena);
  return 0;
}

static struct json_value parse_json(struct text json)
{
  struct json_fault fault;
  assert_int_equal(json_validate(json, (struct json_limits){16}, TEXT(""), &fault), JP_OK);
  return json_root(json);
}

static enum jp_status fill_json(enum batch_fill_form form, size_t max_size, struct json_value *params,
                                struct outcome *outcome, const struct batch_result **failed)
{
  const struct batch_fill fill = {.results = results,
                                  .limits = {16},
                                  .max_size = max_size,
                                  .form = form,
                                  .arena = &arena,
                                  .outcome = outcome};
  return batch_fill_in(&fill, params, failed);
}

/* ---- long texts ---- */

enum { LONG_TEXT = 5000 };

static void note_long_text(void)
{
  static char units[LONG_TEXT];
  memset(units, 'x', sizeof units);
  const struct op_value text = {.kind = OP_TEXT, .text = {units, sizeof units}};
  const struct outcome string = {
      .kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .has_value = true, .value = text};
  const struct outcome date = {
      .kind = OUTCOME_VALUE, .type = TEXT("java.time.Year"), .has_value = true, .value = text};
  note_result("\"long\"", &string, false);
  note_result("\"year\"", &date, true);
}

static enum jp_status fill_sharing(const char *json, bool shares, struct json_value *params)
{
  struct outcome outcome;
  const struct batch_result *failed;
  *params = parse_json(text_of(json));
  const struct batch_fill fill = {.results = results,
                                  .limits = {16},
                                  .max_size = 1000,
                                  .form = BATCH_FILL_PROCEDURE,
                                  .shares_texts = shares,
                                  .arena = &arena,
                                  .outcome = &outcome};
  return batch_fill_in(&fill, params, &failed);
}

UNIT_TEST_WITH(test_names_of_long_texts_stay, set_up, tear_down)
{
  static const struct {
    const char *params;
    const char *filled; /* NULL: the text is copied, and does not fit */
  } cases[] = {
      {"{\"args\":[{\"ref\":{\"result\":\"long\"}},[{\"ref\":{\"result\":\"long\"}}]]}",
       "{\"args\":[{\"type\":\"java.lang.String\",\"ref\":{\"result\":\"long\"}},"
       "[{\"type\":\"java.lang.String\",\"ref\":{\"result\":\"long\"}}]]}"},
      {"{\"instance\":{\"result\":\"long\"}}",
       "{\"instance\":{\"type\":\"java.lang.String\",\"ref\":{\"result\":\"long\"}}}"},
      {"{\"args\":[{\"type\":\"Object\",\"ref\":{\"result\":\"long\"}}]}",
       "{\"args\":[{\"type\":\"Object\",\"ref\":{\"result\":\"long\"}}]}"},
      {"{\"args\":[{\"ref\":{\"result\":\"long\"},\"type\":\"Object\"}]}", NULL},
      {"{\"args\":[{\"type\":\"int\",\"ref\":{\"result\":\"long\"}}]}", NULL},
      {"{\"args\":[{\"type\":\"java.util.UUID\",\"ref\":{\"result\":\"long\"}}]}", NULL},
      {"{\"args\":[{\"ref\":{\"result\":\"year\"}}]}", NULL},
  };
  note_long_text();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct json_value params;
    enum jp_status status = fill_sharing(cases[i].params, true, &params);
    assert_int_equal(status, cases[i].filled == NULL ? JP_LIMIT : JP_OK);
    if (cases[i].filled != NULL)
      unit_assert_text(params.span, text_of(cases[i].filled), __FILE__, __LINE__);
    assert_int_equal(fill_sharing(cases[i].params, false, &params), JP_LIMIT);
  }
}

static void count_release(void *context, struct op_shared_text *text)
{
  assert_int_equal(text->text.len, LONG_TEXT);
  ++*(int *)context;
}

UNIT_TEST_WITH(test_a_long_text_is_found_by_its_name_and_released_once, set_up, tear_down)
{
  struct json_value params;
  struct json_value name = parse_json(TEXT("{\"result\":\"long\"}"));
  int released = 0;
  note_long_text();
  assert_null(batch_fill_find_shared(results, name)); /* no request has named this result */
  for (int i = 0; i < 3; i++)
    assert_int_equal(fill_sharing("{\"args\":[{\"ref\":{\"result\":\"long\"}}]}", true, &params), JP_OK);
  struct op_shared_text *shared = batch_fill_find_shared(results, name);
  assert_non_null(shared);
  assert_int_equal(shared->text.len, LONG_TEXT);
  assert_null(batch_fill_find_shared(results, parse_json(TEXT("{\"result\":\"s\"}"))));
  assert_null(batch_fill_find_shared(results, parse_json(TEXT("{\"result\":\"none\"}"))));
  assert_null(batch_fill_find_shared(results, parse_json(TEXT("7"))));
  batch_results_end(results, count_release, &released);
  assert_int_equal(released, 1);
}

/* ---- limits ---- */

UNIT_TEST_WITH(test_filled_requests_have_limits, set_up, tear_down)
{
  struct json_value params = parse_json(TEXT("[{\"ref\":{\"result\":5}},{\"ref\":{\"result\":5}}]"));
  struct outcome outcome;
  const struct batch_result *failed;
  assert_int_equal(fill_json(BATCH_FILL_VALUES, 40, &params, &outcome, &failed), JP_LIMIT);
  assert_text(outcome.message,
              "the request is longer than message-max (40 bytes) with the results that it names");
  params = parse_json(TEXT("[[[[[[[[[[[[[[{\"ref\":{\"result\":5}}]]]]]]]]]]]]]]"));
  assert_int_equal(fill_json(BATCH_FILL_VALUES, 1000, &params, &outcome, &failed), JP_OK);
  params = parse_json(TEXT("[[[[[[[[[[[[[[{\"ref\":{\"result\":6}}]]]]]]]]]]]]]]"));
  assert_int_equal(fill_json(BATCH_FILL_VALUES, 1000, &params, &outcome, &failed), JP_LIMIT);
  assert_text(outcome.message, "the request passes the depth limit of 16 with the results that it names");
}

UNIT_TEST_WITH(test_noted_values_have_a_limit, set_up, tear_down)
{
  const struct op_value text = {.kind = OP_TEXT, .text = TEXT("twenty bytes of text")};
  const struct outcome value = {
      .kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .has_value = true, .value = text};
  results = batch_results_create(&arena, 30);
  note_result("1", &value, false);
  note_result("2", &value, false);
  batch_results_note_failure(results, TEXT("3"), TEXT("{\"message\":\"no\"}"), NULL);
  assert_int_equal(batch_results_find(results, TEXT("1"))->kind, BATCH_RESULT_VALUE);
  assert_int_equal(batch_results_find(results, TEXT("2"))->kind, BATCH_RESULT_LARGE);
  assert_int_equal(batch_results_find(results, TEXT("3"))->kind, BATCH_RESULT_FAILED);
  assert_text(batch_results_find(results, TEXT("3"))->json, "null");
}

UNIT_TEST_WITH(test_all_copies_of_a_batch_have_a_limit, set_up, tear_down)
{
  const struct op_value text = {.kind = OP_TEXT, .text = TEXT("twenty bytes of text")};
  const struct outcome value = {
      .kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .has_value = true, .value = text};
  results = batch_results_create(&arena, 30);
  note_result("1", &value, false);
  struct json_value params;
  struct outcome outcome;
  const struct batch_result *failed;
  for (int copy = 0; copy < 43; copy++) {
    params = parse_json(TEXT("[{\"ref\":{\"result\":1}}]"));
    assert_int_equal(fill_json(BATCH_FILL_VALUES, 1000, &params, &outcome, &failed), JP_OK);
  }
  params = parse_json(TEXT("[{\"ref\":{\"result\":1}}]"));
  assert_int_equal(fill_json(BATCH_FILL_VALUES, 1000, &params, &outcome, &failed), JP_LIMIT);
  assert_text(
      outcome.message,
      "the values that the requests of this batch name take more than 32 times message-max (1000 bytes)");
}

/* Each request of the chain has failed because of the previous request. */
UNIT_TEST_WITH(test_a_chain_of_failures_stays_small, set_up, tear_down)
{
  const struct batch_result *last = batch_results_find(results, TEXT("8"));
  size_t longest = 0;
  for (unsigned i = 100; i < 600; i++) {
    struct text id = arena_printf(&arena, "%u", i);
    struct text data =
        arena_printf(&arena, "{\"message\":\"depends\",\"cause\":%.*s}", TEXT_ARGS(last->json));
    batch_results_note_failure(results, id, data, last);
    last = batch_results_find(results, id);
    assert_non_null(last);
    assert_int_equal(last->kind, BATCH_RESULT_FAILED);
    if (last->json.len > longest)
      longest = last->json.len;
  }
  assert_in_range(longest, 200, 400);
}

UNIT_MAIN
