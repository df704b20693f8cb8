/* The variables of programs, calls of lambdas, and turns of loops. */
#include "command/evaluator_state.h"

#include "base/near_name.h"

struct scope *scope_create(struct scope *parent, bool is_turn)
{
  struct scope *scope = calloc(1, sizeof *scope);
  if (scope == NULL)
    return NULL;
  scope->holders = 1;
  scope->is_turn = is_turn;
  scope->parent = parent;
  if (parent != NULL)
    parent->holders++;
  return scope;
}

static uint32_t hash_name(struct text name)
{
  return (uint32_t)text_hash(name);
}

/* The place of a variable; SIZE_MAX: there is none. */
static size_t find_in(const struct scope *scope, struct text name, uint32_t hash)
{
  size_t cursor = SIZE_MAX;
  uint32_t at;
  if (scope->names.count == 0) {
    for (size_t i = 0; i < scope->count; i++) {
      if (scope->variables[i]->hash == hash && text_equal(text_of(scope->variables[i]->name), name))
        return i;
    }
    return SIZE_MAX;
  }
  while ((at = hash_index_next(&scope->names, hash, &cursor)) != HASH_INDEX_NONE) {
    if (text_equal(text_of(scope->variables[at]->name), name))
      return at;
  }
  return SIZE_MAX;
}

/* Adds the place of the last variable to the index, which begins with the NAMES_MIN-th one. */
static bool note_place(struct scope *scope)
{
  enum { NAMES_MIN = 16 };
  size_t from = scope->names.count == 0 ? 0 : scope->count - 1;
  bool is_good = true;
  if (scope->count < NAMES_MIN)
    return true;
  for (size_t i = from; is_good && i < scope->count; i++)
    is_good = hash_index_add(&scope->names, scope->variables[i]->hash, (uint32_t)i) == JP_OK;
  return is_good;
}

struct variable *evaluator_find_variable(const struct evaluator *ev, struct text name)
{
  const uint32_t hash = hash_name(name);
  for (const struct scope *scope = ev->scope; scope != NULL; scope = scope->parent) {
    size_t at = find_in(scope, name, hash);
    if (at != SIZE_MAX)
      return scope->variables[at];
  }
  return NULL;
}

struct text evaluator_near_variable(const struct evaluator *ev, struct text name)
{
  struct near_name search;
  near_name_init(&search, name);
  for (const struct scope *scope = ev->scope; scope != NULL; scope = scope->parent) {
    for (size_t i = 0; i < scope->count; i++) {
      if (scope->variables[i]->name[0] != '$') /* the number of a result */
        near_name_offer(&search, text_of(scope->variables[i]->name));
    }
  }
  return search.best;
}

static bool add_variable(struct scope *scope, struct text name, uint32_t hash, struct value *value)
{
  struct variable **variables =
      array_grow(scope->variables, scope->count, &scope->capacity, sizeof(struct variable *));
  struct variable *variable = variables == NULL ? NULL : calloc(1, sizeof *variable + name.len + 1);
  if (variables != NULL)
    scope->variables = variables;
  if (variable == NULL)
    return false;
  memcpy(variable->name, name.data, name.len);
  variable->hash = hash;
  variable->value = value_keep(value);
  scope->variables[scope->count++] = variable;
  return note_place(scope);
}

/* False: no memory. */
bool scope_define(struct scope *scope, struct text name, struct value *value)
{
  const uint32_t hash = hash_name(name);
  size_t at = find_in(scope, name, hash);
  if (at == SIZE_MAX)
    return add_variable(scope, name, hash, value);
  value_keep(value);
  value_release(scope->variables[at]->value);
  scope->variables[at]->value = value;
  return true;
}

/* The last variable takes the place of the dropped one. */
bool scope_drop(struct scope *scope, struct text name)
{
  size_t at = find_in(scope, name, hash_name(name));
  if (at == SIZE_MAX)
    return false;
  struct variable *variable = scope->variables[at];
  const size_t last = scope->count - 1;
  if (scope->names.count > 0) {
    hash_index_remove(&scope->names, variable->hash, (uint32_t)at);
    if (at != last) {
      hash_index_remove(&scope->names, scope->variables[last]->hash, (uint32_t)last);
      (void)!hash_index_add(&scope->names, scope->variables[last]->hash, (uint32_t)at); /* has room */
    }
  }
  scope->variables[at] = scope->variables[last];
  scope->count--;
  value_release(variable->value);
  free(variable);
  return true;
}

void scope_drop_all(struct scope *scope)
{
  hash_index_fini(&scope->names);
  while (scope->count > 0) {
    struct variable *variable = scope->variables[--scope->count];
    value_release(variable->value);
    free(variable);
  }
}

void scope_release(struct scope *scope)
{
  while (scope != NULL && --scope->holders == 0) {
    struct scope *parent = scope->parent;
    scope_drop_all(scope);
    free(scope->variables);
    free(scope);
    scope = parent;
  }
}
