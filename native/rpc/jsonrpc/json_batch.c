#include "rpc/jsonrpc/json_batch.h"

#include "base/array.h"
#include "op/value.h"
#include "rpc/values/value_write.h"
#include "json/writer.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* times `room`: a batch may use a long value in many requests, but must not run for minutes */
  COPIES_OF_ROOM = 32,
  /* bytes; a shorter text is copied, because a copy costs no more than reading some names */
  LONG_TEXT = 1024,
  BUCKETS = 1024, /* the number of requests that a batch may have by default */
  /* The data of an error contains the data of the error that caused it. If each request depended on the
   * previous request, the answer would grow by the square of the number of requests. For this reason an error
   * beyond this depth contains only the first of these errors. */
  CAUSES_MAX = 8
};

struct batch_results {
  struct arena *arena;
  size_t room;                 /* for values that are noted */
  size_t copies_room;          /* for their copies in requests */
  struct batch_result *shared; /* the results that arguments share, linked by next_shared */
  struct batch_result *buckets[BUCKETS];
};

/* ---- results ---- */

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

struct batch_result *batch_results_find(const struct batch_results *results, struct text id)
{
  struct batch_result *result = results->buckets[text_hash(id) % BUCKETS];
  while (result != NULL && !text_equal(result->id, id))
    result = result->next;
  return result;
}

/* Lets arguments share the text of a result. NULL: the result is not a long text, or memory is short. */
static struct op_shared_text *share_text(struct batch_results *results, struct batch_result *result)
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

/* Counts a copy of a result. False: the batch has no room for another copy. Without this limit a short batch
 * could name a long value thousands of times, and run for minutes. */
static bool count_copy(struct batch_results *results, const struct batch_result *result)
{
  if (result->json.len > results->copies_room)
    return false;
  results->copies_room -= result->json.len;
  return true;
}

/* NULL: the request has no id, memory is short, or another request has the same id. If two requests have the
 * same id, neither result can be named. */
