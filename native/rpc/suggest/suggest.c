#include "rpc/suggest/suggest.h"

#include "classfile/class_file.h"
#include "op/type.h"
#include "rpc/meta/meta_query.h"
#include "rpc/suggest/nearest.h"

#include <string.h>

struct look {
  const struct rpc_suggester *suggester;
  const struct catalog_tables *tables;
  struct meta_query query;
  struct meta_members members; /* of the class that is looked at */
};

/* False: nothing can be suggested. end_look is due in any case. */
static bool begin_look(const struct rpc_suggester *suggester, struct look *look)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  struct jp_error error;
  *look = (struct look){.suggester = suggester};
  meta_members_init(&look->members);
  return suggester->catalog != NULL && catalog_load(suggester->catalog, &look->tables, &error) == JP_OK &&
         meta_query_init(&look->query, look->tables, suggester->policy, suggester->channel, &everything) ==
             JP_OK;
}

static void end_look(struct look *look)
{
  meta_members_fini(&look->members);
  if (look->tables != NULL)
    meta_query_fini(&look->query);
}

/* ---- classes ---- */

static struct text class_name(const struct look *look, uint32_t class_index)
{
  return catalog_text(look->tables, look->tables->classes[class_index].name);
}

static struct text simple_name(struct text name)
{
  size_t dot = text_find_last(name, '.');
  return dot == SIZE_MAX ? name : text_slice(name, dot + 1, name.len);
}

static void offer_class(struct look *look, uint32_t class_index, unsigned distance, struct nearest *nearest)
{
  if (nearest_wants(nearest, distance) && meta_query_knows(&look->query, class_index))
    nearest_offer(nearest, class_name(look, class_index), distance);
}

/* Outer.Inner for Outer$Inner: the last dots are exchanged, one after the other. */
static void offer_nested(struct look *look, struct text wanted, struct nearest *nearest)
{
  struct text name = arena_text(look->suggester->arena, wanted);
  char *bytes = (char *)name.data;
  for (size_t i = name.len; bytes != NULL && i > 0; i--) {
    if (bytes[i - 1] != '.')
      continue;
    bytes[i - 1] = '$';
    uint32_t found = catalog_find(look->tables, name);
    if (found != CATALOG_NONE)
      offer_class(look, found, 0, nearest);
  }
}

/* The same simple name in another package counts as one character, and as two where few could mean the class. */
static unsigned distance_of_class(const struct catalog_class *class, struct text name, struct text wanted,
                                  struct text wanted_simple, unsigned limit)
{
  struct text simple = text_slice(name, class->simple_name_at, name.len);
  if (text_equal(simple, wanted_simple))
    return (class->access & ACCESS_PUBLIC) != 0 ? 1 : 2;
  return nearest_distance(name, wanted, limit);
}

static void find_classes(struct look *look, struct text wanted, struct nearest *nearest)
{
  struct text simple = simple_name(wanted);
  nearest_begin(nearest, wanted, simple);
  if (wanted.len > NEAREST_NAME_MAX)
    return;
  offer_nested(look, wanted, nearest);
  if (nearest->count > 0)
    return;
  for (uint32_t i = 0; i < look->tables->class_count; i++) {
    const struct catalog_class *class = &look->tables->classes[i];
    unsigned distance = distance_of_class(class, class_name(look, i), wanted, simple, nearest->limit);
    if (!class->hidden)
      offer_class(look, i, distance, nearest);
  }
}

/* ---- members ---- */

static void offer_member(struct text name, struct nearest *nearest)
{
  nearest_offer(nearest, name, nearest_distance(name, nearest->wanted, nearest->limit));
}

static void find_methods(struct look *look, struct nearest *nearest)
{
  const struct meta_member *methods = look->members.methods.items;
  for (size_t i = 0; i < look->members.methods.count; i++) {
    if (methods[i].allowed)
      offer_member(catalog_text(look->tables, look->tables->methods[methods[i].index].name), nearest);
  }
}

static void find_fields(struct look *look, struct nearest *nearest)
{
  const struct meta_member *fields = look->members.fields.items;
  for (size_t i = 0; i < look->members.fields.count; i++) {
    if (fields[i].allowed)
      offer_member(catalog_text(look->tables, look->tables->fields[fields[i].index].name), nearest);
  }
}

/* Nothing where a member has the very name: then its arguments are wrong, and the error lists the candidates. */
static void find_members(struct look *look, const struct operation *operation, struct nearest *nearest)
{
  uint32_t class_index = catalog_find(look->tables, operation->type);
  nearest_begin(nearest, operation->member, operation->member);
  if (class_index == CATALOG_NONE || operation->kind == OP_NEW ||
      meta_members_collect(&look->members, &look->query, class_index) != JP_OK)
    return;
  if (operation->kind == OP_CALL)
    find_methods(look, nearest);
  else
    find_fields(look, nearest);
  if (nearest->count > 0 && nearest->distances[0] == 0)
    nearest->count = 0;
}

