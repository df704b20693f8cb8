#include "json/reader.h"

#include "base/buffer.h"

#include "tests/unit/cases.h"

#include <stdlib.h>

static enum jp_status validate(struct text text, size_t depth, struct text suffix_member,
                               struct json_fault *fault)
{
  char *copy = unit_exact_copy(text.data, text.len);
  enum jp_status status =
      json_validate((struct text){copy, text.len}, (struct json_limits){depth}, suffix_member, fault);
  test_free(copy);
  return status;
}

static const struct text valid[] = {
    TEXT(" \t\r\nfalse \t\r\n"),
    TEXT("\"\x7F\""),
    TEXT("\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEF\xBB\xBF\""),
    TEXT("[1 , 2\n,\t3]"),
};

static void check_text(const char *place, const char *text, const char *wanted)
{
  char got[200] = "good";
  struct json_fault fault;
  enum jp_status status = validate(text_of(text), 128, TEXT_ABSENT, &fault);
  if (status != JP_OK)
    snprintf(got, sizeof got, "%zu: %s", fault.offset, fault.reason);
  unit_assert_text(text_of(got), text_of(wanted), place, __LINE__);
  assert_true(status == JP_OK || status == JP_INVALID);
}

UNIT_TEST(distinguishes_json_texts_from_others)
{
  unit_cases(FILES "/texts.txt", check_text);
}

UNIT_TEST(accepts_json_texts)
{
  for (size_t i = 0; i < COUNT_OF(valid); i++) {
    struct json_fault fault;
    if (validate(valid[i], 128, TEXT_ABSENT, &fault) != JP_OK)
      fail_msg("refused: %s (%zu: %s)", valid[i].data, fault.offset, fault.reason);
  }
}

static const struct invalid_case {
  struct text text;
  size_t offset;
  const char *reason;
} invalid[] = {
    {TEXT(""), 0, "unexpected end"},
    {TEXT(" \n"), 2, "unexpected end"},
    {TEXT("\xEF\xBB\xBF{}"), 0, "unexpected character"}, /* a BOM */
    {TEXT("\xFF\xFE{\0}\0"), 0, "unexpected character"}, /* UTF-16 */
    {TEXT("\0"), 0, "unexpected character"},
    {TEXT("1\0"), 1, "text after the end of the value"},
    {TEXT("[1]\0"), 3, "text after the end of the value"},
    {TEXT("\"\\\0\""), 2, "unknown escape"},
    {TEXT("\"a\nb\""), 2, "control character in string"},
    {TEXT("\"a\tb\""), 2, "control character in string"},
    {TEXT("\"a\0b\""), 2, "control character in string"},
    {TEXT("\"1234567890\x1F\""), 11, "control character in string"},
    {TEXT("\"a\x80\""), 2, "invalid UTF-8"},
    {TEXT("\"a\xC0\x80\""), 2, "invalid UTF-8"},
    {TEXT("\"a\xED\xA0\xBD\xED\xB8\x80\""), 2, "invalid UTF-8"}, /* CESU-8 */
    {TEXT("\"a\xF4\x90\x80\x80\""), 2, "invalid UTF-8"},
    {TEXT("\"a\xE2\x82\""), 2, "invalid UTF-8"},
    {TEXT("\"a\xE2\x82"), 2, "invalid UTF-8"},
    {TEXT("\"12345678\xC3\xA9"
          "12345678\xFF\""),
     19, "invalid UTF-8"},
    {TEXT("[\"\xC3\xA9\"]\xFF"), 6, "invalid UTF-8"},
    {TEXT("[\"\xC3\xA9\" x\xFF"), 6, "',' or ']' must come here"},
    {TEXT("{\"\xFF\":1}"), 2, "invalid UTF-8"},
    {TEXT("[\xC3\xA9]"), 1, "unexpected character"},
    {TEXT("[1\f]"), 2, "',' or ']' must come here"},
    {TEXT("[1\v]"), 2, "',' or ']' must come here"},
    {TEXT("[1,\xC2\xA0"
          "2]"),
     3, "unexpected character"},
};

