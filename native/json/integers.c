#include "json/integers.h"

#include "json/scan.h"

enum { DIGITS_MAX = 18 }; /* what always fits 64 bits */

size_t json_integers_most(struct text span)
{
  size_t commas = 0;
  size_t i = 0;
  for (; i + 8 <= span.len; i += 8) {
    /* Exact in every byte: nothing is carried from one to the next. */
    uint64_t x = scan_load(span.data + i) ^ SCAN_REPEAT(',');
    uint64_t zero = ~(((x & SCAN_REPEAT(0x7F)) + SCAN_REPEAT(0x7F)) | x) & SCAN_REPEAT(0x80);
    commas += (zero >> 7) * SCAN_REPEAT(1) >> 56;
  }
  for (; i < span.len; i++)
    commas += span.data[i] == ',';
  return commas + 1;
}

/* 0 to 9 in each byte, the most significant lowest. */
static uint64_t join_digits(uint64_t digits)
{
  digits = (digits * (1 + (10u << 8))) >> 8 & 0x00FF00FF00FF00FFu;
  digits = (digits * (1 + (100ull << 16))) >> 16 & 0x0000FFFF0000FFFFu;
  return (digits * (1 + (10000ull << 32))) >> 32;
}

/* How many of the first seven bytes are digits; their number in *value. */
static unsigned read_seven(const char *p, uint64_t *value)
{
  uint64_t x = scan_load(p) ^ SCAN_REPEAT('0');
  /* Exact up to the lowest mark, as a carry goes upwards. The eighth byte is taken for a mark. */
  uint64_t marks = ((x + SCAN_REPEAT(6)) | x) & SCAN_REPEAT(0xF0);
  unsigned count = scan_first(marks | (uint64_t)0x80 << 56);
  *value = count == 0 ? 0 : join_digits(x << (64 - 8 * count));
  return count;
}

/* Reads digits and gives their end; NULL where there are none, or too many. */
static const char *read_digits(const char *p, const char *end, uint64_t *value)
{
  const char *begin = p;
  *value = 0;
  if (end - p >= 8) {
    unsigned count = read_seven(p, value);
    p += count;
    if (count < 7)
      return count == 0 ? NULL : p;
  }
  for (; p < end && scan_is_digit(*p); p++) {
    if (p - begin == DIGITS_MAX)
      return NULL;
    *value = *value * 10 + (uint64_t)(*p - '0');
  }
  return p == begin ? NULL : p;
}

static void write_integer(void *out, size_t index, size_t size, int64_t integer)
{
  switch (size) {
  case 1:
    ((int8_t *)out)[index] = (int8_t)integer;
    break;
  case 2:
    ((int16_t *)out)[index] = (int16_t)integer;
    break;
  case 4:
    ((int32_t *)out)[index] = (int32_t)integer;
    break;
  default:
    ((int64_t *)out)[index] = integer;
    break;
  }
}

bool json_integers_read(struct text span, const struct json_integers_form *form, void *out)
{
  const char *end = span.data + span.len;
  const char *p = span.data;
  for (size_t index = 0; *p != ']'; index++) {
    uint64_t value;
    p = scan_space(p + 1, end);
    bool negative = p < end && *p == '-';
    p = read_digits(p + negative, end, &value);
    if (p == NULL)
      return false;
    int64_t integer = negative ? -(int64_t)value : (int64_t)value;
    if (integer < form->min || integer > form->max)
      return false;
    write_integer(out, index, form->size, integer);
    p = scan_space(p, end);
    if (p == end || (*p != ',' && *p != ']'))
      return false;
  }
  return true;
}
