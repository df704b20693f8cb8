#include "rpc/values/array_read.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/primitives.h"
#include "op/scalar.h"
#include "json/integers.h"
#include "json/object_members.h"

#include <stdio.h>

/* A message shows the place in a nested array by its outermost indexes alone. */
enum { PATH_MAX_SHOWN = 8, LITERAL_SHOWN = 64 };

struct array_reader {
  struct rpc_value_reader *values;
  const struct op_type *type;
  size_t path[PATH_MAX_SHOWN];
  unsigned level; /* of the array that is read: 0 is the outermost */
};

/* "argument 1[2][0]: 300: why", in jni's words for scalars. */
static enum jp_status fail_at_path(struct array_reader *reader, struct json_value json, const char *why)
{
  char place[PATH_MAX_SHOWN * 24];
  size_t n = 0;
  place[0] = '\0';
  for (unsigned i = 0; i <= reader->level && i < PATH_MAX_SHOWN; i++)
    n += (size_t)snprintf(place + n, sizeof place - n, "[%zu]", reader->path[i]);
  bool cut = json.span.len > LITERAL_SHOWN;
  struct text shown =
      cut ? text_slice(json.span, 0, text_valid_utf8(text_slice(json.span, 0, LITERAL_SHOWN))) : json.span;
  outcome_fail(reader->values->outcome, reader->values->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s%s: %.*s%s: %s", rpc_value_place(reader->values), place, TEXT_ARGS(shown), cut ? "..." : "",
               why);
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

static enum jp_status fail_digits(struct array_reader *reader, struct json_value json)
{
  char why[128];
  snprintf(why, sizeof why, "more digits than the limit of %zu (number-digits-max)",
           reader->values->digits_max);
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

/* Reads an array of whole numbers at once, as nearly all long arrays are. False: the elements have to be read
 * one by one, as where one of them is wrong. */
static bool read_integers(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  const size_t size = primitive_size(reader->type->base);
  struct json_integers_form form = {.size = size};
  if (!primitive_integer_range(reader->type->base, &form.min, &form.max) || json.span.data[1] == ']')
    return false;
  size_t most = json_integers_most(json.span);
  if (most > json.span.len / 2) /* a number and its comma take two bytes: these are commas of a text */
    return false;
  void *data = arena_alloc(reader->values->arena, most * size);
  if (data == NULL || !json_integers_read(json.span, &form, data))
    return false;
  fill_packed(value, reader->type->base, data, most);
  return true;
}

/* ---- one element ---- */

static enum jp_status take_number(struct array_reader *reader, struct json_value json,
                                  const struct number *number, struct op_value *value)
{
  if (rpc_literal_is_long(reader->values, number->literal))
    return fail_digits(reader, json);
  op_scalar_set_number(value, number);
  return JP_OK;
}

/* A number may be written as a text, too: "5" is an int. */
static enum jp_status read_text(struct array_reader *reader, struct json_value json, char letter,
                                struct op_value *value)
{
  struct number number;
  value->kind = OP_TEXT;
  value->shared = NULL;
  value->text = json_read_string(json, reader->values->arena);
  if (value->text.data == NULL)
    return rpc_value_no_memory(reader->values);
  if (letter == 'C' || letter == 'Z' || !number_parse(value->text, &number))
    return JP_OK;
  return take_number(reader, json, &number, value);
}

/* Fills in what op_scalar_read looks at, and no more: there may be many elements. */
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
    return take_number(reader, json, &number, value);
  case JSON_KIND_STRING:
    return read_text(reader, json, letter, value);
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

static enum op_scalar_fit store_boolean_text(struct text t, void *slot)
{
  *(uint8_t *)slot = text_equal_ignore_case(t, TEXT("true"));
  return *(uint8_t *)slot || text_equal_ignore_case(t, TEXT("false")) ? OP_SCALAR_FITS : OP_SCALAR_KIND;
}

/* Two rules differ from those of op_scalar_read: a boolean's text may have capitals here, and a number with
 * the suffix l must be whole even for a float or a double. */
static enum op_scalar_fit store_scalar(const struct op_value *value, char letter, void *slot)
{
  bool is_fraction = value->kind == OP_DOUBLE || value->kind == OP_FLOAT;
  if (letter == 'Z' && value->kind == OP_TEXT)
    return store_boolean_text(value->text, slot);
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

static enum jp_status fail_type(struct array_reader *reader, struct json_value json)
{
  struct text why = arena_printf(reader->values->arena, "its type does not become %s",
                                 primitive_keyword(reader->type->base).data);
  return why.data == NULL ? rpc_value_no_memory(reader->values) : fail_at_path(reader, json, why.data);
}

/* The type that the element declares, or the array's own. */
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
    return rpc_value_no_memory(reader->values);
  if (op_type_parse_argument(written, &type, &error) != JP_OK)
    return fail_at_path(reader, json, error.text);
  *letter = find_primitive(&type);
  return primitive_widens(*letter, reader->type->base) ? JP_OK : fail_type(reader, json);
}

/* The name of a long String, which stands in an argument as a ref. */
static bool is_shared_text(const struct array_reader *reader, struct json_value ref)
{
  const struct rpc_shared_texts *shared = reader->values->shared;
  return shared != NULL && shared->find(shared->context, ref) != NULL;
}

static enum jp_status check_element(struct array_reader *reader, struct json_value json,
                                    const struct json_members *members)
{
  if (members->repeated >= 0)
    return fail_at_path(reader, json, "a member is given twice");
  if (members->has[ELEMENT_REF])
    return is_shared_text(reader, members->value[ELEMENT_REF])
               ? fail_type(reader, json)
               : fail_at_path(reader, json, "an object is no primitive");
  bool is_null = members->has[ELEMENT_TYPE] && reader->values->compat_pal;
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

static enum jp_status read_element(struct array_reader *reader, struct json_value json, void *slot)
{
  if (json.kind == JSON_KIND_OBJECT)
    return read_typed_element(reader, json, slot);
  return read_untyped_element(reader, json, reader->type->base, slot);
}

static enum jp_status read_packed(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  if (read_integers(reader, json, value))
    return JP_OK;
  size_t count = json_count(json);
  size_t size = primitive_size(reader->type->base);
  char *data = arena_alloc(reader->values->arena, count * size);
  if (data == NULL)
    return rpc_value_no_memory(reader->values);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
    set_path(reader, i);
    enum jp_status status = read_element(reader, element, data + i * size);
    if (status != JP_OK)
      return status;
  }
  fill_packed(value, reader->type->base, data, count);
  return JP_OK;
}

static enum jp_status read_array(struct array_reader *reader, struct json_value json, struct op_value *value);

static enum jp_status read_row(struct array_reader *reader, struct json_value json, struct op_value *row)
{
  row->suffix = 0;
  row->is_told = false;
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
  enum jp_status status = read_array(reader, json, row);
  reader->level--;
  return status;
}

static enum jp_status read_rows(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  size_t count = json_count(json);
  enum jp_status status = rpc_value_reserve(reader->values, count);
  if (status != JP_OK)
    return status;
  struct op_value *rows = arena_alloc(reader->values->arena, count * sizeof *rows);
  if (rows == NULL)
    return rpc_value_no_memory(reader->values);
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

static enum jp_status read_array(struct array_reader *reader, struct json_value json, struct op_value *value)
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

enum jp_status rpc_array_read(struct rpc_value_reader *values, const struct op_type *type,
                              struct json_value json, struct op_value *value)
{
  struct array_reader reader = {.values = values, .type = type};
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_ARRAY)
    return fail_whole(values, type, "an array or null");
  return read_array(&reader, json, value);
}

/* The bytes of a text are those of packed memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements would have to be turned around");

/* 0 and 1 alone. Written so that it is fast for many. */
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
    return rpc_value_no_memory(values);
  if (base64_decode(t, data, &length) != JP_OK)
    return fail_whole(values, type, "base64 (RFC 4648, with padding)");
  if (length % size != 0) {
    struct text wanted =
        arena_printf(values->arena, "whole elements of %zu bytes, not %zu bytes", size, length);
    return wanted.data == NULL ? rpc_value_no_memory(values) : fail_whole(values, type, wanted.data);
  }
  if (type->base == 'Z' && !are_booleans(data, length))
    return fail_whole(values, type, "bytes of 0 and 1 alone");
  fill_packed(value, type->base, data, length / size);
  return JP_OK;
}

enum jp_status rpc_base64_read(struct rpc_value_reader *values, const struct op_type *type,
                               struct json_value json, struct op_value *value)
{
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_STRING)
    return fail_whole(values, type, "a string of base64 or null");
  struct text t = json_read_string(json, values->arena);
  return t.data == NULL ? rpc_value_no_memory(values) : decode_elements(values, type, t, value);
}