UNIT_TEST(refuses_text_that_is_no_json_and_says_where)
{
  for (size_t i = 0; i < COUNT_OF(invalid); i++) {
    struct json_fault fault = {999, ""};
    enum jp_status status = validate(invalid[i].text, 128, TEXT_ABSENT, &fault);
    if (status != JP_INVALID || fault.offset != invalid[i].offset ||
        strcmp(fault.reason, invalid[i].reason) != 0)
      fail_msg("case %zu, %s: status %d, byte %zu: %s", i, invalid[i].text.data, status, fault.offset,
               fault.reason);
  }
}

UNIT_TEST(refuses_every_cut_of_a_text)
{
  static const struct text whole =
      TEXT("{\"a\":[1.5e+3,-2,true,false,null,\"x\\u00e9\\n\xE2\x82\xAC\xF0\x9F\x98\x80 and so "
           "on\"],\"b\":{\"c\":{}}}");
  for (size_t len = 0; len <= whole.len; len++) {
    struct json_fault fault;
    enum jp_status status = validate(text_slice(whole, 0, len), 128, TEXT_ABSENT, &fault);
    assert_int_equal(status, len == whole.len ? JP_OK : JP_INVALID);
    if (len < whole.len)
      /* if the text is cut inside a character, the fault is at the first byte of this character */
      assert_in_range(fault.offset, len < 4 ? 0 : len - 4, len);
  }
}

UNIT_TEST(sees_each_special_byte_at_each_place_of_a_word)
{
  static const char specials[] = {'"', '\\', '\x1F', '\0', '\x80', '\xFF'};
  for (size_t s = 0; s < COUNT_OF(specials); s++) {
    for (size_t at = 1; at < 24; at++) {
      char text[26];
      memset(text, 'x', sizeof text);
      text[0] = '"';
      text[25] = '"';
      text[at] = specials[s];
      struct json_fault fault;
      assert_int_equal(validate((struct text){text, 26}, 1, TEXT_ABSENT, &fault), JP_INVALID);
      assert_int_equal(fault.offset, specials[s] == '"' || specials[s] == '\\' ? at + 1 : at);
    }
  }
}

static const struct suffix_case {
  struct text text;
  const char *member; /* NULL: none */
  bool accepted;
} suffix_cases[] = {
    {TEXT("{\"params\":[1d]}"), NULL, false},
    {TEXT("1d"), "", true},
    {TEXT("[1d,{\"x\":[2f]},3l]"), "", true},
};

static void check_suffixes(const char *place, const char *text, const char *wanted)
{
  struct json_fault fault;
  enum jp_status status = validate(text_of(text), 128, TEXT("params"), &fault);
  if (status != (strcmp(wanted, "good") == 0 ? JP_OK : JP_INVALID))
    fail_msg("%s: status %d", place, status);
}

UNIT_TEST(accepts_suffixes_in_the_named_member_only)
{
  unit_cases(FILES "/suffixes.txt", check_suffixes);
  for (size_t i = 0; i < COUNT_OF(suffix_cases); i++) {
    const struct suffix_case *c = &suffix_cases[i];
    struct json_fault fault;
    struct text member = c->member == NULL ? TEXT_ABSENT : text_of(c->member);
    enum jp_status status = validate(c->text, 128, member, &fault);
    if (status != (c->accepted ? JP_OK : JP_INVALID))
      fail_msg("case %zu, %s: status %d", i, c->text.data, status);
  }
}

static enum jp_status validate_nested(size_t levels, size_t limit, const char *open, struct json_fault *fault)
{
  struct buffer text;
  buffer_init(&text);
  for (size_t i = 0; i < levels; i++)
    buffer_append_text(&text, text_of(open));
  buffer_append_char(&text, '0');
  for (size_t i = 0; i < levels; i++)
    buffer_append_char(&text, open[0] == '[' ? ']' : '}');
  enum jp_status status =
      json_validate(buffer_text(&text), (struct json_limits){limit}, TEXT("params"), fault);
  buffer_fini(&text);
  return status;
}

