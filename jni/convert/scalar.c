#include "jni/convert/scalar.h"

#include "base/decimal.h"
#include "base/number.h"

#include <math.h>

static enum scalar_fit set_integer(int64_t integer, char letter, jvalue *out)
{
  switch (letter) {
  case 'B':
    out->b = (jbyte)integer;
    return out->b == integer ? SCALAR_FITS : SCALAR_RANGE;
  case 'S':
    out->s = (jshort)integer;
    return out->s == integer ? SCALAR_FITS : SCALAR_RANGE;
  case 'I':
    out->i = (jint)integer;
    return out->i == integer ? SCALAR_FITS : SCALAR_RANGE;
  default:
    out->j = integer;
    return SCALAR_FITS;
  }
}

/* What a suffix lets a number become. */
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

static enum scalar_fit set_decimal(struct text literal, char suffix, char letter, jvalue *out)
{
  if (letter == 'F' || suffix == 'f') {
    float value = decimal_to_float(literal);
    if (!isfinite(value))
      return SCALAR_RANGE;
    if (letter == 'F')
      out->f = value;
    else
      out->d = value;
    return SCALAR_FITS;
  }
  out->d = decimal_to_double(literal);
  return isfinite(out->d) ? SCALAR_FITS : SCALAR_RANGE;
}

static enum scalar_fit read_number(const struct number *number, char letter, jvalue *out)
{
  if (letter == 'Z' || letter == 'C')
    return SCALAR_KIND;
  if (!suffix_allows(number->suffix, letter))
    return SCALAR_SUFFIX;
  if (letter == 'F' || letter == 'D')
    return set_decimal(number->literal, number->suffix, letter, out);
  if (!number->integral)
    return SCALAR_FRACTION;
  return number->fits ? set_integer(number->integer, letter, out) : SCALAR_RANGE;
}

static enum scalar_fit read_integer(const struct op_value *value, char letter, jvalue *out)
{
  if (letter == 'Z' || letter == 'C')
    return SCALAR_KIND;
  if (!suffix_allows(value->suffix, letter))
    return SCALAR_SUFFIX;
  if (letter != 'F' && letter != 'D')
    return set_integer(value->integer, letter, out);
  if (value->literal.data != NULL)
    return set_decimal(value->literal, value->suffix, letter, out);
  if (letter == 'F')
    out->f = (float)value->integer;
  else
    out->d = (double)value->integer;
  return SCALAR_FITS;
}

static enum scalar_fit read_special(struct text text, char letter, jvalue *out)
{
  static const struct {
    struct text text;
    double value;
  } specials[] = {{{"NaN", 3}, NAN}, {{"Infinity", 8}, INFINITY}, {{"-Infinity", 9}, -INFINITY}};
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    if (!text_equal(text, specials[i].text))
      continue;
    if (letter == 'F')
      out->f = (float)specials[i].value;
    else
      out->d = specials[i].value;
    return SCALAR_FITS;
  }
  return SCALAR_KIND;
}

static enum scalar_fit read_text(struct text text, char letter, jvalue *out)
{
  if (letter == 'C') {
    if (text.len > 3 || text_utf16_length(text) != 1)
      return SCALAR_RANGE;
    text_to_utf16(text, &out->c);
    return SCALAR_FITS;
  }
  if (letter == 'Z') {
    out->z = text_equal(text, TEXT("true"));
    return out->z || text_equal(text, TEXT("false")) ? SCALAR_FITS : SCALAR_KIND;
  }
  struct number number;
  if (number_parse(text, &number))
    return read_number(&number, letter, out);
  return letter == 'F' || letter == 'D' ? read_special(text, letter, out) : SCALAR_KIND;
}

enum scalar_fit scalar_read(const struct op_value *value, char letter, jvalue *out)
{
  switch (value->kind) {
  case OP_INTEGER:
    return read_integer(value, letter, out);
  case OP_NUMBER: {
    struct number number;
    if (!number_parse(value->literal, &number))
      return SCALAR_KIND;
    number.suffix = value->suffix;
    return read_number(&number, letter, out);
  }
  case OP_TEXT:
    return read_text(value->text, letter, out);
  case OP_BOOLEAN:
    out->z = value->boolean;
    return letter == 'Z' ? SCALAR_FITS : SCALAR_KIND;
  case OP_NULL:
    return SCALAR_NULL;
  default:
    return SCALAR_KIND;
  }
}

char scalar_infer(const struct op_value *value)
{
  static const char by_suffix[] = {['l' - 'a'] = 'J', ['f' - 'a'] = 'F', ['d' - 'a'] = 'D'};
  if (value->kind == OP_BOOLEAN)
    return 'Z';
  if (value->kind != OP_INTEGER && value->kind != OP_NUMBER)
    return 0;
  if (value->suffix >= 'a' && value->suffix <= 'l')
    return by_suffix[value->suffix - 'a'];
  if (value->kind == OP_INTEGER)
    return value->integer >= INT32_MIN && value->integer <= INT32_MAX ? 'I' : 'J';
  struct number number;
  return number_parse(value->literal, &number) && !number.integral ? 'D' : 0;
}
