#include "command/language_value.h"

#include "base/array.h"
#include "base/number_format.h"
#include "base/primitives.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- holders ---- */

static bool make_room(struct value_pool *pool)
{
  struct value **values = array_grow(pool->values, pool->count, &pool->capacity, sizeof(struct value *));
  if (values != NULL)
    pool->values = values;
  return values != NULL;
}

struct value *value_create(struct value_pool *pool, enum value_kind kind)
{
  struct value *value = make_room(pool) ? calloc(1, sizeof *value) : NULL;
  if (value == NULL)
    return NULL;
  value->kind = kind;
  value->holders = 1;
  pool->values[pool->count++] = value;
  return value;
}

struct value *value_hold(struct value_pool *pool, struct value *value)
{
  if (!make_room(pool))
    return NULL;
  pool->values[pool->count++] = value_keep(value);
  return value;
}

struct value *value_keep(struct value *value)
{
  value->holders++;
  return value;
}

void value_release(struct value *value)
{
  if (value == NULL || --value->holders > 0)
    return;
  for (size_t i = 0; i < value->item_count; i++)
    value_release(value->items[i]);
  free(value->items);
  jp_ref_release(value->ref);
  if (value->lambda != NULL)
    lambda_release(value->lambda);
  free((char *)value->text.data);
  free(value->type);
  free(value);
}

void value_pool_drain(struct value_pool *pool, size_t count)
{
  while (pool->count > count)
    value_release(pool->values[--pool->count]);
}

void value_pool_fini(struct value_pool *pool)
{
  value_pool_drain(pool, 0);
  free(pool->values);
  *pool = (struct value_pool){0};
}

/* ---- making values ---- */

struct value *value_boolean(struct value_pool *pool, bool is_true)
{
  struct value *value = value_create(pool, VALUE_BOOLEAN);
  if (value != NULL) {
    value->primitive = 'Z';
    value->integer = is_true;
  }
  return value;
}

struct value *value_integer(struct value_pool *pool, char primitive, int64_t integer)
{
  struct value *value = value_create(pool, primitive == 'C' ? VALUE_CHAR : VALUE_INTEGER);
  if (value != NULL) {
    value->primitive = primitive;
    value->integer = integer;
  }
  return value;
}

struct value *value_number(struct value_pool *pool, char primitive, double number)
{
  struct value *value = value_create(pool, VALUE_NUMBER);
  if (value != NULL) {
    value->primitive = primitive;
    value->number = number;
  }
  return value;
}

static char *copy_text(struct text t)
{
  char *copy = malloc(t.len + 1);
  if (copy != NULL) {
    if (t.len > 0)
      memcpy(copy, t.data, t.len);
    copy[t.len] = '\0';
  }
  return copy;
}

bool value_set_text(struct value *value, struct text text)
{
  char *copy = copy_text(text);
  free((char *)value->text.data);
  value->text = (struct text){copy, text.len};
  return copy != NULL;
}

/* "int[]" for "[I", "java.lang.String[]" for "[Ljava.lang.String;": as the source of a program writes it. */
static char *copy_source_name(struct text type)
{
  size_t dimensions = 0;
  while (dimensions < type.len && type.data[dimensions] == '[')
    dimensions++;
  struct text element = text_slice(type, dimensions, type.len);
  if (dimensions > 0 && text_starts_with(element, TEXT("L")) && text_ends_with(element, TEXT(";")))
    element = text_slice(element, 1, element.len - 1);
  else if (dimensions > 0 && element.len == 1)
    element = primitive_keyword(element.data[0]);
  else
    return copy_text(type);
  char *name = malloc(element.len + 2 * dimensions + 1);
  if (name == NULL)
    return NULL;
  if (element.len > 0)
    memcpy(name, element.data, element.len);
  for (size_t i = 0; i < dimensions; i++)
    memcpy(name + element.len + 2 * i, "[]", 2);
  name[element.len + 2 * dimensions] = '\0';
  return name;
}

bool value_set_type(struct value *value, struct text type)
{
  free(value->type);
  value->type = copy_source_name(type);
  return value->type != NULL;
}

struct value *value_text(struct value_pool *pool, struct text text)
{
  struct value *value = value_create(pool, VALUE_TEXT);
  return value != NULL && value_set_text(value, text) ? value : NULL;
}

