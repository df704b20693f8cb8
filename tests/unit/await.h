#ifndef JPEER_TESTS_UNIT_AWAIT_H
#define JPEER_TESTS_UNIT_AWAIT_H
/* For tests that wait for another thread: AWAIT sleeps until a condition is true. After a minute it prints the
 * condition and its place, and aborts the program: other threads may still use the stack that a failed cmocka test
 * would unwind. Any thread. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

enum { AWAIT_MAX_MS = 60000, AWAIT_PAUSE_NS = 200000 };

#define AWAIT(condition)                                                                                     \
  for (int64_t since_ms = clock_now_ms(); !(condition);)                                                     \
  AWAIT_PAUSE(since_ms, #condition)

/* Called in a loop that works while it waits for `what`: pauses at most once. since_ms: clock_now_ms() when
 * the loop began. */
#define AWAIT_PAUSE(since_ms, what) await_pause((since_ms), (what), __FILE__, __LINE__)
#define AWAIT_CHECK(since_ms, what) await_check((since_ms), (what), __FILE__, __LINE__)

static inline void await_check(int64_t since_ms, const char *what, const char *file, int line)
{
  if (clock_now_ms() - since_ms > AWAIT_MAX_MS) {
    fprintf(stderr, "%s:%d: waited %d ms in vain for %s\n", file, line, AWAIT_MAX_MS, what);
    abort();
  }
}

static inline void await_pause(int64_t since_ms, const char *what, const char *file, int line)
{
  await_check(since_ms, what, file, line);
  nanosleep(&(struct timespec){.tv_nsec = AWAIT_PAUSE_NS}, NULL);
}

/* Waits once for a signal, at most a second. The caller holds the lock. */
static inline void await_signal(pthread_cond_t *signal, pthread_mutex_t *lock, int64_t since_ms,
                                const char *what)
{
  struct timespec end;
  AWAIT_CHECK(since_ms, what);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec++;
  (void)pthread_cond_timedwait(signal, lock, &end);
}

/* Waits for one post of a semaphore. */
#define AWAIT_POST(posted, what) await_post((posted), (what), __FILE__, __LINE__)
/* Waits for the end of a child process; returns the status of waitpid. */
#define AWAIT_CHILD(child) await_child((child), __FILE__, __LINE__)

static inline void await_post(sem_t *posted, const char *what, const char *file, int line)
{
  for (const int64_t since_ms = clock_now_ms();;) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    if (sem_timedwait(posted, &end) == 0)
      return;
    await_check(since_ms, what, file, line);
  }
}

static inline int await_child(pid_t child, const char *file, int line)
{
  int status;
  pid_t ended;
  for (const int64_t since_ms = clock_now_ms(); (ended = waitpid(child, &status, WNOHANG)) == 0;)
    await_pause(since_ms, "the end of a child process", file, line);
  if (ended != child) {
    perror("waitpid");
    abort();
  }
  return status;
}

#endif