UNIT_TEST(stops_at_the_depth_limit)
{
  struct json_fault fault;
  static const size_t limits[] = {1, 2, 63, 64, 65, 128, 9999, 10000};
  for (size_t i = 0; i < COUNT_OF(limits); i++) {
    assert_int_equal(validate_nested(limits[i], limits[i], "[", &fault), JP_OK);
    assert_int_equal(validate_nested(limits[i], limits[i], "{\"a\":", &fault), JP_OK);
    assert_int_equal(validate_nested(limits[i] + 1, limits[i], "[", &fault), JP_LIMIT);
    assert_int_equal(fault.offset, limits[i]);
    assert_int_equal(validate_nested(limits[i] + 1, limits[i], "{\"a\":", &fault), JP_LIMIT);
    assert_int_equal(fault.offset, limits[i] * 5);
  }
  assert_int_equal(validate_nested(JSON_DEPTH_MAX + 1, SIZE_MAX, "[", &fault), JP_LIMIT);
  assert_int_equal(validate(TEXT("5"), 0, TEXT_ABSENT, &fault), JP_OK);
  assert_int_equal(validate(TEXT("[]"), 0, TEXT_ABSENT, &fault), JP_LIMIT);
}

UNIT_TEST(keeps_apart_arrays_and_objects_at_every_level)
{
  enum { LEVELS = 200 };
  struct buffer text;
  buffer_init(&text);
  srandom(20260103);
  for (int round = 0; round < 50; round++) {
    bool objects[LEVELS];
    buffer_clear(&text);
    for (size_t i = 0; i < LEVELS; i++) {
      objects[i] = random() % 2 == 0;
      buffer_append_text(&text, objects[i] ? TEXT("{\"a\":") : TEXT("["));
    }
    buffer_append_char(&text, '1');
    for (size_t i = LEVELS; i-- > 0;)
      buffer_append_char(&text, objects[i] ? '}' : ']');
    struct json_fault fault;
    assert_int_equal(validate(buffer_text(&text), LEVELS, TEXT_ABSENT, &fault), JP_OK);
    size_t wrong = text.len - 1 - (size_t)random() % LEVELS;
    text.data[wrong] = text.data[wrong] == '}' ? ']' : '}';
    assert_int_equal(validate(buffer_text(&text), LEVELS, TEXT_ABSENT, &fault), JP_INVALID);
    assert_int_equal(fault.offset, wrong);
  }
  buffer_fini(&text);
}

/* A fault in a long array of whole numbers gets the same report as in an array that begins with a fraction,
 * and whose elements are therefore checked one by one. */
static void check_fault_beside_a_fraction(const char *numbers)
{
  struct json_fault faults[2];
  enum jp_status statuses[2];
  static const struct text begins[] = {TEXT("{\"a\":["), TEXT("{\"a\":[0.5,")};
  for (size_t i = 0; i < COUNT_OF(begins); i++) {
    struct buffer text;
    buffer_init(&text);
    buffer_append_text(&text, begins[i]);
    buffer_append_text(&text, text_of(numbers));
    statuses[i] = validate(buffer_text(&text), 2, TEXT_ABSENT, &faults[i]);
    faults[i].offset -= begins[i].len;
    buffer_fini(&text);
  }
  assert_int_equal(statuses[0], statuses[1]);
  if (statuses[0] == JP_OK)
    return;
  assert_int_equal(faults[0].offset, faults[1].offset);
  assert_string_equal(faults[0].reason, faults[1].reason);
}

UNIT_TEST(reports_faults_in_long_arrays_alike)
{
  static const char bytes[] = "0-, ]}1e.l\"[{n\t\x01\xFF";
  char text[] = "12345,-1,0,987654321098765432109876,-77,8, 9,1234567,-12345,66,5555,4,31415,-27182,0,1,2]}";
  check_fault_beside_a_fraction(text);
  for (size_t i = 1; i < sizeof text - 1;
       i++) { /* a bracket in the place of the first element would end an empty array */
    char byte = text[i];
    for (size_t j = 0; j < sizeof bytes; j++) { /* the NUL, too: the text ends there */
      text[i] = bytes[j];
      check_fault_beside_a_fraction(text);
    }
    text[i] = byte;
  }
}

UNIT_MAIN
