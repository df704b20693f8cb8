#ifndef JPEER_RPC_CHANNEL_H
#define JPEER_RPC_CHANNEL_H
/*
 * The table of channels: what the core has to know of each way in which messages arrive. A transport that operators may
 * forbid adds a constant to enum op_channel and a row here; others share a channel. Constant data; any thread.
 */
#include "op/operation.h"

#include <stdbool.h>

/* How long a client of the channel lives. */
enum rpc_client_span {
  RPC_SPAN_CONNECTION, /* a connection: it holds the session that it names from the start, so that no TTL ends it */
  RPC_SPAN_MESSAGE, /* one message: without a session's name, its session is for this message alone */
  RPC_SPAN_TURN     /* some messages of one sender, whose name is the session's */
};

struct rpc_channel {
  enum rpc_client_span span;
  bool names_session_in_message; /* a message may name the session of its request itself (`peer-id`) */
  bool may_stream;               /* an answer may be sent whose length is not known */
};

extern const struct rpc_channel rpc_channels[OP_CHANNELS];

#endif
