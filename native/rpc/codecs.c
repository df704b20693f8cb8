#include "rpc/codecs.h"

#define DECLARE_CODEC(id, name) extern const struct rpc_codec rpc_codec_##name;
RPC_CODEC_TABLE(DECLARE_CODEC)

#define POINT_TO_CODEC(id, name) [RPC_CODEC_##id] = &rpc_codec_##name,
const struct rpc_codec *const rpc_codecs[RPC_CODECS] = {RPC_CODEC_TABLE(POINT_TO_CODEC)};
