#ifndef JPEER_BASE_BUFFER_H
#define JPEER_BASE_BUFFER_H
/*
 * A growable run of bytes, for what is to be sent.
 *
 * One owner, one thread. Appending never reports; a failed allocation makes the buffer `failed`, later
 * appends do nothing, and the owner looks once, at the end. buffer_clear keeps the memory.
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
/* Shortens to len, which must not be above buffer->len. */
void buffer_truncate(struct buffer *buffer, size_t len);
/* Takes the first count bytes away. */
void buffer_consume(struct buffer *buffer, size_t count);
/* Gives memory above keep bytes back to the system; what is in the buffer stays. */
void buffer_trim(struct buffer *buffer, size_t keep);

/* Room for `extra` more bytes behind len; NULL (and failed) when memory is short. The caller adds to len. */
char *buffer_reserve(struct buffer *buffer, size_t extra);
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
void buffer_append_text(struct buffer *buffer, struct text t);
void buffer_append_char(struct buffer *buffer, char c);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define BUFFER_LITERAL(buffer, literal) buffer_append((buffer), (literal), sizeof(literal) - 1)

static inline struct text buffer_text(const struct buffer *buffer) /* borrowed: until the next change */
{
  return (struct text){buffer->data, buffer->len};
}

#endif
