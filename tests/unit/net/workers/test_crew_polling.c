/* Whom a member looks for without a system call, and how it waits meanwhile. */
#include "crew_fixture.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

#define LOOKING(count, may_pause_)                                                                           \
  .threads = (count), .threads_max = (count), .look_ns = LOOK_NS, .may_pause = (may_pause_)

static void give_turn(struct fixture *f, struct ring *ring)
{
  int turns = atomic_load(&ring->turns);
  ring->looks = 0;
  atomic_store(&yields, 0);
  crew_submit(f->crew, &ring->source);
  AWAIT(atomic_load(&ring->turns) != turns);
}

/* Until a member has stayed: it does not where other work comes just then. */
static void stay(struct fixture *f, struct ring *ring)
{
  ring->source.turn = turn;
  atomic_store(&ring->source.lookout, &LOOKOUT);
  const int64_t since_ms = clock_now_ms();
  do {
    AWAIT_CHECK(since_ms, "a member that stays");
    give_turn(f, ring);
  } while (!ring->found);
}

CREW_TEST(a_client_that_lets_time_pass_is_not_looked_for, LOOKING(2, true))
{
  struct ring ring = {.source = {.turn = turn, .lookout = &LOOKOUT}, .found_at = INT_MAX};
  for (int i = 0; i < 10; i++) {
    give_turn(f, &ring);
    assert_int_equal(ring.looks, 0);
    usleep(PAUSE_US);
  }
  fixture_close(f);
}

CREW_TEST(a_client_elsewhere_needs_no_yield, LOOKING(2, false))
{
  struct ring ring = {.is_brisk = true, .names_itself = true, .found_at = FOUND_AT};
  stay(f, &ring);
  assert_int_equal(ring.looks, FOUND_AT);
  assert_int_equal(atomic_load(&yields), 0);
  fixture_close(f);
}

CREW_TEST(a_client_on_the_same_processor_gets_it_at_once, LOOKING(2, true))
{
  struct ring ring = {.is_brisk = true, .names_itself = true, .is_near = true, .found_at = FOUND_AT};
  stay(f, &ring);
  assert_int_equal(atomic_load(&yields), FOUND_AT);
  fixture_close(f);
}

UNIT_TEST(a_client_that_names_no_processor_is_where_it_may_be)
{
  for (int may_pause = 0; may_pause < 2; may_pause++) {
    struct fixture f;
    fixture_open(&f, (struct crew_config){LOOKING(2, may_pause)});
    struct ring ring = {.is_brisk = true, .found_at = FOUND_AT};
    stay(&f, &ring);
    assert_int_equal(atomic_load(&yields), may_pause ? 0 : FOUND_AT);
    fixture_close(&f);
  }
}

/* The time without the processor is no part of the look, which would be over otherwise. */
CREW_TEST(a_member_that_lost_its_processor_looks_on, LOOKING(2, true))
{
  struct ring ring = {.is_brisk = true, .names_itself = true, .found_at = 6, .nap_at = 1};
  stay(f, &ring);
  assert_int_equal(ring.looks, 6);
  fixture_close(f);
}

CREW_TEST(a_look_that_is_slow_ends, LOOKING(2, true))
{
  struct ring ring = {.source = {.turn = turn, .lookout = &LOOKOUT},
                      .is_brisk = true,
                      .names_itself = true,
                      .found_at = INT_MAX,
                      .always_naps = true};
  give_turn(f, &ring);
  assert_false(ring.found);
  fixture_close(f);
}

/* A source whose client lets time pass, and another one that is ready when its turn ends. */
struct paced {
  struct crew_source source;
  struct crew *crew;
  struct ring next;
  int64_t pause_ns;
  int looks;
  bool is_kept;
};

static struct paced *paced_of(struct crew_source *source)
{
  return (struct paced *)(void *)source;
}

static bool has_nothing(struct crew_source *source)
{
  (void)source;
  return false;
}

static bool look_in_vain(struct crew_source *source)
{
  paced_of(source)->looks++;
  return false;
}

static void paced_turn(struct crew_source *source, struct crew_member *member)
{
  struct paced *paced = paced_of(source);
  crew_submit(paced->crew, &paced->next.source);
  source->answered_ns = member->looked_ns - paced->pause_ns;
  bool found = crew_stay(member, source, look_in_vain);
  paced->is_kept = !found && crew_keep_awake(paced->crew, source);
}

static void plain_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  atomic_fetch_add(&ring_of(source)->turns, 1);
}

static bool is_kept_awake(int64_t pause_ns)
{
  static const struct crew_lookout lookout = {has_nothing, sleep_on, meet};
  struct fixture f;
  fixture_open(&f, (struct crew_config){LOOKING(1, true)});
  struct paced paced = {.source = {.turn = paced_turn, .lookout = &lookout},
                        .crew = f.crew,
                        .next = {.source = {.turn = plain_turn}},
                        .pause_ns = pause_ns};
  crew_submit(f.crew, &paced.source);
  AWAIT(atomic_load(&paced.next.turns) != 0 && !atomic_load(&paced.source.is_awake)); /* it falls asleep */
  fixture_close(&f);
  assert_int_equal(paced.looks, 0);
  return paced.is_kept;
}

