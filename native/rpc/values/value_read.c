#include "rpc/values/value_read.h"

#include "base/decimal.h"
#include "base/number.h"
#include "op/scalar.h"
#include "rpc/values/array_read.h"
#include "rpc/values/callback_read.h"
#include "json/object_members.h"

#include <stdlib.h>

enum argument_member { ARGUMENT_TYPE, ARGUMENT_VALUE, ARGUMENT_REF, ARGUMENT_ENCODING, ARGUMENT_MEMBERS };

enum { FIRST_CAPACITY = 4 };

static const struct text argument_names[ARGUMENT_MEMBERS] = {
    [ARGUMENT_TYPE] = TEXT("type"),
    [ARGUMENT_VALUE] = TEXT("value"),
    [ARGUMENT_REF] = TEXT("ref"),
    [ARGUMENT_ENCODING] = TEXT("encoding"),
};

static enum jp_status read_element(struct rpc_value_reader *reader, struct json_value json,
                                   struct op_value *value);

void rpc_value_reader_init(struct rpc_value_reader *reader, size_t digits_max, size_t values_max,
                           struct arena *arena, struct outcome *outcome)
{
  size_t most = values_max == 0 ? RPC_VALUES_MAX : values_max;
  *reader = (struct rpc_value_reader){
      .arena = arena, .outcome = outcome, .values_max = most, .values_left = most, .digits_max = digits_max};
}

const char *rpc_value_place(const struct rpc_value_reader *reader)
{
  if (reader->is_receiver)
    return "instance";
  if (reader->is_put)
    return "value";
  if (reader->is_result)
    return "result";
  struct text place = arena_printf(reader->arena, "argument %zu", reader->argument);
  return place.data == NULL ? "argument" : place.data;
}

enum jp_status rpc_value_no_memory(struct rpc_value_reader *reader)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

enum jp_status rpc_value_reserve(struct rpc_value_reader *reader, size_t count)
{
  if (count <= reader->values_left) {
    reader->values_left -= count;
    return JP_OK;
  }
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: more than %zu values in one request (values-max)", rpc_value_place(reader),
               reader->values_max);
  return JP_INVALID;
}

static enum jp_status fail(struct rpc_value_reader *reader, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s: %s",
               rpc_value_place(reader), what);
  return JP_INVALID;
}

bool rpc_ref_read(struct json_value json, uint32_t *ref)
{
  if (json.kind != JSON_KIND_NUMBER)
    return false;
  struct number number;
  number_read(json.span, &number);
  if (!number.fits || number.suffix != 0 || number.integer < 1 || number.integer > RPC_REF_MAX)
    return false;
  *ref = (uint32_t)number.integer;
  return true;
}

static enum jp_status read_text(struct rpc_value_reader *reader, struct json_value json,
                                struct op_value *value)
{
  value->kind = OP_TEXT;
  value->shared = NULL;
  value->text = json_read_string(json, reader->arena);
  return value->text.data == NULL ? rpc_value_no_memory(reader) : JP_OK;
}

void rpc_number_read(struct json_value json, struct op_value *value)
{
  struct number number;
  number_read(json.span, &number);
  op_scalar_set_number(value, &number);
}

bool rpc_literal_is_long(const struct rpc_value_reader *reader, struct text literal)
{
  size_t mantissa = 0;
  if (literal.len <= reader->digits_max)
    return false;
  while (mantissa < literal.len && literal.data[mantissa] != 'e' && literal.data[mantissa] != 'E')
    mantissa++;
  return !decimal_is_within(text_slice(literal, 0, mantissa), reader->digits_max);
}

static enum jp_status read_number(struct rpc_value_reader *reader, struct json_value json,
                                  struct op_value *value)
{
  rpc_number_read(json, value);
  if (value->kind == OP_INTEGER || !rpc_literal_is_long(reader, value->literal))
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: a number has more digits than the limit of %zu (number-digits-max)",
               rpc_value_place(reader), reader->digits_max);
  return JP_INVALID;
}

