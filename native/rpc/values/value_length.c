#include "rpc/values/value_length.h"

/* Longest texts: a long or a double in quotes, an escaped unit. */
enum { NUMBER_LENGTH = 30, ESCAPED_LENGTH = 6, CHAR_LENGTH = 8, REF_LENGTH = 24 };

static size_t text_length(struct text text)
{
  size_t length = 2; /* quotes */
  for (size_t i = 0; i < text.len; i++) {
    unsigned char byte = (unsigned char)text.data[i];
    /* A lone surrogate is ED A0..BF and a third byte, and is written as \uD8xx. */
    bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F && byte != 0xED;
    length += is_plain ? 1 : ESCAPED_LENGTH;
  }
  return length;
}

static size_t list_length(const struct op_value *value)
{
  size_t length = 2; /* brackets */
  for (size_t i = 0; i < value->list.count; i++)
    length += rpc_value_length(&value->list.items[i]) + 1;
  return length;
}

static size_t map_length(const struct op_value *value)
{
  size_t length = 2; /* braces */
  for (size_t i = 0; i < value->map.count; i++)
    length += text_length(value->map.entries[i].key) + rpc_value_length(&value->map.entries[i].value) + 2;
  return length;
}

size_t rpc_value_length(const struct op_value *value)
{
  switch (value->kind) {
  case OP_TEXT:
    return text_length(value->text);
  case OP_LIST:
    return list_length(value);
  case OP_MAP:
    return map_length(value);
  case OP_PACKED:
    return 2 + value->packed.count * NUMBER_LENGTH;
  case OP_REF:
    return REF_LENGTH;
  case OP_CHAR:
    return CHAR_LENGTH;
  default:
    return NUMBER_LENGTH;
  }
}
