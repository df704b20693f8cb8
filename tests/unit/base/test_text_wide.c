/* Compares the functions for texts of many bytes with functions that read one character after the other. */
#include "base/text.h"

#include "tests/unit/unit.h"

enum { UNITS_MAX = 400, BYTES_MAX = 3 * UNITS_MAX };

/* ---- the reference ---- */

/* The bytes of a code point, also of a surrogate. */
static size_t encode(uint32_t c, char *out)
{
  static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
  size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--) {
    out[i] = (char)(0x80 | (c & 0x3F));
    c >>= 6;
  }
  out[0] = (char)(leads[length] | c);
  return length;
}

/* Returns the length of the first character; 0: the text does not begin with a well-formed character. */
static size_t decode(struct text t, uint32_t *c)
{
  const unsigned char *p = (const unsigned char *)t.data;
  size_t length = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
  if (length == 0 || length > t.len)
    return 0;
  *c = length == 1 ? p[0] : p[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xC0) != 0x80)
      return 0;
    *c = *c << 6 | (p[i] & 0x3F);
  }
  char again[4];
  return *c <= 0x10FFFF && encode(*c, again) == length ? length : 0;
}

static size_t valid_length(struct text t)
{
  size_t i = 0;
  while (i < t.len) {
    uint32_t c;
    size_t length = decode(text_slice(t, i, t.len), &c);
    if (length == 0 || (c >= 0xD800 && c <= 0xDFFF))
      break;
    i += length;
  }
  return i;
}

static size_t units_of(struct text t, uint16_t *out)
{
  size_t count = 0;
  for (size_t i = 0; i < t.len;) {
    uint32_t c = 0;
    i += decode(text_slice(t, i, t.len), &c);
    if (c >= 0x10000) {
      out[count++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
      c = 0xDC00 + (c & 0x3FF);
    }
    out[count++] = (uint16_t)c;
  }
  return count;
}

static size_t bytes_of(const uint16_t *units, size_t count, char *out)
{
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t c = units[i];
    if (c >= 0xD800 && c < 0xDC00 && i + 1 < count && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000)
      c = 0x10000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00u);
    length += encode(c, out + length);
  }
  return length;
}

/* ---- */

static void compare_valid(const char *bytes, size_t count)
{
  char *copy = unit_exact_copy(bytes, count);
  struct text t = {copy, count};
  size_t valid = text_valid_utf8(t);
  size_t wanted = valid_length(t);
  if (valid != wanted)
    fail_msg("%zu bytes of %zu are valid, not %zu", valid, count, wanted);
  test_free(copy);
}

/* Converts a text to UTF-16 and back. Neither conversion reads or writes a byte too many. */
static void compare_units(const uint16_t *units, size_t count)
{
  static char wanted_bytes[BYTES_MAX];
  static uint16_t wanted_units[UNITS_MAX];
  size_t length = bytes_of(units, count, wanted_bytes);
  uint16_t *from = (uint16_t *)(void *)unit_exact_copy(units, count * sizeof *units);
  char *bytes = test_malloc(length + (length == 0));
  assert_int_equal(text_wtf8_length(from, count), length);
  assert_int_equal(text_from_utf16(from, count, bytes), length);
  assert_memory_equal(bytes, wanted_bytes, length);
  test_free(from);

  struct text t = {bytes, length};
  assert_int_equal(units_of(t, wanted_units), count);
  uint16_t *again = test_malloc(count * sizeof *again + (count == 0));
  assert_int_equal(text_utf16_length(t), count);
  assert_int_equal(text_to_utf16(t, again), count);
  assert_memory_equal(again, wanted_units, count * sizeof *again);
  test_free(again);
  test_free(bytes);
}

/* All code points, many in a text, after ASCII of changing length. */
UNIT_TEST(converts_every_character)
{
  enum { AT_ONCE = 128, BEFORE_MAX = 32 };
  for (uint32_t first = 0; first < 0x110000; first += AT_ONCE) {
    char bytes[BEFORE_MAX + 4 * AT_ONCE];
    uint16_t units[UNITS_MAX];
    size_t length = first / AT_ONCE % BEFORE_MAX;
    memset(bytes, 'x', length);
    for (uint32_t c = first; c < first + AT_ONCE; c++)
      length += encode(c, bytes + length);
    compare_valid(bytes, length);
    compare_units(units, units_of((struct text){bytes, length}, units));
  }
}