/* ---- the outcome ---- */

void rpc_suggest(const struct nearest *nearest, struct text before, struct text after, struct arena *arena,
                 struct outcome *outcome)
{
  struct text *names = arena_alloc(arena, NEAREST_KEPT * sizeof *names);
  size_t count = 0;
  for (size_t i = 0; names != NULL && i < nearest->count; i++) {
    names[count] = arena_printf(arena, "%.*s%.*s%.*s", TEXT_ARGS(before), TEXT_ARGS(nearest->names[i]),
                                TEXT_ARGS(after));
    count += names[count].data != NULL;
  }
  outcome->suggestions = names;
  outcome->suggestion_count = count;
}

/* The class that is not there, wherever the request names it: its name is the whole message. Of an array it is the class
 * of the elements. data NULL: only the loader that was asked has no such class. */
static struct text missing_class(const struct look *look, const struct outcome *outcome)
{
  struct op_type type;
  struct jp_error error;
  bool is_name = op_type_parse_target(outcome->message, &type, &error) == JP_OK;
  return is_name && catalog_find(look->tables, type.name) == CATALOG_NONE ? type.name : TEXT_ABSENT;
}

static bool is_about_class(const struct outcome *outcome)
{
  return text_equal(outcome->throwable_type, TEXT("java.lang.ClassNotFoundException"));
}

void rpc_suggest_for_operation(const struct rpc_suggester *suggester, const struct operation *operation,
                               struct outcome *outcome)
{
  struct look look;
  struct nearest nearest = {.count = 0};
  if (begin_look(suggester, &look)) {
    struct text missing = is_about_class(outcome) ? missing_class(&look, outcome) : TEXT_ABSENT;
    if (missing.data != NULL)
      find_classes(&look, missing, &nearest);
    else if (!is_about_class(outcome))
      find_members(&look, operation, &nearest);
    rpc_suggest(&nearest, TEXT(""), TEXT(""), suggester->arena, outcome);
  }
  end_look(&look);
}

static bool has_allowed(const struct look *look, const struct table *members, struct text name)
{
  const struct meta_member *each = members->items;
  for (size_t i = 0; i < members->count; i++) {
    if (each[i].allowed &&
        text_equal(catalog_text(look->tables, look->tables->methods[each[i].index].name), name))
      return true;
  }
  return false;
}

static bool has_constructor(const struct look *look)
{
  return has_allowed(look, &look->members.constructors, TEXT("<init>"));
}

static bool has_member(struct look *look, struct text class_name, const struct operation *operation)
{
  uint32_t class_index = catalog_find(look->tables, class_name);
  if (meta_members_collect(&look->members, &look->query, class_index) != JP_OK)
    return false;
  return operation->kind == OP_NEW ? has_constructor(look)
                                   : has_allowed(look, &look->members.methods, operation->member);
}

static void keep_those_with(struct look *look, const struct operation *operation, struct nearest *nearest)
{
  size_t kept = 0;
  for (size_t i = 0; i < nearest->count; i++) {
    if (has_member(look, nearest->names[i], operation))
      nearest->names[kept++] = nearest->names[i];
  }
  nearest->count = kept;
}

/* By their own names, constructors are called like methods. */
static void find_own_members(struct look *look, const struct operation *operation, struct nearest *nearest)
{
  find_members(look, operation, nearest);
  if (operation->kind == OP_CALL && has_constructor(look))
    offer_member(TEXT("new"), nearest);
}

void rpc_suggest_for_own_name(const struct rpc_suggester *suggester, const struct operation *operation,
                              struct outcome *outcome)
{
  if (is_about_class(outcome)) { /* one that the params name */
    rpc_suggest_for_operation(suggester, operation, outcome);
    return;
  }
  struct look look;
  struct nearest nearest = {.count = 0};
  struct arena *arena = suggester->arena;
  struct text member = operation->kind == OP_NEW ? TEXT("new") : operation->member;
  if (!begin_look(suggester, &look)) {
    end_look(&look);
    return;
  }
  if (catalog_find(look.tables, operation->type) == CATALOG_NONE) {
    find_classes(&look, operation->type, &nearest);
    keep_those_with(&look, operation, &nearest);
    rpc_suggest(&nearest, TEXT(""), arena_printf(arena, ".%.*s", TEXT_ARGS(member)), arena, outcome);
  } else {
    find_own_members(&look, operation, &nearest);
    rpc_suggest(&nearest, arena_printf(arena, "%.*s.", TEXT_ARGS(operation->type)), TEXT(""), arena, outcome);
  }
  end_look(&look);
}
