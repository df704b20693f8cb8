#include "classfile/modified_utf8.h"

static bool is_ascii_without_nul(const uint8_t *bytes, size_t count)
{
  /* Eight bytes a step: nearly every name in a class file is ASCII. */
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    bool has_zero = ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
    if (has_zero || (word & 0x8080808080808080u) != 0)
      return false;
  }
  for (; i < count; i++) {
    if (bytes[i] == 0 || bytes[i] >= 0x80)
      return false;
  }
  return true;
}

/* Reads one UTF-16 unit from n bytes at p. Returns the bytes it takes, or 0. */
static size_t read_unit(const uint8_t *p, size_t n, uint16_t *unit)
{
  if (p[0] != 0 && p[0] < 0x80) {
    *unit = p[0];
    return 1;
  }
  if (p[0] >= 0xC0 && p[0] <= 0xDF) {
    if (n < 2 || (p[1] & 0xC0) != 0x80)
      return 0;
    *unit = (uint16_t)((p[0] & 0x1F) << 6 | (p[1] & 0x3F));
    return *unit == 0 || *unit >= 0x80 ? 2 : 0; /* of the overlong forms only that of NUL is valid */
  }
  if ((p[0] & 0xF0) == 0xE0) {
    if (n < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80)
      return 0;
    *unit = (uint16_t)((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));
    return *unit >= 0x800 ? 3 : 0;
  }
  return 0;
}

enum jp_status modified_utf8_decode(const uint8_t *bytes, size_t count, struct arena *arena,
                                    struct text *text)
{
  if (is_ascii_without_nul(bytes, count)) {
    *text = (struct text){(const char *)bytes, count};
    return JP_OK;
  }
  uint16_t *units = arena_alloc(arena, count * sizeof *units);
  char *out = arena_alloc(arena, count); /* WTF-8 is never longer than modified UTF-8 */
  if (units == NULL || out == NULL)
    return JP_NO_MEMORY;
  size_t unit_count = 0;
  for (size_t i = 0; i < count;) {
    size_t step = read_unit(bytes + i, count - i, &units[unit_count++]);
    if (step == 0)
      return JP_INVALID;
    i += step;
  }
  text_from_utf16(units, unit_count, out);
  *text = (struct text){out, text_wtf8_length(units, unit_count)};
  return JP_OK;
}
