#include "net/workers/crew_growth.h"
#include "tests/unit/unit.h"

static void expect(struct crew_load load, unsigned wanted)
{
  assert_int_equal(crew_growth_wanted(&load), wanted);
}

UNIT_TEST(nobody_is_added_beside_an_idle_one)
{
  expect((struct crew_load){.busy = 1, .idle = 1}, 0);
  expect((struct crew_load){.busy = 8, .idle = 1}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .idle = 1}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .idle = 1, .has_moved = true}, 0);
}

UNIT_TEST(nobody_is_added_while_busy_ones_move)
{
  expect((struct crew_load){.busy = 1, .has_moved = true}, 0);
  expect((struct crew_load){.busy = 8, .has_moved = true}, 0);
  expect((struct crew_load){.busy = 1, .waiting = 200, .has_moved = true}, 0);
}

UNIT_TEST(busy_ones_that_stay_inside_get_company)
{
  expect((struct crew_load){.busy = 1}, 1);
  expect((struct crew_load){.busy = 3}, 1);
  expect((struct crew_load){.busy = 4}, 2);
  expect((struct crew_load){.busy = 64}, 17);
}

/* They have moved when they began to wait, and will not again before their clients answer. */
UNIT_TEST(all_that_wait_get_company_though_they_moved)
{
  expect((struct crew_load){.waiting = 1, .has_moved = true}, 1);
  expect((struct crew_load){.waiting = 1}, 1);
  expect((struct crew_load){.waiting = 25, .has_moved = true}, 7);
  expect((struct crew_load){.waiting = 200, .has_moved = true}, 51);
}

UNIT_TEST(those_that_wait_count_for_how_many)
{
  expect((struct crew_load){.busy = 2, .waiting = 2}, 2);
  expect((struct crew_load){.busy = 1, .waiting = 199}, 51);
}

UNIT_TEST(a_crew_without_members_gets_one)
{
  expect((struct crew_load){.busy = 0}, 1);
  expect((struct crew_load){.busy = 0, .has_moved = true}, 1);
}

UNIT_MAIN
