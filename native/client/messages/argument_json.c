#include "client/messages/argument_json.h"

#include "base/base64.h"
#include "base/number_format.h"
#include "base/primitives.h"
#include "jpeer/client.h"
#include "json/reader.h"
#include "json/writer.h"

#include <math.h>
#include <stdarg.h>

/* Nesting of lists and maps, and of the caller's JSON; a peer accepts at most 256 levels. */
enum { DEPTH_MAX = 256 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed elements go as they are: little-endian");

__attribute__((format(printf, 3, 4))) static void
set_fault(struct argument_writer *writer, enum jp_client_status status, const char *format, ...)
{
  if (writer->status != JP_CLIENT_OK)
    return;
  va_list args;
  va_start(args, format);
  writer->status = client_fail_va(writer->error, status, format, args);
  va_end(args);
}

static void set_fault_no_callbacks(struct argument_writer *writer)
{
  set_fault(writer, JP_CLIENT_UNSUPPORTED, "a callback needs a connection over WebSocket or shared memory");
}

static struct text text_from(struct jp_text t)
{
  return (struct text){t.data, t.len};
}

/* ---- texts ---- */

static bool is_surrogate(struct text t)
{
  const unsigned char *bytes = (const unsigned char *)t.data;
  return t.len >= 3 && bytes[0] == 0xED && bytes[1] >= 0xA0 && bytes[1] <= 0xBF && (bytes[2] & 0xC0) == 0x80;
}

/* The offset of the first byte that is not WTF-8; the length of t if all bytes are WTF-8. */
static size_t find_bad_byte(struct text t)
{
  size_t at = text_valid_utf8(t);
  while (at < t.len && is_surrogate(text_slice(t, at, t.len))) {
    at += 3;
    at += text_valid_utf8(text_slice(t, at, t.len));
  }
  return at;
}

void argument_write_text(struct argument_writer *writer, struct jp_text t)
{
  struct text text = text_from(t);
  size_t bad = t.data == NULL ? 0 : find_bad_byte(text);
  if (t.data == NULL)
    set_fault(writer, JP_CLIENT_INVALID, "a text is NULL");
  else if (bad < text.len)
    set_fault(writer, JP_CLIENT_INVALID, "a text is not UTF-8: byte %zu of %zu", bad, text.len);
  else
    json_write_string(writer->out, text);
}

void argument_write_name(struct argument_writer *writer, const char *name, const char *what)
{
  if (name == NULL || name[0] == '\0')
    set_fault(writer, JP_CLIENT_INVALID, "%s is missing", what);
  else
    argument_write_text(writer, jp_text_of(name));
}

void argument_write_raw(struct argument_writer *writer, struct jp_text json, const char *what)
{
  struct json_fault where;
  const struct json_limits limits = {.max_depth = DEPTH_MAX};
  if (json.data == NULL)
    set_fault(writer, JP_CLIENT_INVALID, "%s is missing", what);
  else if (json_validate(text_from(json), limits, TEXT(""), &where) != JP_OK)
    set_fault(writer, JP_CLIENT_INVALID, "%s is no JSON: byte %zu: %s", what, where.offset, where.reason);
  else
    buffer_append(writer->out, json.data, json.len);
}

/* ---- values ---- */

static void write_number(struct argument_writer *writer, double value, const char *type)
{
  char digits[NUMBER_TEXT_MAX];
  bool is_float = type != NULL && __builtin_strcmp(type, "float") == 0;
  size_t length = is_float ? number_format_float((float)value, digits) : number_format_double(value, digits);
  struct text text = {digits, length};
  if (isfinite(value))
    buffer_append_text(writer->out, text);
  else
    json_write_string(writer->out, text);
}

static void write_list(struct argument_writer *writer, const struct jp_argument *argument)
{
  buffer_append_char(writer->out, '[');
  for (size_t i = 0; i < argument->as.list.count && writer->status == JP_CLIENT_OK; i++) {
    if (i > 0)
      buffer_append_char(writer->out, ',');
    argument_write_json(writer, &argument->as.list.items[i]);
    if (writer->status != JP_CLIENT_OK)
      client_error_prefix(writer->error, "element %zu: ", i);
  }
  buffer_append_char(writer->out, ']');
}

static void write_map(struct argument_writer *writer, const struct jp_argument *argument)
{
  buffer_append_char(writer->out, '{');
  for (size_t i = 0; i < argument->as.map.count && writer->status == JP_CLIENT_OK; i++) {
    const struct jp_entry *entry = &argument->as.map.entries[i];
    if (i > 0)
      buffer_append_char(writer->out, ',');
    argument_write_text(writer, entry->key);
    buffer_append_char(writer->out, ':');
    argument_write_json(writer, &entry->value);
    if (writer->status != JP_CLIENT_OK)
      client_error_prefix(writer->error, "entry %zu: ", i);
  }
  buffer_append_char(writer->out, '}');
}

/* NULL: not an array of primitives. */
static const struct primitive *find_element(const char *type)
{
  struct text name = type == NULL ? TEXT("") : text_of(type);
  if (!text_ends_with(name, TEXT("[]")))
    return NULL;
  return primitive_find_keyword(text_slice(name, 0, name.len - 2));
}

static void write_element(struct argument_writer *writer, const struct primitive *element, const void *at)
{
  union primitive_value value;
  memcpy(&value, at, element->size);
  switch (element->letter) {
  case 'Z':
    buffer_append_text(writer->out, value.z != 0 ? TEXT("true") : TEXT("false"));
    return;
  case 'C': {
    char bytes[3];
    json_write_string(writer->out, (struct text){bytes, text_from_utf16(&value.c, 1, bytes)});
    return;
  }
  case 'F':
    write_number(writer, value.f, "float");
    return;
  case 'D':
    write_number(writer, value.d, NULL);
    return;
  default: {
    union primitive_value wide = value;
    primitive_widen(element->letter, 'J', &wide);
    json_write_integer(writer->out, wide.j);
  }
  }
}

static void write_elements(struct argument_writer *writer, const struct primitive *element,
                           const struct jp_argument *argument)
{
  const char *at = argument->as.array.elements;
  buffer_append_char(writer->out, '[');
  for (size_t i = 0; i < argument->as.array.count; i++, at += element->size) {
    if (i > 0)
      buffer_append_char(writer->out, ',');
    write_element(writer, element, at);
  }
  buffer_append_char(writer->out, ']');
}

static bool is_bad_boolean(const struct primitive *element, const struct jp_argument *argument)
{
  const uint8_t *at = argument->as.array.elements;
  for (size_t i = 0; element->letter == 'Z' && i < argument->as.array.count; i++) {
    if (at[i] > 1)
      return true;
  }
  return false;
}

static void write_array(struct argument_writer *writer, const struct jp_argument *argument)
{
  const struct primitive *element = argument->elements == NULL
                                        ? find_element(argument->type)
                                        : primitive_find_keyword(text_of(argument->elements));
  size_t count = argument->as.array.count;
  if (element == NULL) {
    const char *type = argument->elements == NULL ? argument->type : argument->elements;
    set_fault(writer, JP_CLIENT_INVALID, "\"%s\" is no %s", type == NULL ? "" : type,
              argument->elements == NULL ? "array of primitives" : "primitive type");
  } else if ((count > 0 && argument->as.array.elements == NULL) || count > SIZE_MAX / sizeof(double)) {
    set_fault(writer, JP_CLIENT_INVALID, "the elements of an array are missing");
  } else if (is_bad_boolean(element, argument)) {
    set_fault(writer, JP_CLIENT_INVALID, "an element of a boolean[] is neither 0 nor 1");
  } else if (writer->without_base64) {
    write_elements(writer, element, argument);
  } else {
    buffer_append_char(writer->out, '"');
    base64_encode(writer->out, argument->as.array.elements, count * element->size);
    buffer_append_char(writer->out, '"');
  }
}

static void write_nested(struct argument_writer *writer, const struct jp_argument *argument)
{
  if (writer->depth >= DEPTH_MAX) {
    set_fault(writer, JP_CLIENT_INVALID, "lists and maps are more than %d levels deep", DEPTH_MAX);
    return;
  }
  writer->depth++;
  if (argument->kind == JP_ARGUMENT_LIST)
    write_list(writer, argument);
  else
    write_map(writer, argument);
  writer->depth--;
}

void argument_write_value(struct argument_writer *writer, const struct jp_argument *argument)
{
  switch (argument->kind) {
  case JP_ARGUMENT_NULL:
    BUFFER_LITERAL(writer->out, "null");
    return;
  case JP_ARGUMENT_BOOLEAN:
    buffer_append_text(writer->out, argument->as.boolean ? TEXT("true") : TEXT("false"));
    return;
  case JP_ARGUMENT_INTEGER:
    json_write_integer(writer->out, argument->as.integer);
    return;
  case JP_ARGUMENT_NUMBER:
    write_number(writer, argument->as.number, argument->type);
    return;
  case JP_ARGUMENT_TEXT:
    argument_write_text(writer, argument->as.text);
    return;
  case JP_ARGUMENT_LIST:
  case JP_ARGUMENT_MAP:
    write_nested(writer, argument);
    return;
  case JP_ARGUMENT_ARRAY:
    write_array(writer, argument);
    return;
  case JP_ARGUMENT_JSON:
    argument_write_raw(writer, argument->as.text, "an argument");
    return;
  case JP_ARGUMENT_CALLBACK:
    set_fault_no_callbacks(writer);
    return;
  case JP_ARGUMENT_NONE:
  case JP_ARGUMENT_REF:
  case JP_ARGUMENT_REF_NUMBER:
  case JP_ARGUMENT_NAMED:
    break;
  }
  set_fault(writer, JP_CLIENT_INVALID, "this is no value (an argument of kind %d)", (int)argument->kind);
}

/* ---- refs ---- */

/* {"result":ID} */
static void write_named(struct argument_writer *writer, struct jp_text name)
{
  const struct message_names *names = writer->names;
  if (names == NULL) {
    set_fault(writer, JP_CLIENT_INVALID, "a named result (\"%.*s\") belongs into a chain", (int)name.len,
              name.data);
    return;
  }
  struct text id = names->find(names, text_from(name));
  if (id.data == NULL) {
    set_fault(writer, JP_CLIENT_INVALID, "no earlier step is named \"%.*s\"", (int)name.len, name.data);
    return;
  }
  BUFFER_LITERAL(writer->out, "{\"result\":");
  buffer_append_text(writer->out, id);
  buffer_append_char(writer->out, '}');
}

enum jp_client_status message_fail_stale(const struct jp_ref *ref, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_STALE,
                     "the object %s%s%u is of a peer that has ended, or of another session", jp_ref_type(ref),
                     jp_ref_type(ref)[0] != '\0' ? ", ref " : "of ref ", jp_ref_number(ref));
}

