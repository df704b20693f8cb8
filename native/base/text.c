#include "base/text.h"

#include "base/text_wide.h"

#include <endian.h>
#include <stdio.h>

static char lower_ascii(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* strncasecmp is not used, because it stops at a NUL and depends on the locale. */
bool text_equal_ignore_case(struct text a, struct text b)
{
  if (a.len != b.len)
    return false;
  for (size_t i = 0; i < a.len; i++) {
    if (lower_ascii(a.data[i]) != lower_ascii(b.data[i]))
      return false;
  }
  return true;
}

bool text_starts_with(struct text t, struct text prefix)
{
  return t.len >= prefix.len && (prefix.len == 0 || memcmp(t.data, prefix.data, prefix.len) == 0);
}

bool text_ends_with(struct text t, struct text suffix)
{
  return t.len >= suffix.len &&
         (suffix.len == 0 || memcmp(t.data + t.len - suffix.len, suffix.data, suffix.len) == 0);
}

bool text_has_line(struct text t, struct text line)
{
  while (t.len > 0) {
    const char *end = memchr(t.data, '\n', t.len);
    size_t length = end == NULL ? t.len : (size_t)(end - t.data);
    if (text_equal(text_slice(t, 0, length), line))
      return true;
    t = text_slice(t, end == NULL ? length : length + 1, t.len);
  }
  return false;
}

size_t text_find_last(struct text t, char c)
{
  const char *found = t.len == 0 ? NULL : memrchr(t.data, c, t.len);
  return found == NULL ? SIZE_MAX : (size_t)(found - t.data);
}

struct text text_cut(struct text t, size_t max)
{
  if (t.len <= max)
    return t;
  while (max > 0 && ((unsigned char)t.data[max] & 0xC0) == 0x80)
    max--;
  return text_slice(t, 0, max);
}

/* Returns the code point at the start of t, and sets *length to the number of its bytes. If t does not begin
 * with valid UTF-8, returns 0xFFFFFFFF and sets *length to 1. */
static uint32_t first_code_point(struct text t, size_t *length)
{
  unsigned char lead = (unsigned char)t.data[0];
  size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  *length = 1;
  if (bytes > t.len || text_valid_utf8(text_slice(t, 0, bytes)) != bytes)
    return UINT32_MAX;
  *length = bytes;
  if (bytes == 1)
    return lead;
  uint32_t code = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; i++)
    code = code << 6 | ((unsigned char)t.data[i] & 0x3F);
  return code;
}

