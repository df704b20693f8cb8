#include "json/reader.h"
#include "json/writer.h"

#include "tests/unit/unit.h"

static const struct writer_case {
  struct text text;
  struct text json;
} cases[] = {
    {TEXT(""), TEXT("\"\"")},
    {TEXT("plain/text"), TEXT("\"plain/text\"")},
    {TEXT("a\"b\\c"), TEXT("\"a\\\"b\\\\c\"")},
    {TEXT("\b\f\n\r\t"), TEXT("\"\\b\\f\\n\\r\\t\"")},
    {TEXT("\0\x01\x1F\x7F"), TEXT("\"\\u0000\\u0001\\u001f\x7F\"")},
    {TEXT("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), TEXT("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"")},
    {TEXT("\xED\x9F\xBF\xEE\x80\x80"), TEXT("\"\xED\x9F\xBF\xEE\x80\x80\"")}, /* around the surrogates */
    {TEXT("x\xED\xA0\xBDy"), TEXT("\"x\\ud83dy\"")},
    {TEXT("\xED\xB8\x80\xED\xA0\xBD"), TEXT("\"\\ude00\\ud83d\"")},
    {TEXT("1234567\"12345678\n"), TEXT("\"1234567\\\"12345678\\n\"")},
};

UNIT_TEST(escapes_characters_that_must_be_escaped)
{
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *copy = unit_exact_copy(cases[i].text.data, cases[i].text.len);
    struct buffer out;
    buffer_init(&out);
    json_write_string(&out, (struct text){copy, cases[i].text.len});
    test_free(copy);
    unit_assert_text(buffer_text(&out), cases[i].json, __FILE__, __LINE__);
    buffer_fini(&out);
  }
}

/* Each character at each place of a text that is scanned many bytes at a time. */
UNIT_TEST(escapes_in_every_place)
{
  enum { LENGTH = 72 };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct text odd = cases[i].text;
    struct text escaped = text_slice(cases[i].json, 1, cases[i].json.len - 1);
    for (size_t at = 0; at + odd.len <= LENGTH; at++) {
      struct buffer text;
      struct buffer wanted;
      struct buffer out;
      buffer_init(&text);
      buffer_init(&wanted);
      buffer_init(&out);
      for (size_t before = 0; before < at; before++) {
        buffer_append_char(&text, 'x');
        buffer_append_char(&wanted, 'x');
      }
      buffer_append_text(&text, odd);
      buffer_append_text(&wanted, escaped);
      for (size_t next = at + odd.len; next < LENGTH; next++) {
        buffer_append_char(&text, 'y');
        buffer_append_char(&wanted, 'y');
      }
      json_write_escaped(&out, buffer_text(&text));
      assert_true(text_equal(buffer_text(&out), buffer_text(&wanted)));
      buffer_fini(&text);
      buffer_fini(&wanted);
      buffer_fini(&out);
    }
  }
}

UNIT_TEST(writes_pieces_without_quotes)
{
  struct buffer out;
  buffer_init(&out);
  buffer_append_char(&out, '"');
  json_write_escaped(&out, TEXT("a\n"));
  json_write_escaped(&out, TEXT_ABSENT);
  json_write_escaped(&out, TEXT("\"b"));
  buffer_append_char(&out, '"');
  assert_text(buffer_text(&out), "\"a\\n\\\"b\"");
  buffer_fini(&out);
}

UNIT_TEST(writes_text_that_the_reader_reads_back)
{
  struct arena arena;
  struct buffer out;
  arena_init(&arena);
  buffer_init(&out);
  /* Each UTF-16 unit, lone surrogates included, at a place that moves through a word. */
  for (uint32_t unit = 0; unit <= 0xFFFF; unit++) {
    uint16_t units[10] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'};
    units[unit % 10] = (uint16_t)unit;
    char bytes[30];
    struct text text = {bytes, text_wtf8_length(units, 10)};
    text_from_utf16(units, 10, bytes);
    buffer_clear(&out);
    json_write_string(&out, text);
    struct json_fault fault;
    assert_int_equal(json_validate(buffer_text(&out), (struct json_limits){1}, TEXT_ABSENT, &fault), JP_OK);
    assert_true(text_equal(json_read_string(json_root(buffer_text(&out)), &arena), text));
    arena_reset(&arena);
  }
  buffer_fini(&out);
  arena_fini(&arena);
}

UNIT_TEST(survives_a_cut_character)
{
  static const struct text cut[] = {TEXT("\xED"), TEXT("\xED\xA0"), TEXT("abcdefg\xED\xA0"),
                                    TEXT("0123456789abcdef\xED"), TEXT("0123456789abcde\xED\xA0")};
  for (size_t i = 0; i < COUNT_OF(cut); i++) {
    char *copy = unit_exact_copy(cut[i].data, cut[i].len);
    struct buffer out;
    buffer_init(&out);
    json_write_escaped(&out, (struct text){copy, cut[i].len});
    unit_assert_text(buffer_text(&out), cut[i], __FILE__, __LINE__);
    buffer_fini(&out);
    test_free(copy);
  }
}

UNIT_TEST(writes_integers)
{
  struct buffer out;
  buffer_init(&out);
  json_write_integer(&out, INT64_MIN);
  json_write_integer(&out, 0);
  json_write_integer(&out, INT64_MAX);
  assert_text(buffer_text(&out), "-922337203685477580809223372036854775807");
  buffer_fini(&out);
}

UNIT_MAIN
