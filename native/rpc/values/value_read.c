#include "rpc/values/value_read.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/number.h"
#include "base/primitives.h"
#include "op/scalar.h"
#include "rpc/values/callback_read.h"
#include "json/integers.h"
#include "json/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum argument_member {
  ARGUMENT_TYPE,
  ARGUMENT_VALUE,
  ARGUMENT_REF,
  ARGUMENT_ENCODING,
  ARGUMENT_MEMBERS_OF_PAL,
  ARGUMENT_ELEMENTS = ARGUMENT_MEMBERS_OF_PAL,
  ARGUMENT_OUT,
  ARGUMENT_KEYS,
  ARGUMENT_MEMBERS
};

static const struct text argument_names[ARGUMENT_MEMBERS] = {
    [ARGUMENT_TYPE] = TEXT("type"),         [ARGUMENT_VALUE] = TEXT("value"),
    [ARGUMENT_REF] = TEXT("ref"),           [ARGUMENT_ENCODING] = TEXT("encoding"),
    [ARGUMENT_ELEMENTS] = TEXT("elements"), [ARGUMENT_OUT] = TEXT("out"),
    [ARGUMENT_KEYS] = TEXT("keys"),
};

static enum jp_status read_element(struct rpc_value_reader *reader, struct json_value json,
                                   struct op_value *value);

static size_t most_values(const struct rpc_value_rules *rules)
{
  return rules->values_max == 0 ? RPC_VALUES_MAX : rules->values_max;
}

void rpc_value_reader_init(struct rpc_value_reader *reader, const struct rpc_value_rules *rules,
                           struct arena *arena, struct outcome *outcome)
{
  *reader = (struct rpc_value_reader){
      .rules = rules, .arena = arena, .outcome = outcome, .values_left = most_values(rules)};
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

/* Subtracts count from values_left, or fails and names the limit. */
static enum jp_status reserve_values(struct rpc_value_reader *reader, size_t count)
{
  if (count <= reader->values_left) {
    reader->values_left -= count;
    return JP_OK;
  }
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: more than %zu values in one request (values-max)", rpc_value_place(reader),
               most_values(reader->rules));
  return JP_INVALID;
}

static enum jp_status fail_value(struct rpc_value_reader *reader, const char *what)
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
  return value->text.data == NULL ? outcome_fail_memory(reader->outcome) : JP_OK;
}

void rpc_number_read(struct json_value json, struct op_value *value)
{
  struct number number;
  number_read(json.span, &number);
  op_scalar_set_number(value, &number);
}

/* Whether a number has more digits than the limit. An exponent does not count: whether it is too large
 * depends on the type that the number gets. */
static bool is_long_literal(const struct rpc_value_reader *reader, struct text literal)
{
  size_t mantissa = 0;
  if (literal.len <= reader->rules->digits_max)
    return false;
  while (mantissa < literal.len && literal.data[mantissa] != 'e' && literal.data[mantissa] != 'E')
    mantissa++;
  return !decimal_is_within(text_slice(literal, 0, mantissa), reader->rules->digits_max);
}

static enum jp_status check_literal(struct rpc_value_reader *reader, const struct op_value *value)
{
  if (value->kind == OP_INTEGER || !is_long_literal(reader, value->literal))
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: a number has more digits than the limit of %zu (number-digits-max)",
               rpc_value_place(reader), reader->rules->digits_max);
  return JP_INVALID;
}

static enum jp_status read_number(struct rpc_value_reader *reader, struct json_value json,
                                  struct op_value *value)
{
  rpc_number_read(json, value);
  return check_literal(reader, value);
}

/* ---- arrays of primitives: straight to packed memory ---- */

/* An error shows only the outermost indexes of a place in a nested array. */
enum { PATH_MAX_SHOWN = 8, LITERAL_SHOWN = 64 };

struct array_reader {
  struct rpc_value_reader *values;
  const struct op_type *type;
  size_t path[PATH_MAX_SHOWN];
  unsigned level; /* of the array being read: 0 is the outermost */
};

