#include "classfile/signature.h"

#include "base/primitives.h"

enum { DEPTH_MAX = 64, DIMENSIONS_MAX = 255, PARAMETERS_MAX = 255 };

static bool has_char(struct text rest, char c)
{
  return rest.len > 0 && rest.data[0] == c;
}

static bool take_char(struct text *rest, char c)
{
  if (!has_char(*rest, c))
    return false;
  *rest = text_slice(*rest, 1, rest->len);
  return true;
}

static void append_if_wanted(struct buffer *out, struct text t)
{
  if (out != NULL)
    buffer_append_text(out, t);
}

/* The characters that end an identifier in a descriptor (JVMS 4.2.2) and in a signature (JVMS 4.7.9.1). '/'
 * is handled apart. */
enum stops { DESCRIPTOR_STOPS = 1, SIGNATURE_STOPS = 2 };

static const uint8_t stops_at[UINT8_MAX + 1] = {
    ['.'] = DESCRIPTOR_STOPS | SIGNATURE_STOPS,
    [';'] = DESCRIPTOR_STOPS | SIGNATURE_STOPS,
    ['['] = DESCRIPTOR_STOPS | SIGNATURE_STOPS,
    ['<'] = SIGNATURE_STOPS,
    ['>'] = SIGNATURE_STOPS,
    [':'] = SIGNATURE_STOPS,
};

/* Reads a class name up to one of the stops and writes '.' for '/'. */
static bool read_class_name(struct text *rest, enum stops stops, struct buffer *out)
{
  size_t length = 0;
  bool after_break = true;
  for (; length < rest->len && (stops_at[(uint8_t)rest->data[length]] & stops) == 0; length++) {
    bool is_break = rest->data[length] == '/';
    if (is_break && after_break)
      return false;
    after_break = is_break;
  }
  if (after_break)
    return false;
  if (out != NULL) {
    size_t from = out->len;
    buffer_append(out, rest->data, length);
    for (size_t i = from; !out->failed && i < out->len; i++) {
      if (out->data[i] == '/')
        out->data[i] = '.';
    }
  }
  *rest = text_slice(*rest, length, rest->len);
  return true;
}

/* Reads the simple name of a nested class, or a type variable. */
static bool read_identifier(struct text *rest, struct buffer *out)
{
  struct text before = *rest;
  if (!read_class_name(rest, SIGNATURE_STOPS, out))
    return false;
  return memchr(before.data, '/', before.len - rest->len) == NULL;
}

static bool read_type(struct text *rest, unsigned depth, struct buffer *out);

static bool read_type_arguments(struct text *rest, unsigned depth, struct buffer *out)
{
  append_if_wanted(out, TEXT("<"));
  for (bool first = true; first || !has_char(*rest, '>'); first = false) {
    if (!first)
      append_if_wanted(out, TEXT(", "));
    if (take_char(rest, '*')) {
      append_if_wanted(out, TEXT("?"));
      continue;
    }
    if (take_char(rest, '+'))
      append_if_wanted(out, TEXT("? extends "));
    else if (take_char(rest, '-'))
      append_if_wanted(out, TEXT("? super "));
    if (!read_type(rest, depth, out))
      return false;
  }
  append_if_wanted(out, TEXT(">"));
  return take_char(rest, '>');
}

/* Reads a class type after its 'L'. */
static bool read_class_type(struct text *rest, unsigned depth, struct buffer *out)
{
  if (!read_class_name(rest, SIGNATURE_STOPS, out))
    return false;
  for (;;) {
    if (take_char(rest, '<') && !read_type_arguments(rest, depth + 1, out))
      return false;
    if (take_char(rest, ';'))
      return true;
    if (!take_char(rest, '.'))
      return false;
    append_if_wanted(out, TEXT("$"));
    if (!read_identifier(rest, out))
      return false;
  }
}

static bool read_type(struct text *rest, unsigned depth, struct buffer *out)
{
  unsigned dimensions = 0;
  while (take_char(rest, '['))
    dimensions++;
  if (depth > DEPTH_MAX || dimensions > DIMENSIONS_MAX || rest->len == 0)
    return false;
  char letter = rest->data[0];
  *rest = text_slice(*rest, 1, rest->len);
  struct text primitive = primitive_keyword(letter);
  if (primitive.data != NULL)
    append_if_wanted(out, primitive);
  else if (letter == 'L' ? !read_class_type(rest, depth, out)
                         : letter != 'T' || !read_identifier(rest, out) || !take_char(rest, ';'))
    return false;
  if (letter == 'V' && dimensions > 0)
    return false;
  for (unsigned i = 0; i < dimensions; i++)
    append_if_wanted(out, TEXT("[]"));
  return true;
}

bool signature_read_type(struct text *rest, struct buffer *out)
{
  return read_type(rest, 0, out);
}

