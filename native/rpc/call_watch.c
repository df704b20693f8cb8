#include "rpc/call_watch.h"

#include "rpc/peer_state.h"

#include <inttypes.h>
#include <stdio.h>

enum { MEMBER_NAME_MAX = 160, THREAD_NAME_MAX = 256 };

void rpc_call_watch_init(struct rpc_call_watch *watch, const char *own_name)
{
  pthread_mutex_init(&watch->lock, NULL);
  snprintf(watch->own_name, sizeof watch->own_name, "%s", own_name);
}

void rpc_call_watch_fini(struct rpc_call_watch *watch)
{
  /* The last visitor has left the call, but may still hold the lock. */
  pthread_mutex_lock(&watch->lock);
  pthread_mutex_unlock(&watch->lock);
  pthread_mutex_destroy(&watch->lock);
}

/* Waiting here cannot deadlock with a safepoint: a visitor may wait for the JVM, but the JVM does not wait
 * for this thread, which runs in C. */
enum rpc_call_cause rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  pthread_mutex_lock(&watch->lock);
  (void)in_call_end(&watch->word); /* false: the call ended without a visitor */
  if (watch->given.name != NULL)
    jvm_thread_restore_name(thread, &watch->given);
  if (watch->interrupt == RPC_INTERRUPT_SENT)
    (void)jvm_thread_clear_interrupt(thread);
  enum rpc_call_cause cause = rpc_call_ended_by(watch);
  watch->interrupt = RPC_INTERRUPT_NONE;
  atomic_store_explicit(&watch->cause, RPC_CALL_RETURNS, memory_order_relaxed);
  watch->is_marked = false;
  pthread_mutex_unlock(&watch->lock);
  return cause;
}

void rpc_call_fail(enum rpc_call_cause cause, struct arena *arena, struct outcome *outcome)
{
  static const struct {
    struct text reason;
    const char *message;
  } endings[] = {
      [RPC_CALL_TIMED_OUT] = {TEXT("timeout"),
                              "the call lasted longer than its timeout, and was interrupted"},
      [RPC_CALL_CANCELLED] = {TEXT("cancelled"), "the call was cancelled"},
      [RPC_CALL_LEFT] = {TEXT("cancelled"), "the client has left"},
  };
  outcome_fail(outcome, arena, FAILURE_SERVER, NULL, "%s", endings[cause].message);
  outcome->reason = endings[cause].reason;
}

/* ---- requests that are nested in the call ---- */

void rpc_call_begin_nested(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  pthread_mutex_lock(&watch->lock);
  /* The thread was interrupted, but Java has not read its interrupt flag yet: the flag is not meant for
   * the nested request. */
  if (watch->nested++ == 0 && watch->interrupt == RPC_INTERRUPT_SENT && jvm_thread_clear_interrupt(thread))
    watch->interrupt = RPC_INTERRUPT_DUE;
  pthread_mutex_unlock(&watch->lock);
}

void rpc_call_end_nested(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  pthread_mutex_lock(&watch->lock);
  if (--watch->nested == 0 && watch->interrupt == RPC_INTERRUPT_DUE) {
    jvm_thread_interrupt(thread, thread);
    watch->interrupt = RPC_INTERRUPT_SENT;
  }
  pthread_mutex_unlock(&watch->lock);
}

/* ---- visitors ---- */

/* Never waits. False: the thread is in no call, or another visitor is in the call. */
static bool begin_visit(struct rpc_call_watch *watch)
{
  if (pthread_mutex_trylock(&watch->lock) != 0)
    return false;
  if (in_call_visit(&watch->word))
    return true;
  pthread_mutex_unlock(&watch->lock);
  return false;
}

static void end_visit(struct rpc_call_watch *watch)
{
  in_call_leave(&watch->word);
  pthread_mutex_unlock(&watch->lock);
}

/* Cuts a text of the client's to the length that a name may have. */
static struct text cut_text(struct text t)
{
  return text_slice(t, 0, t.len < MEMBER_NAME_MAX ? t.len : MEMBER_NAME_MAX);
}

