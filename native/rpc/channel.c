#include "rpc/channel.h"

/* rpc/authorize.c packs a channel into four bits of a question about names, and into three of a guard's stamp. */
_Static_assert(OP_CHANNELS <= 8, "a channel no longer fits beside a policy's generation (rpc/authorize.c)");
_Static_assert(OP_CHANNELS == 3, "each channel needs its row below");

const struct rpc_channel rpc_channels[OP_CHANNELS] = {
    [OP_CHANNEL_WEBSOCKET] = {.policy = POLICY_WEBSOCKET, .span = RPC_SPAN_CONNECTION, .may_stream = true},
    [OP_CHANNEL_HTTP] = {.policy = POLICY_HTTP, .span = RPC_SPAN_MESSAGE, .may_stream = true},
    [OP_CHANNEL_ZMQ] = {.policy = POLICY_ZMQ, .span = RPC_SPAN_TURN, .names_session_in_message = true},
};
