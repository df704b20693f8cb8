#include "rpc/call_watch.h"

#include "base/clock.h"
#include "rpc/operation_audit.h"
#include "rpc/peer_state.h"
#include "json/writer.h"

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

/* Ends a call that has a visitor, and waits for the visitor. This cannot deadlock with a safepoint: the
 * visitor may wait for the JVM, but the JVM does not wait for this thread, which runs in C. */
enum rpc_call_cause rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  pthread_mutex_lock(&watch->lock);
  /* the result is not needed: false means that the call has ended without a visitor */
  (void)in_call_end(&watch->word);
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
      [RPC_CALL_LEFT] = {TEXT("left"), "the client has left"},
  };
  outcome_fail(outcome, arena, FAILURE_SERVER, NULL, "%s", endings[cause].message);
  outcome->reason = endings[cause].reason;
}

/* ---- requests that are nested in the call ---- */

static struct rpc_call_watch *inner_of(const struct rpc_call_watch *watch)
{
  return atomic_load_explicit(&watch->inner, memory_order_relaxed);
}

void rpc_call_begin_nested(struct rpc_call_watch *own, struct rpc_call_watch *inner,
                           struct jvm_thread *thread, int64_t arrived_ns,
                           const _Atomic enum rpc_call_cause *of_nested)
{
  struct rpc_call_watch *watch = own;
  while (inner_of(watch) != NULL)
    watch = inner_of(watch);
  atomic_store_explicit(&inner->own_arrived_ns, arrived_ns, memory_order_relaxed);
  inner->arrived_ns = &inner->own_arrived_ns;
  pthread_mutex_lock(&watch->lock);
  /* The thread was interrupted, and Java has not read its interrupt flag yet. The flag is cleared, because it
   * is not meant for the nested request. */
  if (watch->interrupt == RPC_INTERRUPT_SENT && jvm_thread_clear_interrupt(thread))
    watch->interrupt = RPC_INTERRUPT_DUE;
  inner->of_nested = of_nested;
  atomic_store_explicit(&watch->inner, inner, memory_order_relaxed);
  pthread_mutex_unlock(&watch->lock);
}

/* The lock is released before the interrupt, because the interrupt may run code of the application, which may
 * call the client again. The state already says that the interrupt was sent, so no other thread interrupts
 * this thread. */
void rpc_call_end_nested(struct rpc_call_watch *own, struct jvm_thread *thread)
{
  struct rpc_call_watch *watch = own;
  while (inner_of(inner_of(watch)) != NULL)
    watch = inner_of(watch);
  pthread_mutex_lock(&watch->lock);
  inner_of(watch)->of_nested = NULL;
  atomic_store_explicit(&watch->inner, NULL, memory_order_relaxed);
  const bool is_due = watch->interrupt == RPC_INTERRUPT_DUE;
  if (is_due) {
    watch->interrupt = RPC_INTERRUPT_SENT;
    watch->interrupted_ms = clock_now_ms();
  }
  pthread_mutex_unlock(&watch->lock);
  if (is_due)
    jvm_thread_interrupt(thread, thread);
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

/* Cuts a text of the client to the longest length of a name. */
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
  else if (operation->kind == OP_COLUMNS)
    member = TEXT("jpeer.columns");
  else if (operation->kind == OP_ROWS)
    member = TEXT("jpeer.rows");
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

/* True once for each call that has lasted. */
static bool has_lasted(struct rpc_call_watch *watch, int64_t now_ms)
{
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

/* Called during a visit. */
static void write_start(struct rpc_call_watch *watch)
{
  const bool is_reached = atomic_load_explicit(&watch->is_reached, memory_order_acquire);
  watch->started = operation_audit_lasts(watch->client, watch->operation, is_reached ? watch->reached : NULL);
  watch->is_marked = true;
}

/* The call that is nested in a call, and so on, each during a visit. */
static void write_nested_starts(struct rpc_call_watch *watch, int64_t now_ms)
{
  bool is_visited = begin_visit(watch);
  while (is_visited) {
    struct rpc_call_watch *inner = inner_of(watch);
    is_visited = inner != NULL && begin_visit(inner);
    if (is_visited && has_lasted(inner, now_ms))
      write_start(inner);
    end_visit(watch);
    watch = inner;
  }
}

static bool writes_starts_of_lasting_calls(void)
{
  return audit_is_on() && !audit_switches.has_starts;
}

bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms)
{
  (void)context;
  if (writes_starts_of_lasting_calls() && inner_of(&worker->watch) != NULL)
    write_nested_starts(&worker->watch, now_ms);
  return has_lasted(&worker->watch, now_ms);
}

bool rpc_call_hold(void *context, struct rpc_worker *worker)
{
  (void)context;
  return begin_visit(&worker->watch);
}

/* A new call may have begun since the watcher checked: in that case the name belongs to the new call, whose
 * end removes the name. */
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held)
{
  (void)context;
  struct rpc_call_watch *watch = &held->watch;
  char member[MEMBER_NAME_MAX];
  char name[THREAD_NAME_MAX];
  if (writes_starts_of_lasting_calls())
    write_start(watch);
  if (!watch->is_elsewhere && watch->given.name == NULL) {
    write_name(watch, member, sizeof member);
    text_format(name, sizeof name, "%s session %" PRIu64 " %s", watch->own_name, watch->client->number,
                member);
    jvm_thread_give_name(own->runner.thread, held->runner.thread, watch->own_name, name, &watch->given);
    watch->is_marked |= watch->given.name != NULL;
  }
  end_visit(watch);
}

