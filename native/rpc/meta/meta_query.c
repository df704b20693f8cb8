#include "rpc/meta/meta_query.h"

#include "base/primitives.h"
#include "classfile/class_file.h"

#include <stdlib.h>

enum meta_shown { SHOWN_UNKNOWN, SHOWN_YES, SHOWN_NO };

static bool starts_with_any(struct text name, const struct text *prefixes, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (text_starts_with(name, prefixes[i]))
      return true;
  }
  return false;
}

static struct text class_name(const struct meta_query *query, uint32_t class_index)
{
  return catalog_text(query->tables, query->tables->classes[class_index].name);
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

static bool is_named(const struct meta_query *query, uint32_t class_index)
{
  return query->included != NULL && bsearch(&class_index, query->included, query->included_count,
                                            sizeof *query->included, compare_indexes) != NULL;
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
  /* Nearly every class has an allowed member among its first, and then its ancestors do not matter. */
  const struct catalog_class *class = &query->tables->classes[class_index];
  const struct catalog_method *methods = query->tables->methods + class->first_method;
  for (unsigned i = 0; i < class->method_count; i++) {
    if (meta_members_shows(query->tables, class, &methods[i]) &&
        meta_query_allows_method(query, class_index, class_index, &methods[i]))
      return true;
  }
  const struct catalog_field *fields = query->tables->fields + class->first_field;
  for (unsigned i = 0; i < class->field_count; i++) {
    if (!fields[i].hidden && meta_query_allows_field(query, class_index, class_index, &fields[i]))
      return true;
  }
  return query->merge_ancestry && meta_members_collect(&query->first_look, query, class_index) == JP_OK &&
         !meta_members_are_denied(&query->first_look);
}

bool meta_query_knows(struct meta_query *query, uint32_t class_index)
{
  uint8_t *shown = &query->shown[class_index];
  if (*shown == SHOWN_UNKNOWN) {
    bool yes = (is_in_default_scope(query, class_index) || is_named(query, class_index)) &&
               may_be_shown(query, class_index) && has_allowed_member(query, class_index);
    *shown = yes ? SHOWN_YES : SHOWN_NO;
  }
  return *shown == SHOWN_YES;
}

static enum policy_visibility visibility_of(unsigned access)
{
  if ((access & ACCESS_PUBLIC) != 0)
    return POLICY_PUBLIC;
  if ((access & ACCESS_PROTECTED) != 0)
    return POLICY_PROTECTED;
  return (access & ACCESS_PRIVATE) != 0 ? POLICY_PRIVATE : POLICY_PACKAGE_PRIVATE;
}

static struct text judged_name(const struct meta_query *query, uint32_t class_index)
{
  return query->judged_name.data == NULL ? class_name(query, class_index) : query->judged_name;
}

/* Judges the named class and then the declaring one, as for an operation (docs/policy.md, "Whose class is
 * judged"). */
static bool is_allowed(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                       enum policy_category category, unsigned access, uint32_t name)
{
  struct policy_query asked = {
      .channel = query->channel,
      .category = category,
      .visibility = visibility_of(access),
      .class_name = judged_name(query, class_index),
      .member_name = catalog_text(query->tables, name),
  };
  /* Arrays of primitives have no class that the policy could be asked about. */
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

bool meta_query_allows_method(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
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

bool meta_query_allows_field(const struct meta_query *query, uint32_t class_index, uint32_t declaring,
                             const struct catalog_field *field)
{
  if (is_left_out(query, class_index, declaring, field->access))
    return false;
  if (is_allowed(query, class_index, declaring, POLICY_FIELD_GET, field->access, field->name))
    return true;
  /* A field that may only be written is shown, too; static final fields cannot be written. */
  bool constant = (field->access & (ACCESS_STATIC | ACCESS_FINAL)) == (ACCESS_STATIC | ACCESS_FINAL);
  return !constant && is_allowed(query, class_index, declaring, POLICY_FIELD_SET, field->access, field->name);
}
