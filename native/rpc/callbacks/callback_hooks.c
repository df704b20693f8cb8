/* The table of hooks for jni/callbacks.h, and those hooks that concern no single call. */
#include "base/log.h"
#include "rpc/callbacks/callback_calls.h"
#include "rpc/callbacks/callbacks_state.h"

/* ---- giving ---- */

static uint64_t find_proxy(struct rpc_callbacks *callbacks, int64_t id)
{
  pthread_mutex_lock(&callbacks->lock);
  const struct callback_record *record = callback_records_find(&callbacks->records, id);
  uint64_t number = record == NULL ? 0 : record->proxy;
  pthread_mutex_unlock(&callbacks->lock);
  return number;
}

/* Where delete_session has removed the record meanwhile, the proxy is one whose calls throw. */
static uint64_t note_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number, uint64_t before)
{
  pthread_mutex_lock(&callbacks->lock);
  struct callback_record *record = callback_records_find(&callbacks->records, id);
  uint64_t quicker = record == NULL || record->proxy == before ? 0 : record->proxy;
  if (record != NULL && quicker == 0)
    record->proxy = number;
  pthread_mutex_unlock(&callbacks->lock);
  if (quicker == 0)
    callbacks_hold(callbacks);
  return quicker;
}

static void release_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number)
{
  pthread_mutex_lock(&callbacks->lock);
  struct callback_record *record = callback_records_find(&callbacks->records, id);
  if (record != NULL && record->proxy == number) {
    record->proxy = 0;
    callbacks_settle_record(callbacks, record);
  }
  pthread_mutex_unlock(&callbacks->lock);
  callbacks_send_releases(callbacks);
  callbacks_release(callbacks);
}

/* ---- calls ---- */

static bool can_wait(void)
{
  const struct rpc_worker *worker = callback_thread_worker();
  return worker != NULL && worker->waits != NULL;
}

static void serve_nested(struct rpc_callback_call *call)
{
  struct callback_message *message = callback_inbox_take(call->thread);
  if (message != NULL)
    callback_nested_serve(call, message);
}

/* The client that answers wrongly once may do so always: Java is told each time, the log once. */
void callback_log_misfit(struct rpc_callback_call *call, struct text reason)
{
  struct rpc_callbacks *callbacks = call->callbacks;
  char session[RPC_SESSION_NAME_MAX];
  pthread_mutex_lock(&callbacks->lock);
  bool is_first = !callbacks->has_misfit;
  callbacks->has_misfit = true;
  pthread_mutex_unlock(&callbacks->lock);
  if (!is_first)
    return;
  rpc_session_key_describe(&callbacks->key, session);
  log_warn("callback %lld of session %s: the answer to %.*s.%.*s does not fit: %.*s; further ones of this "
           "connection get no line",
           (long long)call->id, session[0] == '\0' ? "-" : session,
           TEXT_ARGS(text_cut(call->method->interface, 256)), TEXT_ARGS(text_cut(call->method->name, 256)),
           TEXT_ARGS(text_cut(reason, 1024)));
}

/* ---- interrupts ---- */

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rpc_worker *workers; /* of all crews; guarded by the lock */

void rpc_callback_worker_begin(struct rpc_worker *worker)
{
  callback_thread_set_worker(worker);
  pthread_mutex_lock(&workers_lock);
  worker->next = workers;
  if (worker->next != NULL)
    worker->next->link = &worker->next;
  worker->link = &workers;
  workers = worker;
  pthread_mutex_unlock(&workers_lock);
}

void rpc_callback_worker_end(struct rpc_worker *worker)
{
  callback_thread_set_worker(NULL);
  pthread_mutex_lock(&workers_lock);
  *worker->link = worker->next;
  if (worker->next != NULL)
    worker->next->link = worker->link;
  pthread_mutex_unlock(&workers_lock);
}

void rpc_callback_worker_set_waits(struct rpc_worker *worker, const struct rpc_waits *waits)
{
  pthread_mutex_lock(&workers_lock);
  worker->waits = waits;
  pthread_mutex_unlock(&workers_lock);
}

static void wake_interrupted(struct jvm_thread *thread)
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

bool callback_worker_is_exiting(struct rpc_peer *peer, const struct rpc_worker *worker)
{
  pthread_mutex_lock(&workers_lock);
  struct rpc_worker *found = workers;
  while (found != NULL && found != worker)
    found = found->next;
  bool is_exiting = found != NULL && rpc_worker_is_exiting(peer, found);
  pthread_mutex_unlock(&workers_lock);
  return is_exiting;
}

/* ---- the table ---- */

static const struct jvm_callback_hooks hooks = {
    .find = find_proxy,
    .made = note_proxy,
    .released = release_proxy,
    .waits = can_wait,
    .open = callback_call_open,
    .enter = callback_call_enter,
    .leave = callback_call_leave,
    .send = callback_call_send,
    .look = callback_call_look,
    .wait = callback_call_wait,
    .nanoseconds_left = callback_call_nanoseconds_left,
    .serve = serve_nested,
    .take_answer = callback_call_take_answer,
    .log_misfit = callback_log_misfit,
    .close = callback_call_close,
    .interrupted = wake_interrupted,
};

const struct jvm_callback_hooks *rpc_callback_hooks(void)
{
  return &hooks;
}