/* "argument 1[2][0]: 300: why", in jni's words for scalars. */
static enum jp_status fail_at_path(struct array_reader *reader, struct json_value json, const char *why)
{
  char place[PATH_MAX_SHOWN * 24];
  size_t n = 0;
  place[0] = '\0';
  for (unsigned i = 0; i <= reader->level && i < PATH_MAX_SHOWN; i++)
    n += (size_t)snprintf(place + n, sizeof place - n, "[%zu]", reader->path[i]);
  struct text shown = arena_shorten(reader->values->arena, json.span, LITERAL_SHOWN);
  outcome_fail(reader->values->outcome, reader->values->arena, FAILURE_INVALID_PARAMS, NULL, "%s%s: %.*s: %s",
               rpc_value_place(reader->values), place, TEXT_ARGS(shown), why);
  reader->values->outcome->is_misfit = reader->values->is_put;
  return JP_INVALID;
}

static enum jp_status fail_element(struct array_reader *reader, struct json_value json, char letter,
                                   enum op_scalar_fit fit)
{
  const struct primitive *wanted = primitive_find_letter(letter);
  char why[128];
  snprintf(why, sizeof why, "%s for %s (%s)", op_scalar_reason(fit), wanted->keyword.data, wanted->range);
  return fail_at_path(reader, json, why);
}

static void set_path(struct array_reader *reader, size_t index)
{
  if (reader->level < PATH_MAX_SHOWN)
    reader->path[reader->level] = index;
}

static void fill_packed(struct op_value *value, char element, const void *data, size_t count)
{
  value->kind = OP_PACKED;
  value->packed.data = data;
  value->packed.count = count;
  value->packed.element = element;
}

/* Reads an array of whole numbers at once, because nearly all long arrays have this form. False: the elements
 * must be read one by one, for example because an element is invalid. */
static bool read_integers(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  const size_t size = primitive_size(reader->type->base);
  struct json_integers_form form = {.size = size};
  if (!primitive_integer_range(reader->type->base, &form.min, &form.max) || json.span.data[1] == ']')
    return false;
  size_t most = json_integers_most(json.span);
  /* A number and the comma or bracket after it have at least two bytes. If there are more commas than numbers
   * fit, some commas are inside texts, so the array does not have this form. */
  if (most > json.span.len / 2)
    return false;
  void *data = arena_alloc(reader->values->arena, most * size);
  if (data == NULL || !json_integers_read(json.span, &form, data))
    return false;
  fill_packed(value, reader->type->base, data, most);
  return true;
}

/* ---- one element ---- */

static enum jp_status store_number(struct array_reader *reader, struct json_value json,
                                   const struct number *number, struct op_value *value)
{
  if (is_long_literal(reader->values, number->literal)) {
    char why[128];
    snprintf(why, sizeof why, "more digits than the limit of %zu (number-digits-max)",
             reader->values->rules->digits_max);
    return fail_at_path(reader, json, why);
  }
  op_scalar_set_number(value, number);
  return JP_OK;
}

/* A number may be written as a text, too: "5" is an int. */
static enum jp_status read_scalar_text(struct array_reader *reader, struct json_value json, char letter,
                                       struct op_value *value)
{
  struct number number;
  value->kind = OP_TEXT;
  value->shared = NULL;
  value->text = json_read_string(json, reader->values->arena);
  if (value->text.data == NULL)
    return outcome_fail_memory(reader->values->outcome);
  if (letter == 'C' || letter == 'Z' || !number_parse(value->text, &number))
    return JP_OK;
  return store_number(reader, json, &number, value);
}

/* Sets only the fields that op_scalar_read uses: there may be many elements. */
static enum jp_status read_scalar(struct array_reader *reader, struct json_value json, char letter,
                                  struct op_value *value)
{
  struct number number;
  switch (json.kind) {
  case JSON_KIND_NUMBER:
    value->kind = OP_INTEGER;
    if (letter == 'C' || letter == 'Z')
      return JP_OK;
    number_read(json.span, &number);
    return store_number(reader, json, &number, value);
  case JSON_KIND_STRING:
    return read_scalar_text(reader, json, letter, value);
  case JSON_KIND_TRUE:
  case JSON_KIND_FALSE:
    value->kind = OP_BOOLEAN;
    value->boolean = json.kind == JSON_KIND_TRUE;
    return JP_OK;
  case JSON_KIND_NULL:
    value->kind = OP_NULL;
    return JP_OK;
  default:
    value->kind = OP_LIST;
    return JP_OK;
  }
}

/* Two rules differ from the rules of op_scalar_read: a boolean's text may have capitals here, and a number
 * with the suffix l must be whole even for a float or a double. */
