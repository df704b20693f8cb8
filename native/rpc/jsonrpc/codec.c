/* JSON-RPC as a codec: its functions, and its state for the peer and for each worker. */
#include "rpc/describe/describe.h"
#include "rpc/describe/openrpc.h"
#include "rpc/jsonrpc/callback_messages.h"
#include "rpc/jsonrpc/codec_state.h"
#include "rpc/members/java_methods_index.h"

#include <stdlib.h>

/* ---- state ---- */

static void stop_codec(void *state)
{
  struct rpc_jsonrpc_peer *own = state;
  openrpc_destroy(own->openrpc);
  java_methods_index_destroy(own->methods);
  free(own);
}

static enum jp_status start_codec(struct rpc_peer *peer, void **state, struct jp_error *error)
{
  const struct openrpc_config config = {.uuid = peer->config.uuid,
                                        .name = peer->config.name,
                                        .version = peer->config.version,
                                        .addresses = peer->addresses,
                                        .catalog = peer->config.catalog,
                                        .compat_pal = peer->config.compat_pal};
  struct rpc_jsonrpc_peer *own = calloc(1, sizeof *own);
  if (own == NULL || (own->methods = java_methods_index_create()) == NULL) {
    free(own);
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  }
  enum jp_status status = openrpc_create(&config, &own->openrpc, error);
  if (status != JP_OK) {
    stop_codec(own);
    return status;
  }
  *state = own;
  return JP_OK;
}

static void *create_worker(void)
{
  struct rpc_jsonrpc_worker *own = calloc(1, sizeof *own);
  if (own != NULL)
    buffer_init(&own->scratch);
  return own;
}

static void destroy_worker(void *state)
{
  struct rpc_jsonrpc_worker *own = state;
  buffer_fini(&own->scratch);
  free(own->fastpath);
  free(own);
}

/* ---- HTTP ---- */

static struct text show_document(void *context)
{
  return openrpc_own_document(rpc_jsonrpc_peer(context)->openrpc);
}

static void write_help(void *context, struct buffer *out)
{
  const struct rpc_peer *peer = context;
  const struct rpc_service_facts facts = {peer->config.uuid, text_of(peer->config.name), peer->addresses,
                                          peer->config.compat_pal};
  rpc_help_write(out, &facts);
}

static const struct rpc_http_facts http = {
    .obeys_accept = jsonrpc_looks_like_1_1, .document = show_document, .write_help = write_help};

/* ---- */

enum rpc_served rpc_jsonrpc_served(enum jsonrpc_handled handled)
{
  static const enum rpc_served served[] = {
      [JSONRPC_REPLY] = RPC_REPLY,   [JSONRPC_NO_REPLY] = RPC_NO_REPLY, [JSONRPC_STREAM] = RPC_STREAM,
      [JSONRPC_FAILED] = RPC_FAILED, [JSONRPC_NOT_SAFE] = RPC_NOT_SAFE,
  };
  return served[handled];
}

struct json_limits rpc_jsonrpc_limits(const struct rpc_peer *peer)
{
  return (struct json_limits){.max_depth = peer->config.limits.max_depth};
}

const struct rpc_codec rpc_codec_jsonrpc = {.name = "JSON-RPC",
                                            .start = start_codec,
                                            .stop = stop_codec,
                                            .worker_create = create_worker,
                                            .worker_destroy = destroy_worker,
                                            .serve = rpc_jsonrpc_serve,
                                            .serve_without_worker = rpc_jsonrpc_serve_without_worker,
                                            .serve_beside = rpc_jsonrpc_serve_beside,
                                            .lane = rpc_jsonrpc_lane,
                                            .refuse = rpc_jsonrpc_refuse,
                                            .reject = rpc_jsonrpc_reject,
                                            .http = &http,
                                            .callbacks = &rpc_jsonrpc_callbacks};