/* Writes the class that the call has reached or, before that, the class as the request names it. */
static void write_name(const struct rpc_call_watch *watch, char *name, size_t size)
{
  const struct operation *operation = watch->operation;
  bool is_reached = atomic_load_explicit(&watch->is_reached, memory_order_acquire) &&
                    watch->reached->class_name.data != NULL;
  struct text class_name = is_reached ? watch->reached->class_name : operation->type;
  struct text member = is_reached ? watch->reached->member : operation->member;
  char reference[16];
  if (class_name.data == NULL) {
    snprintf(reference, sizeof reference, "ref %" PRIu32, operation->instance);
    class_name = text_of(reference);
  }
  if (operation->kind == OP_FETCH)
    member = TEXT("jpeer.fetch");
  else if (operation->kind == OP_DESCRIBE)
    member = TEXT("jpeer.describe");
  else if (operation->kind == OP_ASSEMBLE)
    member = TEXT("jpeer.assemble");
  size_t length = text_escape(cut_text(class_name), "", "", name, size);
  if (member.data == NULL || length + 1 >= size)
    return;
  name[length] = '.';
  text_escape(cut_text(member), "", "", name + length + 1, size - length - 1);
}

bool rpc_call_write_name(void *context, struct rpc_worker *worker, char *name, size_t size)
{
  (void)context;
  if (!begin_visit(&worker->watch))
    return false;
  write_name(&worker->watch, name, size);
  end_visit(&worker->watch);
  return true;
}

bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms)
{
  (void)context;
  struct rpc_call_watch *watch = &worker->watch;
  uint32_t calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
  if (calls != watch->seen_calls || watch->seen_ms == 0) {
    watch->seen_calls = calls;
    watch->seen_ms = now_ms;
    watch->was_reported = false;
  }
  if (watch->was_reported || !in_call_is_inside(&watch->word) || now_ms - watch->seen_ms < RPC_LONG_CALL_MS)
    return false;
  watch->was_reported = true;
  return true;
}

bool rpc_call_hold(void *context, struct rpc_worker *worker)
{
  (void)context;
  return begin_visit(&worker->watch);
}

/* A new call may have begun since the watcher checked: the name is then that of the new call, whose end
 * removes it. */
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held)
{
  (void)context;
  struct rpc_call_watch *watch = &held->watch;
  char member[MEMBER_NAME_MAX];
  char name[THREAD_NAME_MAX];
  if (!watch->is_elsewhere && watch->given.name == NULL) {
    write_name(watch, member, sizeof member);
    text_format(name, sizeof name, "%s session %" PRIu64 " %s", watch->own_name, watch->client, member);
    jvm_thread_give_name(own->runner.thread, held->runner.thread, watch->own_name, name, &watch->given);
    watch->is_marked |= watch->given.name != NULL;
  }
  end_visit(watch);
}

/* ---- the end of a call ---- */

static int64_t find_timeout(const struct rpc_peer *peer, const struct operation *operation)
{
  const int64_t of_all = peer->config.limits.call_timeout_ms;
  const int64_t own = operation->timeout_ms;
  return own == 0 || (of_all != 0 && of_all < own) ? of_all : own;
}

/* The first call of a message began when the message was received, or soon after. A later call of a batch
 * counts from the time at which the watcher first saw it. */
int64_t rpc_call_find_deadline(void *context, struct rpc_worker *worker, int64_t since_ms, int64_t now_ms,
                               uint32_t *call)
{
  struct rpc_call_watch *watch = &worker->watch;
  uint32_t calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
  if (!watch->is_timed || calls != watch->timed_call || since_ms != watch->timed_since_ms) {
    if (!begin_visit(watch))
      return INT64_MAX;
    calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
    int64_t timeout_ms = find_timeout(context, watch->operation);
    end_visit(watch);
    int64_t from_ms = watch->is_timed && since_ms == watch->timed_since_ms ? now_ms : since_ms;
    watch->is_timed = true;
    watch->timed_call = calls;
    watch->timed_since_ms = since_ms;
    watch->deadline_ms = timeout_ms == 0 ? INT64_MAX : from_ms + timeout_ms;
  }
  *call = watch->timed_call;
  return watch->deadline_ms;
}

bool rpc_call_interrupt(void *context, struct rpc_worker *own, struct rpc_worker *held,
                        const struct rpc_call_end *end)
{
  (void)context;
  struct rpc_call_watch *watch = &held->watch;
  bool is_meant = end->cause != RPC_CALL_RETURNS &&
                  (end->is_any || end->call == atomic_load_explicit(&watch->calls, memory_order_relaxed));
  if (is_meant && end->is_any)
    watch->of_message = end->cause;
  if (is_meant && rpc_call_ended_by(watch) == RPC_CALL_RETURNS) {
    atomic_store_explicit(&watch->cause, end->cause, memory_order_relaxed);
    watch->is_marked = true;
    if (watch->nested > 0) {
      watch->interrupt = RPC_INTERRUPT_DUE;
    } else if (!watch->is_elsewhere) {
      jvm_thread_interrupt(own->runner.thread, held->runner.thread);
      watch->interrupt = RPC_INTERRUPT_SENT;
    }
  }
  end_visit(watch);
  return is_meant;
}
