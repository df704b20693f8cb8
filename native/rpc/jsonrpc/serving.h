#ifndef JPEER_RPC_JSONRPC_SERVING_H
#define JPEER_RPC_JSONRPC_SERVING_H
/*
 * What serve.c (a message), request.c (one request of it) and answer.c (its answer) share. Not for others.
 */
#include "rpc/jsonrpc/codec_state.h"
#include "rpc/jsonrpc/json_outcome.h"

/* One message on its way. */
struct serving {
  struct text message;
  struct rpc_peer *peer;
  struct rpc_worker *worker;
  struct rpc_jsonrpc_worker *own; /* of the worker */
  struct buffer *out;
  const struct jsonrpc_service *service;
  size_t start; /* of the message's answer in out */
  size_t reply_max;
  bool found_invalid;         /* the envelope, by jsonrpc */
  struct outcome_body stream; /* of RPC_STREAM */

  struct rpc_run run; /* the request that is run */
  const struct jsonrpc_request *request;
  struct rpc_shape *shape; /* that it repeats; NULL: none */
  bool has_failed;         /* on the brief way: the outcome tells how, and its request is not ended */
  struct outcome outcome;  /* of an operation that was run */
  bool by_value;           /* its result is plain JSON */
};

/* jsonrpc_service.handle, with a struct serving. */
void serving_handle_request(void *context, const struct jsonrpc_request *request,
                            struct jsonrpc_response *response);

/* Writes the result or the error of the request in hand. */
void serving_write_answer(struct serving *serving, struct jsonrpc_response *response,
                          const struct outcome *outcome);

/* A message with rules of its own is read in full each time. */
bool serving_may_repeat(const struct serving *serving);

#endif
