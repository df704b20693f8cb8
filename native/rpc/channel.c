#include "rpc/channel.h"

_Static_assert(OP_CHANNELS == 3, "each channel needs its row below");

const struct rpc_channel rpc_channels[OP_CHANNELS] = {
    [OP_CHANNEL_WEBSOCKET] = {.span = RPC_SPAN_CONNECTION, .may_stream = true},
    [OP_CHANNEL_HTTP] = {.span = RPC_SPAN_MESSAGE, .may_stream = true},
    [OP_CHANNEL_ZMQ] = {.span = RPC_SPAN_TURN, .names_session_in_message = true},
};
