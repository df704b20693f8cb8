#include "jsonrpc/library.h"

#include "base/decimal.h"
#include "base/number.h"
#include "base/number_format.h"
#include "json/writer.h"

#include <math.h>
#include <stdlib.h>

/* ---- reading ---- */

size_t jp_json_count(struct jp_json value)
{
  return is_container(value) ? json_count(library_value(value)) : 0;
}

struct jp_json jp_json_at(struct jp_json array, size_t index)
{
  if (array.kind != JP_JSON_ARRAY)
    return (struct jp_json){0};
  struct json_cursor cursor = json_enter(library_value(array));
  struct json_value value;
  while (json_next_element(&cursor, &value)) {
    if (index-- == 0)
      return public_value(value);
  }
  return (struct jp_json){0};
}

/* A key with an escape is unescaped before it is compared. */
static bool is_named(struct text raw_key, struct text name)
{
  if (text_equal(raw_key, name))
    return true;
  if (raw_key.len == 0 || memchr(raw_key.data, '\\', raw_key.len) == NULL)
    return false;
  struct arena arena;
  arena_init(&arena);
  struct text key = json_unescape(raw_key, &arena);
  bool is_same = key.data != NULL && text_equal(key, name);
  arena_fini(&arena);
  return is_same;
}

struct jp_json jp_json_member(struct jp_json object, const char *name)
{
  struct jp_json found = {0};
  if (object.kind != JP_JSON_OBJECT)
    return found;
  struct json_cursor cursor = json_enter(library_value(object));
  struct text raw_key;
  struct json_value value;
  while (json_next_member(&cursor, &raw_key, &value)) {
    if (is_named(raw_key, text_of(name)))
      found = public_value(value);
  }
  return found;
}

bool jp_json_integer(struct jp_json value, int64_t *out)
{
  if (value.kind != JP_JSON_NUMBER)
    return false;
  struct number number;
  number_read(library_text(value.text), &number);
  if (number.fits)
    *out = number.integer;
  return number.fits;
}

bool jp_json_number(struct jp_json value, double *out)
{
  if (value.kind != JP_JSON_NUMBER)
    return false;
  struct number number;
  number_read(library_text(value.text), &number);
  double read = decimal_to_double(number.literal);
  if (isfinite(read))
    *out = read;
  return isfinite(read);
}

bool jp_json_boolean(struct jp_json value, bool *out)
{
  if (value.kind != JP_JSON_TRUE && value.kind != JP_JSON_FALSE)
    return false;
  *out = value.kind == JP_JSON_TRUE;
  return true;
}

size_t jp_json_string(struct jp_json value, char *out, size_t size)
{
  if (value.kind != JP_JSON_STRING)
    return SIZE_MAX;
  struct arena arena;
  arena_init(&arena);
  struct text t = json_read_string(library_value(value), &arena);
  size_t length = t.data == NULL ? SIZE_MAX : t.len;
  if (t.data != NULL && size > 0) {
    size_t copied = length < size - 1 ? length : size - 1;
    memcpy(out, t.data, copied);
    out[copied] = '\0';
  }
  arena_fini(&arena);
  return length;
}

struct jp_json_cursor jp_json_enter(struct jp_json array_or_object)
{
  if (!is_container(array_or_object))
    return (struct jp_json_cursor){0};
  struct json_cursor cursor = json_enter(library_value(array_or_object));
  return (struct jp_json_cursor){cursor.next, cursor.end, array_or_object.kind == JP_JSON_OBJECT};
}

bool jp_json_next(struct jp_json_cursor *cursor, struct jp_json *key, struct jp_json *value)
{
  if (cursor->next == NULL)
    return false;
  struct json_cursor inner = {.next = cursor->next, .end = cursor->end};
  struct json_value next;
  struct text raw_key = TEXT_ABSENT;
  bool found =
      cursor->is_object ? json_next_member(&inner, &raw_key, &next) : json_next_element(&inner, &next);
  cursor->next = inner.next;
  if (!found)
    return false;
  *value = public_value(next);
  if (key == NULL)
    return true;
  *key = (struct jp_json){0};
  if (cursor->is_object) /* the key as a value has the quotes around it */
    *key = (struct jp_json){JP_JSON_STRING, {raw_key.data - 1, raw_key.len + 2}};
  return true;
}