/* Makes room for one more than `count` elements. The array grows, because counting its elements first would
 * walk through everything inside them. */
static void *make_room(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
  if (count < *capacity)
    return items;
  size_t wanted = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
  void *grown = arena_alloc(arena, wanted * size);
  if (grown == NULL)
    return NULL;
  if (count > 0)
    memcpy(grown, items, count * size);
  *capacity = wanted;
  return grown;
}

static enum jp_status read_list(struct rpc_value_reader *reader, struct json_value json,
                                struct op_value *value)
{
  struct op_value *items = NULL;
  size_t count = 0;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (; json_next_element(&cursor, &element); count++) {
    enum jp_status status = rpc_value_reserve(reader, 1);
    if (status != JP_OK)
      return status;
    items = make_room(reader->arena, items, count, &capacity, sizeof *items);
    if (items == NULL)
      return rpc_value_no_memory(reader);
    status = read_element(reader, element, &items[count]);
    if (status != JP_OK)
      return status;
  }
  value->kind = OP_LIST;
  value->list.items = items;
  value->list.count = count;
  return JP_OK;
}

static int compare_texts(struct text a, struct text b)
{
  size_t shorter = a.len < b.len ? a.len : b.len;
  int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Orders entries by key, and those of one key as they came. */
static int compare_entries(const void *left, const void *right)
{
  const struct op_entry *const *a = left;
  const struct op_entry *const *b = right;
  int order = compare_texts((*a)->key, (*b)->key);
  return order != 0 ? order : (*a > *b) - (*a < *b);
}

/* Sorted rather than hashed: a caller chooses the keys, and no choice makes sorting slow. */
static enum jp_status drop_repeated_keys(struct rpc_value_reader *reader, struct op_entry *entries,
                                         size_t *count)
{
  size_t given = *count;
  if (given < 2)
    return JP_OK;
  struct op_entry **sorted = arena_alloc(reader->arena, given * sizeof(struct op_entry *));
  if (sorted == NULL)
    return rpc_value_no_memory(reader);
  for (size_t i = 0; i < given; i++)
    sorted[i] = &entries[i];
  qsort(sorted, given, sizeof(struct op_entry *), compare_entries);
  struct op_entry *first = sorted[0];
  bool repeated = false;
  for (size_t i = 1; i < given; i++) {
    if (!text_equal(sorted[i]->key, first->key)) {
      first = sorted[i];
      continue;
    }
    first->value = sorted[i]->value;
    sorted[i]->key.data = NULL;
    repeated = true;
  }
  if (!repeated)
    return JP_OK;
  size_t kept = 0;
  for (size_t i = 0; i < given; i++) {
    if (entries[i].key.data != NULL)
      entries[kept++] = entries[i];
  }
  *count = kept;
  return JP_OK;
}

static enum jp_status read_entry(struct rpc_value_reader *reader, struct text key, struct json_value json,
                                 struct op_entry *entry)
{
  entry->key = json_unescape(key, reader->arena);
  if (entry->key.data == NULL)
    return rpc_value_no_memory(reader);
  return read_element(reader, json, &entry->value);
}

static enum jp_status read_map(struct rpc_value_reader *reader, struct json_value json,
                               struct op_value *value)
{
  struct op_entry *entries = NULL;
  size_t count = 0;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(json);
  struct text key;
  struct json_value element;
  for (; json_next_member(&cursor, &key, &element); count++) {
    enum jp_status status = rpc_value_reserve(reader, 1);
    if (status != JP_OK)
      return status;
    entries = make_room(reader->arena, entries, count, &capacity, sizeof *entries);
    if (entries == NULL)
      return rpc_value_no_memory(reader);
    status = read_entry(reader, key, element, &entries[count]);
    if (status != JP_OK)
      return status;
  }
  enum jp_status status = drop_repeated_keys(reader, entries, &count);
  value->kind = OP_MAP;
  value->map.entries = entries;
  value->map.count = count;
  return status;
}

/* Reads a bare value: an object is a map here, whatever its members are called. */
static enum jp_status read_bare(struct rpc_value_reader *reader, struct json_value json,
                                struct op_value *value)
{
  switch (json.kind) {
  case JSON_KIND_NULL:
    value->kind = OP_NULL;
    return JP_OK;
  case JSON_KIND_TRUE:
  case JSON_KIND_FALSE:
    value->kind = OP_BOOLEAN;
    value->boolean = json.kind == JSON_KIND_TRUE;
    return JP_OK;
  case JSON_KIND_NUMBER:
    return read_number(reader, json, value);
  case JSON_KIND_STRING:
    return read_text(reader, json, value);
  case JSON_KIND_ARRAY:
    return read_list(reader, json, value);
  case JSON_KIND_OBJECT:
    return read_map(reader, json, value);
  }
  return fail(reader, "is no JSON value");
}

static bool looks_like_array(struct text type)
{
  return type.len > 0 && (type.data[0] == '[' || type.data[type.len - 1] == ']');
}

static enum jp_status read_encoded(struct rpc_value_reader *reader, const struct json_members *members,
                                   const struct op_type *type, struct op_value *value)
{
  struct json_value encoding = members->value[ARGUMENT_ENCODING];
  if (encoding.kind != JSON_KIND_STRING)
    return fail(reader, "'encoding' must be a string");
  if (!json_key_is(text_slice(encoding.span, 1, encoding.span.len - 1), TEXT("base64")))
    return fail(reader, "'encoding' must be \"base64\"");
  if (reader->compat_pal && (type == NULL || type->base != 'B' || type->dimensions != 1))
    return fail(reader, "'encoding' is for values of type byte[] alone");
  if (type == NULL || type->base == 'L' || type->dimensions != 1)
    return fail(reader, "'encoding' is for arrays of primitives, of one dimension, alone");
  return rpc_base64_read(reader, type, members->value[ARGUMENT_VALUE], value);
}

static enum jp_status read_typed_value(struct rpc_value_reader *reader, struct json_value json,
                                       const struct json_members *members, struct op_value *value)
{
  struct op_type parsed;
  const struct op_type *array = NULL;
  if (looks_like_array(value->type)) {
    struct jp_error error;
    enum jp_status status = op_type_parse_argument(value->type, &parsed, &error);
    if (status != JP_OK) {
      outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s (%s)", error.text,
                   rpc_value_place(reader));
      return status;
    }
    array = &parsed;
  }
  if (members != NULL && members->has[ARGUMENT_ENCODING])
    return read_encoded(reader, members, array, value);
  if (array != NULL && array->base != 'L')
    return rpc_array_read(reader, array, json, value);
  return read_bare(reader, json, value);
}

