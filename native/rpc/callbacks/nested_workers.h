#ifndef JPEER_RPC_CALLBACKS_NESTED_WORKERS_H
#define JPEER_RPC_CALLBACKS_NESTED_WORKERS_H
/*
 * Workers without a thread: a struct rpc_worker each, with a jvm_thread, an arena, caches and codec states of its own.
 * A thread borrows one for a stretch of C inside a call (arguments, answer) or for a nested request, so that nothing of
 * a request that is under way on the same thread is touched. The last one given back is lent first, because its caches
 * are warm.
 *
 * The pool keeps as many as there were in use at once, up to NESTED_WORKERS_KEPT; those above are destroyed when they
 * come back. Any thread; the lock is held for the list alone, and one worker lies handy without it.
 */
#include "base/buffer.h"
#include "rpc/peer_state.h"

struct nested_workers;

enum { NESTED_WORKERS_KEPT = 64 };

struct nested_worker {
  struct rpc_worker worker;
  struct buffer out;     /* for whoever has borrowed it; comes empty */
  struct buffer scratch; /* likewise */
  struct nested_worker *next;
};

enum jp_status nested_workers_create(struct rpc_peer *peer, struct nested_workers **pool) JP_MUST_CHECK;
/* When nobody borrows any more; one that is lent is left to the process's end. NULL is fine. */
void nested_workers_destroy(struct nested_workers *pool);

/* JP_NO_MEMORY. */
enum jp_status nested_workers_borrow(struct nested_workers *pool,
                                     struct nested_worker **worker) JP_MUST_CHECK;
/* Gives back the memory of its arena and its buffers. */
void nested_workers_return(struct nested_workers *pool, struct nested_worker *worker);

#endif
