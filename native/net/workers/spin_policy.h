#ifndef JPEER_NET_WORKERS_SPIN_POLICY_H
#define JPEER_NET_WORKERS_SPIN_POLICY_H
/*
 * How often, and for how long, a thread waits for a client that it has just answered (crew_stay): what it has
 * learned from the times before. Where the client sends at once, always, for SPIN_NS at most; where
 * nothing comes, ever more rarely.
 *
 * A client may be late only because its core slept for long, on a machine that takes long to wake one, and it
 * slept for long because we did. So where waiting has been in vain for good, the rare waits that are left are
 * longer, and are followed by up to seven more where they find a late client, to see whether it then becomes
 * quick. One that thinks for 300 us between its calls costs 6 % of a core by that.
 *
 * One owner, one thread. All zero to begin with.
 */
#include <stdbool.h>
#include <stdint.h>

enum { SPIN_NS = 100000, SPIN_LONG_NS = 4 * SPIN_NS };

struct spin_policy {
  unsigned in_vain; /* waits, one after the other, as far as it is counted */
  unsigned to_skip; /* chances */
  unsigned late;    /* clients found by long waits, one after the other */
};

/* Asked once a chance: whether to wait. */
bool spin_policy_takes_chance(struct spin_policy *spin);
/* How long at most. */
int64_t spin_policy_limit_ns(const struct spin_policy *spin);
/* What came of it: in how long, and how long the longest pause between two looks was. Where that was long,
 * others want the processor, and a thread that sleeps gets it sooner than one that has yielded: then it was
 * in vain, whatever was found. */
void spin_policy_learn(struct spin_policy *spin, bool found, int64_t took_ns, int64_t longest_pause_ns);

#endif
