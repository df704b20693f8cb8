#ifndef JPEER_BENCH_PROCESSOR_TIME_H
#define JPEER_BENCH_PROCESSOR_TIME_H
/* The processor time that a process has used. Any thread. */
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* 0: the process does not exist, or pid is 0. */
static inline int64_t processor_ns(pid_t pid)
{
  clockid_t clock;
  struct timespec used;
  if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
    return 0;
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

#endif
