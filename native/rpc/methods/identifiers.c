#include "rpc/methods/identifiers.h"

enum { HEX_DIGITS = 4, UNITS_A_STEP = 256 };

static bool is_letter(uint16_t unit)
{
  return (unit >= 'a' && unit <= 'z') || (unit >= 'A' && unit <= 'Z');
}

static bool is_digit(uint16_t unit)
{
  return unit >= '0' && unit <= '9';
}

/* Characters whose escape has one digit. */
static const struct {
  uint16_t unit;
  char digit;
} escapes[] = {{'_', '1'}, {'-', '2'}, {'$', '3'}};

enum { ESCAPES = sizeof escapes / sizeof *escapes };

static char escape_of(uint16_t unit)
{
  for (size_t i = 0; i < ESCAPES; i++) {
    if (escapes[i].unit == unit)
      return escapes[i].digit;
  }
  return 0;
}

static uint16_t escaped_by(char digit)
{
  for (size_t i = 0; i < ESCAPES; i++) {
    if (escapes[i].digit == digit)
      return escapes[i].unit;
  }
  return 0;
}

/* ---- writing ---- */

static void write_unit(struct buffer *out, uint16_t unit, uint16_t before)
{
  char digit = escape_of(unit);
  /* After a dot a digit could be read as an escape, and no identifier begins with a digit. */
  if (is_letter(unit) || (is_digit(unit) && before != 0 && before != '.')) {
    buffer_append_char(out, (char)unit);
  } else if (unit == '.') {
    buffer_append_char(out, '_');
  } else if (digit != 0) {
    buffer_append_char(out, '_');
    buffer_append_char(out, digit);
  } else {
    buffer_printf(out, "_0%04x", unit);
  }
}

void identifier_write(struct text name, struct buffer *out)
{
  uint16_t before = 0; /* the previous unit; 0 at the start */
  while (name.len > 0) {
    struct text step = text_cut(name, UNITS_A_STEP);
    uint16_t units[UNITS_A_STEP];
    size_t count = text_to_utf16(step, units);
    for (size_t i = 0; i < count; i++) {
      write_unit(out, units[i], before);
      before = units[i];
    }
    name = text_slice(name, step.len, name.len);
  }
}

/* ---- reading ---- */

struct identifier_reader {
  struct text rest;
  uint16_t *units;
  size_t count;
};

static bool read_hex(struct identifier_reader *reader, uint16_t *unit)
{
  unsigned value = 0;
  if (reader->rest.len < HEX_DIGITS)
    return false;
  for (size_t i = 0; i < HEX_DIGITS; i++) {
    char c = reader->rest.data[i];
    bool is_number = is_digit((uint16_t)c);
    if (!is_number && !(c >= 'a' && c <= 'f'))
      return false;
    value = value * 16 + (unsigned)(is_number ? c - '0' : c - 'a' + 10);
  }
  reader->rest = text_slice(reader->rest, HEX_DIGITS, reader->rest.len);
  *unit = (uint16_t)value;
  return true;
}

static bool read_escape(struct identifier_reader *reader, uint16_t *unit)
{
  char digit = reader->rest.len > 0 ? *reader->rest.data : '.';
  if (!is_digit((uint16_t)digit)) {
    *unit = '.';
    return true;
  }
  reader->rest = text_slice(reader->rest, 1, reader->rest.len);
  if (digit == '0')
    return read_hex(reader, unit);
  *unit = escaped_by(digit);
  return *unit != 0;
}

static bool read_unit(struct identifier_reader *reader)
{
  char c = *reader->rest.data;
  uint16_t unit = (unsigned char)c;
  reader->rest = text_slice(reader->rest, 1, reader->rest.len);
  if (c == '_') {
    if (!read_escape(reader, &unit))
      return false;
  } else if (!is_letter(unit) && !is_digit(unit)) {
    return false;
  }
  reader->units[reader->count++] = unit;
  return true;
}

/* True if writing the name gives this identifier. A name has only one identifier. */
static bool is_written_so(struct text name, struct text identifier)
{
  struct buffer again;
  buffer_init(&again);
  identifier_write(name, &again);
  bool is_same = !again.failed && text_equal(buffer_text(&again), identifier);
  buffer_fini(&again);
  return is_same;
}

struct text identifier_read(struct text identifier, struct arena *arena)
{
  struct identifier_reader reader = {.rest = identifier};
  reader.units = arena_alloc(arena, identifier.len * sizeof *reader.units);
  if (reader.units == NULL)
    return TEXT_ABSENT;
  while (reader.rest.len > 0) {
    if (!read_unit(&reader))
      return TEXT_ABSENT;
  }
  char *bytes = arena_alloc(arena, text_wtf8_length(reader.units, reader.count));
  if (bytes == NULL)
    return TEXT_ABSENT;
  struct text name = {bytes, text_from_utf16(reader.units, reader.count, bytes)};
  return is_written_so(name, identifier) ? name : TEXT_ABSENT;
}
