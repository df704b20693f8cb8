#include "classfile/class_file.h"

#include "classfile/signature.h"

#include <string.h>

/* NAMED_PARAMETERS_MAX limits the named parameters of one class file. Class files have no such limit. It is
 * needed because each method of a small file can refer to the same long descriptor. */
enum { ACCESS_SUPER = 0x0020, NAMED_PARAMETERS_MAX = 256 * 1024 };
static const uint32_t magic = 0xCAFEBABEu;

/* A part of the untrusted bytes. A read past the end returns 0 and sets `failed`, so that the owner can check once,
 * after all its reads. */
struct cursor {
  const uint8_t *at;
  const uint8_t *end;
  bool failed;
};

struct class_reader {
  const uint8_t *bytes; /* of the whole file */
  struct cursor cursor;
  /* The constant pool (JVMS 4.4) by index. A text is decoded when it is first needed, and then kept, because
   * a hostile file may refer to one long text very often. */
  unsigned constant_count;
  uint32_t *offsets;    /* of each tag; 0: no entry */
  struct text *decoded; /* of each Utf8; data NULL: not yet */
  struct text *dotted;  /* the same with '.' for '/' */
  /* Indexed by the constant of a descriptor: the descriptor's number of parameters plus one; 0: not checked
   * yet. */
  uint16_t *checked_descriptors;
  struct arena *arena;
  size_t *names_left; /* how many more parameter names may be kept; shared by the readers of one file */
  struct jp_error *error;
};

/* ---- numbers, big-endian ---- */

static size_t bytes_left(const struct cursor *cursor)
{
  return (size_t)(cursor->end - cursor->at);
}

/* Reads the next count bytes; NULL if there are fewer. */
static const uint8_t *read_bytes(struct cursor *cursor, size_t count)
{
  if (cursor->failed || bytes_left(cursor) < count) {
    cursor->failed = true;
    return NULL;
  }
  const uint8_t *bytes = cursor->at;
  cursor->at += count;
  return bytes;
}

static uint8_t read_u1(struct cursor *cursor)
{
  const uint8_t *bytes = read_bytes(cursor, 1);
  return bytes == NULL ? 0 : bytes[0];
}

