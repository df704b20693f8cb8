#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_SIZE = 256 };

void buffer_init(struct buffer *buffer)
{
  *buffer = (struct buffer){0};
}

void buffer_fini(struct buffer *buffer)
{
  free(buffer->data);
  *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
  buffer->len = 0;
  buffer->failed = false;
}

void buffer_truncate(struct buffer *buffer, size_t len)
{
  assert(len <= buffer->len);
  buffer->len = len;
}

void buffer_consume(struct buffer *buffer, size_t count)
{
  assert(count <= buffer->len);
  buffer->len -= count;
  if (buffer->len > 0 && count > 0)
    memmove(buffer->data, buffer->data + count, buffer->len);
}

void buffer_trim(struct buffer *buffer, size_t keep)
{
  size_t cap = buffer->len > keep ? buffer->len : keep;
  if (buffer->cap <= cap)
    return;
  if (cap == 0) {
    free(buffer->data);
    buffer->data = NULL;
    buffer->cap = 0;
    return;
  }
  char *data = realloc(buffer->data, cap);
  if (data != NULL) {
    buffer->data = data;
    buffer->cap = cap;
  }
}

char *buffer_grow(struct buffer *buffer, size_t extra)
{
  if (buffer->failed)
    return NULL;
  if (buffer->cap - buffer->len < extra || buffer->data == NULL) {
    size_t wanted;
    if (__builtin_add_overflow(buffer->len, extra, &wanted)) {
      buffer->failed = true;
      return NULL;
    }
    size_t cap = buffer->cap < FIRST_SIZE ? FIRST_SIZE : buffer->cap + buffer->cap / 2;
    if (cap < wanted)
      cap = wanted;
    char *data = realloc(buffer->data, cap);
    if (data == NULL) {
      buffer->failed = true;
      return NULL;
    }
    buffer->data = data;
    buffer->cap = cap;
  }
  return buffer->data + buffer->len;
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) /* the text would be too long for the C library to count */
    buffer->failed = true;
  char *room = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length + 1);
  if (room != NULL) {
    vsnprintf(room, (size_t)length + 1, format, again);
    buffer->len += (size_t)length;
  }
  va_end(again);
}
