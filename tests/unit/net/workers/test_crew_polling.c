/* Busy-polling of pollable sources: which sources are polled, and how the poll loop waits. */
#include "crew_fixture.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { POLL_NS = 50000, PAUSE_US = 2000, FOUND_AT = 3, UNKNOWN = -1 };

static _Atomic int yields;

/* Replaces libc's function. */
int sched_yield(void)
{
  atomic_fetch_add(&yields, 1);
  return 0;
}

/* A source that has work from a certain poll on. */
struct ring {
  struct crew_source source;
  bool is_fast;             /* its client called soon after the previous answer */
  bool is_near;             /* the client is on the member's processor */
  bool publishes_processor; /* the client has published its processor */
  int found_at;             /* the poll that finds work */
  int nap_at;               /* the member loses its processor during this poll */
  bool always_naps;
  int polls;
  bool found;
  _Atomic int turns;
};

static struct ring *ring_of(struct crew_source *source)
{
  return (struct ring *)(void *)source;
}

static bool poll_source(struct crew_source *source)
{
  struct ring *ring = ring_of(source);
  ring->polls++;
  if (ring->always_naps || ring->polls == ring->nap_at)
    usleep(PAUSE_US);
  return ring->polls >= ring->found_at;
}

static bool poll_in_set(struct crew_source *source)
{
  (void)source;
  return false;
}

static bool sleep_on(struct crew_source *source)
{
  (void)source;
  return true;
}

static int exchange_processors(struct crew_source *source, int processor)
{
  const struct ring *ring = ring_of(source);
  if (!ring->publishes_processor)
    return UNKNOWN;
  return ring->is_near ? processor : processor + 1;
}

static const struct crew_poll_ops POLL_OPS = {poll_in_set, sleep_on, exchange_processors};

static void turn(struct crew_source *source, struct crew_member *member)
{
  struct ring *ring = ring_of(source);
  if (ring->is_fast)
    source->answered_ns = INT64_MAX / 2;
  ring->found = crew_stay(member, source, poll_source);
  atomic_fetch_add(&ring->turns, 1);
}

#define POLLING(count, may_pause_)                                                                           \
  .threads = (count), .threads_max = (count), .poll_ns = POLL_NS, .may_pause = (may_pause_)

static void give_turn(struct fixture *f, struct ring *ring)
{
  int turns = atomic_load(&ring->turns);
  ring->polls = 0;
  atomic_store(&yields, 0);
  crew_submit(f->crew, &ring->source);
  AWAIT(atomic_load(&ring->turns) != turns);
}

/* Gives turns until a member has polled: a member does not poll if there is other work at that time. */
static void stay(struct fixture *f, struct ring *ring)
{
  ring->source.turn = turn;
  atomic_store(&ring->source.poll_ops, &POLL_OPS);
  const int64_t since_ms = clock_now_ms();
  do {
    AWAIT_CHECK(since_ms, "a member that stays");
    give_turn(f, ring);
  } while (!ring->found);
}

CREW_TEST(a_slow_client_is_not_polled_for, POLLING(2, true))
{
  struct ring ring = {.source = {.turn = turn, .poll_ops = &POLL_OPS}, .found_at = INT_MAX};
  for (int i = 0; i < 10; i++) {
    give_turn(f, &ring);
    assert_int_equal(ring.polls, 0);
    usleep(PAUSE_US);
  }
  fixture_close(f);
}

CREW_TEST(a_client_on_another_processor_needs_no_yield, POLLING(2, false))
{
  struct ring ring = {.is_fast = true, .publishes_processor = true, .found_at = FOUND_AT};
  stay(f, &ring);
  assert_int_equal(ring.polls, FOUND_AT);
  assert_int_equal(atomic_load(&yields), 0);
  fixture_close(f);
}

CREW_TEST(a_client_on_the_same_processor_gets_a_yield_at_once, POLLING(2, true))
{
  struct ring ring = {.is_fast = true, .publishes_processor = true, .is_near = true, .found_at = FOUND_AT};
  stay(f, &ring);
  assert_int_equal(atomic_load(&yields), FOUND_AT);
  fixture_close(f);
}

