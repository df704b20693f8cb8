#ifndef JPEER_CLASSFILE_CURSOR_H
#define JPEER_CLASSFILE_CURSOR_H
/*
 * Reads big-endian numbers from untrusted bytes. A read past the end gives 0 and sets `failed`, so that the
 * owner can check once, after all that it reads. Any thread, one owner.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
  const uint8_t *at;
  const uint8_t *end;
  bool failed;
};

static inline size_t cursor_left(const struct cursor *cursor)
{
  return (size_t)(cursor->end - cursor->at);
}

/* Takes the next count bytes; NULL where there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *cursor, size_t count)
{
  if (cursor->failed || cursor_left(cursor) < count) {
    cursor->failed = true;
    return NULL;
  }
  const uint8_t *bytes = cursor->at;
  cursor->at += count;
  return bytes;
}

static inline uint8_t cursor_u1(struct cursor *cursor)
{
  const uint8_t *bytes = cursor_take(cursor, 1);
  return bytes == NULL ? 0 : bytes[0];
}

static inline uint16_t cursor_u2(struct cursor *cursor)
{
  const uint8_t *bytes = cursor_take(cursor, 2);
  return bytes == NULL ? 0 : (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t cursor_u4(struct cursor *cursor)
{
  const uint8_t *bytes = cursor_take(cursor, 4);
  return bytes == NULL
             ? 0
             : (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Makes a cursor over the next count bytes, which this one skips. */
static inline struct cursor cursor_slice(struct cursor *cursor, size_t count)
{
  const uint8_t *bytes = cursor_take(cursor, count);
  return bytes == NULL ? (struct cursor){cursor->end, cursor->end, true}
                       : (struct cursor){bytes, bytes + count, false};
}

#endif
