#ifndef JPEER_RPC_JSONRPC_UNKEPT_RESULTS_H
#define JPEER_RPC_JSONRPC_UNKEPT_RESULTS_H
/*
 * Results that nobody is told, because their requests asked for it ("keep": false): steps of a chain in a batch, which
 * later requests may use. With the message they count as not told, so that an object stays only where another answer
 * has told of it.
 *
 * One message's, on the thread of that message.
 */
#include "rpc/run.h"

struct unkept_object;

/* Begins as zero. */
struct unkept_results {
  struct unkept_object *items;
  size_t count;
  size_t capacity;
};

/* Takes the notes of what the result of the request in hand would tell. Without memory the objects stay in the
 * session. */
void unkept_results_note(struct unkept_results *unkept, struct rpc_run *run);

/* At the end of the message, also for what was noted. */
void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run);

#endif
