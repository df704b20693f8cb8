#include "classfile/builder.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/log.h"
#include "classfile/class_file.h"
#include "classfile/string_pool.h"

#include <stdlib.h>
#include <string.h>

enum { WARNINGS_MAX = 20, RECORD_COUNT_MAX = UINT32_MAX / 2 };
static const uint64_t total_bytes_max = (uint64_t)4 << 30;

struct builder {
  struct string_pool *strings;
  struct array classes;       /* struct catalog_class */
  struct array methods;       /* struct catalog_method */
  struct array fields;        /* struct catalog_field */
  struct array parameters;    /* struct catalog_parameter */
  struct array links;         /* struct catalog_link */
  struct array subclasses;    /* uint32_t */
  struct array class_of_name; /* uint32_t by string id: index in classes or CATALOG_NONE */
  struct arena arena;         /* for the class that is being added */
  struct array parts;         /* struct catalog_part */
  uint16_t part_count;        /* without the part that means "no part" */
  uint16_t part;              /* the current part */
  uint64_t bytes;
  unsigned warnings;
  bool keeps_warnings;
  struct array kept_warnings; /* struct text, in an arena of their own */
  struct arena warning_arena;
  const atomic_bool *is_stopped; /* NULL: it is never stopped */
};

struct builder *builder_create(void)
{
  struct builder *builder = calloc(1, sizeof *builder);
  if (builder == NULL)
    return NULL;
  array_init(&builder->classes, sizeof(struct catalog_class));
  array_init(&builder->methods, sizeof(struct catalog_method));
  array_init(&builder->fields, sizeof(struct catalog_field));
  array_init(&builder->parameters, sizeof(struct catalog_parameter));
  array_init(&builder->links, sizeof(struct catalog_link));
  array_init(&builder->subclasses, sizeof(uint32_t));
  array_init(&builder->class_of_name, sizeof(uint32_t));
  array_init(&builder->parts, sizeof(struct catalog_part));
  array_init(&builder->kept_warnings, sizeof(struct text));
  arena_init(&builder->arena);
  arena_init_small(&builder->warning_arena);
  builder->strings = string_pool_create();
  if (builder->strings == NULL) {
    builder_destroy(builder);
    return NULL;
  }
  return builder;
}

struct builder *builder_create_part(const atomic_bool *is_stopped)
{
  struct builder *builder = builder_create();
  if (builder != NULL) {
    builder->keeps_warnings = true;
    builder->is_stopped = is_stopped;
  }
  return builder;
}

void builder_destroy(struct builder *builder)
{
  if (builder == NULL)
    return;
  string_pool_destroy(builder->strings);
  array_fini(&builder->classes);
  array_fini(&builder->methods);
  array_fini(&builder->fields);
  array_fini(&builder->parameters);
  array_fini(&builder->links);
  array_fini(&builder->subclasses);
  array_fini(&builder->class_of_name);
  array_fini(&builder->parts);
  array_fini(&builder->kept_warnings);
  arena_fini(&builder->arena);
  arena_fini(&builder->warning_arena);
  free(builder);
}

/* After WARNINGS_MAX warnings, further warnings are only counted. If memory is short, a warning is lost. */
static void warn_of_text(struct builder *builder, struct text warning)
{
  if (builder->keeps_warnings && builder->warnings <= WARNINGS_MAX) {
    struct text *kept = array_add(&builder->kept_warnings, 1);
    if (kept != NULL)
      *kept = arena_text(&builder->warning_arena, warning);
  } else if (builder->warnings < WARNINGS_MAX) {
    log_warn("%.*s", TEXT_ARGS(warning));
  } else if (builder->warnings == WARNINGS_MAX) {
    log_warn("metadata: more is left out");
  }
  builder->warnings++;
}

void builder_warn(struct builder *builder, const struct class_place *place, const struct jp_error *why)
{
  struct buffer warning;
  buffer_init(&warning);
  buffer_printf(&warning, "metadata: %s%s%s is left out: %s", place->container,
                place->entry == NULL ? "" : "!", place->entry == NULL ? "" : place->entry, why->text);
  warn_of_text(builder, buffer_text(&warning));
  buffer_fini(&warning);
}

