#include "base/decimal.h"

#include "base/number.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads the exponent after the e. Java accepts digits beyond ASCII in an exponent; an exponent with such a
 * digit counts as LARGEST. */
static size_t read_magnitude(struct text t, bool *is_exponent)
{
  enum { LARGEST = 1 << 30 };
  size_t value = 0;
  size_t sign = t.len > 0 && (t.data[0] == '-' || t.data[0] == '+');
  size_t i = sign;
  for (; i < t.len && (number_is_digit(t.data[i]) || (unsigned char)t.data[i] > 0x7F); i++) {
    bool is_small = value < LARGEST / 16 && number_is_digit(t.data[i]);
    value = is_small ? value * 10 + (size_t)(t.data[i] - '0') : LARGEST;
  }
  *is_exponent = i > sign && i == t.len;
  return value;
}

bool decimal_is_within(struct text t, size_t digits_max)
{
  size_t digits = 0;
  for (size_t i = 0; i < t.len; i++) {
    unsigned char c = (unsigned char)t.data[i];
    bool is_exponent = false;
    if (c == 'e' || c == 'E') {
      size_t magnitude = read_magnitude(text_slice(t, i + 1, t.len), &is_exponent);
      if (is_exponent)
        return digits <= digits_max && magnitude <= digits_max - digits;
    }
    bool begins_character = (c & 0xC0) != 0x80;
    digits += begins_character && c != '-' && c != '+' && c != '.';
  }
  return digits <= digits_max;
}

/* A double that lies half-way between two others has at most 767 digits. One more digit is enough to show
 * that further digits follow. */
enum { DIGITS_MAX = 800, EXPONENT_MAX = 100000 };

/* The digits as an integer without leading zeros, times ten to the exponent. */
struct decimal {
  bool negative;
  size_t count;
  int64_t exponent;
  char digits[DIGITS_MAX + 1];
};

static int64_t read_exponent(const char *p, const char *end)
{
  bool negative = *p == '-';
  p += *p == '-' || *p == '+';
  int64_t value = 0;
  /* The loop stops long before the value can overflow. No literal has enough digits to compensate for an
   * exponent of this size. */
  for (; p < end && value < (int64_t)1 << 50; p++)
    value = value * 10 + (*p - '0');
  return negative ? -value : value;
}

static void read_decimal(struct text literal, struct decimal *decimal)
{
  const char *p = literal.data;
  const char *end = p + literal.len;
  decimal->negative = *p == '-';
  decimal->count = 0;
  decimal->exponent = 0;
  bool fraction = false;
  bool dropped = false;
  for (p += decimal->negative; p < end && *p != 'e' && *p != 'E'; p++) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    bool leading_zero = decimal->count == 0 && *p == '0';
    if (decimal->count < DIGITS_MAX) {
      if (!leading_zero)
        decimal->digits[decimal->count++] = *p;
      decimal->exponent -= fraction;
    } else {
      dropped |= *p != '0';
      decimal->exponent += !fraction;
    }
  }
  if (p < end)
    decimal->exponent += read_exponent(p + 1, end);
  if (dropped) {
    decimal->digits[decimal->count++] = '1';
    decimal->exponent--;
  }
}

/*
 * Writes the text for strtod and strtof, because these round correctly. The text has no point and no
 * grouping, so it means the same in every locale.
 */
enum { EXPONENT_TEXT_MAX = 32 };
static void format_for_strtod(const struct decimal *decimal, char out[DIGITS_MAX + EXPONENT_TEXT_MAX])
{
  int64_t exponent = decimal->exponent;
  if (exponent > EXPONENT_MAX)
    exponent = EXPONENT_MAX;
  if (exponent < -EXPONENT_MAX)
    exponent = -EXPONENT_MAX;
  snprintf(out, DIGITS_MAX + EXPONENT_TEXT_MAX, "%s%.*se%d", decimal->negative ? "-" : "",
           (int)decimal->count, decimal->digits, (int)exponent);
}

static uint64_t decimal_mantissa(const struct decimal *decimal)
{
  uint64_t mantissa = 0;
  for (size_t i = 0; i < decimal->count; i++)
    mantissa = mantissa * 10 + (uint64_t)(decimal->digits[i] - '0');
  return mantissa;
}

/* The powers of ten that a double and a float hold exactly. */
static const double double_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const float float_powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

_Static_assert(FLT_EVAL_METHOD == 0, "one operation must round once, to its own type");

double decimal_to_double(struct text literal)
{
  struct decimal decimal;
  read_decimal(literal, &decimal);
  if (decimal.count == 0)
    return decimal.negative ? -0.0 : 0.0;
  /* The result is correctly rounded, because both operands are exact and there is only one operation. */
  if (decimal.count <= DBL_DIG && decimal.exponent >= -22 && decimal.exponent <= 22) {
    double value = (double)decimal_mantissa(&decimal);
    if (decimal.exponent < 0)
      value /= double_powers[-decimal.exponent];
    else
      value *= double_powers[decimal.exponent];
    return decimal.negative ? -value : value;
  }
  char text[DIGITS_MAX + EXPONENT_TEXT_MAX];
  format_for_strtod(&decimal, text);
  return strtod(text, NULL);
}

float decimal_to_float(struct text literal)
{
  struct decimal decimal;
  read_decimal(literal, &decimal);
  if (decimal.count == 0)
    return decimal.negative ? -0.0f : 0.0f;
  if (decimal.count <= FLT_DIG && decimal.exponent >= -10 && decimal.exponent <= 10) {
    float value = (float)decimal_mantissa(&decimal);
    if (decimal.exponent < 0)
      value /= float_powers[-decimal.exponent];
    else
      value *= float_powers[decimal.exponent];
    return decimal.negative ? -value : value;
  }
  char text[DIGITS_MAX + EXPONENT_TEXT_MAX];
  format_for_strtod(&decimal, text);
  return strtof(text, NULL);
}