static struct batch_result *add_result(struct batch_results *results, struct text id)
{
  if (id.data == NULL)
    return NULL;
  struct batch_result **bucket = &results->buckets[text_hash(id) % BUCKETS];
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

/* True if the value must be noted with its type. Lists and maps by value need no type, and the type of an
 * Optional's value is the type of its content. */
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

/* Writes a value in the form of arguments. It differs from the form of results. */
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
  case OP_REF: /* the literal is not written, because only readers of results need the text of an object */
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

/* Inside a list or a map, a map with a member that arguments have would be read as an argument. For this
 * reason such a map is written as {"value": map}. */
static void write_inside(struct buffer *out, const struct op_value *value)
{
  bool is_wrapped = looks_like_argument(value);
  if (is_wrapped)
    BUFFER_LITERAL(out, "{\"value\":");
  write_argument(out, value);
  if (is_wrapped)
    buffer_append_char(out, '}');
}

/* ---- noting ---- */

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

/* The ref of the result; 0: the result is a value. The ref in a result by value may belong to a part of the
 * result. */
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

/* ---- results in place of their names: errors ---- */

/* A text that is copied piece by piece, with results in place of their names. */
struct filling {
  const struct batch_fill *fill;
  struct buffer out;
  const char *copied_to; /* the request up to here is in out already */
  bool has_changed;
  const struct batch_result *failed;
};

static enum jp_status fail_id(const struct filling *filling, struct text id, const char *why)
{
  const struct batch_fill *fill = filling->fill;
  outcome_fail(fill->outcome, fill->arena, FAILURE_INVALID_PARAMS, NULL, "{\"result\": %.*s}: %s",
               TEXT_ARGS(arena_shorten(fill->arena, id, OUTCOME_NAME_SHOWN)), why);
  return JP_INVALID;
}

static enum jp_status fail_size(const struct batch_fill *fill)
{
  outcome_fail(fill->outcome, fill->arena, FAILURE_SERVER, NULL,
               "the request is longer than message-max (%zu bytes) with the results that it names",
               fill->max_size);
  return JP_LIMIT;
}

/* ---- names ---- */

/* True if json is {"result": ID} without other members. *id becomes the string or number as written. */
static bool is_name(struct json_value json, struct text *id)
{
  struct json_cursor cursor;
  struct text key;
  struct json_value value;
  struct json_value other;
  if (json.kind != JSON_KIND_OBJECT)
    return false;
  cursor = json_enter(json);
  if (!json_next_member(&cursor, &key, &value) || !json_key_is(key, TEXT("result")))
    return false;
  *id = value.span;
  return (value.kind == JSON_KIND_STRING || value.kind == JSON_KIND_NUMBER) &&
         !json_next_member(&cursor, &key, &other);
}

struct op_shared_text *batch_fill_find_shared(struct batch_results *results, struct json_value name)
{
  struct text id;
  const struct batch_result *result = is_name(name, &id) ? batch_results_find(results, id) : NULL;
  return result == NULL || result->kind != BATCH_RESULT_VALUE ? NULL : result->shared;
}

/* Finds the result that a name means. takes_text: a shared text may replace the name at this place. */
static enum jp_status find_result(struct filling *filling, struct text id, bool takes_text,
                                  const struct batch_result **found)
{
  struct batch_result *result = batch_results_find(filling->fill->results, id);
  if (result == NULL)
    return fail_id(filling, id, "no earlier request of this batch has this id");
  switch (result->kind) {
  case BATCH_RESULT_VALUE:
    *found = result;
    if (takes_text && share_text(filling->fill->results, result) != NULL)
      return JP_OK;
    if (!count_copy(filling->fill->results, result)) {
      outcome_fail(
          filling->fill->outcome, filling->fill->arena, FAILURE_SERVER, NULL,
          "the values that the requests of this batch name take more than 32 times message-max (%zu bytes)",
          filling->fill->max_size);
      return JP_LIMIT;
    }
    return JP_OK;
  case BATCH_RESULT_REF:
    *found = result;
    return JP_OK;
  case BATCH_RESULT_FAILED:
    filling->failed = result;
    outcome_fail(filling->fill->outcome, filling->fill->arena, FAILURE_SERVER, NULL,
                 "depends on failed request %.*s",
                 TEXT_ARGS(arena_shorten(filling->fill->arena, id, OUTCOME_NAME_SHOWN)));
    return JP_CLOSED;
  case BATCH_RESULT_TWICE:
    return fail_id(filling, id, "several requests of this batch have this id");
  case BATCH_RESULT_LARGE:
    return fail_id(filling, id, "the results of this batch that are values take more than message-max");
  case BATCH_RESULT_NONE:
    break;
  }
  return fail_id(filling, id, "that request has no result that could be named");
}

/* ---- writing ---- */

static void copy_up_to(struct filling *filling, const char *end)
{
  buffer_append(&filling->out, filling->copied_to, (size_t)(end - filling->copied_to));
  filling->copied_to = end;
}

/* Continues at `end`, the end of the text that was replaced. */
static enum jp_status continue_after(struct filling *filling, const char *end)
{
  filling->copied_to = end;
  filling->has_changed = true;
  if (filling->out.failed)
    return outcome_fail_memory(filling->fill->outcome);
  return filling->out.len > filling->fill->max_size ? fail_size(filling->fill) : JP_OK;
}

/* Writes a shared text as members of an argument. The name of the text is not replaced. */
static void write_shared(struct buffer *out, struct json_value name)
{
  BUFFER_LITERAL(out, "\"type\":\"java.lang.String\",\"ref\":");
  buffer_append_text(out, name.span);
}

/* Writes a value as members of an argument: "ref":N or "type":T,"value":V, with an encoding if V is
 * encoded. */
static void write_members(struct buffer *out, const struct batch_result *result, bool has_type)
{
  if (result->kind == BATCH_RESULT_REF) {
    BUFFER_LITERAL(out, "\"ref\":");
    json_write_integer(out, result->ref);
    return;
  }
  if (result->type.data != NULL && !has_type) {
    BUFFER_LITERAL(out, "\"type\":");
    json_write_string(out, result->type);
    buffer_append_char(out, ',');
  }
  BUFFER_LITERAL(out, "\"value\":");
  buffer_append_text(out, result->json);
  if (result->is_base64)
    BUFFER_LITERAL(out, ",\"encoding\":\"base64\"");
}

/* Replaces {"result": ID} by the bare ref or by the value. */
static enum jp_status write_named(struct filling *filling, struct json_value name, struct text id)
{
  const struct batch_result *result = NULL;
  enum jp_status status = find_result(filling, id, filling->fill->shares_texts, &result);
  if (status != JP_OK)
    return status;
  copy_up_to(filling, name.span.data);
  if (result->kind == BATCH_RESULT_REF) {
    json_write_integer(&filling->out, result->ref);
  } else {
    buffer_append_char(&filling->out, '{');
    if (filling->fill->shares_texts && result->shared != NULL)
      write_shared(&filling->out, name);
    else
      write_members(&filling->out, result, false);
    buffer_append_char(&filling->out, '}');
  }
  return continue_after(filling, name.span.data + name.span.len);
}

/* The type that an argument declares together with a name: no type, a type that any String has, or another
 * type. */
enum declared_type { DECLARES_NOTHING, DECLARES_TEXT, DECLARES_OTHER };

/* Replaces the member "ref": {"result": ID}. */
static enum jp_status write_ref(struct filling *filling, struct text key, struct json_value ref,
                                struct text id, enum declared_type type)
{
  const struct batch_result *result = NULL;
  bool takes_text = filling->fill->shares_texts && type != DECLARES_OTHER;
  enum jp_status status = find_result(filling, id, takes_text, &result);
  if (status != JP_OK)
    return status;
  bool is_shared = takes_text && result->shared != NULL;
  if (is_shared && type == DECLARES_TEXT)
    return JP_OK;                    /* the text is not changed */
  copy_up_to(filling, key.data - 1); /* up to the quote before the key */
  if (is_shared)
    write_shared(&filling->out, ref);
  else
    write_members(&filling->out, result, type != DECLARES_NOTHING);
  return continue_after(filling, ref.span.data + ref.span.len);
}

/* ---- the places of names: where the reader of arguments accepts {"ref": N} ---- */

static enum jp_status fill_value(struct filling *filling, struct json_value json);

/* Inside "value" an object is always a map, even if its members are named like the members of an argument. */
static enum jp_status fill_contents(struct filling *filling, struct json_value json)
{
  enum jp_status status = JP_OK;
  struct text key;
  struct json_value value;
  if (json.kind != JSON_KIND_ARRAY && json.kind != JSON_KIND_OBJECT)
    return JP_OK;
  struct json_cursor cursor = json_enter(json);
  if (json.kind == JSON_KIND_ARRAY) {
    while (status == JP_OK && json_next_element(&cursor, &value))
      status = fill_value(filling, value);
  } else {
    while (status == JP_OK && json_next_member(&cursor, &key, &value))
      status = fill_value(filling, value);
  }
  return status;
}

enum argument_member { ARGUMENT_TYPE, ARGUMENT_VALUE, ARGUMENT_REF, ARGUMENT_MEMBERS };

static const struct text argument_names[ARGUMENT_MEMBERS] = {
    [ARGUMENT_TYPE] = TEXT("type"), [ARGUMENT_VALUE] = TEXT("value"), [ARGUMENT_REF] = TEXT("ref")};

/* True for types that accept a String without conversion. For any other type the text is parsed each time
 * that a request names it. */
static bool is_text_type(struct json_value type)
{
  static const struct text types[] = {
      TEXT("java.lang.String"),       TEXT("String"),       TEXT("java.lang.Object"),     TEXT("Object"),
      TEXT("java.lang.CharSequence"), TEXT("CharSequence"), TEXT("java.lang.Comparable"), TEXT("Comparable"),
      TEXT("java.io.Serializable")};
  if (type.kind != JSON_KIND_STRING)
    return false;
  struct text written = text_slice(type.span, 1, type.span.len - 1);
  return json_find_key(written, types, sizeof types / sizeof types[0]) >= 0;
}

static enum jp_status fill_argument(struct filling *filling, struct json_value argument, bool has_type)
{
  enum jp_status status = JP_OK;
  enum declared_type declared = has_type ? DECLARES_OTHER : DECLARES_NOTHING;
  struct json_cursor cursor = json_enter(argument);
  struct text key;
  struct text id;
  struct json_value value;
  while (status == JP_OK && json_next_member(&cursor, &key, &value)) {
    int member = json_find_key(key, argument_names, ARGUMENT_MEMBERS);
    if (member == ARGUMENT_VALUE)
      status = fill_contents(filling, value);
    else if (member == ARGUMENT_TYPE && is_text_type(value))
      declared = DECLARES_TEXT;
    else if (member == ARGUMENT_REF && is_name(value, &id))
      status = write_ref(filling, key, value, id, declared);
  }
  return status;
}

static enum jp_status fill_value(struct filling *filling, struct json_value json)
{
  bool has[ARGUMENT_MEMBERS] = {false};
  if (json.kind != JSON_KIND_OBJECT)
    return fill_contents(filling, json);
  struct json_cursor cursor = json_enter(json);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    int member = json_find_key(key, argument_names, ARGUMENT_MEMBERS);
    if (member >= 0)
      has[member] = true;
  }
  if (has[ARGUMENT_TYPE] || has[ARGUMENT_VALUE] || has[ARGUMENT_REF])
    return fill_argument(filling, json, has[ARGUMENT_TYPE]);
  return fill_contents(filling, json);
}