bool message_may_name(const struct jp_ref *ref, uint64_t epoch)
{
  const uint64_t own = message_ref_epoch(ref);
  return own == epoch || own == 0;
}

bool message_name_ref(struct message_refs *refs, const struct jp_ref *ref)
{
  if (refs->epoch == 0 && refs->may_adopt)
    refs->epoch = message_ref_epoch(ref);
  if (!message_may_name(ref, refs->epoch))
    return false;
  refs->are_named = true;
  return true;
}

bool message_name_epoch(struct message_refs *refs, uint64_t epoch)
{
  if (refs->epoch == 0 && refs->may_adopt)
    refs->epoch = epoch;
  if (epoch == 0 || epoch != refs->epoch)
    return false;
  refs->are_named = true;
  return true;
}

/* Writes the number of a ref, or the reference to a named result. The epoch of a bare number is not known. */
static void write_target(struct argument_writer *writer, const struct jp_argument *argument)
{
  if (argument->kind == JP_ARGUMENT_NAMED) {
    write_named(writer, argument->as.text);
    return;
  }
  const struct jp_ref *ref = argument->kind == JP_ARGUMENT_REF ? argument->as.ref : NULL;
  uint32_t number = argument->kind == JP_ARGUMENT_REF_NUMBER ? argument->as.ref_number
                    : ref == NULL                            ? 0
                                                             : jp_ref_number(ref);
  if (number == 0) {
    set_fault(writer, JP_CLIENT_INVALID, "an object is NULL; jp_null makes a null");
    return;
  }
  if (writer->refs != NULL && ref == NULL)
    writer->refs->are_named = true;
  if (writer->refs == NULL || ref == NULL || message_name_ref(writer->refs, ref))
    json_write_integer(writer->out, number);
  else if (writer->status == JP_CLIENT_OK)
    writer->status = message_fail_stale(ref, writer->error);
}

