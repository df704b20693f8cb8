#include "rpc/values/value_length.h"

#include "base/base64.h"
#include "base/primitives.h"

/* Longest texts: a long or a double in quotes, an escaped unit. */
enum {
  NUMBER_LENGTH = 30,
  ESCAPED_LENGTH = 6,
  CHAR_LENGTH = 8,
  TYPED_LENGTH = sizeof "{\"type\":,\"value\":}",
  REF_LENGTH = sizeof "{\"ref\":4294967295,\"value\":,\"type\":,\"length\":18446744073709551615}"
};

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

static size_t ref_length(const struct op_value *value)
{
  size_t value_length = value->literal.data == NULL ? 0 : text_length(value->literal);
  return REF_LENGTH + value_length + (value->type.data == NULL ? 0 : text_length(value->type));
}

static size_t packed_length(const struct op_value *value)
{
  if (value->packed.form == OP_PACKED_BASE64)
    return 2 + base64_encoded_length(value->packed.count * primitive_size(value->packed.element));
  return 2 + value->packed.count * NUMBER_LENGTH;
}

size_t rpc_value_length(const struct op_value *value)
{
  switch (value->kind) {
  case OP_TEXT:
    return text_length(value->text);
  case OP_TYPED_TEXT:
    return TYPED_LENGTH + text_length(value->type) + text_length(value->text);
  case OP_DOCUMENT:
    return value->text.len;
  case OP_LIST:
    return list_length(value);
  case OP_MAP:
    return map_length(value);
  case OP_PACKED:
    return packed_length(value);
  case OP_REF:
    return ref_length(value);
  case OP_BIG_INTEGER:
    return value->literal.len;
  case OP_CHAR:
    return CHAR_LENGTH;
  default:
    return NUMBER_LENGTH;
  }
}
