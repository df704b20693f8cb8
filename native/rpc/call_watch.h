#ifndef JPEER_RPC_CALL_WATCH_H
#define JPEER_RPC_CALL_WATCH_H
/*
 * What other threads may see of the call of a member that a worker's thread is in: which member, for which client, and
 * whether it lasts. The thread writes a few words for each call; whoever wants to read them visits the call as
 * base/in_call.h says, so that the texts behind them stay while it reads.
 *
 * A call that has lasted RPC_LONG_CALL_MS gives its thread a name, which the end of the call takes back:
 *   "rpc-3 session 17 java.lang.Thread.sleep". 17 is the client's number, which `control session` tells it; a `peer-id` is
 * a secret. A thread that Java code has given another name keeps that, and a name that Java code gives it after the
 * peer has stays when the call ends. Threads of executors are not named.
 */
#include "base/in_call.h"
#include "jni/thread_names.h"
#include "op/operation.h"
#include "rpc/run.h"

#include <pthread.h>

struct rpc_worker;

enum { RPC_LONG_CALL_MS = 1000, RPC_WORKER_NAME_MAX = 32 };

/* Of a crew member's worker. */
struct rpc_call_watch {
  in_call_word word;
  pthread_mutex_t lock; /* a visitor holds it, and the thread that ends its call while one is there */

  /* The thread's, from one call to the next; a visitor reads them: */
  const struct operation *operation;
  const struct rpc_reached_member *reached; /* what *is_reached says */
  _Atomic bool is_reached;                  /* *reached is written, and stays */
  bool is_elsewhere;                        /* on an executor's thread */
  uint64_t client;                          /* its number */
  _Atomic uint32_t calls;                   /* that the thread has begun; it wraps around */

  struct jvm_given_name given; /* a visitor's, while it is there; else the thread's */
  char own_name[RPC_WORKER_NAME_MAX];

  /* The watcher's: */
  uint32_t seen_calls;
  int64_t seen_ms; /* when it first saw so many */
  bool was_told;   /* that this call wants a name */
};

void rpc_call_watch_init(struct rpc_call_watch *watch, const char *own_name);
void rpc_call_watch_fini(struct rpc_call_watch *watch);

/* Around each call of a member. watch may be NULL: nobody looks. reached: as it will be when *watch is told by
 * rpc_call_reach; borrowed, as the operation is, until the end. */
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
/* Waits for a visitor, and takes a given name back. thread: the worker's. */
void rpc_call_end_visited(struct rpc_call_watch *watch, struct jvm_thread *thread);
static inline void rpc_call_end(struct rpc_call_watch *watch, struct jvm_thread *thread)
{
  if (watch != NULL && (!in_call_end(&watch->word) || watch->given.name != NULL))
    rpc_call_end_visited(watch, thread);
}

/* rpc_service.tell_call, wants_name, hold_call and name_call. */
bool rpc_call_tell(void *context, struct rpc_worker *worker, char *name, size_t size);
bool rpc_call_wants_name(void *context, struct rpc_worker *worker, int64_t now_ms);
bool rpc_call_hold(void *context, struct rpc_worker *worker);
void rpc_call_name(void *context, struct rpc_worker *own, struct rpc_worker *held);

#endif
