#ifndef JPEER_RPC_COLFER_BINARY_CODEC_H
#define JPEER_RPC_COLFER_BINARY_CODEC_H
/* The state that the codec of the binary messages keeps for each worker. For its files, the fast path and
 * tests. */
#include "rpc/colfer/binary_answer.h"
#include "rpc/peer_state.h"

struct known_messages;

struct rpc_colfer_worker {
  struct buffer scratch; /* for the JSON text of a value, and for metadata */
  struct rpc_colfer_ids ids;
  struct known_messages *known; /* rpc/colfer/known_messages.h; NULL: none is known yet */
};

static inline struct rpc_colfer_worker *rpc_colfer_worker(const struct rpc_worker *worker)
{
  return worker->codec_states[RPC_CODEC_COLFER];
}

#endif