static bool is_control(uint32_t code)
{
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/* True for a character without a shape of its own: soft hyphen, zero-width space, word joiner and invisible
 * operators, byte order mark, interlinear marks, tags. Two names that differ only in such characters look the
 * same. Emoji and Persian text need the two joiners U+200C and U+200D, so these count as invisible only after
 * ASCII. */
static bool is_invisible(uint32_t code, bool follows_ascii)
{
  return code == 0xAD || code == 0x180E || code == 0x200B ||
         (follows_ascii && (code == 0x200C || code == 0x200D)) || (code >= 0x2060 && code <= 0x2064) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

size_t text_escape(struct text t, const char *plain, const char *quoted, char *out, size_t size)
{
  enum { ESCAPE_MAX = 8 };
  size_t n = 0;
  size_t whole = 0;
  size_t length;
  for (size_t i = 0; i < t.len; i += length) {
    char shown[ESCAPE_MAX];
    uint32_t code = first_code_point(text_slice(t, i, t.len), &length);
    bool is_ascii = code > 0 && code < 0x80;
    int escaped = 0;
    if (is_ascii && strchr(quoted, (int)code) != NULL)
      escaped = snprintf(shown, sizeof shown, "\\%c", (char)code);
    else if (code == UINT32_MAX ||
             (code < 0x80 && is_control(code) && (!is_ascii || !strchr(plain, (int)code))))
      escaped = snprintf(shown, sizeof shown, "\\x%02x", (unsigned char)t.data[i]);
    else if (code >= 0x80 &&
             (is_control(code) || is_invisible(code, i == 0 || (unsigned char)t.data[i - 1] < 0x80)))
      escaped = snprintf(shown, sizeof shown, "\\u%04x", (unsigned)code);
    size_t count = escaped > 0 ? (size_t)escaped : length;
    if (whole == n && count < size - n) {
      memcpy(out + n, escaped > 0 ? shown : t.data + i, count);
      n += count;
    }
    whole += count;
  }
  out[n] = '\0';
  return whole;
}

void text_mark_cut(char *out, size_t size)
{
  static const char dots[] = "...";
  struct text kept = text_cut(text_of(out), size - sizeof dots);
  memcpy(out + kept.len, dots, sizeof dots);
}

void text_hide_tokens(char *text)
{
  static const char mark[] = "jp_";
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  enum { MARK = sizeof mark - 1, SECRET_MIN = 16, DOTS = 3 };
  for (char *at = text; (at = strstr(at, mark)) != NULL;) {
    at += MARK;
    const size_t length = strspn(at, digits);
    if (length < SECRET_MIN)
      continue;
    memcpy(at, "...", DOTS);
    memmove(at + DOTS, at + length, strlen(at + length) + 1);
  }
}

size_t text_format_va(char *out, size_t size, const char *format, va_list args)
{
  int wanted = vsnprintf(out, size, format, args);
  if (wanted >= 0 && (size_t)wanted < size)
    return (size_t)wanted;
  if (wanted < 0) /* the text would be too long for the C library to count */
    out[0] = '\0';
  text_mark_cut(out, size);
  return strlen(out);
}

size_t text_format(char *out, size_t size, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  size_t length = text_format_va(out, size, format, args);
  va_end(args);
  return length;
}

/* Reads fewer than eight bytes as one number that holds all of them. memcpy is not used, because the compiler
 * would make a call if it does not know the length. */
static uint64_t load_rest(const char *p, size_t count)
{
  if (count >= 4) {
    uint32_t low;
    uint32_t high;
    memcpy(&low, p, sizeof low);
    memcpy(&high, p + count - sizeof high, sizeof high);
    return (uint64_t)high << 32 | low;
  }
  uint64_t rest = 0;
  for (size_t i = 0; i < count; i++)
    rest = rest << 8 | (unsigned char)p[i];
  return rest;
}

uint64_t text_hash(struct text t)
{
  /* Hashes eight bytes in each step. The multiplier and the final mix are taken from splitmix64. */
  uint64_t hash = 0x9E3779B97F4A7C15u ^ t.len;
  size_t i = 0;
  for (; i + 8 <= t.len; i += 8) {
    uint64_t word;
    memcpy(&word, t.data + i, 8);
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  }
  uint64_t rest = i < t.len ? load_rest(t.data + i, t.len - i) : 0;
  hash = (hash ^ rest) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

static bool is_continuation(unsigned char byte)
{
  return (byte & 0xC0) == 0x80;
}

/* Length of the strict UTF-8 sequence of more than one byte at p (n bytes left), or 0. */
static size_t utf8_sequence(const unsigned char *p, size_t n)
{
  if (p[0] >= 0xC2 && p[0] <= 0xDF)
    return n >= 2 && is_continuation(p[1]) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    if (n < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
      return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F))
      return 0;
    return 3;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (n < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]))
      return 0;
    if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
      return 0;
    return 4;
  }
  return 0;
}

/* Marks each byte that is above 0x7F in any of the words with 0x80; the first byte lowest. */
static inline uint64_t mark_high(const unsigned char *p, size_t words)
{
  uint64_t all = 0;
  for (size_t i = 0; i < words; i++) {
    uint64_t word;
    memcpy(&word, p + i * sizeof word, sizeof word);
    all |= word;
  }
  return le64toh(all) & 0x8080808080808080u;
}

static size_t ascii_length(const unsigned char *p, size_t length)
{
  enum { WORD = sizeof(uint64_t), WORDS = 4, STEP = WORDS * WORD };
  size_t i = 0;
  while (i + STEP <= length && mark_high(p + i, WORDS) == 0)
    i += STEP;
  /* The last word may overlap bytes that were checked before. */
  while (i < length && length >= WORD) {
    size_t at = i + WORD <= length ? i : length - WORD;
    uint64_t marks = mark_high(p + at, 1);
    if (marks != 0)
      return at + (size_t)__builtin_ctzll(marks) / 8;
    i = at + WORD;
  }
  while (i < length && p[i] < 0x80)
    i++;
  return i;
}

bool text_is_ascii(struct text t)
{
  return ascii_length((const unsigned char *)t.data, t.len) == t.len;
}

