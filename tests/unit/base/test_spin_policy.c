/* Tests which chances to poll are used, and for how long. */
#include "base/spin_policy.h"
#include "tests/unit/unit.h"

enum {
  US = 1000,
  QUICK_NS = 20 * US,
  LATE_NS = 200 * US,
  PAUSE_NS = US,
  SPIN_NS = 100 * US,
  SPIN_LONG_NS = 400 * US
};

static const struct spin_limits LIMITS = {.usual_ns = SPIN_NS, .rare_ns = SPIN_LONG_NS, .pause_ns = SPIN_NS};

/* Offers `chances` chances to poll, and returns how many are used if each poll ends in the same way. */
static int count_polls(struct spin_policy *spin, int chances, bool found, int64_t took_ns, int64_t pause_ns)
{
  int polls = 0;
  for (int i = 0; i < chances; i++) {
    if (!spin_policy_takes_chance(spin))
      continue;
    polls++;
    spin_policy_learn(spin, &LIMITS, found, took_ns, pause_ns);
  }
  return polls;
}

UNIT_TEST(test_a_quick_client_is_always_waited_for)
{
  struct spin_policy spin = {0};
  assert_int_equal(count_polls(&spin, 1000, true, QUICK_NS, PAUSE_NS), 1000);
  assert_int_equal(spin_policy_limit_ns(&spin, &LIMITS), SPIN_NS);
}

UNIT_TEST(test_polling_in_vain_becomes_rare)
{
  struct spin_policy spin = {0};
  /* The first two chances are used, then one of 2, 4, 8, 16, 32 and 64, and from then on one of 128. */
  assert_int_equal(count_polls(&spin, 128, false, SPIN_LONG_NS, PAUSE_NS), 8);
  assert_int_equal(count_polls(&spin, 128 * 10, false, SPIN_LONG_NS, PAUSE_NS), 10);
}

/* This holds even if a message was found. */
UNIT_TEST(test_other_threads_get_the_processor)
{
  struct spin_policy spin = {0};
  assert_int_equal(count_polls(&spin, 128, true, LATE_NS, SPIN_NS), 8);
  assert_int_equal(count_polls(&spin, 128 * 10, true, LATE_NS, SPIN_NS), 10);
}

/* Threads that poll in turns lose the processor to each other, and not to a thread that keeps it. */
UNIT_TEST(test_a_longer_pause_may_be_allowed)
{
  static const struct spin_limits turns = {.usual_ns = SPIN_NS, .rare_ns = SPIN_NS, .pause_ns = 5 * SPIN_NS};
  struct spin_policy spin = {0};
  spin_policy_learn(&spin, &turns, true, QUICK_NS, 4 * SPIN_NS);
  assert_true(spin_policy_takes_chance(&spin));
  for (int i = 0; i < 3; i++)
    spin_policy_learn(&spin, &turns, true, QUICK_NS, 5 * SPIN_NS);
  assert_false(spin_policy_takes_chance(&spin));
}

/* A client that pauses between its calls would otherwise cost a core. */
UNIT_TEST(test_only_the_rarest_polls_are_long)
{
  struct spin_policy spin = {0};
  for (int i = 0; i < 8; i++) {
    while (!spin_policy_takes_chance(&spin))
      ;
    assert_int_equal(spin_policy_limit_ns(&spin, &LIMITS), SPIN_NS);
    spin_policy_learn(&spin, &LIMITS, true, LATE_NS, PAUSE_NS);
  }
  assert_int_equal(spin_policy_limit_ns(&spin, &LIMITS), SPIN_LONG_NS);
}

UNIT_TEST(test_a_late_client_gets_several_chances_then)
{
  struct spin_policy spin = {0};
  (void)count_polls(&spin, 128, true, LATE_NS, PAUSE_NS);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(count_polls(&spin, 127, true, LATE_NS, PAUSE_NS), 0);
    assert_int_equal(count_polls(&spin, 8, true, LATE_NS, PAUSE_NS), 8);
  }
}

UNIT_TEST(test_a_client_that_became_quick_is_always_polled)
{
  struct spin_policy spin = {0};
  (void)count_polls(&spin, 128 * 10, false, SPIN_LONG_NS, PAUSE_NS);
  while (!spin_policy_takes_chance(&spin))
    ;
  spin_policy_learn(&spin, &LIMITS, true, LATE_NS, PAUSE_NS);
  assert_true(spin_policy_takes_chance(&spin));
  assert_int_equal(spin_policy_limit_ns(&spin, &LIMITS), SPIN_LONG_NS);
  spin_policy_learn(&spin, &LIMITS, true, QUICK_NS, PAUSE_NS);
  assert_int_equal(count_polls(&spin, 1000, true, QUICK_NS, PAUSE_NS), 1000);
  assert_int_equal(spin_policy_limit_ns(&spin, &LIMITS), SPIN_NS);
}

UNIT_MAIN
