/*
 * Two patterns and a name, with line feeds between them. If one pattern covers the other, it matches each name that
 * the other matches; every pattern covers itself, and "**" every pattern.
 */
#include "policy/match.h"

#include "tests/fuzz/fuzz.h"

static void check(const struct policy_pattern *general, const struct policy_pattern *specific,
                  struct text name)
{
  if (policy_pattern_covers(general, specific)) {
    require(policy_pattern_may_cover(general, specific));
    require(!policy_pattern_matches(specific, name) || policy_pattern_matches(general, name));
  } else {
    require(!general->every_name);
  }
}

FUZZ_TARGET(name)
{
  struct text sources[2];
  if (!next_line(&name, &sources[0]) || !next_line(&name, &sources[1]))
    return;
  struct policy_pattern patterns[2];
  struct arena arena;
  arena_init(&arena);
  if (!has_empty_segment(name) && policy_pattern_compile(sources[0], &arena, &patterns[0], NULL) == JP_OK &&
      policy_pattern_compile(sources[1], &arena, &patterns[1], NULL) == JP_OK) {
    check(&patterns[0], &patterns[1], name);
    check(&patterns[1], &patterns[0], name);
    check(&patterns[0], &patterns[0], name);
  }
  arena_fini(&arena);
}