/* An object of the session, or one of the client's. */
static enum jp_status read_ref(struct rpc_value_reader *reader, struct json_value argument,
                               const struct json_members *members, struct op_value *value)
{
  struct json_value ref = members->value[ARGUMENT_REF];
  if (members->has[ARGUMENT_VALUE])
    return fail(reader, "has both 'value' and 'ref'");
  struct op_shared_text *shared =
      reader->shared == NULL ? NULL : reader->shared->find(reader->shared->context, ref);
  if (shared != NULL) {
    value->kind = OP_TEXT;
    value->text = shared->text;
    value->shared = shared;
    return JP_OK;
  }
  if (!reader->compat_pal && rpc_callback_is_meant(ref))
    return rpc_callback_read(reader, argument, ref, value);
  value->kind = OP_REF;
  value->tellings = 0;
  if (!rpc_ref_read(ref, &value->ref))
    return fail(reader, "'ref' must be an integer from 1 to 2147483647");
  return JP_OK;
}

static enum jp_status read_typed(struct rpc_value_reader *reader, struct json_value json,
                                 const struct json_members *members, struct op_value *value)
{
  if (members->repeated >= 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s: '%s' is given twice",
                 rpc_value_place(reader), argument_names[members->repeated].data);
    return JP_INVALID;
  }
  if (members->has[ARGUMENT_TYPE]) {
    struct json_value type = members->value[ARGUMENT_TYPE];
    if (type.kind != JSON_KIND_STRING)
      return fail(reader, "'type' must be a string");
    value->type = json_read_string(type, reader->arena);
    if (value->type.data == NULL)
      return rpc_value_no_memory(reader);
    if (value->type.len == 0)
      return fail(reader, "'type' is empty");
  }
  if (members->has[ARGUMENT_REF])
    return read_ref(reader, json, members, value);
  if (!members->has[ARGUMENT_VALUE] && members->has[ARGUMENT_TYPE] && reader->compat_pal) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (!members->has[ARGUMENT_VALUE])
    return fail(reader, "has neither 'value' nor 'ref'");
  return read_typed_value(reader, members->value[ARGUMENT_VALUE], members, value);
}

