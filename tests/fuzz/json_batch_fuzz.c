/*
 * Batches whose requests name the results of other requests. The input is JSON that may name any id. The output, with
 * results in place of names, must be JSON within the limits, and must not name an id that has a result.
 */
#include "rpc/jsonrpc/json_batch.h"

#include "tests/fuzz/fuzz.h"

enum { DEPTH_MAX = 32, SIZE_MAX_FILLED = 4096 };

static void note_samples(struct batch_results *results)
{
  static struct op_value items[] = {{.kind = OP_INTEGER, .integer = 1}, {.kind = OP_REF, .ref = 12}};
  const struct op_value text = {.kind = OP_TEXT, .text = TEXT("a\"b")};
  const struct op_value list = {.kind = OP_LIST, .list = {items, 2}};
  const struct outcome samples[] = {
      {.kind = OUTCOME_VALUE, .type = TEXT("java.util.ArrayList"), .ref = 7},
      {.kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .has_value = true, .value = text},
      {.kind = OUTCOME_VALUE, .type = TEXT("java.util.ArrayList"), .has_value = true, .value = list},
      {.kind = OUTCOME_VALUE, .type = TEXT("java.lang.Object"), .is_null = true},
      {.kind = OUTCOME_VOID},
  };
  static const char *const ids[] = {"1", "\"s\"", "2", "3", "4"};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
    batch_results_note(results, text_of(ids[i]), &samples[i], true);
  batch_results_note_failure(results, TEXT("8"), TEXT("{}"), NULL);
}

static void fill(struct batch_results *results, enum batch_fill_form form, struct arena *arena,
                 struct json_value json)
{
  struct outcome outcome = {.kind = OUTCOME_VOID};
  const struct batch_result *failed;
  struct json_fault fault;
  const struct batch_fill how = {.results = results,
                                 .limits = {DEPTH_MAX},
                                 .max_size = SIZE_MAX_FILLED,
                                 .form = form,
                                 .arena = arena,
                                 .outcome = &outcome};
  struct json_value filled = json;
  enum jp_status status = batch_fill_in(&how, &filled, &failed);
  require((status == JP_CLOSED) == (failed != NULL));
  if (status != JP_OK) {
    require(outcome.kind == OUTCOME_ERROR && outcome.message.data != NULL);
    return;
  }
  if (filled.span.data == json.span.data)
    return;
  require(filled.span.len <= SIZE_MAX_FILLED);
  require(json_validate(filled.span, how.limits, TEXT(""), &fault) == JP_OK);
}

FUZZ_TARGET(text)
{
  struct json_fault fault;
  if (json_validate(text, (struct json_limits){DEPTH_MAX}, TEXT(""), &fault) != JP_OK)
    return;
  struct arena arena;
  arena_init(&arena);
  struct batch_results *results = batch_results_create(&arena, SIZE_MAX_FILLED);
  require(results != NULL);
  note_samples(results);
  for (int form = BATCH_FILL_PROCEDURE; form <= BATCH_FILL_OPTIONS; form++)
    fill(results, (enum batch_fill_form)form, &arena, json_root(text));
  arena_fini(&arena);
}
