#include "base/number_format.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of a positive number: 0.DIGITS * 10^point. */
struct digits {
  char text[24];
  int count;
  int point;
};

/*
 * The differences between double and float. Of the shortest decimals that read back as the value, Java writes
 * the one that is nearest to the value. Java writes at least two digits (4.9E-324, not 5E-324).
 */
struct width {
  /* A decimal of up to this many digits is unchanged after a conversion to the type and back. The search
   * therefore begins at this number of digits; zeros at its end are left out later. */
  int sure;
  int enough; /* a text of this many digits always reads back as the value */
  bool (*reads_back)(const struct digits *digits, double value);
};

static void text_for_reading(const struct digits *digits, char out[48])
{
  /* No point and no grouping: the same in every locale. */
  snprintf(out, 48, "%.*se%d", digits->count, digits->text, digits->point - digits->count);
}

static bool reads_back_double(const struct digits *digits, double value)
{
  char text[48];
  text_for_reading(digits, text);
  return strtod(text, NULL) == value;
}

static bool reads_back_float(const struct digits *digits, double value)
{
  char text[48];
  text_for_reading(digits, text);
  return strtof(text, NULL) == (float)value;
}

static const struct width double_width = {15, 17, reads_back_double};
static const struct width float_width = {6, 9, reads_back_float};

/* Finds the decimal of count digits that is nearest to the value. */
static void nearest_digits(double value, int count, struct digits *digits)
{
  char text[48];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  digits->count = 0;
  const char *p = text;
  for (; *p != 'e'; p++) {
    if (*p >= '0' && *p <= '9') /* the point is the locale's */
      digits->text[digits->count++] = *p;
  }
  digits->point = atoi(p + 1) + 1;
}

static void next_digits_up(struct digits *digits)
{
  int i = digits->count - 1;
  while (i >= 0 && digits->text[i] == '9')
    digits->text[i--] = '0';
  if (i >= 0) {
    digits->text[i]++;
  } else {
    digits->text[0] = '1';
    digits->point++;
  }
}

static bool is_power_of_two(double value)
{
  int exponent;
  return frexp(value, &exponent) == 0.5;
}

static void shortest_digits(double value, bool subnormal, const struct width *width, struct digits *digits)
{
  /* A subnormal has fewer bits than `sure` assumes. */
  for (int count = subnormal ? 2 : width->sure; count < width->enough; count++) {
    nearest_digits(value, count, digits);
    if (width->reads_back(digits, value))
      return;
    /* The neighbour above a power of two is twice as far from it as the neighbour below. For this reason the
     * second nearest decimal may read back as well. */
    if (is_power_of_two(value)) {
      next_digits_up(digits);
      if (width->reads_back(digits, value))
        return;
    }
  }
  nearest_digits(value, width->enough, digits);
}

static size_t put_zeros(char *out, int count)
{
  if (count <= 0)
    return 0;
  memset(out, '0', (size_t)count);
  return (size_t)count;
}

static size_t put_bytes(char *out, const char *bytes, int count)
{
  if (count <= 0)
    return 0;
  memcpy(out, bytes, (size_t)count);
  return (size_t)count;
}

/* Writes a number without an exponent: Java does so from 0.001 up to below ten million. */
static size_t put_without_exponent(const struct digits *digits, char *out)
{
  size_t n = 0;
  if (digits->point <= 0)
    out[n++] = '0';
  int whole = digits->count < digits->point ? digits->count : digits->point;
  n += put_bytes(out + n, digits->text, whole);
  n += put_zeros(out + n, digits->point - digits->count);
  out[n++] = '.';
  n += put_zeros(out + n, -digits->point);
  int from = digits->point > 0 ? digits->point : 0;
  if (from >= digits->count)
    out[n++] = '0';
  n += put_bytes(out + n, digits->text + from, digits->count - from);
  return n;
}

static size_t put_exponent(const struct digits *digits, char *out)
{
  size_t n = 0;
  out[n++] = digits->text[0];
  out[n++] = '.';
  if (digits->count == 1)
    out[n++] = '0';
  n += put_bytes(out + n, digits->text + 1, digits->count - 1);
  out[n++] = 'E';
  return n + number_format_integer(digits->point - 1, out + n);
}

static size_t put_digits(struct digits *digits, char *out)
{
  while (digits->count > 1 && digits->text[digits->count - 1] == '0')
    digits->count--;
  if (digits->point > -3 && digits->point <= 7)
    return put_without_exponent(digits, out);
  return put_exponent(digits, out);
}

/* Writes NaN, an infinity or a zero; returns 0 for any other value. */
static size_t put_special(double value, char *out)
{
  const char *text = NULL;
  if (isnan(value))
    text = "NaN";
  else if (isinf(value))
    text = value < 0 ? "-Infinity" : "Infinity";
  else if (value == 0)
    text = signbit(value) ? "-0.0" : "0.0";
  if (text == NULL)
    return 0;
  size_t length = strlen(text);
  memcpy(out, text, length + 1);
  return length;
}

