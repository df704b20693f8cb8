#ifndef JPEER_RPC_CALL_WATCH_H
#define JPEER_RPC_CALL_WATCH_H
/*
 * Shows other threads the call that a worker's thread is in: the member, the client, and the time. The
 * worker's thread writes a few words for each call. A thread that wants to read these words visits the call
 * (base/in_call.h), so that the texts to which the words point remain valid during the visit. Such a thread
 * is a visitor.
 *
 * A call that has lasted RPC_LONG_CALL_MS gives its thread a name, which the end of the call removes:
 * "rpc-3 session 17 java.lang.Thread.sleep". 17 is the client's number, which `control session` returns; a `peer-id`
 * would be a secret. A thread that Java code has named earlier keeps its name. A name that Java code sets
 * during the call is kept when the call ends. Threads of executors are not named.
 *
 * A call can be ended: its thread is interrupted once, and the request is answered with an error that says
 * why (rpc_call_fail), even if the call returns a result. The interrupt cannot hit another call:
 *   - Only a visitor interrupts, during its visit. The call cannot end during a visit (base/in_call.h), so
 *     Thread.interrupt has returned before the thread leaves the call.
 *   - The visitor first checks that it visits the call that it was asked to end. The crew compares the steps of the
 *     member, which differ for each message (net/workers/crew.h). rpc_call_end_held compares the number of the call
 *     (`calls`), which differs for each request of a batch.
 *   - rpc_call_end_visited clears the interrupt flag before the thread continues, even if the thread is pinned and
 *     otherwise keeps its flag from one call to the next. No flag that the peer has set reaches the next request.
 *   - A request that is nested in a callback runs on the same thread, inside the visited call. While a nested
 *     request runs (`inner`, under the lock), the interrupt of the outer call is delayed (RPC_INTERRUPT_DUE).
 *     An interrupt flag that was set just before is cleared. When the nested request has ended, the thread
 *     interrupts itself. A nested request has a watch of its own, which is found from the watch of the call
 *     around it, and a timeout of its own. All rules above apply to it, too. A nested message is cancelled by
 *     a cause that belongs to the message (`of_nested`), so the cancel cannot hit another message that runs
 *     in the same watch later. The thread of an executor is never interrupted. The call that waits for the
 *     executor ends when the executor has run the request.
 */
#include "base/in_call.h"
#include "jni/thread_names.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/run.h"
#include "rpc/service.h"

#include <pthread.h>

struct rpc_client;
struct rpc_worker;

enum { RPC_LONG_CALL_MS = 1000, RPC_WORKER_NAME_MAX = 32 };

enum rpc_call_interrupt {
  RPC_INTERRUPT_NONE,
  RPC_INTERRUPT_DUE, /* the thread is interrupted when the nested request has ended */
  RPC_INTERRUPT_SENT /* the thread was interrupted, and is not interrupted again */
};

/* For the worker of a crew member. */
struct rpc_call_watch {
  in_call_word word;
  pthread_mutex_t lock; /* held by a visitor, and by a thread that ends its call during a visit */

  /* The worker's thread writes these fields, and they remain until its next call. A visitor reads them: */
  const struct operation *operation;
  const struct rpc_reached_member *reached; /* valid when is_reached is set */
  _Atomic bool is_reached;                  /* *reached is written, and does not change */
  bool is_elsewhere;                        /* the call runs on an executor's thread */
  const struct rpc_client *client;          /* valid during a visit */
  _Atomic uint32_t calls;                   /* calls that the thread has begun; wraps around */

  struct jvm_given_name given; /* used by the visitor during a visit; otherwise by the worker's thread */
  /* a visitor has set a name or an interrupt, which the end of the call undoes. Used by the same threads as
   * `given` */
  bool is_marked;
  _Atomic enum rpc_call_cause cause; /* why the call is ended; written once, by a visitor */
  enum rpc_call_cause
      /* why all calls of the message are ended; written once, by a visitor. The worker's thread clears it for
       * the next message */
      of_message;
  enum rpc_call_interrupt interrupt; /* under the lock */
  int64_t interrupted_ms;            /* when the interrupt was sent (clock_now_ms); under the lock */
  /* The watch of the nested request that runs now; NULL: none. Changed under the lock. */
  struct rpc_call_watch *_Atomic inner;
  struct rpc_call_watch
      /* used by the visitor from rpc_call_end_held to rpc_call_release: the watch of the call to be ended,
       * which is this watch or an inner watch */
      *meant;
  const _Atomic int64_t
      *arrived_ns; /* when the message was received (clock_now_ns), 0: unknown; NULL: unknown */
  _Atomic int64_t own_arrived_ns; /* the target of arrived_ns of a nested request */
  /* For a nested message, from rpc_call_begin_nested to rpc_call_end_nested: the reason to end it, if there
   * is one. NULL: the watch does not belong to a nested message. Changed under the lock of the watch of the
   * call around it. */
  const _Atomic enum rpc_call_cause *of_nested;
  char own_name[RPC_WORKER_NAME_MAX];

  /* The watcher writes the next six fields, and the last three of them only in a visit, because interrupters
   * read them. Of a nested request it writes all in a visit. */
  uint32_t seen_calls;
  int64_t seen_ms;   /* when the watcher first saw this count */
  bool was_reported; /* the watcher has reported that this call wants a name */
  bool is_timed;     /* the next two fields are valid: deadline_ms is the deadline of the call timed_call */
  uint32_t timed_call;
  int64_t deadline_ms;

