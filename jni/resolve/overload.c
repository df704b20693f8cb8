#include "jni/resolve/overload.h"

#include "base/primitives.h"

#include <assert.h>
#include <string.h>

enum step { STEP_STRICT, STEP_LOOSE, STEP_VARIABLE, STEP_COST };

struct search {
  const struct overload_hooks *hooks;
  const struct overload_argument *arguments;
  size_t argument_count;
  const struct overload_candidate *candidates;
  size_t candidate_count;
  size_t *applicable; /* indexes */
  size_t applicable_count;
};

static bool is_primitive(const struct overload_type *type)
{
  return type->kind != 'L' && type->kind != 'N' && type->kind != OVERLOAD_FUNCTION;
}

static bool is_subtype(const struct search *search, const struct overload_type *sub,
                       const struct overload_type *super)
{
  if (is_primitive(sub) || is_primitive(super))
    return is_primitive(sub) && is_primitive(super) && primitive_widens(sub->kind, super->kind);
  return sub->kind == 'N' || search->hooks->is_subtype(search->hooks->context, sub, super);
}

static bool is_loose(const struct search *search, const struct overload_type *from,
                     const struct overload_type *to)
{
  if (is_primitive(from) && !is_primitive(to)) {
    struct overload_type boxed = search->hooks->boxed(search->hooks->context, from->kind);
    return search->hooks->is_subtype(search->hooks->context, &boxed, to);
  }
  return !is_primitive(from) && is_primitive(to) && from->unboxed != 0 &&
         primitive_widens(from->unboxed, to->kind);
}

/* The type of parameter `at`; in a variable arity the last parameter repeats. */
static const struct overload_type *find_parameter(const struct overload_candidate *candidate, size_t at,
                                                  bool variable)
{
  return variable && at + 1 >= candidate->count ? &candidate->element : &candidate->params[at];
}

static bool has_length(const struct search *search, const struct overload_candidate *candidate, bool variable)
{
  return variable ? candidate->varargs && search->argument_count + 1 >= candidate->count
                  : search->argument_count == candidate->count;
}

static bool is_applicable(const struct search *search, const struct overload_candidate *candidate,
                          enum step step)
{
  bool variable = step == STEP_VARIABLE;
  if (!has_length(search, candidate, variable))
    return false;
  for (size_t i = 0; i < search->argument_count; i++) {
    const struct overload_type *from = &search->arguments[i].type;
    const struct overload_type *to = find_parameter(candidate, i, variable);
    if (!is_subtype(search, from, to) && (step == STEP_STRICT || !is_loose(search, from, to)))
      return false;
  }
  return true;
}

/* True if `one` is the more specific type: a subtype of the other type or, for a bare value, the type that
 * the value prefers. */
static bool is_better_parameter(const struct search *search, size_t argument, const struct overload_type *one,
                                const struct overload_type *other)
{
  return is_subtype(search, one, other) ||
         (search->arguments[argument].bare && !is_primitive(one) && !is_primitive(other) &&
          search->hooks->is_preferred(search->hooks->context, argument, one, other));
}

/* JLS 15.12.2.5: every parameter of `one` is a subtype of the other's. */
static bool is_more_specific(const struct search *search, const struct overload_candidate *one,
                             const struct overload_candidate *other, bool variable)
{
  for (size_t i = 0; i < search->argument_count; i++)
    if (!is_better_parameter(search, i, find_parameter(one, i, variable), find_parameter(other, i, variable)))
      return false;
  if (variable && other->count == search->argument_count + 1)
    return is_subtype(search, find_parameter(one, search->argument_count, true),
                      find_parameter(other, search->argument_count, true));
  return true;
}

/* True if another applicable candidate is strictly more specific. */
static bool is_beaten(const struct search *search, size_t index, bool variable)
{
  const struct overload_candidate *candidate = &search->candidates[index];
  for (size_t i = 0; i < search->applicable_count; i++) {
    const struct overload_candidate *other = &search->candidates[search->applicable[i]];
    if (other != candidate && is_more_specific(search, other, candidate, variable) &&
        !is_more_specific(search, candidate, other, variable))
      return true;
  }
  return false;
}

