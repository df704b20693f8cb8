#include "rpc/suggest/suggest.h"

#include "classfile/class_file.h"
#include "op/type.h"
#include "rpc/meta/meta_query.h"
#include "rpc/suggest/nearest.h"

#include <string.h>

struct look {
  const struct rpc_suggester *suggester;
  struct catalog_excerpt *excerpt; /* NULL: nothing is open */
  const struct catalog_tables *tables;
  struct meta_query query;
  struct meta_members members; /* of the class that is examined */
};

static void begin_look(const struct rpc_suggester *suggester, struct look *look)
{
  *look = (struct look){.suggester = suggester};
  meta_members_init(&look->members);
}

static void close_classes(struct look *look)
{
  if (look->excerpt != NULL)
    meta_query_fini(&look->query);
  catalog_excerpt_close(look->excerpt);
  look->excerpt = NULL;
}

/* Opens these classes, and closes the classes that were open. False: nothing can be suggested. */
static bool open_classes(struct look *look, const struct text *names, size_t count)
{
  const struct operation everything = {.kind = OP_META, .meta = {.merge_ancestry = true}};
  const struct rpc_suggester *suggester = look->suggester;
  struct jp_error error;
  close_classes(look);
  if (suggester->catalog == NULL || catalog_excerpt_open(suggester->catalog, names, count, CATALOG_ANCESTRY,
                                                         &look->excerpt, &error) != JP_OK)
    return false;
  look->tables = catalog_excerpt_tables(look->excerpt);
  if (meta_query_init(&look->query, look->tables, suggester->policy, suggester->channel, &everything) ==
      JP_OK)
    return true;
  catalog_excerpt_close(look->excerpt);
  look->excerpt = NULL;
  return false;
}

static void end_look(struct look *look)
{
  meta_members_fini(&look->members);
  close_classes(look);
}

/* ---- classes ---- */

static struct text class_name(const struct look *look, uint32_t class_index)
{
  return catalog_text(look->tables, look->tables->classes[class_index].name);
}

static void offer_class(struct look *look, uint32_t class_index, unsigned distance, struct nearest *nearest)
{
  if (nearest_wants(nearest, distance) && meta_query_knows(&look->query, class_index))
    nearest_offer(nearest, class_name(look, class_index), distance);
}

/* A caller may write Outer.Inner for Outer$Inner. Makes the possible names by replacing the last dots, one
 * after the other. */
static size_t make_nested_names(const struct look *look, struct text wanted, struct text *names, size_t max)
{
  struct text name = arena_text(look->suggester->arena, wanted);
  char *bytes = (char *)name.data;
  size_t count = 0;
  for (size_t i = name.len; bytes != NULL && i > 0 && count < max; i--) {
    if (bytes[i - 1] != '.')
      continue;
    bytes[i - 1] = '$';
    names[count] = arena_text(look->suggester->arena, name);
    count += names[count].data != NULL;
  }
  return count;
}

/* Near names of classes that the caller may use, grouped by their distance. The distance is computed from the
 * names alone, so that only few classes have to be read for a suggestion. If there are more names than fit,
 * the first names in alphabetical order are kept, so that the result does not depend on the order of the
 * search. */
enum { DISTANCES = 4, CANDIDATES_MAX = 128 /* of one distance; a JDK has 117 classes named Holder */ };

struct candidates {
  const struct rpc_suggester *suggester;
  struct text wanted;
  struct text simple;
  unsigned limit;
  size_t counts[DISTANCES];
  struct text names[DISTANCES][CANDIDATES_MAX];
};

/* catalog_visitor */
static void note_candidate(void *context, struct text name)
{
  struct candidates *candidates = context;
  unsigned distance = catalog_has_last_part(name, candidates->simple)
                          ? 1
                          : nearest_distance(name, candidates->wanted, candidates->limit);
  const struct rpc_suggester *suggester = candidates->suggester;
  if (distance > candidates->limit || distance >= DISTANCES ||
      !policy_shows_class(suggester->policy, suggester->channel, name))
    return;
  struct text *names = candidates->names[distance];
  size_t count = candidates->counts[distance];
  size_t at = count;
  while (at > 0 && text_order(name, names[at - 1]) < 0)
    at--;
  if (at == CANDIDATES_MAX || (at > 0 && text_equal(name, names[at - 1])))
    return;
  struct text kept = arena_text(suggester->arena, name);
  if (kept.data == NULL)
    return;
  count -= count == CANDIDATES_MAX; /* the last name is dropped */
  memmove(names + at + 1, names + at, (count - at) * sizeof *names);
  names[at] = kept;
  candidates->counts[distance] = count + 1;
}

/* Opens the classes that may be near. */
static bool open_candidates(struct look *look, struct text wanted, struct text simple, unsigned limit)
{
  struct jp_error error;
  struct candidates *candidates = arena_calloc(look->suggester->arena, 1, sizeof *candidates);
  if (candidates == NULL || look->suggester->catalog == NULL)
    return false;
  candidates->suggester = look->suggester;
  candidates->wanted = wanted;
  candidates->simple = simple;
  candidates->limit = limit;
  const struct catalog_likeness like = {wanted, simple, limit};
  if (catalog_each_name_like(look->suggester->catalog, &like, note_candidate, candidates, &error) != JP_OK)
    return false;
  struct text *names = candidates->names[0];
  size_t count = candidates->counts[0];
  for (size_t i = 1; i < DISTANCES; i++) {
    memmove(names + count, candidates->names[i], candidates->counts[i] * sizeof *names);
    count += candidates->counts[i];
  }
  return open_classes(look, names, count);
}

