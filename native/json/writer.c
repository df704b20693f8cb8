#include "json/writer.h"

#include "base/number_format.h"
#include "json/vector.h"

enum { ESCAPE_MAX = 6, NAME_MAX_LENGTH = 128 };

/* The first of the three bytes of a surrogate. The other characters from U+D000 on also begin with this
 * byte. */
static const char surrogate_lead = (char)0xED;

static bool is_special(char c)
{
  return (unsigned char)c < 0x20 || c == '"' || c == '\\' || c == surrogate_lead;
}

/* A lead byte counts only if the next byte has the bit 0x20, because only then the character is a
 * surrogate. */
static vector mark_special(const char *p)
{
  vector bytes = vector_load(p);
  return vector_find_upto(bytes, 0x1F) | vector_find_equal(bytes, '"') | vector_find_equal(bytes, '\\') |
         (vector_find_equal(bytes, surrogate_lead) & vector_load(p + 1) << 2);
}

static const char *find_special(const char *p, const char *end)
{
  for (; end - p > VECTOR_SIZE; p += VECTOR_SIZE) {
    uint64_t marks = vector_marks(mark_special(p));
    if (marks != 0)
      return p + __builtin_ctzll(marks);
  }
  for (; end - p >= 8; p += 8) {
    uint64_t word = scan_load(p);
    uint64_t marks = scan_mark_equal(word, '"') | scan_mark_equal(word, '\\') | scan_mark_control(word) |
                     scan_mark_equal(word, surrogate_lead);
    if (marks != 0)
      return p + scan_first(marks);
  }
  while (p < end && !is_special(*p))
    p++;
  return p;
}

static size_t put_unit(char *out, unsigned unit)
{
  static const char digits[] = "0123456789abcdef";
  out[0] = '\\';
  out[1] = 'u';
  for (int i = 0; i < 4; i++)
    out[2 + i] = digits[unit >> (12 - 4 * i) & 15];
  return ESCAPE_MAX;
}

/* Writes the escape of the special byte at *p, and moves *p past the character. */
static size_t put_escape(char *out, const char **p, const char *end)
{
  static const char letters[0x20] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
  unsigned char c = (unsigned char)**p;
  if (c == (unsigned char)surrogate_lead) {
    const unsigned char *bytes = (const unsigned char *)*p;
    if (end - *p >= 3 && bytes[1] >= 0xA0) {
      *p += 3;
      return put_unit(out, 0xD000u | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu));
    }
    (*p)++;
    out[0] = surrogate_lead;
    return 1;
  }
  (*p)++;
  char letter = c < 0x20 ? letters[c] : (char)c;
  if (letter == 0)
    return put_unit(out, c);
  out[0] = '\\';
  out[1] = letter;
  return 2;
}

/* Copies up to the next special byte; the room is as long as the text. */
static const char *copy_up_to_special(char *to, const char *p, const char *end)
{
  for (; end - p > VECTOR_SIZE; p += VECTOR_SIZE, to += VECTOR_SIZE) {
    memcpy(to, p, VECTOR_SIZE);
    uint64_t marks = vector_marks(mark_special(p));
    if (marks != 0)
      return p + __builtin_ctzll(marks);
  }
  while (p < end && !is_special(*p))
    *to++ = *p++;
  return p;
}

void json_write_escaped(struct buffer *out, struct text t)
{
  if (t.len == 0)
    return;
  const char *p = t.data;
  const char *end = p + t.len;
  while (p < end) {
    char *room = buffer_reserve(out, (size_t)(end - p) + ESCAPE_MAX);
    if (room == NULL)
      return;
    const char *special = copy_up_to_special(room, p, end);
    size_t plain = (size_t)(special - p);
    p = special;
    out->len += plain + (p < end ? put_escape(room + plain, &p, end) : 0);
  }
}

/* Writes the string without a search for escapes, if possible: most strings are short names, in which nothing
 * needs an escape. */
static bool write_as_it_is(struct buffer *out, struct text t)
{
  if (t.len > 0 && find_special(t.data, t.data + t.len) < t.data + t.len)
    return false;
  char *room = buffer_reserve(out, t.len + 2);
  if (room == NULL)
    return true;
  room[0] = '"';
  if (t.len > 0)
    memcpy(room + 1, t.data, t.len);
  room[1 + t.len] = '"';
  out->len += t.len + 2;
  return true;
}

void json_write_string(struct buffer *out, struct text t)
{
  if (t.len <= NAME_MAX_LENGTH && write_as_it_is(out, t))
    return;
  buffer_append_char(out, '"');
  json_write_escaped(out, t);
  buffer_append_char(out, '"');
}

void json_write_integer(struct buffer *out, int64_t value)
{
  char *room = buffer_reserve(out, NUMBER_TEXT_MAX);
  if (room != NULL)
    out->len += number_format_integer(value, room);
}
