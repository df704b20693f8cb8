#include "json/reader.h"

#include "json/vector.h"

#include <assert.h>

/* p is inside a string. Returns the byte after the string. Valid text has a closing quote. */
static inline const char *skip_string_rest(const char *p, const char *end)
{
  for (;;) {
    p = scan_string(p, end, false, false);
    if (p >= end)
      return end;
    if (*p == '"')
      return p + 1;
    p += 2;
  }
}

static inline const char *skip_string(const char *p, const char *end) /* p is at its opening quote */
{
  return skip_string_rest(p + 1, end);
}

/* A place in a container that is skipped. */
struct skip {
  const char *next;
  size_t depth;   /* number of open containers */
  bool in_string; /* next lies inside a string */
};

#ifdef __SSE2__
enum { BLOCK = 16 };

/* One bit a byte, the first byte lowest. */
static unsigned mark_equal(__m128i bytes, char wanted)
{
  return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)));
}

/* Each bit becomes the parity of itself and all lower bits: it is 1 from an opening quote up to the closing
 * quote. */
static unsigned fill_between(unsigned quotes)
{
  quotes ^= quotes << 1;
  quotes ^= quotes << 2;
  quotes ^= quotes << 4;
  quotes ^= quotes << 8;
  return quotes & ((1u << BLOCK) - 1);
}

/* True if the container ends at one of these brackets. In that case skip->next is after its end. */
static bool skip_brackets(struct skip *skip, unsigned opens, unsigned closes)
{
  for (unsigned marks = opens | closes; marks != 0; marks &= marks - 1) {
    unsigned at = (unsigned)__builtin_ctz(marks);
    if ((opens >> at & 1) != 0) {
      skip->depth++;
    } else if (--skip->depth == 0) {
      skip->next += at + 1;
      return true;
    }
  }
  return false;
}

/* Skips sixteen bytes in each step, up to the container's end, a block with an escape, or the incomplete last
 * block. */
static void skip_blocks(struct skip *skip, const char *end)
{
  for (; end - skip->next >= BLOCK; skip->next += BLOCK) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)skip->next);
    if (mark_equal(bytes, '\\') != 0)
      return;
    const unsigned quotes = mark_equal(bytes, '"');
    if (skip->in_string && quotes == 0) { /* the middle of a long string, such as the bytes of an array */
      skip->next = scan_string(skip->next + BLOCK, end, false, false) - BLOCK;
      continue;
    }
    unsigned strings = fill_between(quotes);
    if (skip->in_string)
      strings ^= (1u << BLOCK) - 1;
    /* This bit turns '[' into '{' and ']' into '}'. Outside strings no other byte of valid text becomes '{'
     * or '}'. */
    bytes = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    unsigned opens = mark_equal(bytes, '{') & ~strings;
    unsigned closes = mark_equal(bytes, '}') & ~strings;
    if (skip_brackets(skip, opens, closes)) {
      skip->in_string = false;
      return;
    }
    skip->in_string = (strings >> (BLOCK - 1) & 1) != 0;
  }
}
#else
static void skip_blocks(struct skip *skip, const char *end)
{
  (void)skip;
  (void)end;
}
#endif

static const char *skip_container(const char *p, const char *end)
{
  struct skip skip = {.next = p + 1, .depth = 1};
  skip_blocks(&skip, end);
  p = skip.in_string ? skip_string_rest(skip.next, end) : skip.next;
  size_t depth = skip.depth;
  while (depth > 0 && p < end) {
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
      depth--;
      break;
    default:
      break;
    }
    p++;
  }
  return p;
}

static const char *skip_unescaped(const char *p, const char *end)
{
  while (p < end && *p != ',' && *p != ']' && *p != '}' && !scan_is_space(*p))
    p++;
  return p;
}

/* Reads the value at p and moves the cursor after it. */
static inline void read_value(struct json_cursor *cursor, const char *p, struct json_value *value)
{
  enum json_kind kind = scan_kind(*p);
  const char *after;
  if (kind == JSON_KIND_STRING)
    after = skip_string(p, cursor->end);
  else if (kind == JSON_KIND_ARRAY || kind == JSON_KIND_OBJECT)
    after = skip_container(p, cursor->end);
  else
    after = skip_unescaped(p, cursor->end);
  *value = (struct json_value){.kind = kind, .span = {p, (size_t)(after - p)}};
  cursor->next = after;
}

struct json_value json_root(struct text validated)
{
  const char *end = validated.data + validated.len;
  const char *p = scan_space(validated.data, end);
  while (scan_is_space(end[-1]))
    end--;
  return (struct json_value){.kind = scan_kind(*p), .span = {p, (size_t)(end - p)}};
}

struct json_value json_root_indexed(struct text validated, const struct json_index *index)
{
  return index->count == 0 ? json_root(validated) : json_marked_value(index->marks);
}

/* Moves to the first byte of the next member or element; false at the closing bracket. */
static inline bool find_next(struct json_cursor *cursor)
{
  const char *p = scan_space(cursor->next, cursor->end);
  if (p < cursor->end && *p == ',')
    p = scan_space(p + 1, cursor->end);
  cursor->next = p;
  return p < cursor->end && *p != ']' && *p != '}';
}

