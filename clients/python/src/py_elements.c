/* Elements of buffers: their types, and copying them to elements of another type. */
#include "py_native.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements that Java gets are little-endian");
_Static_assert(sizeof(long double) == 16, "numpy's longdouble is C's");

bool element_of_format(const Py_buffer *view, struct element *out)
{
  static const struct {
    const char *letters;
    enum element_kind kind;
  } kinds[] = {{"bhilqn", ELEMENT_SIGNED},
               {"BcHILQN", ELEMENT_UNSIGNED},
               {"efdg", ELEMENT_FRACTION},
               {"?", ELEMENT_BOOLEAN},
               {"u", ELEMENT_UNSIGNED}};
  const char *format = view->format == NULL ? "B" : view->format;
  *out = (struct element){.size = (size_t)view->itemsize};
  if (strchr("<>=@!", format[0]) != NULL && format[0] != '\0') {
    out->is_swapped = (format[0] == '>' || format[0] == '!') && view->itemsize > 1;
    format++;
  }
  if (strlen(format) != 1 || (format[0] == 'u' && view->itemsize != 2) ||
      (format[0] == 'g' && (out->is_swapped || view->itemsize != sizeof(long double))))
    return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strchr(kinds[i].letters, format[0]) != NULL) {
      out->kind = kinds[i].kind;
      return true;
    }
  }
  return false;
}

bool element_of_name(const char *name, struct element *out)
{
  static const struct {
    const char *name;
    struct element element;
  } names[] = {{"boolean", {ELEMENT_BOOLEAN, 1, false}}, {"byte", {ELEMENT_SIGNED, 1, false}},
               {"short", {ELEMENT_SIGNED, 2, false}},    {"char", {ELEMENT_UNSIGNED, 2, false}},
               {"int", {ELEMENT_SIGNED, 4, false}},      {"long", {ELEMENT_SIGNED, 8, false}},
               {"float", {ELEMENT_FRACTION, 4, false}},  {"double", {ELEMENT_FRACTION, 8, false}}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i].name, name) == 0) {
      *out = names[i].element;
      return true;
    }
  }
  return false;
}

/* ---- floats of 16 bits (IEEE 754, binary16) ---- */

static double read_half(uint16_t bits)
{
  enum { MANTISSA = 10, EXPONENT_MAX = 31, BIAS = 15 };
  int exponent = bits >> MANTISSA & EXPONENT_MAX;
  double mantissa = bits & 0x3FF;
  double number = exponent == 0             ? ldexp(mantissa, 1 - BIAS - MANTISSA)
                  : exponent < EXPONENT_MAX ? ldexp(mantissa + 0x400, exponent - BIAS - MANTISSA)
                  : mantissa == 0           ? INFINITY
                                            : NAN;
  return (bits & 0x8000) != 0 ? -number : number;
}

/* Rounds to the nearest half, ties to even. A number that is too large becomes infinite. */
static uint16_t make_half(double number)
{
  enum { MANTISSA = 10, BIAS = 15, LEAST = -14 };
  const uint16_t sign = signbit(number) ? 0x8000 : 0;
  if (isnan(number))
    return sign | 0x7E00;
  double size = fabs(number);
  if (size >= 65520) /* half-way between the greatest value and the next value */
    return sign | 0x7C00;
  int exponent = size == 0 ? LEAST : ilogb(size);
  if (exponent < LEAST)
    exponent = LEAST;
  /* A carry of the mantissa increments the exponent. */
  unsigned mantissa = (unsigned)nearbyint(ldexp(size, MANTISSA - exponent));
  unsigned bits = mantissa < 0x400 ? mantissa : mantissa - 0x400 + ((unsigned)(exponent + BIAS) << MANTISSA);
  return (uint16_t)(sign | bits);
}

/* ---- one element ---- */

struct number {
  enum element_kind kind; /* SIGNED: whole; UNSIGNED: natural, possibly above INT64_MAX; FRACTION: fraction */
  union {
    int64_t whole;
    uint64_t natural;
    long double fraction;
  };
};

static uint64_t read_bits(const char *at, struct element element)
{
  uint64_t bits = 0;
  memcpy(&bits, at, element.size);
  if (element.is_swapped)
    bits = __builtin_bswap64(bits) >> (8 * (sizeof bits - element.size));
  return bits;
}

