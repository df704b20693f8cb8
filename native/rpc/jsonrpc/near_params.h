#ifndef JPEER_RPC_JSONRPC_NEAR_PARAMS_H
#define JPEER_RPC_JSONRPC_NEAR_PARAMS_H
/*
 * Finds the member of params that may have been meant for one that is missing (docs/protocol.md, "Errors"). Only failures
 * and requests without a type come here. Any thread.
 */
#include "op/outcome.h"
#include "rpc/jsonrpc/procedures.h"
#include "json/reader.h"

/* True where params, an object, has no such member and an unknown one that is near. */
bool rpc_has_near_param(struct json_value params, enum rpc_param missing);

/* Then adds ` ("arg": did you mean "args"?)` to the message of an error. */
void rpc_hint_param(struct json_value params, enum rpc_param missing, struct arena *arena,
                    struct outcome *outcome);

#endif