UNIT_TEST(a_client_that_calls_often_stays_awake_while_there_is_other_work)
{
  for (int64_t pause_ns = 100000; pause_ns < 2000000; pause_ns += 700000) {
    bool is_kept = false;
    for (int i = 0; i < 100 && !is_kept; i++) /* the watcher may have taken the turn, and does not look */
      is_kept = is_kept_awake(pause_ns);
    assert_true(is_kept);
  }
  assert_false(is_kept_awake(2500000));
}

/* A source that has work until the test ends it: each look at it finds some. */
struct busy {
  struct crew_source source;
  struct crew *crew;
  _Atomic bool ends;
  _Atomic int turns;
};

static bool has_more(struct crew_source *source)
{
  return !atomic_load(&((struct busy *)(void *)source)->ends);
}

static bool sleep_with_nothing(struct crew_source *source)
{
  return !has_more(source);
}

static void ready_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  struct busy *busy = (struct busy *)(void *)source;
  if (has_more(source))
    crew_submit(busy->crew, source);
  atomic_fetch_add(&busy->turns, 1);
}

static void awake_turn(struct crew_source *source, struct crew_member *member)
{
  struct busy *busy = (struct busy *)(void *)source;
  crew_take_awake(busy->crew, source);
  source->answered_ns = member->looked_ns;
  bool found = crew_stay(member, source, has_more);
  atomic_fetch_add(&busy->turns, 1);
  if ((found || !crew_keep_awake(busy->crew, source)) && has_more(source))
    crew_submit(busy->crew, source);
}

CREW_TEST(an_event_is_served_beside_ready_work_and_looks_that_find_some, LOOKING(1, true))
{
  static const struct crew_lookout lookout = {has_more, sleep_with_nothing, meet};
  struct busy ready = {.source = {.turn = ready_turn, .lookout = &lookout}, .crew = f->crew};
  struct busy awake = {.source = {.turn = awake_turn, .lookout = &lookout}, .crew = f->crew};
  struct ring bell = {.source = {.turn = plain_turn, .lookout = &lookout}};
  crew_submit(f->crew, &ready.source);
  crew_submit(f->crew, &awake.source);
  AWAIT(atomic_load(&awake.turns) >= 1000 && atomic_load(&ready.turns) >= 1000);
  shutdown(f->pair[1], SHUT_WR);
  assert_int_equal(crew_watch(f->crew, &bell.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  AWAIT(atomic_load(&bell.turns) != 0);
  atomic_store(&ready.ends, true);
  atomic_store(&awake.ends, true);
  fixture_close(f);
}

/* --- pinned members --- */

/* A ring whose member waits for a descriptor between its turns. */
struct pinned_ring {
  struct ring ring;
  int fd; /* an eventfd */
};

static enum crew_pinned_next await_fd(struct crew_source *source, struct crew_member *member, int *fd,
                                      short *events)
{
  if (atomic_load(&source->pinned) != member)
    return CREW_PINNED_ENDS;
  *fd = ((struct pinned_ring *)(void *)source)->fd;
  *events = POLLIN;
  return CREW_PINNED_WAITS;
}

static void turn_by_fd(struct crew_source *source, struct crew_member *member)
{
  eventfd_t value;
  (void)eventfd_read(((struct pinned_ring *)(void *)source)->fd, &value);
  turn(source, member);
}

CREW_TEST(a_pinned_member_that_its_descriptor_has_woken_looks_for_more, .threads = 1, .threads_max = 1,
          .pinned_max = 1, .pinned_polling = 1, .look_ns = INT64_C(3600000000000))
{
  static const struct crew_meanwhile meanwhile = {.await = await_fd};
  struct pinned_ring pinned = {
      .ring = {.source = {.turn = turn_by_fd, .lookout = &LOOKOUT, .meanwhile = &meanwhile},
               .is_brisk = true,
               .names_itself = true,
               .is_near = true,
               .found_at = 6},
      .fd = eventfd(0, EFD_CLOEXEC)};
  struct crew_member *member = NULL;
  struct jp_error error;
  assert_int_equal(crew_pin(f->crew, &pinned.ring.source, "pinned", &member, &error), JP_OK);
  atomic_store(&pinned.ring.source.pinned, member);
  crew_admit(member);
  for (int i = 1; i <= 3; i++) {
    pinned.ring.looks = 0;
    assert_int_equal(eventfd_write(pinned.fd, 1), 0);
    AWAIT(atomic_load(&pinned.ring.turns) == i);
    assert_true(pinned.ring.found);
    assert_int_equal(pinned.ring.looks, 6);
  }
  fixture_close(f);
  close(pinned.fd);
}

UNIT_MAIN
