#include "client/step_names.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static void test_names(void **state)
{
  (void)state;
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

static void test_none(void **state)
{
  (void)state;
  struct step_names names;
  struct arena arena;
  arena_init(&arena);
  assert_true(step_names_init(&names, 0, &arena));
  assert_null(step_names_find(&names, TEXT("")));
  arena_fini(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
