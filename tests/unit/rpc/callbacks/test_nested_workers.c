/* The pool of workers without a thread. */
#include "rpc/callbacks/nested_workers.h"

#include "callback_bench.h"
#include "tests/unit/unit.h"

static int set_up(void **state)
{
  *state = service_bench_create(&(struct service_bench_options){.member_count = 0});
  return 0;
}

static int tear_down(void **state)
{
  bool is_clean = service_bench_destroy(*state);
  assert_int_equal(atomic_load(&stub_callbacks.threads), 0);
  return is_clean ? 0 : -1;
}

static struct nested_workers *pool_of(void **state)
{
  const struct service_bench *bench = *state;
  return bench->peer->nested_workers;
}

static void test_the_last_one_is_lent_first(void **state)
{
  struct nested_workers *pool = pool_of(state);
  struct nested_worker *first;
  struct nested_worker *second;
  struct nested_worker *again;
  assert_int_equal(nested_workers_borrow(pool, &first), JP_OK);
  assert_int_equal(nested_workers_borrow(pool, &second), JP_OK);
  assert_ptr_not_equal(first, second);
  assert_ptr_not_equal(first->worker.runner.thread, second->worker.runner.thread);
  nested_workers_return(pool, second);
  nested_workers_return(pool, first);
  assert_int_equal(nested_workers_borrow(pool, &again), JP_OK);
  assert_ptr_equal(again, first);
  nested_workers_return(pool, again);
  assert_int_equal(atomic_load(&stub_callbacks.threads), 2);
}

static void test_what_it_held_is_given_up(void **state)
{
  struct nested_workers *pool = pool_of(state);
  struct nested_worker *nested;
  enum { LARGE = 1 << 20 };
  assert_int_equal(nested_workers_borrow(pool, &nested), JP_OK);
  assert_non_null(buffer_reserve(&nested->out, LARGE));
  nested->out.len = LARGE;
  nested->scratch.failed = true;
  nested_workers_return(pool, nested);
  assert_int_equal(nested_workers_borrow(pool, &nested), JP_OK);
  assert_int_equal(nested->out.len, 0);
  assert_true(nested->out.cap < LARGE);
  assert_false(nested->scratch.failed);
  nested_workers_return(pool, nested);
}

static void test_a_crowd_is_not_kept(void **state)
{
  enum { CROWD = NESTED_WORKERS_KEPT + 10 };
  struct nested_worker *crowd[CROWD];
  struct nested_workers *pool = pool_of(state);
  for (size_t i = 0; i < CROWD; i++)
    assert_int_equal(nested_workers_borrow(pool, &crowd[i]), JP_OK);
  assert_int_equal(atomic_load(&stub_callbacks.threads), CROWD);
  for (size_t i = 0; i < CROWD; i++)
    nested_workers_return(pool, crowd[i]);
  assert_int_equal(atomic_load(&stub_callbacks.threads), NESTED_WORKERS_KEPT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_the_last_one_is_lent_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_what_it_held_is_given_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_crowd_is_not_kept, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
