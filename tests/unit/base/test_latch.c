/* Tests that a latch is opened by another thread, and that its deadlines are times of clock_now_ns. */
#include "base/latch.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

enum { PAUSE_NS = 20 * 1000 * 1000 };

static void *open_later(void *argument)
{
  nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  latch_open(argument);
  return NULL;
}

static int64_t in_a_minute(void)
{
  return clock_now_ns() + AWAIT_MAX_MS * INT64_C(1000000);
}

UNIT_TEST(test_a_thread_waits_until_another_opens_the_latch)
{
  struct latch latch;
  pthread_t opener;
  latch_init(&latch);
  const int64_t before_ns = clock_now_ns();
  assert_int_equal(pthread_create(&opener, NULL, open_later, &latch), 0);
  assert_true(latch_await(&latch, in_a_minute()));
  assert_true(clock_now_ns() - before_ns >= PAUSE_NS);
  pthread_join(opener, NULL);
  assert_true(latch_await(&latch, 0)); /* it stays open, and its deadline no longer counts */
  latch_fini(&latch);
}

UNIT_TEST(test_a_wait_ends_at_its_deadline_and_not_before)
{
  struct latch latch;
  latch_init(&latch);
  const int64_t deadline_ns = clock_now_ns() + PAUSE_NS;
  assert_false(latch_await(&latch, deadline_ns));
  assert_true(clock_now_ns() >= deadline_ns); /* by the time of day it would be over */
  latch_open(&latch);
  assert_true(latch_await(&latch, deadline_ns));
  latch_fini(&latch);
}

UNIT_MAIN
