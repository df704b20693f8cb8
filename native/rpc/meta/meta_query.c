#include "rpc/meta/meta_query.h"

#include "base/primitives.h"
#include "classfile/class_file.h"
#include "classfile/signature.h"
#include "rpc/meta/meta.h"

#include <stdlib.h>

/* ---- prefixes ---- */

static int compare_texts(const void *left, const void *right)
{
  return text_order(*(const struct text *)left, *(const struct text *)right);
}

/* Drops prefixes that begin with another prefix, because the shorter prefix covers the longer. In sorted
 * order the longer prefixes follow the shorter. Moves the prefixes that are kept to the front, and returns
 * their number. */
static size_t drop_covered(struct text *sorted, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || !text_starts_with(sorted[i], sorted[kept - 1]))
      sorted[kept++] = sorted[i];
  }
  return kept;
}

static bool copy_texts(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                       struct arena *arena)
{
  prefixes->items = arena_alloc(arena, count * sizeof *prefixes->items);
  if (prefixes->items == NULL)
    return false;
  for (; prefixes->count < count; prefixes->count++) {
    struct text text = arena_text(arena, texts[prefixes->count]);
    if (text.data == NULL)
      return false;
    prefixes->items[prefixes->count] = text;
  }
  return true;
}

enum jp_status meta_prefixes_init(struct meta_prefixes *prefixes, const struct text *texts, size_t count,
                                  struct arena *arena)
{
  *prefixes = (struct meta_prefixes){0};
  if (count == 0)
    return JP_OK;
  struct text *sorted = reallocarray(NULL, count, sizeof *sorted);
  if (sorted == NULL)
    return JP_NO_MEMORY;
  memcpy(sorted, texts, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_texts);
  bool copied = copy_texts(prefixes, sorted, drop_covered(sorted, count), arena);
  free(sorted);
  return copied ? JP_OK : JP_NO_MEMORY;
}

/* In sorted order the only possible prefix of the name is the last entry that is not greater than the
 * name. */
bool meta_prefixes_cover(const struct meta_prefixes *prefixes, struct text name)
{
  size_t from = 0;
  size_t to = prefixes->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (text_order(prefixes->items[middle], name) <= 0)
      from = middle + 1;
    else
      to = middle;
  }
  return from > 0 && text_starts_with(name, prefixes->items[from - 1]);
}

/* ---- the classes that can be named now ---- */

enum jp_status meta_reach_find(struct meta_reach *reach, const struct catalog_tables *tables,
                               const struct meta_loaders *loaders)
{
  *reach = (struct meta_reach){.classes = NULL};
  if (loaders == NULL || tables->part_count <= 1)
    return JP_OK;
  bool *is_found = calloc(tables->part_count, sizeof *is_found);
  reach->classes = malloc(tables->class_count + 1);
  bool made = is_found != NULL && reach->classes != NULL;
  if (made) {
    /* One class of a jar is asked about, and the answer counts for the whole jar, because asking about each
     * class would take seconds. */
    for (size_t i = 1; i < tables->part_count; i++) {
      uint32_t some_class = tables->parts[i].some_class;
      is_found[i] =
          some_class != 0 && loaders->main_finds(loaders->context, catalog_text(tables, some_class));
    }
    for (size_t i = 0; i < tables->class_count; i++) {
      const struct catalog_class *class = &tables->classes[i];
      reach->classes[i] = class->part == 0 || is_found[class->part] ||
                          loaders->is_loaded(loaders->context, catalog_text(tables, class->name));
    }
    reach->stamp = text_hash((struct text){(const char *)reach->classes, tables->class_count});
  } else {
    meta_reach_fini(reach);
  }
  free(is_found);
  return made ? JP_OK : JP_NO_MEMORY;
}

void meta_reach_fini(struct meta_reach *reach)
{
  free(reach->classes);
  reach->classes = NULL;
}

/* ---- what the caller may use ---- */

static struct text class_name(const struct meta_query *query, uint32_t class_index)
{
  return catalog_text(query->tables, query->tables->classes[class_index].name);
}

static enum policy_visibility visibility_of(unsigned access)
{
  if ((access & ACCESS_PUBLIC) != 0)
    return POLICY_PUBLIC;
  if ((access & ACCESS_PROTECTED) != 0)
    return POLICY_PROTECTED;
  return (access & ACCESS_PRIVATE) != 0 ? POLICY_PRIVATE : POLICY_PACKAGE_PRIVATE;
}

