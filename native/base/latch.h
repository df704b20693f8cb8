#ifndef JPEER_BASE_LATCH_H
#define JPEER_BASE_LATCH_H
/*
 * Lets one thread wait until another thread has finished a step. The deadline is of clock_now_ns: glibc has had semaphores
 * with this clock (sem_clockwait) only since 2.30, and other C libraries lack them.
 *
 * Any thread. latch_open touches nothing of the latch after a latch_await that returns true, so the waiting thread may
 * then free it.
 */
#include "base/clock.h"

#include <stdbool.h>

struct latch {
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool is_open;
};

static inline void latch_init(struct latch *latch)
{
  pthread_mutex_init(&latch->lock, NULL);
  clock_init_condition(&latch->opened);
  latch->is_open = false;
}

static inline void latch_fini(struct latch *latch)
{
  pthread_cond_destroy(&latch->opened);
  pthread_mutex_destroy(&latch->lock);
}

/* Call it once: the latch stays open. */
static inline void latch_open(struct latch *latch)
{
  pthread_mutex_lock(&latch->lock);
  latch->is_open = true;
  pthread_cond_signal(&latch->opened);
  pthread_mutex_unlock(&latch->lock);
}

/* Only one thread may wait. Returns false if the latch is not open at the deadline. */
static inline bool latch_await(struct latch *latch, int64_t deadline_ns)
{
  const struct timespec until = clock_timespec(deadline_ns);
  int failure = 0;
  pthread_mutex_lock(&latch->lock);
  while (!latch->is_open && failure == 0)
    failure = pthread_cond_timedwait(&latch->opened, &latch->lock, &until);
  const bool is_open = latch->is_open;
  pthread_mutex_unlock(&latch->lock);
  return is_open;
}

#endif
