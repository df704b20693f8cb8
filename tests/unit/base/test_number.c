#include "base/number.h"

#include "tests/unit/unit.h"

static const struct read_case {
  const char *text;
  const char *literal;
  char suffix;
  bool integral;
  bool fits;
  int64_t integer;
} read_cases[] = {
    {"0", "0", 0, true, true, 0},
    {"-0", "-0", 0, true, true, 0},
    {"42", "42", 0, true, true, 42},
    {"-23l", "-23", 'l', true, true, -23},
    {"100L", "100", 'l', true, true, 100},
    {"5D", "5", 'd', true, true, 5},
    {"5f", "5", 'f', true, true, 5},
    {"3.14d", "3.14", 'd', false, false, 0},
    {"1e3", "1e3", 0, false, false, 0},
    {"1E3F", "1E3", 'f', false, false, 0},
    {"1.5l", "1.5", 'l', false, false, 0},
    {"9223372036854775807", "9223372036854775807", 0, true, true, INT64_MAX},
    {"-9223372036854775808", "-9223372036854775808", 0, true, true, INT64_MIN},
    {"9223372036854775808", "9223372036854775808", 0, true, false, 0},
    {"-9223372036854775809", "-9223372036854775809", 0, true, false, 0},
    {"18446744073709551617", "18446744073709551617", 0, true, false, 0},
    {"123456789012345678901234567890l", "123456789012345678901234567890", 'l', true, false, 0},
};

UNIT_TEST(reads_digits_and_suffix)
{
  for (size_t i = 0; i < COUNT_OF(read_cases); i++) {
    const struct read_case *c = &read_cases[i];
    char *copy = unit_exact_copy(c->text, strlen(c->text));
    struct number number;
    assert_true(number_parse((struct text){copy, strlen(c->text)}, &number));
    unit_assert_text(number.literal, text_of(c->literal), __FILE__, __LINE__);
    assert_int_equal(number.suffix, c->suffix);
    assert_int_equal(number.integral, c->integral);
    assert_int_equal(number.fits, c->fits);
    assert_true(number.integer == c->integer);
    test_free(copy);
  }
}

UNIT_TEST(refuses_text_that_is_no_number)
{
  static const struct text refused[] = {
      TEXT(""),     TEXT("-"),        TEXT("+1"),   TEXT("01"),  TEXT("-01"),   TEXT("1."),  TEXT(".1"),
      TEXT("1e"),   TEXT("1e+"),      TEXT("1.e1"), TEXT("1 "),  TEXT(" 1"),    TEXT("1dd"), TEXT("1d "),
      TEXT("d"),    TEXT("-d"),       TEXT("1x"),   TEXT("0x1"), TEXT("1,5"),   TEXT("NaN"), TEXT("--1"),
      TEXT("1e5e"), TEXT("Infinity"), TEXT("1\0"),  TEXT("1_0"), TEXT("1.5.1"), TEXT("1ef"), TEXT("\xD9\xA1"),
  };
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    char *copy = unit_exact_copy(refused[i].data, refused[i].len);
    struct number number;
    if (number_parse((struct text){copy, refused[i].len}, &number))
      fail_msg("accepted: %s", refused[i].data);
    test_free(copy);
  }
}

UNIT_MAIN
