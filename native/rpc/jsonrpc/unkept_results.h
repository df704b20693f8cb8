#ifndef JPEER_RPC_JSONRPC_UNKEPT_RESULTS_H
#define JPEER_RPC_JSONRPC_UNKEPT_RESULTS_H
/*
 * Objects that end with their message, because their requests asked for it ("keep": false): steps of a chain in a
 * batch, whose refs nobody is told. An object that another answer of the message tells of stays.
 *
 * One message's, in the arena and on the thread of that message.
 */
#include "rpc/run.h"

struct unkept_object;

struct unkept_objects {
  struct unkept_object *items;
  size_t count;
  size_t capacity;
};

/* Begins as zero. */
struct unkept_results {
  struct unkept_objects made;
  struct unkept_objects told; /* nothing is noted before something is in made */
};

/* Notes the objects that the request in hand has stored, which nobody will be told. Without memory they stay in the
 * session. */
void unkept_results_note(struct unkept_results *unkept, const struct rpc_run *run);

/* The answer to the request in hand tells of what is in the outcome. */
void unkept_results_tell(struct unkept_results *unkept, const struct rpc_run *run,
                         const struct outcome *outcome);

/* At the end of the message: lets go of the objects that no answer tells of. */
void unkept_results_drop(struct unkept_results *unkept, struct rpc_run *run);

#endif
