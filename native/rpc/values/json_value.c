#include "rpc/values/json_value.h"

#include "base/decimal.h"
#include "base/number.h"
#include "op/scalar.h"
#include "rpc/values/json_members.h"

#include <stdlib.h>

enum argument_member { ARGUMENT_TYPE, ARGUMENT_VALUE, ARGUMENT_REF, ARGUMENT_ENCODING, ARGUMENT_MEMBERS };

enum { FIRST_CAPACITY = 4 };

static const struct text argument_names[ARGUMENT_MEMBERS] = {
    [ARGUMENT_TYPE] = TEXT("type"),
    [ARGUMENT_VALUE] = TEXT("value"),
    [ARGUMENT_REF] = TEXT("ref"),
    [ARGUMENT_ENCODING] = TEXT("encoding"),
};

static enum jp_status decode_element(struct rpc_value_decoder *decoder, struct json_value json,
                                     struct op_value *value);

void rpc_value_decoder_init(struct rpc_value_decoder *decoder, size_t digits_max, struct arena *arena,
                            struct outcome *outcome)
{
  *decoder = (struct rpc_value_decoder){
      .arena = arena, .outcome = outcome, .values_left = RPC_VALUES_MAX, .digits_max = digits_max};
}

const char *rpc_value_place(const struct rpc_value_decoder *decoder)
{
  if (decoder->is_put)
    return "value";
  struct text place = arena_printf(decoder->arena, "argument %zu", decoder->argument);
  return place.data == NULL ? "argument" : place.data;
}

enum jp_status rpc_value_no_memory(struct rpc_value_decoder *decoder)
{
  outcome_fail(decoder->outcome, decoder->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

enum jp_status rpc_value_reserve(struct rpc_value_decoder *decoder, size_t count)
{
  if (count <= decoder->values_left) {
    decoder->values_left -= count;
    return JP_OK;
  }
  outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: more than %d values in one request", rpc_value_place(decoder), RPC_VALUES_MAX);
  return JP_INVALID;
}

static enum jp_status fail(struct rpc_value_decoder *decoder, const char *what)
{
  outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL, "%s: %s",
               rpc_value_place(decoder), what);
  return JP_INVALID;
}

bool rpc_ref_decode(struct json_value json, uint32_t *ref)
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

static enum jp_status decode_text(struct rpc_value_decoder *decoder, struct json_value json,
                                  struct op_value *value)
{
  value->kind = OP_TEXT;
  value->text = json_read_string(json, decoder->arena);
  return value->text.data == NULL ? rpc_value_no_memory(decoder) : JP_OK;
}

void rpc_number_decode(struct json_value json, struct op_value *value)
{
  struct number number;
  number_read(json.span, &number);
  op_scalar_set_number(value, &number);
}

bool rpc_literal_is_long(const struct rpc_value_decoder *decoder, struct text literal)
{
  size_t mantissa = 0;
  if (literal.len <= decoder->digits_max)
    return false;
  while (mantissa < literal.len && literal.data[mantissa] != 'e' && literal.data[mantissa] != 'E')
    mantissa++;
  return !decimal_is_within(text_slice(literal, 0, mantissa), decoder->digits_max);
}

static enum jp_status decode_number(struct rpc_value_decoder *decoder, struct json_value json,
                                    struct op_value *value)
{
  rpc_number_decode(json, value);
  if (value->kind == OP_INTEGER || !rpc_literal_is_long(decoder, value->literal))
    return JP_OK;
  outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: a number has more digits than the limit of %zu (number-digits-max)",
               rpc_value_place(decoder), decoder->digits_max);
  return JP_INVALID;
}

/* Room for one more of `count` elements. Grown rather than counted first: counting walks everything inside.
 */
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