UNIT_TEST(without_a_published_processor_the_configuration_decides)
{
  for (int may_pause = 0; may_pause < 2; may_pause++) {
    struct fixture f;
    fixture_open(&f, (struct crew_config){POLLING(2, may_pause)});
    struct ring ring = {.is_fast = true, .found_at = FOUND_AT};
    stay(&f, &ring);
    assert_int_equal(atomic_load(&yields), may_pause ? 0 : FOUND_AT);
    fixture_close(&f);
  }
}

/* If the nap counted as polling, the loop would end after the nap. */
CREW_TEST(time_without_the_processor_is_no_polling_time, POLLING(2, true))
{
  struct ring ring = {.is_fast = true, .publishes_processor = true, .found_at = 6, .nap_at = 1};
  stay(f, &ring);
  assert_int_equal(ring.polls, 6);
  fixture_close(f);
}

CREW_TEST(a_poll_loop_that_is_slow_ends, POLLING(2, true))
{
  struct ring ring = {.source = {.turn = turn, .poll_ops = &POLL_OPS},
                      .is_fast = true,
                      .publishes_processor = true,
                      .found_at = INT_MAX,
                      .always_naps = true};
  give_turn(f, &ring);
  assert_false(ring.found);
  fixture_close(f);
}

/* A source whose client pauses, and another source that is ready at the end of its turn. */
struct paced {
  struct crew_source source;
  struct crew *crew;
  struct ring next;
  int64_t pause_ns;
  int polls;
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

static bool poll_in_vain(struct crew_source *source)
{
  paced_of(source)->polls++;
  return false;
}

static void paced_turn(struct crew_source *source, struct crew_member *member)
{
  struct paced *paced = paced_of(source);
  crew_submit(paced->crew, &paced->next.source);
  source->answered_ns = member->clock_ns - paced->pause_ns;
  bool found = crew_stay(member, source, poll_in_vain);
  paced->is_kept = !found && crew_add_polled(paced->crew, source);
}

static void plain_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  atomic_fetch_add(&ring_of(source)->turns, 1);
}

static bool is_polled_after(int64_t pause_ns)
{
  static const struct crew_poll_ops lookout = {has_nothing, sleep_on, exchange_processors};
  struct fixture f;
  fixture_open(&f, (struct crew_config){POLLING(1, true)});
  struct paced paced = {.source = {.turn = paced_turn, .poll_ops = &lookout},
                        .crew = f.crew,
                        .next = {.source = {.turn = plain_turn}},
                        .pause_ns = pause_ns};
  crew_submit(f.crew, &paced.source);
  AWAIT(atomic_load(&paced.next.turns) != 0 &&
        !atomic_load(&paced.source.is_polled)); /* the source was put to sleep */
  fixture_close(&f);
  assert_int_equal(paced.polls, 0);
  return paced.is_kept;
}

UNIT_TEST(a_steady_client_is_polled_while_there_is_other_work)
{
  for (int64_t pause_ns = 100000; pause_ns < 2000000; pause_ns += 700000) {
    bool is_kept = false;
    for (int i = 0; i < 100 && !is_kept; i++) /* a turn may be the watcher's, which does not poll */
      is_kept = is_polled_after(pause_ns);
    assert_true(is_kept);
  }
  assert_false(is_polled_after(2500000));
}

/* A source that has work until the test ends. */
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

static void polled_turn(struct crew_source *source, struct crew_member *member)
{
  struct busy *busy = (struct busy *)(void *)source;
  crew_remove_polled(busy->crew, source);
  source->answered_ns = member->clock_ns;
  bool found = crew_stay(member, source, has_more);
  atomic_fetch_add(&busy->turns, 1);
  if ((found || !crew_add_polled(busy->crew, source)) && has_more(source))
    crew_submit(busy->crew, source);
}

