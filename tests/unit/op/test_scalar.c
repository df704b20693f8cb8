#include "op/scalar.h"

#include "base/primitives.h"
#include "tests/unit/cases.h"

#include <math.h>

/* Makes the value of a text in the form of a request: a number with its suffix, true, null, or text in
 * quotes. */
static struct op_value value_of(const char *written)
{
  struct op_value value = {0};
  struct number number;
  if (strcmp(written, "null") == 0) {
    value.kind = OP_NULL;
  } else if (strcmp(written, "true") == 0) {
    value.kind = OP_BOOLEAN;
    value.boolean = true;
  } else if (strcmp(written, "[]") == 0) {
    value.kind = OP_LIST;
  } else if (number_parse(text_of(written), &number)) {
    op_scalar_set_number(&value, &number);
  } else {
    value.kind = OP_TEXT;
    value.text = text_slice(text_of(written), 1, strlen(written) - 1);
  }
  return value;
}

static void check_value(const char *place, const char *written, const char *wanted)
{
  static const char letters[] = "ZBCSIJFD";
  static const char signs[] = {
      [OP_SCALAR_FITS] = '+',     [OP_SCALAR_NULL] = 'n',   [OP_SCALAR_RANGE] = 'r',
      [OP_SCALAR_FRACTION] = 'f', [OP_SCALAR_SUFFIX] = 's', [OP_SCALAR_KIND] = '-',
  };
  struct op_value value = value_of(written);
  char got[sizeof letters + 2] = "";
  for (size_t at = 0; letters[at] != '\0'; at++) {
    union primitive_value ignored;
    got[at] = signs[op_scalar_read(&value, letters[at], &ignored)];
  }
  char inferred[] = {' ', op_scalar_infer(&value), '\0'};
  if (inferred[1] != '\0')
    strcat(got, inferred);
  unit_assert_text(text_of(got), text_of(wanted), place, __LINE__);
}

UNIT_TEST(every_value_for_every_type)
{
  unit_cases(SCALARS, check_value);
  check_value("a lone surrogate is one unit", "\"\xED\xA0\x80\"", "--+-----");
}

/* The value read for a letter, as a double. */
static double read_as(const char *written, char letter)
{
  union primitive_value out;
  struct op_value value = value_of(written);
  if (op_scalar_read(&value, letter, &out) != OP_SCALAR_FITS)
    fail_msg("%s does not fit %c", written, letter);
  switch (letter) {
  case 'B':
    return out.b;
  case 'S':
    return out.s;
  case 'C':
    return out.c;
  case 'J':
    return (double)out.j;
  case 'F':
    return (double)out.f;
  default:
    return out.d;
  }
}

UNIT_TEST(values_arrive_whole)
{
  for (const char *letter = "BSJFD"; *letter != '\0'; letter++)
    assert_true(read_as("-7", *letter) == -7);
  /* The number is rounded once. Rounded to a double first, the result would be 16777216. */
  assert_true(read_as("16777217.0000001", 'F') == 16777218);
  assert_true(read_as("0.1f", 'D') == (double)0.1F);
  assert_true(read_as("16777217000000000000000f", 'D') ==
              (double)16777217000000000000000.0F); /* beyond 64 bits */
  assert_true(read_as("\"\xE2\x82\xAC\"", 'C') == 0x20AC);
  assert_true(isnan(read_as("\"NaN\"", 'F')));
}

UNIT_TEST(minus_zero_keeps_its_sign)
{
  static const char *const zeros[] = {"-0", "-0f", "-0.0", "\"-0\""};
  for (size_t i = 0; i < COUNT_OF(zeros); i++) {
    assert_true(read_as(zeros[i], 'D') == 0 && signbit(read_as(zeros[i], 'D')));
    assert_true(read_as(zeros[i], 'F') == 0 && signbit(read_as(zeros[i], 'F')));
  }
  assert_false(signbit(read_as("0", 'D')));
}

/* Values like the values of a codec with binary numbers. */
UNIT_TEST(typed_numbers_need_no_digits)
{
  static const struct {
    struct op_value value;
    char letter;
    enum op_scalar_fit fit;
    double wanted;
  } cases[] = {
      {{.kind = OP_INTEGER, .integer = 3}, 'D', OP_SCALAR_FITS, 3},
      {{.kind = OP_INTEGER, .integer = 3}, 'F', OP_SCALAR_FITS, 3},
      {{.kind = OP_DOUBLE, .decimal = 1.5}, 'D', OP_SCALAR_FITS, 1.5},
      {{.kind = OP_DOUBLE, .decimal = 1.5}, 'F', OP_SCALAR_FITS, 1.5},
      {{.kind = OP_FLOAT, .decimal = 1.5}, 'F', OP_SCALAR_FITS, 1.5},
      {{.kind = OP_FLOAT, .decimal = 1.5}, 'D', OP_SCALAR_FITS, 1.5},
      {{.kind = OP_DOUBLE, .decimal = INFINITY}, 'F', OP_SCALAR_FITS, INFINITY},
      {{.kind = OP_DOUBLE, .decimal = -INFINITY}, 'D', OP_SCALAR_FITS, -INFINITY},
      {{.kind = OP_DOUBLE, .decimal = 1e39}, 'F', OP_SCALAR_RANGE, 0},
      {{.kind = OP_DOUBLE, .decimal = 3}, 'I', OP_SCALAR_FRACTION, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    union primitive_value out;
    assert_int_equal(op_scalar_read(&cases[i].value, cases[i].letter, &out), cases[i].fit);
    if (cases[i].fit == OP_SCALAR_FITS)
      assert_true((cases[i].letter == 'F' ? (double)out.f : out.d) == cases[i].wanted);
  }
  assert_int_equal(op_scalar_infer(&cases[2].value), 'D');
  assert_int_equal(op_scalar_infer(&cases[4].value), 'F');
}

UNIT_MAIN
