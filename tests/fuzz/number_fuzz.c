/* Suffixed numbers: the input is the text. An accepted number is rounded as by the C library, and its output reads
 * back as the same value. */
#include "base/decimal.h"
#include "base/number.h"
#include "base/number_format.h"

#include "tests/fuzz/fuzz.h"
#include <math.h>

static void require_same(double value, double wanted)
{
  require(value == wanted && signbit(value) == signbit(wanted));
}

static void check_double(double value)
{
  char text[NUMBER_TEXT_MAX];
  struct text written = {text, number_format_double(value, text)};
  if (!isfinite(value))
    return;
  require_same(decimal_to_double(written), value);
}

static void check_float(float value)
{
  char text[NUMBER_TEXT_MAX];
  struct text written = {text, number_format_float(value, text)};
  if (!isfinite(value))
    return;
  require_same((double)decimal_to_float(written), (double)value);
}

static void check_number(const struct number *number)
{
  char *copy = copy_with_end(number->literal);
  double value = decimal_to_double(number->literal);
  float single = decimal_to_float(number->literal);
  require_same(value, strtod(copy, NULL));
  require_same((double)single, (double)strtof(copy, NULL));
  if (number->fits)
    require(number->integer == strtoll(copy, NULL, 10));
  free(copy);
  check_double(value);
  check_float(single);
}

FUZZ_TARGET(input)
{
  struct number number;
  if (number_parse(input, &number))
    check_number(&number);
  /* Any eight bytes are a double, any four a float. */
  double value;
  float single;
  if (input.len >= sizeof value) {
    memcpy(&value, input.data, sizeof value);
    check_double(value);
  }
  if (input.len >= sizeof single) {
    memcpy(&single, input.data, sizeof single);
    check_float(single);
  }
}
