#include "rpc/meta/meta_members.h"

#include "classfile/class_file.h"
#include "classfile/signature.h"
#include "rpc/meta/meta_lineage.h"
#include "rpc/meta/meta_query.h"

#include <stdlib.h>

enum { FIRST_SEEN = 256, NO_MEMBER = UINT32_MAX };

/* A method by name and parameter types, or a field by name: it hides the same signature of farther
 * classes. */
struct meta_signature {
  struct meta_signature *next;
  uint64_t hash;
  uint32_t name;
  struct text parameters; /* "(...)" of a method's descriptor; empty for a field */
  uint32_t member;        /* index in methods or fields of the members; NO_MEMBER: it is not shown */
};

void meta_members_init(struct meta_members *members)
{
  *members = (struct meta_members){0};
  array_init(&members->constructors, sizeof(struct meta_member));
  array_init(&members->methods, sizeof(struct meta_member));
  array_init(&members->fields, sizeof(struct meta_member));
  array_init(&members->lineage, sizeof(uint32_t));
  arena_init(&members->arena);
}

void meta_members_fini(struct meta_members *members)
{
  array_fini(&members->constructors);
  array_fini(&members->methods);
  array_fini(&members->fields);
  array_fini(&members->lineage);
  free(members->visited);
  members->visited = NULL;
  arena_fini(&members->arena);
}

static bool is_constructor(const struct catalog_tables *tables, const struct catalog_method *method)
{
  return text_equal(catalog_text(tables, method->name), TEXT("<init>"));
}

bool meta_members_shows(const struct catalog_tables *tables, const struct catalog_class *class,
                        const struct catalog_method *method)
{
  if (method->hidden)
    return false;
  return (class->access & (ACCESS_ABSTRACT | ACCESS_INTERFACE | ACCESS_ENUM)) == 0 ||
         !is_constructor(tables, method);
}

static bool add_member(struct meta_members *members, struct array *table, struct meta_member member)
{
  struct meta_member *added = array_add(table, 1);
  if (added == NULL)
    return false;
  *added = member;
  members->allowed_count += member.allowed;
  return true;
}

static enum jp_status collect_declared(struct meta_members *members, const struct meta_query *query,
                                       uint32_t class_index)
{
  const struct catalog_tables *tables = query->tables;
  const struct catalog_class *class = &tables->classes[class_index];
  for (uint32_t i = class->first_method; i < class->first_method + class->method_count; i++) {
    const struct catalog_method *method = &tables->methods[i];
    if (!meta_members_shows(tables, class, method))
      continue;
    struct meta_member member = {i, class_index,
                                 meta_query_allows_method(query, class_index, class_index, method), false};
    if (!add_member(members, is_constructor(tables, method) ? &members->constructors : &members->methods,
                    member))
      return JP_NO_MEMORY;
  }
  for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
    const struct catalog_field *field = &tables->fields[i];
    struct meta_member member = {i, class_index,
                                 meta_query_allows_field(query, class_index, class_index, field), false};
    if (!field->hidden && !add_member(members, &members->fields, member))
      return JP_NO_MEMORY;
  }
  return JP_OK;
}

static uint64_t hash_signature(uint32_t name, struct text parameters)
{
  return text_hash(parameters) ^ name * (uint64_t)0x9E3779B97F4A7C15u;
}

static struct meta_signature *find_seen(const struct meta_members *members, uint32_t name,
                                        struct text parameters)
{
  uint64_t hash = hash_signature(name, parameters);
  struct meta_signature *at = members->seen[hash & (members->seen_size - 1)];
  while (at != NULL && !(at->hash == hash && at->name == name && text_equal(at->parameters, parameters)))
    at = at->next;
  return at;
}

static bool add_seen(struct meta_members *members, uint32_t name, struct text parameters, uint32_t member)
{
  struct meta_signature *added = arena_alloc(&members->arena, sizeof *added);
  if (added == NULL)
    return false;
  uint64_t hash = hash_signature(name, parameters);
  struct meta_signature **bucket = &members->seen[hash & (members->seen_size - 1)];
  *added = (struct meta_signature){*bucket, hash, name, parameters, member};
  *bucket = added;
  return true;
}

/* Makes a bucket for each member that the lineage declares, so that lists stay short. */
static bool open_seen(struct meta_members *members, const struct catalog_tables *tables)
{
  size_t total = 0;
  const uint32_t *lineage = members->lineage.items;
  for (size_t i = 0; i < members->lineage.count; i++)
    total += (size_t)tables->classes[lineage[i]].method_count + tables->classes[lineage[i]].field_count;
  members->seen_size = FIRST_SEEN;
  while (members->seen_size < total)
    members->seen_size *= 2;
  members->seen = arena_calloc(&members->arena, members->seen_size, sizeof(struct meta_signature *));
  return members->seen != NULL;
}

