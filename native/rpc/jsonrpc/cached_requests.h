#ifndef JPEER_RPC_JSONRPC_CACHED_REQUESTS_H
#define JPEER_RPC_JSONRPC_CACHED_REQUESTS_H
/*
 * The functions of the fast path that this codec calls (rpc/fastpath/cached_requests.c). In a build without
 * JPEER_FASTPATH every request takes the general path, which is the code of this folder. Called on the
 * worker's own thread.
 */
#include "rpc/jsonrpc/json_codec.h"

#if JPEER_FASTPATH

/* Serves a message that is a cached request. False: the message is not a cached request, and nothing was
 * done. */
bool serving_serve_cached(struct serving *serving, enum rpc_served *served);

/* jsonrpc_service.match_cached and run_cached, with a struct serving. */
size_t serving_match_cached(void *context, struct text text);
enum jsonrpc_handled serving_run_cached(void *context);

/* Caches the current request. The request was decoded into the operation. */
void serving_cache_request(struct serving *serving, const struct operation *operation);

/* rpc_read_request.find_places, with a struct jsonrpc_request in which rpc_params_decode has found no
 * fault. */
struct rpc_value_places;
void rpc_find_value_places(const void *message, const struct operation *operation,
                           struct rpc_value_places *places);

#else

#define serving_match_cached NULL
#define serving_run_cached   NULL

static inline bool serving_serve_cached(struct serving *serving, enum rpc_served *served)
{
  (void)serving;
  (void)served;
  return false;
}

static inline void serving_cache_request(struct serving *serving, const struct operation *operation)
{
  (void)serving;
  (void)operation;
}

#endif

#endif
