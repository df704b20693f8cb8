#include "colfer/wire.h"

#include <endian.h>
#include <stdbool.h>

static uint8_t *reserve_bytes(struct buffer *out, size_t count)
{
  return (uint8_t *)buffer_reserve(out, count);
}

static void end_at(struct buffer *out, const uint8_t *end)
{
  out->len = (size_t)(end - (const uint8_t *)out->data);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t number)
{
  const uint8_t *last = at + COLFER_VARINT64_MAX - 1;
  for (; number >= 0x80 && at < last; number >>= 7)
    *at++ = (uint8_t)(number | 0x80);
  *at++ = (uint8_t)number;
  return at;
}

static void write_header_and_varint(uint8_t header, uint64_t number, struct buffer *out)
{
  uint8_t *at = reserve_bytes(out, 1 + COLFER_VARINT64_MAX);
  if (at == NULL)
    return;
  *at++ = header;
  end_at(out, put_varint(at, number));
}

static void write_uint8(uint8_t index, uint8_t number, struct buffer *out)
{
  uint8_t *at = number == 0 ? NULL : reserve_bytes(out, 2);
  if (at == NULL)
    return;
  at[0] = index;
  at[1] = number;
  out->len += 2;
}

static void write_uint32(uint8_t index, uint32_t number, struct buffer *out)
{
  if (number == 0)
    return;
  if (number < COLFER_FIXED32_FROM) {
    write_header_and_varint(index, number, out);
    return;
  }
  uint8_t *at = reserve_bytes(out, 1 + COLFER_FIXED32_SIZE);
  if (at == NULL)
    return;
  *at = index | COLFER_FLAG;
  number = htobe32(number);
  memcpy(at + 1, &number, sizeof number);
  out->len += 1 + COLFER_FIXED32_SIZE;
}

static void write_uint64(uint8_t index, uint64_t number, struct buffer *out)
{
  if (number == 0)
    return;
  if (number < COLFER_FIXED64_FROM) {
    write_header_and_varint(index, number, out);
    return;
  }
  uint8_t *at = reserve_bytes(out, 1 + COLFER_FIXED64_SIZE);
  if (at == NULL)
    return;
  *at = index | COLFER_FLAG;
  number = htobe64(number);
  memcpy(at + 1, &number, sizeof number);
  out->len += 1 + COLFER_FIXED64_SIZE;
}

static void write_signed(uint8_t index, int64_t number, struct buffer *out)
{
  if (number > 0)
    write_header_and_varint(index, (uint64_t)number, out);
  else if (number < 0)
    write_header_and_varint(index | COLFER_FLAG, UINT64_C(0) - (uint64_t)number, out);
}

/* A byte count and the bytes, behind what is in the buffer. */
static void write_element(struct text text, struct buffer *out)
{
  uint8_t *at = reserve_bytes(out, COLFER_VARINT64_MAX + text.len);
  if (at == NULL)
    return;
  at = put_varint(at, text.len);
  if (text.len > 0)
    memcpy(at, text.data, text.len);
  end_at(out, at + text.len);
}

static void write_text(uint8_t index, struct text text, struct buffer *out)
{
  if (text.len == 0)
    return;
  uint8_t *at = reserve_bytes(out, 1 + COLFER_VARINT64_MAX + text.len);
  if (at == NULL)
    return;
  *at++ = index;
  at = put_varint(at, text.len);
  memcpy(at, text.data, text.len);
  end_at(out, at + text.len);
}

static void write_texts(uint8_t index, struct colfer_texts list, struct buffer *out)
{
  if (list.count == 0)
    return;
  write_header_and_varint(index, list.count, out);
  for (size_t i = 0; i < list.count; i++)
    write_element(list.items[i], out);
}

static void write_nested(uint8_t index, const struct colfer_type *type, const void *value, struct buffer *out)
{
  if (value == NULL)
    return;
  buffer_append_char(out, (char)index);
  colfer_encode(type, value, out);
}

static void write_structs(uint8_t index, const struct colfer_type *type, struct colfer_structs list,
                          struct buffer *out)
{
  if (list.count == 0)
    return;
  write_header_and_varint(index, list.count, out);
  for (size_t i = 0; i < list.count; i++)
    colfer_encode(type, (const char *)list.items + i * type->size, out);
}

static inline void write_member(uint8_t index, const struct colfer_member *member, const void *value,
                                struct buffer *out)
{
  switch (member->kind) {
  case COLFER_BOOL:
    if (*(const bool *)value)
      buffer_append_char(out, (char)index);
    return;
  case COLFER_UINT8:
    write_uint8(index, *(const uint8_t *)value, out);
    return;
  case COLFER_UINT32:
    write_uint32(index, *(const uint32_t *)value, out);
    return;
  case COLFER_UINT64:
    write_uint64(index, *(const uint64_t *)value, out);
    return;
  case COLFER_INT32:
    write_signed(index, *(const int32_t *)value, out);
    return;
  case COLFER_INT64:
    write_signed(index, *(const int64_t *)value, out);
    return;
  case COLFER_TEXT:
  case COLFER_BINARY:
    write_text(index, *(const struct text *)value, out);
    return;
  case COLFER_STRUCT:
    write_nested(index, member->type, colfer_struct_at(value), out);
    return;
  case COLFER_TEXTS:
    write_texts(index, *(const struct colfer_texts *)value, out);
    return;
  case COLFER_STRUCTS:
    write_structs(index, member->type, colfer_structs_at(value), out);
    return;
  }
}

void colfer_encode(const struct colfer_type *type, const void *value, struct buffer *out)
{
  for (size_t i = 0; i < type->member_count; i++) {
    const struct colfer_member *member = &type->members[i];
    write_member((uint8_t)i, member, (const char *)value + member->offset, out);
  }
  buffer_append_char(out, COLFER_END);
}
