/*
 * Compares the reader with jansson, over generated texts and damaged texts. Only the differences listed in
 * oracle.h are allowed.
 */
#include "base/buffer.h"
#include "tests/unit/json/oracle.h"

#include "tests/unit/unit.h"

enum { TEXTS = 20000, DAMAGES = 4 };

static uint64_t random_state;

static size_t below(size_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(random_state >> 33) % limit;
}

#define PUT_ONE_OF(out, ...)                                                                                 \
  do {                                                                                                       \
    static const char *const all[] = {__VA_ARGS__};                                                          \
    buffer_append_text(out, text_of(all[below(COUNT_OF(all))]));                                             \
  } while (0)

static void put_space(struct buffer *out)
{
  PUT_ONE_OF(out, "", "", "", "", " ", "\n", "\t ", "\r\n  ");
}

static void put_digits(struct buffer *out, size_t count)
{
  for (; count > 0; count--)
    buffer_append_char(out, (char)('0' + below(10)));
}

static void put_number(struct buffer *out)
{
  if (below(4) == 0) {
    PUT_ONE_OF(out, "-0", "-0.0", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
               "18446744073709551616", "1e400", "-1e400", "1e-400", "4.9e-324", "1.7976931348623157e308",
               "1.7976931348623159e308", "2.2250738585072011e-308", "9007199254740993.0", "0.1e1",
               "100000000000000000000000000000000000000000.0");
    return;
  }
  PUT_ONE_OF(out, "", "", "-");
  if (below(4) == 0)
    buffer_append_char(out, '0');
  else
    buffer_append_char(out, (char)('1' + below(9))), put_digits(out, below(21));
  if (below(2) == 0)
    buffer_append_char(out, '.'), put_digits(out, 1 + below(25));
  if (below(3) == 0) {
    PUT_ONE_OF(out, "e", "E", "e+", "e-", "E-", "e-00");
    buffer_printf(out, "%zu", below(340));
  }
}

static void put_string(struct buffer *out)
{
  buffer_append_char(out, '"');
  for (size_t count = below(6); count > 0; count--)
    PUT_ONE_OF(out, "a", "name", "plain text of some length", "\\n", "\\\"", "\\\\", "\\/", "\\b\\f\\r\\t",
               "\\u0041", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\u0000", "\xC3\xA9",
               "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\x7F", "\\uFFFF", "\xEF\xBF\xBF", "\xED\x9F\xBF",
               "]}{[,:", "1", "\\u0001", "\xC2\x80", "\\uDBFF\\uDFFF", "\xEF\xBB\xBF", "\xF4\x8F\xBF\xBF",
               "id");
  buffer_append_char(out, '"');
}

static void put_value(struct buffer *out, size_t depth)
{
  put_space(out);
  size_t kind = below(depth == 0 ? 5 : 10);
  bool is_object = kind < 8;
  if (kind < 1)
    PUT_ONE_OF(out, "true", "false", "null");
  else if (kind < 3)
    put_number(out);
  else if (kind < 5)
    put_string(out);
  else {
    buffer_append_char(out, is_object ? '{' : '[');
    put_space(out);
    for (size_t count = below(5); count > 0; count--) {
      if (is_object && below(3) == 0)
        put_string(out);
      else if (is_object) /* few names, so that some occur twice, and one name in two spellings */
        PUT_ONE_OF(out, "\"a\"", "\"b\"", "\"\\u0061\"", "\"\"", "\"id\"", "\"params\"");
      if (is_object) {
        put_space(out);
        buffer_append_char(out, ':');
      }
      put_value(out, depth - 1);
      if (count > 1)
        buffer_append_char(out, ',');
      put_space(out);
    }
    buffer_append_char(out, is_object ? '}' : ']');
  }
  put_space(out);
}

/* Replaces, removes or inserts a byte, cuts the text off or repeats its end. */
static void damage(struct buffer *text)
{
  /* Bytes with a meaning, and some without. */
  static const char bytes[] =
      "\"\\{}[]:,-+.eE0123456789utfnalrsdFL \n\0\x1F\x80\xBF\xC0\xE2\xED\xA0\xF4\xFF/'";
  struct buffer rest;
  size_t at = below(text->len + 1);
  size_t kind = below(5);
  buffer_init(&rest);
  if (kind != 3)
    buffer_append_text(&rest, text_slice(buffer_text(text), at + (at < text->len && kind < 2), text->len));
  if (kind != 4)
    buffer_truncate(text, at);
  if (kind == 0 || kind == 2)
    buffer_append_char(text, bytes[below(sizeof bytes - 1)]);
  buffer_append_text(text, buffer_text(&rest));
  buffer_fini(&rest);
}

