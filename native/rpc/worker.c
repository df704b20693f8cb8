/* Workers: the state that a thread of the crew needs to serve messages. */
#include "rpc/peer_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rpc_worker *workers; /* of all crews; guarded by the lock */
/* Of workers that have ended; guarded by the lock. Not in the peer, which may end before its workers. */
static struct rpc_request_counts ended_counts;
static uint32_t numbers; /* the number of workers made so far; guarded by the lock */
static _Thread_local struct rpc_worker *worker_now;

struct worker_start {
  void (*run)(void *argument, struct rpc_worker *worker);
  void *argument;
  struct rpc_worker *worker;
};

static void destroy_codec_states(struct rpc_worker *worker)
{
  for (size_t i = 0; i < RPC_CODECS; i++) {
    if (worker->codec_states[i] != NULL && rpc_codecs[i]->worker_destroy != NULL)
      rpc_codecs[i]->worker_destroy(worker->codec_states[i]);
  }
}

static enum jp_status create_codec_states(struct rpc_worker *worker)
{
  for (size_t i = 0; i < RPC_CODECS; i++) {
    if (rpc_codecs[i]->worker_create == NULL)
      continue;
    worker->codec_states[i] = rpc_codecs[i]->worker_create();
    if (worker->codec_states[i] != NULL)
      continue;
    destroy_codec_states(worker);
    return JP_NO_MEMORY;
  }
  return JP_OK;
}

enum jp_status rpc_worker_init(struct rpc_worker *worker, struct rpc_peer *peer, struct jvm_thread *thread)
{
  rpc_runner_init(&worker->runner, peer, thread);
  return create_codec_states(worker);
}

void rpc_worker_fini(struct rpc_worker *worker)
{
  /* The sessions are not passed, because the peer does not wait for this thread and may have destroyed them
   * already. */
  rpc_client_destroy(NULL, worker->spare, worker->runner.thread);
  destroy_codec_states(worker);
  rpc_runner_fini(&worker->runner);
}

/* ---- the thread of a worker ---- */

struct rpc_worker *rpc_worker_now(void)
{
  return worker_now;
}

static void add_counts(struct rpc_request_counts *counts, _Atomic uint64_t sums[][METRICS_OUTCOMES])
{
  for (size_t i = 0; i < METRICS_METHODS; i++) {
    for (size_t j = 0; j < METRICS_OUTCOMES; j++)
      sums[i][j] += atomic_load_explicit(&counts->requests[i][j], memory_order_relaxed);
  }
}

static void enter_workers(struct rpc_worker *worker)
{
  worker_now = worker;
  pthread_mutex_lock(&workers_lock);
  worker->number = ++numbers;
  worker->next = workers;
  if (worker->next != NULL)
    worker->next->link = &worker->next;
  worker->link = &workers;
  workers = worker;
  pthread_mutex_unlock(&workers_lock);
}

static void leave_workers(struct rpc_worker *worker)
{
  worker_now = NULL;
  pthread_mutex_lock(&workers_lock);
  add_counts(&worker->counts, ended_counts.requests);
  *worker->link = worker->next;
  if (worker->next != NULL)
    worker->next->link = worker->link;
  pthread_mutex_unlock(&workers_lock);
}

static void run_worker(void *argument, struct jvm_thread *thread)
{
  struct worker_start *start = argument;
  struct rpc_worker *worker = start->worker;
  worker->runner.thread = thread;
  enter_workers(worker);
  start->run(start->argument, worker);
  leave_workers(worker);
  rpc_worker_fini(worker);
  rpc_call_watch_fini(&worker->watch);
  free(worker);
  free(start);
}

enum jp_status rpc_worker_spawn(void *context, const char *name,
                                void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                                struct jp_error *error)
{
  struct rpc_peer *peer = context;
  if (peer->jvm == NULL)
    return jp_fail(error, JP_CLOSED, "the JVM is not up");
  struct worker_start *start = malloc(sizeof *start);
  struct rpc_worker *worker = calloc(1, sizeof *worker);
  if (start == NULL || worker == NULL || rpc_worker_init(worker, peer, NULL) != JP_OK) {
    free(start);
    free(worker);
    return jp_fail_memory(error, NULL);
  }
  rpc_call_watch_init(&worker->watch, name);
  worker->runner.watch = &worker->watch;
  worker->runner.counts = &worker->counts;
  *start = (struct worker_start){.run = run, .argument = argument, .worker = worker};
  enum jp_status status = jvm_spawn(peer->jvm, name, run_worker, start, error);
  if (status != JP_OK) {
    rpc_worker_fini(worker);
    rpc_call_watch_fini(&worker->watch);
    free(worker);
    free(start);
  }
  return status;
}

void rpc_worker_keep_changes(void *context, struct rpc_worker *worker)
{
  (void)context;
  jvm_thread_keep_changes(worker->runner.thread);
}

bool rpc_worker_is_exiting(void *context, struct rpc_worker *worker)
{
  const struct rpc_peer *peer = context;
  return jvm_thread_is_exiting(peer->jvm, worker->runner.thread);
}

void rpc_worker_set_waits(void *context, struct rpc_worker *worker, const struct rpc_waits *waits)
{
  (void)context;
  pthread_mutex_lock(&workers_lock);
  worker->waits = waits;
  worker->watch.arrived_ns = waits == NULL ? NULL : &waits->arrived_ns;
  pthread_mutex_unlock(&workers_lock);
}