static struct text package_of(const struct catalog_tables *tables, uint32_t class_index)
{
  struct text name = catalog_text(tables, tables->classes[class_index].name);
  size_t dot = text_find_last(name, '.');
  return text_slice(name, 0, dot == SIZE_MAX ? 0 : dot);
}

/* True where a nearer method of the same signature overrides this one, and does not merely hide it (JLS
 * 8.4.8.1). */
static bool can_be_overridden(const struct catalog_tables *tables, const struct catalog_method *method,
                              uint32_t declaring, uint32_t by)
{
  if ((method->access & (ACCESS_PRIVATE | ACCESS_STATIC)) != 0)
    return false;
  return (method->access & (ACCESS_PUBLIC | ACCESS_PROTECTED)) != 0 ||
         text_equal(package_of(tables, declaring), package_of(tables, by));
}

static void mark_overriding(struct meta_members *members, const struct catalog_tables *tables,
                            const struct meta_signature *nearer, const struct catalog_method *method,
                            uint32_t declaring)
{
  if (nearer->member == NO_MEMBER)
    return;
  struct meta_member *member = (struct meta_member *)members->methods.items + nearer->member;
  bool is_static = (tables->methods[member->index].access & ACCESS_STATIC) != 0;
  if (member->declaring != declaring && !is_static &&
      can_be_overridden(tables, method, declaring, member->declaring))
    member->overridden = true;
}

/* Operations reach every visibility, so private methods count as inherited. An interface's private and static
 * methods do not (JLS 8.4.8). */
static bool is_inherited(const struct catalog_method *method, bool from_interface)
{
  return !from_interface || (method->access & (ACCESS_PRIVATE | ACCESS_STATIC)) == 0;
}

static struct text parameters_of(const struct catalog_tables *tables, const struct catalog_method *method)
{
  return descriptor_parameters(catalog_text(tables, method->descriptor));
}

/* True where a bridge hides a method that the caller may use of the object, and the bridge's target is denied: the
 * method is then listed after all, because its name and parameters are all that the caller may give. */
static bool is_open_by_bridge(const struct meta_members *members, const struct catalog_tables *tables,
                              const struct meta_signature *nearer, const struct catalog_method *method)
{
  if (!method->is_open || nearer->member == NO_MEMBER)
    return method->is_open;
  const struct meta_member *members_seen = members->methods.items;
  const struct catalog_method *target = &tables->methods[members_seen[nearer->member].index];
  return !target->is_open && !text_equal(parameters_of(tables, target), parameters_of(tables, method));
}

static enum jp_status inherit_method(struct meta_members *members, const struct meta_query *query,
                                     uint32_t index, uint32_t declaring)
{
  const struct catalog_method *method = &query->tables->methods[index];
  struct text parameters = parameters_of(query->tables, method);
  struct meta_signature *nearer = find_seen(members, method->name, parameters);
  bool is_hidden = nearer != NULL && !is_open_by_bridge(members, query->tables, nearer, method);
  if (is_hidden) {
    mark_overriding(members, query->tables, nearer, method, declaring);
    return JP_OK;
  }
  const uint32_t *lineage = members->lineage.items;
  uint32_t position = (uint32_t)members->methods.count;
  struct meta_member member = {index, declaring,
                               meta_query_allows_method(query, lineage[0], declaring, method), false};
  if (nearer != NULL)
    nearer->member = position;
  bool kept = add_member(members, &members->methods, member) &&
              (nearer != NULL || add_seen(members, method->name, parameters, position));
  return kept ? JP_OK : JP_NO_MEMORY;
}

/* True where a bridge with these parameter types could call a method with those: primitive types have to be
 * equal, classes may differ. */
static bool could_bridge(struct text bridge, struct text target)
{
  bridge = text_slice(bridge, 1, bridge.len);
  target = text_slice(target, 1, target.len);
  while (bridge.data[0] != ')' && target.data[0] != ')') {
    struct text from = bridge;
    struct text to = target;
    if (!descriptor_read_type(&bridge, NULL) || !descriptor_read_type(&target, NULL))
      return false;
    bool both_classes = strchr("L[", from.data[0]) != NULL && strchr("L[", to.data[0]) != NULL;
    if (!both_classes && from.data[0] != to.data[0])
      return false;
  }
  return bridge.data[0] == target.data[0];
}

/* A bridge method overrides on behalf of a method with other parameter types (JLS 15.12.4.5): it hides the
 * inherited method, and the method that it calls counts as the one that overrides. */
