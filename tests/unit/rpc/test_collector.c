#include "rpc/collector.h"

#include "base/clock.h"
#include "stub_jni.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, PERIOD_MS = 1000 };

static struct rpc_collector *collector;
static _Atomic int running;
static _Atomic bool overlapped;

static int set_up(void **state)
{
  (void)state;
  struct jp_error error;
  collector = rpc_collector_create();
  atomic_store(&stub.collected, 0);
  return collector == NULL || rpc_collector_start(collector, NULL, &error) != JP_OK;
}

static int tear_down(void **state)
{
  (void)state;
  bool has_ended = rpc_collector_stop(collector, PATIENCE_MS);
  stub_join_threads();
  rpc_collector_destroy(collector);
  stub.while_collecting = NULL;
  return !has_ended;
}

static void collect(void)
{
  rpc_collector_collect(collector, NULL);
}

static void await_collected(unsigned count)
{
  int64_t deadline = clock_now_ms() + PATIENCE_MS;
  while (atomic_load(&stub.collected) < count && clock_now_ms() < deadline)
    usleep(1000);
  if (atomic_load(&stub.collected) < count)
    fail_msg("%u collections have not run within %d ms", count, PATIENCE_MS);
}

UNIT_TEST_WITH(the_first_request_has_collected_when_it_returns, set_up, tear_down)
{
  collect();
  assert_int_equal(atomic_load(&stub.collected), 1);
}

UNIT_TEST_WITH(later_requests_share_one_collection_that_follows, set_up, tear_down)
{
  int64_t begin = clock_now_ms();
  for (int i = 0; i < 1000; i++)
    collect();
  if (clock_now_ms() - begin < PERIOD_MS) /* on a machine that was suspended there may be two collections */
    assert_int_equal(atomic_load(&stub.collected), 1);
  await_collected(2);
  assert_true(clock_now_ms() - begin >= PERIOD_MS);
}

static void ask_again(void)
{
  if (atomic_load(&stub.collected) < 3)
    rpc_collector_collect(collector, NULL);
}

UNIT_TEST_WITH(a_request_during_a_collection_gets_another_one, set_up, tear_down)
{
  stub.while_collecting = ask_again;
  collect();
  await_collected(3);
}

static void note_overlap(void)
{
  if (atomic_fetch_add(&running, 1) > 0)
    atomic_store(&overlapped, true);
  usleep(2000);
  atomic_fetch_sub(&running, 1);
}

static void *collect_often(void *unused)
{
  (void)unused;
  for (int i = 0; i < 200; i++) {
    rpc_collector_collect(collector, NULL);
    usleep(5000);
  }
  return NULL;
}

UNIT_TEST_WITH(no_two_collections_run_at_once, set_up, tear_down)
{
  pthread_t threads[4];
  int64_t begin = clock_now_ms();
  stub.while_collecting = note_overlap;
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, collect_often, NULL), 0);
  for (size_t i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  assert_true(atomic_load(&stub.collected) <= (clock_now_ms() - begin) / PERIOD_MS + 1);
  assert_true(rpc_collector_stop(collector, PATIENCE_MS));
  assert_false(atomic_load(&overlapped));
}

UNIT_TEST_WITH(a_stop_does_not_wait_for_the_second_to_end, set_up, tear_down)
{
  collect();
  collect();
  assert_true(rpc_collector_stop(collector, PATIENCE_MS));
  assert_int_equal(atomic_load(&stub.collected), 1);
}

UNIT_MAIN