uint16_t builder_make_part(struct builder *builder)
{
  if (builder->part_count < BUILDER_PARTS_MAX)
    builder->part_count++;
  return builder->part_count;
}

void builder_enter_part(struct builder *builder, uint16_t part)
{
  builder->part = part;
}

enum jp_status builder_count_bytes(struct builder *builder, uint64_t bytes, struct jp_error *error)
{
  if (builder->is_stopped != NULL && atomic_load_explicit(builder->is_stopped, memory_order_relaxed))
    return jp_fail(error, JP_CLOSED, "the peer is stopping");
  builder->bytes += bytes;
  if (builder->bytes <= total_bytes_max)
    return JP_OK;
  return jp_fail(error, JP_LIMIT, "the class path unpacks to more than 4 GiB");
}

static enum jp_status intern_text(struct builder *builder, struct text t, uint32_t *id,
                                  struct jp_error *error)
{
  *id = 0;
  if (t.len == 0)
    return JP_OK; /* true for nearly every signature */
  enum jp_status status = string_pool_intern(builder->strings, t, id);
  if (status == JP_LIMIT)
    return jp_fail(error, status, "the names on the class path are longer than 4 GiB");
  return status == JP_OK ? JP_OK : jp_fail_memory(error, "class files");
}

/* Returns the entry of a name in class_of_name. The table grows with the number of strings. */
static uint32_t *class_slot(struct builder *builder, uint32_t name)
{
  struct array *table = &builder->class_of_name;
  if (name >= table->count) {
    size_t more = string_pool_count(builder->strings) - table->count;
    uint32_t *added = array_add(table, more);
    if (added == NULL)
      return NULL;
    for (size_t i = 0; i < more; i++)
      added[i] = CATALOG_NONE;
  }
  return (uint32_t *)table->items + name;
}

