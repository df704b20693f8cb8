#ifndef JPEER_RPC_COLFER_CODEC_STATE_H
#define JPEER_RPC_COLFER_CODEC_STATE_H
/* What the codec of the binary messages keeps for each worker, and what its files share. Not for other codecs. */
#include "rpc/colfer/params.h"
#include "rpc/peer_state.h"

struct known_messages;

/* The ids of a worker's answers: a random UUID whose last twelve digits count. */
struct rpc_colfer_ids {
  char text[UUID_TEXT_LENGTH + 1];
};

struct rpc_colfer_worker {
  struct buffer scratch; /* for the JSON text of a value, and for metadata */
  struct rpc_colfer_ids ids;
  struct known_messages *known; /* rpc/colfer/known_messages.h; NULL: nothing is kept yet */
};

static inline struct rpc_colfer_worker *rpc_colfer_worker(const struct rpc_worker *worker)
{
  return worker->codec_states[RPC_CODEC_COLFER];
}

void rpc_colfer_ids_init(struct rpc_colfer_ids *ids);
/* Borrowed: until the next one. */
struct text rpc_colfer_ids_next(struct rpc_colfer_ids *ids);

struct rpc_colfer_rules rpc_colfer_rules(const struct rpc_peer *peer);

/* serve.c: rpc_codec.serve */
enum rpc_served rpc_colfer_serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                                 struct text message, struct buffer *out, size_t reply_max,
                                 struct rpc_stream *stream);
/* serve.c: the session that a request names; false: it names none. JP_INVALID leaves an OUTCOME_ERROR. */
enum jp_status rpc_colfer_session_read(const struct rpc_colfer_request *request, struct arena *arena,
                                       bool *is_named, struct uuid *session,
                                       struct outcome *outcome) JP_MUST_CHECK;

/* without_worker.c: the functions of rpc_codec that need none */
enum rpc_lane rpc_colfer_lane(void *context, struct text message);
bool rpc_colfer_serve_without_worker(void *context, struct text message, struct buffer *out,
                                     enum rpc_served *served);
enum rpc_served rpc_colfer_refuse(void *context, struct text message, const char *reason, struct buffer *out);
void rpc_colfer_reject(void *context, enum rpc_rejection rejection, struct text beginning, const char *reason,
                       struct buffer *out);

#endif
