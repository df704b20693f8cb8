#include "op/scalar.h"

#include "base/primitives.h"
#include "tests/unit/unit.h"

#include <math.h>

/* A value as a request would write it: a number with its suffix, true, null, or text in quotes. */
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

/* Every primitive, in this order. */
static const char letters[] = "ZBCSIJFD";

/* What becomes of a value for each letter: '+' fits, 'n' null, 'r' range, 'f' fraction, 's' suffix, '-' kind.
 */
UNIT_TEST(every_value_for_every_type)
{
  static const char signs[] = {
      [OP_SCALAR_FITS] = '+',     [OP_SCALAR_NULL] = 'n',   [OP_SCALAR_RANGE] = 'r',
      [OP_SCALAR_FRACTION] = 'f', [OP_SCALAR_SUFFIX] = 's', [OP_SCALAR_KIND] = '-',
  };
  static const struct {
    const char *value;
    const char *wanted; /* ZBCSIJFD */
    char inferred;      /* 0: none */
  } cases[] = {
      {"null", "nnnnnnnn", 0},
      {"true", "+-------", 'Z'},
      {"[]", "--------", 0},
      {"0", "-+-+++++", 'I'},
      {"127", "-+-+++++", 'I'},
      {"128", "-r-+++++", 'I'},
      {"-128", "-+-+++++", 'I'},
      {"-129", "-r-+++++", 'I'},
      {"32767", "-r-+++++", 'I'},
      {"32768", "-r-r++++", 'I'},
      {"2147483647", "-r-r++++", 'I'},
      {"2147483648", "-r-rr+++", 'J'},
      {"-2147483649", "-r-rr+++", 'J'},
      {"9223372036854775807", "-r-rr+++", 'J'},
      {"9223372036854775808", "-r-rrr++", 0},
      {"5.0", "-f-fff++", 'D'},
      {"1e3", "-f-fff++", 'D'},
      {"1e39", "-f-fffr+", 'D'},
      {"1e400", "-f-fffrr", 'D'},
      {"5l", "-s-ss+++", 'J'},
      {"5f", "-s-sss++", 'F'},
      {"5d", "-s-ssss+", 'D'},
      {"5.5D", "-s-ssss+", 'D'},
      {"1e39f", "-s-sssrr", 'F'},
      {"\"5\"", "-++++++++", 0},
      {"\"300\"", "-rr+++++", 0},
      {"\"5.5\"", "-frfff++", 0},
      {"\"5l\"", "-srss+++", 0},
      {"\"A\"", "--+-----", 0},
      {"\"\"", "--r-----", 0},
      {"\"AB\"", "--r-----", 0},
      {"\"\xC3\xA9\"", "--+-----", 0},
      {"\"\xED\xA0\x80\"", "--+-----", 0}, /* a lone surrogate is one unit */
      {"\"\xF0\x9F\x98\x80\"", "--r-----", 0},
      {"\"true\"", "+-r-----", 0},
      {"\"TRUE\"", "--r-----", 0},
      {"\"NaN\"", "--r---++", 0},
      {"\"-Infinity\"", "--r---++", 0},
      {"\"nan\"", "--r-----", 0},
      {"\" 5\"", "--r-----", 0},
      {"\"0x5\"", "--r-----", 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct op_value value = value_of(cases[i].value);
    for (size_t at = 0; letters[at] != '\0'; at++) {
      union primitive_value ignored;
      char got = signs[op_scalar_read(&value, letters[at], &ignored)];
      if (got != cases[i].wanted[at])
        fail_msg("%s for %c: %c, not %c", cases[i].value, letters[at], got, cases[i].wanted[at]);
    }
    if (op_scalar_infer(&value) != cases[i].inferred)
      fail_msg("%s is inferred as %c", cases[i].value, op_scalar_infer(&value));
  }
}

/* The value that is read for a letter, as a double. */
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
  /* Rounded once: through a double it would be 16777216. */
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

/* As a codec gives them whose numbers are no text. */
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
