#include "classfile/class_attributes.h"

/* Reads one attribute's content; reader->cursor covers that content alone. target is a struct class_member
 * or a struct class_file. */
typedef enum jp_status attribute_reader(struct class_reader *reader, void *target);

struct attribute {
  struct text name;
  attribute_reader *read;
};

enum jp_status class_reader_check(const struct class_reader *reader, const char *what, size_t needed)
{
  if (!reader->cursor.failed && cursor_left(&reader->cursor) >= needed)
    return JP_OK;
  return jp_fail(reader->error, JP_INVALID, "%s cut off", what);
}

static const struct attribute *find_attribute(const struct attribute *table, size_t size,
                                              const struct class_reader *reader, unsigned name)
{
  for (size_t i = 0; i < size; i++) {
    if (constant_pool_is(&reader->pool, name, table[i].name))
      return &table[i];
  }
  return NULL;
}

static enum jp_status read_attributes(struct class_reader *reader, const struct attribute *table, size_t size,
                                      void *target)
{
  unsigned count = cursor_u2(&reader->cursor);
  for (unsigned i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned name = cursor_u2(&reader->cursor);
    struct class_reader inner = *reader;
    inner.cursor = cursor_slice(&reader->cursor, cursor_u4(&reader->cursor));
    const struct attribute *known = find_attribute(table, size, reader, name);
    if (known == NULL || reader->cursor.failed)
      continue;
    enum jp_status status = known->read(&inner, target);
    if (status == JP_OK)
      status = class_reader_check(&inner, known->name.data, 0);
    if (status != JP_OK)
      return status;
  }
  return class_reader_check(reader, "an attribute", 0);
}

static enum jp_status read_signature(struct class_reader *reader, void *target)
{
  struct class_member *member = target;
  return constant_pool_utf8(&reader->pool, cursor_u2(&reader->cursor), "a signature", &member->signature,
                            reader->error);
}

static enum jp_status read_synthetic_member(struct class_reader *reader, void *target)
{
  (void)reader;
  struct class_member *member = target;
  member->access |= ACCESS_SYNTHETIC;
  return JP_OK;
}

static enum jp_status allocate_parameters(struct class_reader *reader, struct class_member *method)
{
  if (*reader->names_left < method->parameter_count)
    return jp_fail(reader->error, JP_INVALID, "more named parameters than a real class has");
  *reader->names_left -= method->parameter_count;
  method->parameters = arena_calloc(reader->arena, method->parameter_count, sizeof *method->parameters);
  return method->parameters == NULL ? jp_fail(reader->error, JP_NO_MEMORY, "out of memory") : JP_OK;
}

/* JVMS 4.7.24. Where the count is not the descriptor's, the entries cannot be assigned to parameters. */
static enum jp_status read_method_parameters(struct class_reader *reader, void *target)
{
  struct class_member *method = target;
  unsigned count = cursor_u1(&reader->cursor);
  if (count != method->parameter_count)
    return JP_OK;
  enum jp_status status = allocate_parameters(reader, method);
  for (unsigned i = 0; status == JP_OK && i < count; i++) {
    struct class_parameter *parameter = &method->parameters[i];
    unsigned name = cursor_u2(&reader->cursor);
    parameter->access = cursor_u2(&reader->cursor);
    if (name != 0)
      status = constant_pool_utf8(&reader->pool, name, "a parameter's name", &parameter->name, reader->error);
  }
  return status;
}

/* The parameter that starts at this local variable (JVMS 2.6.1: long and double take two), or -1. */
static int parameter_at(const struct class_member *method, unsigned slot)
{
  unsigned at = (method->access & ACCESS_STATIC) != 0 ? 0 : 1;
  const char *p = method->descriptor.data + 1;
  const char *end = method->descriptor.data + method->descriptor.len;
  for (int i = 0; i < method->parameter_count; i++) {
    if (at == slot)
      return i;
    at += *p == 'J' || *p == 'D' ? 2 : 1;
    while (*p == '[')
      p++;
    /* The descriptor is valid, so it has the ';'. */
    p = *p == 'L' ? (const char *)memchr(p, ';', (size_t)(end - p)) + 1 : p + 1;
  }
  return -1;
}

/* JVMS 4.7.13: a variable that lives from the first instruction on in a parameter's slot is that parameter.
 */
static enum jp_status read_local_variables(struct class_reader *reader, void *target)
{
  struct class_member *method = target;
  if (method->parameters != NULL || method->parameter_count == 0)
    return JP_OK;
  unsigned count = cursor_u2(&reader->cursor);
  enum jp_status status = allocate_parameters(reader, method);
  for (unsigned i = 0; status == JP_OK && i < count && !reader->cursor.failed; i++) {
    unsigned start = cursor_u2(&reader->cursor);
    (void)cursor_u2(&reader->cursor); /* length */
    unsigned name = cursor_u2(&reader->cursor);
    (void)cursor_u2(&reader->cursor); /* descriptor */
    int at = parameter_at(method, cursor_u2(&reader->cursor));
    if (start == 0 && at >= 0 && !reader->cursor.failed)
      status = constant_pool_utf8(&reader->pool, name, "a variable's name", &method->parameters[at].name,
                                  reader->error);
  }
  return status;
}

