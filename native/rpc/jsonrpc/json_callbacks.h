#ifndef JPEER_RPC_JSONRPC_JSON_CALLBACKS_H
#define JPEER_RPC_JSONRPC_JSON_CALLBACKS_H
/* The messages of callbacks in JSON-RPC (docs/callbacks.md). Constant; any thread. */
#include "rpc/callbacks/callback_form.h"

extern const struct rpc_callback_form rpc_jsonrpc_callbacks;

/* Reads the number N of a text "cb-N" in the form that the peer writes. 0: the text has another form. */
uint64_t rpc_call_number_read(struct text t);

#endif
