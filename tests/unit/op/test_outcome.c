#include "op/outcome.h"

#include "tests/unit/unit.h"

static void becomes_an_error_with_its_message(void **state)
{
  (void)state;
  struct arena arena;
  arena_init(&arena);
  struct outcome outcome = {.kind = OUTCOME_VALUE, .ref = 5, .has_value = true};
  outcome_fail(&outcome, &arena, FAILURE_NOT_FOUND, "java.lang.ClassNotFoundException", "%s.%d", "a", 1);
  assert_int_equal(outcome.kind, OUTCOME_ERROR);
  assert_int_equal(outcome.failure, FAILURE_NOT_FOUND);
  assert_text(outcome.message, "a.1");
  assert_text(outcome.throwable_type, "java.lang.ClassNotFoundException");
  assert_int_equal(outcome.ref, 0);
  assert_false(outcome.has_value);
  arena_fini(&arena);
}

static void may_have_no_throwable_and_a_long_message(void **state)
{
  (void)state;
  struct arena arena;
  arena_init(&arena);
  struct outcome outcome;
  outcome_fail(&outcome, &arena, FAILURE_SERVER, NULL, "%100000d", 1);
  assert_null(outcome.throwable_type.data);
  assert_null(outcome.throwable);
  assert_int_equal(outcome.message.len, 100000);
  arena_fini(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(becomes_an_error_with_its_message),
      cmocka_unit_test(may_have_no_throwable_and_a_long_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
