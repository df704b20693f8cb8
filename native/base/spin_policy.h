#ifndef JPEER_BASE_SPIN_POLICY_H
#define JPEER_BASE_SPIN_POLICY_H
/*
 * How often and how long a thread waits awake for the next message of another process, learned from the waits
 * before: the peer's for the next request of a client that it has just answered, a client's for the answer. If
 * the other sends at once, the thread always waits, for usual_ns at most; if nothing comes, it waits less and
 * less often.
 *
 * The other may be late only because its core was asleep, on a machine that takes long to wake one, and it was
 * asleep because we were. So when many waits have been in vain, the few that are left may be longer. If one of
 * them finds a late message, up to seven more follow, to see whether the other becomes quick. A client that pauses
 * for 300 us between its calls costs 6 % of a core this way, with the crew's limits.
 *
 * One owner, one thread. All zero to begin with.
 */
#include <stdbool.h>
#include <stdint.h>

struct spin_limits {
  int64_t usual_ns;
  int64_t rare_ns; /* of the few waits that are left when many have been in vain */
};

struct spin_policy {
  unsigned in_vain; /* waits that found nothing, one after the other; it stops counting at a bound */
  unsigned to_skip; /* chances */
  unsigned late;    /* waits that found something late, one after the other */
};

/* True if the thread should wait now. Call it once each time that it could. */
bool spin_policy_takes_chance(struct spin_policy *spin);
/* The longest time to wait. */
int64_t spin_policy_limit_ns(const struct spin_policy *spin, const struct spin_limits *limits);
/* Learns from a wait: how long it took, and the longest pause between two looks. A long pause means that
 * others want the processor; a thread that sleeps gets it back sooner than one that yields, so such a wait
 * counts as in vain, whatever it found. */
void spin_policy_learn(struct spin_policy *spin, const struct spin_limits *limits, bool found,
                       int64_t took_ns, int64_t longest_pause_ns);

#endif