/* ---- whole arguments ---- */

static void write_type(struct argument_writer *writer, const struct jp_argument *argument)
{
  BUFFER_LITERAL(writer->out, "{\"type\":");
  argument_write_name(writer, argument->type, "the type of an argument");
}

static void write_ref(struct argument_writer *writer, const struct jp_argument *argument)
{
  if (argument->type == NULL) {
    BUFFER_LITERAL(writer->out, "{\"ref\":");
  } else {
    write_type(writer, argument);
    BUFFER_LITERAL(writer->out, ",\"ref\":");
  }
  write_target(writer, argument);
  buffer_append_char(writer->out, '}');
}

/* A declared type of the argument replaces the callback's own interfaces. */
static void write_callback(struct argument_writer *writer, const struct jp_argument *argument)
{
  struct message_callback form;
  if (writer->callbacks == NULL) {
    set_fault_no_callbacks(writer);
    return;
  }
  if (argument->as.callback == NULL) {
    set_fault(writer, JP_CLIENT_INVALID, "a callback is NULL");
    return;
  }
  enum jp_client_status status =
      writer->callbacks->add(writer->callbacks, argument->as.callback, &form, writer->error);
  if (status != JP_CLIENT_OK) {
    writer->status = writer->status == JP_CLIENT_OK ? status : writer->status;
    return;
  }
  BUFFER_LITERAL(writer->out, "{\"ref\":{\"callback\":");
  json_write_integer(writer->out, form.id);
  buffer_append_char(writer->out, '}');
  if (argument->type != NULL) {
    BUFFER_LITERAL(writer->out, ",\"type\":");
    argument_write_name(writer, argument->type, "the type of an argument");
  } else if (form.interfaces.data != NULL) {
    BUFFER_LITERAL(writer->out, ",\"interfaces\":");
    buffer_append_text(writer->out, form.interfaces);
  }
  buffer_append_text(writer->out, form.facts);
  buffer_append_char(writer->out, '}');
}

