#include "json/integers.h"
#include "json/reader.h"
#include "json/scan.h"

enum { UNMARKED = UINT32_MAX };

struct validator {
  const char *start;
  /* The end of the message or, once it is known, the first byte that is not UTF-8. */
  const char *end;
  const char *end_reason;
  bool utf8_checked;

  size_t max_depth;
  size_t depth;
  bool in_object;        /* the innermost open container is an object */
  size_t envelope_depth; /* the depth of the objects that may have the suffix member: 1, or 2 in a batch */
  struct text suffix_member;
  bool suffixes; /* a number may have a suffix here */

  struct json_mark *marks;
  uint32_t mark_count;
  uint32_t marks_max; /* room in marks; lowered to mark_count when a key and its value find no room */
  uint32_t open_mark; /* the mark of the innermost open container that has a mark; or UNMARKED */
  size_t unmarked;    /* open containers inside that container */

  enum jp_status status;
  struct json_fault *fault;
  /* One bit for each level: 1 for an object, 0 for an array. */
  uint64_t objects[JSON_DEPTH_MAX / 64 + 1];
};

/* A check function returns where the text continues, or fails and returns NULL. */
static const char *fail(struct validator *v, const char *at, const char *reason)
{
  v->status = JP_INVALID;
  *v->fault = (struct json_fault){(size_t)(at - v->start), at == v->end ? v->end_reason : reason};
  return NULL;
}

/* Called at the first byte above 0x7F. Checks the whole remaining text, so that the loop over a string's
 * bytes need not check UTF-8. Faults are still reported in the order of the bytes, because `end` moves to the
 * first fault. */
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
  static const bool simple[256] = {['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
                                   ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true};
  if (p + 1 >= v->end)
    return fail(v, v->end, v->end_reason);
  if (p[1] == 'u') {
    for (int i = 2; i < 6; i++) {
      if (p + i >= v->end || scan_hex(p[i]) < 0)
        return fail(v, p + i, "\\u without four hexadecimal digits");
    }
    return p + 6;
  }
  if (!simple[(unsigned char)p[1]])
    return fail(v, p + 1, "unknown escape");
  return p + 2;
}

/* Continues where the quick scan of a string stopped. */
static const char *check_string_rest(struct validator *v, const char *p)
{
  for (;;) {
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
    } else if (!v->utf8_checked && !check_utf8(v, p)) {
      return fail(v, p, "invalid UTF-8");
    }
    p = v->utf8_checked ? scan_string(p, v->end, true, false) : scan_string(p, v->end, true, true);
  }
}

/* p is at the opening quote. *unescaped becomes true if the string is known to have no escape. */
static inline const char *check_string(struct validator *v, const char *p, bool *unescaped)
{
  p++;
  p = v->utf8_checked ? scan_string(p, v->end, true, false) : scan_string(p, v->end, true, true);
  *unescaped = p < v->end && *p == '"';
  return *unescaped ? p + 1 : check_string_rest(v, p);
}

