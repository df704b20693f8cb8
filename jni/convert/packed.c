#include "jni/convert/packed.h"

#include "base/primitives.h"

#include <math.h>

enum { CHUNK = 256 };

static unsigned size_step(size_t narrow, size_t wide)
{
  unsigned step = 0;
  for (; narrow < wide; narrow *= 2)
    step++;
  return step;
}

static bool is_fraction(char letter)
{
  return letter == 'F' || letter == 'D';
}

static bool is_whole(char letter)
{
  return letter == 'B' || letter == 'S' || letter == 'I' || letter == 'J';
}

unsigned packed_step(char from, char to)
{
  enum { NARROWER = 4, TO_DOUBLE = 8, TO_FLOAT = 9 };
  if (from == to)
    return 0;
  if (is_fraction(from))
    return is_fraction(to) ? 1 : PACKED_NEVER;
  if (!is_whole(from))
    return PACKED_NEVER;
  if (is_fraction(to))
    return to == 'D' ? TO_DOUBLE : TO_FLOAT;
  if (!is_whole(to))
    return PACKED_NEVER;
  size_t given = primitive_size(from);
  size_t wanted = primitive_size(to);
  return wanted > given ? size_step(given, wanted) : NARROWER + size_step(wanted, given);
}

static int64_t read_whole(const struct op_value *packed, size_t at)
{
  switch (packed->packed.element) {
  case 'B':
    return ((const int8_t *)packed->packed.data)[at];
  case 'S':
    return ((const int16_t *)packed->packed.data)[at];
  case 'I':
    return ((const int32_t *)packed->packed.data)[at];
  default:
    return ((const int64_t *)packed->packed.data)[at];
  }
}

/* True if the double or float equals the whole number exactly, without rounding: 2^63 itself is not a
 * long. */
static bool is_exactly(double number, int64_t whole)
{
  return number < 0x1p63 && (int64_t)number == whole;
}

/* False if the type cannot hold the whole number. */
static bool store_whole(int64_t whole, char to, void *out, size_t at)
{
  switch (to) {
  case 'B':
    ((int8_t *)out)[at] = (int8_t)whole;
    return (int8_t)whole == whole;
  case 'S':
    ((int16_t *)out)[at] = (int16_t)whole;
    return (int16_t)whole == whole;
  case 'I':
    ((int32_t *)out)[at] = (int32_t)whole;
    return (int32_t)whole == whole;
  case 'F':
    ((float *)out)[at] = (float)whole;
    return is_exactly((float)whole, whole);
  case 'D':
    ((double *)out)[at] = (double)whole;
    return is_exactly((double)whole, whole);
  default:
    ((int64_t *)out)[at] = whole;
    return true;
  }
}

/* Converts the elements of an OP_PACKED from index `from` up to `to`, and writes them from the beginning of
 * out. */
static bool convert_part(const struct op_value *packed, char letter, size_t from, size_t to, void *out,
                         size_t *at)
{
  const char given = packed->packed.element;
  for (size_t i = from; i < to; i++) {
    bool fits = true;
    if (given == 'F') {
      ((double *)out)[i - from] = ((const float *)packed->packed.data)[i];
    } else if (given == 'D') {
      double number = ((const double *)packed->packed.data)[i];
      ((float *)out)[i - from] = (float)number;
      fits = isfinite((float)number) || !isfinite(number);
    } else {
      fits = store_whole(read_whole(packed, i), letter, out, i - from);
    }
    if (!fits) {
      *at = i;
      return false;
    }
  }
  return true;
}

bool packed_fits(const struct op_value *packed, char to, size_t *at)
{
  union {
    int8_t b[CHUNK];
    int16_t s[CHUNK];
    int32_t i[CHUNK];
    int64_t j[CHUNK];
    float f[CHUNK];
    double d[CHUNK];
  } dropped;
  const size_t count = packed->packed.count;
  if (packed->packed.element == to)
    return true;
  for (size_t i = 0; i < count; i += CHUNK) {
    if (!convert_part(packed, to, i, i + CHUNK < count ? i + CHUNK : count, &dropped, at))
      return false;
  }
  return true;
}

bool packed_convert(const struct op_value *packed, char to, void *out, size_t *at)
{
  return convert_part(packed, to, 0, packed->packed.count, out, at);
}

struct op_value packed_element(const struct op_value *packed, size_t at)
{
  if (!is_fraction(packed->packed.element))
    return (struct op_value){.kind = OP_INTEGER, .integer = read_whole(packed, at)};
  double number = packed->packed.element == 'F' ? ((const float *)packed->packed.data)[at]
                                                : ((const double *)packed->packed.data)[at];
  return (struct op_value){.kind = OP_DOUBLE, .decimal = number};
}