static enum jp_status note_bridge(struct meta_members *members, const struct catalog_tables *tables,
                                  const struct catalog_method *bridge, size_t first_of_class)
{
  struct text parameters = parameters_of(tables, bridge);
  if (find_seen(members, bridge->name, parameters) != NULL)
    return JP_OK;
  const struct meta_member *own = members->methods.items;
  uint32_t target = NO_MEMBER;
  for (size_t i = first_of_class; i < members->methods.count && target == NO_MEMBER; i++) {
    const struct catalog_method *method = &tables->methods[own[i].index];
    if (method->name == bridge->name && method->parameter_count == bridge->parameter_count &&
        could_bridge(parameters, parameters_of(tables, method)))
      target = (uint32_t)i;
  }
  return add_seen(members, bridge->name, parameters, target) ? JP_OK : JP_NO_MEMORY;
}

static enum jp_status inherit_methods(struct meta_members *members, const struct meta_query *query,
                                      size_t generation)
{
  const struct catalog_tables *tables = query->tables;
  uint32_t declaring = ((const uint32_t *)members->lineage.items)[generation];
  const struct catalog_class *class = &tables->classes[declaring];
  size_t first_of_class = generation == 0 ? 0 : members->methods.count;
  enum jp_status status = JP_OK;
  for (uint32_t i = class->first_method; status == JP_OK && i < class->first_method + class->method_count;
       i++) {
    const struct catalog_method *method = &tables->methods[i];
    if (generation > 0 && !method->hidden && !is_constructor(tables, method) &&
        is_inherited(method, generation >= members->chain_length))
      status = inherit_method(members, query, i, declaring);
  }
  for (uint32_t i = class->first_method; status == JP_OK && i < class->first_method + class->method_count;
       i++) {
    if ((tables->methods[i].access & ACCESS_BRIDGE) != 0)
      status = note_bridge(members, tables, &tables->methods[i], first_of_class);
  }
  return status;
}

static enum jp_status inherit_fields(struct meta_members *members, const struct meta_query *query,
                                     uint32_t declaring)
{
  const struct catalog_tables *tables = query->tables;
  const struct catalog_class *class = &tables->classes[declaring];
  uint32_t named = ((const uint32_t *)members->lineage.items)[0];
  for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
    const struct catalog_field *field = &tables->fields[i];
    if (field->hidden)
      continue;
    const struct meta_signature *nearer = find_seen(members, field->name, TEXT(""));
    if (nearer != NULL) {
      ((struct meta_member *)members->fields.items)[nearer->member].overridden = true;
      continue;
    }
    uint32_t position = (uint32_t)members->fields.count;
    struct meta_member member = {i, declaring, meta_query_allows_field(query, named, declaring, field),
                                 false};
    if (!add_member(members, &members->fields, member) || !add_seen(members, field->name, TEXT(""), position))
      return JP_NO_MEMORY;
  }
  return JP_OK;
}

static bool note_declared(struct meta_members *members, const struct catalog_tables *tables)
{
  const struct meta_member *methods = members->methods.items;
  for (uint32_t i = 0; i < members->methods.count; i++) {
    const struct catalog_method *method = &tables->methods[methods[i].index];
    if (!add_seen(members, method->name, parameters_of(tables, method), i))
      return false;
  }
  const struct meta_member *fields = members->fields.items;
  for (uint32_t i = 0; i < members->fields.count; i++) {
    if (!add_seen(members, tables->fields[fields[i].index].name, TEXT(""), i))
      return false;
  }
  return true;
}

static enum jp_status collect_inherited(struct meta_members *members, const struct meta_query *query,
                                        uint32_t class_index)
{
  arena_reset(&members->arena);
  enum jp_status status = meta_lineage_walk(members, query->tables, class_index);
  if (status != JP_OK)
    return status;
  if (!open_seen(members, query->tables) || !note_declared(members, query->tables))
    return JP_NO_MEMORY;
  for (size_t i = 0; status == JP_OK && i < members->lineage.count; i++) {
    status = inherit_methods(members, query, i);
    if (status == JP_OK && i > 0)
      status = inherit_fields(members, query, ((const uint32_t *)members->lineage.items)[i]);
  }
  return status;
}

enum jp_status meta_members_collect(struct meta_members *members, const struct meta_query *query,
                                    uint32_t class_index)
{
  members->constructors.count = 0;
  members->methods.count = 0;
  members->fields.count = 0;
  members->allowed_count = 0;
  enum jp_status status = collect_declared(members, query, class_index);
  if (status == JP_OK && query->merge_ancestry)
    status = collect_inherited(members, query, class_index);
  return status;
}