static enum jp_status decode_list(struct rpc_value_decoder *decoder, struct json_value json,
                                  struct op_value *value)
{
  struct op_value *items = NULL;
  size_t count = 0;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (; json_next_element(&cursor, &element); count++) {
    enum jp_status status = rpc_value_reserve(decoder, 1);
    if (status != JP_OK)
      return status;
    items = make_room(decoder->arena, items, count, &capacity, sizeof *items);
    if (items == NULL)
      return rpc_value_no_memory(decoder);
    status = decode_element(decoder, element, &items[count]);
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

/* By key, and the entries of one key in the order they came. */
static int compare_entries(const void *left, const void *right)
{
  const struct op_entry *const *a = left;
  const struct op_entry *const *b = right;
  int order = compare_texts((*a)->key, (*b)->key);
  return order != 0 ? order : (*a > *b) - (*a < *b);
}

/* Sorted rather than hashed: a caller chooses the keys, and no choice makes sorting slow. */
static enum jp_status drop_repeated_keys(struct rpc_value_decoder *decoder, struct op_entry *entries,
                                         size_t *count)
{
  size_t given = *count;
  if (given < 2)
    return JP_OK;
  struct op_entry **sorted = arena_alloc(decoder->arena, given * sizeof(struct op_entry *));
  if (sorted == NULL)
    return rpc_value_no_memory(decoder);
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

static enum jp_status decode_entry(struct rpc_value_decoder *decoder, struct text key, struct json_value json,
                                   struct op_entry *entry)
{
  entry->key = json_unescape(key, decoder->arena);
  if (entry->key.data == NULL)
    return rpc_value_no_memory(decoder);
  return decode_element(decoder, json, &entry->value);
}

static enum jp_status decode_map(struct rpc_value_decoder *decoder, struct json_value json,
                                 struct op_value *value)
{
  struct op_entry *entries = NULL;
  size_t count = 0;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(json);
  struct text key;
  struct json_value element;
  for (; json_next_member(&cursor, &key, &element); count++) {
    enum jp_status status = rpc_value_reserve(decoder, 1);
    if (status != JP_OK)
      return status;
    entries = make_room(decoder->arena, entries, count, &capacity, sizeof *entries);
    if (entries == NULL)
      return rpc_value_no_memory(decoder);
    status = decode_entry(decoder, key, element, &entries[count]);
    if (status != JP_OK)
      return status;
  }
  enum jp_status status = drop_repeated_keys(decoder, entries, &count);
  value->kind = OP_MAP;
  value->map.entries = entries;
  value->map.count = count;
  return status;
}

/* A value by itself: an object is a map here, whatever its members are called. */
static enum jp_status decode_bare(struct rpc_value_decoder *decoder, struct json_value json,
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
    return decode_number(decoder, json, value);
  case JSON_KIND_STRING:
    return decode_text(decoder, json, value);
  case JSON_KIND_ARRAY:
    return decode_list(decoder, json, value);
  case JSON_KIND_OBJECT:
    return decode_map(decoder, json, value);
  }
  return fail(decoder, "is no JSON value");
}

static bool looks_like_array(struct text type)
{
  return type.len > 0 && (type.data[0] == '[' || type.data[type.len - 1] == ']');
}

static enum jp_status decode_encoded(struct rpc_value_decoder *decoder, const struct rpc_members *members,
                                     const struct op_type *type, struct op_value *value)
{
  struct json_value encoding = members->value[ARGUMENT_ENCODING];
  if (encoding.kind != JSON_KIND_STRING)
    return fail(decoder, "'encoding' must be a string");
  if (!json_key_is(text_slice(encoding.span, 1, encoding.span.len - 1), TEXT("base64")))
    return fail(decoder, "'encoding' must be \"base64\"");
  if (type == NULL || type->base != 'B' || type->dimensions != 1)
    return fail(decoder, "'encoding' is for values of type byte[] alone");
  return rpc_base64_decode(decoder, members->value[ARGUMENT_VALUE], value);
}

static enum jp_status decode_typed_value(struct rpc_value_decoder *decoder, const struct rpc_members *members,
                                         struct op_value *value)
{
  struct op_type parsed;
  const struct op_type *array = NULL;
  if (looks_like_array(value->type)) {
    struct jp_error error;
    enum jp_status status = op_type_parse_argument(value->type, &parsed, &error);
    if (status != JP_OK) {
      outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL, "%s (%s)", error.text,
                   rpc_value_place(decoder));
      return status;
    }
    array = &parsed;
  }
  if (members->has[ARGUMENT_ENCODING])
    return decode_encoded(decoder, members, array, value);
  if (array != NULL && array->base != 'L')
    return rpc_array_decode(decoder, array, members->value[ARGUMENT_VALUE], value);
  return decode_bare(decoder, members->value[ARGUMENT_VALUE], value);
}

static enum jp_status decode_typed(struct rpc_value_decoder *decoder, const struct rpc_members *members,
                                   struct op_value *value)
{
  if (members->repeated >= 0) {
    outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL, "%s: '%s' is given twice",
                 rpc_value_place(decoder), argument_names[members->repeated].data);
    return JP_INVALID;
  }
  if (members->has[ARGUMENT_TYPE]) {
    struct json_value type = members->value[ARGUMENT_TYPE];
    if (type.kind != JSON_KIND_STRING)
      return fail(decoder, "'type' must be a string");
    value->type = json_read_string(type, decoder->arena);
    if (value->type.data == NULL)
      return rpc_value_no_memory(decoder);
    if (value->type.len == 0)
      return fail(decoder, "'type' is empty");
  }
  if (members->has[ARGUMENT_REF]) {
    if (members->has[ARGUMENT_VALUE])
      return fail(decoder, "has both 'value' and 'ref'");
    value->kind = OP_REF;
    if (!rpc_ref_decode(members->value[ARGUMENT_REF], &value->ref))
      return fail(decoder, "'ref' must be an integer from 1 to 2147483647");
    return JP_OK;
  }
  if (!members->has[ARGUMENT_VALUE] && members->has[ARGUMENT_TYPE] && decoder->type_alone_is_null) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (!members->has[ARGUMENT_VALUE])
    return fail(decoder, "has neither 'value' nor 'ref'");
  return decode_typed_value(decoder, members, value);
}

