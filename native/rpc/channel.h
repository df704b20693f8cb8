#ifndef JPEER_RPC_CHANNEL_H
#define JPEER_RPC_CHANNEL_H
/*
 * The table of channels. A channel is a way in which messages arrive, and its row has the facts that the core
 * needs. A transport that operators may forbid has its own channel: a constant of enum op_channel and a row
 * here. Other transports share a channel. Constant data; any thread.
 */
#include "op/operation.h"

#include <stdbool.h>

/* How long a client of the channel lives. */
enum rpc_client_span {
  /* a connection, which holds the session that it names from its start, so that no TTL ends that session */
  RPC_SPAN_CONNECTION,
  RPC_SPAN_MESSAGE, /* one message: if it names no session, its session lasts for this message only */
  RPC_SPAN_TURN     /* some messages of one sender, whose name is the name of the session */
};

struct rpc_channel {
  enum rpc_client_span span;
  bool names_session_in_message; /* a message may name the session of its request (`peer-id`) */
  bool may_stream;               /* an answer of unknown length may be sent */
};

extern const struct rpc_channel rpc_channels[OP_CHANNELS];

#endif