static enum op_scalar_fit store_scalar(const struct op_value *value, char letter, void *slot)
{
  bool is_fraction = value->kind == OP_DOUBLE || value->kind == OP_FLOAT;
  if (letter == 'Z' && value->kind == OP_TEXT) {
    *(uint8_t *)slot = text_equal_ignore_case(value->text, TEXT("true"));
    return *(uint8_t *)slot || text_equal_ignore_case(value->text, TEXT("false")) ? OP_SCALAR_FITS
                                                                                  : OP_SCALAR_KIND;
  }
  if (is_fraction && value->suffix == 'l' && (letter == 'F' || letter == 'D'))
    return OP_SCALAR_FRACTION;
  return op_scalar_read(value, letter, slot);
}

static enum jp_status read_untyped_element(struct array_reader *reader, struct json_value json, char letter,
                                           void *slot)
{
  struct op_value value;
  enum jp_status status = read_scalar(reader, json, letter, &value);
  if (status != JP_OK)
    return status;
  enum op_scalar_fit fit = store_scalar(&value, letter, slot);
  return fit == OP_SCALAR_FITS ? JP_OK : fail_element(reader, json, letter, fit);
}

/* ---- an element in an argument's form: {"type", "value"} ---- */

enum element_member { ELEMENT_TYPE, ELEMENT_VALUE, ELEMENT_REF, ELEMENT_MEMBERS };

static const struct text element_names[ELEMENT_MEMBERS] = {TEXT("type"), TEXT("value"), TEXT("ref")};

/* The letter of a primitive or of its wrapper; 0 for any other type. */
static char find_primitive(const struct op_type *type)
{
  if (type->dimensions > 0)
    return 0;
  return type->base == 'L' ? primitive_unboxed(type->name) : type->base;
}

static enum jp_status fail_element_type(struct array_reader *reader, struct json_value json)
{
  struct text why = arena_printf(reader->values->arena, "its type does not become %s",
                                 primitive_keyword(reader->type->base).data);
  return why.data == NULL ? outcome_fail_memory(reader->values->outcome)
                          : fail_at_path(reader, json, why.data);
}

/* The type that the element declares, or the element type of the array. */
static enum jp_status read_element_type(struct array_reader *reader, struct json_value json,
                                        const struct json_members *members, char *letter)
{
  struct op_type type;
  struct jp_error error;
  *letter = reader->type->base;
  if (!members->has[ELEMENT_TYPE])
    return JP_OK;
  if (members->value[ELEMENT_TYPE].kind != JSON_KIND_STRING)
    return fail_at_path(reader, json, "'type' must be a string");
  struct text written = json_read_string(members->value[ELEMENT_TYPE], reader->values->arena);
  if (written.data == NULL)
    return outcome_fail_memory(reader->values->outcome);
  if (op_type_parse_argument(written, &type, &error) != JP_OK)
    return fail_at_path(reader, json, error.text);
  *letter = find_primitive(&type);
  return primitive_widens(*letter, reader->type->base) ? JP_OK : fail_element_type(reader, json);
}

/* True if the ref names a long text (struct rpc_shared_texts), and no object. */
static bool is_shared_text(const struct array_reader *reader, struct json_value ref)
{
  const struct rpc_shared_texts *shared = reader->values->rules->shared;
  return shared != NULL && shared->find(shared->context, ref) != NULL;
}

static enum jp_status check_element(struct array_reader *reader, struct json_value json,
                                    const struct json_members *members)
{
  if (members->repeated >= 0)
    return fail_at_path(reader, json, "a member is given twice");
  if (members->has[ELEMENT_REF])
    return is_shared_text(reader, members->value[ELEMENT_REF])
               ? fail_element_type(reader, json)
               : fail_at_path(reader, json, "an object is no primitive");
  bool is_null = members->has[ELEMENT_TYPE] && reader->values->rules->compat_pal;
  if (members->has[ELEMENT_VALUE] ? members->value[ELEMENT_VALUE].kind == JSON_KIND_NULL : is_null)
    return fail_element(reader, json, reader->type->base, OP_SCALAR_NULL);
  if (members->has[ELEMENT_TYPE] && !members->has[ELEMENT_VALUE])
    return fail_at_path(reader, json, "has neither 'value' nor 'ref'");
  return members->has[ELEMENT_VALUE] ? JP_OK : fail_element(reader, json, reader->type->base, OP_SCALAR_KIND);
}

