#include "net/admission/input_budget.h"
#include "tests/unit/unit.h"

UNIT_TEST(counts_what_every_owner_holds_now)
{
  struct input_budget budget = {.max = 1000};
  _Atomic size_t first = 0;
  _Atomic size_t second = 0;
  input_budget_count(&budget, &first, 500);
  input_budget_count(&budget, &second, 250);
  assert_false(input_budget_is_short(&budget));
  input_budget_count(&budget, &second, 251);
  assert_true(input_budget_is_short(&budget));
  assert_false(input_budget_is_full(&budget));
  assert_int_equal(input_budget_room(&budget), 249);
  input_budget_count(&budget, &second, 600);
  assert_true(input_budget_is_full(&budget));
  assert_int_equal(input_budget_room(&budget), 0);
  input_budget_count(&budget, &first, 0);
  assert_int_equal(budget.total, 600);
  input_budget_count(&budget, &second, 0);
  assert_int_equal(budget.total, 0);
}

static void assert_licensed(const struct input_claim *claims, size_t count, const size_t *held,
                            size_t held_count)
{
  size_t licensed = 0;
  for (size_t i = 0; i < count; i++) {
    if (claims[i].is_licensed) {
      assert_true(licensed < held_count);
      assert_int_equal(claims[i].held, held[licensed++]);
    }
  }
  assert_int_equal(licensed, held_count);
}

UNIT_TEST(the_smallest_may_go_on_as_far_as_all_of_them_can_end)
{
  struct input_claim claims[] = {{.held = 900, .left = 100},
                                 {.held = 200, .left = 800},
                                 {.held = 300, .left = 700},
                                 {.held = 100, .left = 50}};
  input_budget_choose(claims, 4, 849);
  assert_licensed(claims, 4, (size_t[]){100, 300}, 2); /* 50 + 800 is one too many, 50 + 700 is not */
  input_budget_choose(claims, 4, 850);
  assert_licensed(claims, 4, (size_t[]){100, 200}, 2);
  input_budget_choose(claims, 4, SIZE_MAX);
  assert_licensed(claims, 4, (size_t[]){100, 200, 300, 900}, 4);
}

UNIT_TEST(one_at_least_may_go_on)
{
  struct input_claim claims[] = {{.held = 900, .left = 100}, {.held = 200, .left = 800}};
  input_budget_choose(claims, 2, 0);
  assert_licensed(claims, 2, (size_t[]){200}, 1);
  input_budget_choose(claims, 0, 0);
}

/* Or they would take turns at being the smallest, grow together and meet at the bound. */
UNIT_TEST(who_goes_on_quickly_keeps_its_licence)
{
  struct input_claim claims[] = {
      {.held = 100, .left = 900}, {.held = 700, .left = 300, .goes_on = true}, {.held = 600, .left = 400}};
  input_budget_choose(claims, 3, 1000);
  assert_licensed(claims, 3, (size_t[]){700, 600}, 2);
}

UNIT_TEST(promises_do_not_wrap_around)
{
  struct input_claim claims[] = {
      {.held = 1, .left = SIZE_MAX}, {.held = 2, .left = SIZE_MAX}, {.held = 3, .left = 2}};
  input_budget_choose(claims, 3, 10);
  assert_licensed(claims, 3, (size_t[]){1}, 1);
}

UNIT_TEST(the_largest_come_first_where_some_are_cut)
{
  struct input_claim claims[] = {{.held = 2}, {.held = 9}, {.held = 5}};
  input_budget_sort_largest(claims, 3);
  assert_int_equal(claims[0].held, 9);
  assert_int_equal(claims[2].held, 2);
}

UNIT_MAIN
