#include "tests/support/colfer_print.h"

#include "colfer/wire.h"

#include <inttypes.h>
#include <stdbool.h>

/* The longest part of a text, a binary (in bytes) and a list that is printed. */
enum { TEXT_SHOWN = 120, BINARY_SHOWN = 32, ELEMENTS_SHOWN = 16 };

static void print_rest(size_t count, const char *what, struct buffer *out)
{
  if (count > 0)
    buffer_printf(out, "... (%zu more %s)", count, what);
}

/* Control characters, and quotes and backslashes, are shown as \xHH, so that the output is a single line. */
static void print_text(struct text text, struct buffer *out)
{
  struct text shown = text_cut(text, TEXT_SHOWN);
  buffer_append_char(out, '"');
  for (size_t i = 0; i < shown.len; i++) {
    uint8_t c = (uint8_t)shown.data[i];
    if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
      buffer_printf(out, "\\x%02x", c);
    else
      buffer_append_char(out, (char)c);
  }
  buffer_append_char(out, '"');
  print_rest(text.len - shown.len, "bytes", out);
}

static void print_binary(struct text bytes, struct buffer *out)
{
  size_t shown = bytes.len < BINARY_SHOWN ? bytes.len : BINARY_SHOWN;
  for (size_t i = 0; i < shown; i++)
    buffer_printf(out, "%02x", (uint8_t)bytes.data[i]);
  print_rest(bytes.len - shown, "bytes", out);
}

static void print_texts(const struct colfer_texts *list, struct buffer *out)
{
  size_t shown = list->count < ELEMENTS_SHOWN ? list->count : ELEMENTS_SHOWN;
  buffer_append_char(out, '[');
  for (size_t i = 0; i < shown; i++) {
    if (i > 0)
      BUFFER_LITERAL(out, ", ");
    print_text(list->items[i], out);
  }
  print_rest(list->count - shown, "elements", out);
  buffer_append_char(out, ']');
}

static void print_structs(const struct colfer_type *type, struct colfer_structs list, struct buffer *out)
{
  size_t shown = list.count < ELEMENTS_SHOWN ? list.count : ELEMENTS_SHOWN;
  buffer_append_char(out, '[');
  for (size_t i = 0; i < shown; i++) {
    if (i > 0)
      BUFFER_LITERAL(out, ", ");
    colfer_print(type, (const char *)list.items + i * type->size, out);
  }
  print_rest(list.count - shown, "elements", out);
  buffer_append_char(out, ']');
}

/* True where the member has the value that the wire leaves out. */
static bool is_zero(const struct colfer_member *member, const void *value)
{
  switch (member->kind) {
  case COLFER_BOOL:
    return !*(const bool *)value;
  case COLFER_UINT8:
    return *(const uint8_t *)value == 0;
  case COLFER_UINT32:
    return *(const uint32_t *)value == 0;
  case COLFER_UINT64:
    return *(const uint64_t *)value == 0;
  case COLFER_INT32:
    return *(const int32_t *)value == 0;
  case COLFER_INT64:
    return *(const int64_t *)value == 0;
  case COLFER_TEXT:
  case COLFER_BINARY:
    return ((const struct text *)value)->len == 0;
  case COLFER_STRUCT:
    return colfer_struct_at(value) == NULL;
  case COLFER_TEXTS:
    return ((const struct colfer_texts *)value)->count == 0;
  case COLFER_STRUCTS:
    return colfer_structs_at(value).count == 0;
  }
  return true;
}

static void print_value(const struct colfer_member *member, const void *value, struct buffer *out)
{
  switch (member->kind) {
  case COLFER_BOOL:
    BUFFER_LITERAL(out, "true");
    return;
  case COLFER_UINT8:
    buffer_printf(out, "%" PRIu8, *(const uint8_t *)value);
    return;
  case COLFER_UINT32:
    buffer_printf(out, "%" PRIu32, *(const uint32_t *)value);
    return;
  case COLFER_UINT64:
    buffer_printf(out, "%" PRIu64, *(const uint64_t *)value);
    return;
  case COLFER_INT32:
    buffer_printf(out, "%" PRId32, *(const int32_t *)value);
    return;
  case COLFER_INT64:
    buffer_printf(out, "%" PRId64, *(const int64_t *)value);
    return;
  case COLFER_TEXT:
    print_text(*(const struct text *)value, out);
    return;
  case COLFER_BINARY:
    print_binary(*(const struct text *)value, out);
    return;
  case COLFER_STRUCT:
    colfer_print(member->type, colfer_struct_at(value), out);
    return;
  case COLFER_TEXTS:
    print_texts(value, out);
    return;
  case COLFER_STRUCTS:
    print_structs(member->type, colfer_structs_at(value), out);
    return;
  }
}

void colfer_print(const struct colfer_type *type, const void *value, struct buffer *out)
{
  bool first = true;
  buffer_append_char(out, '{');
  for (size_t i = 0; i < type->member_count; i++) {
    const struct colfer_member *member = &type->members[i];
    const void *at = (const char *)value + member->offset;
    if (is_zero(member, at))
      continue;
    if (!first)
      BUFFER_LITERAL(out, ", ");
    first = false;
    buffer_append_text(out, text_of(member->name));
    BUFFER_LITERAL(out, ": ");
    print_value(member, at, out);
  }
  buffer_append_char(out, '}');
}
