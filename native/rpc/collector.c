#include "rpc/collector.h"

#include "base/clock.h"
#include "base/transitions.h"

#include <pthread.h>
#include <stdlib.h>

enum { PERIOD_MS = 1000 };

/*
 * The collector's own thread. Under the collector's lock.
 *
 * | state              | meaning                                           | what ends it                             |
 * | COLLECTOR_NONE     | rpc_collector_start was not called, or has failed | rpc_collector_start; rpc_collector_stop  |
 * | COLLECTOR_RUNS     | the thread runs the collections that are wanted   | rpc_collector_stop; rpc_collector_start, |
 * |                    |                                                   | where no thread was made                 |
 * | COLLECTOR_STOPPING | the thread ends after the collection that it runs | the thread                               |
 * | COLLECTOR_STOPPED  | there is no thread                                | nothing                                  |
 */
enum collector_state {
  COLLECTOR_NONE,     /* no thread was started */
  COLLECTOR_RUNS,     /* the thread runs the collections that are wanted */
  COLLECTOR_STOPPING, /* the thread ends after the collection that it runs */
  COLLECTOR_STOPPED   /* the thread has ended */
};

static const uint16_t collector_transitions[] = {
    [COLLECTOR_NONE] = TO(COLLECTOR_RUNS) | TO(COLLECTOR_STOPPED),
    [COLLECTOR_RUNS] = TO(COLLECTOR_STOPPING) | TO(COLLECTOR_NONE),
    [COLLECTOR_STOPPING] = TO(COLLECTOR_STOPPED),
    [COLLECTOR_STOPPED] = 0,
};

struct rpc_collector {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t next_ms; /* the earliest time of the next collection */
  bool is_busy;    /* a collection is running, on any thread */
  /* a request wants a collection, but another collection is running, or next_ms has not come */
  bool is_wanted;
  enum collector_state state;
};

static void set_collector_state(struct rpc_collector *collector, enum collector_state to)
{
  assert(pthread_mutex_trylock(&collector->lock) != 0);
  ASSERT_TRANSITION(collector_transitions, collector->state, to);
  collector->state = to;
}

struct rpc_collector *rpc_collector_create(void)
{
  struct rpc_collector *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  pthread_mutex_init(&made->lock, NULL);
  clock_init_condition(&made->changed);
  return made;
}

/* The caller holds the lock. */
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
  if (collector->state == COLLECTOR_RUNS)
    set_collector_state(collector, COLLECTOR_STOPPING);
  else if (collector->state == COLLECTOR_NONE)
    set_collector_state(collector, COLLECTOR_STOPPED);
  pthread_cond_broadcast(&collector->changed);
  while (collector->state != COLLECTOR_STOPPED && clock_now_ms() < deadline)
    wait_until(collector, deadline);
  bool has_ended = collector->state == COLLECTOR_STOPPED;
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

/* The caller holds the lock, and this function releases the lock while Java collects. */
static void collect_garbage(struct rpc_collector *collector, struct jvm_thread *thread)
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
  while (collector->state == COLLECTOR_RUNS) {
    if (!collector->is_wanted || collector->is_busy) {
      pthread_cond_wait(&collector->changed, &collector->lock);
    } else if (may_collect(collector)) {
      collector->is_wanted = false;
      collect_garbage(collector, thread);
    } else {
      wait_until(collector, collector->next_ms);
    }
  }
  set_collector_state(collector, COLLECTOR_STOPPED);
  pthread_cond_broadcast(&collector->changed);
  pthread_mutex_unlock(&collector->lock);
}

enum jp_status rpc_collector_start(struct rpc_collector *collector, struct jvm *jvm, struct jp_error *error)
{
  pthread_mutex_lock(&collector->lock);
  set_collector_state(collector, COLLECTOR_RUNS);
  pthread_mutex_unlock(&collector->lock);
  enum jp_status status = jvm_spawn(jvm, "jpeer-gc", run_wanted, collector, error);
  if (status == JP_OK)
    return JP_OK;
  pthread_mutex_lock(&collector->lock);
  set_collector_state(collector, COLLECTOR_NONE);
  pthread_mutex_unlock(&collector->lock);
  return status;
}

void rpc_collector_collect(struct rpc_collector *collector, struct jvm_thread *thread)
{
  pthread_mutex_lock(&collector->lock);
  if (!collector->is_wanted && may_collect(collector)) {
    collect_garbage(collector, thread);
  } else {
    collector->is_wanted = true;
    pthread_cond_broadcast(&collector->changed);
  }
  pthread_mutex_unlock(&collector->lock);
}
