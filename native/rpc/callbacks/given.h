#ifndef JPEER_RPC_CALLBACKS_GIVEN_H
#define JPEER_RPC_CALLBACKS_GIVEN_H
/* The callbacks that a message gives, while it is served (rpc/callbacks/callbacks.h). Plain data of one
 * thread. */
#include <stddef.h>
#include <stdint.h>

struct rpc_given_id {
  int64_t id;
  uint64_t epoch; /* of the callbacks, when the ID was read */
  size_t found;   /* by rpc_callbacks_settle_partly: how often, in the first entry of an ID */
};

/*
 * The IDs that the message being served has given, one entry for each argument: an ID is not released while
 * an entry has it. Begins as zero; empty again after the settling, so that nothing has to be freed.
 */
struct rpc_given {
  struct rpc_given_id *ids;
  size_t count;
  size_t capacity;
};

#endif