/* Skips `<T:bound:bound U:...>` after its '<'. */
static bool skip_type_parameters(struct text *rest)
{
  while (!take_char(rest, '>')) {
    if (!read_identifier(rest, NULL) || !take_char(rest, ':'))
      return false;
    if (!has_char(*rest, ':') && (has_char(*rest, 'L') || has_char(*rest, 'T') || has_char(*rest, '[')) &&
        !read_type(rest, 0, NULL))
      return false;
    while (take_char(rest, ':')) {
      if (!read_type(rest, 0, NULL))
        return false;
    }
  }
  return true;
}

bool signature_enter_method(struct text *rest)
{
  if (take_char(rest, '<') && !skip_type_parameters(rest))
    return false;
  return take_char(rest, '(');
}

int signature_count_parameters(struct text signature)
{
  if (!signature_enter_method(&signature))
    return -1;
  int count = 0;
  for (; !take_char(&signature, ')'); count++) {
    if (has_char(signature, 'V') || !read_type(&signature, 0, NULL))
      return -1;
  }
  return count;
}

bool descriptor_read_type(struct text *rest, struct buffer *out)
{
  unsigned dimensions = 0;
  while (take_char(rest, '['))
    dimensions++;
  if (dimensions > DIMENSIONS_MAX || rest->len == 0)
    return false;
  struct text primitive = primitive_keyword(rest->data[0]);
  if (primitive.data != NULL) {
    append_if_wanted(out, primitive);
    if (take_char(rest, 'V'))
      return dimensions == 0;
    *rest = text_slice(*rest, 1, rest->len);
  } else if (!take_char(rest, 'L') || !read_class_name(rest, DESCRIPTOR_STOPS, out) ||
             !take_char(rest, ';')) {
    return false;
  }
  for (unsigned i = 0; i < dimensions; i++)
    append_if_wanted(out, TEXT("[]"));
  return true;
}

bool descriptor_check_field(struct text descriptor)
{
  return !has_char(descriptor, 'V') && descriptor_read_type(&descriptor, NULL) && descriptor.len == 0;
}

/* Reads from '(' to ')' and returns the number of types, or -1. */
static int read_parameters(struct text *rest)
{
  int count = 0;
  if (!take_char(rest, '('))
    return -1;
  for (; !take_char(rest, ')'); count++) {
    if (count == PARAMETERS_MAX || has_char(*rest, 'V') || !descriptor_read_type(rest, NULL))
      return -1;
  }
  return count;
}

bool descriptor_check_method(struct text descriptor, uint8_t *parameter_count)
{
  int count = read_parameters(&descriptor);
  if (count < 0)
    return false;
  *parameter_count = (uint8_t)count;
  return descriptor_read_type(&descriptor, NULL) && descriptor.len == 0;
}

struct text descriptor_parameters(struct text descriptor)
{
  struct text rest = descriptor;
  return read_parameters(&rest) < 0 ? descriptor : text_slice(descriptor, 0, descriptor.len - rest.len);
}

void method_types_open(struct method_types *types, struct text descriptor, struct text signature,
                       unsigned count, bool is_constructor)
{
  int signature_count = signature.len == 0 ? -1 : signature_count_parameters(signature);
  *types = (struct method_types){.descriptor = text_slice(descriptor, 1, descriptor.len),
                                 .signature = signature,
                                 .without_signature = count};
  if (signature_count != (int)count &&
      !(is_constructor && signature_count >= 0 && signature_count < (int)count))
    return;
  types->without_signature = count - (unsigned)signature_count;
  types->has_signature = signature_enter_method(&types->signature);
}

struct text method_types_next(struct method_types *types, struct buffer *out)
{
  bool is_described = types->without_signature > 0 || !types->has_signature;
  struct text *read = is_described ? &types->descriptor : &types->signature;
  struct text from = *read;
  if (types->without_signature > 0)
    types->without_signature--;
  bool is_read = descriptor_read_type(&types->descriptor, is_described ? out : NULL);
  if (!is_described)
    is_read = is_read && signature_read_type(&types->signature, out);
  return is_read ? text_slice(from, 0, from.len - read->len) : TEXT_ABSENT;
}

struct signature_arguments signature_read_arguments(struct text written)
{
  struct signature_arguments arguments = {.first = TEXT_ABSENT, .last = TEXT_ABSENT};
  struct text rest = text_slice(written, 1, written.len);
  while (rest.len > 0 && rest.data[0] != '>') {
    struct text from = rest;
    bool is_any = rest.data[0] == '*';
    if (is_any || rest.data[0] == '+' || rest.data[0] == '-')
      rest = text_slice(rest, 1, rest.len);
    if (!is_any && !signature_read_type(&rest, NULL))
      break;
    arguments.last = text_slice(from, 0, from.len - rest.len);
    if (arguments.count == 0)
      arguments.first = arguments.last;
    arguments.count++;
  }
  return arguments;
}

struct text signature_argument_type(struct text argument)
{
  if (argument.len > 1 && argument.data[0] == '+')
    return text_slice(argument, 1, argument.len);
  bool is_unknown = argument.len == 0 || argument.data[0] == '*' || argument.data[0] == '-';
  return is_unknown ? TEXT_ABSENT : argument;
}
