#ifndef JPEER_RPC_JSON_PARAMS_H
#define JPEER_RPC_JSON_PARAMS_H
/*
 * From a JSON-RPC request to a struct operation: the six methods, what each must have, and every text that
 * callers match (behaviour.md, "Errors"; object-rpc-reference, "Params Reference", "Input Validation").
 * Any thread; the operation lives in the message and in the arena.
 */
#include "base/arena.h"
#include "jsonrpc/jsonrpc.h"
#include "op/operation.h"
#include "op/outcome.h"

/* Anything but JP_OK leaves an OUTCOME_ERROR in *outcome. */
enum jp_status rpc_params_decode(const struct jsonrpc_request *request, struct arena *arena,
                                 struct operation *operation, struct outcome *outcome) JP_MUST_CHECK;

/* The arguments of fetch_classes_info (json_meta_params.c). args is an array. */
enum jp_status rpc_meta_args_decode(struct json_value args, struct arena *arena, struct operation *operation,
                                    struct outcome *outcome) JP_MUST_CHECK;

#endif
