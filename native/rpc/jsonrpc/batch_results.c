#include "rpc/jsonrpc/batch_results.h"

#include "op/value.h"
#include "rpc/values/value_write.h"
#include "json/reader.h"
#include "json/writer.h"

#include <string.h>

enum {
  COPIES_OF_ROOM = 32, /* a batch may use a long value in many requests, but cannot take minutes with it */
  LONG_TEXT = 1024,    /* bytes; a shorter one costs a request no more to copy than some names cost to read */
  BUCKETS = 1024,      /* as many as a batch has requests by default */
  /* The data of an error holds the data of the error that led to it: a chain in which each request depends on the
   * one before would grow by the square of its length. So from this depth on the first of these errors is told. */
  CAUSES_MAX = 8
};

struct batch_results {
  struct arena *arena;
  size_t room;                 /* for values that are noted */
  size_t copies_room;          /* for their copies in requests */
  struct batch_result *shared; /* those that are, by next_shared */
  struct batch_result *buckets[BUCKETS];
};

bool batch_results_may_be_named(struct text message)
{
  const struct text word = TEXT("\"result\"");
  return message.len > 0 && *message.data == '[' &&
         memmem(message.data, message.len, word.data, word.len) != NULL;
}

struct batch_results *batch_results_create(struct arena *arena, size_t room)
{
  struct batch_results *made = arena_calloc(arena, 1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->arena = arena;
  made->room = room;
  made->copies_room = COPIES_OF_ROOM * room;
  return made;
}

static struct batch_result **bucket_of(struct batch_results *results, struct text id)
{
  return &results->buckets[text_hash(id) % BUCKETS];
}

struct batch_result *batch_results_find(const struct batch_results *results, struct text id)
{
  struct batch_result *result = results->buckets[text_hash(id) % BUCKETS];
  while (result != NULL && !text_equal(result->id, id))
    result = result->next;
  return result;
}

struct op_shared_text *batch_results_share(struct batch_results *results, struct batch_result *result)
{
  if (result->kind != BATCH_RESULT_VALUE || !result->is_long_text || result->shared != NULL)
    return result->kind == BATCH_RESULT_VALUE ? result->shared : NULL;
  struct op_shared_text *made = arena_calloc(results->arena, 1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->text = json_read_string(json_root(result->json), results->arena);
  if (made->text.data == NULL)
    return NULL;
  result->shared = made;
  result->next_shared = results->shared;
  results->shared = result;
  return made;
}

void batch_results_end(struct batch_results *results,
                       void (*release)(void *context, struct op_shared_text *text), void *context)
{
  for (struct batch_result *result = results->shared; result != NULL; result = result->next_shared)
    release(context, result->shared);
  results->shared = NULL;
}

bool batch_results_count_copy(struct batch_results *results, const struct batch_result *result)
{
  if (result->json.len > results->copies_room)
    return false;
  results->copies_room -= result->json.len;
  return true;
}

/* NULL: the request has no id, memory is short, or another one had the id: then neither can be named. */
static struct batch_result *add_result(struct batch_results *results, struct text id)
{
  if (id.data == NULL)
    return NULL;
  struct batch_result **bucket = bucket_of(results, id);
  for (struct batch_result *other = *bucket; other != NULL; other = other->next) {
    if (!text_equal(other->id, id))
      continue;
    other->kind = BATCH_RESULT_TWICE;
    return NULL;
  }
  struct batch_result *made = arena_calloc(results->arena, 1, sizeof *made);
  if (made == NULL)
    return NULL;
  *made = (struct batch_result){.id = id, .kind = BATCH_RESULT_NONE, .next = *bucket};
  *bucket = made;
  return made;
}

static bool copy_json(struct batch_results *results, struct text json, struct batch_result *result)
{
  if (json.len > results->room)
    return false;
  result->json = arena_text(results->arena, json);
  results->room -= json.len;
  return result->json.data != NULL;
}

/* Lists and maps by value have no one class that their JSON would need, and what is told of an Optional is what is in
 * it. */
static bool needs_type(const struct outcome *outcome)
{
  bool is_array = outcome->type.len > 0 && *outcome->type.data == '[';
  if (text_equal(outcome->type, TEXT("java.util.Optional")))
    return false;
  enum op_value_kind kind = outcome->value.kind;
  bool is_plain = kind == OP_LIST || kind == OP_MAP || kind == OP_DOCUMENT;
  return outcome->is_null || is_array || !is_plain;
}

/* ---- a value as an argument ---- */

static void write_inside(struct buffer *out, const struct op_value *value);

/* As a reader of arguments takes it, not as a result is told. */
static void write_argument(struct buffer *out, const struct op_value *value)
{
  switch (value->kind) {
  case OP_LIST:
    buffer_append_char(out, '[');
    for (size_t i = 0; i < value->list.count; i++) {
      buffer_append_text(out, i > 0 ? TEXT(",") : TEXT(""));
      write_inside(out, &value->list.items[i]);
    }
    buffer_append_char(out, ']');
    break;
  case OP_MAP:
    buffer_append_char(out, '{');
    for (size_t i = 0; i < value->map.count; i++) {
      buffer_append_text(out, i > 0 ? TEXT(",") : TEXT(""));
      json_write_string(out, value->map.entries[i].key);
      buffer_append_char(out, ':');
      write_inside(out, &value->map.entries[i].value);
    }
    buffer_append_char(out, '}');
    break;
  case OP_REF: /* what stands beside the number is for readers of results */
    BUFFER_LITERAL(out, "{\"ref\":");
    json_write_integer(out, value->ref);
    buffer_append_char(out, '}');
    break;
  default:
    rpc_value_write(out, value);
  }
}

static bool looks_like_argument(const struct op_value *value)
{
  static const struct text members[] = {TEXT("type"), TEXT("value"), TEXT("ref")};
  for (size_t i = 0; value->kind == OP_MAP && i < value->map.count; i++)
    for (size_t j = 0; j < sizeof members / sizeof members[0]; j++)
      if (text_equal(value->map.entries[i].key, members[j]))
        return true;
  return false;
}

/* Inside a list or a map, a map that has a member of an argument would be read as one: "value" says that it is a map. */
static void write_inside(struct buffer *out, const struct op_value *value)
{
  bool is_wrapped = looks_like_argument(value);
  if (is_wrapped)
    BUFFER_LITERAL(out, "{\"value\":");
  write_argument(out, value);
  if (is_wrapped)
    buffer_append_char(out, '}');
}

/* ---- */

static void note_value(struct batch_results *results, struct batch_result *result,
                       const struct outcome *outcome)
{
  struct buffer json;
  buffer_init(&json);
  if (outcome->is_null)
    BUFFER_LITERAL(&json, "null");
  else
    write_argument(&json, &outcome->value);
  bool is_kept = !json.failed && copy_json(results, buffer_text(&json), result);
  buffer_fini(&json);
  result->kind = is_kept ? BATCH_RESULT_VALUE : BATCH_RESULT_LARGE;
  if (needs_type(outcome))
    result->type = arena_text(results->arena, outcome->type);
  result->is_long_text = result->kind == BATCH_RESULT_VALUE && !outcome->is_null &&
                         outcome->value.kind == OP_TEXT && result->json.len > LONG_TEXT &&
                         text_equal(result->type, TEXT("java.lang.String"));
  result->is_base64 =
      !outcome->is_null && outcome->value.kind == OP_PACKED && outcome->value.packed.form == OP_PACKED_BASE64;
}

/* The ref that the result is; 0: it is a value. The ref of a result by value may be of a part of it. */
static uint32_t ref_of(const struct outcome *outcome, bool by_value)
{
  if (outcome->is_null)
    return 0;
  if (by_value)
    return outcome->value.kind == OP_REF ? outcome->value.ref : 0;
  return outcome->ref;
}

void batch_results_note(struct batch_results *results, struct text id, const struct outcome *outcome,
                        bool by_value)
{
  struct batch_result *result = add_result(results, id);
  if (result == NULL || outcome->kind != OUTCOME_VALUE)
    return;
  uint32_t ref = ref_of(outcome, by_value);
  if (ref == 0) {
    note_value(results, result, outcome);
    return;
  }
  result->kind = BATCH_RESULT_REF;
  result->ref = ref;
}

void batch_results_note_failure(struct batch_results *results, struct text id, struct text data,
                                const struct batch_result *cause)
{
  struct batch_result *result = add_result(results, id);
  if (result == NULL)
    return;
  bool is_deep = cause != NULL && cause->failures >= CAUSES_MAX;
  result->kind = BATCH_RESULT_FAILED;
  if (is_deep)
    result->json = cause->json;
  else if (!copy_json(results, data, result))
    result->json = TEXT("null");
  result->failures = cause == NULL ? 1 : is_deep ? cause->failures : cause->failures + 1;
}