/* Judges the named class and then the declaring class, as they are judged for an operation (docs/policy.md,
 * "Whose class is judged"). */
static bool is_allowed(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                       enum policy_category category, unsigned access, uint32_t name)
{
  struct policy_query asked = {
      .channel = query->channel,
      .category = category,
      .visibility = visibility_of(access),
      .class_name = query->judged_name.data == NULL ? class_name(query, class_index) : query->judged_name,
      .member_name = catalog_text(query->tables, name),
  };
  /* Arrays of primitives have no class about which the policy could be asked. */
  if (!primitive_is_keyword(asked.class_name) && !policy_check(query->policy, &asked).allow)
    return false;
  if (declaring == class_index)
    return true;
  asked.class_name = class_name(query, declaring);
  return policy_check_other(query->policy, &asked).allow;
}

static bool is_left_out(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                        unsigned access)
{
  return query->only_public_ancestry && class_index != declaring && (access & ACCESS_PUBLIC) == 0;
}

static bool allows_method(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                          const struct catalog_method *method)
{
  bool is_constructor = text_equal(catalog_text(query->tables, method->name), TEXT("<init>"));
  enum policy_category category = is_constructor                          ? POLICY_CONSTRUCTOR
                                  : (method->access & ACCESS_STATIC) != 0 ? POLICY_STATIC_METHOD
                                                                          : POLICY_METHOD;
  return !is_left_out(query, class_index, declaring, method->access) &&
         (method->is_open ||
          is_allowed(query, class_index, declaring, category, method->access, method->name));
}

static bool allows_field(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                         const struct catalog_field *field)
{
  if (is_left_out(query, class_index, declaring, field->access))
    return false;
  if (is_allowed(query, class_index, declaring, POLICY_FIELD_GET, field->access, field->name))
    return true;
  /* A field that the caller may only write is shown, too, unless it is static and final: such a field cannot
   * be written. */
  bool constant = (field->access & (ACCESS_STATIC | ACCESS_FINAL)) == (ACCESS_STATIC | ACCESS_FINAL);
  return !constant && is_allowed(query, class_index, declaring, POLICY_FIELD_SET, field->access, field->name);
}

/* ---- the order in which a class inherits ---- */

/* Interfaces beyond this many levels are left out. */
enum { DEPTH_MAX = 128 };

static bool append_class(struct array *table, uint32_t class_index)
{
  uint32_t *added = array_add(table, 1);
  if (added != NULL)
    *added = class_index;
  return added != NULL;
}

/* True for the first visit of the class in this walk. */
static bool mark_visited(struct meta_members *members, uint32_t class_index)
{
  if (members->visited[class_index] == members->walk)
    return false;
  members->visited[class_index] = members->walk;
  return true;
}

/* Appends the interfaces of a class from the last to the first. Each interface follows the interfaces that it
 * extends. The caller then reverses the list, so that each interface precedes the interfaces that it
 * extends. */
static bool append_interfaces(struct meta_members *members, const struct catalog_tables *tables,
                              uint32_t class_index, unsigned depth)
{
  const struct catalog_class *class = &tables->classes[class_index];
  for (unsigned i = class->interface_count; depth < DEPTH_MAX && i-- > 0;) {
    uint32_t interface = tables->links[class->first_interface + i].class_index;
    if (interface == CATALOG_NONE || !mark_visited(members, interface))
      continue;
    if (!append_interfaces(members, tables, interface, depth + 1) ||
        !append_class(&members->lineage, interface))
      return false;
  }
  return true;
}

/* Fills members->lineage and chain_length. Class files that inherit in a circle are visited once each.
 * JP_NO_MEMORY. */
