#include "rpc/methods/java_methods_find.h"

#include "classfile/catalog.h"
#include "classfile/class_file.h"
#include "op/type.h"
#include "rpc/methods/near_names.h"

struct text java_method_finder_show_name(const struct java_method_finder *finder)
{
  return arena_shorten(finder->arena, finder->request->method, OUTCOME_NAME_SHOWN);
}

static enum jp_status fail_name(struct java_method_finder *finder, const char *why)
{
  outcome_fail(finder->outcome, finder->arena, FAILURE_NOT_FOUND, NULL, "Invalid method: %.*s%s",
               TEXT_ARGS(java_method_finder_show_name(finder)), why);
  return JP_NOT_FOUND;
}

static enum jp_status fail_memory(struct java_method_finder *finder)
{
  outcome_fail(finder->outcome, finder->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

/* ---- the name ---- */

/* A class without a package looks like any other dotted name: its denial says that there is no such method. */
static enum jp_status ask_policy(struct java_method_finder *finder, bool *by_object)
{
  enum jp_status status =
      rpc_authorize_names(finder->authorizer, finder->operation, by_object, finder->arena, finder->outcome);
  bool has_package = text_find_last(finder->name.class_name, '.') != SIZE_MAX;
  if (status == JP_OK || (status == JP_DENIED && has_package))
    return status;
  return fail_name(finder, "");
}

static enum jp_status find_in_catalog(struct java_method_finder *finder)
{
  struct jp_error error;
  bool may_have_it = finder->catalog != NULL && finder->rules->loader == 0;
  enum jp_status status =
      may_have_it
          ? java_methods_index_find(finder->index, finder->catalog, finder->authorizer->policy,
                                    finder->name.class_name, finder->name.member, &finder->in_catalog, &error)
          : JP_OK;
  finder->is_beyond = !finder->in_catalog.has_class;
  if (status == JP_OK)
    return JP_OK;
  outcome_fail(finder->outcome, finder->arena, FAILURE_SERVER, NULL, "%s", error.text);
  return status == JP_NO_MEMORY ? fail_memory(finder) : JP_IO;
}

enum jp_status java_method_finder_begin(struct java_method_finder *finder)
{
  struct operation *operation = finder->operation;
  bool has_classes = finder->catalog != NULL || finder->rules->lookup != NULL;
  *operation = (struct operation){.kind = OP_CALL, .by_value = true};
  if (!has_classes || !java_method_name_parse(finder->request->method, &finder->name) ||
      finder->name.class_name.len > OP_NAME_MAX || finder->name.member.len > OP_NAME_MAX)
    return fail_name(finder, "");
  bool is_constructor = text_equal(finder->name.member, TEXT("new"));
  operation->kind = is_constructor ? OP_NEW : OP_CALL;
  operation->type = finder->name.class_name;
  operation->member = is_constructor ? TEXT("<init>") : finder->name.member;
  bool may_ask_object = operation->kind == OP_CALL && finder->rules->loader == 0;
  finder->by_object = false;
  enum jp_status status = ask_policy(finder, may_ask_object ? &finder->by_object : NULL);
  return status == JP_OK ? find_in_catalog(finder) : status;
}

enum jp_status java_method_finder_deny(struct java_method_finder *finder)
{
  enum jp_status status = ask_policy(finder, NULL);
  return status == JP_OK ? JP_DENIED : status;
}

/* ---- what the JVM knows ---- */

/* A loader that was named answers for itself; else the name stands for nothing. */
static enum jp_status fail_class(struct java_method_finder *finder)
{
  const struct outcome *outcome = finder->outcome;
  bool is_missing = outcome->failure == FAILURE_NOT_FOUND && !outcome->is_ambiguous;
  return is_missing && finder->rules->loader == 0 ? fail_name(finder, " (no such class)") : JP_NOT_FOUND;
}

static enum jp_status look_up_class(struct java_method_finder *finder, uint32_t instance, bool is_final,
                                    struct op_look *look)
{
  const struct java_class_lookup *lookup = finder->rules->lookup;
  struct operation asked = *finder->operation;
  asked.loader = finder->rules->loader;
  asked.has_instance = instance != 0;
  asked.instance = instance;
  asked.tells_loaders = is_final;
  *look = (struct op_look){.only_member = asked.member};
  if (lookup == NULL)
    return fail_name(finder, " (no such class)");
  return lookup->find(lookup->context, &asked, look, finder->outcome) ? JP_OK : fail_class(finder);
}

static enum jp_status make_shapes(struct java_method_finder *finder, const struct op_look *look)
{
  struct catalog_excerpt *known = meta_shapes_open_known(finder->catalog, look);
  enum jp_status status =
      meta_shapes_make(&finder->shapes, look, known == NULL ? NULL : catalog_excerpt_tables(known));
  catalog_excerpt_close(known);
  if (status == JP_LIMIT) {
    outcome_fail(finder->outcome, finder->arena, FAILURE_SERVER, NULL, "the class has too many members");
    return status;
  }
  return status == JP_OK ? JP_OK : fail_memory(finder);
}

/* ---- the methods ---- */

struct judging {
  const struct catalog_tables *tables;
  struct text named_class; /* as the policy knows it */
};

static bool is_allowed(const struct java_method_finder *finder, const struct judging *judging,
                       const struct java_method *method)
{
  bool is_constructor = method->result.data == NULL;
  if (method->method->is_open)
    return true;
  const struct jvm_target overload = {
      .kind = is_constructor         ? JVM_CONSTRUCTOR
              : method->has_receiver ? JVM_METHOD
                                     : JVM_STATIC_METHOD,
      .modifiers = method->method->access,
      .named_class = judging->named_class,
      .declaring_class = catalog_text(judging->tables, judging->tables->classes[method->declaring].name),
      .runtime_class = TEXT_ABSENT,
      .member = finder->operation->member,
  };
  return rpc_authorizer_allows(finder->authorizer, finder->operation->kind, &overload);
}

/* Overloads that the policy denies are no candidates, and no error shows them. What the policy has said of a class in
 * the catalog is kept by its name; another loader may have another one of that name. */
static enum jp_status drop_denied(struct java_method_finder *finder, const struct judging *judging)
{
  struct text type = finder->operation->type;
  struct text member = finder->operation->member;
  if (!finder->is_beyond && rpc_authorizer_knows_overloads(finder->authorizer, type, member))
    return JP_OK;
  struct java_method *allowed = arena_alloc(finder->arena, finder->count * sizeof *allowed);
  size_t count = 0;
  if (allowed == NULL)
    return fail_memory(finder);
  for (size_t i = 0; i < finder->count; i++)
    if (is_allowed(finder, judging, &finder->methods[i]))
      allowed[count++] = finder->methods[i];
  if (count == 0)
    return rpc_authorize_deny(finder->authorizer, type, member, finder->arena, finder->outcome);
  if (count == finder->count && !finder->is_beyond)
    rpc_authorizer_note_overloads(finder->authorizer, type, member);
  finder->methods = allowed;
  finder->count = count;
  return JP_OK;
}

static enum jp_status fail_suffix(struct java_method_finder *finder)
{
  enum jp_status status = fail_name(finder, " (no such overload)");
  if (!finder->rules->compat_pal)
    java_methods_suggest_overloads(finder->methods, finder->count, finder->request->method,
                                   finder->name.suffix, finder->arena, finder->outcome);
  return status;
}

/* Leaves the method that the suffix names, or fails. */
static enum jp_status choose_by_suffix(struct java_method_finder *finder)
{
  struct buffer suffix;
  size_t found = SIZE_MAX;
  buffer_init(&suffix);
  for (size_t i = 0; i < finder->count && found == SIZE_MAX; i++) {
    buffer_clear(&suffix);
    java_method_suffix_write(finder->methods[i].descriptor, &suffix);
    if (!suffix.failed && text_equal(buffer_text(&suffix), finder->name.suffix))
      found = i;
  }
  buffer_fini(&suffix);
  if (found == SIZE_MAX)
    return fail_suffix(finder);
  finder->methods += found;
  finder->count = 1;
  return JP_OK;
}

/* The public field of the operation's member, which a class has or inherits from another one. False: there is none, or the
 * caller may not read it. */
static bool has_field(const struct java_method_finder *finder, const struct judging *judging,
                      uint32_t class_index, bool *is_static)
{
  enum { SUPERCLASSES_MAX = 100 }; /* class files may go round */
  const struct catalog_tables *tables = judging->tables;
  for (int depth = 0; class_index != CATALOG_NONE && depth < SUPERCLASSES_MAX; depth++) {
    const struct catalog_class *class = &tables->classes[class_index];
    for (uint32_t i = class->first_field; i < class->first_field + class->field_count; i++) {
      const struct catalog_field *field = &tables->fields[i];
      if (field->hidden || (field->access & ACCESS_PUBLIC) == 0 ||
          !text_equal(catalog_text(tables, field->name), finder->operation->member))
        continue;
      *is_static = (field->access & ACCESS_STATIC) != 0;
      const struct jvm_target target = {.kind = *is_static ? JVM_STATIC_FIELD : JVM_FIELD,
                                        .modifiers = field->access,
                                        .named_class = judging->named_class,
                                        .declaring_class = catalog_text(tables, class->name),
                                        .runtime_class = TEXT_ABSENT,
                                        .member = finder->operation->member};
      return rpc_authorizer_allows(finder->authorizer, OP_GET, &target);
    }
    class_index = class->superclass.class_index;
  }
  return false;
}

static enum jp_status fail_member(struct java_method_finder *finder, const struct judging *judging)
{
  bool is_static;
  if (finder->is_beyond || finder->rules->compat_pal ||
      !has_field(finder, judging, catalog_find(judging->tables, finder->operation->type), &is_static))
    return fail_name(finder, " (no such member)");
  return fail_name(finder, is_static ? " (a field, not a method: get reads it)"
                                     : " (a field, not a method: get reads it, of an instance)");
}

static enum jp_status choose_methods(struct java_method_finder *finder, const struct judging *judging)
{
  if (finder->count == 0)
    return fail_member(finder, judging);
  if (finder->count > JAVA_OVERLOADS_MAX)
    finder->count = JAVA_OVERLOADS_MAX;
  enum jp_status status = drop_denied(finder, judging);
  return status != JP_OK || finder->name.suffix.data == NULL ? status : choose_by_suffix(finder);
}

static enum jp_status find_beyond(struct java_method_finder *finder, uint32_t instance, bool is_final)
{
  struct op_look look;
  enum jp_status status = look_up_class(finder, instance, is_final, &look);
  if (status == JP_OK)
    status = make_shapes(finder, &look);
  if (status != JP_OK)
    return status;
  const struct judging judging = {&finder->shapes.tables, look.judged_name};
  struct java_method *found = NULL;
  if (java_methods_collect_named(judging.tables, finder->authorizer->policy,
                                 catalog_find(judging.tables, look.class_name), finder->name.member,
                                 finder->arena, &found, &finder->count) != JP_OK)
    return fail_memory(finder);
  finder->methods = found;
  return choose_methods(finder, &judging);
}

enum jp_status java_method_finder_run(struct java_method_finder *finder, uint32_t instance, bool is_final)
{
  if (finder->is_beyond)
    return find_beyond(finder, instance, is_final);
  const struct judging judging = {finder->in_catalog.tables, finder->operation->type};
  finder->methods = finder->in_catalog.methods;
  finder->count = finder->in_catalog.count;
  return choose_methods(finder, &judging);
}

void java_method_finder_drop(struct java_method_finder *finder)
{
  meta_shapes_fini(&finder->shapes);
  finder->methods = NULL;
  finder->count = 0;
}

void java_method_finder_end(struct java_method_finder *finder)
{
  java_methods_index_release(&finder->in_catalog);
}