/* ---- the list of calls ---- */

/* INT64_MAX: unknown. */
static int64_t arrival_of(const struct rpc_call_watch *watch)
{
  const int64_t ns =
      watch->arrived_ns == NULL ? 0 : atomic_load_explicit(watch->arrived_ns, memory_order_relaxed);
  return ns == 0 ? INT64_MAX : ns / 1000000;
}

/* Writes the beginning of an entry of the list. client: the client of the call; NULL: unknown, because the
 * call is not visited. */
static void begin_entry(const struct rpc_call_watch *watch, const struct rpc_client *client, uint64_t number,
                        struct buffer *list)
{
  const int64_t since_ms = arrival_of(watch);
  buffer_printf(list, "{\"call\":%" PRIu64 ",\"principal\":", number);
  if (client == NULL)
    buffer_append_text(list, TEXT("null,\"session\":null"));
  else {
    json_write_string(list, text_of(client->principal == NULL ? "owner" : client->principal->name));
    buffer_printf(list, ",\"session\":%" PRIu64, client->number);
  }
  buffer_append_text(list, TEXT(",\"thread\":"));
  json_write_string(list, text_of(watch->own_name));
  if (since_ms != INT64_MAX)
    buffer_printf(list, ",\"ms\":%" PRId64, clock_now_ms() - since_ms);
}

void rpc_call_list(struct rpc_worker *held, struct jvm_thread *by, uint64_t number, struct arena *arena,
                   struct buffer *list)
{
  enum { LISTED_FRAMES = 32 };
  struct text frames[LISTED_FRAMES];
  struct rpc_call_watch *watch = &held->watch;
  char name[MEMBER_NAME_MAX];
  size_t count = 0;
  begin_entry(watch, watch->client, number, list);
  write_name(watch, name, sizeof name);
  buffer_append_text(list, TEXT(",\"member\":"));
  json_write_string(list, text_of(name));
  if (!watch->is_elsewhere)
    count = jvm_thread_trace(by, held->runner.thread, arena, frames, LISTED_FRAMES);
  end_visit(watch);
  buffer_append_text(list, TEXT(",\"stack\":["));
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      buffer_append_char(list, ',');
    json_write_string(list, frames[i]);
  }
  buffer_append_text(list, TEXT("]}"));
}

