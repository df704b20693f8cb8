/* Short texts; test_text_wide.c has UTF-8 and UTF-16. */
#include "base/text.h"

#include "tests/unit/unit.h"

#include <stdio.h>

UNIT_TEST(compares_bytes_and_lengths)
{
  assert_true(text_equal(TEXT("a\0b"), TEXT("a\0b")));
  assert_false(text_equal(TEXT("a\0b"), TEXT("a\0c")));
  assert_false(text_equal(TEXT("a"), TEXT("ab")));
  assert_true(text_equal(TEXT(""), TEXT_ABSENT));
  assert_text(text_slice(TEXT("abcdef"), 2, 4), "cd");
  assert_text(text_of("abc"), "abc");
}

/* For each length, and each place in a text of this length: one byte that differs is noticed. */
UNIT_TEST(compares_every_byte)
{
  for (size_t length = 0; length <= 40; length++) {
    char *a = unit_exact_copy("0123456789abcdef0123456789abcdef01234567", length);
    char *b = unit_exact_copy(a, length);
    assert_true(text_equal_bytes(a, b, length));
    for (size_t i = 0; i < length; i++) {
      b[i] ^= 1;
      assert_false(text_equal_bytes(a, b, length));
      b[i] ^= 1;
    }
    test_free(a);
    test_free(b);
  }
}

UNIT_TEST(ignores_the_case_of_ascii_letters_only)
{
  assert_true(text_equal_ignore_case(TEXT("Delete_Object"), TEXT("dELETE_oBJECT")));
  assert_true(text_equal_ignore_case(TEXT(""), TEXT_ABSENT));
  assert_false(text_equal_ignore_case(TEXT("@"), TEXT("`")));
  assert_false(text_equal_ignore_case(TEXT("[{"), TEXT("{[")));
  assert_false(text_equal_ignore_case(TEXT("\xC3\x84"), TEXT("\xC3\xA4")));
  assert_false(text_equal_ignore_case(TEXT("gc"), TEXT("gcc")));
  assert_false(text_equal_ignore_case(TEXT("gc\0a"), TEXT("gc\0b")));
  assert_true(text_equal_ignore_case(TEXT("gc\0a"), TEXT("GC\0A")));
}

UNIT_TEST(finds_a_whole_line)
{
  assert_true(text_has_line(TEXT("1\n22\n"), TEXT("22")));
  assert_true(text_has_line(TEXT("1\n22"), TEXT("22")));
  assert_true(text_has_line(TEXT("1\n\n2"), TEXT("")));
  assert_false(text_has_line(TEXT("1\n22\n"), TEXT("2")));
  assert_false(text_has_line(TEXT("1\n22\n"), TEXT("")));
  assert_false(text_has_line(TEXT_ABSENT, TEXT("")));
}

UNIT_TEST(finds_prefix_suffix_and_last)
{
  assert_true(text_starts_with(TEXT("java.lang"), TEXT("java.")));
  assert_false(text_starts_with(TEXT("java"), TEXT("java.")));
  assert_true(text_starts_with(TEXT("x"), TEXT("")));
  assert_true(text_ends_with(TEXT("int[]"), TEXT("[]")));
  assert_false(text_ends_with(TEXT("]"), TEXT("[]")));
  assert_true(text_ends_with(TEXT_ABSENT, TEXT("")));
  assert_int_equal(text_find_last(TEXT("a.b.c"), '.'), 3);
  assert_true(text_find_last(TEXT("abc"), '.') == SIZE_MAX);
  assert_true(text_find_last(TEXT_ABSENT, '.') == SIZE_MAX);
}

UNIT_TEST(hashes_differ_by_every_byte_and_by_length)
{
  char bytes[20] = {0};
  uint64_t base = text_hash((struct text){bytes, sizeof bytes});
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = 1;
    assert_true(text_hash((struct text){bytes, sizeof bytes}) != base);
    bytes[i] = 0;
  }
  for (size_t i = 0; i < sizeof bytes; i++)
    assert_true(text_hash((struct text){bytes, i}) != base);
  assert_true(text_hash((struct text){bytes, sizeof bytes}) == base);
}

UNIT_TEST(distinguishes_ascii_from_all_else)
{
  enum { LENGTH = 100 };
  char bytes[LENGTH];
  memset(bytes, 0x7F, sizeof bytes);
  for (size_t length = 0; length <= LENGTH; length++) {
    assert_true(text_is_ascii((struct text){bytes, length}));
    for (size_t i = 0; i < length; i++) {
      bytes[i] = (char)0x80;
      assert_false(text_is_ascii((struct text){bytes, length}));
      assert_true(text_is_ascii((struct text){bytes, i}));
      bytes[i] = 0x7F;
    }
  }
}

