#include "net/workers/crew_growth.h"
#include "tests/unit/unit.h"

UNIT_TEST(members_are_added_where_all_are_busy_or_wait)
{
  static const struct {
    struct crew_load load;
    unsigned wanted;
  } cases[] = {
      /* Nobody beside an idle one. */
      {{.busy = 1, .idle = 1}, 0},
      {{.busy = 8, .idle = 1}, 0},
      {{.busy = 1, .waiting = 200, .idle = 1}, 0},
      {{.busy = 1, .waiting = 200, .idle = 1, .has_moved = true}, 0},
      /* Nor while busy ones move. */
      {{.busy = 1, .has_moved = true}, 0},
      {{.busy = 8, .has_moved = true}, 0},
      {{.busy = 1, .waiting = 200, .has_moved = true}, 0},
      {{.busy = 1}, 1},
      {{.busy = 3}, 1},
      {{.busy = 4}, 2},
      {{.busy = 64}, 17},
      /* Those that wait have moved when they began to, and will not again before their clients answer. */
      {{.waiting = 1, .has_moved = true}, 1},
      {{.waiting = 1}, 1},
      {{.waiting = 25, .has_moved = true}, 7},
      {{.waiting = 200, .has_moved = true}, 51},
      {{.busy = 2, .waiting = 2}, 2},
      {{.busy = 1, .waiting = 199}, 51},
      {{.busy = 0}, 1},
      {{.busy = 0, .has_moved = true}, 1},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    if (crew_growth_wanted(&cases[i].load) != cases[i].wanted)
      fail_msg("case %zu: %u", i, crew_growth_wanted(&cases[i].load));
  }
}

UNIT_MAIN