static void digits_of_integer(uint64_t integer, int fraction_digits, struct digits *digits)
{
  char text[NUMBER_TEXT_MAX];
  digits->count = (int)number_format_integer((int64_t)integer, text);
  memcpy(digits->text, text, (size_t)digits->count);
  digits->point = digits->count - fraction_digits;
}

enum { QUICK_FRACTION = 8 };
static const double double_scale[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
static const float float_scale[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f};

/*
 * Most values that people and programs write have few digits. An integer below 10^15 and the power of ten are
 * both exact, so their quotient is correctly rounded. If the quotient is the value itself, the digits of the
 * integer read back as the value. If these are at most `sure` digits, no other decimal of this length reads
 * back as the value.
 */
static bool quick_double(double value, struct digits *digits)
{
  if (value < 1e-3 || value >= 1e15)
    return false;
  for (int i = 0; i <= QUICK_FRACTION; i++) {
    double scaled = rint(value * double_scale[i]);
    if (scaled >= 1e15)
      return false;
    if (scaled / double_scale[i] == value) {
      digits_of_integer((uint64_t)scaled, i, digits);
      return true;
    }
  }
  return false;
}

static bool quick_float(float value, struct digits *digits)
{
  if (value < 1e-3f || value >= 1e6f)
    return false;
  for (int i = 0; i <= QUICK_FRACTION; i++) {
    float scaled = rintf(value * float_scale[i]);
    if (scaled >= 1e6f)
      return false;
    if (scaled / float_scale[i] == value) {
      digits_of_integer((uint64_t)scaled, i, digits);
      return true;
    }
  }
  return false;
}

size_t number_format_double(double value, char out[NUMBER_TEXT_MAX])
{
  size_t n = put_special(value, out);
  if (n > 0)
    return n;
  struct digits digits;
  if (signbit(value))
    out[n++] = '-';
  value = fabs(value);
  if (!quick_double(value, &digits))
    shortest_digits(value, fpclassify(value) == FP_SUBNORMAL, &double_width, &digits);
  n += put_digits(&digits, out + n);
  out[n] = '\0';
  return n;
}

size_t number_format_float(float value, char out[NUMBER_TEXT_MAX])
{
  size_t n = put_special((double)value, out);
  if (n > 0)
    return n;
  struct digits digits;
  if (signbit(value))
    out[n++] = '-';
  value = fabsf(value);
  if (!quick_float(value, &digits))
    shortest_digits((double)value, fpclassify(value) == FP_SUBNORMAL, &float_width, &digits);
  n += put_digits(&digits, out + n);
  out[n] = '\0';
  return n;
}

enum { EIGHT_DIGITS = 100000000 };

/* Splits a number below 10^8 into eight bytes of 0 to 9, the first digit lowest. First the number is split
 * into two halves of four digits, then the halves into pairs, then the pairs into digits. Parts of equal size
 * are divided at once, by multiplications that are exact for numbers of this size. */
static uint64_t split_eight(uint64_t value)
{
  uint64_t fours = value / 10000 | value % 10000 << 32;
  uint64_t hundreds = fours * 5243 >> 19 & 0x0000007F0000007Fu;
  uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
  uint64_t tens = pairs * 103 >> 10 & 0x000F000F000F000Fu;
  return tens | (pairs - tens * 10) << 8;
}

/* Writes eight bytes and returns how many of them belong to the number. */
static size_t put_small(char *out, uint64_t value)
{
  uint64_t digits = split_eight(value);
  size_t zeros = (size_t)__builtin_ctzll(digits | (uint64_t)1 << 56) / 8; /* the last digit always counts */
  digits = htole64((digits | 0x3030303030303030u) >> 8 * zeros);
  memcpy(out, &digits, sizeof digits);
  return sizeof digits - zeros;
}

/* The same for any number from 10^8 on. */
static size_t put_large(char *out, uint64_t value)
{
  const uint64_t above = value / EIGHT_DIGITS;
  const size_t count = above < EIGHT_DIGITS ? put_small(out, above) : put_large(out, above);
  const uint64_t digits = htole64(split_eight(value % EIGHT_DIGITS) | 0x3030303030303030u);
  memcpy(out + count, &digits, sizeof digits);
  return count + sizeof digits;
}

size_t number_format_integer(int64_t value, char out[NUMBER_TEXT_MAX])
{
  size_t n = value < 0;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  out[0] = '-';
  n += rest < EIGHT_DIGITS ? put_small(out + n, rest) : put_large(out + n, rest);
  out[n] = '\0';
  return n;
}
