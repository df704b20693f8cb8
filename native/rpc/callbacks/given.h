#ifndef JPEER_RPC_CALLBACKS_GIVEN_H
#define JPEER_RPC_CALLBACKS_GIVEN_H
/* The callbacks that a message gives, while the message is served (rpc/callbacks/callbacks.h). Plain data;
 * only the thread that serves the message uses it. */
#include <stddef.h>
#include <stdint.h>

struct rpc_given_id {
  int64_t id;
  uint64_t epoch; /* rpc_process.epoch when the ID was read */
  /* in the first entry of an ID: how often rpc_callbacks_settle_partly has found the ID in the message */
  size_t found;
};

/*
 * The IDs that the message being served has given, one entry for each argument. An ID is not released while
 * it is in an entry. Begins as zero. After rpc_callbacks_settle the list is empty again, and nothing has to
 * be freed.
 */
struct rpc_given {
  struct rpc_given_id *ids;
  size_t count;
  size_t capacity;
};

#endif