/* JSON has no number for infinities and NaN: without a type they are written as text. */
static bool is_number_text(const struct jp_argument *argument)
{
  return argument->kind == JP_ARGUMENT_NUMBER && argument->type == NULL && !isfinite(argument->as.number);
}

static void write_typed(struct argument_writer *writer, const struct jp_argument *argument)
{
  if (argument->type == NULL) {
    buffer_append_char(writer->out, '{');
  } else {
    write_type(writer, argument);
    buffer_append_char(writer->out, ',');
  }
  BUFFER_LITERAL(writer->out, "\"value\":");
  argument_write_value(writer, argument);
  if (argument->kind == JP_ARGUMENT_ARRAY && !writer->without_base64)
    BUFFER_LITERAL(writer->out, ",\"encoding\":\"base64\"");
  if (is_number_text(argument))
    BUFFER_LITERAL(writer->out, ",\"encoding\":\"number\"");
  if (argument->elements != NULL) {
    BUFFER_LITERAL(writer->out, ",\"elements\":");
    argument_write_name(writer, argument->elements, "the type of elements");
  }
  if (argument->kind == JP_ARGUMENT_MAP && argument->keys != NULL) {
    BUFFER_LITERAL(writer->out, ",\"keys\":");
    argument_write_name(writer, argument->keys, "the type of keys");
  }
  if (argument->kind == JP_ARGUMENT_ARRAY && argument->out != 0)
    BUFFER_LITERAL(writer->out, ",\"out\":true");
  buffer_append_char(writer->out, '}');
}

/* The peer reads a bare object with one of these members as something other than a map. */
static bool looks_like_argument(const struct jp_argument *map)
{
  static const struct text members[] = {TEXT("type"), TEXT("value"), TEXT("ref")};
  for (size_t i = 0; i < map->as.map.count; i++) {
    for (size_t k = 0; k < sizeof members / sizeof members[0]; k++) {
      if (map->as.map.entries[i].key.data != NULL &&
          text_equal(text_from(map->as.map.entries[i].key), members[k]))
        return true;
    }
  }
  return false;
}

/* The type that must be written for an argument without a type, so that the peer reads it as a map. */
static const char *implied_type(const struct jp_argument *argument)
{
  return argument->kind == JP_ARGUMENT_MAP && looks_like_argument(argument) ? "java.util.Map" : NULL;
}

void argument_write_json(struct argument_writer *writer, const struct jp_argument *argument)
{
  struct jp_argument typed = *argument;
  if (typed.type == NULL)
    typed.type = implied_type(argument);
  if (argument_is_object(argument))
    write_ref(writer, argument);
  else if (argument->kind == JP_ARGUMENT_CALLBACK)
    write_callback(writer, argument);
  else if ((typed.type == NULL && typed.elements == NULL && typed.keys == NULL && !is_number_text(&typed)) ||
           argument->kind == JP_ARGUMENT_JSON)
    argument_write_value(writer, argument);
  else
    write_typed(writer, &typed);
}

void argument_write_instance(struct argument_writer *writer, const struct jp_argument *instance)
{
  if (argument_is_object(instance))
    write_target(writer, instance);
  else if (instance->kind == JP_ARGUMENT_CALLBACK)
    set_fault(writer, JP_CLIENT_INVALID, "a callback is no object of Java's");
  else if (instance->type == NULL)
    set_fault(writer, JP_CLIENT_INVALID, "an instance that is a value needs a type");
  else
    write_typed(writer, instance);
}
