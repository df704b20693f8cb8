#ifndef JPEER_RPC_JSONRPC_JSON_PARAMS_H
#define JPEER_RPC_JSONRPC_JSON_PARAMS_H
/*
 * Decodes a JSON-RPC request into a struct operation: the six methods, the required members of each, and all
 * error texts that callers match (docs/protocol.md, "new, call, get, put", "control", "meta" and "Errors").
 * In JSON-RPC 1.1 and HTTP GET, arguments may also be given by position, and are coerced
 * (rpc/methods/procedures.h). Any thread; the operation borrows from the message and from the arena.
 */
#include "base/arena.h"
#include "jsonrpc/jsonrpc.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/methods/procedures.h"
#include "rpc/values/value_read.h"

/* Each status except JP_OK leaves an OUTCOME_ERROR in *outcome. With compat_pal, an answer that is an array
 * of objects also has the refs of its elements, and operation->type is set whenever the type could be
 * read. */
enum jp_status rpc_params_decode(const struct jsonrpc_request *request, const struct rpc_value_rules *rules,
                                 struct arena *arena, struct operation *operation,
                                 struct outcome *outcome) JP_MUST_CHECK;

/* True if params, an object, lack this member and have an unknown member with a similar name, because the
 * caller may have meant the missing member (docs/protocol.md, "Errors"). Called only for requests that fail
 * or that have no type. */
bool rpc_has_near_param(struct json_value params, enum rpc_param missing);

/* If rpc_has_near_param is true, appends ` ("arg": did you mean "args"?)` to the message of an error. */
void rpc_hint_param(struct json_value params, enum rpc_param missing, struct arena *arena,
                    struct outcome *outcome);

/* Returns the id of a request, as written, in a canonical form: a string as json_write_string writes it.
 * Borrowed from the id or the arena; data NULL: memory is short. */
struct text rpc_request_id_read(struct text id, struct arena *arena);

#endif