void rpc_call_list_unheld(const struct rpc_worker *worker, uint64_t number, struct buffer *list)
{
  begin_entry(&worker->watch, NULL, number, list);
  buffer_append_text(list, TEXT(",\"member\":null,\"stack\":[]}"));
}

/* ---- the end of a call ---- */

/* 0: none. */
static int64_t find_timeout(int64_t of_all, const struct operation *operation)
{
  const int64_t own = operation->timeout_ms;
  return own == 0 || (of_all != 0 && of_all < own) ? of_all : own;
}

/* True if the operation runs to its end even though its client has left. Notifications do so, also those of a
 * batch. */
static bool finishes(const struct operation *operation, enum rpc_call_cause cause)
{
  return cause == RPC_CALL_LEFT && operation->is_notification;
}

enum rpc_call_cause rpc_call_find_late(const struct rpc_call_watch *watch, int64_t of_all_ms,
                                       const struct operation *operation)
{
  if (watch->of_message != RPC_CALL_RETURNS && !finishes(operation, watch->of_message))
    return watch->of_message;
  const int64_t timeout_ms = find_timeout(of_all_ms, operation);
  const int64_t since_ms = arrival_of(watch);
  const bool is_late = timeout_ms != 0 && since_ms != INT64_MAX && clock_now_ms() - since_ms >= timeout_ms;
  return is_late ? RPC_CALL_TIMED_OUT : RPC_CALL_RETURNS;
}

static bool is_known(const struct rpc_call_watch *watch)
{
  return watch->is_timed && watch->timed_call == atomic_load_explicit(&watch->calls, memory_order_relaxed);
}

/* Called by a visitor. */
static void note_deadline(struct rpc_call_watch *watch, const struct rpc_peer *peer, int64_t since_ms)
{
  const int64_t timeout_ms = find_timeout(peer->config.limits.call_timeout_ms, watch->operation);
  const int64_t arrived_ms = arrival_of(watch);
  watch->is_timed = true;
  watch->timed_call = atomic_load_explicit(&watch->calls, memory_order_relaxed);
  watch->deadline_ms =
      timeout_ms == 0 ? INT64_MAX : (arrived_ms < since_ms ? arrived_ms : since_ms) + timeout_ms;
}

/* True if the message is nested in a callback and was cancelled. Called during a visit of this watch or of
 * the watch around it. */
static bool is_cancelled(const struct rpc_call_watch *watch)
{
  return watch->of_nested != NULL &&
         atomic_load_explicit(watch->of_nested, memory_order_relaxed) == RPC_CALL_CANCELLED;
}

/* INT64_MAX where its call has been ended. */
static int64_t pending_deadline(const struct rpc_call_watch *watch)
{
  if (rpc_call_ended_by(watch) != RPC_CALL_RETURNS)
    return INT64_MAX;
  return is_cancelled(watch) ? 0 : watch->deadline_ms;
}

/* Visits the call of the worker, then the call that is nested in it, and so on. A visit of an inner call also
 * keeps the outer calls from ending. A cancelled message that is between two calls, or that another thread
 * visits, is checked again soon. */
int64_t rpc_call_find_deadline(void *context, struct rpc_worker *worker, int64_t since_ms,
                               struct rpc_call_end *end)
{
  enum { AGAIN_MS = 5 };
  struct rpc_call_watch *watch = &worker->watch;
  int64_t first_ms = INT64_MAX;
  end->cause = RPC_CALL_TIMED_OUT;
  end->call = watch->timed_call;
  end->level = 0;
  if (is_known(watch) && inner_of(watch) == NULL)
    return pending_deadline(watch);
  if (!begin_visit(watch))
    return inner_of(watch) == NULL ? INT64_MAX : clock_now_ms() + AGAIN_MS;
  for (uint32_t level = 0; watch != NULL; level++) {
    if (!is_known(watch))
      note_deadline(watch, context, since_ms);
    if (pending_deadline(watch) < first_ms) {
      first_ms = pending_deadline(watch);
      end->cause = is_cancelled(watch) ? RPC_CALL_CANCELLED : RPC_CALL_TIMED_OUT;
      end->call = watch->timed_call;
      end->level = level;
    }
    struct rpc_call_watch *inner = inner_of(watch);
    const bool is_visited = inner != NULL && begin_visit(inner);
    const int64_t again_ms =
        inner != NULL && !is_visited && is_cancelled(inner) ? clock_now_ms() + AGAIN_MS : INT64_MAX;
    first_ms = again_ms < first_ms ? again_ms : first_ms;
    end_visit(watch);
    watch = is_visited ? inner : NULL;
  }
  return first_ms;
}