bool value_append(struct value *value, struct value *item)
{
  struct value **items = realloc(value->items, (value->item_count + 1) * sizeof(struct value *));
  if (items == NULL)
    return false;
  value->items = items;
  items[value->item_count++] = value_keep(item);
  return true;
}

/* ---- answers ---- */

static bool set_scalar_type(struct value *value, struct text type)
{
  const struct primitive *primitive = primitive_find_keyword(type);
  value->primitive = primitive != NULL ? primitive->letter : primitive_unboxed(type);
  value->is_boxed = primitive == NULL;
  return value->primitive != 0;
}

static struct text text_from(struct jp_text t)
{
  return (struct text){t.data, t.len};
}

static bool set_string(struct value *value, struct text type, struct text text)
{
  uint16_t units[8];
  if (set_scalar_type(value, type) && value->primitive == 'C' && text.len <= 4) {
    value->kind = VALUE_CHAR;
    value->integer = text_to_utf16(text, units) > 0 ? units[0] : 0;
    return true;
  }
  value->primitive = 0;
  value->is_boxed = false;
  value->kind = VALUE_TEXT;
  return value_set_text(value, text);
}

bool value_set_answer(struct value *value, const struct jp_answer *answer)
{
  struct text type = text_of(jp_answer_type(answer));
  bool is_true = false;
  switch (jp_answer_kind(answer)) {
  case JP_ANSWER_BOOLEAN:
    value->kind = VALUE_BOOLEAN;
    (void)set_scalar_type(value, type);
    value->primitive = 'Z';
    (void)jp_answer_boolean(answer, &is_true);
    value->integer = is_true;
    return true;
  case JP_ANSWER_INTEGER:
    value->kind = VALUE_INTEGER;
    if (!set_scalar_type(value, type))
      value->primitive = 'J';
    (void)jp_answer_integer(answer, &value->integer);
    return true;
  case JP_ANSWER_NUMBER:
    value->kind = VALUE_NUMBER;
    if (!set_scalar_type(value, type))
      value->primitive = 'D';
    (void)jp_answer_number(answer, &value->number);
    return true;
  case JP_ANSWER_STRING:
    return set_string(value, type, text_from(jp_answer_text(answer)));
  case JP_ANSWER_OBJECT:
    value->kind = VALUE_OBJECT;
    value->ref = jp_ref_keep(jp_answer_ref(answer));
    return value_set_type(value, type) &&
           (jp_answer_text(answer).data == NULL || value_set_text(value, text_from(jp_answer_text(answer))));
  case JP_ANSWER_NULL:
    value->kind = VALUE_NULL;
    return true;
  case JP_ANSWER_VOID:
  case JP_ANSWER_JSON:
  case JP_ANSWER_ERROR:
    break;
  }
  value->kind = VALUE_VOID;
  return true;
}

struct text value_read_text(struct arena *arena, struct jp_json json)
{
  char *room = arena_alloc(arena, json.text.len + 1);
  size_t length = room == NULL ? SIZE_MAX : jp_json_string(json, room, json.text.len + 1);
  return length == SIZE_MAX ? TEXT("") : (struct text){room, length};
}

static struct value *element_of_number(struct value_pool *pool, struct jp_json json)
{
  int64_t integer;
  double number = 0;
  if (jp_json_integer(json, &integer))
    return value_integer(pool, integer >= INT32_MIN && integer <= INT32_MAX ? 'I' : 'J', integer);
  (void)jp_json_number(json, &number);
  return value_number(pool, 'D', number);
}

static struct value *element_of_object(struct value_pool *pool, struct jp_answer *answer, struct jp_json json,
                                       struct arena *arena)
{
  struct value *value = value_create(pool, VALUE_OBJECT);
  struct jp_json type = jp_json_member(json, "type");
  struct jp_json text = jp_json_member(json, "value");
  if (value == NULL)
    return NULL;
  if (type.kind == JP_JSON_STRING && !value_set_type(value, value_read_text(arena, type)))
    return NULL;
  if (text.kind == JP_JSON_STRING && !value_set_text(value, value_read_text(arena, text)))
    return NULL;
  value->ref = jp_answer_take_ref(answer, json);
  if (value->ref != NULL)
    return value;
  /* A value with its type. */
  struct text name = text_of(value->type == NULL ? "" : value->type);
  const struct primitive *primitive = primitive_find_keyword(name);
  value->kind = VALUE_TEXT;
  if (value->text.data == NULL)
    return value_set_text(value, TEXT("")) ? value : NULL;
  if (primitive == NULL)
    return value;
  if (primitive->letter == 'C')
    return set_string(value, name, value->text) ? value : NULL;
  if (primitive->letter == 'D' || primitive->letter == 'F')
    return value_number(pool, primitive->letter, strtod(value->text.data, NULL));
  return value_integer(pool, primitive->letter, strtoll(value->text.data, NULL, 10));
}

