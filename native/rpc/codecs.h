#ifndef JPEER_RPC_CODECS_H
#define JPEER_RPC_CODECS_H
/*
 * The table of codecs. A new one is a folder (rpc/NAME, with a `const struct rpc_codec rpc_codec_NAME`) and
 * a row here; nothing else of the core or of the transports changes.
 */
#include "rpc/codec.h"

/* ROW(ID, name) */
#define RPC_CODEC_TABLE(ROW)                                                                                 \
  ROW(JSONRPC, jsonrpc)                                                                                      \
  ROW(COLFER, colfer)

#define RPC_CODEC_ID(id, name) RPC_CODEC_##id,
enum rpc_codec_id { RPC_CODEC_TABLE(RPC_CODEC_ID) RPC_CODECS };
#undef RPC_CODEC_ID

/* The peer's codecs, by enum rpc_codec_id. */
extern const struct rpc_codec *const rpc_codecs[RPC_CODECS];

/* Whose message it is, for a transport that carries several forms. codecs: as rpc_codecs; a service that lacks one has
 * NULL in its place. */
static inline const struct rpc_codec *rpc_codec_of(const struct rpc_codec *const *codecs, struct text message)
{
  const struct rpc_codec *other = NULL;
  for (size_t i = 0; i < RPC_CODECS; i++) {
    if (codecs[i] == NULL)
      continue;
    if (codecs[i]->recognizes == NULL)
      other = codecs[i];
    else if (codecs[i]->recognizes(message))
      return codecs[i];
  }
  return other;
}

#endif
