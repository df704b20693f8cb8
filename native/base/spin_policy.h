#ifndef JPEER_BASE_SPIN_POLICY_H
#define JPEER_BASE_SPIN_POLICY_H
/*
 * Decides how often and how long a thread polls for the next message of another process, from the results of
 * its earlier polls. A peer that has just answered a client polls for the client's next request; a client
 * polls for the answer. If the other side sends at once, the thread always polls, for usual_ns at most; if no
 * message arrives, it polls less and less often.
 *
 * On a machine that is slow to wake a core, the other side may be late only because its core was asleep, and
 * that core may have been asleep only because this side slept. For this reason, after many polls in vain, the
 * few remaining polls may be longer. If one of them finds a late message, up to seven more follow, to see
 * whether the other side becomes quick. A client that pauses for 300 us between its calls costs 6 % of a core
 * this way, with the crew's limits.
 *
 * One owner, one thread. All zero to begin with.
 */
#include <stdbool.h>
#include <stdint.h>

struct spin_limits {
  int64_t usual_ns;
  int64_t rare_ns;  /* longest time of the few polls that remain after many polls in vain */
  int64_t pause_ns; /* a poll with a pause of this length between two reads is in vain */
  /* The first yields of a poll, up to this number, do not count in the poll's duration. They help where many
   * threads poll for messages of each other: the other threads run during a yield, and one of them may send
   * the message. */
  unsigned free_yields;
};

struct spin_policy {
  unsigned in_vain; /* consecutive polls that found nothing, up to a bound */
  unsigned to_skip; /* this many further calls of spin_policy_takes_chance return false */
  unsigned late;    /* consecutive polls that found a late message */
};

/* True if the thread should poll now. Call it once at each chance to poll. */
bool spin_policy_takes_chance(struct spin_policy *spin);
/* The longest time to poll. */
int64_t spin_policy_limit_ns(const struct spin_policy *spin, const struct spin_limits *limits);
/* Learns from a poll. took_ns is the poll's duration without its free yields, longest_pause_ns the longest
 * pause between two reads. A long pause means that other threads want the processor. A thread that sleeps
 * gets the processor again sooner than a thread that yields, so a poll with a long pause counts as a poll in
 * vain, even if it found a message. */
void spin_policy_learn(struct spin_policy *spin, const struct spin_limits *limits, bool found,
                       int64_t took_ns, int64_t longest_pause_ns);

#endif