size_t text_valid_utf8(struct text t)
{
  const unsigned char *p = (const unsigned char *)t.data;
  size_t i = ascii_length(p, t.len);
  if (i < t.len)
    i += text_valid_utf8_wide(text_slice(t, i, t.len));
  while (i < t.len) {
    size_t step = p[i] < 0x80 ? ascii_length(p + i, t.len - i) : utf8_sequence(p + i, t.len - i);
    if (step == 0)
      return i;
    i += step;
  }
  return i;
}

size_t text_utf16_length(struct text t)
{
  const unsigned char *p = (const unsigned char *)t.data;
  size_t units = 0;
  for (size_t i = 0; i < t.len; i++)
    units += (size_t)!is_continuation(p[i]) + (size_t)(p[i] >= 0xF0);
  return units;
}

enum { RUN = 8 }; /* bytes that are checked together */

/* Most text has long runs of ASCII. */
static bool is_ascii_run(const unsigned char *p)
{
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

/* One character that is not ASCII. */
static const unsigned char *read_character(const unsigned char *p, uint16_t **out)
{
  if (p[0] < 0xE0) {
    *(*out)++ = (uint16_t)((p[0] & 0x1F) << 6 | (p[1] & 0x3F));
    return p + 2;
  }
  if (p[0] < 0xF0) {
    *(*out)++ = (uint16_t)((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));
    return p + 3;
  }
  uint32_t c = (uint32_t)((p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F));
  c -= 0x10000;
  *(*out)++ = (uint16_t)(0xD800 | c >> 10);
  *(*out)++ = (uint16_t)(0xDC00 | (c & 0x3FF));
  return p + 4;
}

size_t text_to_utf16(struct text t, uint16_t *out)
{
  uint16_t *begin = out;
  uint16_t *next = out; /* a variable whose address is passed lives in memory; out remains in a register */
  const unsigned char *end = (const unsigned char *)t.data + t.len;
  const unsigned char *p = (const unsigned char *)t.data + text_to_utf16_wide(t, &next);
  out = next;
  while (p < end) {
    if (end - p >= RUN && is_ascii_run(p)) {
      for (int i = 0; i < RUN; i++)
        out[i] = p[i];
      p += RUN;
      out += RUN;
      continue;
    }
    for (; p < end && *p < 0x80; p++)
      *out++ = *p;
    while (p < end && *p >= 0x80)
      p = read_character(p, &out);
  }
  return (size_t)(out - begin);
}

static bool is_pair(const uint16_t *units, size_t i, size_t count)
{
  return (units[i] & 0xFC00) == 0xD800 && i + 1 < count && (units[i + 1] & 0xFC00) == 0xDC00;
}

size_t text_wtf8_length(const uint16_t *units, size_t count)
{
  size_t counted = 0;
  size_t i = text_wtf8_length_wide(units, count, &counted);
  size_t bytes = counted;
  for (; i < count; i++) {
    if (units[i] < 0x80) {
      bytes += 1;
    } else if (units[i] < 0x800) {
      bytes += 2;
    } else if (is_pair(units, i, count)) {
      bytes += 4;
      i++;
    } else {
      bytes += 3;
    }
  }
  return bytes;
}

size_t text_from_utf16(const uint16_t *units, size_t count, char *out)
{
  char *begin = out;
  char *next = out;
  size_t i = text_from_utf16_wide(units, count, &next);
  for (out = next; i < count; i++) {
    uint32_t c = units[i];
    if (c < 0x80) {
      *out++ = (char)c;
    } else if (c < 0x800) {
      *out++ = (char)(0xC0 | c >> 6);
      *out++ = (char)(0x80 | (c & 0x3F));
    } else if (is_pair(units, i, count)) {
      c = 0x10000 + ((c & 0x3FF) << 10 | (units[++i] & 0x3FFu));
      *out++ = (char)(0xF0 | c >> 18);
      *out++ = (char)(0x80 | (c >> 12 & 0x3F));
      *out++ = (char)(0x80 | (c >> 6 & 0x3F));
      *out++ = (char)(0x80 | (c & 0x3F));
    } else {
      *out++ = (char)(0xE0 | c >> 12);
      *out++ = (char)(0x80 | (c >> 6 & 0x3F));
      *out++ = (char)(0x80 | (c & 0x3F));
    }
  }
  return (size_t)(out - begin);
}