static enum jp_status read_typed_element(struct array_reader *reader, struct json_value json, void *slot)
{
  const char wanted = reader->type->base;
  struct json_members members;
  union primitive_value value;
  char letter;
  json_members_collect(json, element_names, ELEMENT_MEMBERS, &members);
  enum jp_status status = check_element(reader, json, &members);
  if (status == JP_OK)
    status = read_element_type(reader, json, &members, &letter);
  if (status == JP_OK)
    status = read_untyped_element(reader, members.value[ELEMENT_VALUE], letter, &value);
  if (status != JP_OK)
    return status;
  primitive_widen(letter, wanted, &value);
  memcpy(slot, &value, primitive_size(wanted));
  return JP_OK;
}

static enum jp_status read_packed(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  if (read_integers(reader, json, value))
    return JP_OK;
  size_t count = json_count(json);
  size_t size = primitive_size(reader->type->base);
  char *data = arena_alloc(reader->values->arena, count * size);
  if (data == NULL)
    return outcome_fail_memory(reader->values->outcome);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
    set_path(reader, i);
    enum jp_status status = element.kind == JSON_KIND_OBJECT
                                ? read_typed_element(reader, element, data + i * size)
                                : read_untyped_element(reader, element, reader->type->base, data + i * size);
    if (status != JP_OK)
      return status;
  }
  fill_packed(value, reader->type->base, data, count);
  return JP_OK;
}

static enum jp_status read_array_level(struct array_reader *reader, struct json_value json,
                                       struct op_value *value);

static enum jp_status read_row(struct array_reader *reader, struct json_value json, struct op_value *row)
{
  row->suffix = 0;
  row->widened = 0;
  row->is_members_type = false;
  row->out = OP_OUT_NONE;
  row->type = TEXT_ABSENT;
  row->literal = TEXT_ABSENT;
  if (json.kind == JSON_KIND_NULL) {
    row->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind == JSON_KIND_OBJECT) /* {"ref"}: an array that the session holds */
    return rpc_value_read(reader->values, json, row);
  if (json.kind != JSON_KIND_ARRAY)
    return fail_at_path(reader, json, "not an array");
  reader->level++;
  enum jp_status status = read_array_level(reader, json, row);
  reader->level--;
  return status;
}

static enum jp_status read_rows(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  size_t count = json_count(json);
  enum jp_status status = reserve_values(reader->values, count);
  if (status != JP_OK)
    return status;
  struct op_value *rows = arena_alloc(reader->values->arena, count * sizeof *rows);
  if (rows == NULL)
    return outcome_fail_memory(reader->values->outcome);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
    set_path(reader, i);
    status = read_row(reader, element, &rows[i]);
    if (status != JP_OK)
      return status;
  }
  value->kind = OP_LIST;
  value->list.items = rows;
  value->list.count = count;
  return JP_OK;
}

static enum jp_status read_array_level(struct array_reader *reader, struct json_value json,
                                       struct op_value *value)
{
  bool innermost = reader->level + 1 == reader->type->dimensions;
  return innermost ? read_packed(reader, json, value) : read_rows(reader, json, value);
}

static enum jp_status fail_whole(struct rpc_value_reader *values, const struct op_type *type,
                                 const char *wanted)
{
  struct text name = op_type_source_name(type, values->arena);
  outcome_fail(values->outcome, values->arena, FAILURE_INVALID_PARAMS, NULL, "%s (%.*s): 'value' must be %s",
               rpc_value_place(values), TEXT_ARGS(name), wanted);
  values->outcome->is_misfit = values->is_put;
  return JP_INVALID;
}

/* Reads an array of primitives with type->dimensions dimensions, or null. */
static enum jp_status read_array(struct rpc_value_reader *values, const struct op_type *type,
                                 struct json_value json, struct op_value *value)
{
  struct array_reader reader = {.values = values, .type = type};
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_ARRAY)
    return fail_whole(values, type, "an array or null");
  return read_array_level(&reader, json, value);
}

