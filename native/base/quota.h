#ifndef JPEER_BASE_QUOTA_H
#define JPEER_BASE_QUOTA_H
/* How many of something there are, and how many there may be. Any thread. All zero: none, and none may be. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct quota {
  _Atomic size_t count;
  _Atomic size_t max; /* SIZE_MAX: any number */
};

static inline bool quota_is_full(const struct quota *quota)
{
  return atomic_load_explicit(&quota->count, memory_order_relaxed) >=
         atomic_load_explicit(&quota->max, memory_order_relaxed);
}

/* Counts one more. False: there are as many as may be, and nothing was counted. */
static inline bool quota_enter(struct quota *quota)
{
  size_t count = atomic_load_explicit(&quota->count, memory_order_relaxed);
  do {
    if (count >= atomic_load_explicit(&quota->max, memory_order_relaxed))
      return false;
  } while (!atomic_compare_exchange_weak(&quota->count, &count, count + 1));
  return true;
}

static inline void quota_leave(struct quota *quota)
{
  atomic_fetch_sub(&quota->count, 1);
}

#endif
