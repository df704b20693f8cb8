#include "rpc/values/value_write.h"

#include "base/base64.h"
#include "base/number_format.h"
#include "base/primitives.h"
#include "json/writer.h"

static void write_decimal_text(struct buffer *out, double value, bool is_float)
{
  char digits[NUMBER_TEXT_MAX];
  size_t length = is_float ? number_format_float((float)value, digits) : number_format_double(value, digits);
  buffer_append(out, digits, length);
}

static void write_decimal(struct buffer *out, double value, bool is_float)
{
  bool is_number = value - value == 0;
  if (!is_number)
    buffer_append_char(out, '"');
  write_decimal_text(out, value, is_float);
  if (!is_number)
    buffer_append_char(out, '"');
}

static void write_boolean(struct buffer *out, bool value)
{
  buffer_append_text(out, value ? TEXT("true") : TEXT("false"));
}

static void write_char(struct buffer *out, uint16_t unit)
{
  char bytes[3];
  struct text t = {bytes, text_wtf8_length(&unit, 1)};
  text_from_utf16(&unit, 1, bytes);
  json_write_string(out, t);
}

static void write_packed_element(struct buffer *out, const void *data, size_t i, char element)
{
  switch (element) {
  case 'Z':
    write_boolean(out, ((const uint8_t *)data)[i] != 0);
    break;
  case 'B':
    json_write_integer(out, ((const int8_t *)data)[i]);
    break;
  case 'C':
    write_char(out, ((const uint16_t *)data)[i]);
    break;
  case 'S':
    json_write_integer(out, ((const int16_t *)data)[i]);
    break;
  case 'I':
    json_write_integer(out, ((const int32_t *)data)[i]);
    break;
  case 'J':
    json_write_integer(out, ((const int64_t *)data)[i]);
    break;
  case 'F':
    write_decimal(out, ((const float *)data)[i], true);
    break;
  default:
    write_decimal(out, ((const double *)data)[i], false);
    break;
  }
}

/* Packed elements are in the machine's order. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "base64 of elements is in little-endian order");

static void write_packed(struct buffer *out, const struct op_value *value)
{
  if (value->packed.form == OP_PACKED_BASE64) {
    buffer_append_char(out, '"');
    base64_encode(out, value->packed.data, value->packed.count * primitive_size(value->packed.element));
    buffer_append_char(out, '"');
    return;
  }
  const struct text quote = value->packed.form == OP_PACKED_TEXTS ? TEXT("\"") : TEXT("");
  buffer_append_char(out, '[');
  for (size_t i = 0; i < value->packed.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    buffer_append_text(out, quote);
    write_packed_element(out, value->packed.data, i, value->packed.element);
    buffer_append_text(out, quote);
  }
  buffer_append_char(out, ']');
}

static void write_list(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '[');
  for (size_t i = 0; i < value->list.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    rpc_value_write(out, &value->list.items[i]);
  }
  buffer_append_char(out, ']');
}

static void write_map(struct buffer *out, const struct op_value *value)
{
  buffer_append_char(out, '{');
  for (size_t i = 0; i < value->map.count; i++) {
    if (i > 0)
      buffer_append_char(out, ',');
    json_write_string(out, value->map.entries[i].key);
    buffer_append_char(out, ':');
    rpc_value_write(out, &value->map.entries[i].value);
  }
  buffer_append_char(out, '}');
}

static void write_named_text(struct buffer *out, struct text name, struct text t)
{
  if (t.data == NULL)
    return;
  buffer_append_text(out, name);
  json_write_string(out, t);
}

static void write_typed_text(struct buffer *out, const struct op_value *value)
{
  BUFFER_LITERAL(out, "{\"type\":");
  json_write_string(out, value->type);
  BUFFER_LITERAL(out, ",\"value\":");
  json_write_string(out, value->text);
  buffer_append_char(out, '}');
}

void rpc_callback_identity_write(struct buffer *out, const struct op_callback_identity *identity)
{
  if (identity == NULL)
    return;
  BUFFER_LITERAL(out, ",\"callback\":{\"id\":");
  json_write_integer(out, identity->id);
  BUFFER_LITERAL(out, ",\"client\":");
  json_write_integer(out, (int64_t)identity->client);
  buffer_append_char(out, '}');
}

static void write_ref(struct buffer *out, const struct op_value *value)
{
  BUFFER_LITERAL(out, "{\"ref\":");
  json_write_integer(out, value->ref);
  rpc_callback_identity_write(out, value->callback_identity);
  write_named_text(out, TEXT(",\"value\":"), value->literal);
  write_named_text(out, TEXT(",\"type\":"), value->type);
  if (value->has_length) {
    BUFFER_LITERAL(out, ",\"length\":");
    json_write_integer(out, (int64_t)value->length);
  }
  buffer_append_char(out, '}');
}

void rpc_value_write(struct buffer *out, const struct op_value *value)
{
  switch (value->kind) {
  case OP_BOOLEAN:
    write_boolean(out, value->boolean);
    break;
  case OP_INTEGER:
    json_write_integer(out, value->integer);
    break;
  case OP_BIG_INTEGER:
    buffer_append_text(out, value->literal);
    break;
  case OP_FLOAT:
  case OP_DOUBLE:
    write_decimal(out, value->decimal, value->kind == OP_FLOAT);
    break;
  case OP_CHAR:
    write_char(out, (uint16_t)value->integer);
    break;
  case OP_TEXT:
    json_write_string(out, value->text);
    break;
  case OP_TYPED_TEXT:
    write_typed_text(out, value);
    break;
  case OP_DOCUMENT:
    buffer_append_text(out, value->text);
    break;
  case OP_LIST:
    write_list(out, value);
    break;
  case OP_PACKED:
    write_packed(out, value);
    break;
  case OP_REF:
    write_ref(out, value);
    break;
  case OP_MAP:
    write_map(out, value);
    break;
  case OP_CALLBACK:
    BUFFER_LITERAL(out, "{\"ref\":{\"callback\":");
    json_write_integer(out, value->callback->id);
    BUFFER_LITERAL(out, "}}");
    break;
  case OP_NULL:
    BUFFER_LITERAL(out, "null");
    break;
  }
}

void rpc_scalar_write(struct buffer *out, const struct op_value *scalar)
{
  if (scalar->kind == OP_BOOLEAN)
    write_boolean(out, scalar->boolean);
  else if (scalar->kind == OP_INTEGER)
    json_write_integer(out, scalar->integer);
  else
    write_decimal_text(out, scalar->decimal, scalar->kind == OP_FLOAT);
}

/* ---- the length of the text ---- */

enum {
  NUMBER_LENGTH = 30,
  ESCAPED_LENGTH = 6,
  CHAR_LENGTH = 8,
  TYPED_LENGTH = sizeof "{\"type\":,\"value\":}",
  REF_LENGTH = sizeof "{\"ref\":4294967295,\"value\":,\"type\":,\"length\":18446744073709551615}",
  CALLBACK_IDENTITY_LENGTH =
      sizeof ",\"callback\":{\"id\":9223372036854775807,\"client\":9223372036854775807}"
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
  size_t identity_length = value->callback_identity == NULL ? 0 : CALLBACK_IDENTITY_LENGTH;
  return REF_LENGTH + value_length + identity_length +
         (value->type.data == NULL ? 0 : text_length(value->type));
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
