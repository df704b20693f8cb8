#ifndef JPEER_PUBLIC_JSONRPC_JANSSON_H
#define JPEER_PUBLIC_JSONRPC_JANSSON_H
/*
 * libjpeer-jsonrpc with jansson's trees: params, results and data are json_t trees. Link
 * libjpeer-jsonrpc-jansson in addition to libjpeer-jsonrpc. Any thread.
 */
#include <jansson.h>
#include <jpeer/jsonrpc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For struct jp_jsonrpc_config. Values that jansson cannot represent (an integer beyond 64 bits) have no
 * tree. */
extern JP_API const struct jp_json_codec jp_jsonrpc_jansson;

/* Borrowed until the call ends; json_incref keeps it longer. */
static inline json_t *jp_jansson_params(struct jp_jsonrpc_call *call)
{
  return (json_t *)jp_jsonrpc_params_tree(call);
}

/* Takes ownership of result. */
static inline int jp_jansson_result(struct jp_jsonrpc_call *call, json_t *result)
{
  return jp_jsonrpc_result_tree(call, result);
}

/*
 * Handles a decoded message: a request, a notification or a batch. config NULL: the defaults; its codec is
 * ignored. message is borrowed. JP_JSONRPC_OK: *reply must be sent, and the caller owns it.
 * JP_JSONRPC_NO_REPLY, JP_JSONRPC_NO_MEMORY, JP_JSONRPC_INVALID (the message is NULL, or contains itself):
 * *reply is NULL.
 */
JP_API enum jp_jsonrpc_status jp_jansson_handle(const struct jp_jsonrpc_config *config, const json_t *message,
                                                jp_jsonrpc_handler *handler, void *context, json_t **reply);
/* The answer to a message that could not be decoded; the caller owns it. NULL: no memory. */
JP_API json_t *jp_jansson_parse_error(void);

#ifdef __cplusplus
}
#endif

#endif
