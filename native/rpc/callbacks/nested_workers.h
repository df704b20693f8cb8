#ifndef JPEER_RPC_CALLBACKS_NESTED_WORKERS_H
#define JPEER_RPC_CALLBACKS_NESTED_WORKERS_H
/*
 * Workers that belong to no thread. Each is a struct rpc_worker with an arena, caches, codec states and a
 * struct jvm_thread of its own (data that the thread which uses the worker needs). A thread borrows a nested
 * worker while C code converts the arguments or the answer of a call, and while the thread serves a nested
 * request. This way the state of the outer request on the same thread is not changed. The worker that was
 * returned last is lent first, because its caches are warm.
 *
 * The pool keeps at most NESTED_WORKERS_KEPT workers, and destroys others when they are returned. Any thread.
 * The lock guards only the list; the worker that was returned last is not in the list, and is exchanged
 * without the lock.
 */
#include "base/buffer.h"
#include "rpc/peer_state.h"

struct nested_workers;

enum { NESTED_WORKERS_KEPT = 64 };

struct nested_worker {
  struct rpc_worker worker;
  struct buffer out;     /* for the thread that borrows the worker; empty at the begin */
  struct buffer scratch; /* for the same thread; empty at the begin */
  struct nested_worker *next;
};

enum jp_status nested_workers_create(struct rpc_peer *peer, struct nested_workers **pool) JP_MUST_CHECK;
/* Called when no thread will borrow a worker any more. A worker that is still lent is not freed. NULL is
 * fine. */
void nested_workers_destroy(struct nested_workers *pool);

/* JP_NO_MEMORY. */
enum jp_status nested_workers_borrow(struct nested_workers *pool,
                                     struct nested_worker **worker) JP_MUST_CHECK;
/* Returns a worker. Its arena keeps only the first chunk, and each of its two buffers at most 64 KiB. */
void nested_workers_return(struct nested_workers *pool, struct nested_worker *worker);

#endif
