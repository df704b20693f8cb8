#include "json/reader.h"

#include "json/scan.h"

#include <assert.h>

/* Behind the closing quote of the string at p; the text is valid, so there is one. */
static const char *skip_string(const char *p, const char *end)
{
  p++;
  for (;;) {
    while (end - p >= 8) {
      uint64_t word = scan_load(p);
      uint64_t marks = scan_mark_equal(word, '"') | scan_mark_equal(word, '\\');
      if (marks != 0) {
        p += scan_first(marks);
        break;
      }
      p += 8;
    }
    while (p < end && *p != '"' && *p != '\\')
      p++;
    if (p >= end)
      return end;
    if (*p == '"')
      return p + 1;
    p += 2;
  }
}

static const char *skip_container(const char *p, const char *end)
{
  size_t depth = 0;
  while (p < end) {
    switch (*p) {
    case '"':
      p = skip_string(p, end);
      continue;
    case '{':
    case '[':
      depth++;
      break;
    case '}':
    case ']':
      if (--depth == 0)
        return p + 1;
      break;
    default:
      break;
    }
    p++;
  }
  return end;
}

static const char *skip_plain(const char *p, const char *end)
{
  while (p < end && *p != ',' && *p != ']' && *p != '}' && !scan_is_space(*p))
    p++;
  return p;
}

static struct json_value value_at(const char *p, const char *end)
{
  enum json_kind kind = JSON_KIND_NUMBER;
  const char *behind;
  switch (*p) {
  case '"':
    kind = JSON_KIND_STRING;
    behind = skip_string(p, end);
    break;
  case '{':
  case '[':
    kind = *p == '{' ? JSON_KIND_OBJECT : JSON_KIND_ARRAY;
    behind = skip_container(p, end);
    break;
  case 't':
    kind = JSON_KIND_TRUE;
    behind = p + 4;
    break;
  case 'f':
    kind = JSON_KIND_FALSE;
    behind = p + 5;
    break;
  case 'n':
    kind = JSON_KIND_NULL;
    behind = p + 4;
    break;
  default:
    behind = skip_plain(p, end);
    break;
  }
  return (struct json_value){kind, {p, (size_t)(behind - p)}};
}

struct json_value json_root(struct text validated)
{
  const char *end = validated.data + validated.len;
  return value_at(scan_space(validated.data, end), end);
}

struct json_cursor json_enter(struct json_value object_or_array)
{
  assert(object_or_array.kind == JSON_KIND_OBJECT || object_or_array.kind == JSON_KIND_ARRAY);
  struct text span = object_or_array.span;
  return (struct json_cursor){span.data + 1, span.data + span.len};
}

/* To the first byte of the next member or element; false at the closing bracket. */
static bool find_next(struct json_cursor *cursor)
{
  const char *p = scan_space(cursor->next, cursor->end);
  if (p < cursor->end && *p == ',')
    p = scan_space(p + 1, cursor->end);
  cursor->next = p;
  return p < cursor->end && *p != ']' && *p != '}';
}

bool json_next_element(struct json_cursor *cursor, struct json_value *element)
{
  if (!find_next(cursor))
    return false;
  *element = value_at(cursor->next, cursor->end);
  cursor->next += element->span.len;
  return true;
}

bool json_next_member(struct json_cursor *cursor, struct text *raw_key, struct json_value *value)
{
  if (!find_next(cursor))
    return false;
  const char *behind = skip_string(cursor->next, cursor->end);
  *raw_key = (struct text){cursor->next + 1, (size_t)(behind - cursor->next) - 2};
  const char *p = scan_space(behind, cursor->end); /* at the colon */
  *value = value_at(scan_space(p + 1, cursor->end), cursor->end);
  cursor->next = value->span.data + value->span.len;
  return true;
}

size_t json_count(struct json_value object_or_array)
{
  struct json_cursor cursor = json_enter(object_or_array);
  size_t count = 0;
  struct text key;
  struct json_value value;
  if (object_or_array.kind == JSON_KIND_OBJECT) {
    while (json_next_member(&cursor, &key, &value))
      count++;
  } else {
    while (json_next_element(&cursor, &value))
      count++;
  }
  return count;
}

static unsigned read_hex4(const char *p)
{
  unsigned unit = 0;
  for (int i = 0; i < 4; i++)
    unit = unit << 4 | (unsigned)scan_hex(p[i]);
  return unit;
}

static bool is_low_surrogate_escape(const char *p, const char *end)
{
  return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (read_hex4(p + 2) & 0xFC00) == 0xDC00;
}

static size_t put_character(char *out, uint32_t c)
{
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3F));
  out[2] = (char)(0x80 | (c >> 6 & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

/* Reads the escape at p; returns its length and writes its character. */
static size_t read_escape(const char *p, const char *end, uint32_t *c)
{
  switch (p[1]) {
  case 'b':
    *c = '\b';
    return 2;
  case 'f':
    *c = '\f';
    return 2;
  case 'n':
    *c = '\n';
    return 2;
  case 'r':
    *c = '\r';
    return 2;
  case 't':
    *c = '\t';
    return 2;
  case 'u':
    *c = read_hex4(p + 2);
    if ((*c & 0xFC00) == 0xD800 && is_low_surrogate_escape(p + 6, end)) {
      *c = 0x10000 + ((*c & 0x3FF) << 10 | (read_hex4(p + 8) & 0x3FF));
      return 12;
    }
    return 6;
  default:
    *c = (unsigned char)p[1];
    return 2;
  }
}

bool json_key_is(struct text raw_key, struct text name)
{
  if (raw_key.len == name.len && memchr(raw_key.data, '\\', raw_key.len) == NULL)
    return memcmp(raw_key.data, name.data, name.len) == 0;
  /* An escape only ever makes text shorter. */
  if (raw_key.len <= name.len)
    return false;
  const char *p = raw_key.data;
  const char *end = p + raw_key.len;
  size_t i = 0;
  while (p < end && i < name.len) {
    uint32_t c = (unsigned char)*p;
    p += c == '\\' ? read_escape(p, end, &c) : 1;
    if (c != (unsigned char)name.data[i++])
      return false;
  }
  return p == end && i == name.len;
}

struct text json_unescape(struct text raw, struct arena *arena)
{
  const char *p = raw.data;
  const char *end = p + raw.len;
  const char *escape = raw.len == 0 ? NULL : memchr(p, '\\', raw.len);
  if (escape == NULL)
    return raw;
  char *text = arena_alloc(arena, raw.len);
  if (text == NULL)
    return TEXT_ABSENT;
  size_t len = 0;
  for (;;) {
    size_t plain = (size_t)((escape == NULL ? end : escape) - p);
    memcpy(text + len, p, plain);
    len += plain;
    if (escape == NULL)
      break;
    uint32_t c;
    p = escape + read_escape(escape, end, &c);
    len += put_character(text + len, c);
    escape = memchr(p, '\\', (size_t)(end - p));
  }
  return (struct text){text, len};
}

struct text json_read_string(struct json_value string, struct arena *arena)
{
  assert(string.kind == JSON_KIND_STRING);
  return json_unescape(text_slice(string.span, 1, string.span.len - 1), arena);
}