static void assert_escaped(struct text t, const char *plain, const char *quoted, const char *expected)
{
  char out[64];
  size_t length = text_escape(t, plain, quoted, out, sizeof out);
  assert_string_equal(out, expected);
  assert_int_equal(length, strlen(expected));
}

UNIT_TEST(escapes_characters_that_are_not_plain_text)
{
  assert_escaped(TEXT("caf\xC3\xA9 \xF0\x9F\x98\x80"), "", "", "caf\xC3\xA9 \xF0\x9F\x98\x80");
  assert_escaped(TEXT("a\n\tb\0c\x7F"), "", "", "a\\x0a\\x09b\\x00c\\x7f");
  assert_escaped(TEXT("a\n\tb\0c\r"), "\n\t", "", "a\n\tb\\x00c\\x0d");
  assert_escaped(TEXT("\xC2\x80\xC2\x9F\xC2\xA0"), "", "", "\\u0080\\u009f\xC2\xA0");
  assert_escaped(TEXT("a\xC2\xAD\xE2\x80\x8B\xEF\xBB\xBF\xF3\xA0\x81\x81"), "", "",
                 "a\\u00ad\\u200b\\ufeff\\ue0041");
  assert_escaped(TEXT("a\xE2\x80\x8D\xF0\x9F\x91\xA8\xE2\x80\x8D"), "", "",
                 "a\\u200d\xF0\x9F\x91\xA8\xE2\x80\x8D");
  assert_escaped(TEXT("\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA9"), "", "", "\\u2028\\u202e\\u2069");
  assert_escaped(TEXT("\x9B\xC3"), "", "", "\\x9b\\xc3");
  assert_escaped(TEXT("\xED\xA0\x80"), "", "", "\\xed\\xa0\\x80");
  assert_escaped(TEXT("a\" b=\"\\"), "", "\"\\", "a\\\" b=\\\"\\\\");
  assert_escaped(TEXT(""), "\n", "\"", "");
}

UNIT_TEST(leaves_out_whole_characters_that_do_not_fit)
{
  char out[6];
  assert_int_equal(text_escape(TEXT("abc\xC3\xA9\xC3\xA9z"), "", "", out, sizeof out), 8);
  assert_string_equal(out, "abc\xC3\xA9");
  assert_int_equal(text_escape(TEXT("abc\nz"), "", "", out, sizeof out), 8);
  assert_string_equal(out, "abc");
}

/* Each size from 4 on, and characters of one to four bytes at each place of the cut. */
UNIT_TEST(formats_and_cuts_between_characters)
{
  static const char whole[] = "a\xC3\xA9\xE4\xB8\x96\xF0\x9F\x98\x80z\xC3\xA9\xF0\x9F\x98\x80\xE4\xB8\x96y";
  for (size_t size = 4; size <= sizeof whole + 2; size++) {
    char *out = test_malloc(size);
    size_t length = text_format(out, size, "%s", whole);
    assert_int_equal(length, strlen(out));
    assert_int_equal(text_valid_utf8(text_of(out)), length);
    if (size >= sizeof whole) {
      assert_string_equal(out, whole);
    } else {
      assert_true(length + 4 >= size); /* the cut leaves out at most three bytes of a character */
      assert_true(text_ends_with(text_of(out), TEXT("...")));
      assert_memory_equal(out, whole, length - 3);
    }
    test_free(out);
  }
}

UNIT_TEST(marks_a_shortened_text_with_dots)
{
  char out[10] = "short";
  text_mark_cut(out, sizeof out);
  assert_string_equal(out, "short...");
  memcpy(out, "12345\xC3\xA9\xC3\xA9", sizeof out);
  text_mark_cut(out, sizeof out);
  assert_string_equal(out, "12345...");
  memcpy(out, "123456789", sizeof out);
  text_mark_cut(out, sizeof out);
  assert_string_equal(out, "123456...");
}

UNIT_TEST(hides_tokens)
{
  static const struct {
    const char *text;
    const char *expected;
  } cases[] = {
      {"", ""},
      {"jp_", "jp_"},
      {"a jp_client_of_x and jp_", "a jp_client_of_x and jp_"},
      {"'jp_AbC-_6789012345678901234567890123456789012': no user", "'jp_...': no user"},
      {"jp_0123456789abcdef,xjp_0123456789abcdef", "jp_...,xjp_..."},
      {"jp_jp_0123456789abcdef", "jp_..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[100];
    snprintf(text, sizeof text, "%s", cases[i].text);
    text_hide_tokens(text);
    assert_string_equal(text, cases[i].expected);
  }
}

UNIT_MAIN
