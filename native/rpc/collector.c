#include "rpc/collector.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

enum { PERIOD_MS = 1000 };

struct rpc_collector {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t next_ms; /* when the next collection may begin */
  bool is_busy;    /* a collection runs */
  bool is_wanted;  /* another one, by requests that share it */
  bool has_thread; /* the collector's own, which runs what is wanted */
  bool is_stopping;
};

struct rpc_collector *rpc_collector_create(void)
{
  pthread_condattr_t attributes;
  struct rpc_collector *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  if (pthread_mutex_init(&made->lock, NULL) != 0 || pthread_condattr_init(&attributes) != 0) {
    free(made);
    return NULL;
  }
  bool is_good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                 pthread_cond_init(&made->changed, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  if (!is_good) {
    free(made);
    return NULL;
  }
  return made;
}

/* With the lock held. */
static void wait_until(struct rpc_collector *collector, int64_t time_ms)
{
  struct timespec deadline = {.tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000};
  pthread_cond_timedwait(&collector->changed, &collector->lock, &deadline);
}

bool rpc_collector_stop(struct rpc_collector *collector, int64_t wait_ms)
{
  if (collector == NULL)
    return true;
  int64_t deadline = clock_now_ms() + wait_ms;
  pthread_mutex_lock(&collector->lock);
  collector->is_stopping = true;
  pthread_cond_broadcast(&collector->changed);
  while (collector->has_thread && clock_now_ms() < deadline)
    wait_until(collector, deadline);
  bool has_ended = !collector->has_thread;
  pthread_mutex_unlock(&collector->lock);
  return has_ended;
}

void rpc_collector_destroy(struct rpc_collector *collector)
{
  if (collector == NULL)
    return;
  pthread_cond_destroy(&collector->changed);
  pthread_mutex_destroy(&collector->lock);
  free(collector);
}

/* With the lock held, which is released while Java collects. */
static void collect(struct rpc_collector *collector, struct jvm_thread *thread)
{
  collector->is_busy = true;
  collector->next_ms = clock_now_ms() + PERIOD_MS;
  pthread_mutex_unlock(&collector->lock);
  jvm_gc(thread);
  pthread_mutex_lock(&collector->lock);
  collector->is_busy = false;
  pthread_cond_broadcast(&collector->changed);
}

static bool may_collect(const struct rpc_collector *collector)
{
  return !collector->is_busy && clock_now_ms() >= collector->next_ms;
}

static void run_wanted(void *argument, struct jvm_thread *thread)
{
  struct rpc_collector *collector = argument;
  pthread_mutex_lock(&collector->lock);
  while (!collector->is_stopping) {
    if (!collector->is_wanted || collector->is_busy) {
      pthread_cond_wait(&collector->changed, &collector->lock);
    } else if (may_collect(collector)) {
      collector->is_wanted = false;
      collect(collector, thread);
    } else {
      wait_until(collector, collector->next_ms);
    }
  }
  collector->has_thread = false;
  pthread_cond_broadcast(&collector->changed);
  pthread_mutex_unlock(&collector->lock);
}

enum jp_status rpc_collector_start(struct rpc_collector *collector, struct jvm *jvm, struct jp_error *error)
{
  collector->has_thread = true;
  enum jp_status status = jvm_spawn(jvm, "jpeer-gc", run_wanted, collector, error);
  if (status != JP_OK)
    collector->has_thread = false;
  return status;
}

void rpc_collector_collect(struct rpc_collector *collector, struct jvm_thread *thread)
{
  pthread_mutex_lock(&collector->lock);
  if (!collector->is_wanted && may_collect(collector)) {
    collect(collector, thread);
  } else {
    collector->is_wanted = true;
    pthread_cond_broadcast(&collector->changed);
  }
  pthread_mutex_unlock(&collector->lock);
}
