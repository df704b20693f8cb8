#ifndef JPEER_PUBLIC_JSONRPC_JANSSON_H
#define JPEER_PUBLIC_JSONRPC_JANSSON_H
/*
 * libjpeer-jsonrpc with jansson's trees: params come as a json_t *, results and data go as one. Link
 * libjpeer-jsonrpc-jansson beside libjpeer-jsonrpc. Any thread.
 */
#include <jansson.h>
#include <jpeer/jsonrpc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For struct jp_jsonrpc_config. What jansson cannot hold (an integer beyond 64 bits) makes no tree. */
extern JP_API const struct jp_json_codec jp_jsonrpc_jansson;

/* Borrowed for as long as the call; a handler that keeps it takes a reference of its own. */
static inline json_t *jp_jansson_params(struct jp_jsonrpc_call *call)
{
  return (json_t *)jp_jsonrpc_params_tree(call);
}

/* Takes result. */
static inline int jp_jansson_result(struct jp_jsonrpc_call *call, json_t *result)
{
  return jp_jsonrpc_result_tree(call, result);
}

/*
 * Handles a message that was decoded already: a request, a notification or a batch. config NULL: the
 * standard; its codec is not looked at. message is borrowed. JP_JSONRPC_OK: *reply is to be sent, a reference
 * of the caller's. JP_JSONRPC_NO_REPLY, JP_JSONRPC_NO_MEMORY, JP_JSONRPC_INVALID (the message is NULL, or
 * holds itself): *reply is NULL.
 */
JP_API enum jp_jsonrpc_status jp_jansson_handle(const struct jp_jsonrpc_config *config, const json_t *message,
                                                jp_jsonrpc_handler *handler, void *context, json_t **reply);
/* The answer to a message that could not be decoded: a reference of the caller's. NULL: no memory. */
JP_API json_t *jp_jansson_parse_error(void);

#ifdef __cplusplus
}
#endif

#endif