static enum jp_status decode_element(struct rpc_value_decoder *decoder, struct json_value json,
                                     struct op_value *value)
{
  value->suffix = 0;
  value->is_told = false;
  value->type = TEXT_ABSENT;
  value->literal = TEXT_ABSENT;
  if (json.kind != JSON_KIND_OBJECT)
    return decode_bare(decoder, json, value);
  struct rpc_members members;
  rpc_members_collect(json, argument_names, ARGUMENT_MEMBERS, &members);
  if (members.has[ARGUMENT_TYPE] || members.has[ARGUMENT_VALUE] || members.has[ARGUMENT_REF])
    return decode_typed(decoder, &members, value);
  return decode_map(decoder, json, value);
}

enum jp_status rpc_value_decode(struct rpc_value_decoder *decoder, struct json_value json,
                                struct op_value *value)
{
  return decode_element(decoder, json, value);
}

enum jp_status rpc_args_decode(struct rpc_value_decoder *decoder, struct json_value args,
                               struct op_value **values, size_t *count)
{
  struct op_value *items = NULL;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(args);
  struct json_value element;
  size_t i = 0;
  for (; json_next_element(&cursor, &element); i++) {
    if (i == RPC_ARGS_MAX) {
      outcome_fail(decoder->outcome, decoder->arena, FAILURE_INVALID_PARAMS, NULL,
                   "'args' has more elements than the limit of %d", RPC_ARGS_MAX);
      return JP_INVALID;
    }
    items = make_room(decoder->arena, items, i, &capacity, sizeof *items);
    if (items == NULL)
      return rpc_value_no_memory(decoder);
    decoder->argument = i;
    enum jp_status status = decode_element(decoder, element, &items[i]);
    if (status != JP_OK)
      return status;
  }
  *values = items;
  *count = i;
  return JP_OK;
}