static struct value *read_element(struct value_pool *pool, struct jp_answer *answer, struct jp_json json,
                                  struct arena *arena)
{
  struct value *list;
  struct jp_json key;
  struct jp_json item;
  switch (json.kind) {
  case JP_JSON_TRUE:
  case JP_JSON_FALSE:
    return value_boolean(pool, json.kind == JP_JSON_TRUE);
  case JP_JSON_NUMBER:
    return element_of_number(pool, json);
  case JP_JSON_STRING:
    return value_text(pool, value_read_text(arena, json));
  case JP_JSON_OBJECT:
    return element_of_object(pool, answer, json, arena);
  case JP_JSON_ARRAY: /* a Map's entry */
    list = value_create(pool, VALUE_ENTRY);
    for (struct jp_json_cursor cursor = jp_json_enter(json);
         list != NULL && jp_json_next(&cursor, &key, &item);) {
      struct value *element = read_element(pool, answer, item, arena);
      if (element == NULL || !value_append(list, element))
        return NULL;
    }
    return list;
  default:
    return value_create(pool, VALUE_NULL);
  }
}

/* The letter of the elements of an array of primitives or wrappers; 0: it is another object. */
static char find_element_type(const struct value *object, bool *is_boxed)
{
  struct text type = text_of(value_is_array(object) ? object->type : "");
  struct text element = text_slice(type, 0, type.len > 2 ? type.len - 2 : 0);
  *is_boxed = false;
  const struct primitive *primitive = primitive_find_keyword(element);
  if (primitive != NULL)
    return primitive->letter;
  *is_boxed = true;
  return primitive_unboxed(element);
}

static void mark_boxed(struct value *value)
{
  value->is_boxed |= value->primitive != 0;
  for (size_t i = 0; value->kind == VALUE_ENTRY && i < value->item_count; i++)
    mark_boxed(value->items[i]);
}

struct value *value_of_element(struct value_pool *pool, struct jp_answer *answer, struct jp_json json,
                               const struct value *object)
{
  struct arena arena;
  bool is_boxed;
  struct jp_error error;
  arena_init(&arena);
  struct value *value = read_element(pool, answer, json, &arena);
  arena_fini(&arena);
  char letter = value == NULL ? 0 : find_element_type(object, &is_boxed);
  if (value != NULL && letter == 0) {
    mark_boxed(value);
  } else if (value != NULL && value->kind != VALUE_NULL) {
    if (letter == 'J' && value->kind == VALUE_TEXT)
      value = value_integer(pool, 'J', strtoll(value->text.data, NULL, 10));
    else if (value->kind == VALUE_TEXT)
      value = set_string(value, primitive_keyword(letter), value->text) ? value : NULL;
    else
      value = value_convert(pool, value, letter, &error);
    if (value != NULL)
      value->is_boxed = is_boxed;
  }
  return value;
}

/* ---- texts ---- */

static void write_unit(struct buffer *out, uint16_t unit)
{
  char bytes[4];
  buffer_append(out, bytes, text_from_utf16(&unit, 1, bytes));
}

bool value_write_text(const struct value *value, struct buffer *out)
{
  char digits[NUMBER_TEXT_MAX];
  switch (value->kind) {
  case VALUE_NULL:
    BUFFER_LITERAL(out, "null");
    return true;
  case VALUE_BOOLEAN:
    buffer_append_text(out, text_of(value->integer != 0 ? "true" : "false"));
    return true;
  case VALUE_INTEGER:
    buffer_append(out, digits, number_format_integer(value->integer, digits));
    return true;
  case VALUE_NUMBER:
    buffer_append(out, digits,
                  value->primitive == 'F' ? number_format_float((float)value->number, digits)
                                          : number_format_double(value->number, digits));
    return true;
  case VALUE_CHAR:
    write_unit(out, (uint16_t)value->integer);
    return true;
  case VALUE_TEXT:
    buffer_append_text(out, value->text);
    return true;
  case VALUE_OBJECT:
    if (value->text.data == NULL)
      return false;
    buffer_append_text(out, value->text);
    return true;
  default:
    return false;
  }
}

