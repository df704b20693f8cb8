#include "client/transports/shm_poller.h"

#include "base/clock.h"
#include "base/process_limits.h"

#include <sched.h>

/* A pause of 200 us between two polls shows that a thread which does not yield has had the processor, because
 * the scheduler gives such a thread more time than that. A few dozen threads that poll and yield together
 * need less time than that for one turn of all. */
static const struct spin_limits LIMITS = {
    .usual_ns = 50000, .rare_ns = 50000, .pause_ns = 200000, .free_yields = 4};

/* After this time a system call between two polls is worthwhile: another process, perhaps the peer, may need
 * the processor. */
enum { PAUSING_NS = 2000, POLLS_A_STEP = 8, FIRST_POLLS = 32 };

void shm_poller_init(struct shm_poller *poller, struct ring_side *mine, struct ring_side *other)
{
  unsigned allowed = processors_allowed();
  /* With less than two processors' time, polling would use up the time for the process's own work. A process
   * that is bound to one processor yields between two polls instead. */
  *poller = (struct shm_poller){.mine = mine,
                                .other = other,
                                .is_possible = allowed == 1 || processors_usable() > 1,
                                .is_bound = allowed == 1,
                                .processor = -1};
}

bool shm_poller_begin(struct shm_poller *poller)
{
  return poller->is_possible;
}

bool shm_poller_has_input(const struct shm_poller *poller)
{
  return ring_poll_position(&poller->other->written) !=
         atomic_load_explicit(&poller->written, memory_order_relaxed);
}

static bool has_change(const struct shm_poller *poller)
{
  return shm_poller_has_input(poller) || (atomic_load_explicit(&poller->wants_room, memory_order_relaxed) &&
                                          ring_poll_position(&poller->other->taken) !=
                                              atomic_load_explicit(&poller->taken, memory_order_relaxed));
}

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

static bool poll_with_pauses(const struct shm_poller *poller, int times)
{
  for (int i = 0; i < times; i++) {
    if (has_change(poller))
      return true;
    pause_processor();
  }
  return false;
}

/* The peer cannot answer while this thread occupies the processor that the peer runs on, or may run on. */
static bool shares_processor(struct shm_poller *poller)
{
  int processor = sched_getcpu();
  if (processor != poller->processor)
    ring_publish_processor(poller->mine, processor);
  poller->processor = processor;
  int peers = ring_processor_of(poller->other);
  return processor >= 0 && (peers == processor || (peers < 0 && poller->is_bound));
}

static bool poll_until_limit(struct shm_poller *poller)
{
  const int64_t limit_ns = spin_policy_limit_ns(&poller->policy, &LIMITS);
  int64_t began_ns = clock_now_ns();
  int64_t spent_ns = 0;
  int64_t longest_pause_ns = 0;
  unsigned yielded = 0;
  bool found;
  do {
    bool yields = spent_ns >= PAUSING_NS || shares_processor(poller);
    if (yields)
      sched_yield();
    found = yields ? has_change(poller) : poll_with_pauses(poller, POLLS_A_STEP);
    int64_t pause_ns = clock_now_ns() - began_ns - spent_ns;
    bool is_lost =
        !yields && pause_ns >= LIMITS.usual_ns; /* the thread lost its processor, and did not poll */
    if (!is_lost && pause_ns > longest_pause_ns)
      longest_pause_ns = pause_ns;
    if (is_lost || (yields && yielded++ < LIMITS.free_yields))
      began_ns += pause_ns;
    else
      spent_ns += pause_ns;
  } while (!found && spent_ns < limit_ns);
  spin_policy_learn(&poller->policy, &LIMITS, found, spent_ns, longest_pause_ns);
  return found;
}

/* Most answers arrive before reading the clock is worthwhile. The first polls cost less than sleeping and
 * waking, so they are made even if polling was useless before. If one of them finds the answer, polling
 * becomes usual again. If the peer was notified, the first polls are left out, because the peer needs more
 * time to wake. */
bool shm_poller_wait(struct shm_poller *poller)
{
  bool waits_for_peer =
      shares_processor(poller) || atomic_load_explicit(&poller->is_notified, memory_order_relaxed);
  if (!waits_for_peer && poll_with_pauses(poller, FIRST_POLLS)) {
    spin_policy_learn(&poller->policy, &LIMITS, true, 0, 0);
    return true;
  }
  return spin_policy_takes_chance(&poller->policy) && poll_until_limit(poller);
}
