/* Tests which arrays of whole numbers are checked and read at once, and which are left to the reader of
 * single elements. Built a second time for a machine without SSE2. */
#include "base/buffer.h"
#include "tests/unit/unit.h"
#include "json/integers.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 200, TEXT_MAX = NUMBERS * 24 };

static const struct json_integers_form longs = {8, INT64_MIN, INT64_MAX};
static const struct json_integers_form ints = {4, INT32_MIN, INT32_MAX};
static const struct json_integers_form shorts = {2, INT16_MIN, INT16_MAX};
static const struct json_integers_form bytes = {1, INT8_MIN, INT8_MAX};

/* In memory of exactly its size, so that a sanitizer detects a read beyond it. */
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

UNIT_TEST(test_elements_have_their_size)
{
  const int8_t expected_bytes[] = {-128, 127, 0};
  const int16_t expected_shorts[] = {-32768, 32767};
  int8_t out_bytes[3];
  int16_t out_shorts[2];
  assert_true(read_exactly("[ -128 , 127,-0 ]", &bytes, out_bytes));
  assert_memory_equal(out_bytes, expected_bytes, sizeof expected_bytes);
  assert_true(read_exactly("[-32768,32767]", &shorts, out_shorts));
  assert_memory_equal(out_shorts, expected_shorts, sizeof expected_shorts);
}

UNIT_TEST(test_all_else_is_left)
{
  static const char *const texts[] = {
      "[1,null]", "[\"1\"]", "[1.5]",      "[1e3]", "[12345678.0,1]",        "[1l]",
      "[1d,2]",   "[[1]]",   "[true]",     "[{}]",  "[1,\"a,b\"]",           "[1234567890123456789]",
      "[1E2 ,1]", "[1, []]", "[1234567l]", "[-1f]", "[-1234567890123456789]"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    int64_t out[8];
    if (read_exactly(texts[i], &longs, out))
      fail_msg("%s was read", texts[i]);
  }
}

/* ---- compared with a check of the grammar, byte by byte ---- */

enum { ALIGNMENTS = 16, LONG_ENOUGH = 64 };

/* The place after the bracket that ends a list of numbers; NULL: no list, or not in the form of the quick check.
 */
static const char *end_of_list(const char *p, const char *end)
{
  for (bool is_first = true; p < end; is_first = false) {
    if (!is_first && *p == ' ')
      p++;
    if (p < end && *p == '-')
      p++;
    const char *digits = p;
    while (p < end && *p >= '0' && *p <= '9')
      p++;
    if (p == digits || p == end || (*digits == '0' && p - digits > 1))
      return NULL;
    if (*p == ']')
      return p + 1;
    if (*p++ != ',')
      return NULL;
  }
  return NULL;
}

/* Text in memory that ends with it, at the given distance from a boundary. */
struct placed {
  char *memory;
  struct text text;
};

static struct placed place(struct text text, size_t offset)
{
  char *memory = malloc(offset + text.len);
  assert_non_null(memory);
  memcpy(memory + offset, text.data, text.len);
  return (struct placed){memory, {memory + offset, text.len}};
}

static void check_pass(struct text text, size_t offset)
{
  struct placed placed = place(text, offset);
  const char *end = placed.text.data + placed.text.len;
  const char *expected = end_of_list(placed.text.data, end);
  const char *got = json_integers_pass(placed.text.data, end);
  bool is_long = expected != NULL && expected - placed.text.data > LONG_ENOUGH;
  if (got == NULL ? is_long : got != expected)
    fail_msg("%.*s: %td, not %td", TEXT_ARGS(text), got == NULL ? -1 : got - placed.text.data,
             expected == NULL ? -1 : expected - placed.text.data);
  free(placed.memory);
}

static uint32_t next_random(uint32_t *random)
{
  return *random = *random * 1664525u + 1013904223u;
}

/* `count` numbers of 1 to `digits` digits. */
static void write_list(struct buffer *out, size_t count, unsigned digits, const char *comma, uint32_t *random)
{
  buffer_clear(out);
  buffer_append_char(out, '[');
  for (size_t i = 0; i < count; i++) {
    bool is_negative = next_random(random) >> 30 == 0;
    buffer_printf(out, "%s%s", i == 0 ? "" : comma, is_negative ? "-" : "");
    unsigned more = (next_random(random) >> 8) % digits;
    buffer_append_char(out, (char)((more == 0 ? '0' : '1') + (next_random(random) >> 8) % 9));
    for (; more > 0; more--)
      buffer_append_char(out, (char)('0' + (next_random(random) >> 8) % 10));
  }
  buffer_append_char(out, ']');
}

/* Checks a text as it is, with each byte changed, and cut off before each byte, including the bytes after the
 * bracket. */
static void check_changed(struct buffer *list)
{
  static const char bytes[] = "0-, ]1e.l\"\t[\xFF";
  struct text text = text_slice(buffer_text(list), 1, list->len);
  for (size_t offset = 0; offset < ALIGNMENTS; offset++)
    check_pass(text, offset);
  for (size_t i = 1; i < list->len; i++) {
    char byte = list->data[i];
    for (size_t j = 0; j < sizeof bytes; j++) { /* the NUL, too */
      list->data[i] = bytes[j];
      check_pass(text, i % ALIGNMENTS);
    }
    list->data[i] = byte;
    check_pass(text_slice(text, 0, i), i % ALIGNMENTS);
  }
}

