#include "tests/unit/unit.h"

#include "base/number.h"
#include "jni/convert/scalar.h"
#include "jni/types/classes.h"

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
    value.kind = number.fits ? OP_INTEGER : OP_NUMBER;
    value.suffix = number.suffix;
    value.literal = number.literal;
    if (number.fits)
      value.integer = number.integer;
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
static void every_value_for_every_type(void **state)
{
  (void)state;
  static const char signs[] = {
      [SCALAR_FITS] = '+',     [SCALAR_NULL] = 'n',   [SCALAR_RANGE] = 'r',
      [SCALAR_FRACTION] = 'f', [SCALAR_SUFFIX] = 's', [SCALAR_KIND] = '-',
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
      jvalue ignored;
      char got = signs[scalar_read(&value, letters[at], &ignored)];
      if (got != cases[i].wanted[at])
        fail_msg("%s for %c: %c, not %c", cases[i].value, letters[at], got, cases[i].wanted[at]);
    }
    if (scalar_infer(&value) != cases[i].inferred)
      fail_msg("%s is inferred as %c", cases[i].value, scalar_infer(&value));
  }
}

static void values_arrive_whole(void **state)
{
  (void)state;
  jvalue out;
  struct op_value value = value_of("-7");
  assert_int_equal(scalar_read(&value, 'B', &out), SCALAR_FITS);
  assert_int_equal(out.b, -7);
  assert_int_equal(scalar_read(&value, 'S', &out), SCALAR_FITS);
  assert_int_equal(out.s, -7);
  assert_int_equal(scalar_read(&value, 'J', &out), SCALAR_FITS);
  assert_int_equal(out.j, -7);
  assert_int_equal(scalar_read(&value, 'F', &out), SCALAR_FITS);
  assert_true(out.f == -7.0F);

  /* Rounded once: through a double it would be 16777216. */
  value = value_of("16777217.0000001");
  assert_int_equal(scalar_read(&value, 'F', &out), SCALAR_FITS);
  assert_true(out.f == 16777218.0F);
  value = value_of("0.1f");
  assert_int_equal(scalar_read(&value, 'D', &out), SCALAR_FITS);
  assert_true(out.d == (double)0.1F);
  value = value_of("\"\xE2\x82\xAC\"");
  assert_int_equal(scalar_read(&value, 'C', &out), SCALAR_FITS);
  assert_int_equal(out.c, 0x20AC);
  value = value_of("\"NaN\"");
  assert_int_equal(scalar_read(&value, 'F', &out), SCALAR_FITS);
  assert_true(isnan(out.f));

  /* A value that no text stands behind: from a binary codec. */
  value = (struct op_value){.kind = OP_INTEGER, .integer = 3};
  assert_int_equal(scalar_read(&value, 'D', &out), SCALAR_FITS);
  assert_true(out.d == 3.0);
}

/* The table is searched by halves: every row must be where the search looks. */
static void makers_are_found_by_name(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    enum class_maker maker;
  } cases[] = {
      {"java.io.Serializable", MAKER_NATURAL},
      {"java.lang.Boolean", MAKER_WRAPPER},
      {"java.lang.Byte", MAKER_WRAPPER},
      {"java.lang.CharSequence", MAKER_NATURAL},
      {"java.lang.Character", MAKER_WRAPPER},
      {"java.lang.Class", MAKER_PARSE},
      {"java.lang.Cloneable", MAKER_NATURAL},
      {"java.lang.Comparable", MAKER_NATURAL},
      {"java.lang.Double", MAKER_WRAPPER},
      {"java.lang.Float", MAKER_WRAPPER},
      {"java.lang.Integer", MAKER_WRAPPER},
      {"java.lang.Iterable", MAKER_LIST},
      {"java.lang.Long", MAKER_WRAPPER},
      {"java.lang.Number", MAKER_NATURAL},
      {"java.lang.Object", MAKER_NATURAL},
      {"java.lang.Short", MAKER_WRAPPER},
      {"java.lang.String", MAKER_STRING},
      {"java.math.BigDecimal", MAKER_PARSE},
      {"java.math.BigInteger", MAKER_PARSE},
      {"java.time.Duration", MAKER_PARSE},
      {"java.time.Instant", MAKER_PARSE},
      {"java.time.LocalDate", MAKER_PARSE},
      {"java.time.LocalDateTime", MAKER_PARSE},
      {"java.time.LocalTime", MAKER_PARSE},
      {"java.time.MonthDay", MAKER_PARSE},
      {"java.time.OffsetDateTime", MAKER_PARSE},
      {"java.time.OffsetTime", MAKER_PARSE},
      {"java.time.Period", MAKER_PARSE},
      {"java.time.Year", MAKER_PARSE},
      {"java.time.YearMonth", MAKER_PARSE},
      {"java.time.ZoneId", MAKER_PARSE},
      {"java.time.ZoneOffset", MAKER_PARSE},
      {"java.time.ZonedDateTime", MAKER_PARSE},
      {"java.util.Collection", MAKER_LIST},
      {"java.util.Deque", MAKER_LIST},
      {"java.util.List", MAKER_LIST},
      {"java.util.Map", MAKER_MAP},
      {"java.util.NavigableMap", MAKER_MAP},
      {"java.util.NavigableSet", MAKER_LIST},
      {"java.util.Queue", MAKER_LIST},
      {"java.util.Set", MAKER_LIST},
      {"java.util.SortedMap", MAKER_MAP},
      {"java.util.SortedSet", MAKER_LIST},
      {"java.util.UUID", MAKER_PARSE},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct class_maker_row *row = class_maker_find(text_of(cases[i].name));
    if (row == NULL || row->maker != cases[i].maker)
      fail_msg("%s", cases[i].name);
  }
  static const char *const strangers[] = {
      "", "java", "java.lang", "java.util.ArrayList", "java.lang.String2", "zzz"};
  for (size_t i = 0; i < COUNT_OF(strangers); i++)
    assert_null(class_maker_find(text_of(strangers[i])));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_value_for_every_type),
      cmocka_unit_test(values_arrive_whole),
      cmocka_unit_test(makers_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