/* Visits the call at this level. NULL: there is no call, or another thread visits it. The caller visits
 * `outermost`. */
static struct rpc_call_watch *visit_level(struct rpc_call_watch *outermost, uint32_t level)
{
  struct rpc_call_watch *watch = outermost;
  for (; level > 0 && watch != NULL; level--) {
    struct rpc_call_watch *inner = inner_of(watch);
    const bool is_visited = inner != NULL && begin_visit(inner);
    if (watch != outermost)
      end_visit(watch);
    watch = is_visited ? inner : NULL;
  }
  return watch;
}

bool rpc_call_end_held(void *context, struct rpc_worker *held, struct rpc_call_end *end, char *name,
                       size_t size)
{
  (void)context;
  struct rpc_call_watch *outermost = &held->watch;
  struct rpc_call_watch *watch = visit_level(outermost, end->is_any ? 0 : end->level);
  outermost->meant = watch;
  if (watch == NULL)
    return false;
  const uint32_t call = atomic_load_explicit(&watch->calls, memory_order_relaxed);
  if (!end->is_any && end->call != call)
    return false;
  /* Two workers may have the same number of calls: only a nested call that is late itself times out. */
  if (!end->is_any && end->level > 0 && end->cause == RPC_CALL_TIMED_OUT &&
      (!is_known(watch) || watch->deadline_ms > clock_now_ms()))
    return false;
  if (!end->is_any && end->level > 0 && end->cause == RPC_CALL_CANCELLED) {
    if (!is_cancelled(watch))
      return false;
    watch->of_message = end->cause; /* the rest of a batch does not run */
  }
  if (end->is_any) {
    watch->of_message = end->cause;
    end->call = call;
    if (finishes(watch->operation, end->cause))
      return false;
  }
  if (size > 0)
    write_name(watch, name, size);
  if (rpc_call_ended_by(watch) == RPC_CALL_RETURNS) {
    atomic_store_explicit(&watch->cause, end->cause, memory_order_relaxed);
    watch->is_marked = true;
    watch->interrupt = watch->is_elsewhere ? RPC_INTERRUPT_NONE : RPC_INTERRUPT_DUE;
  }
  return true;
}

void rpc_call_interrupt(void *context, struct rpc_worker *own, struct rpc_worker *held)
{
  (void)context;
  struct rpc_call_watch *watch = held->watch.meant;
  if (watch->interrupt != RPC_INTERRUPT_DUE || inner_of(watch) != NULL)
    return;
  jvm_thread_interrupt(own->runner.thread, held->runner.thread);
  watch->interrupt = RPC_INTERRUPT_SENT;
  watch->interrupted_ms = clock_now_ms();
}

int64_t rpc_call_find_interrupt(void *context, struct rpc_worker *held, int64_t now_ms)
{
  (void)context;
  const struct rpc_call_watch *watch = &held->watch;
  const int64_t at_ms[] = {
      [RPC_INTERRUPT_NONE] = 0, [RPC_INTERRUPT_DUE] = now_ms, [RPC_INTERRUPT_SENT] = watch->interrupted_ms};
  return at_ms[watch->interrupt];
}

void rpc_call_release(void *context, struct rpc_worker *held)
{
  (void)context;
  struct rpc_call_watch *outermost = &held->watch;
  struct rpc_call_watch *meant = outermost->meant;
  outermost->meant = NULL;
  if (meant != NULL && meant != outermost)
    end_visit(meant);
  end_visit(outermost);
}