static enum overload_result choose_most_specific(struct search *search, bool variable, struct arena *arena,
                                                 struct overload_choice *choice)
{
  size_t *best = arena_alloc(arena, search->applicable_count * sizeof *best);
  if (best == NULL)
    return OVERLOAD_NO_MEMORY;
  size_t count = 0;
  for (size_t i = 0; i < search->applicable_count; i++)
    if (!is_beaten(search, search->applicable[i], variable))
      best[count++] = search->applicable[i];
  assert(count > 0); /* "strictly more specific" is a partial order */
  choice->variable = variable;
  if (count == 1) {
    choice->index = best[0];
    return OVERLOAD_FOUND;
  }
  choice->tied = best;
  choice->tied_count = count;
  return OVERLOAD_AMBIGUOUS;
}

static unsigned find_argument_cost(const struct search *search, size_t at, const struct overload_type *to)
{
  const struct overload_argument *argument = &search->arguments[at];
  if (is_subtype(search, &argument->type, to))
    return ARGUMENT_COST_STRICT;
  if (is_loose(search, &argument->type, to))
    return ARGUMENT_COST_LOOSE;
  return argument->bare ? search->hooks->cost(search->hooks->context, at, to) : ARGUMENT_COST_NEVER;
}

static unsigned sum_costs(const struct search *search, const struct overload_candidate *candidate,
                          bool variable)
{
  if (!has_length(search, candidate, variable))
    return ARGUMENT_COST_NEVER;
  unsigned sum = 0;
  for (size_t i = 0; i < search->argument_count; i++) {
    unsigned cost = find_argument_cost(search, i, find_parameter(candidate, i, variable));
    if (cost == ARGUMENT_COST_NEVER)
      return ARGUMENT_COST_NEVER;
    sum += cost;
  }
  return sum;
}

/* Keeps only the cheapest candidates in search->applicable. Returns their cost; ARGUMENT_COST_NEVER: no
 * candidate fits. */
static unsigned find_cheapest(struct search *search, bool variable)
{
  unsigned least = ARGUMENT_COST_NEVER;
  for (size_t i = 0; i < search->candidate_count; i++) {
    unsigned cost = sum_costs(search, &search->candidates[i], variable);
    if (cost == ARGUMENT_COST_NEVER || cost > least)
      continue;
    if (cost < least)
      search->applicable_count = 0;
    least = cost;
    search->applicable[search->applicable_count++] = i;
  }
  return least;
}

static enum overload_result choose_by_cost(struct search *search, struct arena *arena,
                                           struct overload_choice *choice)
{
  choice->by_cost = true;
  for (int variable = 0; variable <= 1; variable++)
    if (find_cheapest(search, variable) < ARGUMENT_COST_MISFIT)
      return choose_most_specific(search, variable, arena, choice);
  for (int variable = 0; variable <= 1; variable++) {
    if (find_cheapest(search, variable) == ARGUMENT_COST_NEVER)
      continue;
    if (search->applicable_count != 1)
      return OVERLOAD_NONE;
    choice->is_misfit = true;
    return choose_most_specific(search, variable, arena, choice);
  }
  return OVERLOAD_NONE;
}

enum overload_result overload_choose(const struct overload_hooks *hooks,
                                     const struct overload_argument *arguments, size_t argument_count,
                                     const struct overload_candidate *candidates, size_t candidate_count,
                                     struct arena *arena, struct overload_choice *choice)
{
  *choice = (struct overload_choice){0};
  struct search search = {.hooks = hooks,
                          .arguments = arguments,
                          .argument_count = argument_count,
                          .candidates = candidates,
                          .candidate_count = candidate_count};
  search.applicable = arena_calloc(arena, candidate_count, sizeof *search.applicable);
  if (search.applicable == NULL)
    return OVERLOAD_NO_MEMORY;

  for (enum step step = STEP_STRICT; step < STEP_COST; step++) {
    search.applicable_count = 0;
    for (size_t i = 0; i < candidate_count; i++)
      if (is_applicable(&search, &candidates[i], step))
        search.applicable[search.applicable_count++] = i;
    if (search.applicable_count > 0)
      return choose_most_specific(&search, step == STEP_VARIABLE, arena, choice);
  }
  for (size_t i = 0; i < argument_count; i++)
    if (arguments[i].bare)
      return choose_by_cost(&search, arena, choice);
  return OVERLOAD_NONE;
}
