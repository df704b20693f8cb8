#ifndef JPEER_RPC_JSONRPC_JSON_CALLBACKS_H
#define JPEER_RPC_JSONRPC_JSON_CALLBACKS_H
/* The messages of callbacks in JSON-RPC (docs/callbacks.md). Constant; any thread. */
#include "rpc/callbacks/callback_form.h"

extern const struct rpc_callback_form rpc_jsonrpc_callbacks;

/* The number N of "cb-N", N as the peer writes it; 0: the text is another. */
uint64_t rpc_call_number_read(struct text t);

#endif
