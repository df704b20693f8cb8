#ifndef JPEER_BASE_CLOCK_H
#define JPEER_BASE_CLOCK_H
/* Monotonic time, for deadlines and counters. Any thread. */
#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_now_ms(void)
{
  return clock_now_ns() / 1000000;
}

/* The same clock as clock_now_ms with less precision, for a sixth of the cost. The result may be old by one
 * tick of the kernel, usually at most 4 ms. */
static inline int64_t clock_coarse_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