void rpc_worker_interrupt(struct jvm_thread *thread)
{
  pthread_mutex_lock(&workers_lock);
  struct rpc_worker *worker = workers;
  while (worker != NULL && worker->runner.thread != thread)
    worker = worker->next;
  if (worker != NULL && worker->waits != NULL) {
    atomic_store(&worker->was_interrupted, true);
    worker->waits->wake(worker->waits->thread);
  }
  pthread_mutex_unlock(&workers_lock);
}

bool rpc_worker_find_exiting(struct rpc_peer *peer, const struct rpc_worker *worker)
{
  pthread_mutex_lock(&workers_lock);
  struct rpc_worker *found = workers;
  while (found != NULL && found != worker)
    found = found->next;
  bool is_exiting = found != NULL && rpc_worker_is_exiting(peer, found);
  pthread_mutex_unlock(&workers_lock);
  return is_exiting;
}

/* ---- lost threads ---- */

/* Binary messages do not set `served`, so their clients count as clients without an address. */
void rpc_worker_note_lost(void *context, struct rpc_worker *worker, bool is_lost)
{
  (void)context;
  pthread_mutex_lock(&workers_lock);
  worker->is_lost = is_lost;
  worker->lost_of =
      is_lost && worker->served != NULL ? worker->served->maker.address : (struct rpc_address){0};
  worker->lost_principal =
      is_lost && worker->served != NULL ? principal_number(worker->served->principal) : 0;
  pthread_mutex_unlock(&workers_lock);
}

static bool is_lost_of(const struct rpc_worker *worker, const struct rpc_client *client)
{
  const struct rpc_address *address = &client->maker.address;
  const uint32_t principal = principal_number(client->principal);
  if (!worker->is_lost || worker->lost_principal != principal)
    return false;
  return principal != 0 || (worker->lost_of.length == address->length &&
                            memcmp(worker->lost_of.bytes, address->bytes, address->length) == 0);
}

size_t rpc_workers_count_lost(void *context, const struct rpc_client *client)
{
  size_t count = 0;
  (void)context;
  pthread_mutex_lock(&workers_lock);
  for (const struct rpc_worker *worker = workers; worker != NULL; worker = worker->next)
    count += is_lost_of(worker, client);
  pthread_mutex_unlock(&workers_lock);
  return count;
}

/* ---- the list of calls ---- */

/* The number of a call: the number of its worker and the number of the call in this worker, in the 53 bits
 * that every reader of JSON supports. */
enum { WORKER_NUMBERS = 1 << 21 };

static uint64_t number_call(const struct rpc_worker *worker)
{
  return (uint64_t)(worker->number % WORKER_NUMBERS) << 32 |
         atomic_load_explicit(&worker->watch.calls, memory_order_relaxed);
}

/* Finds the worker with the next lower number. *held becomes the worker, which remains valid because its call
 * is held. It becomes NULL if the worker is in no call, or if the call cannot be held; in the second case
 * this function has written the entry of the call. False: no worker is left. */
static bool hold_next(uint32_t *number, struct rpc_worker **held, uint64_t *call, struct buffer *list)
{
  pthread_mutex_lock(&workers_lock);
  struct rpc_worker *worker = workers;
  while (worker != NULL && worker->number >= *number)
    worker = worker->next;
  *held = NULL;
  if (worker != NULL) {
    *number = worker->number;
    *call = number_call(worker);
    if (rpc_call_hold(NULL, worker)) {
      *held = worker;
      *call = number_call(worker); /* the worker may have begun another call before it was held */
    }
    const bool is_inside = *held == NULL && in_call_is_inside(&worker->watch.word);
    if (*held != NULL || is_inside)
      buffer_append_text(list, list->len > 1 ? TEXT(",") : TEXT(""));
    if (is_inside)
      rpc_call_list_unheld(worker, *call, list);
  }
  pthread_mutex_unlock(&workers_lock);
  return worker != NULL;
}

void rpc_workers_list_calls(struct jvm_thread *by, struct arena *arena, struct buffer *list)
{
  struct rpc_worker *held;
  uint32_t number = UINT32_MAX;
  uint64_t call;
  buffer_append_char(list, '[');
  while (hold_next(&number, &held, &call, list)) {
    if (held != NULL)
      rpc_call_list(held, by, call, arena, list);
  }
  buffer_append_char(list, ']');
}

bool rpc_workers_end_call(uint64_t number)
{
  const struct rpc_call_end end = {.cause = RPC_CALL_CANCELLED, .call = (uint32_t)number};
  bool is_found = false;
  pthread_mutex_lock(&workers_lock);
  for (struct rpc_worker *worker = workers; worker != NULL && !is_found; worker = worker->next)
    is_found = number_call(worker) == number && in_call_is_inside(&worker->watch.word) &&
               worker->waits != NULL && worker->waits->end(worker->waits->thread, &end);
  pthread_mutex_unlock(&workers_lock);
  return is_found;
}

void rpc_workers_collect(struct rpc_peer *peer, struct metrics_figures *figures)
{
  struct rpc_request_counts sums = {0};
  pthread_mutex_lock(&workers_lock);
  add_counts(&ended_counts, sums.requests);
  for (struct rpc_worker *worker = workers; worker != NULL; worker = worker->next) {
    if (worker->runner.peer == peer)
      add_counts(&worker->counts, sums.requests);
  }
  pthread_mutex_unlock(&workers_lock);
  add_counts(&peer->shared_counts, sums.requests);
  for (size_t i = 0; i < METRICS_METHODS; i++) {
    for (size_t j = 0; j < METRICS_OUTCOMES; j++)
      figures->requests[i][j] = sums.requests[i][j];
  }
}
