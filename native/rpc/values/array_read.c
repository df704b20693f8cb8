#include "rpc/values/array_read.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/number.h"
#include "base/primitives.h"
#include "json/integers.h"
#include "json/object_members.h"

#include <math.h>
#include <stdio.h>

/* Where in a nested array the reader is: for messages, so the outermost dimensions are enough. */
enum { PATH_MAX_SHOWN = 8, LITERAL_SHOWN = 64 };

struct element_rule;

struct array_reader {
  struct rpc_value_reader *values;
  const struct op_type *type;
  const struct element_rule *rule;
  size_t path[PATH_MAX_SHOWN];
  unsigned level; /* of the array that is read: 0 is the outermost */
};

/* Why an element is not of the array's type. */
enum fit { FIT_GOOD, FIT_NULL, FIT_RANGE, FIT_FRACTION, FIT_SUFFIX, FIT_KIND, FIT_DIGITS };

static const char *const fit_words[] = {
    [FIT_GOOD] = "",
    [FIT_NULL] = "a primitive cannot be null",
    [FIT_RANGE] = "out of range",
    [FIT_FRACTION] = "not an integer",
    [FIT_SUFFIX] = "its suffix is of another type",
    [FIT_KIND] = "of another kind",
};

struct element_rule {
  char element;         /* JVM letter */
  const char *suffixes; /* that a number may carry */
  enum fit (*read)(struct array_reader *reader, struct json_value json, void *slot);
};

/* The number that an element holds, written as one or as a text of one (behaviour.md: `"5"` for int). */
static enum fit read_number(struct array_reader *reader, struct json_value json, struct number *number)
{
  if (json.kind == JSON_KIND_NUMBER) {
    number_read(json.span, number);
  } else if (json.kind == JSON_KIND_STRING) {
    struct text t = json_read_string(json, reader->values->arena);
    if (t.data == NULL || !number_parse(t, number))
      return FIT_KIND;
  } else {
    return FIT_KIND;
  }
  if (rpc_literal_is_long(reader->values, number->literal))
    return FIT_DIGITS;
  return number->suffix == 0 || strchr(reader->rule->suffixes, number->suffix) != NULL ? FIT_GOOD
                                                                                       : FIT_SUFFIX;
}

static enum fit read_integer(struct array_reader *reader, struct json_value json, int64_t *integer)
{
  struct number number;
  enum fit fit = read_number(reader, json, &number);
  if (fit != FIT_GOOD)
    return fit;
  if (!number.integral)
    return FIT_FRACTION;
  *integer = number.integer;
  int64_t min = 0;
  int64_t max = 0;
  (void)primitive_integer_range(reader->rule->element, &min, &max);
  bool in_range = number.fits && number.integer >= min && number.integer <= max;
  return in_range ? FIT_GOOD : FIT_RANGE;
}

static enum fit read_byte(struct array_reader *reader, struct json_value json, void *slot)
{
  int64_t integer = 0;
  enum fit fit = read_integer(reader, json, &integer);
  *(int8_t *)slot = (int8_t)integer;
  return fit;
}

static enum fit read_short(struct array_reader *reader, struct json_value json, void *slot)
{
  int64_t integer = 0;
  enum fit fit = read_integer(reader, json, &integer);
  *(int16_t *)slot = (int16_t)integer;
  return fit;
}

static enum fit read_int(struct array_reader *reader, struct json_value json, void *slot)
{
  int64_t integer = 0;
  enum fit fit = read_integer(reader, json, &integer);
  *(int32_t *)slot = (int32_t)integer;
  return fit;
}

static enum fit read_long(struct array_reader *reader, struct json_value json, void *slot)
{
  return read_integer(reader, json, slot);
}

static enum fit read_boolean(struct array_reader *reader, struct json_value json, void *slot)
{
  bool is_true = json.kind == JSON_KIND_TRUE;
  bool is_false = json.kind == JSON_KIND_FALSE;
  if (json.kind == JSON_KIND_STRING) {
    struct text t = json_read_string(json, reader->values->arena);
    is_true = t.data != NULL && text_equal_ignore_case(t, TEXT("true"));
    is_false = t.data != NULL && text_equal_ignore_case(t, TEXT("false"));
  }
  *(uint8_t *)slot = is_true;
  return is_true || is_false ? FIT_GOOD : FIT_KIND;
}

