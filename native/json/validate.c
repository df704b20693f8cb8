#include "json/reader.h"
#include "json/scan.h"

#include <assert.h>

enum state {
  VALUE,            /* a value must come */
  ELEMENT_OR_CLOSE, /* after '[' */
  KEY_OR_CLOSE,     /* after '{' */
  KEY,              /* after ',' in an object */
  COMMA_OR_CLOSE    /* after a value */
};

struct validator {
  const char *start;
  const char *next;
  /* Where looking stops: the end of the message, or its first byte that is not UTF-8, once that is known. */
  const char *end;
  const char *end_reason;
  bool utf8_checked;

  size_t max_depth;
  size_t depth;
  size_t envelope_depth; /* depth of an object whose members the suffix member is one of */
  struct text suffix_member;
  bool suffixes; /* numbers may carry one here */

  enum state state;
  enum jp_status status;
  struct json_fault *fault;
  /* One bit a level: 1 for an object, 0 for an array. */
  uint64_t objects[JSON_DEPTH_MAX / 64 + 1];
};

static bool fail(struct validator *v, const char *at, const char *reason)
{
  v->status = JP_INVALID;
  *v->fault = (struct json_fault){(size_t)(at - v->start), at == v->end ? v->end_reason : reason};
  return false;
}

static bool in_object(const struct validator *v)
{
  return (v->objects[v->depth / 64] >> (v->depth % 64) & 1) != 0;
}

/* Called at the first byte above 0x7F. One look at all the rest keeps the loop over a string's bytes free of
 * UTF-8; a fault is still reported in the order of the bytes, since `end` moves to it. */
static bool check_utf8(struct validator *v, const char *at)
{
  size_t rest = (size_t)(v->end - at);
  size_t valid = text_valid_utf8((struct text){at, rest});
  v->utf8_checked = true;
  if (valid < rest) {
    v->end = at + valid;
    v->end_reason = "invalid UTF-8";
  }
  return valid > 0;
}

static const char *skip_escape(struct validator *v, const char *p)
{
  static const char simple[] = "\"\\/bfnrt";
  if (p + 1 >= v->end) {
    fail(v, v->end, v->end_reason);
    return NULL;
  }
  if (p[1] == 'u') {
    for (int i = 2; i < 6; i++) {
      if (p + i >= v->end || scan_hex(p[i]) < 0) {
        fail(v, p + i, "\\u without four hexadecimal digits");
        return NULL;
      }
    }
    return p + 6;
  }
  if (p[1] == '\0' || strchr(simple, p[1]) == NULL) {
    fail(v, p + 1, "unknown escape");
    return NULL;
  }
  return p + 2;
}

/* What stops the quick walk through a string: its end, an escape, a control, and, until they have been
 * checked, bytes that are not ASCII. */
static const char *find_special(const struct validator *v, const char *p)
{
  uint64_t high = v->utf8_checked ? 0 : SCAN_REPEAT(0x80);
  for (; v->end - p >= 8; p += 8) {
    uint64_t word = scan_load(p);
    uint64_t marks =
        scan_mark_equal(word, '"') | scan_mark_equal(word, '\\') | scan_mark_control(word) | (word & high);
    if (marks != 0)
      return p + scan_first(marks);
  }
  for (; p < v->end; p++) {
    unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\' || c < 0x20 || (c & high) != 0)
      return p;
  }
  return p;
}

/* v->next is at the opening quote; it ends behind the closing one. */
static bool check_string(struct validator *v)
{
  const char *p = v->next + 1;
  for (;;) {
    p = find_special(v, p);
    if (p == v->end)
      return fail(v, p, v->end_reason);
    if (*p == '"')
      break;
    if (*p == '\\') {
      p = skip_escape(v, p);
      if (p == NULL)
        return false;
    } else if ((unsigned char)*p < 0x20) {
      return fail(v, p, "control character in string");
    } else if (!check_utf8(v, p)) {
      return fail(v, p, "invalid UTF-8");
    }
  }
  v->next = p + 1;
  return true;
}

static bool check_number(struct validator *v)
{
  const char *stop = v->end;
  const char *p = scan_number(v->next, v->end, &stop);
  if (p == NULL)
    return fail(v, stop, "malformed number");
  if (p < v->end && scan_suffix(*p) != 0) {
    if (!v->suffixes)
      return fail(v, p, "number suffix outside params");
    p++;
  }
  v->next = p;
  return true;
}

static bool check_word(struct validator *v, const char *word)
{
  const char *p = v->next;
  for (; *word != '\0'; word++, p++) {
    if (p == v->end || *p != *word)
      return fail(v, p, "unexpected character");
  }
  v->next = p;
  return true;
}

