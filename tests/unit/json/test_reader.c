/* The reader. In addition, test_oracle.c compares the kinds, members and values of many texts with
 * jansson's. */
#include "json/reader.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

/* A text that must be valid, on the heap in its exact size until the next call. */
static char *current;

static struct json_value read_text(struct text text)
{
  free(current);
  current = malloc(text.len);
  assert_non_null(current);
  memcpy(current, text.data, text.len);
  struct text copy = {current, text.len};
  struct json_fault fault;
  assert_int_equal(json_validate(copy, (struct json_limits){JSON_DEPTH_MAX}, TEXT(""), &fault), JP_OK);
  return json_root(copy);
}

static int free_current(void **state)
{
  (void)state;
  free(current);
  current = NULL;
  return 0;
}

UNIT_TEST_WITH(walks_elements_in_order, NULL, free_current)
{
  struct json_value root = read_text(TEXT("[ 1 ,\"a,]\",[ 2,[3] ] , {\"x\":[4]},null,true,false, 5d ]"));
  static const char *const spans[] = {"1",    "\"a,]\"", "[ 2,[3] ]", "{\"x\":[4]}",
                                      "null", "true",    "false",     "5d"};
  struct json_cursor cursor = json_enter(root);
  struct json_value element;
  for (size_t i = 0; i < COUNT_OF(spans); i++) {
    assert_true(json_next_element(&cursor, &element));
    unit_assert_text(element.span, text_of(spans[i]), __FILE__, __LINE__);
  }
  assert_false(json_next_element(&cursor, &element));
  assert_false(json_next_element(&cursor, &element));
  assert_int_equal(json_count(root), COUNT_OF(spans));
}

UNIT_TEST_WITH(walks_empty_containers, NULL, free_current)
{
  assert_int_equal(json_count(read_text(TEXT("[]"))), 0);
  assert_int_equal(json_count(read_text(TEXT("[ \n]"))), 0);
  assert_int_equal(json_count(read_text(TEXT("{}"))), 0);
  assert_int_equal(json_count(read_text(TEXT("{\t}"))), 0);
}

UNIT_TEST_WITH(skips_strings_of_every_length, NULL, free_current)
{
  /* A quote, and an escaped quote, at every place of a word. */
  for (int before = 0; before < 20; before++) {
    for (int after = 0; after < 20; after++) {
      char text[64];
      snprintf(text, sizeof text, "[\"%*s\\\"\\\\%*s\",1]", before, "", after, "");
      struct json_value root = read_text(text_of(text));
      assert_int_equal(json_count(root), 2);
      struct json_cursor cursor = json_enter(root);
      struct json_value value;
      assert_true(json_next_element(&cursor, &value));
      assert_int_equal(value.span.len, before + after + 6);
    }
  }
}

UNIT_TEST_WITH(skips_containers_at_every_place, NULL, free_current)
{
  /* Brackets inside and outside strings, with and without escapes, at every place of a block. */
  static const char *const containers[] = {
      "[]",
      "{}",
      "[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]",
      "[[],[],[],[],[],[],[],[],[],{},{},{},{}]",
      "{\"a\":\"]}]}]}]}]}]}]}]}]}]}\",\"[{[{[{[{[{[{[{[{[{\":[{},\"}\"]}",
      "[\"\\\"]\",{\"\\\\\":\"\\\\\\\"}\"},[\"a string without escapes that is longer than a block ]]]]\"]]",
      "{\"type\":\"int\",\"value\":[{\"ref\":5},[\"x\",1.5]]}",
  };
  for (size_t i = 0; i < COUNT_OF(containers); i++) {
    for (int before = 0; before < 20; before++) {
      char text[512];
      snprintf(text, sizeof text, "[\"%*s\",%s,[%s,7],{\"k\":%s}]", before, "", containers[i], containers[i],
               containers[i]);
      struct json_value root = read_text(text_of(text));
      struct json_cursor cursor = json_enter(root);
      struct json_value value;
      assert_int_equal(json_count(root), 4);
      assert_true(json_next_element(&cursor, &value));
      assert_true(json_next_element(&cursor, &value));
      unit_assert_text(value.span, text_of(containers[i]), __FILE__, __LINE__);
      assert_true(json_next_element(&cursor, &value));
      assert_int_equal(json_count(value), 2);
      assert_true(json_next_element(&cursor, &value));
      assert_int_equal(json_count(value), 1);
    }
  }
}