static enum jp_status walk_lineage(struct meta_members *members, const struct catalog_tables *tables,
                                   uint32_t class_index)
{
  if (members->visited == NULL)
    members->visited = calloc(tables->class_count, sizeof *members->visited);
  if (members->visited == NULL)
    return JP_NO_MEMORY;
  members->walk++;
  members->lineage.count = 0;
  for (uint32_t at = class_index; at != CATALOG_NONE && mark_visited(members, at);
       at = tables->classes[at].superclass.class_index) {
    if (!append_class(&members->lineage, at))
      return JP_NO_MEMORY;
  }
  members->chain_length = members->lineage.count;
  for (size_t i = members->chain_length; i-- > 0;) {
    uint32_t class = ((const uint32_t *)members->lineage.items)[i];
    if (!append_interfaces(members, tables, class, 0))
      return JP_NO_MEMORY;
  }
  uint32_t *interfaces = (uint32_t *)members->lineage.items + members->chain_length;
  size_t count = members->lineage.count - members->chain_length;
  for (size_t i = 0; i < count / 2; i++) {
    uint32_t kept = interfaces[i];
    interfaces[i] = interfaces[count - 1 - i];
    interfaces[count - 1 - i] = kept;
  }
  return JP_OK;
}

/* ---- the members of a class ---- */

enum { FIRST_SEEN = 256, NO_MEMBER = UINT32_MAX };

/* A method by name and parameter types, or a field by name: it hides the same signature of more distant
 * ancestors. */
struct meta_signature {
  struct meta_signature *next;
  uint64_t hash;
  uint32_t name;
  struct text parameters; /* "(...)" of a method's descriptor; empty for a field */
  uint32_t member;        /* index in methods or fields of the members; NO_MEMBER: not shown */
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

/* False for methods that the compiler made, and for constructors that `new` cannot use (of abstract
 * classes, interfaces and enums): they are never shown. */
static bool shows_method(const struct catalog_tables *tables, const struct catalog_class *class,
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
    if (!shows_method(tables, class, method))
      continue;
    struct meta_member member = {i, class_index, allows_method(query, class_index, class_index, method),
                                 false};
    if (!add_member(members, is_constructor(tables, method) ? &members->constructors : &members->methods,
                    member))
      return JP_NO_MEMORY;
  }
  for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
    const struct catalog_field *field = &tables->fields[i];
    struct meta_member member = {i, class_index, allows_field(query, class_index, class_index, field), false};
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

/* Makes a bucket for each member that the lineage declares, so that lists are short. */
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

/* True if a method of the same signature in the class `by`, a subclass, overrides this method. False: it only
 * hides this method (JLS 8.4.8.1). */
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

static struct text parameters_of(const struct catalog_tables *tables, const struct catalog_method *method)
{
  return descriptor_parameters(catalog_text(tables, method->descriptor));
}

/* True if the caller may use the method on the object, but a bridge hides it and the bridge's target is
 * denied. The method is then listed, because the caller may use only its name and its parameters. */
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
  struct meta_member member = {index, declaring, allows_method(query, lineage[0], declaring, method), false};
  if (nearer != NULL)
    nearer->member = position;
  bool kept = add_member(members, &members->methods, member) &&
              (nearer != NULL || add_seen(members, method->name, parameters, position));
  return kept ? JP_OK : JP_NO_MEMORY;
}

/* True if a bridge with the parameter types `bridge` could call a method with the parameter types `target`:
 * primitive types have to be equal, and classes may differ. */
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

/* A bridge method overrides on behalf of a method with other parameter types (JLS 15.12.4.5): the bridge
 * hides the inherited method, and the method that the bridge calls counts as the overriding method. */
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
    /* Operations can use members of every visibility, so private methods count as inherited. An
     * interface's private and static methods do not (JLS 8.4.8). */
    if (generation > 0 && !method->hidden && !is_constructor(tables, method) &&
        (generation < members->chain_length || (method->access & (ACCESS_PRIVATE | ACCESS_STATIC)) == 0))
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
    struct meta_member member = {i, declaring, allows_field(query, named, declaring, field), false};
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
  enum jp_status status = walk_lineage(members, query->tables, class_index);
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

/* ---- the query ---- */

enum meta_shown { SHOWN_UNKNOWN, SHOWN_YES, SHOWN_NO };

static bool starts_with_any(struct text name, const struct text *prefixes, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (text_starts_with(name, prefixes[i]))
      return true;
  }
  return false;
}

