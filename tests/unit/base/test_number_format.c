#include "base/number_format.h"

#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The results of Java's Double.toString since JDK 19. Its digits are the shortest that give the same number
 * when they are read, so each number is read first. */
static const char doubles[] =
    "0.0 -0.0 1.0 -8.0 0.1 3.14 100.0 0.001 0.00123 9.999E-4 1.0E-4 9999999.0 "
    "9999999.999999998 1.0E7 1.23456789E7 1.0E10 1.0E15 1.0E21 1.0E22 1.0E23 2.0E23 "
    "0.30000000000000004 0.3333333333333333 0.6666666666666666 123456.789 "
    "9.007199254740991E15 9.007199254740992E15 9.007199254740994E15 "
    "9.223372036854776E18 1.7976931348623157E308 2.2250738585072014E-308 "
    "2.225073858507201E-308 4.9E-324 9.9E-324 1.5E-323 2.0E-323 "
    "5.684341886080802E-14 Infinity -Infinity NaN";
static const char floats[] = "0.0 -0.0 1.1 0.1 -1.5 3.4028235E38 1.1754944E-38 1.4E-45 2.8E-45 1.6777216E7 "
                             "3.3554432E7 8.589935E9 1.0E10 9999999.0 0.001 0.33333334 0.002 -Infinity NaN";

UNIT_TEST(writes_decimals_as_java_does)
{
  char text[NUMBER_TEXT_MAX];
  char wanted[UNIT_WORD_MAX];
  for (const char *at = doubles; unit_next_word(&at, wanted);) {
    assert_int_equal(number_format_double(strtod(wanted, NULL), text), strlen(wanted));
    assert_string_equal(text, wanted);
  }
  for (const char *at = floats; unit_next_word(&at, wanted);) {
    assert_int_equal(number_format_float(strtof(wanted, NULL), text), strlen(wanted));
    assert_string_equal(text, wanted);
  }
  number_format_double(-NAN, text);
  assert_string_equal(text, "NaN");
}

static size_t count_digits(const char *text)
{
  const char *p = text;
  size_t count = 0;
  size_t zeros = 0;
  for (; *p != '\0' && *p != 'E'; p++) {
    if (*p < '0' || *p > '9' || (count == 0 && *p == '0'))
      continue;
    zeros = *p == '0' ? zeros + 1 : 0;
    count++;
  }
  return count - zeros;
}

static void check_double(double value)
{
  char text[NUMBER_TEXT_MAX];
  number_format_double(value, text);
  if (strtod(text, NULL) != value)
    fail_msg("%a is written as %s", value, text);
  /* Checks that no decimal with fewer digits reads back as the value. The C library makes the decimals that
   * are nearest to the value. */
  for (int digits = 1; digits < (int)count_digits(text) && digits < 17; digits++) {
    char shorter[48];
    snprintf(shorter, sizeof shorter, "%.*e", digits - 1, value);
    bool java_wants_two = digits == 1;
    if (strtod(shorter, NULL) == value && !java_wants_two)
      fail_msg("%s is written as %s", shorter, text);
  }
}

UNIT_TEST(writes_the_shortest_digits_that_read_back)
{
  srandom(20260102);
  for (int i = 0; i < 20000; i++) {
    union {
      uint64_t bits;
      double value;
    } any = {.bits = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random()};
    if (isfinite(any.value) && any.value != 0)
      check_double(any.value);
    check_double((double)(1 + random() % 1000000) / pow(10, (double)(random() % 12)));
    check_double((double)(1 + random()));
  }
  for (int exponent = -1074; exponent <= 1023; exponent++) {
    check_double(ldexp(1, exponent));
    check_double(nextafter(ldexp(1, exponent), INFINITY));
    check_double(nextafter(ldexp(1, exponent), 1e-320));
  }
}

UNIT_TEST(writes_floats_that_read_back)
{
  /* A step that visits every exponent and many digits. */
  for (uint32_t bits = 1; bits < 0x7F800000; bits += 9973) {
    float value;
    memcpy(&value, &bits, sizeof value);
    char text[NUMBER_TEXT_MAX];
    number_format_float(value, text);
    if (strtof(text, NULL) != value)
      fail_msg("%a is written as %s", (double)value, text);
    if (count_digits(text) > 9)
      fail_msg("%a is written as %s", (double)value, text);
  }
}

UNIT_TEST(writes_integers)
{
  static const char integers[] =
      "0 7 -10 9 100 -1999 9999 10000 1009900 10000000 99999999 -99999999 100000000 "
      "1234567890 9223372036854775807 -9223372036854775808";
  char text[NUMBER_TEXT_MAX];
  char wanted[UNIT_WORD_MAX];
  for (const char *at = integers; unit_next_word(&at, wanted);) {
    assert_int_equal(number_format_integer(strtoll(wanted, NULL, 10), text), strlen(wanted));
    assert_string_equal(text, wanted);
  }
}

/* Every pair of digits, and every place where digits are split. */
UNIT_TEST(writes_all_small_integers)
{
  static const int64_t from[] = {0, 9990000, 99990000};
  for (size_t i = 0; i < COUNT_OF(from); i++)
    for (int64_t value = from[i]; value < from[i] + 20000; value++) {
      char text[NUMBER_TEXT_MAX];
      char wanted[NUMBER_TEXT_MAX];
      snprintf(wanted, sizeof wanted, "%lld", (long long)value);
      size_t length = number_format_integer(value, text);
      if (length != strlen(wanted) || strcmp(text, wanted) != 0)
        fail_msg("%s is written as %s", wanted, text);
    }
}

UNIT_MAIN
