#include "tests/unit/json/generate.h"

struct generator generator_from_seed(uint64_t seed)
{
  return (struct generator){seed * 0x9E3779B97F4A7C15u + 1};
}

/* splitmix64 */
static uint64_t next_random(struct generator *generator)
{
  generator->state += 0x9E3779B97F4A7C15u;
  uint64_t z = generator->state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static size_t below(struct generator *generator, size_t limit)
{
  return (size_t)(next_random(generator) % limit);
}

#define PICK(generator, table) ((table)[below((generator), sizeof(table) / sizeof((table)[0]))])

static void put_space(struct generator *generator, struct buffer *out)
{
  static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t ", "\r\n  "};
  buffer_append_text(out, text_of(PICK(generator, spaces)));
}

static void put_digits(struct generator *generator, struct buffer *out, size_t count)
{
  for (; count > 0; count--)
    buffer_append_char(out, (char)('0' + below(generator, 10)));
}

static void put_made_number(struct generator *generator, struct buffer *out)
{
  if (below(generator, 3) == 0)
    buffer_append_char(out, '-');
  if (below(generator, 4) == 0) {
    buffer_append_char(out, '0');
  } else {
    buffer_append_char(out, (char)('1' + below(generator, 9)));
    put_digits(generator, out, below(generator, 21));
  }
  if (below(generator, 2) == 0) {
    buffer_append_char(out, '.');
    put_digits(generator, out, 1 + below(generator, 25));
  }
  if (below(generator, 3) == 0)
    buffer_printf(out, "%s%zu", PICK(generator, ((const char *const[]){"e", "E", "e+", "e-", "E-", "e-00"})),
                  below(generator, 340));
}

static void put_number(struct generator *generator, struct buffer *out)
{
  static const char *const awkward[] = {
      "0",
      "-0",
      "-0.0",
      "9223372036854775807",
      "-9223372036854775808",
      "9223372036854775808",
      "18446744073709551616",
      "1e400",
      "-1e400",
      "1e-400",
      "4.9e-324",
      "1.7976931348623157e308",
      "1.7976931348623159e308",
      "2.2250738585072011e-308",
      "9007199254740993.0",
      "0.1e1",
      "100000000000000000000000000000000000000000.0",
  };
  if (below(generator, 4) == 0)
    buffer_append_text(out, text_of(PICK(generator, awkward)));
  else
    put_made_number(generator, out);
}

static void put_string(struct generator *generator, struct buffer *out)
{
  static const char *const pieces[] = {
      "a",
      "name",
      "plain text of some length",
      "\\n",
      "\\\"",
      "\\\\",
      "\\/",
      "\\b\\f\\r\\t",
      "\\u0041",
      "\\u00e9",
      "\\u20AC",
      "\\ud83d\\ude00",
      "\\ud83d",
      "\\ude00",
      "\\u0000",
      "\xC3\xA9",
      "\xE2\x82\xAC",
      "\xF0\x9F\x98\x80",
      "\x7F",
      "\\uFFFF",
      "\xEF\xBF\xBF",
      "\xED\x9F\xBF",
      "]}{[,:",
      "1",
      "\\u0001",
      "\xC2\x80",
      "\\uDBFF\\uDFFF",
      "\xEF\xBB\xBF",
      "\xF4\x8F\xBF\xBF",
      "id",
  };
  buffer_append_char(out, '"');
  for (size_t count = below(generator, 6); count > 0; count--)
    buffer_append_text(out, text_of(PICK(generator, pieces)));
  buffer_append_char(out, '"');
}

static void put_name(struct generator *generator, struct buffer *out)
{
  /* Few of them, so that some come twice, and one by two spellings. */
  static const char *const names[] = {"\"a\"", "\"b\"", "\"\\u0061\"", "\"\"", "\"id\"", "\"params\""};
  if (below(generator, 3) == 0)
    put_string(generator, out);
  else
    buffer_append_text(out, text_of(PICK(generator, names)));
}

static void put_value(struct generator *generator, struct buffer *out, size_t depth);

static void put_container(struct generator *generator, struct buffer *out, size_t depth, bool object)
{
  buffer_append_char(out, object ? '{' : '[');
  put_space(generator, out);
  for (size_t count = below(generator, 5); count > 0; count--) {
    if (object) {
      put_name(generator, out);
      put_space(generator, out);
      buffer_append_char(out, ':');
    }
    put_value(generator, out, depth - 1);
    if (count > 1)
      buffer_append_char(out, ',');
    put_space(generator, out);
  }
  buffer_append_char(out, object ? '}' : ']');
}

static void put_value(struct generator *generator, struct buffer *out, size_t depth)
{
  static const char *const words[] = {"true", "false", "null"};
  put_space(generator, out);
  size_t kind = below(generator, depth == 0 ? 5 : 10);
  if (kind < 1)
    buffer_append_text(out, text_of(PICK(generator, words)));
  else if (kind < 3)
    put_number(generator, out);
  else if (kind < 5)
    put_string(generator, out);
  else
    put_container(generator, out, depth, kind < 8);
  put_space(generator, out);
}

void generate_json(struct generator *generator, struct buffer *out)
{
  put_value(generator, out, 1 + below(generator, 6));
}

static void damage_once(struct generator *generator, struct buffer *text)
{
  /* The bytes that mean something, and some that never do. */
  static const char bytes[] =
      "\"\\{}[]:,-+.eE0123456789utfnalrsdFL \n\0\x1F\x80\xBF\xC0\xE2\xED\xA0\xF4\xFF/'";
  size_t at = below(generator, text->len + 1);
  char byte = bytes[below(generator, sizeof bytes - 1)];
  switch (below(generator, 5)) {
  case 0:
    if (at < text->len)
      text->data[at] = byte;
    break;
  case 1:
    if (at < text->len) {
      memmove(text->data + at, text->data + at + 1, text->len - at - 1);
      text->len--;
    }
    break;
  case 2:
    if (buffer_reserve(text, 1) != NULL) {
      memmove(text->data + at + 1, text->data + at, text->len - at);
      text->data[at] = byte;
      text->len++;
    }
    break;
  case 3:
    buffer_truncate(text, at);
    break;
  default:
    /* The end again, from `at` on. */
    if (buffer_reserve(text, text->len - at) != NULL) {
      memcpy(text->data + text->len, text->data + at, text->len - at);
      text->len += text->len - at;
    }
    break;
  }
}

void generate_damage(struct generator *generator, struct buffer *text)
{
  for (size_t count = 1 + below(generator, 3); count > 0; count--)
    damage_once(generator, text);
}
