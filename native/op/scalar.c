#include "op/scalar.h"

#include "base/decimal.h"
#include "base/primitives.h"

#include <math.h>

const char *op_scalar_reason(enum op_scalar_fit fit)
{
  static const char *const reasons[] = {
      [OP_SCALAR_FITS] = "",
      [OP_SCALAR_NULL] = "a primitive cannot be null",
      [OP_SCALAR_RANGE] = "out of range",
      [OP_SCALAR_FRACTION] = "not an integer",
      [OP_SCALAR_SUFFIX] = "its suffix is of another type",
      [OP_SCALAR_KIND] = "of another kind",
  };
  return reasons[fit];
}

/* ---- from digits ---- */

void op_scalar_set_number(struct op_value *value, const struct number *number)
{
  const enum op_value_kind fraction = number->suffix == 'f' ? OP_FLOAT : OP_DOUBLE;
  value->suffix = number->suffix;
  if (number->fits) {
    value->kind = OP_INTEGER;
    /* Only -0 has a minus and the value 0. */
    bool is_negative_zero = number->integer == 0 && number->literal.data[0] == '-';
    value->literal = is_negative_zero ? number->literal : TEXT_ABSENT;
    value->integer = number->integer;
  } else {
    value->kind = number->integral ? OP_BIG_INTEGER : fraction;
    value->literal = number->literal;
  }
}

/* ---- to primitives ---- */

static bool suffix_allows(char suffix, char letter)
{
  switch (suffix) {
  case 'l':
    return letter == 'J' || letter == 'F' || letter == 'D';
  case 'f':
    return letter == 'F' || letter == 'D';
  case 'd':
    return letter == 'D';
  default:
    return true;
  }
}

static enum op_scalar_fit store_integer(int64_t integer, char letter, void *out)
{
  switch (letter) {
  case 'B':
    *(int8_t *)out = (int8_t)integer;
    return integer == (int8_t)integer ? OP_SCALAR_FITS : OP_SCALAR_RANGE;
  case 'S':
    *(int16_t *)out = (int16_t)integer;
    return integer == (int16_t)integer ? OP_SCALAR_FITS : OP_SCALAR_RANGE;
  case 'I':
    *(int32_t *)out = (int32_t)integer;
    return integer == (int32_t)integer ? OP_SCALAR_FITS : OP_SCALAR_RANGE;
  default:
    *(int64_t *)out = integer;
    return OP_SCALAR_FITS;
  }
}

static void store_float(float decimal, char letter, void *out)
{
  if (letter == 'F')
    *(float *)out = decimal;
  else
    *(double *)out = decimal;
}

/* A number with digits that becomes infinite is out of range and does not fit. An infinity without digits was
 * intended. */
static enum op_scalar_fit store_decimal(const struct op_value *value, char letter, void *out)
{
  bool has_digits = value->literal.data != NULL;
  double stored = value->decimal;
  /* If there are digits, the number is converted directly from the digits, because a number must not be
   * rounded twice. */
  if (has_digits && (letter == 'F' || value->suffix == 'f'))
    stored = decimal_to_float(value->literal);
  else if (has_digits)
    stored = decimal_to_double(value->literal);
  else if (letter == 'F')
    stored = (float)stored;
  if (letter == 'F')
    *(float *)out = (float)stored;
  else
    *(double *)out = stored;
  bool is_meant = !has_digits && !isfinite(value->decimal);
  return isfinite(stored) || is_meant ? OP_SCALAR_FITS : OP_SCALAR_RANGE;
}

static enum op_scalar_fit read_number(const struct op_value *value, char letter, void *out)
{
  bool is_integer = value->kind == OP_INTEGER;
  if (letter == 'Z' || letter == 'C')
    return OP_SCALAR_KIND;
  if (!suffix_allows(value->suffix, letter))
    return OP_SCALAR_SUFFIX;
  if (letter == 'F' || letter == 'D') {
    if (!is_integer)
      return store_decimal(value, letter, out);
    bool is_negative_zero = value->literal.data != NULL && value->integer == 0;
    if (letter == 'F' || value->suffix == 'f')
      store_float(is_negative_zero ? -0.0F : (float)value->integer, letter, out);
    else
      *(double *)out = is_negative_zero ? -0.0 : (double)value->integer;
    return OP_SCALAR_FITS;
  }
  if (is_integer)
    return store_integer(value->integer, letter, out);
  return value->kind == OP_BIG_INTEGER ? OP_SCALAR_RANGE : OP_SCALAR_FRACTION;
}

