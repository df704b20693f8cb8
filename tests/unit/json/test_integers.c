/* Arrays of whole numbers in one go: what is read, and what is left to the reader of single elements. */
#include "tests/unit/unit.h"
#include "json/integers.h"
#include "json/number.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 200, TEXT_MAX = NUMBERS * 24 };

static const struct json_integers_form longs = {8, INT64_MIN, INT64_MAX};
static const struct json_integers_form ints = {4, INT32_MIN, INT32_MAX};
static const struct json_integers_form shorts = {2, INT16_MIN, INT16_MAX};
static const struct json_integers_form bytes = {1, INT8_MIN, INT8_MAX};

/* In memory of its own size, so that a sanitizer sees a read beyond it. */
static bool read_exactly(const char *text, const struct json_integers_form *form, void *out)
{
  size_t length = strlen(text);
  char *copy = malloc(length);
  assert_non_null(copy);
  memcpy(copy, text, length);
  bool read = json_integers_read((struct text){copy, length}, form, out);
  free(copy);
  return read;
}

static void test_every_length_and_sign_is_read(void **state)
{
  (void)state;
  const char *const digits = "123456789012345678";
  for (int length = 1; length <= 18; length++)
    for (int negative = 0; negative < 2; negative++) {
      char text[128];
      int64_t out[3] = {0};
      snprintf(text, sizeof text, "[7,%s%.*s ,\n0]", negative ? "-" : "", length, digits);
      int64_t expected = strtoll(digits, NULL, 10);
      for (int i = length; i < 18; i++)
        expected /= 10;
      assert_true(read_exactly(text, &longs, out));
      assert_int_equal(out[0], 7);
      assert_int_equal(out[1], negative ? -expected : expected);
      assert_int_equal(out[2], 0);
    }
}

static void test_long_arrays_are_counted_and_read(void **state)
{
  (void)state;
  char text[TEXT_MAX] = "[";
  int32_t expected[NUMBERS];
  int32_t out[NUMBERS];
  uint32_t random = 1;
  size_t length = 1;
  for (size_t i = 0; i < NUMBERS; i++) {
    random = random * 1664525u + 1013904223u;
    expected[i] = (int32_t)random >> (random % 29);
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%d", i == 0 ? "" : ",", expected[i]);
  }
  text[length] = ']';
  assert_int_equal(json_integers_most(text_of(text)), NUMBERS);
  assert_true(read_exactly(text, &ints, out));
  assert_memory_equal(out, expected, sizeof expected);
}

static void test_elements_have_their_size(void **state)
{
  (void)state;
  const int8_t expected_bytes[] = {-128, 127, 0};
  const int16_t expected_shorts[] = {-32768, 32767};
  int8_t out_bytes[3];
  int16_t out_shorts[2];
  assert_true(read_exactly("[ -128 , 127,-0 ]", &bytes, out_bytes));
  assert_memory_equal(out_bytes, expected_bytes, sizeof expected_bytes);
  assert_true(read_exactly("[-32768,32767]", &shorts, out_shorts));
  assert_memory_equal(out_shorts, expected_shorts, sizeof expected_shorts);
}

static void test_all_else_is_left(void **state)
{
  (void)state;
  static const char *const texts[] = {
      "[1,null]", "[\"1\"]", "[1.5]",      "[1e3]", "[12345678.0,1]",        "[1l]",
      "[1d,2]",   "[[1]]",   "[true]",     "[{}]",  "[1,\"a,b\"]",           "[1234567890123456789]",
      "[1E2 ,1]", "[1, []]", "[1234567l]", "[-1f]", "[-1234567890123456789]"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int64_t out[8];
    if (read_exactly(texts[i], &longs, out))
      fail_msg("%s was read", texts[i]);
  }
}

static void test_what_is_out_of_range_is_left(void **state)
{
  (void)state;
  int64_t out[4];
  assert_false(read_exactly("[128]", &bytes, out));
  assert_false(read_exactly("[0,-129]", &bytes, out));
  assert_false(read_exactly("[32768]", &shorts, out));
  assert_false(read_exactly("[2147483648]", &ints, out));
  assert_false(read_exactly("[-2147483649,1]", &ints, out));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_length_and_sign_is_read),
      cmocka_unit_test(test_long_arrays_are_counted_and_read),
      cmocka_unit_test(test_elements_have_their_size),
      cmocka_unit_test(test_all_else_is_left),
      cmocka_unit_test(test_what_is_out_of_range_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
