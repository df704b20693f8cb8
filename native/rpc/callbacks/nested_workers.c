#include "rpc/callbacks/nested_workers.h"

#include "jni/callbacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BUFFER_KEPT = 64 * 1024 };

struct nested_workers {
  struct rpc_peer *peer;
  /* the worker that was returned last, or NULL; threads put and take it atomically, without the lock */
  struct nested_worker *_Atomic handy;
  pthread_mutex_t lock;       /* guards the other fields */
  struct nested_worker *idle; /* the workers that were returned earlier, the latest first */
  size_t idle_count;
};

enum jp_status nested_workers_create(struct rpc_peer *peer, struct nested_workers **pool)
{
  struct nested_workers *made = calloc(1, sizeof *made);
  if (made == NULL)
    return JP_NO_MEMORY;
  made->peer = peer;
  pthread_mutex_init(&made->lock, NULL);
  *pool = made;
  return JP_OK;
}

static void destroy_worker(struct nested_worker *nested)
{
  struct jvm_thread *thread = nested->worker.runner.thread;
  rpc_worker_fini(&nested->worker);
  rpc_call_watch_fini(&nested->worker.watch);
  jvm_thread_destroy(thread);
  buffer_fini(&nested->out);
  buffer_fini(&nested->scratch);
  free(nested);
}

void nested_workers_destroy(struct nested_workers *pool)
{
  if (pool == NULL)
    return;
  if (pool->handy != NULL)
    destroy_worker(pool->handy);
  while (pool->idle != NULL) {
    struct nested_worker *nested = pool->idle;
    pool->idle = nested->next;
    destroy_worker(nested);
  }
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

static enum jp_status make_worker(struct rpc_peer *peer, struct nested_worker **worker)
{
  struct jvm_thread *thread = NULL;
  struct nested_worker *made = calloc(1, sizeof *made);
  if (made == NULL || jvm_thread_create(peer->jvm, &thread) != JP_OK ||
      rpc_worker_init(&made->worker, peer, thread) != JP_OK) {
    jvm_thread_destroy(thread);
    free(made);
    return JP_NO_MEMORY;
  }
  rpc_call_watch_init(&made->worker.watch, "");
  buffer_init(&made->out);
  buffer_init(&made->scratch);
  *worker = made;
  return JP_OK;
}

enum jp_status nested_workers_borrow(struct nested_workers *pool, struct nested_worker **worker)
{
  *worker = atomic_exchange(&pool->handy, NULL);
  if (*worker != NULL)
    return JP_OK;
  pthread_mutex_lock(&pool->lock);
  struct nested_worker *idle = pool->idle;
  if (idle != NULL) {
    pool->idle = idle->next;
    pool->idle_count--;
  }
  pthread_mutex_unlock(&pool->lock);
  if (idle == NULL)
    return make_worker(pool->peer, worker);
  *worker = idle;
  return JP_OK;
}

static void empty_buffer(struct buffer *buffer)
{
  buffer_clear(buffer);
  buffer_trim(buffer, BUFFER_KEPT);
}

void nested_workers_return(struct nested_workers *pool, struct nested_worker *worker)
{
  arena_reset(&worker->worker.runner.arena);
  empty_buffer(&worker->out);
  empty_buffer(&worker->scratch);
  worker = atomic_exchange(&pool->handy, worker);
  if (worker == NULL)
    return;
  pthread_mutex_lock(&pool->lock);
  bool is_kept = pool->idle_count + 1 < NESTED_WORKERS_KEPT;
  if (is_kept) {
    worker->next = pool->idle;
    pool->idle = worker;
    pool->idle_count++;
  }
  pthread_mutex_unlock(&pool->lock);
  if (!is_kept)
    destroy_worker(worker);
}