/* The bytes of a text are copied to packed memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements would have to be turned around");

/* True if all bytes are 0 or 1. Written to be fast for long arrays. */
static bool are_booleans(const uint8_t *bytes, size_t count)
{
  unsigned all = 0;
  for (size_t i = 0; i < count; i++)
    all |= bytes[i];
  return all <= 1;
}

static enum jp_status decode_elements(struct rpc_value_reader *values, const struct op_type *type,
                                      struct text t, struct op_value *value)
{
  size_t size = primitive_size(type->base);
  size_t length;
  uint8_t *data = arena_alloc(values->arena, base64_decoded_max(t) + 1);
  if (data == NULL)
    return outcome_fail_memory(values->outcome);
  if (base64_decode(t, data, &length) != JP_OK)
    return fail_whole(values, type, "base64 (RFC 4648, with padding)");
  if (length % size != 0) {
    struct text wanted =
        arena_printf(values->arena, "whole elements of %zu bytes, not %zu bytes", size, length);
    return wanted.data == NULL ? outcome_fail_memory(values->outcome) : fail_whole(values, type, wanted.data);
  }
  if (type->base == 'Z' && !are_booleans(data, length))
    return fail_whole(values, type, "bytes of 0 and 1 alone");
  fill_packed(value, type->base, data, length / size);
  return JP_OK;
}

/* Reads an array of primitives of one dimension from the base64 text of its elements, the least
 * significant byte of each first; or null. */
static enum jp_status read_base64(struct rpc_value_reader *values, const struct op_type *type,
                                  struct json_value json, struct op_value *value)
{
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_STRING)
    return fail_whole(values, type, "a string of base64 or null");
  struct text t = json_read_string(json, values->arena);
  return t.data == NULL ? outcome_fail_memory(values->outcome) : decode_elements(values, type, t, value);
}

/* ---- values ---- */

/* The list grows, because counting its elements first would read everything inside them. */
static enum jp_status read_list(struct rpc_value_reader *reader, struct json_value json,
                                struct op_value *value)
{
  struct op_value *items = NULL;
  size_t count = 0;
  size_t capacity = 0;
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (; json_next_element(&cursor, &element); count++) {
    enum jp_status status = reserve_values(reader, 1);
    if (status != JP_OK)
      return status;
    items = arena_grow(reader->arena, items, count, &capacity, sizeof *items);
    if (items == NULL)
      return outcome_fail_memory(reader->outcome);
    status = read_element(reader, element, &items[count]);
    if (status != JP_OK)
      return status;
  }
  value->kind = OP_LIST;
  value->list.items = items;
  value->list.count = count;
  return JP_OK;
}

/* Orders entries by key, and equal keys by their order in the text. */
static int compare_entries(const void *left, const void *right)
{
  const struct op_entry *const *a = left;
  const struct op_entry *const *b = right;
  int order = text_order((*a)->key, (*b)->key);
  return order != 0 ? order : (*a > *b) - (*a < *b);
}

/* Removes repeated keys by sorting the entries. A hash table is not used, because a caller who chooses the
 * keys could make it slow. */
static enum jp_status drop_repeated_keys(struct rpc_value_reader *reader, struct op_entry *entries,
                                         size_t *count)
{
  size_t given = *count;
  if (given < 2)
    return JP_OK;
  struct op_entry **sorted = arena_alloc(reader->arena, given * sizeof(struct op_entry *));
  if (sorted == NULL)
    return outcome_fail_memory(reader->outcome);
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
    return outcome_fail_memory(reader->outcome);
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
    enum jp_status status = reserve_values(reader, 1);
    if (status != JP_OK)
      return status;
    entries = arena_grow(reader->arena, entries, count, &capacity, sizeof *entries);
    if (entries == NULL)
      return outcome_fail_memory(reader->outcome);
    status = read_entry(reader, key, element, &entries[count]);
    if (status != JP_OK)
      return status;
  }
  enum jp_status status = drop_repeated_keys(reader, entries, &count);
  value->kind = OP_MAP;
  value->map.entries = entries;
  value->map.count = count;
  value->map.keys = 0;
  return status;
}

/* Reads a bare value. Here an object is always a map, even if its members are named like the members of an
 * argument. */
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
  return fail_value(reader, "is no JSON value");
}

/* Reads a number that is written as a text, because JSON has no number for it. Unlike {"type":"double"}, this
 * form declares no type. */
