#ifndef JPEER_RPC_JSONRPC_COERCE_H
#define JPEER_RPC_JSONRPC_COERCE_H
/*
 * Parameters as JSON-RPC 1.1 takes them (docs/jsonrpc-1.1.md, "Calls"): by
 * position, by name or both, null as not supplied, extra ones dropped, values brought near to what the
 * parameter wants. JSON-RPC 2.0 is strict and comes through none of this.
 *
 * Any thread; what is made lives in the arena.
 */
#include "base/arena.h"
#include "op/outcome.h"
#include "rpc/jsonrpc/procedures.h"
#include "json/object_members.h"

/*
 * Text becomes a number or a boolean, a number or a boolean becomes text, true and false become 1 and 0 and
 * back, one value becomes an array of one. What fits already, and what cannot be made to fit, stays as it is.
 * JP_NO_MEMORY.
 */
enum jp_status rpc_value_coerce(struct json_value value, enum rpc_wants wants, struct arena *arena,
                                struct json_value *near) JP_MUST_CHECK;

/*
 * Puts the params of a request (an array or an object) into the places of enum rpc_param. A parameter that is
 * given twice, by name or by position, is an error. Anything but JP_OK leaves an OUTCOME_ERROR in *outcome.
 */
enum jp_status rpc_params_coerce(const struct rpc_procedure *procedure, struct json_value params,
                                 struct arena *arena, struct json_members *members,
                                 struct outcome *outcome) JP_MUST_CHECK;

#endif
