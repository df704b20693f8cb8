/* Busy-polling: these tests check what the poller finds, not how long it polls. */
#include "client/transports/shm_poller.h"

#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <pthread.h>

struct pair {
  struct ring_side mine;
  struct ring_side other;
  struct shm_poller poller;
};

static void init_pair(struct pair *pair)
{
  memset(pair, 0, sizeof *pair);
  shm_poller_init(&pair->poller, &pair->mine, &pair->other);
  pair->poller.is_possible = true; /* independent of this machine */
  pair->poller.is_bound = false;
}

UNIT_TEST(test_written_bytes_are_found)
{
  struct pair pair;
  init_pair(&pair);
  assert_false(shm_poller_has_input(&pair.poller));
  assert_false(shm_poller_wait(&pair.poller));
  pair.other.written = 8;
  assert_true(shm_poller_has_input(&pair.poller));
  assert_true(shm_poller_wait(&pair.poller));
  pair.poller.written = 8;
  assert_false(shm_poller_has_input(&pair.poller));
}

UNIT_TEST(test_room_is_found_if_it_is_wanted)
{
  struct pair pair;
  init_pair(&pair);
  pair.other.taken = 8;
  assert_false(shm_poller_wait(&pair.poller));
  pair.poller.wants_room = true;
  assert_true(shm_poller_wait(&pair.poller));
  assert_false(shm_poller_has_input(&pair.poller));
}

UNIT_TEST(test_useless_polls_become_rare)
{
  enum { POLLS = 100 };
  struct pair pair;
  init_pair(&pair);
  for (int i = 0; i < POLLS; i++)
    assert_false(shm_poller_wait(&pair.poller));
  assert_true(pair.poller.policy.to_skip > 0);
  pair.other.written = 8;
  assert_true(shm_poller_wait(&pair.poller)); /* the first polls are made anyway, and correct the policy */
  assert_int_equal(pair.poller.policy.to_skip, 0);
}

/* The first polls would end before the peer has woken up. */
UNIT_TEST(test_no_polls_for_a_sleeping_peer)
{
  struct pair pair;
  init_pair(&pair);
  pair.poller.policy.to_skip = 1;
  pair.poller.is_notified = true;
  pair.other.written = 8;
  assert_false(shm_poller_wait(&pair.poller));
  assert_true(shm_poller_wait(&pair.poller));
}

UNIT_TEST(test_no_polls_with_one_processor)
{
  struct pair pair;
  init_pair(&pair);
  assert_true(shm_poller_begin(&pair.poller));
  pair.poller.is_possible = false;
  assert_false(shm_poller_begin(&pair.poller));
}

/* Any number is possible. */
UNIT_TEST(test_a_wrong_processor_is_only_a_hint)
{
  struct pair pair;
  init_pair(&pair);
  for (uint32_t processor = 0; processor < 64; processor++) {
    pair.other.processor = processor;
    (void)shm_poller_wait(&pair.poller);
  }
  pair.other.processor = UINT32_MAX;
  pair.other.written = 8;
  assert_true(shm_poller_wait(&pair.poller));
  assert_true(ring_processor_of(&pair.mine) >= 0);
}

static void *write_once(void *context)
{
  struct pair *pair = context;
  atomic_store(&pair->other.written, 8);
  return NULL;
}

UNIT_TEST(test_bytes_of_another_thread_are_found)
{
  struct pair pair;
  pthread_t thread;
  init_pair(&pair);
  assert_int_equal(pthread_create(&thread, NULL, write_once, &pair), 0);
  AWAIT(shm_poller_wait(&pair.poller));
  pthread_join(thread, NULL);
}

UNIT_MAIN
