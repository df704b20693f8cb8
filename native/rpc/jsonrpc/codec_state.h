#ifndef JPEER_RPC_JSONRPC_CODEC_STATE_H
#define JPEER_RPC_JSONRPC_CODEC_STATE_H
/* What the JSON-RPC codec keeps for a peer and for each worker, and what its files share. Not for other
 * codecs. */
#include "jsonrpc/jsonrpc.h"
#include "rpc/peer_state.h"

extern const struct rpc_codec rpc_codec_jsonrpc;

struct openrpc;
struct java_methods_index;

struct rpc_jsonrpc_peer {
  struct openrpc *openrpc;
  struct java_methods_index *methods; /* of the application, that were called by their own names */
};

struct rpc_jsonrpc_worker {
  struct buffer scratch;         /* for text within text */
  struct rpc_fastpath *fastpath; /* rpc/fastpath/fastpath.h; NULL: nothing is kept yet */
};

static inline struct rpc_jsonrpc_peer *rpc_jsonrpc_peer(const struct rpc_peer *peer)
{
  return peer->codec_states[RPC_CODEC_JSONRPC];
}

static inline struct rpc_jsonrpc_worker *rpc_jsonrpc_worker(const struct rpc_worker *worker)
{
  return worker->codec_states[RPC_CODEC_JSONRPC];
}

/* serve.c: rpc_codec.serve */
enum rpc_served rpc_jsonrpc_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                  struct text message, struct buffer *out, size_t reply_max,
                                  struct rpc_stream *stream);

/* without_worker.c: the functions of rpc_codec that need none */
enum rpc_lane rpc_jsonrpc_lane(void *context, struct text message);
bool rpc_jsonrpc_serve_without_worker(void *context, struct text message, struct buffer *out,
                                      enum rpc_served *served);
bool rpc_jsonrpc_serve_beside(void *context, struct rpc_client *client, struct text message,
                              struct buffer *out);
enum rpc_served rpc_jsonrpc_refuse(void *context, struct text message, const char *reason,
                                   struct buffer *out);
/* Of a message that is meant for another epoch of its client's session. */
enum rpc_served rpc_jsonrpc_refuse_stale(const struct rpc_peer *peer, struct text message,
                                         struct buffer *out);
/* The same of rpc_callback_form. */
enum rpc_served rpc_jsonrpc_refuse_nested(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out);
enum rpc_served rpc_jsonrpc_refuse_faulty(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out);
void rpc_jsonrpc_reject(void *context, enum rpc_rejection rejection, struct text beginning,
                        const char *reason, struct buffer *out);

/* without_worker.c: an answer to malformed JSON as --compat pal gives it: with the id that can be made out.
 * fault: the byte. */
void rpc_jsonrpc_reject_malformed(struct text message, size_t fault, struct buffer *out);
/* without_worker.c: the data of an error with no throwable. */
void rpc_message_data_write(struct buffer *out, struct text message, struct text id, bool compat_pal);

enum rpc_served rpc_jsonrpc_served(enum jsonrpc_handled handled);
struct json_limits rpc_jsonrpc_limits(const struct rpc_peer *peer);

#endif