static uint16_t read_u2(struct cursor *cursor)
{
  const uint8_t *bytes = read_bytes(cursor, 2);
  return bytes == NULL ? 0 : (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t read_u4(struct cursor *cursor)
{
  const uint8_t *bytes = read_bytes(cursor, 4);
  return bytes == NULL
             ? 0
             : (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ---- text (JVMS 4.4.7) ---- */

static bool is_ascii_without_nul(const uint8_t *bytes, size_t count)
{
  /* Eight bytes a step: nearly every name in a class file is ASCII. */
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    bool has_zero = ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
    if (has_zero || (word & 0x8080808080808080u) != 0)
      return false;
  }
  for (; i < count; i++) {
    if (bytes[i] == 0 || bytes[i] >= 0x80)
      return false;
  }
  return true;
}

/* Reads one UTF-16 unit from n bytes at p. Returns the number of its bytes, or 0. */
static size_t read_unit(const uint8_t *p, size_t n, uint16_t *unit)
{
  if (p[0] != 0 && p[0] < 0x80) {
    *unit = p[0];
    return 1;
  }
  if (p[0] >= 0xC0 && p[0] <= 0xDF) {
    if (n < 2 || (p[1] & 0xC0) != 0x80)
      return 0;
    *unit = (uint16_t)((p[0] & 0x1F) << 6 | (p[1] & 0x3F));
    return *unit == 0 || *unit >= 0x80 ? 2 : 0; /* the only valid overlong form is the form of NUL */
  }
  if ((p[0] & 0xF0) == 0xE0) {
    if (n < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80)
      return 0;
    *unit = (uint16_t)((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));
    return *unit >= 0x800 ? 3 : 0;
  }
  return 0;
}

/* Decodes modified UTF-8. If the bytes are UTF-8 as well, *text borrows them; otherwise *text is in the
 * arena. JP_INVALID: the bytes are not modified UTF-8. JP_NO_MEMORY. */
static enum jp_status decode_modified_utf8(const uint8_t *bytes, size_t count, struct arena *arena,
                                           struct text *text)
{
  if (is_ascii_without_nul(bytes, count)) {
    *text = (struct text){(const char *)bytes, count};
    return JP_OK;
  }
  uint16_t *units = arena_alloc(arena, count * sizeof *units);
  char *out = arena_alloc(arena, count); /* WTF-8 is never longer than modified UTF-8 */
  if (units == NULL || out == NULL)
    return JP_NO_MEMORY;
  size_t unit_count = 0;
  for (size_t i = 0; i < count;) {
    size_t step = read_unit(bytes + i, count - i, &units[unit_count++]);
    if (step == 0)
      return JP_INVALID;
    i += step;
  }
  text_from_utf16(units, unit_count, out);
  *text = (struct text){out, text_wtf8_length(units, unit_count)};
  return JP_OK;
}

/* ---- the constant pool ---- */

enum { TAG_UTF8 = 1, TAG_LONG = 5, TAG_DOUBLE = 6, TAG_CLASS = 7, TAG_PACKAGE = 20 };

/* The number of bytes after each tag (JVMS table 4.4-A); 0: the tag does not exist. For a Utf8 constant, the
 * size of its length field. */
static const uint8_t entry_sizes[] = {
    [3] = 4,  [4] = 4,  [TAG_LONG] = 8, [TAG_DOUBLE] = 8, [TAG_CLASS] = 2, [8] = 2,
    [9] = 4,  [10] = 4, [11] = 4,       [12] = 4,         [15] = 3,        [16] = 2,
    [17] = 4, [18] = 4, [19] = 2,       [TAG_PACKAGE] = 2};

/* Reads the pool from its count on and leaves the cursor after it. */
static enum jp_status read_constant_pool(struct class_reader *reader)
{
  struct cursor *cursor = &reader->cursor;
  unsigned count = read_u2(cursor);
  reader->constant_count = count;
  if (count == 0)
    return jp_fail(reader->error, JP_INVALID, "no constant pool at byte %zu",
                   (size_t)(cursor->at - reader->bytes));
  reader->offsets = arena_calloc(reader->arena, count, sizeof *reader->offsets);
  reader->decoded = arena_calloc(reader->arena, count, sizeof *reader->decoded);
  reader->dotted = arena_calloc(reader->arena, count, sizeof *reader->dotted);
  reader->checked_descriptors = arena_calloc(reader->arena, count, sizeof *reader->checked_descriptors);
  if (reader->offsets == NULL || reader->decoded == NULL || reader->dotted == NULL ||
      reader->checked_descriptors == NULL)
    return jp_fail_memory(reader->error, NULL);
  for (unsigned i = 1; i < count; i++) {
    size_t offset = (size_t)(cursor->at - reader->bytes);
    uint8_t tag = read_u1(cursor);
    size_t size = tag == TAG_UTF8 ? read_u2(cursor) : tag < sizeof entry_sizes ? entry_sizes[tag] : 0;
    if ((size == 0 && tag != TAG_UTF8) || read_bytes(cursor, size) == NULL)
      return jp_fail(reader->error, JP_INVALID,
                     "constant %u with tag %u at byte %zu is cut off or of no known kind", i, tag, offset);
    reader->offsets[i] = (uint32_t)offset;
    if (tag == TAG_LONG || tag == TAG_DOUBLE)
      i++; /* JVMS 4.4.5: the next index is unusable */
  }
  return JP_OK;
}

static const uint8_t *find_entry(const struct class_reader *reader, unsigned index, uint8_t tag)
{
  if (index == 0 || index >= reader->constant_count || reader->offsets[index] == 0)
    return NULL;
  const uint8_t *entry = reader->bytes + reader->offsets[index];
  return entry[0] == tag ? entry + 1 : NULL;
}

static unsigned u2_at(const uint8_t *bytes)
{
  return (unsigned)(bytes[0] << 8 | bytes[1]);
}

/* JP_INVALID: the index is out of range, the entry has another kind, or its text is malformed. The message
 * has the index and `wanted`. */
static enum jp_status read_utf8(const struct class_reader *reader, unsigned index, const char *wanted,
                                struct text *text)
{
  const uint8_t *entry = find_entry(reader, index, TAG_UTF8);
  if (entry == NULL)
    return jp_fail(reader->error, JP_INVALID, "constant %u is no text, but is used as %s", index, wanted);
  struct text *decoded = &reader->decoded[index];
  if (decoded->data == NULL) {
    enum jp_status status = decode_modified_utf8(entry + 2, u2_at(entry), reader->arena, decoded);
    if (status == JP_NO_MEMORY)
      return jp_fail_memory(reader->error, NULL);
    if (status != JP_OK)
      return jp_fail(reader->error, status, "constant %u, %s, is not modified UTF-8 (byte %u)", index, wanted,
                     (unsigned)reader->offsets[index]);
  }
  *text = *decoded;
  return JP_OK;
}

/* The name of a CONSTANT_Class or CONSTANT_Package with '.' for '/'. JP_INVALID as read_utf8. */
static enum jp_status read_name(const struct class_reader *reader, unsigned index, uint8_t tag,
                                const char *wanted, struct text *name)
{
  const uint8_t *entry = find_entry(reader, index, tag);
  if (entry == NULL)
    return jp_fail(reader->error, JP_INVALID, "constant %u is not of the right kind for %s", index, wanted);
  struct text internal = TEXT("");
  enum jp_status status = read_utf8(reader, u2_at(entry), wanted, &internal);
  if (status != JP_OK)
    return status;
  if (internal.len == 0)
    return jp_fail(reader->error, JP_INVALID, "constant %u, %s, is an empty name", index, wanted);
  struct text *dotted = &reader->dotted[u2_at(entry)];
  if (dotted->data == NULL) {
    char *copy = arena_alloc(reader->arena, internal.len);
    if (copy == NULL)
      return jp_fail_memory(reader->error, NULL);
    for (size_t i = 0; i < internal.len; i++)
      copy[i] = internal.data[i] == '/' ? '.' : internal.data[i];
    *dotted = (struct text){copy, internal.len};
  }
  *name = *dotted;
  return JP_OK;
}

/* ---- attributes (JVMS 4.7) that the catalog needs; the others are skipped ---- */

/* Reads one attribute's content; reader->cursor covers only this content. target is a struct class_member or
 * a struct class_file. */
typedef enum jp_status attribute_reader(struct class_reader *reader, void *target);

struct attribute {
  struct text name;
  attribute_reader *read;
};

/* JP_INVALID where the cursor has failed, or fewer than `needed` bytes are left; the error's text names `what`. */
static enum jp_status check_left(const struct class_reader *reader, const char *what, size_t needed)
{
  if (!reader->cursor.failed && bytes_left(&reader->cursor) >= needed)
    return JP_OK;
  return jp_fail(reader->error, JP_INVALID, "%s cut off", what);
}

static const struct attribute *find_attribute(const struct attribute *table, size_t size,
                                              const struct class_reader *reader, unsigned name)
{
  const uint8_t *entry = find_entry(reader, name, TAG_UTF8);
  if (entry == NULL)
    return NULL;
  const struct text letters = {(const char *)entry + 2, u2_at(entry)};
  for (size_t i = 0; i < size; i++) {
    if (text_equal(letters, table[i].name))
      return &table[i];
  }
  return NULL;
}

static enum jp_status read_attributes(struct class_reader *reader, const struct attribute *table, size_t size,
                                      void *target)
{
  unsigned count = read_u2(&reader->cursor);
  for (unsigned i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned name = read_u2(&reader->cursor);
    size_t length = read_u4(&reader->cursor);
    const uint8_t *content = read_bytes(&reader->cursor, length);
    const struct attribute *known = find_attribute(table, size, reader, name);
    if (known == NULL || content == NULL)
      continue;
    struct class_reader inner = *reader;
    inner.cursor = (struct cursor){content, content + length, false};
    enum jp_status status = known->read(&inner, target);
    if (status == JP_OK)
      status = check_left(&inner, known->name.data, 0);
    if (status != JP_OK)
      return status;
  }
  return check_left(reader, "an attribute", 0);
}

static enum jp_status read_signature(struct class_reader *reader, void *target)
{
  struct class_member *member = target;
  return read_utf8(reader, read_u2(&reader->cursor), "a signature", &member->signature);
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
  if (*reader->names_left < method->parameter_count) {
    (void)!jp_fail(reader->error, JP_INVALID, "more named parameters than a real class has");
    return JP_INVALID;
  }
  *reader->names_left -= method->parameter_count;
  method->parameters = arena_calloc(reader->arena, method->parameter_count, sizeof *method->parameters);
  return method->parameters == NULL ? jp_fail_memory(reader->error, NULL) : JP_OK;
}

/* JVMS 4.7.24. If the number of entries differs from the number of parameters in the descriptor, the entries
 * cannot be assigned to parameters. */
static enum jp_status read_method_parameters(struct class_reader *reader, void *target)
{
  struct class_member *method = target;
  unsigned count = read_u1(&reader->cursor);
  if (count != method->parameter_count)
    return JP_OK;
  enum jp_status status = allocate_parameters(reader, method);
  for (unsigned i = 0; status == JP_OK && i < count; i++) {
    struct class_parameter *parameter = &method->parameters[i];
    unsigned name = read_u2(&reader->cursor);
    parameter->access = read_u2(&reader->cursor);
    if (name != 0)
      status = read_utf8(reader, name, "a parameter's name", &parameter->name);
  }
  return status;
}

/* The parameter that starts at this local variable (JVMS 2.6.1: long and double have two), or -1. */
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

/* JVMS 4.7.13. A variable is a parameter if it is in the parameter's slot from the first instruction on. */
static enum jp_status read_local_variables(struct class_reader *reader, void *target)
{
  struct class_member *method = target;
  if (method->parameters != NULL || method->parameter_count == 0)
    return JP_OK;
  unsigned count = read_u2(&reader->cursor);
  enum jp_status status = allocate_parameters(reader, method);
  for (unsigned i = 0; status == JP_OK && i < count && !reader->cursor.failed; i++) {
    unsigned start = read_u2(&reader->cursor);
    (void)read_u2(&reader->cursor); /* length */
    unsigned name = read_u2(&reader->cursor);
    (void)read_u2(&reader->cursor); /* descriptor */
    int at = parameter_at(method, read_u2(&reader->cursor));
    if (start == 0 && at >= 0 && !reader->cursor.failed)
      status = read_utf8(reader, name, "a variable's name", &method->parameters[at].name);
  }
  return status;
}

static enum jp_status read_code(struct class_reader *reader, void *target)
{
  static const struct attribute known[] = {{TEXT("LocalVariableTable"), read_local_variables}};
  enum { EXCEPTION_ENTRY_BYTES = 8 };
  (void)read_u4(&reader->cursor); /* max_stack, max_locals */
  (void)read_bytes(&reader->cursor, read_u4(&reader->cursor));
  size_t exceptions = read_u2(&reader->cursor);
  (void)read_bytes(&reader->cursor, exceptions * EXCEPTION_ENTRY_BYTES);
  return read_attributes(reader, known, sizeof known / sizeof known[0], target);
}

/* JVMS 4.7.6. The entry for the class itself has the modifiers that are written in the source. If this entry
 * has no outer class, the class is local or anonymous. Each member class has an entry whose outer class is
 * this class. Compilers write this outer class by the same constant as this_class, so comparing the indexes
 * of the constants is enough. */
static enum jp_status read_inner_classes(struct class_reader *reader, void *target)
{
  enum { VISIBLE_FLAGS = 0xFFFF & ~0x0020, ENTRY_BYTES = 8 };
  struct class_file *file = target;
  unsigned count = read_u2(&reader->cursor);
  enum jp_status checked = check_left(reader, "inner classes", (size_t)count * ENTRY_BYTES);
  if (checked != JP_OK)
    return checked;
  file->member_class_count = 0;
  file->member_classes = arena_calloc(reader->arena, count, sizeof *file->member_classes);
  if (file->member_classes == NULL)
    return jp_fail_memory(reader->error, NULL);
  for (unsigned i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned inner = read_u2(&reader->cursor);
    unsigned outer = read_u2(&reader->cursor);
    /* the simple name, which is not needed because it follows from the two other names */
    (void)read_u2(&reader->cursor);
    unsigned access = read_u2(&reader->cursor);
    struct text name;
    enum jp_status status = read_name(reader, inner, TAG_CLASS, "an inner class", &name);
    if (status != JP_OK)
      return status;
    if (outer == file->this_class)
      file->member_classes[file->member_class_count++] = name;
    if (!text_equal(name, file->name))
      continue;
    file->access = (uint16_t)((file->access & ACCESS_SYNTHETIC) | (access & VISIBLE_FLAGS));
    file->local = file->local || outer == 0;
    if (outer != 0)
      status = read_name(reader, outer, TAG_CLASS, "an outer class", &file->outer);
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
  return read_utf8(reader, read_u2(&reader->cursor), "the source file", &file->source_file);
}

/* JVMS 4.7.25. */
static enum jp_status read_module(struct class_reader *reader, void *target)
{
  enum { HEAD_BYTES = 6, REQUIRES_BYTES = 6, EXPORTS_BYTES_MIN = 6 };
  struct class_file *file = target;
  (void)read_bytes(&reader->cursor, HEAD_BYTES);
  size_t required = read_u2(&reader->cursor);
  (void)read_bytes(&reader->cursor, required * REQUIRES_BYTES);
  size_t count = read_u2(&reader->cursor);
  enum jp_status status = check_left(reader, "exports of the module", count * EXPORTS_BYTES_MIN);
  if (status != JP_OK)
    return status;
  file->exports = arena_calloc(reader->arena, count, sizeof *file->exports);
  if (file->exports == NULL)
    return jp_fail_memory(reader->error, NULL);
  for (size_t i = 0; i < count && !reader->cursor.failed; i++) {
    unsigned package = read_u2(&reader->cursor);
    (void)read_u2(&reader->cursor); /* flags */
    size_t friends = read_u2(&reader->cursor);
    (void)read_bytes(&reader->cursor, friends * 2);
    if (friends > 0)
      continue;
    status =
        read_name(reader, package, TAG_PACKAGE, "an exported package", &file->exports[file->export_count++]);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* ---- members, and the whole ---- */

static enum jp_status read_head(struct class_reader *reader, struct class_file *file)
{
  if (read_u4(&reader->cursor) != magic)
    return jp_fail(reader->error, JP_INVALID, "no class file: the first four bytes are not CAFEBABE");
  file->minor = read_u2(&reader->cursor);
  file->major = read_u2(&reader->cursor);
  enum jp_status status = read_constant_pool(reader);
  if (status != JP_OK)
    return status;
  file->access = (uint16_t)(read_u2(&reader->cursor) & ~ACCESS_SUPER);
  file->this_class = (uint16_t)read_u2(&reader->cursor);
  status = read_name(reader, file->this_class, TAG_CLASS, "this class", &file->name);
  if (status != JP_OK)
    return status;
  unsigned superclass = read_u2(&reader->cursor);
  if (superclass == 0)
    return JP_OK;
  return read_name(reader, superclass, TAG_CLASS, "the superclass", &file->superclass);
}

static enum jp_status read_interfaces(struct class_reader *reader, struct class_file *file)
{
  file->interface_count = read_u2(&reader->cursor);
  enum jp_status status = check_left(reader, "interfaces", file->interface_count * 2);
  if (status != JP_OK)
    return status;
  file->interfaces = arena_calloc(reader->arena, file->interface_count, sizeof *file->interfaces);
  if (file->interfaces == NULL)
    return jp_fail_memory(reader->error, NULL);
  for (size_t i = 0; i < file->interface_count; i++) {
    status = read_name(reader, read_u2(&reader->cursor), TAG_CLASS, "an interface", &file->interfaces[i]);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_descriptor(struct class_reader *reader, struct class_member *member,
                                      bool is_method)
{
  unsigned index = read_u2(&reader->cursor);
  enum jp_status status = read_utf8(reader, index, "a member's descriptor", &member->descriptor);
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
  static const struct attribute of_fields[] = {{TEXT("Signature"), read_signature},
                                               {TEXT("Synthetic"), read_synthetic_member}};
  static const struct attribute of_methods[] = {{TEXT("Code"), read_code},
                                                {TEXT("Signature"), read_signature},
                                                {TEXT("MethodParameters"), read_method_parameters},
                                                {TEXT("Synthetic"), read_synthetic_member}};
  member->access = read_u2(&reader->cursor);
  enum jp_status status = read_utf8(reader, read_u2(&reader->cursor), "a member's name", &member->name);
  if (status == JP_OK)
    status = read_descriptor(reader, member, is_method);
  if (status != JP_OK)
    return status;
  return is_method ? read_attributes(reader, of_methods, sizeof of_methods / sizeof of_methods[0], member)
                   : read_attributes(reader, of_fields, sizeof of_fields / sizeof of_fields[0], member);
}

static enum jp_status read_members(struct class_reader *reader, bool is_method, struct class_member **members,
                                   size_t *count)
{
  enum { MEMBER_BYTES_MIN = 8 };
  size_t wanted = read_u2(&reader->cursor);
  enum jp_status status = check_left(reader, is_method ? "methods" : "fields", wanted * MEMBER_BYTES_MIN);
  if (status != JP_OK)
    return status;
  *members = arena_calloc(reader->arena, wanted, sizeof **members);
  if (*members == NULL)
    return jp_fail_memory(reader->error, NULL);
  for (*count = 0; *count < wanted; ++*count) {
    status = read_member(reader, &(*members)[*count], is_method);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_all(struct class_reader *reader, struct class_file *file)
{
  static const struct attribute known[] = {{TEXT("InnerClasses"), read_inner_classes},
                                           {TEXT("SourceFile"), read_source_file},
                                           {TEXT("EnclosingMethod"), read_enclosing_method},
                                           {TEXT("Synthetic"), read_synthetic_class},
                                           {TEXT("Module"), read_module}};
  enum jp_status status = read_head(reader, file);
  if (status == JP_OK)
    status = read_interfaces(reader, file);
  if (status == JP_OK)
    status = read_members(reader, false, &file->fields, &file->field_count);
  if (status == JP_OK)
    status = read_members(reader, true, &file->methods, &file->method_count);
  if (status == JP_OK)
    status = read_attributes(reader, known, sizeof known / sizeof known[0], file);
  if (status != JP_OK)
    return status;
  status = check_left(reader, "the class", 0);
  if (status == JP_OK && bytes_left(&reader->cursor) > 0)
    status =
        jp_fail(reader->error, JP_INVALID, "%zu bytes too many after the class", bytes_left(&reader->cursor));
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

/* ---- access flags ---- */

/* In the order of Modifier.toString. */
static const struct {
  uint16_t flag;
  const char *word;
} modifier_words[] = {{0x0001, "public"},    {0x0004, "protected"}, {0x0002, "private"},
                      {0x0400, "abstract"},  {0x0008, "static"},    {0x0010, "final"},
                      {0x0080, "transient"}, {0x0040, "volatile"},  {0x0020, "synchronized"},
                      {0x0100, "native"},    {0x0800, "strictfp"},  {0x0200, "interface"}};

/* A bit's meaning depends on the kind (0x0080: a transient field, a method of variable arity). */
static const uint16_t modifier_masks[] = {
    [MODIFIERS_OF_CLASS] = 0x0E1F,
    [MODIFIERS_OF_FIELD] = 0x00DF,
    [MODIFIERS_OF_METHOD] = 0x0D3F,
    [MODIFIERS_OF_PARAMETER] = 0x0010,
};

void modifiers_format(uint16_t access, enum modifiers_of of, char out[MODIFIERS_TEXT_MAX])
{
  char *end = out;
  for (size_t i = 0; i < sizeof modifier_words / sizeof modifier_words[0]; i++) {
    if ((access & modifier_masks[of] & modifier_words[i].flag) == 0)
      continue;
    if (end > out)
      *end++ = ' ';
    end = stpcpy(end, modifier_words[i].word);
  }
  *end = '\0';
}
