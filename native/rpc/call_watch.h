#ifndef JPEER_RPC_CALL_WATCH_H
#define JPEER_RPC_CALL_WATCH_H
/*
 * What other threads can see of the call that a worker's thread is in: which member, for which client, and for how
 * long. The thread writes a few words for each call. A thread that wants to read them visits the call as
 * base/in_call.h says, so that the texts to which they point stay valid while it reads.
 *
 * A call that has lasted RPC_LONG_CALL_MS gives its thread a name, which the end of the call removes:
 * "rpc-3 session 17 java.lang.Thread.sleep". 17 is the client's number, which `control session` returns; a `peer-id`
 * would be a secret. A thread that Java code has named before keeps that name, and a name that Java code sets later
 * stays when the call ends. Threads of executors are not named.
 *
 * A call can be ended: its thread is interrupted, once, and the request is answered with an error that says why
 * (rpc_call_fail), whatever the call returns. The interrupt cannot hit another call:
 *   - Only a visitor interrupts, during its visit. The call cannot end during a visit (base/in_call.h), so
 *     Thread.interrupt has returned before the thread leaves the call.
 *   - The visitor first checks that it visits the call that it was asked to end. The crew compares the steps of the
 *     member, which differ for each message (net/workers/crew.h). rpc_call_interrupt compares the number of the call
 *     (`calls`), which differs for each request of a batch.
 *   - rpc_call_end_visited clears the interrupt flag before the thread continues, even if the thread is pinned and
 *     otherwise keeps its flag from one call to the next. No flag that the peer has set reaches the next request.
 *   - A request that is nested in a callback runs on the same thread, inside the visited call. While one runs
 *     (`nested`, under the lock), the interrupt is delayed (RPC_INTERRUPT_DUE), and a flag that was set just before
 *     is cleared; the thread interrupts itself when the nested request has ended.
 * The thread of an executor is never interrupted: its caller's call ends when the executor has run the request.
 */
#include "base/in_call.h"
#include "jni/thread_names.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/run.h"
#include "rpc/service.h"

#include <pthread.h>

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

  /* Written by the thread and kept from one call to the next; a visitor reads these fields: */
  const struct operation *operation;
  const struct rpc_reached_member *reached; /* valid when is_reached is set */
  _Atomic bool is_reached;                  /* *reached is written, and does not change */
  bool is_elsewhere;                        /* the call runs on an executor's thread */
  uint64_t client;                          /* the client's number */
  _Atomic uint32_t calls;                   /* calls that the thread has begun; wraps around */

  struct jvm_given_name given; /* a visitor's, during a visit; else the thread's */
  bool is_marked; /* likewise: a visitor has set a name or an interrupt, which the end of the call undoes */
  _Atomic enum rpc_call_cause cause; /* why the call is ended; written once, by a visitor */
  enum rpc_call_cause
      of_message; /* likewise, for all calls of the message; the thread clears it for the next message */
  enum rpc_call_interrupt interrupt; /* under the lock */
  unsigned nested;                   /* depth of the nested requests that run in the call; under the lock */
  char own_name[RPC_WORKER_NAME_MAX];

  /* Used by the watcher only: */
  uint32_t seen_calls;
  int64_t seen_ms;   /* when it first saw this count */
  bool was_reported; /* the watcher has reported that this call wants a name */
  bool is_timed;     /* the next four fields are about the call timed_call */
  uint32_t timed_call;
  int64_t timed_since_ms;
  int64_t deadline_ms;
};

void rpc_call_watch_init(struct rpc_call_watch *watch, const char *own_name);
void rpc_call_watch_fini(struct rpc_call_watch *watch);

/* Around each call of a member. watch NULL: the call is not watched. *reached may be written until
 * rpc_call_reach. reached and operation are borrowed until the end of the call. */
static inline void rpc_call_begin(struct rpc_call_watch *watch, const struct operation *operation,
                                  const struct rpc_reached_member *reached, uint64_t client,
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
/* *reached is written. On the thread that runs the call. */
static inline void rpc_call_reach(struct rpc_call_watch *watch)
{
  if (watch != NULL)
    atomic_store_explicit(&watch->is_reached, true, memory_order_release);
}
/* Waits for a visitor to leave, and undoes what visitors have set: a name, an interrupt. thread: the
 * worker's. */
enum rpc_call_cause rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread);
/* Anything but RPC_CALL_RETURNS: the call was ended, its result is dropped, and rpc_call_fail makes the
 * error. */
static inline enum rpc_call_cause rpc_call_end(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  if (watch == NULL || (in_call_end(&watch->word) && !watch->is_marked))
    return RPC_CALL_RETURNS;
  return rpc_call_end_visited(watch, thread);
}
/* On the thread, during the call: why the call was ended, if it was. */
static inline enum rpc_call_cause rpc_call_ended_by(const struct rpc_call_watch *watch)
{
  return watch == NULL ? RPC_CALL_RETURNS : atomic_load_explicit(&watch->cause, memory_order_relaxed);
}
/* Makes *outcome the error of a call that was ended. */
void rpc_call_fail(enum rpc_call_cause cause, struct arena *arena, struct outcome *outcome);

/* Around each request that is nested in a callback, on the thread of the call, without an exception pending. */
void rpc_call_begin_nested(struct rpc_call_watch *watch, struct jvm_thread *thread);
void rpc_call_end_nested(struct rpc_call_watch *watch, struct jvm_thread *thread);

/* rpc_service.write_call_name, wants_name, hold_call, name_call, find_deadline and interrupt_call. */
bool rpc_call_write_name(void *context, struct rpc_worker *worker, char *name, size_t size);
bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms);
bool rpc_call_hold(void *context, struct rpc_worker *worker);
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held);
int64_t rpc_call_find_deadline(void *context, struct rpc_worker *worker, int64_t since_ms, int64_t now_ms,
                               uint32_t *call);
bool rpc_call_interrupt(void *context, struct rpc_worker *own, struct rpc_worker *held,
                        const struct rpc_call_end *end);

#endif