static const char *check_number(struct validator *v, const char *p)
{
  const char *stop = v->end;
  p = number_scan(p, v->end, &stop);
  if (p == NULL)
    return fail(v, stop, "malformed number");
  if (p == v->end || number_suffix(*p) == 0)
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

static inline void note(struct validator *v, struct json_mark mark)
{
  if (v->mark_count < v->marks_max)
    v->marks[v->mark_count++] = mark;
}

static inline void note_value(struct validator *v, enum json_kind kind, const char *p, const char *after,
                              bool unescaped)
{
  note(v, (struct json_mark){.start = p,
                             .length = (uint32_t)(after - p),
                             .inside = 1,
                             .kind = (uint8_t)kind,
                             .unescaped = unescaped});
}

/* A key gets a mark only if there is also room for the mark of its value. */
static inline void note_key(struct validator *v, const char *p, const char *after)
{
  if (v->mark_count + 2 > v->marks_max)
    v->marks_max = v->mark_count;
  note_value(v, JSON_KIND_STRING, p, after, false);
}

/* While a container is open, `length` of its mark is the number of the mark of the container around it. */
static inline void open_mark(struct validator *v, enum json_kind kind, const char *p)
{
  if (v->mark_count == v->marks_max) {
    v->unmarked++;
    return;
  }
  uint32_t around = v->open_mark;
  v->open_mark = v->mark_count;
  note(v, (struct json_mark){.start = p, .length = around, .kind = (uint8_t)kind});
}

static inline void close_mark(struct validator *v, const char *after)
{
  if (v->unmarked > 0) {
    v->unmarked--;
    return;
  }
  struct json_mark *mark = &v->marks[v->open_mark];
  uint32_t around = mark->length;
  mark->length = (uint32_t)(after - mark->start);
  mark->inside = (uint8_t)(v->mark_count - v->open_mark);
  mark->complete = v->mark_count < v->marks_max;
  v->open_mark = around;
}

static inline const char *open_container(struct validator *v, enum json_kind kind, const char *p)
{
  if (v->depth == v->max_depth) {
    v->status = JP_LIMIT;
    *v->fault = (struct json_fault){(size_t)(p - v->start), "nested too deep"};
    return NULL;
  }
  open_mark(v, kind, p);
  v->depth++;
  /* this is the first bit of a word that may still have the bits of an older container */
  if (v->depth % 64 == 0)
    v->objects[v->depth / 64] = 0;
  uint64_t bit = (uint64_t)1 << (v->depth % 64);
  v->in_object = kind == JSON_KIND_OBJECT;
  if (v->in_object)
    v->objects[v->depth / 64] |= bit;
  else
    v->objects[v->depth / 64] &= ~bit;
  if (v->depth == 1)
    v->envelope_depth = v->in_object ? 1 : 2;
  return p + 1;
}

static inline const char *close_container(struct validator *v, const char *p)
{
  close_mark(v, p + 1);
  v->depth--;
  v->in_object = v->depth > 0 && (v->objects[v->depth / 64] >> (v->depth % 64) & 1) != 0;
  if (v->depth < v->envelope_depth)
    v->suffixes = v->suffix_member.data != NULL && v->suffix_member.len == 0;
  return p + 1;
}

/* A number, true, false or null. */
static inline const char *check_literal(struct validator *v, enum json_kind kind, const char *p)
{
  switch (kind) {
  case JSON_KIND_TRUE:
    return check_word(v, p, "true");
  case JSON_KIND_FALSE:
    return check_word(v, p, "false");
  case JSON_KIND_NULL:
    return check_word(v, p, "null");
  default:
    if (*p == '-' || number_is_digit(*p))
      return check_number(v, p);
    return fail(v, p, "unexpected character");
  }
}

/* Skips white space; a byte must follow. */
static inline const char *next_token(struct validator *v, const char *p)
{
  p = scan_space(p, v->end);
  return p == v->end ? fail(v, p, v->end_reason) : p;
}

static inline bool is_suffix_member(const struct validator *v, struct text raw_key)
{
  return raw_key.len >= v->suffix_member.len && json_key_is(raw_key, v->suffix_member);
}

/* Goes from a member's name to the first byte of its value. */
static inline const char *check_key(struct validator *v, const char *p)
{
  const char *from = p + 1;
  if (*p != '"')
    return fail(v, p, "a member's name must come here");
  bool unescaped;
  p = check_string(v, p, &unescaped);
  if (p == NULL)
    return NULL;
  note_key(v, from, p - 1);
  if (v->depth == v->envelope_depth && v->suffix_member.len > 0)
    v->suffixes = is_suffix_member(v, (struct text){from, (size_t)(p - 1 - from)});
  p = scan_space(p, v->end);
  if (p == v->end || *p != ':')
    return fail(v, p, "':' must come here");
  return next_token(v, p + 1);
}

/* Called after a value: closes the containers that end there and goes to the next member or element or, at depth 0,
 * after the outermost value. */
static inline const char *check_comma_or_close(struct validator *v, const char *p)
{
  while (v->depth > 0) {
    p = next_token(v, p);
    if (p == NULL)
      return NULL;
    if (*p == ',')
      return next_token(v, p + 1);
    if (*p != (v->in_object ? '}' : ']'))
      return fail(v, p, v->in_object ? "',' or '}' must come here" : "',' or ']' must come here");
    p = close_container(v, p);
  }
  return p;
}

/* Checks a value that contains no other values. */
static inline const char *check_scalar(struct validator *v, enum json_kind kind, const char *p)
{
  bool unescaped = true;
  const char *after = kind == JSON_KIND_STRING ? check_string(v, p, &unescaped) : check_literal(v, kind, p);
  if (after != NULL)
    note_value(v, kind, p, after, unescaped);
  return after;
}

/* Skips a whole number without suffix and the comma that must follow, as in most long arrays. NULL: the text
 * has another form. */
static inline const char *quick_integer(const char *p, const char *end)
{
  if (p < end && *p == '-')
    p++;
  if (p == end || *p < '1' || *p > '9')
    return NULL;
  while (p < end && number_is_digit(*p))
    p++;
  return p < end && *p == ',' ? p : NULL;
}

/* Skips the whole numbers of an array, while they follow one another without white space, up to the first
 * element of another form. */
static const char *pass_integers(struct validator *v, const char *p)
{
  const char *after;
  if (v->depth == 0)
    return p;
  while ((after = quick_integer(p, v->end)) != NULL && after + 1 < v->end && !scan_is_space(after[1])) {
    note_value(v, JSON_KIND_NUMBER, p, after, true);
    p = after + 1;
  }
  return p;
}

/* Skips a long array of whole numbers without marking its elements. p: the place where the first element
 * would be. NULL: the array holds anything else. */
static inline const char *pass_array(struct validator *v, const char *p)
{
  const char *after = json_integers_pass(p, v->end);
  if (after == NULL)
    return NULL;
  struct json_mark *mark = v->unmarked > 0 ? NULL : &v->marks[v->open_mark];
  after = close_container(v, after - 1);
  if (mark != NULL)
    mark->complete = false;
  return after;
}

/* Goes to the first key or element or, if the container is empty, after it. */
static inline const char *check_container(struct validator *v, enum json_kind kind, const char *p,
                                          bool *is_closed)
{
  p = open_container(v, kind, p);
  if (p == NULL)
    return NULL;
  const char *after = kind == JSON_KIND_ARRAY ? pass_array(v, p) : NULL;
  if (after == NULL) {
    p = next_token(v, p);
    if (p == NULL || *p != (v->in_object ? '}' : ']'))
      return p;
    after = close_container(v, p);
  }
  *is_closed = true;
  return after;
}

/* Each round reads a value or the opening bracket of a container, and in an object the key before it. NULL:
 * the text is invalid. */
static const char *check_all(struct validator *v, const char *p)
{
  while (p != NULL) {
    p = v->in_object ? check_key(v, p) : pass_integers(v, p);
    if (p == NULL)
      return NULL;
    enum json_kind kind = scan_kind(*p);
    bool is_container = kind == JSON_KIND_OBJECT || kind == JSON_KIND_ARRAY;
    bool is_after = !is_container; /* p is after a whole value */
    p = is_container ? check_container(v, kind, p, &is_after) : check_scalar(v, kind, p);
    if (p != NULL && is_after)
      p = check_comma_or_close(v, p);
    if (v->depth == 0)
      return p;
  }
  return NULL;
}

/* index: to be filled, or NULL. */
static enum jp_status begin(struct text message, struct json_limits limits, struct text suffix_member,
                            struct json_index *index, struct json_fault *fault)
{
  if (message.len == 0) {
    *fault = (struct json_fault){0, "unexpected end"};
    return JP_INVALID;
  }
  struct validator v;
  /* A word of bits is cleared when it is reached: clearing all of them would cost more than a short message. */
  v.objects[0] = 0;
  v.start = message.data;
  v.end = message.data + message.len;
  v.end_reason = "unexpected end";
  v.utf8_checked = false;
  v.max_depth = limits.max_depth < JSON_DEPTH_MAX ? limits.max_depth : JSON_DEPTH_MAX;
  v.depth = 0;
  v.in_object = false;
  v.envelope_depth = SIZE_MAX;
  v.suffix_member = suffix_member;
  v.suffixes = suffix_member.data != NULL && suffix_member.len == 0;
  v.marks = index == NULL ? NULL : index->marks;
  v.mark_count = 0;
  /* A mark's numbers have 32 bits. */
  v.marks_max = index == NULL || message.len > UINT32_MAX ? 0 : JSON_INDEX_MAX;
  v.open_mark = UNMARKED;
  v.unmarked = 0;
  v.status = JP_OK;
  v.fault = fault;
  const char *p = check_all(&v, next_token(&v, message.data));
  if (p != NULL)
    p = scan_space(p, v.end);
  if (p != NULL && p != message.data + message.len)
    fail(&v, p, "text after the end of the value");
  if (index != NULL)
    index->count = (uint16_t)v.mark_count;
  return v.status;
}

enum jp_status json_validate(struct text message, struct json_limits limits, struct text suffix_member,
                             struct json_fault *fault)
{
  return begin(message, limits, suffix_member, NULL, fault);
}

enum jp_status json_validate_indexed(struct text message, struct json_limits limits,
                                     struct text suffix_member, struct json_index *index,
                                     struct json_fault *fault)
{
  return begin(message, limits, suffix_member, index, fault);
}
