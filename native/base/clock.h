#ifndef JPEER_BASE_CLOCK_H
#define JPEER_BASE_CLOCK_H
/* Monotonic time, for deadlines and counters. Any thread. */
#include <pthread.h>
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

/* A time of clock_now_ns, for functions that wait until a time. */
static inline struct timespec clock_timespec(int64_t ns)
{
  return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* The deadlines of pthread_cond_timedwait are then times of this clock. glibc has had pthread_cond_clockwait only since
 * 2.30, and other C libraries lack it. */
static inline void clock_init_condition(pthread_cond_t *condition)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

#endif