static enum fit read_char(struct array_reader *reader, struct json_value json, void *slot)
{
  if (json.kind != JSON_KIND_STRING)
    return FIT_KIND;
  struct text t = json_read_string(json, reader->values->arena);
  if (t.data == NULL || text_utf16_length(t) != 1)
    return FIT_RANGE;
  text_to_utf16(t, slot);
  return FIT_GOOD;
}

/* JSON has no text for these three; Java's is taken. */
static bool read_special(struct array_reader *reader, struct json_value json, double *value)
{
  if (json.kind != JSON_KIND_STRING)
    return false;
  struct text t = json_read_string(json, reader->values->arena);
  if (t.data == NULL)
    return false;
  if (text_equal(t, TEXT("NaN")))
    *value = NAN;
  else if (text_equal(t, TEXT("Infinity")))
    *value = INFINITY;
  else if (text_equal(t, TEXT("-Infinity")))
    *value = -INFINITY;
  else
    return false;
  return true;
}

/* A number behind which stands `l` is an integer, whatever it becomes. */
static enum fit fit_of_decimal(const struct number *number, bool is_finite)
{
  if (number->suffix == 'l' && !number->integral)
    return FIT_FRACTION;
  return is_finite ? FIT_GOOD : FIT_RANGE;
}

static enum fit read_double(struct array_reader *reader, struct json_value json, void *slot)
{
  struct number number;
  enum fit fit = read_number(reader, json, &number);
  if (fit != FIT_GOOD)
    return read_special(reader, json, slot) ? FIT_GOOD : fit;
  double value =
      number.suffix == 'f' ? (double)decimal_to_float(number.literal) : decimal_to_double(number.literal);
  *(double *)slot = value;
  return fit_of_decimal(&number, isfinite(value));
}

static enum fit read_float(struct array_reader *reader, struct json_value json, void *slot)
{
  struct number number;
  double special = 0;
  enum fit fit = read_number(reader, json, &number);
  if (fit != FIT_GOOD) {
    bool is_special = read_special(reader, json, &special);
    *(float *)slot = (float)special;
    return is_special ? FIT_GOOD : fit;
  }
  float value = decimal_to_float(number.literal);
  *(float *)slot = value;
  return fit_of_decimal(&number, isfinite(value));
}

static const struct element_rule rules[] = {
    {'Z', "", read_boolean}, {'B', "", read_byte},  {'C', "", read_char},    {'S', "", read_short},
    {'I', "", read_int},     {'J', "l", read_long}, {'F', "lf", read_float}, {'D', "lfd", read_double},
};

static const struct element_rule *find_rule(char element)
{
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (rules[i].element == element)
      return &rules[i];
  }
  return NULL;
}

/* "argument 1[2][0]: 300: why", as jni says it of scalars. */
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

