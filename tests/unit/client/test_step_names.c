#include "client/step_names.h"

#include "tests/unit/unit.h"

#include <stdio.h>

UNIT_TEST(test_names)
{
  enum { NAMES = 1000 };
  static char texts[NAMES][16];
  struct step_names names;
  struct arena arena;
  arena_init(&arena);
  assert_true(step_names_init(&names, NAMES, &arena));
  for (size_t i = 0; i < NAMES; i++) {
    snprintf(texts[i], sizeof texts[i], "step %zu", i);
    assert_null(step_names_find(&names, text_of(texts[i])));
    assert_true(step_names_add(&names, text_of(texts[i]), i));
  }
  for (size_t i = 0; i < NAMES; i++) {
    assert_false(step_names_add(&names, text_of(texts[i]), 0));
    assert_int_equal(step_names_find(&names, text_of(texts[i]))->step, i);
  }
  assert_null(step_names_find(&names, TEXT("step")));
  arena_fini(&arena);
}

UNIT_TEST(test_none)
{
  struct step_names names;
  struct arena arena;
  arena_init(&arena);
  assert_true(step_names_init(&names, 0, &arena));
  assert_null(step_names_find(&names, TEXT("")));
  arena_fini(&arena);
}

UNIT_MAIN