/* Compares both readers on a copy of the exact size. Fails if they differ, else returns their verdict. */
static enum oracle_verdict compare(struct text text)
{
  char *copy = unit_exact_copy(text.data, text.len);
  enum oracle_verdict verdict = oracle_compare((struct text){copy, text.len});
  test_free(copy);
  if (verdict == ORACLE_DIFFER)
    fail_msg("the reader and jansson differ: %.*s", TEXT_ARGS(text));
  return verdict;
}

/* damages 0: compares each generated text. Otherwise damages each text this many times, and compares it each
 * time. */
static void compare_generated(uint64_t seed, int damages, size_t verdicts[ORACLE_DIFFER + 1])
{
  struct buffer text;
  buffer_init(&text);
  random_state = seed;
  for (int i = 0; i < TEXTS; i++) {
    buffer_clear(&text);
    put_value(&text, 1 + below(6));
    if (damages == 0)
      verdicts[compare(buffer_text(&text))]++;
    for (int k = 0; k < damages; k++) {
      for (size_t count = 1 + below(3); count > 0; count--)
        damage(&text);
      verdicts[compare(buffer_text(&text))]++;
    }
  }
  buffer_fini(&text);
}

UNIT_TEST(accepts_generated_texts)
{
  size_t verdicts[ORACLE_DIFFER + 1] = {0};
  compare_generated(1, 0, verdicts);
  assert_int_equal(verdicts[ORACLE_BOTH_REFUSE], 0);
  assert_int_equal(verdicts[ORACLE_TOO_DEEP], 0);
  /* The generator makes texts that both readers accept, and texts with a listed difference. */
  assert_true(verdicts[ORACLE_BOTH_ACCEPT] > TEXTS / 10);
  assert_true(verdicts[ORACLE_ON_THE_LIST] > TEXTS / 100);
}

UNIT_TEST(agrees_about_damaged_texts)
{
  size_t verdicts[ORACLE_DIFFER + 1] = {0};
  compare_generated(2, DAMAGES, verdicts);
  assert_true(verdicts[ORACLE_BOTH_REFUSE] > TEXTS);
  assert_true(verdicts[ORACLE_BOTH_ACCEPT] > TEXTS / 10);
}

static const struct listed_case {
  struct text text;
  enum oracle_verdict verdict;
} listed[] = {
    {TEXT("9223372036854775808"), ORACLE_ON_THE_LIST},
    {TEXT("[-9223372036854775809]"), ORACLE_ON_THE_LIST},
    {TEXT("{\"a\":1e400}"), ORACLE_ON_THE_LIST},
    {TEXT("{\"a\\u0000\":1}"), ORACLE_ON_THE_LIST},
    {TEXT("\"\\ud83d\""), ORACLE_ON_THE_LIST},
    {TEXT("{\"\\ude00\":1}"), ORACLE_ON_THE_LIST},
    {TEXT("\"a\\u0000\""), ORACLE_BOTH_ACCEPT},
    {TEXT("9223372036854775807"), ORACLE_BOTH_ACCEPT},
    {TEXT("1e-400"), ORACLE_BOTH_ACCEPT},
    {TEXT("{\"a\":1,\"\\u0061\":2}"), ORACLE_BOTH_ACCEPT},
    {TEXT("1d"), ORACLE_BOTH_REFUSE},
    {TEXT("\xEF\xBB\xBF"
          "1"),
     ORACLE_BOTH_REFUSE},
    {TEXT("1\0"), ORACLE_ON_THE_LIST},
    {TEXT("[true\0]"), ORACLE_ON_THE_LIST},
    {TEXT("1 \0"), ORACLE_BOTH_REFUSE},
    {TEXT("{}\0"), ORACLE_BOTH_REFUSE},
    {TEXT("\"\0\""), ORACLE_BOTH_REFUSE},
    {TEXT("\0"), ORACLE_BOTH_REFUSE},
    {TEXT("\"\xED\xA0\xBD\""), ORACLE_BOTH_REFUSE},
    {TEXT(""), ORACLE_BOTH_REFUSE},
};

UNIT_TEST(gives_the_listed_verdicts)
{
  for (size_t i = 0; i < COUNT_OF(listed); i++) {
    if (compare(listed[i].text) != listed[i].verdict)
      fail_msg("%s", listed[i].text.data);
  }
}

UNIT_MAIN
