#include "rpc/methods/java_methods.h"

#include "classfile/class_file.h"
#include "classfile/signature.h"

enum jp_status java_methods_init(struct java_methods *methods, const struct catalog_tables *tables,
                                 const struct policy *policy, enum policy_channel channel)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  *methods = (struct java_methods){0};
  meta_members_init(&methods->members);
  return meta_query_init(&methods->query, tables, policy, channel, &everything);
}

void java_methods_fini(struct java_methods *methods)
{
  meta_members_fini(&methods->members);
  meta_query_fini(&methods->query);
}

static struct text take_type(struct text *rest)
{
  struct text from = *rest;
  return signature_read_type(rest, NULL) ? text_slice(from, 0, from.len - rest->len) : TEXT_ABSENT;
}

static void read_types(struct java_method *method, struct text signature)
{
  bool is_constructor = method->result.data == NULL;
  struct method_types types;
  method_types_open(&types, method->descriptor, signature, method->parameter_count, is_constructor);
  for (unsigned i = 0; i < method->parameter_count; i++)
    method->parameters[i].type = method_types_next(&types, NULL);
  if (is_constructor)
    return;
  struct text result = TEXT_ABSENT;
  if (types.has_signature) {
    struct text rest = text_slice(types.signature, 1, types.signature.len);
    result = take_type(&rest);
  }
  method->result = result.data != NULL ? result : text_slice(types.descriptor, 1, types.descriptor.len);
}

static bool is_taken(const struct java_method *method, unsigned before, struct text name)
{
  if (method->has_receiver && text_equal(name, TEXT("instance")))
    return true;
  for (unsigned i = 0; i < before; i++) {
    if (text_equal(method->parameters[i].name, name))
      return true;
  }
  return false;
}

static bool name_parameters(const struct catalog_tables *tables, struct java_method *method,
                            struct arena *arena)
{
  for (unsigned i = 0; i < method->parameter_count; i++) {
    struct text name = TEXT("");
    if (method->method->first_parameter != CATALOG_NONE)
      name = catalog_text(tables, tables->parameters[method->method->first_parameter + i].name);
    if (name.len == 0)
      name = arena_printf(arena, "arg%u", i);
    while (name.data != NULL && is_taken(method, i, name))
      name = arena_printf(arena, "%.*s_", TEXT_ARGS(name));
    if (name.data == NULL)
      return false;
    method->parameters[i].name = name;
  }
  return true;
}

static bool describe_method(const struct catalog_tables *tables, const struct meta_member *member,
                            bool is_constructor, struct arena *arena, struct java_method *out)
{
  const struct catalog_method *method = &tables->methods[member->index];
  bool is_static = (method->access & ACCESS_STATIC) != 0;
  *out = (struct java_method){
      .method = method,
      .member = is_constructor ? TEXT("new") : catalog_text(tables, method->name),
      .descriptor = catalog_text(tables, method->descriptor),
      .parameters = arena_calloc(arena, method->parameter_count, sizeof *out->parameters),
      .result = is_constructor ? TEXT_ABSENT : TEXT(""),
      .declaring = member->declaring,
      .parameter_count = method->parameter_count,
      .has_receiver = !is_constructor && !is_static,
      .is_varargs = (method->access & ACCESS_VARARGS) != 0,
      .allowed = member->allowed,
  };
  if (out->parameters == NULL)
    return false;
  read_types(out, catalog_text(tables, method->signature));
  return name_parameters(tables, out, arena);
}

static void mark_overloads(struct java_method *methods, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i + 1; j < count; j++) {
      if (!text_equal(methods[i].member, methods[j].member))
        continue;
      methods[i].overloaded = true;
      methods[j].overloaded = true;
    }
  }
}

enum jp_status java_methods_collect(struct java_methods *methods, uint32_t class_index, struct text member,
                                    struct arena *arena, struct java_method **found, size_t *count)
{
  const struct catalog_tables *tables = methods->query.tables;
  struct meta_members *members = &methods->members;
  enum jp_status status = meta_members_collect(members, &methods->query, class_index);
  if (status != JP_OK)
    return status;
  size_t all = members->constructors.count + members->methods.count;
  struct java_method *out = arena_calloc(arena, all, sizeof *out);
  if (out == NULL)
    return JP_NO_MEMORY;
  *found = out;
  *count = 0;
  for (size_t i = 0; i < all; i++) {
    bool is_constructor = i < members->constructors.count;
    const struct meta_member *at =
        is_constructor ? (const struct meta_member *)members->constructors.items + i
                       : (const struct meta_member *)members->methods.items + i - members->constructors.count;
    struct text name = is_constructor ? TEXT("new") : catalog_text(tables, tables->methods[at->index].name);
    if (member.data != NULL && !text_equal(name, member))
      continue;
    if (!describe_method(tables, at, is_constructor, arena, &out[*count]))
      return JP_NO_MEMORY;
    ++*count;
  }
  mark_overloads(out, *count);
  return JP_OK;
}

enum jp_status java_methods_collect_named(const struct catalog_tables *tables, const struct policy *policy,
                                          uint32_t class_index, struct text member, struct arena *arena,
                                          struct java_method **found, size_t *count)
{
  struct java_methods methods;
  enum jp_status status = java_methods_init(&methods, tables, policy, POLICY_CLI);
  if (status == JP_OK)
    status = java_methods_collect(&methods, class_index, member, arena, found, count);
  java_methods_fini(&methods);
  return status;
}