/* A character of each length, repeated until at least `least` bytes are filled. */
static size_t fill(char *out, size_t kind, size_t least)
{
  static const struct text fillers[] = {
      {"x", 1}, {"\xC3\xA9", 2}, {"\xE4\xB8\x96", 3}, {"\xF0\x9F\x8C\x8D", 4}};
  const struct text *filler = &fillers[kind % COUNT_OF(fillers)];
  size_t length = 0;
  for (; length < least; length += filler->len)
    memcpy(out + length, filler->data, filler->len);
  return length;
}

static void compare_within(const unsigned char *odd, size_t odd_length, size_t place)
{
  char bytes[256];
  size_t length = fill(bytes, place, place % 64);
  memcpy(bytes + length, odd, odd_length);
  length += odd_length;
  length += fill(bytes + length, place >> 2, place % 3 * 20);
  compare_valid(bytes, length);
}

UNIT_TEST(finds_every_pair_that_is_wrong)
{
  for (unsigned pair = 0; pair < 0x10000; pair++) {
    const unsigned char odd[] = {(unsigned char)(pair >> 8), (unsigned char)pair};
    compare_within(odd, sizeof odd, pair * 7 + (pair >> 8));
  }
}

/* Four bytes: two at the limits of valid bytes, then one of each kind. */
UNIT_TEST(finds_every_invalid_sequence)
{
  static const unsigned char borders[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1,
                                          0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5};
  static const unsigned char kinds[] = {0x7F, 0x80, 0xBF, 0xC2, 0xE0, 0xF0};
  size_t place = 0;
  for (size_t first = 0; first < COUNT_OF(borders); first++) {
    for (size_t second = 0; second < COUNT_OF(borders); second++) {
      for (size_t i = 0; i < COUNT_OF(kinds) * COUNT_OF(kinds); i++, place += 5) {
        const unsigned char odd[] = {borders[first], borders[second], kinds[i / COUNT_OF(kinds)],
                                     kinds[i % COUNT_OF(kinds)]};
        compare_within(odd, sizeof odd, place);
      }
    }
  }
}

UNIT_TEST(finds_cut_sequences)
{
  static const struct text characters[] = {{"\xC3\xA9", 2}, {"\xE4\xB8\x96", 3}, {"\xF0\x9F\x8C\x8D", 4}};
  for (size_t i = 0; i < COUNT_OF(characters); i++) {
    for (size_t place = 0; place < 512; place++) {
      char bytes[128];
      size_t length = fill(bytes, place >> 6, place % 64);
      for (size_t cut = 0; cut < characters[i].len; cut++) {
        bytes[length] = characters[i].data[cut];
        compare_valid(bytes, ++length);
      }
    }
  }
}

/* Each kind of unit at each place of texts of each kind, at each distance from their ends. */
UNIT_TEST(converts_every_kind_in_every_place)
{
  static const uint16_t kinds[][2] = {{'a', 0},         {0x7F, 0x80},     {0x7FF, 0x800},   {0xFFFF, 0},
                                      {0xD83C, 0xDF0D}, {0xD83C, 0xD83C}, {0xDF0D, 0xDF0D}, {0xDFFF, 0xD800}};
  for (size_t of = 0; of < COUNT_OF(kinds); of++) {
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
      uint16_t units[64];
      for (size_t i = 0; i < COUNT_OF(units); i++)
        units[i] = kinds[of][i % 2];
      for (size_t at = 0; at + 2 <= COUNT_OF(units); at++) {
        uint16_t changed[COUNT_OF(units)];
        memcpy(changed, units, sizeof units);
        memcpy(changed + at, kinds[kind], sizeof kinds[kind]);
        compare_units(changed, COUNT_OF(units));
        compare_units(changed, at + 1);
        compare_units(changed + at + 1, COUNT_OF(units) - at - 1);
      }
    }
  }
}

static uint32_t next_random(uint32_t *seed)
{
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

/* Texts of several scripts: runs of units of one range each. */
UNIT_TEST(converts_texts_of_many_scripts)
{
  static const struct {
    uint16_t first;
    uint16_t count;
  } ranges[] = {{0x20, 0x60},    {0x80, 0x780},   {0x800, 0xD000},
                {0xD800, 0x400}, {0xDC00, 0x400}, {0xE000, 0x2000}};
  uint32_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    uint16_t units[UNITS_MAX / 2];
    size_t count = next_random(&seed) % COUNT_OF(units);
    size_t range = 0;
    for (size_t i = 0; i < count; i++) {
      if (next_random(&seed) % 4 == 0)
        range = next_random(&seed) % COUNT_OF(ranges);
      units[i] = (uint16_t)(ranges[range].first + next_random(&seed) % ranges[range].count);
    }
    compare_units(units, count);
  }
}

UNIT_MAIN