static bool open_container(struct validator *v, bool object)
{
  if (v->depth == v->max_depth) {
    v->status = JP_LIMIT;
    *v->fault = (struct json_fault){(size_t)(v->next - v->start), "nested too deep"};
    return false;
  }
  v->depth++;
  uint64_t bit = (uint64_t)1 << (v->depth % 64);
  if (object)
    v->objects[v->depth / 64] |= bit;
  else
    v->objects[v->depth / 64] &= ~bit;
  if (v->depth == 1)
    v->envelope_depth = object ? 1 : 2;
  v->next++;
  v->state = object ? KEY_OR_CLOSE : ELEMENT_OR_CLOSE;
  return true;
}

static void close_container(struct validator *v)
{
  v->next++;
  v->depth--;
  if (v->depth < v->envelope_depth)
    v->suffixes = v->suffix_member.data != NULL && v->suffix_member.len == 0;
  v->state = COMMA_OR_CLOSE;
}

static bool check_value(struct validator *v)
{
  v->state = COMMA_OR_CLOSE;
  switch (*v->next) {
  case '"':
    return check_string(v);
  case '{':
    return open_container(v, true);
  case '[':
    return open_container(v, false);
  case 't':
    return check_word(v, "true");
  case 'f':
    return check_word(v, "false");
  case 'n':
    return check_word(v, "null");
  default:
    if (*v->next == '-' || scan_is_digit(*v->next))
      return check_number(v);
    return fail(v, v->next, "unexpected character");
  }
}

static bool check_key(struct validator *v)
{
  const char *from = v->next + 1;
  if (*v->next != '"')
    return fail(v, v->next, "a member's name must come here");
  if (!check_string(v))
    return false;
  if (v->depth == v->envelope_depth && v->suffix_member.len > 0)
    v->suffixes = json_key_is((struct text){from, (size_t)(v->next - 1 - from)}, v->suffix_member);
  v->next = scan_space(v->next, v->end);
  if (v->next == v->end || *v->next != ':')
    return fail(v, v->next, "':' must come here");
  v->next++;
  v->state = VALUE;
  return true;
}

static bool check_comma_or_close(struct validator *v)
{
  bool object = in_object(v);
  if (*v->next == ',') {
    v->next++;
    v->state = object ? KEY : VALUE;
    return true;
  }
  if (*v->next != (object ? '}' : ']'))
    return fail(v, v->next, object ? "',' or '}' must come here" : "',' or ']' must come here");
  close_container(v);
  return true;
}

/* One token, with v->next at its first byte. */
static bool check_token(struct validator *v)
{
  switch (v->state) {
  case ELEMENT_OR_CLOSE:
    if (*v->next != ']')
      return check_value(v);
    close_container(v);
    return true;
  case KEY_OR_CLOSE:
    if (*v->next != '}')
      return check_key(v);
    close_container(v);
    return true;
  case KEY:
    return check_key(v);
  case COMMA_OR_CLOSE:
    return check_comma_or_close(v);
  case VALUE:
    break;
  }
  return check_value(v);
}

enum jp_status json_validate(struct text message, struct json_limits limits, struct text suffix_member,
                             struct json_fault *fault)
{
  if (message.len == 0) {
    *fault = (struct json_fault){0, "unexpected end"};
    return JP_INVALID;
  }
  struct validator v;
  /* The bits are left as they are: each is written before it is read, and clearing them would cost more than
   * a short message takes. */
  v.start = message.data;
  v.next = message.data;
  v.end = message.data + message.len;
  v.end_reason = "unexpected end";
  v.utf8_checked = false;
  v.max_depth = limits.max_depth < JSON_DEPTH_MAX ? limits.max_depth : JSON_DEPTH_MAX;
  v.depth = 0;
  v.envelope_depth = SIZE_MAX;
  v.suffix_member = suffix_member;
  v.suffixes = suffix_member.data != NULL && suffix_member.len == 0;
  v.state = VALUE;
  v.status = JP_OK;
  v.fault = fault;

  for (;;) {
    v.next = scan_space(v.next, v.end);
    if (v.depth == 0 && v.state == COMMA_OR_CLOSE)
      break;
    if (v.next == v.end) {
      fail(&v, v.end, v.end_reason);
      return v.status;
    }
    if (!check_token(&v))
      return v.status;
  }
  if (v.next != message.data + message.len)
    fail(&v, v.next, "text after the end of the value");
  return v.status;
}