enum jp_jsonrpc_status jp_json_parse(struct jp_text text, size_t max_depth, struct jp_json *value,
                                     size_t *offset)
{
  struct json_fault fault;
  if (json_validate(library_text(text), (struct json_limits){max_depth}, TEXT_ABSENT, &fault) != JP_OK) {
    if (offset != NULL)
      *offset = fault.offset;
    return JP_JSONRPC_INVALID;
  }
  *value = public_value(json_root(library_text(text)));
  return JP_JSONRPC_OK;
}

/* ---- writing ---- */

struct jp_json_writer *jp_json_writer_create(void)
{
  struct jp_json_writer *writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return NULL;
  buffer_init(&writer->own);
  writer->out = &writer->own;
  return writer;
}

void jp_json_writer_destroy(struct jp_json_writer *writer)
{
  if (writer == NULL)
    return;
  buffer_fini(&writer->own);
  free(writer);
}

void jp_json_writer_clear(struct jp_json_writer *writer)
{
  buffer_clear(writer->out);
  writer->out->failed = false;
}

struct jp_text jp_json_writer_text(const struct jp_json_writer *writer)
{
  if (writer->out->failed)
    return (struct jp_text){0};
  if (writer->out->len == writer->start)
    return (struct jp_text){"", 0};
  return (struct jp_text){writer->out->data + writer->start, writer->out->len - writer->start};
}

static struct buffer *next_value(struct jp_json_writer *writer)
{
  struct buffer *out = writer->out;
  /* A value needs a comma before it, unless it is the first value or follows a key. */
  if (out->len > writer->start && ((out->data[out->len - 1]) != '[' && (out->data[out->len - 1]) != '{' &&
                                   (out->data[out->len - 1]) != ':'))
    buffer_append_char(out, ',');
  return out;
}

void jp_json_write_null(struct jp_json_writer *writer)
{
  BUFFER_LITERAL(next_value(writer), "null");
}

void jp_json_write_boolean(struct jp_json_writer *writer, bool value)
{
  buffer_append_text(next_value(writer), value ? TEXT("true") : TEXT("false"));
}

void jp_json_write_integer(struct jp_json_writer *writer, int64_t value)
{
  json_write_integer(next_value(writer), value);
}

void jp_json_write_number(struct jp_json_writer *writer, double value)
{
  char digits[NUMBER_TEXT_MAX];
  if (!isfinite(value)) {
    jp_json_write_null(writer);
    return;
  }
  buffer_append(next_value(writer), digits, number_format_double(value, digits));
}

void jp_json_write_text(struct jp_json_writer *writer, struct jp_text utf8)
{
  json_write_string(next_value(writer), library_text(utf8));
}

void jp_json_write_string(struct jp_json_writer *writer, const char *utf8)
{
  json_write_string(next_value(writer), text_of(utf8));
}

void jp_json_write_value(struct jp_json_writer *writer, struct jp_json value)
{
  if (value.kind == JP_JSON_ABSENT)
    jp_json_write_null(writer);
  else
    jp_json_write_raw(writer, value.text);
}

void jp_json_write_raw(struct jp_json_writer *writer, struct jp_text json)
{
  buffer_append_text(next_value(writer), library_text(json));
}

void jp_json_begin_array(struct jp_json_writer *writer)
{
  buffer_append_char(next_value(writer), '[');
}

void jp_json_end_array(struct jp_json_writer *writer)
{
  buffer_append_char(writer->out, ']');
}

void jp_json_begin_object(struct jp_json_writer *writer)
{
  buffer_append_char(next_value(writer), '{');
}

void jp_json_write_key(struct jp_json_writer *writer, const char *utf8)
{
  jp_json_write_string(writer, utf8);
  buffer_append_char(writer->out, ':');
}

void jp_json_end_object(struct jp_json_writer *writer)
{
  buffer_append_char(writer->out, '}');
}