CREW_TEST(an_event_is_served_beside_ready_work_and_polled_work, POLLING(1, true))
{
  static const struct crew_poll_ops lookout = {has_more, sleep_with_nothing, exchange_processors};
  struct busy ready = {.source = {.turn = ready_turn, .poll_ops = &lookout}, .crew = f->crew};
  struct busy polled = {.source = {.turn = polled_turn, .poll_ops = &lookout}, .crew = f->crew};
  struct ring notified = {.source = {.turn = plain_turn, .poll_ops = &lookout}};
  crew_submit(f->crew, &ready.source);
  crew_submit(f->crew, &polled.source);
  AWAIT(atomic_load(&polled.turns) >= 1000 && atomic_load(&ready.turns) >= 1000);
  shutdown(f->pair[1], SHUT_WR);
  assert_int_equal(crew_watch(f->crew, &notified.source, f->pair[0], EPOLLIN, NULL), JP_OK);
  AWAIT(atomic_load(&notified.turns) != 0);
  atomic_store(&ready.ends, true);
  atomic_store(&polled.ends, true);
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

static const struct crew_call_ops PINNED_OPS = {.await = await_fd};

#define PINNED_RING(found_at_)                                                                               \
  {                                                                                                          \
    .ring = {.source = {.turn = turn_by_fd, .poll_ops = &POLL_OPS, .call_ops = &PINNED_OPS},                 \
             .is_fast = true,                                                                                \
             .publishes_processor = true,                                                                    \
             .is_near = true,                                                                                \
             .found_at = (found_at_)},                                                                       \
    .fd = eventfd(0, EFD_CLOEXEC)                                                                            \
  }

static void pin(struct fixture *f, struct pinned_ring *pinned)
{
  struct crew_member *member = NULL;
  struct jp_error error;
  assert_int_equal(crew_pin(f->crew, &pinned->ring.source, "pinned", &member, &error), JP_OK);
  atomic_store(&pinned->ring.source.pinned, member);
  crew_admit(member);
}

static void give_pinned_turn(struct pinned_ring *pinned)
{
  int turns = atomic_load(&pinned->ring.turns);
  pinned->ring.polls = 0;
  assert_int_equal(eventfd_write(pinned->fd, 1), 0);
  AWAIT(atomic_load(&pinned->ring.turns) != turns);
}

#define HOUR_NS INT64_C(3600000000000)

CREW_TEST(a_pinned_member_polls_after_its_descriptor_has_woken_it, .threads = 1, .threads_max = 1,
          .pinned_max = 1, .pinned_polling = 1, .poll_ns = HOUR_NS)
{
  struct pinned_ring pinned = PINNED_RING(6);
  pin(f, &pinned);
  for (int i = 1; i <= 3; i++) {
    give_pinned_turn(&pinned);
    assert_true(pinned.ring.found);
    assert_int_equal(pinned.ring.polls, 6);
  }
  fixture_close(f);
  close(pinned.fd);
}

/* Of 16 pinned members one polls at length. To wake another for each call costs more than its few yields. */
CREW_TEST(a_pinned_member_yields_a_few_times_while_another_polls, .threads = 1, .threads_max = 1,
          .pinned_max = 2, .pinned_polling = 1, .poll_ns = HOUR_NS)
{
  struct pinned_ring polled = PINNED_RING(INT_MAX);
  struct pinned_ring other = PINNED_RING(8);
  pin(f, &polled);
  pin(f, &other);
  atomic_store(&yields, 0);
  assert_int_equal(eventfd_write(polled.fd, 1), 0);
  AWAIT(atomic_load(&yields) > 1000); /* until the crew stops */
  for (int i = 1; i <= 3; i++) {
    give_pinned_turn(&other);
    assert_true(other.ring.found);
    assert_int_equal(other.ring.polls, 8);
  }
  other.ring.found_at = INT_MAX;
  give_pinned_turn(&other);
  assert_false(other.ring.found);
  fixture_close(f);
  close(polled.fd);
  close(other.fd);
}

UNIT_MAIN