static enum jp_status fail_element(struct array_reader *reader, struct json_value json, enum fit fit)
{
  const struct primitive *wanted = primitive_find_letter(reader->rule->element);
  char why[128];
  if (fit == FIT_DIGITS)
    snprintf(why, sizeof why, "more digits than the limit of %zu (number-digits-max)",
             reader->values->digits_max);
  else
    snprintf(why, sizeof why, "%s for %s (%s)", fit_words[fit], wanted->keyword.data, wanted->range);
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

/* Whole numbers and nothing else, as nearly all long arrays are; the text decides it before it is walked.
 * False: each element has to be looked at by itself, also where one is wrong. */
static bool read_integers(struct array_reader *reader, struct json_value json, struct op_value *value)
{
  const size_t size = primitive_size(reader->rule->element);
  struct json_integers_form form = {.size = size};
  if (!primitive_integer_range(reader->rule->element, &form.min, &form.max) || json.span.data[1] == ']')
    return false;
  size_t most = json_integers_most(json.span);
  if (most > json.span.len / 2) /* a number and its comma take two bytes: these are commas of a text */
    return false;
  void *data = arena_alloc(reader->values->arena, most * size);
  if (data == NULL || !json_integers_read(json.span, &form, data))
    return false;
  fill_packed(value, reader->rule->element, data, most);
  return true;
}

/* ---- an element that is written as an argument is ---- */

enum element_member { ELEMENT_TYPE, ELEMENT_VALUE, ELEMENT_REF, ELEMENT_MEMBERS };

static const struct text element_names[ELEMENT_MEMBERS] = {TEXT("type"), TEXT("value"), TEXT("ref")};

/* 0: neither a primitive nor its wrapper. */
static char find_primitive(const struct op_type *type)
{
  if (type->dimensions > 0)
    return 0;
  return type->base == 'L' ? primitive_unboxed(type->name) : type->base;
}

/* The type that the element declares, or the array's own. */
static enum jp_status read_element_type(struct array_reader *reader, struct json_value json,
                                        const struct json_members *members, char *letter)
{
  struct op_type type;
  struct jp_error error;
  *letter = reader->rule->element;
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
  if (!primitive_widens(*letter, reader->rule->element)) {
    struct text why = arena_printf(reader->values->arena, "its type does not become %s",
                                   primitive_keyword(reader->rule->element).data);
    return why.data == NULL ? rpc_value_no_memory(reader->values) : fail_at_path(reader, json, why.data);
  }
  return JP_OK;
}

static enum jp_status check_element(struct array_reader *reader, struct json_value json,
                                    const struct json_members *members)
{
  if (members->repeated >= 0)
    return fail_at_path(reader, json, "a member is given twice");
  if (members->has[ELEMENT_REF])
    return fail_at_path(reader, json, "an object is no primitive");
  bool is_null = members->has[ELEMENT_TYPE] && reader->values->type_alone_is_null;
  if (members->has[ELEMENT_VALUE] ? members->value[ELEMENT_VALUE].kind == JSON_KIND_NULL : is_null)
    return fail_element(reader, json, FIT_NULL);
  if (members->has[ELEMENT_TYPE] && !members->has[ELEMENT_VALUE])
    return fail_at_path(reader, json, "has neither 'value' nor 'ref'");
  return members->has[ELEMENT_VALUE] ? JP_OK : fail_element(reader, json, FIT_KIND);
}

static enum jp_status read_typed_element(struct array_reader *reader, struct json_value json, void *slot)
{
  const struct element_rule *of_array = reader->rule;
  struct json_members members;
  union primitive_value value;
  char letter;
  json_members_collect(json, element_names, ELEMENT_MEMBERS, &members);
  enum jp_status status = check_element(reader, json, &members);
  if (status == JP_OK)
    status = read_element_type(reader, json, &members, &letter);
  if (status != JP_OK)
    return status;
  reader->rule = find_rule(letter);
  enum fit fit = reader->rule->read(reader, members.value[ELEMENT_VALUE], &value);
  if (fit != FIT_GOOD)
    return fail_element(reader, members.value[ELEMENT_VALUE], fit);
  reader->rule = of_array;
  primitive_widen(letter, of_array->element, &value);
  memcpy(slot, &value, primitive_size(of_array->element));
  return JP_OK;
}

static enum jp_status read_element(struct array_reader *reader, struct json_value json, void *slot)
{
  if (json.kind == JSON_KIND_OBJECT)
    return read_typed_element(reader, json, slot);
  enum fit fit = json.kind == JSON_KIND_NULL ? FIT_NULL : reader->rule->read(reader, json, slot);
  return fit == FIT_GOOD ? JP_OK : fail_element(reader, json, fit);
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
  struct array_reader reader = {.values = values, .type = type, .rule = find_rule(type->base)};
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_ARRAY || reader.rule == NULL)
    return fail_whole(values, type, "an array or null");
  return read_array(&reader, json, value);
}

enum jp_status rpc_base64_read(struct rpc_value_reader *values, struct json_value json,
                               struct op_value *value)
{
  static const struct op_type bytes = {.base = 'B', .dimensions = 1, .name = TEXT("byte")};
  if (json.kind == JSON_KIND_NULL) {
    value->kind = OP_NULL;
    return JP_OK;
  }
  if (json.kind != JSON_KIND_STRING)
    return fail_whole(values, &bytes, "a string of base64 or null");
  struct text t = json_read_string(json, values->arena);
  uint8_t *data = t.data == NULL ? NULL : arena_alloc(values->arena, base64_decoded_max(t) + 1);
  if (data == NULL)
    return rpc_value_no_memory(values);
  size_t count;
  if (base64_decode(t, data, &count) != JP_OK)
    return fail_whole(values, &bytes, "base64 (RFC 4648, with padding)");
  value->kind = OP_PACKED;
  value->packed.data = data;
  value->packed.count = count;
  value->packed.element = 'B';
  return JP_OK;
}
