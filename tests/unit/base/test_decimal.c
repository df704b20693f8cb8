#include "base/decimal.h"

#include "base/number_format.h"
#include "tests/unit/unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Awkward numbers: half-way between two doubles, subnormal, at the ends of the range, and with many
 * digits. */
static const char awkward[] =
    "0 -0 0.0 0e999999999999 1 0.1 0.3 1e22 1e23 8.5e22 123456789012345678 9007199254740993 "
    "9007199254740992.9999999999999999999999 9007199254740993.0000000000000000000001 "
    "1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1e308 1e309 -1e400 4.9e-324 "
    "2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308 2.2250738585072014e-308 "
    "1e-400 1e-999999999999999999999 1e999999999999999999999 3.4028235e38 3.4028236e38 1.4e-45 "
    "7.0e-46 7.1e-46 16777217 16777217.0000001 33554435 "
    "0.000000000000000000000000000000000000000000000000000000000000001e63 "
    "100000000000000000000000000000000000000000000000000000000000000e-62 "
    "5.0000000596046447753906250000 5.0000000596046447753906250001 1.00000017881393432617187499"
    " 1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963"
    "30286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270"
    "069855571366959622842914819860834936475292719074168444365510704342711559699508093042880";

/* The C library's rounding of the same text is the reference. */
static void check_against_library(const char *text)
{
  char *copy = unit_exact_copy(text, strlen(text));
  struct text literal = {copy, strlen(text)};
  double d = decimal_to_double(literal);
  double wanted_d = strtod(text, NULL);
  float f = decimal_to_float(literal);
  float wanted_f = strtof(text, NULL);
  test_free(copy);
  if (d != wanted_d || signbit(d) != signbit(wanted_d))
    fail_msg("%s: %a, not %a", text, d, wanted_d);
  if (f != wanted_f || signbit(f) != signbit(wanted_f))
    fail_msg("%s: %a, not %a", text, (double)f, (double)wanted_f);
}

UNIT_TEST(rounds_awkward_numbers_rightly)
{
  char text[UNIT_WORD_MAX];
  for (const char *at = awkward; unit_next_word(&at, text);)
    check_against_library(text);
}

UNIT_TEST(rounds_made_numbers_rightly)
{
  srandom(20260101);
  for (int i = 0; i < 100000; i++) {
    char text[96];
    size_t len = 0;
    if (random() % 2 == 0)
      text[len++] = '-';
    int whole = 1 + (int)(random() % 20);
    for (int k = 0; k < whole; k++)
      text[len++] = (char)('0' + (k == 0 ? 1 + random() % 9 : random() % 10));
    if (random() % 2 == 0) {
      text[len++] = '.';
      for (int k = 1 + (int)(random() % 30); k > 0; k--)
        text[len++] = (char)('0' + random() % 10);
    }
    text[len] = '\0';
    if (random() % 2 == 0)
      snprintf(text + len, sizeof text - len, "e%ld", random() % 700 - 350);
    check_against_library(text);
  }
}

UNIT_TEST(rounds_numbers_of_any_length)
{
  /* Half-way between two doubles, with the deciding digit after very many zeros. */
  enum { ZEROS = 100000 };
  char *text = test_malloc(ZEROS + 64);
  static const char half[] = "9007199254740993.";
  memcpy(text, half, sizeof half);
  memset(text + sizeof half - 1, '0', ZEROS);
  size_t len = sizeof half - 1 + ZEROS;
  assert_true(decimal_to_double((struct text){text, len}) == 9007199254740992.0);
  text[len - 1] = '1';
  assert_true(decimal_to_double((struct text){text, len}) == 9007199254740994.0);
  assert_true(decimal_to_float((struct text){text, len}) == 9007199254740992.0f);
  /* Many digits before the point, compensated by the exponent. */
  memset(text, '0', ZEROS);
  text[0] = '7';
  memcpy(text + ZEROS, "e-99999", 8);
  assert_true(decimal_to_double((struct text){text, ZEROS + 7}) == 7.0);
  /* Many zeros after the point, compensated by the exponent. */
  memset(text, '0', ZEROS);
  text[1] = '.';
  text[ZEROS - 1] = '3';
  memcpy(text + ZEROS, "e99998", 7);
  assert_true(decimal_to_double((struct text){text, ZEROS + 6}) == 3.0);
  test_free(text);
}

UNIT_TEST(does_not_follow_the_locale)
{
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
  for (size_t i = 0; i < COUNT_OF(locales); i++) {
    if (setlocale(LC_ALL, locales[i]) != NULL)
      break;
  }
  char text[NUMBER_TEXT_MAX];
  assert_true(decimal_to_double(TEXT("1.2345678901234567e-7")) == 1.2345678901234567e-7);
  assert_true(decimal_to_float(TEXT("1.23456789e-7")) == 1.23456789e-7f);
  number_format_double(1.0 / 3e9, text);
  assert_string_equal(text, "3.333333333333333E-10");
  setlocale(LC_ALL, "C");
}

UNIT_TEST(counts_digits_with_the_exponent)
{
  static const struct {
    const char *text;
    size_t digits;
  } rows[] = {
      {"", 0},
      {"7", 1},
      {"-12.50", 4},
      {"+0012", 4},
      {"1e5", 6},
      {"1E-5", 6},
      {"-1.5e+10", 12},
      {"abc", 3},
      {"-", 0},
      {"\xC3\xA9t\xC3\xA9", 3},
      {"hello", 5},
      {"1e5x", 4},
      {"e", 1},
      {"1e", 2},
      {"1e-", 2},
      {"eeee", 4},
      {"\xEF\xBC\x91", 1},
      {"1e007", 8},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct text text = text_of(rows[i].text);
    if (!decimal_is_within(text, rows[i].digits) ||
        (rows[i].digits > 0 && decimal_is_within(text, rows[i].digits - 1)))
      fail_msg("%s has not %zu digits", rows[i].text, rows[i].digits);
  }
  static const char *const large[] = {"1e1000000", "1e-2147483648", "1e99999999999999999999999999999999999",
                                      "1e\xEF\xBC\x91", "1e1\xEF\xBC\x91"};
  for (size_t i = 0; i < COUNT_OF(large); i++)
    assert_false(decimal_is_within(text_of(large[i]), 1000000));
}

UNIT_MAIN
