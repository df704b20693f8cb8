#include "net/workers/crew_growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(struct crew_load load, unsigned wanted)
{
  assert_int_equal(crew_growth_wanted(&load), wanted);
}

static void nobody_is_added_beside_an_idle_one(void **state)
{
  (void)state;
  expect((struct crew_load){.busy = 1, .idle = 1}, 0);
  expect((struct crew_load){.busy = 8, .idle = 1}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .idle = 1}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .idle = 1, .has_moved = true}, 0);
}

static void nobody_is_added_while_busy_ones_move(void **state)
{
  (void)state;
  expect((struct crew_load){.busy = 1, .has_moved = true}, 0);
  expect((struct crew_load){.busy = 8, .has_moved = true}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .has_moved = true}, 0);
}

static void busy_ones_that_stay_inside_get_company(void **state)
{
  (void)state;
  expect((struct crew_load){.busy = 1}, 1);
  expect((struct crew_load){.busy = 3}, 1);
  expect((struct crew_load){.busy = 4}, 2);
  expect((struct crew_load){.busy = 64}, 17);
}

/* They have moved when they began to wait, and will not again before their clients answer. */
static void all_that_wait_get_company_though_they_moved(void **state)
{
  (void)state;
  expect((struct crew_load){.waiting = 1, .has_moved = true}, 1);
  expect((struct crew_load){.waiting = 1}, 1);
  expect((struct crew_load){.waiting = 25, .has_moved = true}, 7);
  expect((struct crew_load){.waiting = 200, .has_moved = true}, 51);
}

static void those_that_wait_count_for_how_many(void **state)
{
  (void)state;
  expect((struct crew_load){.busy = 2, .waiting = 2}, 2);
  expect((struct crew_load){.busy = 1, .waiting = 199}, 51);
}

static void a_crew_without_members_gets_one(void **state)
{
  (void)state;
  expect((struct crew_load){.busy = 0}, 1);
  expect((struct crew_load){.busy = 0, .has_moved = true}, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_is_added_beside_an_idle_one),
      cmocka_unit_test(nobody_is_added_while_busy_ones_move),
      cmocka_unit_test(busy_ones_that_stay_inside_get_company),
      cmocka_unit_test(all_that_wait_get_company_though_they_moved),
      cmocka_unit_test(those_that_wait_count_for_how_many),
      cmocka_unit_test(a_crew_without_members_gets_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
