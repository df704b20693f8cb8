#include "op/outcome.h"

#include "tests/unit/unit.h"

#include <stdlib.h>

UNIT_TEST(becomes_an_error_with_its_message)
{
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

UNIT_TEST(may_have_no_throwable)
{
  struct arena arena;
  arena_init(&arena);
  struct outcome outcome;
  outcome_fail(&outcome, &arena, FAILURE_SERVER, NULL, "%d", 1);
  assert_null(outcome.throwable_type.data);
  assert_null(outcome.throwable);
  arena_fini(&arena);
}

UNIT_TEST(cuts_a_long_message_between_characters)
{
  enum { UMLAUTS = 100000 };
  struct arena arena;
  struct outcome outcome;
  char *umlauts = malloc(2 * UMLAUTS + 1);
  assert_non_null(umlauts);
  for (size_t i = 0; i < UMLAUTS; i++)
    memcpy(umlauts + 2 * i, "\xC3\xA4", 2);
  umlauts[2 * UMLAUTS] = '\0';
  arena_init(&arena);
  for (int before = 0; before < 2; before++) {
    outcome_fail(&outcome, &arena, FAILURE_SERVER, NULL, "%.*s%s", before, "x", umlauts);
    assert_int_equal(outcome.message.len, OUTCOME_MESSAGE_MAX - before + (int)strlen("..."));
    assert_int_equal(text_valid_utf8(outcome.message), outcome.message.len);
    assert_true(text_ends_with(outcome.message, TEXT("\xC3\xA4...")));
  }
  outcome_fail(&outcome, &arena, FAILURE_SERVER, NULL, "%*d", OUTCOME_MESSAGE_MAX, 1);
  assert_int_equal(outcome.message.len, OUTCOME_MESSAGE_MAX);
  assert_true(text_ends_with(outcome.message, TEXT(" 1")));
  arena_fini(&arena);
  free(umlauts);
}

UNIT_TEST(becomes_internal_where_memory_is_short)
{
  struct outcome outcome = {.kind = OUTCOME_VALUE, .ref = 5};
  assert_int_equal(outcome_fail_memory(&outcome), JP_NO_MEMORY);
  assert_int_equal(outcome.kind, OUTCOME_ERROR);
  assert_int_equal(outcome.failure, FAILURE_INTERNAL);
  assert_text(outcome.message, "out of memory");
  assert_int_equal(outcome.ref, 0);
}

UNIT_TEST(reports_the_error_of_a_lower_function)
{
  static const struct {
    enum jp_status status;
    enum outcome_failure failure;
  } cases[] = {{JP_NO_MEMORY, FAILURE_INTERNAL}, {JP_INTERNAL, FAILURE_INTERNAL}, {JP_LIMIT, FAILURE_SERVER}};
  struct arena arena;
  arena_init(&arena);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct outcome outcome;
    struct jp_error error;
    jp_fail(&error, cases[i].status, "%s", "100 % of it");
    assert_int_equal(outcome_fail_error(&outcome, &arena, &error), cases[i].status);
    assert_int_equal(outcome.failure, cases[i].failure);
    assert_text(outcome.message, "100 % of it");
  }
  arena_fini(&arena);
}

UNIT_MAIN
