#ifndef JPEER_RPC_JSONRPC_JSON_CODEC_H
#define JPEER_RPC_JSONRPC_JSON_CODEC_H
/*
 * What the JSON-RPC codec keeps for a peer and for each worker, and a message on its way: shared by json_codec.c (the
 * message), json_request.c (one request of it), json_answer.c (its answer) and the fast path. Not for other codecs.
 */
#include "jsonrpc/jsonrpc.h"
#include "rpc/jsonrpc/json_batch.h"
#include "rpc/jsonrpc/json_options.h"
#include "rpc/jsonrpc/json_outcome.h"
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

struct json_limits rpc_jsonrpc_limits(const struct rpc_peer *peer);

/* Answer each request of a message with an error, without a worker: rpc_callback_form.refuse_nested and
 * refuse_faulty. */
enum rpc_served rpc_jsonrpc_refuse_nested(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out);
enum rpc_served rpc_jsonrpc_refuse_faulty(const struct rpc_peer *peer, struct text message,
                                          struct buffer *out);

/* ---- a message ---- */

/* One message on its way. */
struct serving {
  /* As rpc_codec.serve is given it: */
  struct text message;
  struct rpc_peer *peer;
  struct rpc_worker *worker;
  struct rpc_jsonrpc_worker *own; /* of the worker */
  struct rpc_client *client;
  struct buffer *out;
  size_t reply_max;

  /* False for a message that the fast path answers, which needs nothing below. serving_begin fills it all; run.client and
   * run.runner are the client and the worker's runner from above. */
  bool has_begun;

  size_t start;       /* of the message's answer in out */
  bool found_invalid; /* the envelope, by jsonrpc */
  bool
      has_unread; /* a request has failed before its arguments were read (has_failed, !was_read): of the message */
  struct outcome_body stream; /* of RPC_STREAM */

  struct arena lasting; /* until the message ends; the runner's arena lasts for one request of a batch */
  struct batch_results *results; /* of the batch, whose requests name results of earlier ones; else NULL */

  struct unkept_results unkept;

  const struct jsonrpc_request *request;
  struct rpc_request_options options; /* of the request, where it has some */
  bool by_value;                      /* its result is plain JSON */
  bool was_read;                      /* all its arguments were, also of a request that fails then */
  bool has_failed;                    /* its answer is an error, */
  size_t error_at;                    /* the data of which begin there in out */
  const struct batch_result *cause;   /* the failed result that it names; else NULL */

  /* Of a request that rpc/fastpath/cached_requests.c has decoded, else NULL: */
  struct rpc_cached_request *cached; /* of a batch: what matched last */
  const struct operation *operation; /* what it means */
  const struct outcome *failed;      /* its outcome, where it was run already and failed; else NULL */
  struct serving_places *places;     /* filled when its answer is written */

  /* The request that is run. The last member, because serving_begin zeroes those before it from `start` on. */
  struct rpc_run run;
};
_Static_assert(sizeof(struct serving) - offsetof(struct serving, run) <
                   sizeof(struct rpc_run) + _Alignof(struct serving),
               "run is not the last member");

/* Where an answer has the parts that change from call to call, in bytes of the buffer. */
struct serving_places {
  struct resolved_member *member; /* of struct rpc_reached_member; NULL: other parts change, too */
  size_t id_at;
  struct rpc_number_place number;
};

/* Fills what the general path needs beside what rpc_codec.serve was given. */
void serving_begin(struct serving *serving);

/* True where the request does not want to be told what comes of it. */
static inline bool serving_is_unkept(const struct serving *serving)
{
  return serving->request->has_options && serving->options.is_unkept;
}

/* jsonrpc_service.handle, with a struct serving. */
void serving_handle_request(void *context, const struct jsonrpc_request *request,
                            struct jsonrpc_response *response);

/* Writes the result or the error of the request that is served. */
void serving_write_answer(struct serving *serving, struct jsonrpc_response *response,
                          const struct outcome *outcome);

/* Keeps what the request has come to for later ones of its batch that name it. serving_write_answer does that; it is
 * for answers that are written without it. */
void serving_note_result(struct serving *serving, const struct outcome *outcome);

/* Gives up the memory that a message needed, once its answer is written. */
void serving_free_memory(struct rpc_worker *worker);

#endif
