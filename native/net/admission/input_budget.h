#ifndef JPEER_NET_ADMISSION_INPUT_BUDGET_H
#define JPEER_NET_ADMISSION_INPUT_BUDGET_H
/*
 * One bound over all input that is being collected: messages, and beginnings of them, that lie in memory
 * until they have been served, of all connections and transports.
 *
 * Up to three quarters of the bound everybody is read from. Above, whoever has collected more than
 * INPUT_SMALL needs a licence, and input_budget_choose says who gets one: those that were chosen before and
 * go on quickly, then those that have collected the least, as long as all of them can end within the bound.
 * So messages end one after the other instead of growing together, and small ones need no licence at all. At
 * the bound somebody has to be cut, the largest first.
 *
 * The total is counted by any thread; a message that comes and is served within one turn is never counted.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_SMALL = 16 * 1024 };

struct input_budget {
  size_t max; /* bytes */
  _Atomic size_t total;
};

/* Sets what one owner, who alone writes *counted, has collected. */
static inline void input_budget_count(struct input_budget *budget, _Atomic size_t *counted, size_t now)
{
  size_t before = atomic_load_explicit(counted, memory_order_relaxed);
  if (before == now)
    return;
  atomic_store_explicit(counted, now, memory_order_relaxed);
  atomic_fetch_add(&budget->total, now - before); /* wraps around where it is less */
}

static inline bool input_budget_is_short(const struct input_budget *budget)
{
  return atomic_load_explicit(&budget->total, memory_order_relaxed) > budget->max / 4 * 3;
}

static inline bool input_budget_is_full(const struct input_budget *budget)
{
  return atomic_load_explicit(&budget->total, memory_order_relaxed) >= budget->max;
}

/* What is left to collect; 0: nothing. */
static inline size_t input_budget_room(const struct input_budget *budget)
{
  size_t total = atomic_load_explicit(&budget->total, memory_order_relaxed);
  return total < budget->max ? budget->max - total : 0;
}

/* The watcher's word that somebody is read from although input is short. */
struct input_licence {
  _Atomic bool is_valid;
  size_t held;      /* when it was given, or looked at */
  int64_t until_ms; /* when it is looked at again */
  bool is_slow;     /* it had one, and collected little */
};

/* Somebody who collects. */
struct input_claim {
  void *owner;
  size_t held;  /* bytes so far */
  size_t left;  /* bytes to come, at the most */
  bool goes_on; /* it has a licence, and is not slow */
  bool is_licensed;
};

/* Says who has a licence from now on: one at least. Sorts the claims. Time: n log n. */
void input_budget_choose(struct input_claim *claims, size_t count, size_t room);
/* Sorts the claims, those that hold most first. */
void input_budget_sort_largest(struct input_claim *claims, size_t count);

#endif