static enum jp_status read_number_text(struct rpc_value_reader *reader, struct json_value json,
                                       struct op_value *value)
{
  if (json.kind != JSON_KIND_STRING)
    return fail_value(reader, "'value' must be a string, with the encoding \"number\"");
  struct text text = json_read_string(json, reader->arena);
  if (text.data == NULL)
    return outcome_fail_memory(reader->outcome);
  if (op_scalar_set_special(value, text))
    return JP_OK;
  struct number number;
  if (!number_parse(text, &number))
    return fail_value(reader,
                      "'value' must be a number, NaN, Infinity or -Infinity, with the encoding \"number\"");
  op_scalar_set_number(value, &number);
  return check_literal(reader, value);
}

/* The type of the elements in a base64 text. It may differ from the element type of the array that is
 * made. */
static enum jp_status read_packed_type(struct rpc_value_reader *reader, struct json_value elements,
                                       struct op_type *type)
{
  const struct primitive *primitive = NULL;
  if (elements.kind == JSON_KIND_STRING)
    primitive = primitive_find_keyword(text_slice(elements.span, 1, elements.span.len - 1));
  if (primitive == NULL)
    return fail_value(reader,
                      "'elements' must be the name of a primitive type, with the encoding \"base64\"");
  *type = (struct op_type){.base = primitive->letter, .dimensions = 1, .name = primitive->keyword};
  return JP_OK;
}

/* type: the declared array type; NULL: none. */
static enum jp_status read_encoded(struct rpc_value_reader *reader, const struct json_members *members,
                                   const struct op_type *type, struct op_value *value)
{
  struct json_value encoding = members->value[ARGUMENT_ENCODING];
  struct op_type packed;
  bool has_elements = members->has[ARGUMENT_ELEMENTS];
  if (encoding.kind != JSON_KIND_STRING)
    return fail_value(reader, "'encoding' must be a string");
  struct text name = text_slice(encoding.span, 1, encoding.span.len - 1);
  if (!reader->rules->compat_pal && json_key_is(name, TEXT("number")))
    return read_number_text(reader, members->value[ARGUMENT_VALUE], value);
  if (!json_key_is(name, TEXT("base64")))
    return fail_value(reader, reader->rules->compat_pal ? "'encoding' must be \"base64\""
                                                        : "'encoding' must be \"base64\" or \"number\"");
  if (reader->rules->compat_pal && (type == NULL || type->base != 'B' || type->dimensions != 1))
    return fail_value(reader, "'encoding' is for values of type byte[] alone");
  bool is_array = type != NULL && type->base != 'L' && type->dimensions == 1;
  if (!is_array && (!has_elements || value->type.data != NULL))
    return fail_value(reader, "'encoding' is for arrays of primitives, of one dimension, alone");
  if (has_elements) {
    enum jp_status status = read_packed_type(reader, members->value[ARGUMENT_ELEMENTS], &packed);
    if (status != JP_OK)
      return status;
    type = &packed;
  }
  return read_base64(reader, type, members->value[ARGUMENT_VALUE], value);
}

/* Sets the class of the numbers in a list, or of a map's values that are numbers, from the member `elements` of
 * the argument. A number with a type of its own keeps that type. */
static enum jp_status widen_integers(struct rpc_value_reader *reader, struct json_value elements,
                                     struct op_value *value)
{
  static const struct {
    struct text name;
    char widened;
  } types[] = {{TEXT("long"), 'J'}, {TEXT("java.lang.Long"), 'J'}, {TEXT("java.math.BigInteger"), 'L'}};
  char widened = 0;
  for (size_t i = 0; elements.kind == JSON_KIND_STRING && i < sizeof types / sizeof *types; i++) {
    if (json_key_is(text_slice(elements.span, 1, elements.span.len - 1), types[i].name))
      widened = types[i].widened;
  }
  if (widened == 0)
    return fail_value(reader, "'elements' of a list or map must be \"long\" or \"java.math.BigInteger\"");
  size_t count = value->kind == OP_LIST ? value->list.count : value->kind == OP_MAP ? value->map.count : 0;
  for (size_t i = 0; i < count; i++) {
    struct op_value *each = value->kind == OP_LIST ? &value->list.items[i] : &value->map.entries[i].value;
    if (op_value_is_number(each) &&
        each->type.data == NULL) /* even small ones: other requests of the shape may have larger ones */
      each->widened = widened;
  }
  return JP_OK;
}

