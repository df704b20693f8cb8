#include "rpc/jvm_figures.h"

#include "base/clock.h"
#include "base/transitions.h"
#include "jni/figures.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * The thread that reads. Under the lock.
 *
 * | state                | what holds                                   | who leaves it, on what                       |
 * | JVM_FIGURES_NONE     | rpc_jvm_figures_start was not called         | rpc_jvm_figures_start; rpc_jvm_figures_stop  |
 * | JVM_FIGURES_RUNS     | the thread reads the figures that are wanted | rpc_jvm_figures_stop; rpc_jvm_figures_start, |
 * |                      |                                              | where no thread was made                     |
 * | JVM_FIGURES_STOPPING | the thread ends after what it reads          | the thread                                   |
 * | JVM_FIGURES_STOPPED  | there is no thread                           | nobody                                       |
 */
enum jvm_figures_state {
  JVM_FIGURES_NONE,     /* no thread was started */
  JVM_FIGURES_RUNS,     /* the thread reads the figures that are wanted */
  JVM_FIGURES_STOPPING, /* the thread ends after what it reads */
  JVM_FIGURES_STOPPED   /* the thread has ended */
};

static const uint16_t jvm_figures_transitions[] = {
    [JVM_FIGURES_NONE] = TO(JVM_FIGURES_RUNS) | TO(JVM_FIGURES_STOPPED),
    [JVM_FIGURES_RUNS] = TO(JVM_FIGURES_STOPPING) | TO(JVM_FIGURES_NONE),
    [JVM_FIGURES_STOPPING] = TO(JVM_FIGURES_STOPPED),
    [JVM_FIGURES_STOPPED] = 0,
};

struct rpc_jvm_figures {
  pthread_mutex_t lock;
  pthread_cond_t wanted_more; /* the thread has to read, or to end */
  pthread_cond_t changed;     /* figures were read, or the thread has ended */
  uint64_t wanted;            /* the number of the read that is wanted */
  uint64_t begun;             /* the number of the read that has begun last */
  uint64_t done;              /* the number of the read whose figures are in `last` */
  struct jvm_figures last;
  enum jvm_figures_state state;
};

static void set_figures_state(struct rpc_jvm_figures *own, enum jvm_figures_state to)
{
  ASSERT_TRANSITION(jvm_figures_transitions, own->state, to);
  own->state = to;
}

struct rpc_jvm_figures *rpc_jvm_figures_create(void)
{
  struct rpc_jvm_figures *made = calloc(1, sizeof *made);
  if (made == NULL)
    return NULL;
  made->last = (struct jvm_figures){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  pthread_mutex_init(&made->lock, NULL);
  clock_init_condition(&made->wanted_more);
  clock_init_condition(&made->changed);
  return made;
}

void rpc_jvm_figures_destroy(struct rpc_jvm_figures *own)
{
  if (own == NULL)
    return;
  pthread_cond_destroy(&own->changed);
  pthread_cond_destroy(&own->wanted_more);
  pthread_mutex_destroy(&own->lock);
  free(own);
}

/* The caller holds the lock. */
static void publish(struct rpc_jvm_figures *own, const struct jvm_figures *figures)
{
  own->last = *figures;
  pthread_cond_broadcast(&own->changed);
}

/* The heap is published before the beans are read, because the first read of the beans takes long. The caller holds the lock,
 * and this function releases the lock while it uses the JVM. */
static void read_figures(struct rpc_jvm_figures *own, struct jvm_thread *thread,
                         struct jvm_figure_reader *reader)
{
  struct jvm_figures read;
  const uint64_t number = own->wanted;
  own->begun = number;
  const struct jvm_figures before = own->last;
  pthread_mutex_unlock(&own->lock);
  jvm_figures_read_heap(thread, &read);
  struct jvm_figures heap = before;
  heap.heap_used = read.heap_used;
  heap.heap_committed = read.heap_committed;
  heap.heap_max = read.heap_max;
  pthread_mutex_lock(&own->lock);
  publish(own, &heap);
  pthread_mutex_unlock(&own->lock);
  jvm_figures_read_beans(thread, reader, &read);
  pthread_mutex_lock(&own->lock);
  own->done = number;
  publish(own, &read);
}

static void run_reader(void *argument, struct jvm_thread *thread)
{
  struct rpc_jvm_figures *own = argument;
  struct jvm_figure_reader *reader = jvm_figure_reader_create();
  pthread_mutex_lock(&own->lock);
  while (own->state == JVM_FIGURES_RUNS) {
    if (reader != NULL && own->begun != own->wanted)
      read_figures(own, thread, reader);
    else
      pthread_cond_wait(&own->wanted_more, &own->lock);
  }
  pthread_mutex_unlock(&own->lock);
  jvm_figure_reader_destroy(thread, reader);
  pthread_mutex_lock(&own->lock);
  set_figures_state(own, JVM_FIGURES_STOPPED);
  pthread_cond_broadcast(&own->changed);
  pthread_mutex_unlock(&own->lock);
}

enum jp_status rpc_jvm_figures_start(struct rpc_jvm_figures *own, struct jvm *jvm, struct jp_error *error)
{
  pthread_mutex_lock(&own->lock);
  set_figures_state(own, JVM_FIGURES_RUNS);
  pthread_mutex_unlock(&own->lock);
  enum jp_status status = jvm_spawn(jvm, "jpeer-figures", run_reader, own, error);
  if (status == JP_OK)
    return JP_OK;
  pthread_mutex_lock(&own->lock);
  set_figures_state(own, JVM_FIGURES_NONE);
  pthread_mutex_unlock(&own->lock);
  return status;
}

/* The caller holds the lock. False: the time has come. */
static bool wait_until(struct rpc_jvm_figures *own, int64_t time_ms)
{
  struct timespec at = {.tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000};
  return pthread_cond_timedwait(&own->changed, &own->lock, &at) == 0;
}

void rpc_jvm_figures_collect(struct rpc_jvm_figures *own, struct metrics_figures *figures)
{
  const int64_t until_ms = clock_now_ms() + RPC_JVM_FIGURES_WAIT_MS;
  pthread_mutex_lock(&own->lock);
  const uint64_t number = own->begun + 1;
  if (own->wanted < number)
    own->wanted = number;
  pthread_cond_signal(&own->wanted_more);
  while (own->state == JVM_FIGURES_RUNS && own->done < number && wait_until(own, until_ms)) {
  }
  const struct jvm_figures last = own->last;
  pthread_mutex_unlock(&own->lock);
  figures->heap_used = last.heap_used;
  figures->heap_committed = last.heap_committed;
  figures->heap_max = last.heap_max;
  figures->gc_ms = last.gc_ms;
  figures->gc_count = last.gc_count;
  figures->java_threads = last.threads;
}

bool rpc_jvm_figures_stop(struct rpc_jvm_figures *own, int64_t wait_ms)
{
  if (own == NULL)
    return true;
  const int64_t until_ms = clock_now_ms() + wait_ms;
  pthread_mutex_lock(&own->lock);
  if (own->state == JVM_FIGURES_RUNS)
    set_figures_state(own, JVM_FIGURES_STOPPING);
  else if (own->state == JVM_FIGURES_NONE)
    set_figures_state(own, JVM_FIGURES_STOPPED);
  pthread_cond_signal(&own->wanted_more);
  while (own->state != JVM_FIGURES_STOPPED && clock_now_ms() < until_ms)
    (void)wait_until(own, until_ms);
  const bool has_ended = own->state == JVM_FIGURES_STOPPED;
  pthread_mutex_unlock(&own->lock);
  return has_ended;
}