/* A class of the same simple name in another package counts as one character, and as two if the class is
 * not public, because few callers mean it. */
static unsigned distance_of_class(const struct catalog_class *class, struct text name, struct text wanted,
                                  struct text wanted_simple, unsigned limit)
{
  struct text simple = text_slice(name, class->simple_name_at, name.len);
  if (text_equal(simple, wanted_simple))
    return (class->access & ACCESS_PUBLIC) != 0 ? 1 : 2;
  return nearest_distance(name, wanted, limit);
}

/* The classes that are found remain open. */
static void find_classes(struct look *look, struct text wanted, struct nearest *nearest)
{
  enum { NESTED_MAX = 16 };
  struct text names[NESTED_MAX];
  size_t dot = text_find_last(wanted, '.');
  struct text simple = dot == SIZE_MAX ? wanted : text_slice(wanted, dot + 1, wanted.len);
  nearest_begin(nearest, wanted, simple);
  if (wanted.len > NEAREST_NAME_MAX)
    return;
  size_t count = make_nested_names(look, wanted, names, NESTED_MAX);
  if (count > 0 && open_classes(look, names, count)) {
    for (size_t i = 0; i < count; i++) {
      uint32_t found = catalog_find(look->tables, names[i]);
      if (found != CATALOG_NONE)
        offer_class(look, found, 0, nearest);
    }
  }
  if (nearest->count > 0 || !open_candidates(look, wanted, simple, nearest->limit))
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

/* The class is open. Suggests nothing if the class has a member with exactly this name: in that case the
 * arguments are wrong, and the error lists the candidates. */
static void find_members(struct look *look, const struct operation *operation, struct nearest *nearest)
{
  uint32_t class_index = catalog_find(look->tables, operation->type);
  nearest_begin(nearest, operation->member, operation->member);
  if (class_index == CATALOG_NONE || operation->kind == OP_NEW ||
      meta_members_collect(&look->members, &look->query, class_index) != JP_OK)
    return;
  bool is_call = operation->kind == OP_CALL;
  const struct array *members = is_call ? &look->members.methods : &look->members.fields;
  const struct meta_member *each = members->items;
  for (size_t i = 0; i < members->count; i++) {
    uint32_t name =
        is_call ? look->tables->methods[each[i].index].name : look->tables->fields[each[i].index].name;
    if (each[i].allowed)
      offer_member(catalog_text(look->tables, name), nearest);
  }
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

/* The name of the class that was not found. The message of the error is this name, wherever the request has
 * named the class. For an array, the result is the class of the elements. data NULL: the catalog has the
 * class, so only the given loader lacks it. */
static struct text missing_class(struct look *look, const struct outcome *outcome)
{
  struct op_type type;
  struct jp_error error;
  bool is_name = op_type_parse_target(outcome->message, &type, &error) == JP_OK;
  return is_name && open_classes(look, &type.name, 1) && catalog_find(look->tables, type.name) == CATALOG_NONE
             ? type.name
             : TEXT_ABSENT;
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
  begin_look(suggester, &look);
  struct text missing = is_about_class(outcome) ? missing_class(&look, outcome) : TEXT_ABSENT;
  if (missing.data != NULL)
    find_classes(&look, missing, &nearest);
  else if (!is_about_class(outcome) && open_classes(&look, &operation->type, 1))
    find_members(&look, operation, &nearest);
  rpc_suggest(&nearest, TEXT(""), TEXT(""), suggester->arena, outcome);
  end_look(&look);
}

static bool has_allowed(const struct look *look, const struct array *members, struct text name)
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

void rpc_suggest_for_own_name(const struct rpc_suggester *suggester, const struct operation *operation,
                              struct outcome *outcome)
{
  if (is_about_class(outcome)) { /* a class that the params name */
    rpc_suggest_for_operation(suggester, operation, outcome);
    return;
  }
  struct look look;
  struct nearest nearest = {.count = 0};
  struct arena *arena = suggester->arena;
  struct text member = operation->kind == OP_NEW ? TEXT("new") : operation->member;
  begin_look(suggester, &look);
  if (!open_classes(&look, &operation->type, 1)) {
    end_look(&look);
    return;
  }
  if (catalog_find(look.tables, operation->type) == CATALOG_NONE) {
    find_classes(&look, operation->type, &nearest);
    size_t kept = 0;
    for (size_t i = 0; i < nearest.count; i++) {
      if (has_member(&look, nearest.names[i], operation))
        nearest.names[kept++] = nearest.names[i];
    }
    nearest.count = kept;
    rpc_suggest(&nearest, TEXT(""), arena_printf(arena, ".%.*s", TEXT_ARGS(member)), arena, outcome);
  } else {
    /* A constructor is called by the name "new", like a method, so this name is a candidate, too. */
    find_members(&look, operation, &nearest);
    if (operation->kind == OP_CALL && has_constructor(&look))
      offer_member(TEXT("new"), &nearest);
    rpc_suggest(&nearest, arena_printf(arena, "%.*s.", TEXT_ARGS(operation->type)), TEXT(""), arena, outcome);
  }
  end_look(&look);
}