bool value_is_array(const struct value *value)
{
  return value->type != NULL && text_ends_with(text_of(value->type), TEXT("[]"));
}

const char *value_describe(const struct value *value, char out[120])
{
  static const char *const words[] = {
      [VALUE_VOID] = "no value (void)", [VALUE_NULL] = "null",      [VALUE_TEXT] = "a String",
      [VALUE_LIST] = "a List",          [VALUE_ENTRY] = "an entry", [VALUE_MAP] = "a Map",
      [VALUE_LAMBDA] = "a lambda",      [VALUE_CLASS] = "a class",  [VALUE_PACKAGE] = "a package",
      [VALUE_PENDING] = "a result",     [VALUE_CHAR] = "a char",    [VALUE_CAST] = "an object",
      [VALUE_BOOLEAN] = "a boolean",
  };
  if (value->kind == VALUE_OBJECT)
    text_format(out, 120, "an object of %s", value->type == NULL ? "the peer" : value->type);
  else if (value->kind == VALUE_INTEGER || value->kind == VALUE_NUMBER)
    text_format(out, 120, "%s %.*s", value->primitive == 'I' ? "an" : "a",
                TEXT_ARGS(primitive_keyword(value->primitive)));
  else
    text_format(out, 120, "%s", words[value->kind]);
  return out;
}

/* ---- arithmetic ---- */

static bool is_numeric(const struct value *value)
{
  return value->kind == VALUE_INTEGER || value->kind == VALUE_NUMBER || value->kind == VALUE_CHAR;
}

static double number_of(const struct value *value)
{
  return value->kind == VALUE_NUMBER ? value->number : (double)value->integer;
}

/* A long becomes a float in one step: two would round twice. */
static double float_of(const struct value *value)
{
  return value->kind == VALUE_NUMBER ? (double)(float)value->number : (double)(float)value->integer;
}

char value_promote(char left, char right)
{
  static const char order[] = "DFJ";
  for (const char *type = order; *type != '\0'; type++) {
    if (left == *type || right == *type)
      return *type;
  }
  return 'I';
}

static char promote(const struct value *left, const struct value *right)
{
  return value_promote(left->primitive, right->primitive);
}

static int64_t wrap(char type, uint64_t bits)
{
  switch (type) {
  case 'B':
    return (int8_t)bits;
  case 'S':
    return (int16_t)bits;
  case 'C':
    return (uint16_t)bits;
  case 'I':
    return (int32_t)(uint32_t)bits;
  default:
    return (int64_t)bits;
  }
}

static int64_t divide(char type, int64_t left, int64_t right)
{
  return right == -1 ? wrap(type, 0 - (uint64_t)left) : left / right;
}

static struct value *operate_integers(struct value_pool *pool, enum binary_operator op, char type,
                                      int64_t left, int64_t right, const char **throws,
                                      struct jp_error *error)
{
  const uint64_t a = (uint64_t)left;
  const uint64_t b = (uint64_t)right;
  if ((op == BINARY_DIVIDE || op == BINARY_REMAINDER) && right == 0) {
    *throws = "java.lang.ArithmeticException";
    jp_fail(error, JP_INVALID, "/ by zero");
    return NULL;
  }
  uint64_t bits = op == BINARY_ADD        ? a + b
                  : op == BINARY_SUBTRACT ? a - b
                  : op == BINARY_MULTIPLY ? a * b
                  : op == BINARY_DIVIDE   ? (uint64_t)divide(type, left, right)
                  : right == -1           ? 0
                                          : (uint64_t)(left % right);
  return value_integer(pool, type, wrap(type, bits));
}

static double operate_doubles(enum binary_operator op, double left, double right)
{
  return op == BINARY_ADD        ? left + right
         : op == BINARY_SUBTRACT ? left - right
         : op == BINARY_MULTIPLY ? left * right
         : op == BINARY_DIVIDE   ? left / right
                                 : fmod(left, right);
}

/* The double result of two floats rounds to the float that the float operation gives. */
static double operate_floats(char type, enum binary_operator op, const struct value *left,
                             const struct value *right)
{
  if (type == 'D')
    return operate_doubles(op, number_of(left), number_of(right));
  return (double)(float)operate_doubles(op, float_of(left), float_of(right));
}