/* Fills a member of params or of options. Not all of these members are values. */
static enum jp_status fill_member(struct filling *filling, struct text key, struct json_value value)
{
  enum batch_fill_form form = filling->fill->form;
  bool has_options = form == BATCH_FILL_OPTIONS;
  bool is_instance = !has_options && json_key_is(key, TEXT("instance"));
  struct text id;
  if ((is_instance || (has_options && json_key_is(key, TEXT("loader")))) && is_name(value, &id))
    return write_named(filling, value, id);
  if (has_options)
    return JP_OK;
  if (form == BATCH_FILL_VALUES || is_instance || json_key_is(key, TEXT("value")))
    return fill_value(filling, value);
  return json_key_is(key, TEXT("args")) ? fill_contents(filling, value) : JP_OK;
}

static enum jp_status fill_all(struct filling *filling, struct json_value json)
{
  enum jp_status status = JP_OK;
  struct text key;
  struct json_value value;
  if (json.kind != JSON_KIND_OBJECT)
    return fill_contents(filling, json);
  struct json_cursor cursor = json_enter(json);
  while (status == JP_OK && json_next_member(&cursor, &key, &value))
    status = fill_member(filling, key, value);
  return status;
}

/* Checks the depth again, because the result that was filled in may itself be deep. */
static enum jp_status accept_filled(struct filling *filling, struct json_value *json)
{
  const struct batch_fill *fill = filling->fill;
  struct json_fault fault;
  copy_up_to(filling, json->span.data + json->span.len);
  struct text text = filling->out.failed ? TEXT_ABSENT : arena_text(fill->arena, buffer_text(&filling->out));
  if (text.data == NULL)
    return outcome_fail_memory(fill->outcome);
  if (text.len > fill->max_size)
    return fail_size(fill);
  if (json_validate(text, fill->limits, TEXT(""), &fault) != JP_OK) {
    outcome_fail(fill->outcome, fill->arena, FAILURE_SERVER, NULL,
                 "the request passes the depth limit of %zu with the results that it names",
                 fill->limits.max_depth);
    return JP_LIMIT;
  }
  *json = json_root(text);
  return JP_OK;
}

