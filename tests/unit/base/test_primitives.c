#include "base/primitives.h"

#include "tests/unit/unit.h"

UNIT_TEST(letters_and_words_find_the_same_row)
{
  static const struct {
    char letter;
    const char *keyword;
    const char *wrapper;
    size_t size;
  } rows[] = {{'Z', "boolean", "java.lang.Boolean", 1}, {'B', "byte", "java.lang.Byte", 1},
              {'C', "char", "java.lang.Character", 2},  {'S', "short", "java.lang.Short", 2},
              {'I', "int", "java.lang.Integer", 4},     {'J', "long", "java.lang.Long", 8},
              {'F', "float", "java.lang.Float", 4},     {'D', "double", "java.lang.Double", 8}};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const struct primitive *primitive = primitive_find_letter(rows[i].letter);
    assert_non_null(primitive);
    assert_ptr_equal(primitive_find_keyword(text_of(rows[i].keyword)), primitive);
    assert_int_equal(primitive_unboxed(text_of(rows[i].wrapper)), rows[i].letter);
    assert_int_equal(primitive->letter, rows[i].letter);
    assert_int_equal(primitive_size(rows[i].letter), rows[i].size);
    assert_string_equal(primitive_keyword(rows[i].letter).data, rows[i].keyword);
    assert_true(primitive_is_keyword(text_of(rows[i].keyword)));
    assert_int_equal(primitive->widens_to[0], rows[i].letter);
  }
}

UNIT_TEST(other_letters_and_words_find_nothing)
{
  static const char letters[] = {'\0', 'A', 'L', 'V', '[', 'z'};
  for (size_t i = 0; i < sizeof letters; i++) {
    assert_null(primitive_find_letter(letters[i]));
    assert_int_equal(primitive_size(letters[i]), 0);
  }
  static const char *const words[] = {"", "Int", "integer", "String", "java.lang.Integer", "in"};
  for (size_t i = 0; i < COUNT_OF(words); i++)
    assert_false(primitive_is_keyword(text_of(words[i])));
  assert_int_equal(primitive_unboxed(TEXT("java.lang.Void")), 0);
  assert_int_equal(primitive_unboxed(TEXT("Integer")), 0);
  assert_null(primitive_keyword('L').data);
}

UNIT_TEST(void_has_a_word_and_no_values)
{
  assert_text(primitive_keyword('V'), "void");
  assert_true(primitive_is_keyword(TEXT("void")));
  assert_null(primitive_find_keyword(TEXT("void")));
}

UNIT_TEST(only_whole_numbers_have_a_range)
{
  int64_t min;
  int64_t max;
  assert_true(primitive_integer_range('B', &min, &max));
  assert_true(min == -128 && max == 127);
  assert_true(primitive_integer_range('S', &min, &max));
  assert_true(min == -32768 && max == 32767);
  assert_true(primitive_integer_range('I', &min, &max));
  assert_true(min == INT32_MIN && max == INT32_MAX);
  assert_true(primitive_integer_range('J', &min, &max));
  assert_true(min == INT64_MIN && max == INT64_MAX);
  for (const char *letter = "ZCFDVL"; *letter != '\0'; letter++)
    assert_false(primitive_integer_range(*letter, &min, &max));
}

/* JLS 5.1.2, all 64 pairs. */
UNIT_TEST(primitives_widen_as_in_java)
{
  static const char *const wanted[] = {"ZZ", "BB", "BS", "BI", "BJ", "BF", "BD", "SS", "SI",
                                       "SJ", "SF", "SD", "CC", "CI", "CJ", "CF", "CD", "II",
                                       "IJ", "IF", "ID", "JJ", "JF", "JD", "FF", "FD", "DD"};
  static const char letters[] = "ZBSCIJFD";
  size_t widening = 0;
  for (const char *from = letters; *from != '\0'; from++)
    for (const char *to = letters; *to != '\0'; to++) {
      bool listed = false;
      for (size_t i = 0; i < COUNT_OF(wanted); i++)
        listed = listed || (wanted[i][0] == *from && wanted[i][1] == *to);
      assert_int_equal(primitive_widens(*from, *to), listed);
      widening += listed;
    }
  assert_int_equal(widening, COUNT_OF(wanted));
  assert_false(primitive_widens('I', '\0'));
  assert_false(primitive_widens('L', 'I'));
}

UNIT_TEST(values_widen_whole)
{
  static const struct {
    char from;
    char to;
    union primitive_value value;
    double wanted;
  } cases[] = {
      {'B', 'S', {.b = -1}, -1},
      {'B', 'J', {.b = -1}, -1},
      {'C', 'I', {.c = 65535}, 65535},
      {'S', 'I', {.s = -2}, -2},
      {'I', 'J', {.i = INT32_MIN}, INT32_MIN},
      {'I', 'F', {.i = 3}, 3},
      {'J', 'D', {.j = -5}, -5},
      {'F', 'D', {.f = 1.5F}, 1.5},
      {'D', 'D', {.d = 2.5}, 2.5},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    union primitive_value value = cases[i].value;
    primitive_widen(cases[i].from, cases[i].to, &value);
    double got = cases[i].to == 'S'   ? value.s
                 : cases[i].to == 'I' ? value.i
                 : cases[i].to == 'J' ? (double)value.j
                 : cases[i].to == 'F' ? (double)value.f
                                      : value.d;
    assert_true(got == cases[i].wanted);
  }
}

UNIT_MAIN
