#ifndef JPEER_BASE_QUOTA_H
#define JPEER_BASE_QUOTA_H
/* Counts things that are limited in number: count is how many exist, and max is how many may exist. Any
 * thread. If all members are zero, nothing exists and nothing may be added. */
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

/* Adds 1 to count. False: count has reached max and is unchanged. */
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