enum jp_status batch_fill_in(const struct batch_fill *fill, struct json_value *json,
                             const struct batch_result **failed)
{
  struct filling filling = {.fill = fill, .copied_to = json->span.data};
  buffer_init(&filling.out);
  enum jp_status status = fill_all(&filling, *json);
  if (status == JP_OK && filling.has_changed)
    status = accept_filled(&filling, json);
  buffer_fini(&filling.out);
  *failed = filling.failed;
  return status;
}

/* ---- results that are not in the answer ("keep": false) ---- */

struct unkept_object {
  struct uuid session; /* the session that the request has named; else zero */
  uint32_t ref;
};

void unkept_results_note(struct unkept_results *unkept, struct rpc_run *run)
{
  struct jvm_stored *stored = &run->runner->stored;
  struct unkept_object object = {0};
  if (run->names_session)
    object.session = run->guest_id;
  while (stored->count > run->stored_before) {
    struct unkept_object *items = array_grow(unkept->items, unkept->count, &unkept->capacity, sizeof *items);
    if (items == NULL)
      return;
    object.ref = stored->refs[--stored->count];
    unkept->items = items;
    items[unkept->count++] = object;
  }
}

void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run)
{
  for (size_t i = 0; i < unkept->count; i++) {
    static const struct uuid none;
    const struct unkept_object *object = &unkept->items[i];
    struct op_value ref = {.kind = OP_REF, .ref = object->ref, .release_count = 1};
    const struct operation operation = {
        .kind = OP_CONTROL, .command = OP_DELETE_OBJECT, .args = &ref, .arg_count = 1};
    struct outcome outcome;
    rpc_run_begin(run, uuid_equal(&object->session, &none) ? NULL : &object->session, true);
    rpc_run_operation(run, &operation, &outcome);
    rpc_run_end(run);
  }
  free(unkept->items);
  *unkept = (struct unkept_results){.count = 0};
}
