#include "json/number.h"

#include "json/vector.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static const char *scan_digits(const char *p, const char *end)
{
  while (p < end && scan_is_digit(*p))
    p++;
  return p;
}

/* At least one digit must be at p. */
static const char *scan_some_digits(const char *p, const char *end, const char **stop)
{
  const char *behind = scan_digits(p, end);
  if (behind > p)
    return behind;
  *stop = p;
  return NULL;
}

const char *scan_number(const char *p, const char *end, const char **stop)
{
  if (p < end && *p == '-')
    p++;
  if (p < end && *p == '0') {
    p++;
    if (p < end && scan_is_digit(*p)) { /* no leading zeros */
      *stop = p;
      return NULL;
    }
  } else {
    p = scan_some_digits(p, end, stop);
  }
  if (p != NULL && p < end && *p == '.')
    p = scan_some_digits(p + 1, end, stop);
  if (p != NULL && p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    p = scan_some_digits(p, end, stop);
  }
  return p;
}

/* Digits that no 64 bits are too few for. */
enum { SURE_DIGITS = 18 };

/* False where p, behind the sign, is not digits alone, or where they are beyond 64 bits. */
static bool read_integer(const char *p, const char *end, bool negative, int64_t *integer)
{
  /* Taken below zero, where there is room for one more. */
  int64_t value = 0;
  for (; p < end && scan_is_digit(*p); p++) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, *p - '0', &value))
      return false;
  }
  if (p < end || (!negative && __builtin_sub_overflow(0, value, &value)))
    return false;
  *integer = value;
  return true;
}

static bool read_short_integer(const char *p, const char *end, bool negative, int64_t *integer)
{
  uint64_t value = 0;
  for (; p < end; p++) {
    unsigned digit = (unsigned)(*p - '0');
    if (digit > 9)
      return false;
    value = value * 10 + digit;
  }
  *integer = negative ? -(int64_t)value : (int64_t)value;
  return true;
}

static bool is_integral(struct text literal)
{
  for (size_t i = 0; i < literal.len; i++) {
    char c = literal.data[i];
    if (c == '.' || c == 'e' || c == 'E')
      return false;
  }
  return true;
}

void json_number_read(struct text span, struct json_number *number)
{
  char suffix = scan_suffix(span.data[span.len - 1]);
  struct text literal = {span.data, span.len - (suffix != 0)};
  bool negative = span.data[0] == '-';
  const char *p = span.data + negative;
  const char *end = literal.data + literal.len;
  number->literal = literal;
  number->suffix = suffix;
  number->integer = 0;
  number->fits = end - p <= SURE_DIGITS ? read_short_integer(p, end, negative, &number->integer)
                                        : read_integer(p, end, negative, &number->integer);
  number->integral = number->fits || is_integral(literal);
}

size_t json_number_at(struct text t)
{
  const char *end = t.data + t.len;
  const char *stop;
  const char *behind = t.len == 0 ? NULL : scan_number(t.data, end, &stop);
  if (behind == NULL)
    return 0;
  return (size_t)(behind - t.data) + (behind < end && scan_suffix(*behind) != 0);
}

/* The first eight bytes, the first one lowest; zeros where there are fewer. */
static uint64_t load_upto(const char *p, size_t left)
{
  enum { WORD = sizeof(uint64_t), HALF = sizeof(uint32_t) };
  if (left >= WORD)
    return scan_load(p);
  uint64_t word = 0;
  if (left < HALF) {
    for (size_t i = 0; i < left; i++)
      word |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return word;
  }
  /* Two halves that may overlap. */
  uint32_t first;
  uint32_t last;
  memcpy(&first, p, HALF);
  memcpy(&last, p + left - HALF, HALF);
  return le32toh(first) | (uint64_t)le32toh(last) << 8 * (left - HALF);
}

/* 0x80 in each byte that is no digit, exact in every byte. */
static uint64_t mark_no_digit(uint64_t word)
{
  uint64_t x = word ^ SCAN_REPEAT('0');
  return (((x & SCAN_REPEAT(0x7F)) + SCAN_REPEAT(0x80 - 10)) | x) & SCAN_REPEAT(0x80);
}