static void write_bits(char *at, struct element element, uint64_t bits)
{
  if (element.is_swapped)
    bits = __builtin_bswap64(bits) >> (8 * (sizeof bits - element.size));
  memcpy(at, &bits, element.size);
}

static long double read_fraction(const char *at, struct element element)
{
  if (element.size == sizeof(long double)) {
    long double wide;
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  uint64_t bits = read_bits(at, element);
  float single;
  double twofold;
  switch (element.size) {
  case 2:
    return read_half((uint16_t)bits);
  case sizeof single:
    memcpy(&single, &bits, sizeof single);
    return single;
  default:
    memcpy(&twofold, &bits, sizeof twofold);
    return twofold;
  }
}

static void read_number(const char *at, struct element element, struct number *number)
{
  number->kind = element.kind;
  if (element.kind == ELEMENT_FRACTION) {
    number->fraction = read_fraction(at, element);
    return;
  }
  number->natural = read_bits(at, element);
  const unsigned unused = 8 * (unsigned)(sizeof number->natural - element.size);
  if (element.kind == ELEMENT_SIGNED)
    number->whole = (int64_t)(number->natural << unused) >> unused;
}

/* False: out of range for the element, or not a whole number. */
static bool write_fraction(char *at, struct element element, long double fraction)
{
  uint64_t bits = 0;
  float single = (float)fraction;
  double twofold = (double)fraction;
  switch (element.size) {
  case 2:
    bits = make_half(twofold);
    write_bits(at, element, bits);
    return isfinite(read_half((uint16_t)bits)) || !isfinite(fraction);
  case sizeof single:
    memcpy(&bits, &single, sizeof single);
    write_bits(at, element, bits);
    return isfinite(single) || !isfinite(fraction);
  case sizeof twofold:
    memcpy(&bits, &twofold, sizeof twofold);
    write_bits(at, element, bits);
    return isfinite(twofold) || !isfinite(fraction);
  default:
    memcpy(at, &fraction, sizeof fraction);
    return true;
  }
}

static bool write_whole(char *at, struct element element, const struct number *number)
{
  const unsigned unused = 8 * (unsigned)(sizeof number->natural - element.size);
  uint64_t bits = number->natural;
  if (number->kind == ELEMENT_FRACTION) {
    if (!(number->fraction >= -0x1p63L && number->fraction < 0x1p63L) ||
        (long double)(int64_t)number->fraction != number->fraction)
      return false;
    bits = (uint64_t)(int64_t)number->fraction;
  }
  bool is_negative = number->kind != ELEMENT_UNSIGNED && (int64_t)bits < 0;
  write_bits(at, element, bits);
  if (element.kind == ELEMENT_SIGNED)
    return (uint64_t)((int64_t)(bits << unused) >> unused) == bits && ((int64_t)bits < 0) == is_negative;
  return bits << unused >> unused == bits && !is_negative;
}

static bool write_number(char *at, struct element element, const struct number *number)
{
  if (element.kind == ELEMENT_BOOLEAN) {
    *at = number->natural != 0;
    return true;
  }
  if (element.kind != ELEMENT_FRACTION)
    return write_whole(at, element, number);
  return write_fraction(at, element,
                        number->kind == ELEMENT_FRACTION   ? number->fraction
                        : number->kind == ELEMENT_UNSIGNED ? (long double)number->natural
                                                           : (long double)number->whole);
}

/* ---- many elements ---- */

static void raise_out_of_range(Py_ssize_t index, const struct number *number, struct element to)
{
  static const char *const kinds[] = {[ELEMENT_SIGNED] = "integers",
                                      [ELEMENT_UNSIGNED] = "unsigned integers",
                                      [ELEMENT_FRACTION] = "floats",
                                      [ELEMENT_BOOLEAN] = "booleans"};
  enum { SHOWN_SIZE = 48 };
  char digits[SHOWN_SIZE];
  snprintf(digits, sizeof digits, "%.20Lg", number->kind == ELEMENT_FRACTION ? number->fraction : 0);
  PyObject *shown = number->kind == ELEMENT_FRACTION   ? PyUnicode_FromString(digits)
                    : number->kind == ELEMENT_UNSIGNED ? PyLong_FromUnsignedLongLong(number->natural)
                                                       : PyLong_FromLongLong(number->whole);
  if (shown != NULL)
    PyErr_Format(PyExc_OverflowError, "element %zd: %S: out of range for %s of %zu bits", index, shown,
                 kinds[to.kind], to.size * 8);
  Py_XDECREF(shown);
}

/* Elements of the same size and meaning, and integers of 8 and 16 bits, keep their bits. */
static bool keeps_bits(struct element from, struct element to)
{
  bool are_fractions = from.kind == ELEMENT_FRACTION && to.kind == ELEMENT_FRACTION;
  bool are_whole = from.kind != ELEMENT_FRACTION && to.kind != ELEMENT_FRACTION;
  enum { UNSIGNED_AS_BITS_MAX = 2 };
  bool are_booleans = (from.kind == ELEMENT_BOOLEAN) == (to.kind == ELEMENT_BOOLEAN);
  bool are_alike = from.kind == to.kind || (are_whole && from.size <= UNSIGNED_AS_BITS_MAX);
  return from.size == to.size && are_booleans && (are_fractions || are_alike);
}

static void copy_bits(const char *at, Py_ssize_t stride, char *out, Py_ssize_t out_stride, size_t size,
                      Py_ssize_t count)
{
#define COPY(type)                                                                                           \
  for (Py_ssize_t i = 0; i < count; i++)                                                                     \
  memcpy(out + i * out_stride, at + i * stride, sizeof(type))
  switch (size) {
  case 1:
    COPY(uint8_t);
    break;
  case 2:
    COPY(uint16_t);
    break;
  case 4:
    COPY(uint32_t);
    break;
  case 8:
    COPY(uint64_t);
    break;
  default:
    COPY(long double);
    break;
  }
#undef COPY
}

bool elements_copy(const char *at, Py_ssize_t stride, struct element from, char *out, Py_ssize_t out_stride,
                   struct element to, Py_ssize_t count)
{
  if (keeps_bits(from, to) && from.is_swapped == to.is_swapped) {
    copy_bits(at, stride, out, out_stride, from.size, count);
    return true;
  }
  if (keeps_bits(from, to)) {
    for (Py_ssize_t i = 0; i < count; i++)
      write_bits(out + i * out_stride, to, read_bits(at + i * stride, from));
    return true;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    struct number number;
    read_number(at + i * stride, from, &number);
    if (!write_number(out + i * out_stride, to, &number)) {
      raise_out_of_range(i, &number, to);
      return false;
    }
  }
  return true;
}

/* ---- arrays that Java has changed ---- */

void outs_free(struct builder_out *outs)
{
  while (outs != NULL) {
    struct builder_out *next = outs->next;
    PyBuffer_Release(&outs->view);
    PyMem_Free(outs);
    outs = next;
  }
}

static bool write_out(const struct builder_out *out, const struct jp_answer *answer)
{
  const char *type;
  struct element element;
  size_t count = jp_answer_out(answer, out->argument, &type, NULL, 0);
  if (count == SIZE_MAX)
    return true;
  if ((Py_ssize_t)count != out->view.shape[0] || !element_of_name(type, &element)) {
    PyErr_Format(types.protocol_error,
                 "the peer's answer is malformed: %zu elements of an array that has %zd", count,
                 out->view.shape[0]);
    return false;
  }
  char *elements = PyMem_Malloc(count * element.size + 1);
  if (elements == NULL) {
    PyErr_NoMemory();
    return false;
  }
  (void)jp_answer_out(answer, out->argument, &type, elements, count);
  Py_ssize_t stride = out->view.strides == NULL ? out->view.itemsize : out->view.strides[0];
  bool good = elements_copy(elements, (Py_ssize_t)element.size, element, out->view.buf, stride, out->element,
                            (Py_ssize_t)count);
  PyMem_Free(elements);
  return good;
}

bool outs_write(const struct builder_out *outs, unsigned step, const struct jp_answer *answer)
{
  for (; outs != NULL; outs = outs->next) {
    if (outs->step == step && !write_out(outs, answer))
      return false;
  }
  return true;
}