/* Finds the type of a map's keys if no type is declared. */
static enum jp_status read_key_type(struct rpc_value_reader *reader, struct json_value keys,
                                    struct op_value *value)
{
  if (value->kind != OP_MAP)
    return fail_value(reader, "'keys' is for a map");
  struct text name =
      keys.kind == JSON_KIND_STRING ? text_slice(keys.span, 1, keys.span.len - 1) : TEXT_ABSENT;
  const struct primitive *primitive = primitive_find_keyword(name);
  if (primitive == NULL && !json_key_is(name, TEXT("java.math.BigInteger")))
    return fail_value(reader, "'keys' must be a primitive type or \"java.math.BigInteger\"");
  value->map.keys = primitive == NULL ? 'L' : primitive->letter;
  return JP_OK;
}

static enum jp_status mark_out(struct rpc_value_reader *reader, struct json_value out, bool is_encoded,
                               struct op_value *value)
{
  if (out.kind != JSON_KIND_TRUE && out.kind != JSON_KIND_FALSE)
    return fail_value(reader, "'out' must be true or false");
  if (out.kind == JSON_KIND_TRUE)
    value->out = is_encoded ? OP_OUT_BASE64 : OP_OUT_LIST;
  return JP_OK;
}

/* members: the members of the argument; NULL: there is only a value. */
static enum jp_status read_typed_value(struct rpc_value_reader *reader, struct json_value json,
                                       const struct json_members *members, struct op_value *value)
{
  struct op_type parsed;
  const struct op_type *array = NULL;
  if (value->type.len > 0 && (value->type.data[0] == '[' || value->type.data[value->type.len - 1] == ']')) {
    struct jp_error error;
    enum jp_status status = op_type_parse_argument(value->type, &parsed, &error);
    if (status != JP_OK) {
      outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s (%s)", error.text,
                   rpc_value_place(reader));
      return status;
    }
    array = &parsed;
  }
  bool is_encoded = members != NULL && members->has[ARGUMENT_ENCODING];
  bool is_primitive = array != NULL && array->base != 'L';
  enum jp_status status;
  if (is_encoded)
    status = read_encoded(reader, members, array, value);
  else
    status = is_primitive ? read_array(reader, array, json, value) : read_bare(reader, json, value);
  if (status != JP_OK || members == NULL)
    return status;
  bool is_content = value->kind == OP_LIST || value->kind == OP_MAP || value->kind == OP_PACKED;
  if (is_content && !is_encoded && members->has[ARGUMENT_ELEMENTS])
    status = widen_integers(reader, members->value[ARGUMENT_ELEMENTS], value);
  if (status == JP_OK && members->has[ARGUMENT_KEYS])
    status = read_key_type(reader, members->value[ARGUMENT_KEYS], value);
  if (status == JP_OK && is_content && members->has[ARGUMENT_OUT])
    status = mark_out(reader, members->value[ARGUMENT_OUT], is_encoded, value);
  return status;
}

/* Reads a `ref`, which names a long text (struct rpc_shared_texts), an object of the client (a callback) or an
 * object of the session. */
static enum jp_status read_ref(struct rpc_value_reader *reader, struct json_value argument,
                               const struct json_members *members, struct op_value *value)
{
  struct json_value ref = members->value[ARGUMENT_REF];
  if (members->has[ARGUMENT_VALUE])
    return fail_value(reader, "has both 'value' and 'ref'");
  struct op_shared_text *shared =
      reader->rules->shared == NULL ? NULL : reader->rules->shared->find(reader->rules->shared->context, ref);
  if (shared != NULL) {
    value->kind = OP_TEXT;
    value->text = shared->text;
    value->shared = shared;
    return JP_OK;
  }
  if (!reader->rules->compat_pal && rpc_callback_is_meant(ref))
    return rpc_callback_read(reader, argument, ref, value);
  value->kind = OP_REF;
  value->release_count = 0;
  if (!rpc_ref_read(ref, &value->ref))
    return fail_value(reader, "'ref' must be an integer from 1 to 2147483647");
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
      return fail_value(reader, "'type' must be a string");
    value->type = json_read_string(type, reader->arena);
    if (value->type.data == NULL)
      return outcome_fail_memory(reader->outcome);
    if (value->type.len == 0)
      return fail_value(reader, "'type' is empty");
  }
  if (members->has[ARGUMENT_REF])
    return read_ref(reader, json, members, value);
  if (!members->has[ARGUMENT_VALUE] && members->has[ARGUMENT_TYPE] && reader->rules->compat_pal) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (!members->has[ARGUMENT_VALUE])
    return fail_value(reader, "has neither 'value' nor 'ref'");
  return read_typed_value(reader, members->value[ARGUMENT_VALUE], members, value);
}

