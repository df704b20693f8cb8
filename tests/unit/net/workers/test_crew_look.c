/* Whom a member looks for without a system call, and how it waits meanwhile. */
#include "net/workers/crew.h"

#include "base/clock.h"
#include "stub_service.h"

#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOK_NS = 50000, PAUSE_US = 2000, FOUND_AT = 3, UNKNOWN = -1 };

static _Atomic int yields;

/* In place of libc's: the members call it. */
int sched_yield(void)
{
  atomic_fetch_add(&yields, 1);
  return 0;
}

/* A source whose client has sent more at a certain look. */
struct ring {
  struct crew_source source;
  bool is_brisk;     /* its client called soon after the answer before */
  bool is_near;      /* the client is on the member's processor */
  bool names_itself; /* the client has said where it is */
  int found_at;
  int nap_at; /* the member loses its processor at this look */
  bool always_naps;
  int looks;
  bool found;
  _Atomic int turns;
};

static struct ring *ring_of(struct crew_source *source)
{
  return (struct ring *)(void *)source;
}

static bool look(struct crew_source *source)
{
  struct ring *ring = ring_of(source);
  ring->looks++;
  if (ring->always_naps || ring->looks == ring->nap_at)
    usleep(PAUSE_US);
  return ring->looks >= ring->found_at;
}

static bool look_among_others(struct crew_source *source)
{
  (void)source;
  return false;
}

static bool sleep_on(struct crew_source *source)
{
  (void)source;
  return true;
}

static int meet(struct crew_source *source, int processor)
{
  const struct ring *ring = ring_of(source);
  if (!ring->names_itself)
    return UNKNOWN;
  return ring->is_near ? processor : processor + 1;
}

static const struct crew_lookout LOOKOUT = {look_among_others, sleep_on, meet};

static void turn(struct crew_source *source, struct crew_member *member)
{
  struct ring *ring = ring_of(source);
  if (ring->is_brisk)
    source->answered_ns = INT64_MAX / 2;
  ring->found = crew_stay(member, source, look);
  atomic_fetch_add(&ring->turns, 1);
}

struct fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
};

static void open_fixture(struct fixture *f, bool may_pause)
{
  struct jp_error error;
  stub_open(&f->stub, 10, &f->service);
  const struct crew_config config = {.threads = 2,
                                     .threads_max = 2,
                                     .linger_ms = 100,
                                     .busy_timeout_ms = 60000,
                                     .tick_ms = 10,
                                     .look_ns = LOOK_NS,
                                     .may_pause = may_pause};
  assert_int_equal(crew_create(&config, &f->crew, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
}

static void close_fixture(struct fixture *f)
{
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  crew_destroy(f->crew);
  stub_close(&f->stub);
}

static void give_turn(struct fixture *f, struct ring *ring)
{
  int turns = atomic_load(&ring->turns);
  ring->looks = 0;
  atomic_store(&yields, 0);
  crew_submit(f->crew, &ring->source);
  while (atomic_load(&ring->turns) == turns)
    usleep(100);
}

/* Until a member has stayed: it does not where other work comes just then. */
static void stay(struct fixture *f, struct ring *ring)
{
  ring->source.turn = turn;
  atomic_store(&ring->source.lookout, &LOOKOUT);
  do
    give_turn(f, ring);
  while (!ring->found);
}

static void a_client_that_lets_time_pass_is_not_looked_for(void **state)
{
  (void)state;
  struct fixture f;
  open_fixture(&f, true);
  struct ring ring = {.source = {.turn = turn, .lookout = &LOOKOUT}, .found_at = INT_MAX};
  for (int i = 0; i < 10; i++) {
    give_turn(&f, &ring);
    assert_int_equal(ring.looks, 0);
    usleep(PAUSE_US);
  }
  close_fixture(&f);
}

static void a_client_elsewhere_needs_no_yield(void **state)
{
  (void)state;
  struct fixture f;
  open_fixture(&f, false);
  struct ring ring = {.is_brisk = true, .names_itself = true, .found_at = FOUND_AT};
  stay(&f, &ring);
  assert_int_equal(ring.looks, FOUND_AT);
  assert_int_equal(atomic_load(&yields), 0);
  close_fixture(&f);
}

static void a_client_on_the_same_processor_gets_it_at_once(void **state)
{
  (void)state;
  struct fixture f;
  open_fixture(&f, true);
  struct ring ring = {.is_brisk = true, .names_itself = true, .is_near = true, .found_at = FOUND_AT};
  stay(&f, &ring);
  assert_int_equal(atomic_load(&yields), FOUND_AT);
  close_fixture(&f);
}

static void a_client_that_names_no_processor_is_where_it_may_be(void **state)
{
  (void)state;
  for (int may_pause = 0; may_pause < 2; may_pause++) {
    struct fixture f;
    open_fixture(&f, may_pause);
    struct ring ring = {.is_brisk = true, .found_at = FOUND_AT};
    stay(&f, &ring);
    assert_int_equal(atomic_load(&yields), may_pause ? 0 : FOUND_AT);
    close_fixture(&f);
  }
}

/* The time without the processor is no part of the look, which would be over otherwise. */
static void a_member_that_lost_its_processor_looks_on(void **state)
{
  (void)state;
  struct fixture f;
  open_fixture(&f, true);
  struct ring ring = {.is_brisk = true, .names_itself = true, .found_at = 6, .nap_at = 1};
  stay(&f, &ring);
  assert_int_equal(ring.looks, 6);
  close_fixture(&f);
}

static void a_look_that_is_slow_ends(void **state)
{
  (void)state;
  struct fixture f;
  open_fixture(&f, true);
  struct ring ring = {.source = {.turn = turn, .lookout = &LOOKOUT},
                      .is_brisk = true,
                      .names_itself = true,
                      .found_at = INT_MAX,
                      .always_naps = true};
  give_turn(&f, &ring);
  assert_false(ring.found);
  close_fixture(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_client_that_lets_time_pass_is_not_looked_for),
      cmocka_unit_test(a_client_elsewhere_needs_no_yield),
      cmocka_unit_test(a_client_on_the_same_processor_gets_it_at_once),
      cmocka_unit_test(a_client_that_names_no_processor_is_where_it_may_be),
      cmocka_unit_test(a_member_that_lost_its_processor_looks_on),
      cmocka_unit_test(a_look_that_is_slow_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
