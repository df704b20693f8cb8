#include "client/transports/shm_look.h"

#include "base/clock.h"
#include "base/process_limits.h"

#include <sched.h>

static const struct spin_limits LIMITS = {.usual_ns = 50000, .rare_ns = 50000};

/* An answer that takes longer than this is worth a system call between two looks: another process may want
 * this processor, the peer among them. */
enum { PAUSING_NS = 2000, LOOKS_A_STEP = 8, FIRST_LOOKS = 32 };

void shm_look_init(struct shm_look *look, struct ring_side *mine, struct ring_side *other)
{
  unsigned allowed = processors_allowed();
  /* Where the process may use less than two processors' time, looking would use up what it has left for its
   * own work. One that is bound to a processor gives it to others between two looks. */
  *look = (struct shm_look){.mine = mine,
                            .other = other,
                            .is_possible = allowed == 1 || processors_usable() > 1,
                            .is_bound = allowed == 1,
                            .processor = -1};
}

bool shm_look_begin(struct shm_look *look)
{
  return look->is_possible;
}

bool shm_look_finds_input(const struct shm_look *look)
{
  return ring_poll_position(&look->other->written) !=
         atomic_load_explicit(&look->written, memory_order_relaxed);
}

static bool finds_something(const struct shm_look *look)
{
  return shm_look_finds_input(look) || (atomic_load_explicit(&look->wants_room, memory_order_relaxed) &&
                                        ring_poll_position(&look->other->taken) !=
                                            atomic_load_explicit(&look->taken, memory_order_relaxed));
}

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

static bool look_with_pauses(const struct shm_look *look, int times)
{
  for (int i = 0; i < times; i++) {
    if (finds_something(look))
      return true;
    pause_processor();
  }
  return false;
}

/* The peer cannot answer while this thread has the processor that it runs on, or may run on. */
static bool shares_processor(struct shm_look *look)
{
  int processor = sched_getcpu();
  if (processor != look->processor)
    ring_publish_processor(look->mine, processor);
  look->processor = processor;
  int others = ring_processor_of(look->other);
  return processor >= 0 && (others == processor || (others < 0 && look->is_bound));
}

static bool wait_by_the_clock(struct shm_look *look)
{
  const int64_t limit_ns = spin_policy_limit_ns(&look->policy, &LIMITS);
  int64_t began_ns = clock_now_ns();
  int64_t took_ns = 0;
  int64_t longest_pause_ns = 0;
  bool found;
  do {
    bool yields = took_ns >= PAUSING_NS || shares_processor(look);
    if (yields)
      sched_yield();
    found = yields ? finds_something(look) : look_with_pauses(look, LOOKS_A_STEP);
    int64_t pause_ns = clock_now_ns() - began_ns - took_ns;
    /* The thread lost its processor, and did not look meanwhile. */
    if (!yields && pause_ns >= LIMITS.usual_ns) {
      began_ns += pause_ns;
      continue;
    }
    took_ns += pause_ns;
    longest_pause_ns = pause_ns > longest_pause_ns ? pause_ns : longest_pause_ns;
  } while (!found && took_ns < limit_ns);
  spin_policy_learn(&look->policy, &LIMITS, found, took_ns, longest_pause_ns);
  return found;
}

/* Most answers come before it is worth while to ask for the time. The first looks cost less than to sleep and
 * wake, so they are never left out where the peer was awake: one that finds something sets right what was learned
 * from a busy moment of the peer. A peer that was rung has to wake first, which takes longer than they do. */
bool shm_look_wait(struct shm_look *look)
{
  bool waits_for_peer = shares_processor(look) || atomic_load_explicit(&look->is_rung, memory_order_relaxed);
  if (!waits_for_peer && look_with_pauses(look, FIRST_LOOKS)) {
    spin_policy_learn(&look->policy, &LIMITS, true, 0, 0);
    return true;
  }
  return spin_policy_takes_chance(&look->policy) && wait_by_the_clock(look);
}
