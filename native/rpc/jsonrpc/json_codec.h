#ifndef JPEER_RPC_JSONRPC_JSON_CODEC_H
#define JPEER_RPC_JSONRPC_JSON_CODEC_H
/*
 * The state of the JSON-RPC codec for a peer and for each worker, and a message being served: shared by
 * json_codec.c (the message), json_request.c (one request of it), json_answer.c (its answer) and the fast
 * path. Private to them.
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
  struct java_methods_index *methods; /* the Java methods that clients have called by their own names */
};

struct rpc_jsonrpc_worker {
  struct buffer scratch;         /* for text within text */
  struct rpc_fastpath *fastpath; /* rpc/fastpath/fastpath.h; NULL: nothing is kept yet */
};

/* For GET /metrics: the method of a request that was not decoded. */
enum metrics_method rpc_jsonrpc_metrics_method(struct text method);

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
enum rpc_served rpc_jsonrpc_refuse_nested(struct rpc_peer *peer, const struct rpc_client *client,
                                          struct text message, struct buffer *out);
enum rpc_served rpc_jsonrpc_refuse_faulty(struct rpc_peer *peer, const struct rpc_client *client,
                                          struct text message, struct buffer *out);

/* ---- a message ---- */

/* A message being served. */
struct serving {
  /* The arguments of rpc_codec.serve: */
  struct text message;
  struct rpc_peer *peer;
  struct rpc_worker *worker;
  struct rpc_jsonrpc_worker *own; /* the codec's state of the worker */
  struct rpc_client *client;
  struct buffer *out;
  size_t reply_max;

  /* True if serving_begin has filled the fields below; run.client is then `client`, and run.runner is the
   * worker's runner. The fast path needs none of these fields, so this is false for a message that the fast
   * path answers. */
  bool has_begun;

  size_t start;       /* the offset in `out` at which the message's answer begins */
  bool found_invalid; /* set by jsonrpc: the envelope is invalid */
  /* a request of the message has failed before its arguments were read (has_failed, !was_read) */
  bool has_unread;
  struct outcome_body stream; /* of RPC_STREAM */

  /* valid until the message ends. The runner's arena is valid only for one request of a batch */
  struct arena lasting;
  /* the results of a batch whose requests name results of earlier requests; otherwise NULL */
  struct batch_results *results;

  struct unkept_results unkept;

  const struct jsonrpc_request *request;
  struct rpc_request_options options; /* of the request, if it has options */
  enum metrics_method method;         /* for GET /metrics */
  bool by_value;                      /* its result is plain JSON */
  bool was_read;                      /* all its arguments were read, even if the request fails later */
  bool has_failed;                    /* its answer is an error, */
  size_t error_at;                    /* whose data begin here in out */
  const struct batch_result *cause;   /* the failed result that it names; else NULL */
  /* For the audit alone: */
  const struct operation *asked; /* the operation that the request means; NULL: it was not read */
  int64_t begun_ns;

  /* Of a request that rpc/fastpath/cached_requests.c has decoded, else NULL: */
  /* the cached request; in a batch, the cached request that matched last */
  struct rpc_cached_request *cached;
  const struct operation *operation; /* the operation that the request means */
  /* the outcome of the operation, if the operation was run already and failed; else NULL */
  const struct outcome *failed;
  struct serving_places *places; /* filled when its answer is written */

  /* The request that is run. This must be the last member, because serving_begin zeroes only the members from
   * `start` up to this member. */
  struct rpc_run run;
};
_Static_assert(sizeof(struct serving) - offsetof(struct serving, run) <
                   sizeof(struct rpc_run) + _Alignof(struct serving),
               "run is not the last member");

/* The places in an answer that differ between calls, as offsets in the buffer. */
struct serving_places {
  struct resolved_member *member; /* of struct rpc_reached_member; NULL: other parts differ, too */
  size_t id_at;
  struct rpc_number_place number;
};

/* Counts the request that is served, when its outcome is known: once for each request. */
static inline void serving_count(const struct serving *serving, enum metrics_outcome outcome)
{
  rpc_count_request(&serving->worker->runner, serving->method, outcome);
}

/* Initialises the fields that only the general path needs. */
void serving_begin(struct serving *serving);

/* True if the request wants no result ("keep": false). */
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

/* The end of a request, after its answer was written: notes its outcome for the audit, and for later requests of the batch,
 * which may name the result. serving_write_answer calls this function; other code that writes an answer must call it, too. */
void serving_note_end(struct serving *serving, const struct outcome *outcome);

/* Frees the memory that a large message has used, after its answer is written. */
void serving_free_memory(struct rpc_worker *worker);

#endif
