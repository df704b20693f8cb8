#ifndef JPEER_BASE_TEXT_H
#define JPEER_BASE_TEXT_H
/*
 * A borrowed run of text: a pointer and a length. The text is not NUL-terminated and may contain NULs.
 *
 * Inside the peer, text is UTF-8 that may also carry lone surrogates, each as the three bytes that UTF-8
 * would give its code point (WTF-8): JSON and Java both allow them, and nothing may be corrupted on the way.
 * Pure functions, any thread.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
  const char *data; /* NULL only for "absent", where the field's comment allows it */
  size_t len;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
#define TEXT_ABSENT   ((struct text){NULL, 0})
#define TEXT_ARGS(t)  (int)(t).len, (t).data /* for "%.*s" */

static inline struct text text_of(const char *string) /* borrowed: valid as long as string */
{
  return (struct text){string, strlen(string)};
}

static inline bool text_equal_words(const char *a, const char *b)
{
  uint64_t words[2];
  memcpy(&words[0], a, sizeof *words);
  memcpy(&words[1], b, sizeof *words);
  return words[0] == words[1];
}

/* Use it for short texts that are mostly equal: calling memcmp would cost more than comparing them. */
static inline bool text_equal_bytes(const char *a, const char *b, size_t length)
{
  enum { WORD = sizeof(uint64_t) };
  if (length < WORD) {
    size_t i = 0;
    while (i < length && a[i] == b[i])
      i++;
    return i == length;
  }
  for (size_t i = 0; i + WORD < length; i += WORD) {
    if (!text_equal_words(a + i, b + i))
      return false;
  }
  return text_equal_words(a + length - WORD, b + length - WORD);
}

static inline bool text_equal(struct text a, struct text b)
{
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline struct text text_slice(struct text t, size_t from, size_t to)
{
  return (struct text){t.data + from, to - from};
}

/* The order of sorted tables, which compares bytes: negative, 0 or positive, like memcmp. A text precedes
 * every longer text that begins with it. */
static inline int text_order(struct text a, struct text b)
{
  size_t shorter = a.len < b.len ? a.len : b.len;
  int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool text_equal_ignore_case(struct text a, struct text b); /* ASCII letters only */
bool text_starts_with(struct text t, struct text prefix);
bool text_ends_with(struct text t, struct text suffix);
/* True if t has this line. Line breaks are not compared. */
bool text_has_line(struct text t, struct text line);
/* Index of the last c, or SIZE_MAX. */
size_t text_find_last(struct text t, char c);
/* The longest prefix of t of at most max bytes that ends between two characters. */
struct text text_cut(struct text t, size_t max);
/* A 64-bit hash without a secret seed. Use it only for tables of bounded size. */
uint64_t text_hash(struct text t);

bool text_is_ascii(struct text t);
/* The length of the longest prefix of t that is strict UTF-8 (RFC 3629: no surrogates, no overlong forms). */
size_t text_valid_utf8(struct text t);

/*
 * Copies t so that a terminal, or a program that reads lines, sees nothing in it but text. These characters
 * are written as \x1b or \u202e: controls (C0, DEL, C1), line and paragraph separators, characters that
 * change the direction of text, and invisible characters. Bytes that are not UTF-8 are written as \x9b.
 * `plain` has ASCII controls that are copied all the same; the characters of `quoted` get a backslash. The
 * copy ends with NUL. If it does not fit into size bytes, it is cut between two characters. Returns the
 * length of the uncut copy, as snprintf does.
 */
size_t text_escape(struct text t, const char *plain, const char *quoted, char *out, size_t size);

/* Formats as snprintf does, except that a text that does not fit is cut between two characters and ends with
 * "...". size is 4 or more. Returns the length of the text in out. */
size_t text_format(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t text_format_va(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* Marks a NUL-terminated text of which something was left out by "..." at its end. If the size bytes of out
 * have no room for three more, "..." replaces the last characters. */
void text_mark_cut(char *out, size_t size);

/* Replaces each token (docs/security.md, "Tokens") of a NUL-terminated text by "jp_...". For texts that quote files, into
 * which a token may have been pasted: a token is never logged. A token that was cut counts from 16 characters on. */
void text_hide_tokens(char *text);

/* The number of UTF-16 units that the well-formed WTF-8 t becomes. */
size_t text_utf16_length(struct text t);
/* Writes text_utf16_length(t) units, at most t.len, to out and returns their number. A pair of surrogates in
 * t becomes a pair of UTF-16 units, a lone surrogate becomes one unit. */
size_t text_to_utf16(struct text t, uint16_t *out);
/* The number of WTF-8 bytes that count UTF-16 units become; a pair of surrogates becomes one character of
 * four bytes. */
size_t text_wtf8_length(const uint16_t *units, size_t count);
/* Writes text_wtf8_length(units, count) bytes, at most three a unit, to out and returns their number. */
size_t text_from_utf16(const uint16_t *units, size_t count, char *out);

#endif
