#include "classfile/class_file.h"

#include "classfile/class_attributes.h"
#include "classfile/constant_pool.h"
#include "classfile/signature.h"

/* NAMED_PARAMETERS_MAX: named parameters of one class file in all. The limit is our own: each method of a small file
 * can name one long descriptor. */
enum { ACCESS_SUPER = 0x0020, NAMED_PARAMETERS_MAX = 256 * 1024 };
static const uint32_t magic = 0xCAFEBABEu;

static enum jp_status read_head(struct class_reader *reader, struct class_file *file)
{
  if (cursor_u4(&reader->cursor) != magic)
    return jp_fail(reader->error, JP_INVALID, "no class file: the first four bytes are not CAFEBABE");
  file->minor = cursor_u2(&reader->cursor);
  file->major = cursor_u2(&reader->cursor);
  enum jp_status status =
      constant_pool_read(&reader->pool, reader->bytes, &reader->cursor, reader->arena, reader->error);
  if (status != JP_OK)
    return status;
  reader->checked_descriptors =
      arena_calloc(reader->arena, reader->pool.count, sizeof *reader->checked_descriptors);
  if (reader->checked_descriptors == NULL)
    return jp_fail(reader->error, JP_NO_MEMORY, "out of memory");
  file->access = (uint16_t)(cursor_u2(&reader->cursor) & ~ACCESS_SUPER);
  file->this_class = (uint16_t)cursor_u2(&reader->cursor);
  status = constant_pool_class(&reader->pool, file->this_class, "this class", &file->name, reader->error);
  if (status != JP_OK)
    return status;
  unsigned superclass = cursor_u2(&reader->cursor);
  if (superclass == 0)
    return JP_OK;
  return constant_pool_class(&reader->pool, superclass, "the superclass", &file->superclass, reader->error);
}

static enum jp_status read_interfaces(struct class_reader *reader, struct class_file *file)
{
  file->interface_count = cursor_u2(&reader->cursor);
  enum jp_status status = class_reader_check(reader, "interfaces", file->interface_count * 2);
  if (status != JP_OK)
    return status;
  file->interfaces = arena_calloc(reader->arena, file->interface_count, sizeof *file->interfaces);
  if (file->interfaces == NULL)
    return jp_fail(reader->error, JP_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < file->interface_count; i++) {
    status = constant_pool_class(&reader->pool, cursor_u2(&reader->cursor), "an interface",
                                 &file->interfaces[i], reader->error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_descriptor(struct class_reader *reader, struct class_member *member,
                                      bool is_method)
{
  unsigned index = cursor_u2(&reader->cursor);
  enum jp_status status =
      constant_pool_utf8(&reader->pool, index, "a member's descriptor", &member->descriptor, reader->error);
  if (status != JP_OK)
    return status;
  uint16_t *checked = &reader->checked_descriptors[index];
  if (is_method && *checked != 0) {
    member->parameter_count = (uint8_t)(*checked - 1);
    return JP_OK;
  }
  bool valid = is_method ? descriptor_check_method(member->descriptor, &member->parameter_count)
                         : descriptor_check_field(member->descriptor);
  if (!valid)
    return jp_fail(reader->error, JP_INVALID, "the descriptor of the %s is malformed",
                   is_method ? "method" : "field");
  if (is_method)
    *checked = (uint16_t)(member->parameter_count + 1);
  return JP_OK;
}

static enum jp_status read_member(struct class_reader *reader, struct class_member *member, bool is_method)
{
  member->access = cursor_u2(&reader->cursor);
  enum jp_status status = constant_pool_utf8(&reader->pool, cursor_u2(&reader->cursor), "a member's name",
                                             &member->name, reader->error);
  if (status == JP_OK)
    status = read_descriptor(reader, member, is_method);
  if (status != JP_OK)
    return status;
  return is_method ? class_attributes_read_method(reader, member)
                   : class_attributes_read_field(reader, member);
}

static enum jp_status read_members(struct class_reader *reader, bool is_method, struct class_member **members,
                                   size_t *count)
{
  enum { MEMBER_BYTES_MIN = 8 };
  size_t wanted = cursor_u2(&reader->cursor);
  enum jp_status status =
      class_reader_check(reader, is_method ? "methods" : "fields", wanted * MEMBER_BYTES_MIN);
  if (status != JP_OK)
    return status;
  *members = arena_calloc(reader->arena, wanted, sizeof **members);
  if (*members == NULL)
    return jp_fail(reader->error, JP_NO_MEMORY, "out of memory");
  for (*count = 0; *count < wanted; ++*count) {
    status = read_member(reader, &(*members)[*count], is_method);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_all(struct class_reader *reader, struct class_file *file)
{
  enum jp_status status = read_head(reader, file);
  if (status == JP_OK)
    status = read_interfaces(reader, file);
  if (status == JP_OK)
    status = read_members(reader, false, &file->fields, &file->field_count);
  if (status == JP_OK)
    status = read_members(reader, true, &file->methods, &file->method_count);
  if (status == JP_OK)
    status = class_attributes_read_class(reader, file);
  if (status != JP_OK)
    return status;
  status = class_reader_check(reader, "the class", 0);
  if (status == JP_OK && cursor_left(&reader->cursor) > 0)
    status = jp_fail(reader->error, JP_INVALID, "%zu bytes too many after the class",
                     cursor_left(&reader->cursor));
  return status;
}

enum jp_status class_file_parse(const uint8_t *bytes, size_t size, struct arena *arena,
                                struct class_file *file, struct jp_error *error)
{
  size_t names_left = NAMED_PARAMETERS_MAX;
  struct class_reader reader = {.bytes = bytes,
                                .cursor = {bytes, bytes + size, false},
                                .arena = arena,
                                .names_left = &names_left,
                                .error = error};
  *file = (struct class_file){0};
  enum jp_status status = read_all(&reader, file);
  if (status == JP_INVALID)
    jp_error_prefix(error, "at byte %zu", (size_t)(reader.cursor.at - bytes));
  return status;
}