UNIT_TEST(test_lists_are_distinguished_from_all_else)
{
  static const char *const commas[] = {",", ", ", ",  ", ",\n"};
  uint32_t random = 1;
  struct buffer list;
  buffer_init(&list);
  for (unsigned round = 0; round < 48; round++) {
    size_t count = 10 + next_random(&random) % 50;
    write_list(&list, count, 1 + round % 12, commas[round % COUNT_OF(commas)], &random);
    for (unsigned i = 0; i < round; i++)
      buffer_append_char(&list, i % 2 == 0 ? '}' : ']');
    check_changed(&list);
  }
  buffer_fini(&list);
}

static const struct json_integers_form *const forms[] = {&bytes, &shorts, &ints, &longs};

static int64_t element_of(const void *out, size_t index, size_t size)
{
  switch (size) {
  case 1:
    return ((const int8_t *)out)[index];
  case 2:
    return ((const int16_t *)out)[index];
  case 4:
    return ((const int32_t *)out)[index];
  default:
    return ((const int64_t *)out)[index];
  }
}

/* The same elements as strtoll reads, or false if one of them is not in range. */
static void check_read(struct text text, size_t count, const struct json_integers_form *form)
{
  struct placed placed = place(text, count % ALIGNMENTS);
  void *out = malloc(count * form->size);
  assert_non_null(out);
  assert_int_equal(json_integers_most(placed.text), count);
  bool read = json_integers_read(placed.text, form, out);
  bool in_range = true;
  const char *p = text.data + 1;
  for (size_t i = 0; i < count; i++) {
    char *end;
    int64_t expected = strtoll(p, &end, 10);
    in_range = in_range && expected >= form->min && expected <= form->max;
    if (read && element_of(out, i, form->size) != expected)
      fail_msg("%.*s: element %zu", TEXT_ARGS(text), i);
    p = end + 1;
  }
  if (read != in_range)
    fail_msg("%.*s: %s", TEXT_ARGS(text), read ? "read" : "not read");
  free(out);
  free(placed.memory);
}

UNIT_TEST(test_every_list_is_read_as_its_elements)
{
  static const char *const commas[] = {",", ", ", ",\n\t "};
  uint32_t random = 2;
  struct buffer list;
  buffer_init(&list);
  for (size_t count = 1; count < NUMBERS; count++) {
    for (unsigned digits = 1; digits <= 18; digits++) {
      write_list(&list, count, digits, commas[(count + digits) % COUNT_OF(commas)], &random);
      for (size_t form = 0; form < COUNT_OF(forms); form++)
        check_read(buffer_text(&list), count, forms[form]);
    }
  }
  buffer_fini(&list);
}

UNIT_TEST(test_one_element_decides_wherever_it_is)
{
  enum { COUNT = 70 };
  static const char *const elements[] = {"127",         "-128",       "128",         "-129",
                                         "32767",       "32768",      "-32768",      "-32769",
                                         "99999999",    "-9999999",   "123456789",   "2147483647",
                                         "-2147483648", "2147483648", "-2147483649", "-10000000000"};
  struct buffer list;
  buffer_init(&list);
  for (size_t i = 0; i < COUNT_OF(elements); i++) {
    for (size_t at = 0; at < COUNT; at++) {
      buffer_clear(&list);
      for (size_t j = 0; j < COUNT; j++)
        buffer_printf(&list, "%c%s", j == 0 ? '[' : ',', j == at ? elements[i] : "7");
      buffer_append_char(&list, ']');
      for (size_t form = 0; form < COUNT_OF(forms); form++)
        check_read(buffer_text(&list), COUNT, forms[form]);
    }
  }
  buffer_fini(&list);
}

UNIT_TEST(accepts_only_plain_integers)
{
  static const struct {
    const char *text;
    size_t length; /* 0: it is not plain */
    int64_t integer;
  } cases[] = {
      {"0,", 1, 0},
      {"-0]", 0, 0}, /* as a double -0 differs from 0 */
      {"7}", 1, 7},
      {"-120,5", 4, -120},
      {"12,", 2, 12},
      {"123}", 3, 123},
      {"12}]}", 2, 12},
      {"123}]}", 3, 123},
      {"123456}}", 6, 123456},
      {"-1234567,", 8, -1234567},
      {"1234567,89", 7, 1234567},
      {"12345678,", 8, 12345678},
      {"123456789}", 9, 123456789},
      {"1234567890123456]", 16, 1234567890123456},
      {"12345678901234567,", 17, 12345678901234567},
      {"1234567890123456", 0, 0},
      {"1234567890123456.5,", 0, 0},
      {"0123456789012345,", 0, 0},
      {"01234567,", 0, 0},
      {"012345678,", 0, 0},
      {"1234567", 0, 0},
      {"12345678", 0, 0},
      {"12/45,", 0, 0},
      {"12:45,", 0, 0},
      {"12\xB9,", 0, 0},
      {"1234567.,", 0, 0},
      {"123456789012345678]", 18, 123456789012345678},
      {"-999999999999999999}", 19, -999999999999999999},
      {"1234567890123456789,", 0, 0},
      {"100000000000000000000000000000000000000,", 0, 0},
      {"1", 0, 0},
      {"1 ,", 0, 0},
      {"1.0,", 0, 0},
      {"1e3,", 0, 0},
      {"1l,", 0, 0},
      {"01,", 0, 0},
      {"-01,", 0, 0},
      {"-,", 0, 0},
      {"--1,", 0, 0},
      {"+1,", 0, 0},
      {",", 0, 0},
      {"", 0, 0},
      {"x", 0, 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *copy = unit_exact_copy(cases[i].text, strlen(cases[i].text));
    int64_t integer = 0;
    size_t length = json_bare_integer_at((struct text){copy, strlen(cases[i].text)}, &integer);
    test_free(copy);
    if (length != cases[i].length || integer != cases[i].integer)
      fail_msg("%s: %zu bytes, %lld", cases[i].text, length, (long long)integer);
  }
}

UNIT_MAIN