static enum jp_status add_parameters(struct builder *builder, const struct class_member *method,
                                     uint32_t *first, struct jp_error *error)
{
  bool has_content = false;
  for (unsigned i = 0; method->parameters != NULL && i < method->parameter_count; i++)
    has_content = has_content || method->parameters[i].name.len > 0 || method->parameters[i].access != 0;
  *first = CATALOG_NONE;
  if (!has_content)
    return JP_OK;
  if (builder->parameters.count > RECORD_COUNT_MAX)
    return jp_fail(error, JP_LIMIT, "more parameters than a catalog holds");
  *first = (uint32_t)builder->parameters.count;
  struct catalog_parameter *added = array_add(&builder->parameters, method->parameter_count);
  if (added == NULL)
    return jp_fail_memory(error, "class files");
  for (unsigned i = 0; i < method->parameter_count; i++) {
    added[i].access = method->parameters[i].access;
    enum jp_status status = intern_text(builder, method->parameters[i].name, &added[i].name, error);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status add_method(struct builder *builder, const struct class_member *member,
                                 struct jp_error *error)
{
  struct catalog_method method = {
      .access = member->access,
      .parameter_count = member->parameter_count,
      .hidden = (member->access & (ACCESS_SYNTHETIC | ACCESS_BRIDGE)) != 0,
      .is_open = member->is_open,
  };
  enum jp_status status = intern_text(builder, member->name, &method.name, error);
  if (status == JP_OK)
    status = intern_text(builder, member->descriptor, &method.descriptor, error);
  if (status == JP_OK)
    status = intern_text(builder, member->signature, &method.signature, error);
  if (status == JP_OK)
    status = add_parameters(builder, member, &method.first_parameter, error);
  if (status != JP_OK)
    return status;
  struct catalog_method *added = array_add(&builder->methods, 1);
  if (added == NULL)
    return jp_fail_memory(error, "class files");
  *added = method;
  return JP_OK;
}

static enum jp_status add_field(struct builder *builder, const struct class_member *member,
                                struct jp_error *error)
{
  struct catalog_field field = {.access = member->access, .hidden = (member->access & ACCESS_SYNTHETIC) != 0};
  enum jp_status status = intern_text(builder, member->name, &field.name, error);
  if (status == JP_OK)
    status = intern_text(builder, member->descriptor, &field.descriptor, error);
  if (status == JP_OK)
    status = intern_text(builder, member->signature, &field.signature, error);
  if (status != JP_OK)
    return status;
  struct catalog_field *added = array_add(&builder->fields, 1);
  if (added == NULL)
    return jp_fail_memory(error, "class files");
  *added = field;
  return JP_OK;
}

/* The processor's caches are too small for all names of a JDK. The name of a later member is prefetched here,
 * so that it is loaded while the members before it are added. */
static void expect_member(const struct builder *builder, const struct class_member *members, size_t count,
                          size_t index)
{
  enum { AHEAD = 4 };
  if (index + AHEAD >= count)
    return;
  const struct class_member *member = &members[index + AHEAD];
  string_pool_expect(builder->strings, member->name);
  string_pool_expect(builder->strings, member->descriptor);
  if (member->signature.len > 0)
    string_pool_expect(builder->strings, member->signature);
}

static enum jp_status add_members(struct builder *builder, const struct class_file *file,
                                  struct catalog_class *class, struct jp_error *error)
{
  class->first_field = (uint32_t)builder->fields.count;
  for (size_t i = 0; i < file->field_count; i++) {
    expect_member(builder, file->fields, file->field_count, i);
    enum jp_status status = add_field(builder, &file->fields[i], error);
    if (status != JP_OK)
      return status;
  }
  class->field_count = (uint16_t)file->field_count;
  class->first_method = (uint32_t)builder->methods.count;
  for (size_t i = 0; i < file->method_count; i++) {
    expect_member(builder, file->methods, file->method_count, i);
    if (text_equal(file->methods[i].name, TEXT("<clinit>")))
      continue;
    enum jp_status status = add_method(builder, &file->methods[i], error);
    if (status != JP_OK)
      return status;
    class->method_count++;
  }
  return JP_OK;
}

static enum jp_status add_links(struct builder *builder, const struct class_file *file,
                                struct catalog_class *class, struct jp_error *error)
{
  /* The class file of an interface names Object as its superclass (JVMS 4.1), but an interface has no
   * superclass. */
  bool is_interface = (file->access & ACCESS_INTERFACE) != 0;
  class->superclass.class_index = CATALOG_NONE;
  enum jp_status status =
      intern_text(builder, is_interface ? TEXT("") : file->superclass, &class->superclass.name, error);
  class->first_interface = (uint32_t)builder->links.count;
  class->interface_count = (uint16_t)file->interface_count;
  struct catalog_link *links = array_add(&builder->links, file->interface_count);
  if (links == NULL)
    return jp_fail_memory(error, "class files");
  for (size_t i = 0; status == JP_OK && i < file->interface_count; i++) {
    links[i].class_index = CATALOG_NONE;
    status = intern_text(builder, file->interfaces[i], &links[i].name, error);
  }
  return status;
}

static size_t simple_name_start(const struct class_file *file)
{
  size_t dot = text_find_last(file->name, '.');
  size_t start = dot == SIZE_MAX ? 0 : dot + 1;
  size_t outer = file->outer.len;
  /* The simple name in the source is the part after the outer class's name and the '$' (JLS 13.1). */
  if (outer > start && outer + 1 < file->name.len && text_starts_with(file->name, file->outer) &&
      file->name.data[outer] == '$')
    start = outer + 1;
  return start;
}

/* The index of the class in the list of classes; CATALOG_NONE: the class is not in the list, because another
 * class of the same name has priority. */
static enum jp_status find_place(struct builder *builder, uint32_t name, uint32_t *place,
                                 struct jp_error *error)
{
  uint32_t *slot = class_slot(builder, name);
  *place = CATALOG_NONE;
  if (slot == NULL)
    return jp_fail_memory(error, "class files");
  /* If several classes have the same name, the first class on the class path has priority. There is one
   * exception: a class that the application's loader finds replaces a class in a part that the loader does
   * not search. */
  const struct catalog_class *classes = builder->classes.items;
  if (*slot != CATALOG_NONE && (builder->part != 0 || classes[*slot].part == 0))
    return JP_OK;
  if (builder->classes.count >= CLASSES_MAX || builder->methods.count > RECORD_COUNT_MAX ||
      builder->fields.count > RECORD_COUNT_MAX)
    return jp_fail(error, JP_LIMIT, "more classes or members on the class path than a catalog holds");
  if (*slot == CATALOG_NONE) {
    *slot = (uint32_t)builder->classes.count;
    if (array_add(&builder->classes, 1) == NULL)
      return jp_fail_memory(error, "class files");
  }
  *place = *slot;
  return JP_OK;
}

enum jp_status builder_add_parsed(struct builder *builder, const struct class_file *file,
                                  enum catalog_origin origin, struct jp_error *error)
{
  struct catalog_class class = {.access = file->access,
                                .major_version = file->major,
                                .minor_version = file->minor,
                                .part = builder->part,
                                .origin = (uint8_t)origin};
  uint32_t place = CATALOG_NONE;
  enum jp_status status = intern_text(builder, file->name, &class.name, error);
  if (status == JP_OK)
    status = find_place(builder, class.name, &place, error);
  if (status != JP_OK || place == CATALOG_NONE)
    return status;
  size_t simple_name = simple_name_start(file);
  class.simple_name_at = (uint16_t)simple_name;
  class.hidden = file->local || (file->access & ACCESS_SYNTHETIC) != 0 ||
                 text_equal(text_slice(file->name, simple_name, file->name.len), TEXT("package-info"));
  status = intern_text(builder, file->source_file, &class.source_file, error);
  if (status == JP_OK)
    status = add_links(builder, file, &class, error);
  if (status == JP_OK)
    status = add_members(builder, file, &class, error);
  if (status == JP_OK)
    ((struct catalog_class *)builder->classes.items)[place] = class;
  return status;
}

/* True where path ("com/example/A") fits the class's name ("com.example.A"). */
static bool is_at_its_place(struct text path, struct text name)
{
  if (path.len != name.len)
    return false;
  for (size_t i = 0; i < path.len; i++) {
    if ((path.data[i] == '/' ? '.' : path.data[i]) != name.data[i])
      return false;
  }
  return true;
}

enum jp_status builder_add_class(struct builder *builder, const uint8_t *bytes, size_t size, struct text path,
                                 enum catalog_origin origin, const struct class_place *place,
                                 struct jp_error *error)
{
  struct class_file file;
  struct jp_error lower;
  enum jp_status status = builder_count_bytes(builder, size, error);
  if (status != JP_OK)
    return status;
  arena_reset(&builder->arena);
  status = class_file_parse(bytes, size, &builder->arena, &file, &lower);
  if (status == JP_INVALID) {
    builder_warn(builder, place, &lower);
    return JP_OK;
  }
  if (status != JP_OK)
    return jp_fail(error, status, "%s", lower.text);
  if ((file.access & ACCESS_MODULE) != 0 || !is_at_its_place(path, file.name))
    return JP_OK;
  return builder_add_parsed(builder, &file, origin, error);
}

/* ---- merging ---- */

/* The numbers that a part gets when it is merged into another builder. */
struct merging {
  struct builder *into;
  const struct builder *part;
  uint32_t *strings; /* by id in the part */
  uint16_t *parts;   /* by number in the part */
  struct jp_error *error;
};

static enum jp_status merge_strings(struct merging *merging)
{
  enum { AHEAD = 8 };
  const struct string_pool *strings = merging->part->strings;
  size_t count = string_pool_count(strings);
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < count; i++) {
    if (i + AHEAD < count)
      string_pool_expect(merging->into->strings, string_pool_text(strings, (uint32_t)(i + AHEAD)));
    status = intern_text(merging->into, string_pool_text(strings, (uint32_t)i), &merging->strings[i],
                         merging->error);
  }
  return status;
}

static enum jp_status merge_methods(struct merging *merging, const struct catalog_class *from,
                                    struct catalog_class *class)
{
  struct builder *into = merging->into;
  const struct catalog_method *methods =
      (const struct catalog_method *)merging->part->methods.items + from->first_method;
  const struct catalog_parameter *parameters = merging->part->parameters.items;
  class->first_method = (uint32_t)into->methods.count;
  struct catalog_method *added = array_add(&into->methods, from->method_count);
  if (added == NULL)
    return jp_fail_memory(merging->error, "class files");
  for (size_t i = 0; i < from->method_count; i++) {
    added[i] = methods[i];
    added[i].name = merging->strings[methods[i].name];
    added[i].descriptor = merging->strings[methods[i].descriptor];
    added[i].signature = merging->strings[methods[i].signature];
    if (methods[i].first_parameter == CATALOG_NONE)
      continue;
    if (into->parameters.count > RECORD_COUNT_MAX)
      return jp_fail(merging->error, JP_LIMIT, "more parameters than a catalog holds");
    added[i].first_parameter = (uint32_t)into->parameters.count;
    struct catalog_parameter *named = array_add(&into->parameters, methods[i].parameter_count);
    if (named == NULL)
      return jp_fail_memory(merging->error, "class files");
    for (unsigned at = 0; at < methods[i].parameter_count; at++) {
      const struct catalog_parameter *parameter = &parameters[methods[i].first_parameter + at];
      named[at] = (struct catalog_parameter){merging->strings[parameter->name], parameter->access};
    }
  }
  return JP_OK;
}

static enum jp_status merge_members(struct merging *merging, const struct catalog_class *from,
                                    struct catalog_class *class)
{
  struct builder *into = merging->into;
  const struct builder *part = merging->part;
  const struct catalog_link *links = (const struct catalog_link *)part->links.items + from->first_interface;
  const struct catalog_field *fields = (const struct catalog_field *)part->fields.items + from->first_field;
  class->first_interface = (uint32_t)into->links.count;
  class->first_field = (uint32_t)into->fields.count;
  struct catalog_link *added_links = array_add(&into->links, from->interface_count);
  struct catalog_field *added_fields = array_add(&into->fields, from->field_count);
  if (added_links == NULL || added_fields == NULL)
    return jp_fail_memory(merging->error, "class files");
  for (size_t i = 0; i < from->interface_count; i++)
    added_links[i] = (struct catalog_link){merging->strings[links[i].name], CATALOG_NONE};
  for (size_t i = 0; i < from->field_count; i++) {
    added_fields[i] = fields[i];
    added_fields[i].name = merging->strings[fields[i].name];
    added_fields[i].descriptor = merging->strings[fields[i].descriptor];
    added_fields[i].signature = merging->strings[fields[i].signature];
  }
  return merge_methods(merging, from, class);
}

static enum jp_status merge_class(struct merging *merging, const struct catalog_class *from)
{
  struct catalog_class class = *from;
  struct builder *into = merging->into;
  uint32_t place;
  class.name = merging->strings[from->name];
  class.part = merging->parts[from->part];
  builder_enter_part(into, class.part);
  enum jp_status status = find_place(into, class.name, &place, merging->error);
  if (status != JP_OK || place == CATALOG_NONE)
    return status;
  class.superclass = (struct catalog_link){merging->strings[from->superclass.name], CATALOG_NONE};
  class.source_file = merging->strings[from->source_file];
  status = merge_members(merging, from, &class);
  if (status == JP_OK)
    ((struct catalog_class *)into->classes.items)[place] = class;
  return status;
}

enum jp_status builder_merge(struct builder *builder, struct builder *part, struct jp_error *error)
{
  struct merging merging = {.into = builder, .part = part, .error = error};
  const struct text *warnings = part->kept_warnings.items;
  enum jp_status status = builder_count_bytes(builder, part->bytes, error);
  merging.strings = calloc(string_pool_count(part->strings), sizeof *merging.strings);
  merging.parts = calloc((size_t)part->part_count + 1, sizeof *merging.parts);
  if (status == JP_OK && (merging.strings == NULL || merging.parts == NULL))
    status = jp_fail_memory(error, "class files");
  for (size_t i = 0; i < part->kept_warnings.count; i++)
    warn_of_text(builder, warnings[i]);
  for (size_t i = 1; status == JP_OK && i <= part->part_count; i++)
    merging.parts[i] = builder_make_part(builder);
  if (status == JP_OK)
    status = merge_strings(&merging);
  const struct catalog_class *classes = part->classes.items;
  for (size_t i = 0; status == JP_OK && i < part->classes.count; i++)
    status = merge_class(&merging, &classes[i]);
  builder_enter_part(builder, 0);
  free(merging.strings);
  free(merging.parts);
  return status;
}

/* ---- */

static int compare_classes(const void *left, const void *right, void *context)
{
  const struct builder *builder = context;
  return text_order(string_pool_text(builder->strings, ((const struct catalog_class *)left)->name),
                    string_pool_text(builder->strings, ((const struct catalog_class *)right)->name));
}

static void resolve_link(const struct builder *builder, struct catalog_link *link)
{
  const struct array *known = &builder->class_of_name;
  link->class_index = link->name != 0 && link->name < known->count
                          ? ((const uint32_t *)known->items)[link->name]
                          : CATALOG_NONE;
}

static void link_classes(struct builder *builder)
{
  struct catalog_class *classes = builder->classes.items;
  uint32_t *class_of_name = builder->class_of_name.items;
  for (size_t i = 0; i < builder->classes.count; i++)
    class_of_name[classes[i].name] = (uint32_t)i;
  for (size_t i = 0; i < builder->classes.count; i++)
    resolve_link(builder, &classes[i].superclass);
  struct catalog_link *links = builder->links.items;
  for (size_t i = 0; i < builder->links.count; i++)
    resolve_link(builder, &links[i]);
}

static bool counts_as_subclass(const struct catalog_class *class)
{
  return !class->hidden && class->superclass.class_index != CATALOG_NONE;
}

static bool list_subclasses(struct builder *builder)
{
  struct catalog_class *classes = builder->classes.items;
  size_t total = 0;
  for (size_t i = 0; i < builder->classes.count; i++) {
    if (counts_as_subclass(&classes[i])) {
      classes[classes[i].superclass.class_index].subclass_count++;
      total++;
    }
  }
  uint32_t *subclasses = array_add(&builder->subclasses, total);
  if (subclasses == NULL)
    return false;
  uint32_t next = 0;
  for (size_t i = 0; i < builder->classes.count; i++) {
    classes[i].first_subclass = next;
    next += classes[i].subclass_count;
    classes[i].subclass_count = 0; /* counted again below, while they are inserted by name */
  }
  for (size_t i = 0; i < builder->classes.count; i++) {
    if (counts_as_subclass(&classes[i])) {
      struct catalog_class *above = &classes[classes[i].superclass.class_index];
      subclasses[above->first_subclass + above->subclass_count++] = (uint32_t)i;
    }
  }
  return true;
}

static bool fill_parts(struct builder *builder)
{
  size_t count = (size_t)builder->part_count + 1;
  struct catalog_part *parts = array_add(&builder->parts, count);
  const struct catalog_class *classes = builder->classes.items;
  if (parts == NULL)
    return false;
  memset(parts, 0, count * sizeof *parts);
  for (size_t i = 0; i < builder->classes.count; i++) {
    if (classes[i].part != 0 && !classes[i].hidden)
      parts[classes[i].part].some_class = classes[i].name;
  }
  return true;
}

enum jp_status builder_finish(struct builder *builder, struct catalog_tables *tables, struct jp_error *error)
{
  if (builder->classes.count > 0)
    qsort_r(builder->classes.items, builder->classes.count, sizeof(struct catalog_class), compare_classes,
            builder);
  link_classes(builder);
  if (!list_subclasses(builder) || !fill_parts(builder))
    return jp_fail_memory(error, "class files");
  arena_fini(&builder->arena);
  array_fini(&builder->class_of_name);
  string_pool_seal(builder->strings);
  array_shrink(&builder->classes);
  array_shrink(&builder->methods);
  array_shrink(&builder->fields);
  array_shrink(&builder->parameters);
  array_shrink(&builder->links);
  *tables = (struct catalog_tables){
      .classes = builder->classes.items,
      .class_count = builder->classes.count,
      .methods = builder->methods.items,
      .method_count = builder->methods.count,
      .fields = builder->fields.items,
      .field_count = builder->fields.count,
      .parameters = builder->parameters.items,
      .links = builder->links.items,
      .subclasses = builder->subclasses.items,
      .parts = builder->parts.items,
      .part_count = builder->parts.count,
      .strings = builder->strings,
  };
  return JP_OK;
}
