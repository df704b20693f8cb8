#include "rpc/jsonrpc/json_options.h"

#include "base/number.h"
#include "rpc/values/value_read.h"
#include "json/reader.h"

struct options_reader {
  struct arena *arena;
  struct outcome *outcome;
};

struct option_row {
  struct text name;
  /* Reads the value into the option's member of struct rpc_request_options. */
  enum jp_status (*read)(const struct options_reader *reader, const struct option_row *row,
                         struct json_value value, void *member);
  size_t offset;      /* the offset of that member in the struct */
  struct text word;   /* read_word: the only allowed word */
  const char *wanted; /* read_word: that word, for the error */
};

static enum jp_status fail_kind(const struct options_reader *reader, struct text name, const char *wanted,
                                struct json_value value)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%.*s' must be %s, not %s",
               TEXT_ARGS(name), wanted, json_kind_name(value.kind));
  return JP_INVALID;
}

static enum jp_status fail_value(const struct options_reader *reader, struct text name, const char *wanted)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%.*s' must be %s",
               TEXT_ARGS(name), wanted);
  return JP_INVALID;
}

/* struct text */
static enum jp_status read_text(const struct options_reader *reader, const struct option_row *row,
                                struct json_value value, void *member)
{
  struct text *text = member;
  if (value.kind != JSON_KIND_STRING)
    return fail_kind(reader, row->name, "a string", value);
  *text = json_read_string(value, reader->arena);
  return text->data == NULL ? outcome_fail_memory(reader->outcome) : JP_OK;
}

/* bool: true if the value is false */
static enum jp_status read_negated(const struct options_reader *reader, const struct option_row *row,
                                   struct json_value value, void *member)
{
  if (value.kind != JSON_KIND_TRUE && value.kind != JSON_KIND_FALSE)
    return fail_kind(reader, row->name, "a boolean", value);
  *(bool *)member = value.kind == JSON_KIND_FALSE;
  return JP_OK;
}

/* Finds the ref in {"ref":N}. False: the object has another form. */
static bool find_ref(struct json_value object, struct json_value *ref)
{
  struct json_cursor cursor = json_enter(object);
  struct text raw_key;
  struct json_value another;
  return json_next_member(&cursor, &raw_key, ref) && json_key_is(raw_key, TEXT("ref")) &&
         !json_next_member(&cursor, &raw_key, &another);
}

/* uint32_t: N or {"ref":N} */
static enum jp_status read_ref(const struct options_reader *reader, const struct option_row *row,
                               struct json_value value, void *member)
{
  bool is_object = value.kind == JSON_KIND_OBJECT;
  if (!is_object && value.kind != JSON_KIND_NUMBER)
    return fail_kind(reader, row->name, "an integer or {\"ref\":N}", value);
  if ((!is_object || find_ref(value, &value)) && rpc_ref_read(value, member))
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "'%s' must be a ref: an integer from 1 to 2147483647, or {\"ref\":N}", row->name.data);
  return JP_INVALID;
}

/* bool: true for the only word that the option may have */
static enum jp_status read_word(const struct options_reader *reader, const struct option_row *row,
                                struct json_value value, void *member)
{
  if (value.kind != JSON_KIND_STRING)
    return fail_kind(reader, row->name, "a string", value);
  *(bool *)member = json_key_is(text_slice(value.span, 1, value.span.len - 1), row->word);
  return *(bool *)member ? JP_OK : fail_value(reader, row->name, row->wanted);
}

/* bool */
static enum jp_status read_boolean(const struct options_reader *reader, const struct option_row *row,
                                   struct json_value value, void *member)
{
  if (value.kind != JSON_KIND_TRUE && value.kind != JSON_KIND_FALSE)
    return fail_kind(reader, row->name, "a boolean", value);
  *(bool *)member = value.kind == JSON_KIND_TRUE;
  return JP_OK;
}

/* Sets has_array_value_max and array_value_max. A large number needs no check, because the limit of the
 * answer applies, too. */
static enum jp_status read_array_value_max(const struct options_reader *reader, const struct option_row *row,
                                           struct json_value value, void *member)
{
  struct rpc_request_options *options = member;
  struct number number;
  if (value.kind != JSON_KIND_NUMBER)
    return fail_kind(reader, row->name, "an integer", value);
  number_read(value.span, &number);
  if (!number.fits || number.integer < 0)
    return fail_value(reader, row->name, "an integer from 0 to 9223372036854775807");
  options->has_array_value_max = true;
  options->array_value_max = (size_t)number.integer;
  return JP_OK;
}

