#include "json/reader.h"
#include "json/scan.h"

enum state {
  VALUE,            /* a value must come */
  ELEMENT_OR_CLOSE, /* after '[' */
  KEY_OR_CLOSE,     /* after '{' */
  KEY,              /* after ',' in an object */
  COMMA_OR_CLOSE    /* after a value */
};

struct validator {
  const char *start;
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

/* What the check functions return when they stop: NULL. Else they return where they have got to. */
static const char *fail(struct validator *v, const char *at, const char *reason)
{
  v->status = JP_INVALID;
  *v->fault = (struct json_fault){(size_t)(at - v->start), at == v->end ? v->end_reason : reason};
  return NULL;
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

static const char *check_escape(struct validator *v, const char *p)
{
  static const char simple[] = "\"\\/bfnrt";
  if (p + 1 >= v->end)
    return fail(v, v->end, v->end_reason);
  if (p[1] == 'u') {
    for (int i = 2; i < 6; i++) {
      if (p + i >= v->end || scan_hex(p[i]) < 0)
        return fail(v, p + i, "\\u without four hexadecimal digits");
    }
    return p + 6;
  }
  if (p[1] == '\0' || strchr(simple, p[1]) == NULL)
    return fail(v, p + 1, "unknown escape");
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

/* p is at the opening quote. */
static const char *check_string(struct validator *v, const char *p)
{
  p++;
  for (;;) {
    p = find_special(v, p);
    if (p == v->end)
      return fail(v, p, v->end_reason);
    if (*p == '"')
      return p + 1;
    if (*p == '\\') {
      p = check_escape(v, p);
      if (p == NULL)
        return NULL;
    } else if ((unsigned char)*p < 0x20) {
      return fail(v, p, "control character in string");
    } else if (!check_utf8(v, p)) {
      return fail(v, p, "invalid UTF-8");
    }
  }
}

static const char *check_number(struct validator *v, const char *p)
{
  const char *stop = v->end;
  p = scan_number(p, v->end, &stop);
  if (p == NULL)
    return fail(v, stop, "malformed number");
  if (p == v->end || scan_suffix(*p) == 0)
    return p;
  return v->suffixes ? p + 1 : fail(v, p, "number suffix outside params");
}

static const char *check_word(struct validator *v, const char *p, const char *word)
{
  for (; *word != '\0'; word++, p++) {
    if (p == v->end || *p != *word)
      return fail(v, p, "unexpected character");
  }
  return p;
}

static const char *open_container(struct validator *v, const char *p, bool object)
{
  if (v->depth == v->max_depth) {
    v->status = JP_LIMIT;
    *v->fault = (struct json_fault){(size_t)(p - v->start), "nested too deep"};
    return NULL;
  }
  v->depth++;
  if (v->depth % 64 == 0) /* the first time here, or again: what the word held is of no use now */
    v->objects[v->depth / 64] = 0;
  uint64_t bit = (uint64_t)1 << (v->depth % 64);
  if (object)
    v->objects[v->depth / 64] |= bit;
  else
    v->objects[v->depth / 64] &= ~bit;
  if (v->depth == 1)
    v->envelope_depth = object ? 1 : 2;
  v->state = object ? KEY_OR_CLOSE : ELEMENT_OR_CLOSE;
  return p + 1;
}

static const char *close_container(struct validator *v, const char *p)
{
  v->depth--;
  if (v->depth < v->envelope_depth)
    v->suffixes = v->suffix_member.data != NULL && v->suffix_member.len == 0;
  v->state = COMMA_OR_CLOSE;
  return p + 1;
}

static const char *check_value(struct validator *v, const char *p)
{
  v->state = COMMA_OR_CLOSE;
  switch (*p) {
  case '"':
    return check_string(v, p);
  case '{':
    return open_container(v, p, true);
  case '[':
    return open_container(v, p, false);
  case 't':
    return check_word(v, p, "true");
  case 'f':
    return check_word(v, p, "false");
  case 'n':
    return check_word(v, p, "null");
  default:
    if (*p == '-' || scan_is_digit(*p))
      return check_number(v, p);
    return fail(v, p, "unexpected character");
  }
}

static const char *check_key(struct validator *v, const char *p)
{
  const char *from = p + 1;
  if (*p != '"')
    return fail(v, p, "a member's name must come here");
  p = check_string(v, p);
  if (p == NULL)
    return NULL;
  if (v->depth == v->envelope_depth && v->suffix_member.len > 0)
    v->suffixes = json_key_is((struct text){from, (size_t)(p - 1 - from)}, v->suffix_member);
  p = scan_space(p, v->end);
  if (p == v->end || *p != ':')
    return fail(v, p, "':' must come here");
  v->state = VALUE;
  return p + 1;
}

static const char *check_comma_or_close(struct validator *v, const char *p)
{
  bool object = in_object(v);
  if (*p == ',') {
    v->state = object ? KEY : VALUE;
    return p + 1;
  }
  if (*p != (object ? '}' : ']'))
    return fail(v, p, object ? "',' or '}' must come here" : "',' or ']' must come here");
  return close_container(v, p);
}

/* One token, which begins at p. */
static const char *check_token(struct validator *v, const char *p)
{
  switch (v->state) {
  case ELEMENT_OR_CLOSE:
    return *p == ']' ? close_container(v, p) : check_value(v, p);
  case KEY_OR_CLOSE:
    return *p == '}' ? close_container(v, p) : check_key(v, p);
  case KEY:
    return check_key(v, p);
  case COMMA_OR_CLOSE:
    return check_comma_or_close(v, p);
  case VALUE:
    break;
  }
  return check_value(v, p);
}

enum jp_status json_validate(struct text message, struct json_limits limits, struct text suffix_member,
                             struct json_fault *fault)
{
  if (message.len == 0) {
    *fault = (struct json_fault){0, "unexpected end"};
    return JP_INVALID;
  }
  struct validator v;
  /* A word of bits is cleared when it is reached: clearing all of them would cost more than a short message
   * takes. */
  v.objects[0] = 0;
  v.start = message.data;
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

  const char *p = message.data;
  for (;;) {
    p = scan_space(p, v.end);
    if (v.depth == 0 && v.state == COMMA_OR_CLOSE)
      break;
    p = p == v.end ? fail(&v, p, v.end_reason) : check_token(&v, p);
    if (p == NULL)
      return v.status;
  }
  if (p != message.data + message.len)
    fail(&v, p, "text after the end of the value");
  return v.status;
}
