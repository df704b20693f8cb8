#ifndef JPEER_NET_ADMISSION_INPUT_BUDGET_H
#define JPEER_NET_ADMISSION_INPUT_BUDGET_H
/*
 * One bound on all input of all transports: on the bytes, in memory, of whole and partial messages that were
 * not served yet.
 *
 * While the input is at most three quarters of the bound, every connection is read. Above three quarters, a
 * connection with more than INPUT_SMALL bytes needs a licence to be read. input_budget_choose grants licences
 * as long as all messages with a licence fit within the bound: first to connections that have a licence and
 * receive quickly, then to connections with the fewest bytes. As a result, large messages are completed one
 * after the other instead of growing together. When the input reaches the bound, messages are cut off, the
 * largest first.
 *
 * Any thread may count. A message that is received and served within one turn is never counted.
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

/* Sets the number of bytes that an owner has collected. *counted: the owner's part of the total; only the
 * owner writes it. */
static inline void input_budget_count(struct input_budget *budget, _Atomic size_t *counted, size_t now)
{
  size_t before = atomic_load_explicit(counted, memory_order_relaxed);
  if (before == now)
    return;
  atomic_store_explicit(counted, now, memory_order_relaxed);
  /* the arithmetic is unsigned, so the sum is right even if now < before */
  atomic_fetch_add(&budget->total, now - before);
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

/* Allows a connection to be read although the room for input is short. The watcher writes it. */
struct input_licence {
  _Atomic bool is_valid;
  size_t held;      /* bytes that the connection had collected at the watcher's last check */
  int64_t until_ms; /* when the watcher checks again */
  bool is_slow;     /* the connection had a licence and collected few bytes */
};

/* A connection that collects a message. */
struct input_claim {
  void *owner;
  size_t held;  /* bytes so far */
  size_t left;  /* bytes that may still come */
  bool goes_on; /* the connection has a licence and is not slow */
  bool is_licensed;
};

/* Sorts the claims, and sets is_licensed of each claim. At least one claim gets a licence. Takes time n log
 * n. */
void input_budget_choose(struct input_claim *claims, size_t count, size_t room);
/* Sorts the claims, the largest `held` first. */
void input_budget_sort_largest(struct input_claim *claims, size_t count);

#endif
