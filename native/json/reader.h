#ifndef JPEER_JSON_READER_H
#define JPEER_JSON_READER_H
/*
 * The one-pass reader: strict RFC 8259, plus number suffixes (3.14d, 1.5f, 100l) where the caller allows
 * them.
 *
 * json_validate checks the whole message once, before anything runs. After JP_OK, a cursor pulls members and
 * elements straight out of the text, with no tree and no second check of the syntax; a value that is to be
 * read later (params before method) is kept as its span. Any thread; the functions keep no state between
 * calls: the caller keeps the text, and the index if it uses an index.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 10000 };

struct json_limits {
  size_t max_depth; /* nested objects and arrays; more than JSON_DEPTH_MAX counts as JSON_DEPTH_MAX */
};

struct json_fault {
  size_t offset;      /* byte offset of the fault */
  const char *reason; /* static text: "unexpected character", "control character in string", ... */
};

enum json_kind {
  JSON_KIND_NULL,
  JSON_KIND_TRUE,
  JSON_KIND_FALSE,
  JSON_KIND_NUMBER,
  JSON_KIND_STRING,
  JSON_KIND_ARRAY,
  JSON_KIND_OBJECT
};

/*
 * The places of a message's first values and keys, noted while it is validated, so that the reader need not
 * scan their text again. The index has a fixed size: values beyond it, and the elements of a long array of
 * whole numbers (json/integers.h), are found by scanning. Reading a message gives the same results with and
 * without an index.
 */
enum { JSON_INDEX_MAX = 255 };

struct json_mark {
  const char *start; /* the first byte of a value, or the byte after the opening quote of a key */
  uint32_t length;   /* in bytes; the length of a key does not include its quotes */
  /* the number of marks from this mark to the next mark outside of this value; 1: this value contains no
   * marks */
  uint8_t inside;
  uint8_t kind;   /* an enum json_kind */
  bool unescaped; /* a string without an escape */
  bool complete;  /* an object or array whose members or elements all have marks */
};

_Static_assert(JSON_INDEX_MAX <= UINT8_MAX, "a mark counts what is inside it");

struct json_index {
  struct json_mark marks[JSON_INDEX_MAX]; /* in the order of the text: each key is followed by its value */
  uint16_t count;
};

/*
 * Returns JP_OK, JP_INVALID (the text is not JSON; *fault says where and why) or JP_LIMIT (too deep).
 * suffix_member: the name of a member of the message, for example TEXT("params"); if the message is an array,
 * of each element. Numbers inside the value of this member may have suffixes. If its data is NULL, no number
 * may have a suffix; if it is an empty text, every number may. The text must be UTF-8; a BOM is an error (RFC
 * 8259, 8.1).
 */
enum jp_status json_validate(struct text message, struct json_limits limits, struct text suffix_member,
                             struct json_fault *fault) JP_MUST_CHECK;
/* The same as json_validate; also fills index if the text is valid. */
enum jp_status json_validate_indexed(struct text message, struct json_limits limits,
                                     struct text suffix_member, struct json_index *index,
                                     struct json_fault *fault) JP_MUST_CHECK;

/* A value in validated text: its span, from its first byte to its last, without white space around it. */
struct json_value {
  enum json_kind kind;
  bool unescaped; /* a string that is known to have no escape */
  bool complete;  /* an object or array whose members or elements are all in the index */
  struct text span;
  const struct json_mark *mark; /* borrowed from the index; NULL: none */
};

/* The value that the text holds, without the white space around it. */
struct json_value json_root(struct text validated);
/* The same as json_root; all values that are read from it borrow index. */
struct json_value json_root_indexed(struct text validated, const struct json_index *index);

/* Walks the members of an object or the elements of an array, in order. */
struct json_cursor {
  const char *next; /* where the search for the next member, element or closing bracket starts */
  const char *end;
  /* the mark of the next key or element; from marks_end on, the text is scanned */
  const struct json_mark *mark;
  const struct json_mark *marks_end;
  bool complete; /* the container ends at marks_end: nothing is left to scan */
};

/* For json_next_element and json_next_member after the last mark: they scan the text. */
bool json_scan_element(struct json_cursor *cursor, struct json_value *element);
bool json_scan_member(struct json_cursor *cursor, struct text *raw_key, struct json_value *value);

static inline struct json_value json_marked_value(const struct json_mark *mark)
{
  return (struct json_value){.kind = (enum json_kind)mark->kind,
                             .unescaped = mark->unescaped,
                             .complete = mark->complete,
                             .span = {mark->start, mark->length},
                             .mark = mark};
}

static inline struct json_cursor json_enter(struct json_value object_or_array)
{
  struct text span = object_or_array.span;
  const struct json_mark *mark = object_or_array.mark;
  struct json_cursor cursor = {
      .next = span.data + 1, .end = span.data + span.len, .complete = object_or_array.complete};
  if (mark != NULL) {
    cursor.mark = mark + 1;
    cursor.marks_end = mark + mark->inside;
  }
  return cursor;
}

static inline void json_pass_mark(struct json_cursor *cursor, const struct json_mark *mark)
{
  cursor->next = mark->start + mark->length;
  cursor->mark = mark + mark->inside;
}

/* False at the end. */
static inline bool json_next_element(struct json_cursor *cursor, struct json_value *element)
{
  const struct json_mark *mark = cursor->mark;
  if (mark == cursor->marks_end)
    return !cursor->complete && json_scan_element(cursor, element);
  *element = json_marked_value(mark);
  json_pass_mark(cursor, mark);
  return true;
}

/* The key is raw: the span between its quotes; compare it with json_key_is. */
static inline bool json_next_member(struct json_cursor *cursor, struct text *raw_key,
                                    struct json_value *value)
{
  const struct json_mark *key = cursor->mark;
  if (key == cursor->marks_end)
    return !cursor->complete && json_scan_member(cursor, raw_key, value);
  *raw_key = (struct text){key->start, key->length};
  *value = json_marked_value(key + 1);
  json_pass_mark(cursor, key + 1);
  return true;
}

/* Whether the raw key, unescaped, is exactly name (ASCII). */
bool json_key_is(struct text raw_key, struct text name);
/* The index of the name that equals the raw key after unescaping; -1: no name does. */
int json_find_key(struct text raw_key, const struct text *names, int count);
/* Returns the number of elements or members. Reads the whole container. */
size_t json_count(struct json_value object_or_array);

/*
 * Returns the unescaped text of a string value or raw key. The result is borrowed from the message if the
 * text has no escape; otherwise it is in the arena. Lone surrogates are kept (base/text.h). data is NULL when
 * memory is short.
 */
struct text json_read_string(struct json_value string, struct arena *arena);
struct text json_unescape(struct text raw, struct arena *arena);

/* If a text begins with a valid string without escapes, returns the length of that string in bytes, with its
 * quotes. Otherwise returns 0. */
size_t json_unescaped_string_at(struct text t);

/* ---- members by name ---- */

enum { JSON_MEMBERS_MAX = 16 };

struct json_members {
  bool has[JSON_MEMBERS_MAX];
  struct json_value value[JSON_MEMBERS_MAX]; /* the first value, if the member was given twice */
  /* index of the last member that was given twice; -1: no member was */
  int repeated;
};

/* Collects, in any order, the members called names[0] to names[count - 1] (ASCII) and skips all others. */
void json_members_collect(struct json_value object, const struct text *names, int count,
                          struct json_members *members);

/* "null", "a boolean", "a number", "a string", "an array", "an object": for messages. */
const char *json_kind_name(enum json_kind kind);

#endif
