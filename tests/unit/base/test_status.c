#include "base/status.h"

#include "tests/unit/unit.h"

#include "base/text.h"

UNIT_TEST(formats_and_returns_the_status)
{
  struct jp_error error = {0};
  assert_int_equal(jp_fail(&error, JP_NOT_FOUND, "no %s %d", "class", 7), JP_NOT_FOUND);
  assert_int_equal(error.status, JP_NOT_FOUND);
  assert_string_equal(error.text, "no class 7");
  assert_int_equal(jp_fail(NULL, JP_IO, "nobody %s", "cares"), JP_IO);
  jp_error_prefix(NULL, "nobody cares");
}

UNIT_TEST(names_what_it_read_when_memory_was_short)
{
  struct jp_error error;
  assert_int_equal(jp_fail_memory(&error, NULL), JP_NO_MEMORY);
  assert_int_equal(error.status, JP_NO_MEMORY);
  assert_string_equal(error.text, "out of memory");
  assert_int_equal(jp_fail_memory(&error, "a.jar"), JP_NO_MEMORY);
  assert_string_equal(error.text, "out of memory while reading a.jar");
  assert_int_equal(jp_fail_memory(NULL, NULL), JP_NO_MEMORY);
}

UNIT_TEST(marks_a_cut_text)
{
  struct jp_error error;
  jp_fail(&error, JP_INVALID, "%2000d", 1);
  assert_int_equal(strlen(error.text), sizeof error.text - 1);
  assert_string_equal(error.text + strlen(error.text) - 4, " ...");
  jp_fail(&error, JP_INVALID, "%*d", (int)sizeof error.text - 1, 1);
  assert_string_equal(error.text + strlen(error.text) - 2, " 1");
}

UNIT_TEST(never_cuts_a_character_in_two)
{
  for (int shift = 0; shift < 4; shift++) {
    char text[2000];
    struct jp_error error;
    memset(text, 'x', (size_t)shift);
    for (size_t i = (size_t)shift; i + 4 < sizeof text; i += 4)
      memcpy(text + i, "\xF0\x9F\x98\x80", 5);
    jp_fail(&error, JP_INVALID, "%s", text);
    assert_true(text_ends_with(text_of(error.text), TEXT("...")));
    assert_int_equal(text_valid_utf8(text_of(error.text)), strlen(error.text));
  }
}

UNIT_TEST(puts_the_place_before_the_text)
{
  struct jp_error error;
  jp_fail(&error, JP_INVALID, "unknown word");
  jp_error_prefix(&error, "%s:%d", "a.yaml", 3);
  assert_string_equal(error.text, "a.yaml:3: unknown word");
  assert_int_equal(error.status, JP_INVALID);
}

UNIT_TEST(marks_a_cut_prefix)
{
  struct jp_error error;
  jp_fail(&error, JP_INVALID, "%1000d", 1);
  jp_error_prefix(&error, "%100d", 1);
  assert_true(text_ends_with(text_of(error.text), TEXT("...")));
  jp_fail(&error, JP_INVALID, "lower");
  jp_error_prefix(&error, "%2000d", 1);
  assert_true(text_ends_with(text_of(error.text), TEXT("...")));
}

UNIT_MAIN