/* JSON has no numbers for NaN and the two infinities, so Java's words for them are accepted. */
static bool find_special(struct text text, float *out)
{
  static const struct {
    struct text text;
    float value;
  } specials[] = {{TEXT("NaN"), NAN}, {TEXT("Infinity"), INFINITY}, {TEXT("-Infinity"), -INFINITY}};
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    if (text_equal(text, specials[i].text)) {
      *out = specials[i].value;
      return true;
    }
  }
  return false;
}

static enum op_scalar_fit read_special(struct text text, char letter, void *out)
{
  float special;
  if (!find_special(text, &special))
    return OP_SCALAR_KIND;
  store_float(special, letter, out);
  return OP_SCALAR_FITS;
}

bool op_scalar_set_special(struct op_value *value, struct text text)
{
  float special;
  if (!find_special(text, &special))
    return false;
  value->kind = OP_DOUBLE;
  value->suffix = 0;
  value->literal = TEXT_ABSENT;
  value->decimal = special;
  return true;
}

static enum op_scalar_fit store_boolean(bool boolean, void *out)
{
  *(uint8_t *)out = boolean;
  return OP_SCALAR_FITS;
}

static enum op_scalar_fit read_text(struct text text, char letter, void *out)
{
  enum { UNIT_MAX = 3 }; /* bytes of one unit of UTF-16 */
  if (letter == 'C' && (text.len > UNIT_MAX || text_utf16_length(text) != 1))
    return OP_SCALAR_RANGE;
  if (letter == 'C') {
    text_to_utf16(text, out);
    return OP_SCALAR_FITS;
  }
  if (letter == 'Z') {
    bool is_true = text_equal(text, TEXT("true"));
    return is_true || text_equal(text, TEXT("false")) ? store_boolean(is_true, out) : OP_SCALAR_KIND;
  }
  struct number number;
  if (!number_parse(text, &number))
    return letter == 'F' || letter == 'D' ? read_special(text, letter, out) : OP_SCALAR_KIND;
  struct op_value value = {.kind = OP_NULL};
  op_scalar_set_number(&value, &number);
  return read_number(&value, letter, out);
}

enum op_scalar_fit op_scalar_read(const struct op_value *value, char letter, void *out)
{
  switch (value->kind) {
  case OP_INTEGER:
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    return read_number(value, letter, out);
  case OP_TEXT:
    return read_text(value->text, letter, out);
  case OP_BOOLEAN:
    return letter == 'Z' ? store_boolean(value->boolean, out) : OP_SCALAR_KIND;
  case OP_NULL:
    return OP_SCALAR_NULL;
  default:
    return OP_SCALAR_KIND;
  }
}

/* ---- without a declared type ---- */

char op_scalar_infer(const struct op_value *value)
{
  static const char by_suffix[] = {['l' - 'a'] = 'J', ['f' - 'a'] = 'F', ['d' - 'a'] = 'D'};
  if (value->kind == OP_BOOLEAN)
    return 'Z';
  if (!op_value_is_number(value))
    return 0;
  if (value->suffix >= 'a' && value->suffix <= 'l')
    return by_suffix[value->suffix - 'a'];
  switch (value->kind) {
  case OP_INTEGER:
    if (value->widened != 0)
      return value->widened == 'J' ? 'J' : 0;
    return value->integer >= INT32_MIN && value->integer <= INT32_MAX ? 'I' : 'J';
  case OP_FLOAT:
    return 'F';
  case OP_DOUBLE:
    return 'D';
  default:
    return 0;
  }
}
