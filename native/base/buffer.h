#ifndef JPEER_BASE_BUFFER_H
#define JPEER_BASE_BUFFER_H
/*
 * A growable run of bytes, for output.
 *
 * One owner, one thread. Functions that append do not report a failed allocation: it sets `failed` in the
 * buffer, later appends do nothing, and the owner checks `failed` once, at the end. buffer_clear keeps the
 * memory.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer {
  char *data;
  size_t len;
  size_t cap;
  bool failed;
};

void buffer_init(struct buffer *buffer);
void buffer_fini(struct buffer *buffer);
void buffer_clear(struct buffer *buffer);
/* Shortens the content to len. len must not be above buffer->len. */
void buffer_truncate(struct buffer *buffer, size_t len);
/* Removes the first count bytes. */
void buffer_consume(struct buffer *buffer, size_t count);
/* Frees memory above keep bytes, but never memory that the content needs. */
void buffer_trim(struct buffer *buffer, size_t keep);

/* The slow half of buffer_reserve: allocates room. */
char *buffer_grow(struct buffer *buffer, size_t extra);

/* Room for `extra` more bytes after len; NULL (and failed) when memory is short. The caller adds to len. */
static inline char *buffer_reserve(struct buffer *buffer, size_t extra)
{
  /* The test is `<`, not `<=`, so that a buffer without memory allocates even for 0 bytes. */
  if (extra < buffer->cap - buffer->len && !buffer->failed)
    return buffer->data + buffer->len;
  return buffer_grow(buffer, extra);
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t count)
{
  char *room = count == 0 ? NULL : buffer_reserve(buffer, count);
  if (room == NULL)
    return;
  memcpy(room, bytes, count);
  buffer->len += count;
}

static inline void buffer_append_text(struct buffer *buffer, struct text t)
{
  buffer_append(buffer, t.data, t.len);
}

static inline void buffer_append_char(struct buffer *buffer, char c)
{
  buffer_append(buffer, &c, 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define BUFFER_LITERAL(buffer, literal) buffer_append((buffer), (literal), sizeof(literal) - 1)

static inline struct text buffer_text(const struct buffer *buffer) /* borrowed: until the next change */
{
  return (struct text){buffer->data, buffer->len};
}

#endif