/* int64_t: milliseconds. A timeout of more than a thousand years counts as no timeout. */
static enum jp_status read_timeout(const struct options_reader *reader, const struct option_row *row,
                                   struct json_value value, void *member)
{
  static const int64_t max = INT64_C(1) << 45;
  struct number number;
  if (value.kind != JSON_KIND_NUMBER)
    return fail_kind(reader, row->name, "an integer", value);
  number_read(value.span, &number);
  bool is_positive = number.integral && number.suffix == 0 && *number.literal.data != '-' &&
                     !(number.fits && number.integer < 1);
  if (!is_positive)
    return fail_value(reader, row->name, "an integer from 1: milliseconds");
  *(int64_t *)member = number.fits && number.integer < max ? number.integer : max;
  return JP_OK;
}

/* ---- the table ---- */

#define AT(member) .offset = offsetof(struct rpc_request_options, member)

static const struct option_row rows[] = {
    {.name = TEXT("array_value_max"), .read = read_array_value_max},
    {.name = TEXT("elements"), .read = read_boolean, AT(element_values)},
    {.name = TEXT("encoding"),
     .read = read_word,
     AT(base64_result),
     .word = TEXT("base64"),
     .wanted = "\"base64\""},
    {.name = TEXT("idempotent"), .read = read_boolean, AT(only_idempotent)},
    {.name = TEXT("keep"), .read = read_negated, AT(is_unkept)},
    {.name = TEXT("loader"), .read = read_ref, AT(loader)},
    {.name = TEXT("longs"), .read = read_word, AT(longs_as_text), .word = TEXT("text"), .wanted = "\"text\""},
    {.name = TEXT("threadAffinity"), .read = read_text, AT(thread_affinity)},
    {.name = TEXT("throwables"), .read = read_boolean, AT(returns_throwable)},
    {.name = TEXT("timeout"), .read = read_timeout, AT(timeout_ms)},
    {.name = TEXT("types"), .read = read_boolean, AT(element_types)},
    {.name = TEXT("within"), .read = read_text, AT(within)},
};

enum { OPTIONS = sizeof rows / sizeof *rows };

static const struct option_row *find_row(struct text raw_key)
{
  for (size_t i = 0; i < OPTIONS; i++) {
    if (json_key_is(raw_key, rows[i].name))
      return &rows[i];
  }
  return NULL;
}

/* ---- reading ---- */

enum jp_status rpc_request_options_read(const struct jsonrpc_request *request, struct arena *arena,
                                        struct rpc_request_options *options, struct outcome *outcome)
{
  const struct options_reader reader = {arena, outcome};
  bool was_read[OPTIONS] = {false};
  *options = (struct rpc_request_options){0};
  if (!request->has_options)
    return JP_OK;
  if (request->options.kind != JSON_KIND_OBJECT)
    return fail_kind(&reader, TEXT("options"), "an object", request->options);
  struct json_cursor cursor = json_enter(request->options);
  struct text raw_key;
  struct json_value value;
  enum jp_status status = JP_OK;
  while (status == JP_OK && json_next_member(&cursor, &raw_key, &value)) {
    const struct option_row *row = find_row(raw_key);
    if (row == NULL) {
      struct text name = json_unescape(raw_key, reader.arena);
      if (name.data == NULL)
        return outcome_fail_memory(reader.outcome);
      outcome_fail(reader.outcome, reader.arena, FAILURE_INVALID_PARAMS, NULL, "Unknown option: %.*s",
                   TEXT_ARGS(arena_shorten(reader.arena, name, OUTCOME_NAME_SHOWN)));
      return JP_INVALID;
    }
    if (was_read[row - rows]) {
      outcome_fail(reader.outcome, reader.arena, FAILURE_INVALID_PARAMS, NULL,
                   "'%s' is given twice in options", row->name.data);
      return JP_INVALID;
    }
    was_read[row - rows] = true;
    status = row->read(&reader, row, value, (char *)options + row->offset);
  }
  return status;
}

void rpc_request_options_fail_within(struct text within, struct arena *arena, struct outcome *outcome)
{
  if (within.data == NULL)
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'within': the first request of the batch is nested in no open callback");
  else
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'within': %.*s is no open callback that the message is nested in",
                 TEXT_ARGS(arena_shorten(arena, within, OUTCOME_NAME_SHOWN)));
}

void rpc_request_options_apply(const struct rpc_request_options *options, struct operation *operation)
{
  operation->loader = options->loader;
  operation->thread_affinity = options->thread_affinity;
  operation->timeout_ms = options->timeout_ms;
  operation->base64_result = operation->base64_result || options->base64_result;
  operation->base64_bytes = operation->base64_bytes && !options->base64_result;
  operation->element_values = options->element_values;
  operation->element_types = options->element_types;
  operation->returns_throwable = options->returns_throwable;
  operation->longs_as_text = options->longs_as_text;
  operation->only_idempotent = options->only_idempotent;
  operation->has_array_value_max = options->has_array_value_max;
  operation->array_value_max = options->array_value_max;
}