static enum jp_status read_element(struct rpc_value_reader *reader, struct json_value json,
                                   struct op_value *value)
{
  value->suffix = 0;
  value->widened = 0;
  value->is_members_type = false;
  value->out = OP_OUT_NONE;
  value->type = TEXT_ABSENT;
  value->literal = TEXT_ABSENT;
  if (json.kind != JSON_KIND_OBJECT)
    return read_bare(reader, json, value);
  struct json_members members;
  members.has[ARGUMENT_ELEMENTS] = members.has[ARGUMENT_OUT] = members.has[ARGUMENT_KEYS] = false;
  json_members_collect(json, argument_names,
                       reader->rules->compat_pal ? ARGUMENT_MEMBERS_OF_PAL : ARGUMENT_MEMBERS, &members);
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
    return outcome_fail_memory(reader->outcome);
  enum jp_status status = read_element(reader, json, receiver);
  if (status != JP_OK)
    return status;
  if (receiver->kind == OP_REF)
    return fail_value(reader, "a ref is a number here");
  if (receiver->kind == OP_CALLBACK)
    return fail_value(reader, "a callback is no object of Java's");
  return receiver->type.data == NULL ? fail_value(reader, "a value needs 'type' and 'value'") : JP_OK;
}

enum jp_status rpc_typed_value_read(struct rpc_value_reader *reader, struct text type, struct json_value json,
                                    struct op_value *value)
{
  *value = (struct op_value){.type = type};
  return read_typed_value(reader, json, NULL, value);
}

enum jp_status rpc_piece_value_read(struct rpc_value_reader *reader, struct text type, bool is_base64,
                                    struct json_value json, struct op_value **value)
{
  struct op_value *piece = arena_alloc(reader->arena, sizeof *piece);
  *value = piece;
  reader->is_put = true;
  if (piece == NULL)
    return outcome_fail_memory(reader->outcome);
  *piece = (struct op_value){.type = type};
  struct json_members members = {.has[ARGUMENT_VALUE] = true, .value[ARGUMENT_VALUE] = json};
  members.has[ARGUMENT_ENCODING] = is_base64;
  members.value[ARGUMENT_ENCODING] =
      (struct json_value){.kind = JSON_KIND_STRING, .span = TEXT("\"base64\"")};
  enum jp_status status = read_typed_value(reader, json, &members, piece);
  if (status == JP_OK && (piece->kind == OP_REF || piece->kind == OP_CALLBACK))
    return fail_value(reader, "a piece is a value");
  return status;
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
    items = arena_grow(reader->arena, items, i, &capacity, sizeof *items);
    if (items == NULL)
      return outcome_fail_memory(reader->outcome);
    reader->argument = i;
    enum jp_status status = read_element(reader, element, &items[i]);
    if (status != JP_OK)
      return status;
  }
  *values = items;
  *count = i;
  return JP_OK;
}

/* ---- pieces of arrays ---- */

enum jp_status rpc_piece_read(struct operation *operation, struct arena *arena, struct outcome *outcome)
{
  bool is_access = operation->kind == OP_GET || operation->kind == OP_PUT;
  if (!is_access || !op_piece_is_meant(operation->member))
    return JP_OK;
  struct op_piece *piece = arena_alloc(arena, sizeof *piece);
  if (piece == NULL) {
    return outcome_fail_memory(outcome);
  }
  if (!op_piece_parse(operation->member, piece)) {
    outcome_fail(outcome, arena, FAILURE_INVALID_PARAMS, NULL,
                 "'field' %.*s is not an element or a range, as [3] and [10:20] are",
                 TEXT_ARGS(arena_shorten(arena, operation->member, OUTCOME_NAME_SHOWN)));
    return JP_INVALID;
  }
  operation->piece = piece;
  operation->member = OP_PIECE_NAME;
  return JP_OK;
}
