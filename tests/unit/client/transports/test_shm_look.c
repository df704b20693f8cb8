/* Waiting awake: these tests check what a look finds, not how long it takes. */
#include "client/transports/shm_look.h"

#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <pthread.h>

struct pair {
  struct ring_side mine;
  struct ring_side other;
  struct shm_look look;
};

static void init_pair(struct pair *pair)
{
  memset(pair, 0, sizeof *pair);
  shm_look_init(&pair->look, &pair->mine, &pair->other);
  pair->look.is_possible = true; /* whatever this machine has */
  pair->look.is_bound = false;
}

UNIT_TEST(test_what_is_there_is_found)
{
  struct pair pair;
  init_pair(&pair);
  assert_false(shm_look_finds_input(&pair.look));
  assert_false(shm_look_wait(&pair.look));
  pair.other.written = 8;
  assert_true(shm_look_finds_input(&pair.look));
  assert_true(shm_look_wait(&pair.look));
  pair.look.written = 8;
  assert_false(shm_look_finds_input(&pair.look));
}

UNIT_TEST(test_room_counts_where_it_is_waited_for)
{
  struct pair pair;
  init_pair(&pair);
  pair.other.taken = 8;
  assert_false(shm_look_wait(&pair.look));
  pair.look.wants_room = true;
  assert_true(shm_look_wait(&pair.look));
  assert_false(shm_look_finds_input(&pair.look));
}

UNIT_TEST(test_long_looks_in_vain_become_rare)
{
  enum { LOOKS = 100 };
  struct pair pair;
  init_pair(&pair);
  for (int i = 0; i < LOOKS; i++)
    assert_false(shm_look_wait(&pair.look));
  assert_true(pair.look.policy.to_skip > 0);
  pair.other.written = 8;
  assert_true(shm_look_wait(&pair.look)); /* the first looks are taken all the same, and set it right */
  assert_int_equal(pair.look.policy.to_skip, 0);
}

/* The first looks would be over before it is awake. */
UNIT_TEST(test_none_for_a_peer_that_has_to_wake)
{
  struct pair pair;
  init_pair(&pair);
  pair.look.policy.to_skip = 1;
  pair.look.is_rung = true;
  pair.other.written = 8;
  assert_false(shm_look_wait(&pair.look));
  assert_true(shm_look_wait(&pair.look));
}

UNIT_TEST(test_none_with_one_processor)
{
  struct pair pair;
  init_pair(&pair);
  assert_true(shm_look_begin(&pair.look));
  pair.look.is_possible = false;
  assert_false(shm_look_begin(&pair.look));
}

/* Any number may be there. */
UNIT_TEST(test_a_wrong_processor_is_only_a_hint)
{
  struct pair pair;
  init_pair(&pair);
  for (uint32_t processor = 0; processor < 64; processor++) {
    pair.other.processor = processor;
    (void)shm_look_wait(&pair.look);
  }
  pair.other.processor = UINT32_MAX;
  pair.other.written = 8;
  assert_true(shm_look_wait(&pair.look));
  assert_true(ring_processor_of(&pair.mine) >= 0);
}

static void *write_once(void *context)
{
  struct pair *pair = context;
  atomic_store(&pair->other.written, 8);
  return NULL;
}

UNIT_TEST(test_what_another_thread_writes_is_found)
{
  struct pair pair;
  pthread_t thread;
  init_pair(&pair);
  assert_int_equal(pthread_create(&thread, NULL, write_once, &pair), 0);
  AWAIT(shm_look_wait(&pair.look));
  pthread_join(thread, NULL);
}

UNIT_MAIN