static int compare_indexes(const void *left, const void *right)
{
  uint32_t a = *(const uint32_t *)left;
  uint32_t b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static bool find_included(struct meta_query *query, const struct operation *operation)
{
  if (operation->meta.include_classes == NULL || operation->meta.include_count == 0)
    return true;
  query->included = arena_calloc(&query->arena, operation->meta.include_count, sizeof *query->included);
  if (query->included == NULL)
    return false;
  for (size_t i = 0; i < operation->meta.include_count; i++) {
    uint32_t found = catalog_find(query->tables, operation->meta.include_classes[i]);
    if (found != CATALOG_NONE)
      query->included[query->included_count++] = found;
  }
  qsort(query->included, query->included_count, sizeof *query->included, compare_indexes);
  return true;
}

enum jp_status meta_query_init(struct meta_query *query, const struct catalog_tables *tables,
                               const struct policy *policy, enum policy_channel channel,
                               const struct operation *operation)
{
  *query = (struct meta_query){
      .tables = tables,
      .policy = policy,
      .channel = channel,
      .merge_ancestry = operation->meta.merge_ancestry,
  };
  arena_init(&query->arena);
  meta_members_init(&query->first_look);
  query->shown = calloc(tables->class_count + 1, sizeof *query->shown);
  if (query->shown != NULL && find_included(query, operation) &&
      meta_prefixes_init(&query->excludes, operation->meta.exclude_prefixes, operation->meta.exclude_count,
                         &query->arena) == JP_OK)
    return JP_OK;
  meta_query_fini(query);
  return JP_NO_MEMORY;
}

void meta_query_fini(struct meta_query *query)
{
  meta_members_fini(&query->first_look);
  free(query->shown);
  query->shown = NULL;
  arena_fini(&query->arena);
}

/* docs/metadata.md, "Which classes" */
static bool is_in_default_scope(const struct meta_query *query, uint32_t class_index)
{
  static const struct text left_out[] = {TEXT("com.sun."), TEXT("sun."), TEXT("jdk.")};
  return query->tables->classes[class_index].origin != CATALOG_JDK_INTERNAL &&
         !starts_with_any(class_name(query, class_index), left_out, sizeof left_out / sizeof left_out[0]);
}

static bool may_be_shown(const struct meta_query *query, uint32_t class_index)
{
  struct text name = class_name(query, class_index);
  return !query->tables->classes[class_index].hidden && meta_reach_has(query->reach, class_index) &&
         !meta_prefixes_cover(&query->excludes, name) &&
         policy_shows_class(query->policy, query->channel, name);
}

bool meta_query_next(struct meta_query *query, size_t *position, uint32_t *class_index)
{
  size_t count = query->included != NULL ? query->included_count : query->tables->class_count;
  while (*position < count) {
    size_t at = (*position)++;
    uint32_t candidate = query->included != NULL ? query->included[at] : (uint32_t)at;
    bool again = query->included != NULL && at > 0 && query->included[at - 1] == candidate;
    bool wanted = query->included != NULL || is_in_default_scope(query, candidate);
    if (again || !wanted || query->shown[candidate] == SHOWN_NO || !may_be_shown(query, candidate))
      continue;
    *class_index = candidate;
    return true;
  }
  return false;
}

static bool has_allowed_member(struct meta_query *query, uint32_t class_index)
{
  /* In nearly every class one of the first members is allowed. The ancestors of such a class need not be
   * examined. */
  const struct catalog_class *class = &query->tables->classes[class_index];
  const struct catalog_method *methods = query->tables->methods + class->first_method;
  for (unsigned i = 0; i < class->method_count; i++) {
    if (shows_method(query->tables, class, &methods[i]) &&
        allows_method(query, class_index, class_index, &methods[i]))
      return true;
  }
  const struct catalog_field *fields = query->tables->fields + class->first_field;
  for (unsigned i = 0; i < class->field_count; i++) {
    if (!fields[i].hidden && allows_field(query, class_index, class_index, &fields[i]))
      return true;
  }
  return query->merge_ancestry && meta_members_collect(&query->first_look, query, class_index) == JP_OK &&
         !meta_members_are_denied(&query->first_look);
}

bool meta_query_knows(struct meta_query *query, uint32_t class_index)
{
  uint8_t *shown = &query->shown[class_index];
  if (*shown == SHOWN_UNKNOWN) {
    bool is_named = query->included != NULL && bsearch(&class_index, query->included, query->included_count,
                                                       sizeof *query->included, compare_indexes) != NULL;
    bool yes = (is_named || is_in_default_scope(query, class_index)) && may_be_shown(query, class_index) &&
               has_allowed_member(query, class_index);
    *shown = yes ? SHOWN_YES : SHOWN_NO;
  }
  return *shown == SHOWN_YES;
}
