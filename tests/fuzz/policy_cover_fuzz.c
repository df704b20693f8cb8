/*
 * Two patterns and a name, with line feeds between them. Where one pattern covers the other, it matches each name that the
 * other matches; and covering needs no more than reflexivity and "**".
 */
#include "policy/match.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_empty_segment(struct text t)
{
  return t.len == 0 || t.data[0] == '.' || t.data[t.len - 1] == '.' || memmem(t.data, t.len, "..", 2) != NULL;
}

static void check(const struct policy_pattern *general, const struct policy_pattern *specific,
                  struct text name)
{
  if (policy_pattern_covers(general, specific)) {
    if (!policy_pattern_may_cover(general, specific) ||
        (policy_pattern_matches(specific, name) && !policy_pattern_matches(general, name)))
      abort();
  } else if (general->every_name) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const uint8_t *first = size == 0 ? NULL : memchr(data, '\n', size);
  const uint8_t *second = first == NULL ? NULL : memchr(first + 1, '\n', size - (size_t)(first + 1 - data));
  if (second == NULL)
    return 0;
  struct text sources[] = {{(const char *)data, (size_t)(first - data)},
                           {(const char *)first + 1, (size_t)(second - first - 1)}};
  struct text name = {(const char *)second + 1, size - (size_t)(second + 1 - data)};
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
  return 0;
}
