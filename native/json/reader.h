#ifndef JPEER_JSON_READER_H
#define JPEER_JSON_READER_H
/*
 * The one-pass reader: strict RFC 8259, plus number suffixes (3.14d, 1.5f, 100l) where the caller says so.
 *
 * json_validate looks at the whole message once, before anything runs. After it has said JP_OK, a cursor
 * pulls members and elements straight out of the text, with no tree and no second check of the syntax; a
 * value that is to be read later (params before method) is kept as its span. Any thread; no state outlives a
 * call.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 10000 };

struct json_limits {
  size_t max_depth; /* objects and arrays inside one another; more than JSON_DEPTH_MAX counts as that */
};

struct json_fault {
  size_t offset;      /* byte offset of what is wrong */
  const char *reason; /* static text: "unexpected character", "control character in string", ... */
};

/*
 * JP_OK, JP_INVALID (no JSON text: fault says where and why) or JP_LIMIT (too deep). suffix_member names the
 * member of the message (or of each element, where the message is an array) inside whose value numbers may
 * carry suffixes: TEXT("params"); with data NULL none may, and with an empty text they may everywhere.
 * The text must be UTF-8; a BOM is an error (RFC 8259, 8.1).
 */
enum jp_status json_validate(struct text message, struct json_limits limits, struct text suffix_member,
                             struct json_fault *fault) JP_MUST_CHECK;

enum json_kind {
  JSON_KIND_NULL,
  JSON_KIND_TRUE,
  JSON_KIND_FALSE,
  JSON_KIND_NUMBER,
  JSON_KIND_STRING,
  JSON_KIND_ARRAY,
  JSON_KIND_OBJECT
};

/* A value in validated text: its span, from its first byte to its last, without white space around it. */
struct json_value {
  enum json_kind kind;
  struct text span;
};

/* The value that the text holds (white space around it is passed over). */
struct json_value json_root(struct text validated);

/* Walks the members of an object or the elements of an array, in order. */
struct json_cursor {
  const char *next; /* where the next member or element, or the closing bracket, is looked for */
  const char *end;
};

struct json_cursor json_enter(struct json_value object_or_array);
/* False at the end. */
bool json_next_element(struct json_cursor *cursor, struct json_value *element);
/* The key is raw: the span between its quotes; compare it with json_key_is. */
bool json_next_member(struct json_cursor *cursor, struct text *raw_key, struct json_value *value);
/* True where the raw key, unescaped, is exactly name (ASCII). */
bool json_key_is(struct text raw_key, struct text name);
/* Number of elements or members; walks them. */
size_t json_count(struct json_value object_or_array);

/*
 * The text of a string value or raw key, unescaped: borrowed from the message where it has no escape, else in
 * the arena. Lone surrogates are kept (base/text.h). data is NULL when memory is short.
 */
struct text json_read_string(struct json_value string, struct arena *arena);
struct text json_unescape(struct text raw, struct arena *arena);

#endif