static bool ends_value(char c)
{
  return c == ',' || c == '}' || c == ']';
}

/* By eights, and what is left in one go: how many digits there are can mostly not be foretold. */
size_t json_plain_integer_at(struct text t, int64_t *integer)
{
  enum { WORD = sizeof(uint64_t), TEN_TO_EIGHT = 100000000 };
  static const uint32_t powers[WORD] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  size_t sign = t.len > 0 && *t.data == '-';
  struct text rest = text_slice(t, sign, t.len);
  uint64_t value = 0;
  uint64_t word = load_upto(rest.data, rest.len);
  while (mark_no_digit(word) == 0) { /* what overflows has too many digits, and is not taken */
    value = value * TEN_TO_EIGHT + vector_join_eight(word);
    rest = text_slice(rest, WORD, rest.len);
    word = load_upto(rest.data, rest.len);
  }
  size_t last = scan_first(mark_no_digit(word));
  size_t digits = (size_t)(rest.data - t.data) - sign + last;
  bool has_leading_zero = digits > 1 && t.data[sign] == '0';
  if (digits == 0 || digits > SURE_DIGITS || has_leading_zero || !ends_value((char)(word >> 8 * last)))
    return 0;
  value = value * powers[last] + vector_join_eight(word << 8 * (WORD - 1 - last) << 8);
  *integer = sign > 0 ? -(int64_t)value : (int64_t)value;
  return sign + digits;
}

/* Behind the e. Java takes digits beyond ASCII there, too; those stand for the largest exponent here. */
static size_t read_magnitude(struct text t, bool *is_exponent)
{
  enum { LARGEST = 1 << 30 };
  size_t value = 0;
  size_t sign = t.len > 0 && (t.data[0] == '-' || t.data[0] == '+');
  size_t i = sign;
  for (; i < t.len && (scan_is_digit(t.data[i]) || (unsigned char)t.data[i] > 0x7F); i++) {
    bool is_small = value < LARGEST / 16 && scan_is_digit(t.data[i]);
    value = is_small ? value * 10 + (size_t)(t.data[i] - '0') : LARGEST;
  }
  *is_exponent = i > sign && i == t.len;
  return value;
}

bool json_number_is_within(struct text t, size_t digits_max)
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

bool json_number_parse(struct text t, struct json_number *number)
{
  if (t.len == 0 || json_number_at(t) != t.len)
    return false;
  json_number_read(t, number);
  return true;
}

/* More digits than any double or float can tell apart (767 for a double half-way between two), so that one
 * digit can stand for all that follow. */
enum { DIGITS_MAX = 800, EXPONENT_MAX = 100000 };

/* DIGITS, taken as an integer without leading zeros, times ten to the exponent. */
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
  /* Stops growing long before it can overflow; no literal has enough digits to bring such an exponent back.
   */
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
 * The digits as text for strtod and strtof, which round correctly. With neither point nor grouping in it, the
 * text means the same in every locale.
 */
enum { EXPONENT_TEXT_MAX = 32 };
static void write_decimal(const struct decimal *decimal, char out[DIGITS_MAX + EXPONENT_TEXT_MAX])
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

/* The powers that a double and a float hold exactly. */
static const double double_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const float float_powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

_Static_assert(FLT_EVAL_METHOD == 0, "one operation must round once, to its own type");

double json_number_to_double(struct text literal)
{
  struct decimal decimal;
  read_decimal(literal, &decimal);
  if (decimal.count == 0)
    return decimal.negative ? -0.0 : 0.0;
  /* Two exact operands and one operation round correctly. */
  if (decimal.count <= DBL_DIG && decimal.exponent >= -22 && decimal.exponent <= 22) {
    double value = (double)decimal_mantissa(&decimal);
    if (decimal.exponent < 0)
      value /= double_powers[-decimal.exponent];
    else
      value *= double_powers[decimal.exponent];
    return decimal.negative ? -value : value;
  }
  char text[DIGITS_MAX + EXPONENT_TEXT_MAX];
  write_decimal(&decimal, text);
  return strtod(text, NULL);
}

float json_number_to_float(struct text literal)
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
  write_decimal(&decimal, text);
  return strtof(text, NULL);
}