  /* Used as `given` is: the number of the audit's line at the start of the call; 0: none. */
  uint64_t started;
};

void rpc_call_watch_init(struct rpc_call_watch *watch, const char *own_name);
void rpc_call_watch_fini(struct rpc_call_watch *watch);

/* Called before each call of a member. watch NULL: the call is not watched. *reached may be written until
 * rpc_call_reach. reached, operation and client are borrowed until the end of the call. */
static inline void rpc_call_begin(struct rpc_call_watch *watch, const struct operation *operation,
                                  const struct rpc_reached_member *reached, const struct rpc_client *client,
                                  bool is_elsewhere)
{
  if (watch == NULL)
    return;
  watch->operation = operation;
  watch->reached = reached;
  watch->client = client;
  watch->is_elsewhere = is_elsewhere;
  atomic_store_explicit(&watch->is_reached, false, memory_order_relaxed);
  atomic_store_explicit(&watch->calls, atomic_load_explicit(&watch->calls, memory_order_relaxed) + 1,
                        memory_order_relaxed);
  in_call_begin(&watch->word);
}
/* Called when *reached is complete, on the thread that runs the call. */
static inline void rpc_call_reach(struct rpc_call_watch *watch)
{
  if (watch != NULL)
    atomic_store_explicit(&watch->is_reached, true, memory_order_release);
}
/* Waits until no visitor is in the call, and undoes the name and the interrupt that visitors have set.
 * thread: the worker's thread. */
enum rpc_call_cause rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread);
/* Called after each call of a member. Returns why the call was ended. If the result is not RPC_CALL_RETURNS,
 * the caller drops the call's result and makes the error with rpc_call_fail. */
static inline enum rpc_call_cause rpc_call_end(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  if (watch == NULL || (in_call_end(&watch->word) && !watch->is_marked))
    return RPC_CALL_RETURNS;
  return rpc_call_end_visited(watch, thread);
}
/* Called on the worker's thread, during the call. Returns why the call was ended; RPC_CALL_RETURNS: it was
 * not ended. */
static inline enum rpc_call_cause rpc_call_ended_by(const struct rpc_call_watch *watch)
{
  return watch == NULL ? RPC_CALL_RETURNS : atomic_load_explicit(&watch->cause, memory_order_relaxed);
}
/* Makes *outcome the error of a call that was ended. */
void rpc_call_fail(enum rpc_call_cause cause, struct arena *arena, struct outcome *outcome);

/* Does the work of rpc_call_find_lateness, which calls this function only if the call may be late. */
enum rpc_call_cause rpc_call_find_late(const struct rpc_call_watch *watch, int64_t of_all_ms,
                                       const struct operation *operation);
/* Returns why the operation must not begin: its message was ended, or its timeout has passed while it waited.
 * RPC_CALL_RETURNS: the operation may begin. of_all_ms: --call-timeout. Called on the worker's thread. */
static inline enum rpc_call_cause rpc_call_find_lateness(const struct rpc_call_watch *watch,
                                                         int64_t of_all_ms, const struct operation *operation)
{
  if (watch == NULL ||
      (watch->of_message == RPC_CALL_RETURNS && of_all_ms == 0 && operation->timeout_ms == 0))
    return RPC_CALL_RETURNS;
  return rpc_call_find_late(watch, of_all_ms, operation);
}

/* Called before and after each request that is nested in a callback, on the thread of the call, with no
 * exception pending. own: the watch of the thread's worker. inner: the watch of the nested request, in use
 * until rpc_call_end_nested. arrived_ns and of_nested have the same meaning as in the struct. Any thread may
 * change *of_nested until rpc_call_end_nested. */
void rpc_call_begin_nested(struct rpc_call_watch *own, struct rpc_call_watch *inner,
                           struct jvm_thread *thread, int64_t arrived_ns,
                           const _Atomic enum rpc_call_cause *of_nested);
void rpc_call_end_nested(struct rpc_call_watch *own, struct jvm_thread *thread);

/* rpc_service.hold_call */
bool rpc_call_hold(void *context, struct rpc_worker *worker);
/* Appends the held call to the list as a JSON object, and releases the call. by: the worker of the calling
 * thread, which may be the call's own thread. */
void rpc_call_list(struct rpc_worker *held, struct jvm_thread *by, uint64_t number, struct arena *arena,
                   struct buffer *list);
/* The same as rpc_call_list, for a call that cannot be held because it is being ended. */
void rpc_call_list_unheld(const struct rpc_worker *worker, uint64_t number, struct buffer *list);

/* rpc_service.write_call_name, wants_name, name_call, find_deadline, end_call, interrupt_call, find_interrupt and
 * release_call. */
bool rpc_call_write_name(void *context, struct rpc_worker *worker, char *name, size_t size);
bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms);
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held);
int64_t rpc_call_find_deadline(void *context, struct rpc_worker *worker, int64_t since_ms,
                               struct rpc_call_end *end);
bool rpc_call_end_held(void *context, struct rpc_worker *held, struct rpc_call_end *end, char *name,
                       size_t size);
void rpc_call_interrupt(void *context, struct rpc_worker *own, struct rpc_worker *held);
int64_t rpc_call_find_interrupt(void *context, struct rpc_worker *held, int64_t now_ms);
void rpc_call_release(void *context, struct rpc_worker *held);

#endif
