#ifndef JPEER_NET_ADMISSION_INPUT_BUDGET_H
#define JPEER_NET_ADMISSION_INPUT_BUDGET_H
/*
 * One bound on all input of all transports: messages, and parts of messages, that lie in memory until they
 * have been served.
 *
 * Up to three quarters of the bound, every client is read from. Above that, a client that has sent more than
 * INPUT_SMALL needs a licence. input_budget_choose gives licences to those that had one and go on quickly,
 * then to those that have sent the least, as long as all of their messages fit within the bound. So large
 * messages end one after the other instead of growing together, and small ones need no licence. At the bound
 * messages are cut off, the largest first.
 *
 * Any thread may count. A message that arrives and is served within one turn is never counted.
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

/* Sets what one owner has collected. Only the owner writes *counted. */
static inline void input_budget_count(struct input_budget *budget, _Atomic size_t *counted, size_t now)
{
  size_t before = atomic_load_explicit(counted, memory_order_relaxed);
  if (before == now)
    return;
  atomic_store_explicit(counted, now, memory_order_relaxed);
  atomic_fetch_add(&budget->total, now - before); /* wraps around if it is less */
}

static inline bool input_budget_is_short(const struct input_budget *budget)
{
  return atomic_load_explicit(&budget->total, memory_order_relaxed) > budget->max / 4 * 3;
}

static inline bool input_budget_is_full(const struct input_budget *budget)
{
  return atomic_load_explicit(&budget->total, memory_order_relaxed) >= budget->max;
}

/* Bytes until the bound. */
static inline size_t input_budget_room(const struct input_budget *budget)
{
  size_t total = atomic_load_explicit(&budget->total, memory_order_relaxed);
  return total < budget->max ? budget->max - total : 0;
}

/* Says that a connection is read from although input is short. The watcher writes it. */
struct input_licence {
  _Atomic bool is_valid;
  size_t held;      /* what the connection had collected when the watcher last looked */
  int64_t until_ms; /* when the watcher looks again */
  bool is_slow;     /* it had a licence and collected little */
};

/* A connection that collects a message. */
struct input_claim {
  void *owner;
  size_t held;  /* bytes so far */
  size_t left;  /* bytes that may still come */
  bool goes_on; /* it has a licence, and is not slow */
  bool is_licensed;
};

/* Sets is_licensed of at least one claim. Sorts the claims, in n log n. */
void input_budget_choose(struct input_claim *claims, size_t count, size_t room);
/* Sorts the claims, those that hold most first. */
void input_budget_sort_largest(struct input_claim *claims, size_t count);

#endif