static enum jp_status read_element(struct rpc_value_reader *reader, struct json_value json,
                                   struct op_value *value)
{
  value->suffix = 0;
  value->is_told = false;
  value->type = TEXT_ABSENT;
  value->literal = TEXT_ABSENT;
  if (json.kind != JSON_KIND_OBJECT)
    return read_bare(reader, json, value);
  struct json_members members;
  json_members_collect(json, argument_names, ARGUMENT_MEMBERS, &members);
  if (members.has[ARGUMENT_TYPE] || members.has[ARGUMENT_VALUE] || members.has[ARGUMENT_REF])
    return read_typed(reader, json, &members, value);
  return read_map(reader, json, value);
}

enum jp_status rpc_value_read(struct rpc_value_reader *reader, struct json_value json, struct op_value *value)
{
  return read_element(reader, json, value);
}

enum jp_status rpc_receiver_read(struct rpc_value_reader *reader, struct json_value json,
                                 struct op_value **value)
{
  struct op_value *receiver = arena_alloc(reader->arena, sizeof *receiver);
  *value = receiver;
  reader->is_receiver = true;
  if (receiver == NULL)
    return rpc_value_no_memory(reader);
  enum jp_status status = read_element(reader, json, receiver);
  if (status != JP_OK)
    return status;
  if (receiver->kind == OP_REF)
    return fail(reader, "a ref is a number here");
  if (receiver->kind == OP_CALLBACK)
    return fail(reader, "a callback is no object of Java's");
  return receiver->type.data == NULL ? fail(reader, "a value needs 'type' and 'value'") : JP_OK;
}

enum jp_status rpc_typed_value_read(struct rpc_value_reader *reader, struct text type, struct json_value json,
                                    struct op_value *value)
{
  *value = (struct op_value){.type = type};
  return read_typed_value(reader, json, NULL, value);
}

enum jp_status rpc_args_read(struct rpc_value_reader *reader, struct json_value args,
                             struct op_value **values, size_t *count)
{
  struct op_value *items = NULL;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(args);
  struct json_value element;
  size_t i = 0;
  for (; json_next_element(&cursor, &element); i++) {
    if (i == RPC_ARGS_MAX) {
      outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                   "'args' has more elements than the limit of %d", RPC_ARGS_MAX);
      return JP_INVALID;
    }
    items = make_room(reader->arena, items, i, &capacity, sizeof *items);
    if (items == NULL)
      return rpc_value_no_memory(reader);
    reader->argument = i;
    enum jp_status status = read_element(reader, element, &items[i]);
    if (status != JP_OK)
      return status;
  }
  *values = items;
  *count = i;
  return JP_OK;
}
