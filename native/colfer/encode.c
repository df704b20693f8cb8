#include "colfer/wire.h"

#include <endian.h>
#include <stdbool.h>

/* The functions here write from the given place on. They return the place after the written bytes, or NULL if
 * memory is short. Only colfer_encode sets the buffer's length. */

enum { HEADER_SIZE = 1, VARINT_ROOM = HEADER_SIZE + COLFER_VARINT64_MAX };

__attribute__((noinline)) static uint8_t *grow_buffer(struct buffer *out, const uint8_t *at, size_t count)
{
  out->len = (size_t)(at - (const uint8_t *)out->data);
  return (uint8_t *)buffer_grow(out, count);
}

/* Makes room for count bytes after `at`. Returns `at`, or the same place in the moved buffer. */
static inline uint8_t *make_room(struct buffer *out, uint8_t *at, size_t count)
{
  size_t room = out->cap - (size_t)(at - (uint8_t *)out->data);
  return room >= count ? at : grow_buffer(out, at, count);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t number)
{
  const uint8_t *last = at + COLFER_VARINT64_MAX - 1;
  for (; number >= 0x80 && at < last; number >>= 7)
    *at++ = (uint8_t)(number | 0x80);
  *at++ = (uint8_t)number;
  return at;
}

static uint8_t *write_byte(struct buffer *out, uint8_t *at, uint8_t byte)
{
  at = make_room(out, at, 1);
  if (at != NULL)
    *at++ = byte;
  return at;
}

static uint8_t *write_varint(struct buffer *out, uint8_t *at, uint8_t header, uint64_t number)
{
  at = make_room(out, at, VARINT_ROOM);
  if (at == NULL)
    return NULL;
  *at = header;
  return put_varint(at + HEADER_SIZE, number);
}

static uint8_t *write_uint8(struct buffer *out, uint8_t *at, uint8_t index, uint8_t number)
{
  at = write_byte(out, at, index);
  return at == NULL ? NULL : write_byte(out, at, number);
}

static uint8_t *write_uint32(struct buffer *out, uint8_t *at, uint8_t index, uint32_t number)
{
  if (number < COLFER_FIXED32_FROM)
    return write_varint(out, at, index, number);
  at = make_room(out, at, HEADER_SIZE + COLFER_FIXED32_SIZE);
  if (at == NULL)
    return NULL;
  *at = index | COLFER_FLAG;
  number = htobe32(number);
  memcpy(at + HEADER_SIZE, &number, sizeof number);
  return at + HEADER_SIZE + sizeof number;
}

static uint8_t *write_uint64(struct buffer *out, uint8_t *at, uint8_t index, uint64_t number)
{
  if (number < COLFER_FIXED64_FROM)
    return write_varint(out, at, index, number);
  at = make_room(out, at, HEADER_SIZE + COLFER_FIXED64_SIZE);
  if (at == NULL)
    return NULL;
  *at = index | COLFER_FLAG;
  number = htobe64(number);
  memcpy(at + HEADER_SIZE, &number, sizeof number);
  return at + HEADER_SIZE + sizeof number;
}

static uint8_t *write_signed(struct buffer *out, uint8_t *at, uint8_t index, int64_t number)
{
  if (number > 0)
    return write_varint(out, at, index, (uint64_t)number);
  return write_varint(out, at, index | COLFER_FLAG, UINT64_C(0) - (uint64_t)number);
}

/* Writes the number of bytes, and then the bytes. */
static inline uint8_t *put_text(uint8_t *at, struct text text)
{
  at = put_varint(at, text.len);
  if (text.len > 0)
    memcpy(at, text.data, text.len);
  return at + text.len;
}

static uint8_t *write_text(struct buffer *out, uint8_t *at, uint8_t index, struct text text)
{
  at = make_room(out, at, VARINT_ROOM + text.len);
  if (at == NULL)
    return NULL;
  *at = index;
  return put_text(at + HEADER_SIZE, text);
}

static uint8_t *write_texts(struct buffer *out, uint8_t *at, uint8_t index, struct colfer_texts list)
{
  at = write_varint(out, at, index, list.count);
  for (size_t i = 0; i < list.count && at != NULL; i++) {
    at = make_room(out, at, VARINT_ROOM + list.items[i].len);
    if (at != NULL)
      at = put_text(at, list.items[i]);
  }
  return at;
}

static uint8_t *write_struct(struct buffer *out, uint8_t *at, const struct colfer_type *type,
                             const void *value);

static uint8_t *write_nested(struct buffer *out, uint8_t *at, uint8_t index, const struct colfer_type *type,
                             const void *value)
{
  at = write_byte(out, at, index);
  return at == NULL ? NULL : write_struct(out, at, type, value);
}

static uint8_t *write_structs(struct buffer *out, uint8_t *at, uint8_t index, const struct colfer_type *type,
                              struct colfer_structs list)
{
  at = write_varint(out, at, index, list.count);
  for (size_t i = 0; i < list.count && at != NULL; i++)
    at = write_struct(out, at, type, (const char *)list.items + i * type->size);
  return at;
}

/* Writes a field. For a zero value it writes nothing, as Colfer requires, and returns `at`. */
static inline uint8_t *write_member(struct buffer *out, uint8_t *at, uint8_t index,
                                    const struct colfer_member *member, const void *value)
{
  switch (member->kind) {
  case COLFER_BOOL:
    return *(const bool *)value ? write_byte(out, at, index) : at;
  case COLFER_UINT8: {
    uint8_t number = *(const uint8_t *)value;
    return number == 0 ? at : write_uint8(out, at, index, number);
  }
  case COLFER_UINT32: {
    uint32_t number = *(const uint32_t *)value;
    return number == 0 ? at : write_uint32(out, at, index, number);
  }
  case COLFER_UINT64: {
    uint64_t number = *(const uint64_t *)value;
    return number == 0 ? at : write_uint64(out, at, index, number);
  }
  case COLFER_INT32: {
    int32_t number = *(const int32_t *)value;
    return number == 0 ? at : write_signed(out, at, index, number);
  }
  case COLFER_INT64: {
    int64_t number = *(const int64_t *)value;
    return number == 0 ? at : write_signed(out, at, index, number);
  }
  case COLFER_TEXT:
  case COLFER_BINARY: {
    const struct text *text = value;
    return text->len == 0 ? at : write_text(out, at, index, *text);
  }
  case COLFER_STRUCT: {
    const void *inner = colfer_struct_at(value);
    return inner == NULL ? at : write_nested(out, at, index, member->type, inner);
  }
  case COLFER_TEXTS: {
    const struct colfer_texts *list = value;
    return list->count == 0 ? at : write_texts(out, at, index, *list);
  }
  case COLFER_STRUCTS: {
    struct colfer_structs list = colfer_structs_at(value);
    return list.count == 0 ? at : write_structs(out, at, index, member->type, list);
  }
  }
  __builtin_unreachable();
}

static uint8_t *write_struct(struct buffer *out, uint8_t *at, const struct colfer_type *type,
                             const void *value)
{
  const struct colfer_member *member = type->members;
  for (size_t i = 0; i < type->member_count && at != NULL; i++, member++)
    at = write_member(out, at, (uint8_t)i, member, (const char *)value + member->offset);
  return at == NULL ? NULL : write_byte(out, at, COLFER_END);
}

void colfer_encode(const struct colfer_type *type, const void *value, struct buffer *out)
{
  uint8_t *at = (uint8_t *)buffer_reserve(out, 1);
  if (at == NULL)
    return;
  at = write_struct(out, at, type, value);
  if (at != NULL)
    out->len = (size_t)(at - (uint8_t *)out->data);
}