static const struct string_case {
  struct text json;
  struct text text;
} strings[] = {
    {TEXT("\"\""), TEXT("")},
    {TEXT("\"plain \xE2\x82\xAC\""), TEXT("plain \xE2\x82\xAC")},
    {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), TEXT("\"\\/\b\f\n\r\t")},
    {TEXT("\"a\\u0000b\""), TEXT("a\0b")},
    {TEXT("\"\\u007f\\u0080\\u07FF\\u0800\\uffff\""), TEXT("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF")},
    {TEXT("\"\\ud83d\\ude00\""), TEXT("\xF0\x9F\x98\x80")},
    {TEXT("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""), TEXT("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF")},
    {TEXT("\"x\\ud83dy\""), TEXT("x\xED\xA0\xBDy")},
    {TEXT("\"\\ud83d\""), TEXT("\xED\xA0\xBD")},
    {TEXT("\"\\ud83d\\n\""), TEXT("\xED\xA0\xBD\n")},
    {TEXT("\"\\ude00\\ud83d\""), TEXT("\xED\xB8\x80\xED\xA0\xBD")},
    {TEXT("\"\\ud83d\\ud83d\\ude00\""), TEXT("\xED\xA0\xBD\xF0\x9F\x98\x80")},
    {TEXT("\"\\ud83d\\u0041\""), TEXT("\xED\xA0\xBD"
                                      "A")},
    {TEXT("\"\\ud83d\\\\ude00\""), TEXT("\xED\xA0\xBD\\ude00")},
};

UNIT_TEST_WITH(unescapes_strings, NULL, free_current)
{
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(strings); i++) {
    struct json_value value = read_text(strings[i].json);
    unit_assert_text(json_read_string(value, &arena), strings[i].text, __FILE__, __LINE__);
  }
  arena_fini(&arena);
}

/* Escapes at each place of a text that is copied many bytes at a time. */
UNIT_TEST(unescapes_in_every_place)
{
  struct arena arena;
  arena_init(&arena);
  static const char before[] = "0123456789abcdef0123456789abcdef01234567";
  static const char after[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  for (int at = 0; at <= 40; at++) {
    char raw[2 * sizeof before + sizeof after];
    char wanted[sizeof raw];
    int length = snprintf(raw, sizeof raw, "%.*s\\n%.*s\\u00e9", at, before, 40 - at, after);
    snprintf(wanted, sizeof wanted, "%.*s\n%.*s\xC3\xA9", at, before, 40 - at, after);
    char *copy = unit_exact_copy(raw, (size_t)length);
    unit_assert_text(json_unescape((struct text){copy, (size_t)length}, &arena), text_of(wanted), __FILE__,
                     __LINE__);
    test_free(copy);
  }
  arena_fini(&arena);
}

UNIT_TEST_WITH(borrows_strings_without_escapes, NULL, free_current)
{
  struct arena arena;
  arena_init(&arena);
  struct json_value value = read_text(TEXT("\"plain\""));
  assert_ptr_equal(json_read_string(value, &arena).data, value.span.data + 1);
  assert_null(arena.first);
  assert_non_null(json_unescape(TEXT(""), &arena).data);
}

UNIT_TEST(finds_a_plain_string)
{
  static const struct {
    struct text text;
    size_t length;
  } cases[] = {
      {TEXT("\"\""), 2},
      {TEXT("\"plain\", \xFF"), 7},
      {TEXT("\"\xC3\xA9\xF0\x9F\x98\x80 and more than sixteen bytes\"x"), 36},
      {TEXT(""), 0},
      {TEXT("x\"\""), 0},
      {TEXT("\""), 0},
      {TEXT("\"open"), 0},
      {TEXT("\"\xC3\xA9"), 0},
      {TEXT("\"a\\n\""), 0},
      {TEXT("\"\xC3\xA9\\n\""), 0},
      {TEXT("\"a\n\""), 0},
      {TEXT("\"\xC3\xA9\n\""), 0},
      {TEXT("\"\xC3\""), 0},
      {TEXT("\"\xED\xA0\x80\""), 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *copy = unit_exact_copy(cases[i].text.data, cases[i].text.len);
    size_t length = json_unescaped_string_at((struct text){copy, cases[i].text.len});
    test_free(copy);
    if (length != cases[i].length)
      fail_msg("case %zu: %zu bytes, not %zu", i, length, cases[i].length);
  }
}

UNIT_TEST(compares_keys_unescaped)
{
  static const struct {
    struct text raw;
    const char *name;
    bool same;
  } cases[] = {
      {TEXT("id"), "id", true},
      {TEXT("\\u0069d"), "id", true},
      {TEXT("i\\u0064"), "id", true},
      {TEXT("\\u0069\\u0064"), "id", true},
      {TEXT("\\/"), "/", true},
      {TEXT("\\\\"), "\\", true},
      {TEXT("\\n"), "\n", true},
      {TEXT(""), "", true},
      {TEXT("id"), "", false},
      {TEXT(""), "id", false},
      {TEXT("i"), "id", false},
      {TEXT("idx"), "id", false},
      {TEXT("ID"), "id", false},
      {TEXT("\\u0069"), "id", false},
      {TEXT("\\u0069dx"), "id", false},
      {TEXT("\\u0069d\\u0000"), "id", false},
      {TEXT("\\ud83d\\ude00"), "id", false},
      {TEXT("\\n"), "\\n", false},
      {TEXT("\\u0169d"), "id", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *copy = unit_exact_copy(cases[i].raw.data, cases[i].raw.len);
    bool same = json_key_is((struct text){copy, cases[i].raw.len}, text_of(cases[i].name));
    test_free(copy);
    if (same != cases[i].same)
      fail_msg("%s and %s", cases[i].raw.data, cases[i].name);
  }
}

UNIT_MAIN