bool json_scan_element(struct json_cursor *cursor, struct json_value *element)
{
  if (!find_next(cursor))
    return false;
  read_value(cursor, cursor->next, element);
  return true;
}

bool json_scan_member(struct json_cursor *cursor, struct text *raw_key, struct json_value *value)
{
  if (!find_next(cursor))
    return false;
  const char *after = skip_string(cursor->next, cursor->end);
  *raw_key = (struct text){cursor->next + 1, (size_t)(after - cursor->next) - 2};
  const char *p = scan_space(after, cursor->end); /* at the colon */
  read_value(cursor, scan_space(p + 1, cursor->end), value);
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

static bool has_escape(struct text raw)
{
  return raw.len > 0 && memchr(raw.data, '\\', raw.len) != NULL;
}

bool json_key_is(struct text raw_key, struct text name)
{
  /* Unescaping never makes a text longer. */
  if (raw_key.len <= name.len)
    return text_equal(raw_key, name) && !has_escape(raw_key);
  if (!has_escape(raw_key))
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

/* Names are short, so memcmp would cost more. A name of 4 to 8 bytes is compared by two words that
 * overlap. */
static inline bool is_name(struct text raw_key, struct text name)
{
  if (raw_key.len != name.len)
    return false;
  if (name.len < 4 || name.len > 8)
    return name.len == 0 || memcmp(raw_key.data, name.data, name.len) == 0;
  uint32_t words[4];
  memcpy(&words[0], raw_key.data, 4);
  memcpy(&words[1], name.data, 4);
  memcpy(&words[2], raw_key.data + raw_key.len - 4, 4);
  memcpy(&words[3], name.data + name.len - 4, 4);
  return words[0] == words[1] && words[2] == words[3];
}

int json_find_key(struct text raw_key, const struct text *names, int count)
{
  for (int i = 0; i < count; i++) {
    if (is_name(raw_key, names[i]))
      return i;
  }
  /* A key with an escape is longer than the name that it spells. Few clients write such keys. */
  for (int i = has_escape(raw_key) ? 0 : count; i < count; i++) {
    if (json_key_is(raw_key, names[i]))
      return i;
  }
  return -1;
}

/* The room is as long as the text, so a whole block may be copied before the position of an escape in it is
 * known. */
static const char *copy_up_to_escape(char *to, const char *p, const char *end)
{
  for (; end - p >= VECTOR_SIZE; p += VECTOR_SIZE, to += VECTOR_SIZE) {
    memcpy(to, p, VECTOR_SIZE);
    uint64_t marks = vector_marks(vector_find_equal(vector_load(p), '\\'));
    if (marks != 0)
      return p + __builtin_ctzll(marks);
  }
  while (p < end && *p != '\\')
    *to++ = *p++;
  return p;
}

struct text json_unescape(struct text raw, struct arena *arena)
{
  const char *p = raw.data;
  const char *end = p + raw.len;
  if (!has_escape(raw))
    return raw;
  char *text = arena_alloc(arena, raw.len);
  if (text == NULL)
    return TEXT_ABSENT;
  char *to = text;
  while (p < end) {
    const char *escape = copy_up_to_escape(to, p, end);
    to += escape - p;
    p = escape;
    if (p < end) {
      uint32_t c;
      p += read_escape(p, end, &c);
      to += put_character(to, c);
    }
  }
  return (struct text){text, (size_t)(to - text)};
}

struct text json_read_string(struct json_value string, struct arena *arena)
{
  assert(string.kind == JSON_KIND_STRING);
  struct text raw = text_slice(string.span, 1, string.span.len - 1);
  return string.unescaped ? raw : json_unescape(raw, arena);
}

size_t json_unescaped_string_at(struct text t)
{
  const char *end = t.data + t.len;
  if (t.len == 0 || *t.data != '"')
    return 0;
  const char *high = scan_string(t.data + 1, end, true, true);
  const char *after = high < end && (unsigned char)*high >= 0x80 ? scan_string(high, end, true, false) : high;
  if (after == end || *after != '"')
    return 0;
  struct text rest = {high, (size_t)(after - high)};
  return text_valid_utf8(rest) == rest.len ? (size_t)(after - t.data) + 1 : 0;
}

void json_members_collect(struct json_value object, const struct text *names, int count,
                          struct json_members *members)
{
  assert(count <= JSON_MEMBERS_MAX);
  for (int i = 0; i < count; i++)
    members->has[i] = false;
  members->repeated = -1;
  struct json_cursor cursor = json_enter(object);
  struct text key;
  struct json_value value;
  while (json_next_member(&cursor, &key, &value)) {
    int i = json_find_key(key, names, count);
    if (i < 0)
      continue;
    if (members->has[i]) {
      members->repeated = i;
      continue;
    }
    members->has[i] = true;
    members->value[i] = value;
  }
}

const char *json_kind_name(enum json_kind kind)
{
  static const char *const names[] = {
      [JSON_KIND_NULL] = "null",       [JSON_KIND_TRUE] = "a boolean",  [JSON_KIND_FALSE] = "a boolean",
      [JSON_KIND_NUMBER] = "a number", [JSON_KIND_STRING] = "a string", [JSON_KIND_ARRAY] = "an array",
      [JSON_KIND_OBJECT] = "an object"};
  return names[kind];
}