static bool compare(enum binary_operator op, bool is_less, bool is_equal)
{
  return op == BINARY_LESS            ? is_less
         : op == BINARY_LESS_EQUAL    ? is_less || is_equal
         : op == BINARY_GREATER       ? !is_less && !is_equal
         : op == BINARY_GREATER_EQUAL ? !is_less
                                      : is_equal;
}

static bool compare_numbers(enum binary_operator op, char type, const struct value *left,
                            const struct value *right)
{
  if (type == 'I' || type == 'J')
    return compare(op, left->integer < right->integer, left->integer == right->integer);
  double a = type == 'F' ? float_of(left) : number_of(left);
  double b = type == 'F' ? float_of(right) : number_of(right);
  return !isnan(a) && !isnan(b) && compare(op, a < b, a == b);
}

struct value *value_operate(struct value_pool *pool, enum binary_operator op, const struct value *left,
                            const struct value *right, const char **throws, struct jp_error *error)
{
  char words[2][120];
  if (!is_numeric(left) || !is_numeric(right)) {
    jp_fail(error, JP_INVALID, "%s is not defined for %s and %s", language_operator_text(op),
            value_describe(left, words[0]), value_describe(right, words[1]));
    return NULL;
  }
  char type = promote(left, right);
  struct value *result;
  if (op < BINARY_ADD)
    result = value_boolean(pool, compare_numbers(op, type, left, right));
  else if (type == 'I' || type == 'J')
    return operate_integers(pool, op, type, left->integer, right->integer, throws, error);
  else
    result = value_number(pool, type, operate_floats(type, op, left, right));
  if (result == NULL)
    jp_fail_memory(error, NULL);
  return result;
}

struct value *value_negate(struct value_pool *pool, const struct value *value, struct jp_error *error)
{
  char words[120];
  if (!is_numeric(value)) {
    jp_fail(error, JP_INVALID, "- is not defined for %s", value_describe(value, words));
    return NULL;
  }
  char type = promote(value, value);
  struct value *result = value->kind == VALUE_NUMBER
                             ? value_number(pool, type, -value->number)
                             : value_integer(pool, type, wrap(type, 0 - (uint64_t)value->integer));
  if (result == NULL)
    jp_fail_memory(error, NULL);
  return result;
}

/* JLS 5.1.3: towards zero, NaN is 0, and what is out of range is the nearest. */
static int64_t round_to_integer(double number, bool is_long)
{
  if (isnan(number))
    return 0;
  double low = is_long ? -0x1p63 : -0x1p31;
  if (number < low)
    return is_long ? INT64_MIN : INT32_MIN;
  if (number >= -low)
    return is_long ? INT64_MAX : INT32_MAX;
  return (int64_t)number;
}

struct value *value_convert(struct value_pool *pool, const struct value *value, char primitive,
                            struct jp_error *error)
{
  char words[120];
  struct value *result;
  if (primitive == 'Z' ? value->kind != VALUE_BOOLEAN : !is_numeric(value)) {
    jp_fail(error, JP_INVALID, "%s cannot be converted to %.*s", value_describe(value, words),
            TEXT_ARGS(primitive_keyword(primitive)));
    return NULL;
  }
  if (primitive == 'Z')
    result = value_boolean(pool, value->integer != 0);
  else if (primitive == 'D' || primitive == 'F')
    result = value_number(pool, primitive, primitive == 'F' ? float_of(value) : number_of(value));
  else
    result = value_integer(pool, primitive,
                           wrap(primitive, (uint64_t)(value->kind == VALUE_NUMBER
                                                          ? round_to_integer(value->number, primitive == 'J')
                                                          : value->integer)));
  if (result == NULL)
    jp_fail_memory(error, NULL);
  return result;
}

bool value_equal(const struct value *left, const struct value *right)
{
  if (is_numeric(left) && is_numeric(right))
    return compare_numbers(BINARY_EQUAL, promote(left, right), left, right);
  if (left->kind != right->kind)
    return false;
  switch (left->kind) {
  case VALUE_NULL:
    return true;
  case VALUE_BOOLEAN:
    return left->integer == right->integer;
  case VALUE_TEXT: /* a String, or a value of another class */
    return text_equal(left->text, right->text) && text_equal(text_of(left->type == NULL ? "" : left->type),
                                                             text_of(right->type == NULL ? "" : right->type));
  case VALUE_OBJECT:
    return jp_ref_number(left->ref) == jp_ref_number(right->ref) &&
           jp_ref_epoch(left->ref) == jp_ref_epoch(right->ref);
  default:
    return left == right;
  }
}