static enum jp_status read_code(struct class_reader *reader, void *target)
{
  static const struct attribute known[] = {{TEXT("LocalVariableTable"), read_local_variables}};
  enum { EXCEPTION_ENTRY_BYTES = 8 };
  (void)cursor_u4(&reader->cursor); /* max_stack, max_locals */
  (void)cursor_take(&reader->cursor, cursor_u4(&reader->cursor));
  size_t exceptions = cursor_u2(&reader->cursor);
  (void)cursor_take(&reader->cursor, exceptions * EXCEPTION_ENTRY_BYTES);
  return read_attributes(reader, known, sizeof known / sizeof known[0], target);
}

enum jp_status class_attributes_read_field(struct class_reader *reader, struct class_member *field)
{
  static const struct attribute known[] = {{TEXT("Signature"), read_signature},
                                           {TEXT("Synthetic"), read_synthetic_member}};
  return read_attributes(reader, known, sizeof known / sizeof known[0], field);
}

enum jp_status class_attributes_read_method(struct class_reader *reader, struct class_member *method)
{
  static const struct attribute known[] = {{TEXT("Code"), read_code},
                                           {TEXT("Signature"), read_signature},
                                           {TEXT("MethodParameters"), read_method_parameters},
                                           {TEXT("Synthetic"), read_synthetic_member}};
  return read_attributes(reader, known, sizeof known / sizeof known[0], method);
}

/* JVMS 4.7.6: the entry for the class itself has its modifiers as the source has them. Without an outer class
 * it is local or anonymous. The class's members have one each: compilers name it by the constant that the class has. */
static enum jp_status read_inner_classes(struct class_reader *reader, void *target)
{
  enum { VISIBLE_FLAGS = 0xFFFF & ~0x0020, ENTRY_BYTES = 8 };
  struct class_file *file = target;
  unsigned count = cursor_u2(&reader->cursor);
  enum jp_status checked = class_reader_check(reader, "inner classes", (size_t)count * ENTRY_BYTES);
  if (checked != JP_OK)
    return checked;
  file->member_class_count = 0;
  file->member_classes = arena_calloc(reader->arena, count, sizeof *file->member_classes);
  if (file->member_classes == NULL)
    return jp_fail(reader->error, JP_NO_MEMORY, "out of memory");
  for (unsigned i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned inner = cursor_u2(&reader->cursor);
    unsigned outer = cursor_u2(&reader->cursor);
    (void)cursor_u2(&reader->cursor); /* the simple name, which follows from the other two */
    unsigned access = cursor_u2(&reader->cursor);
    struct text name;
    enum jp_status status = constant_pool_class(&reader->pool, inner, "an inner class", &name, reader->error);
    if (status != JP_OK)
      return status;
    if (outer == file->this_class)
      file->member_classes[file->member_class_count++] = name;
    if (!text_equal(name, file->name))
      continue;
    file->access = (uint16_t)((file->access & ACCESS_SYNTHETIC) | (access & VISIBLE_FLAGS));
    file->local = file->local || outer == 0;
    if (outer != 0)
      status = constant_pool_class(&reader->pool, outer, "an outer class", &file->outer, reader->error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_enclosing_method(struct class_reader *reader, void *target)
{
  (void)reader;
  struct class_file *file = target;
  file->local = true;
  return JP_OK;
}

static enum jp_status read_synthetic_class(struct class_reader *reader, void *target)
{
  (void)reader;
  struct class_file *file = target;
  file->access |= ACCESS_SYNTHETIC;
  return JP_OK;
}

static enum jp_status read_source_file(struct class_reader *reader, void *target)
{
  struct class_file *file = target;
  return constant_pool_utf8(&reader->pool, cursor_u2(&reader->cursor), "the source file", &file->source_file,
                            reader->error);
}

static void skip_u2_table(struct cursor *cursor, size_t entry_bytes)
{
  size_t count = cursor_u2(cursor);
  (void)cursor_take(cursor, count * entry_bytes);
}

/* JVMS 4.7.25. */
static enum jp_status read_module(struct class_reader *reader, void *target)
{
  enum { HEAD_BYTES = 6, REQUIRES_BYTES = 6, EXPORTS_BYTES_MIN = 6 };
  struct class_file *file = target;
  (void)cursor_take(&reader->cursor, HEAD_BYTES);
  skip_u2_table(&reader->cursor, REQUIRES_BYTES);
  size_t count = cursor_u2(&reader->cursor);
  enum jp_status status = class_reader_check(reader, "exports of the module", count * EXPORTS_BYTES_MIN);
  if (status != JP_OK)
    return status;
  file->exports = arena_calloc(reader->arena, count, sizeof *file->exports);
  if (file->exports == NULL)
    return jp_fail(reader->error, JP_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned package = cursor_u2(&reader->cursor);
    (void)cursor_u2(&reader->cursor); /* flags */
    size_t friends = cursor_u2(&reader->cursor);
    (void)cursor_take(&reader->cursor, friends * 2);
    if (friends > 0)
      continue;
    status = constant_pool_package(&reader->pool, package, "an exported package",
                                   &file->exports[file->export_count++], reader->error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

enum jp_status class_attributes_read_class(struct class_reader *reader, struct class_file *file)
{
  static const struct attribute known[] = {{TEXT("InnerClasses"), read_inner_classes},
                                           {TEXT("SourceFile"), read_source_file},
                                           {TEXT("EnclosingMethod"), read_enclosing_method},
                                           {TEXT("Synthetic"), read_synthetic_class},
                                           {TEXT("Module"), read_module}};
  return read_attributes(reader, known, sizeof known / sizeof known[0], file);
}
