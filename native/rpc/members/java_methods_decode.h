#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_DECODE_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_DECODE_H
/*
 * A request whose method is a Java member's own name ("com.example.Calculator.add") as an operation
 * (docs/descriptions.md, "Calling what is described"). Any thread; the operation lives in the message and in
 * the arena.
 */
#include "jsonrpc/jsonrpc.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/authorize.h"

struct catalog;
struct java_methods_index;

/*
 * An OP_CALL or OP_NEW by_value. The policy is asked about the names before the catalog is: who may not use a
 * class does not learn whether it exists. Anything but JP_OK leaves an OUTCOME_ERROR: FAILURE_NOT_FOUND
 * ("Invalid method: ...") for a name that is no member's, FAILURE_DENIED, FAILURE_INVALID_PARAMS. catalog
 * NULL: no name is a member's. digits_max: of one number, as it is written.
 */
enum jp_status java_method_decode(const struct jsonrpc_request *request, struct catalog *catalog,
                                  struct java_methods_index *index, const struct rpc_authorizer *authorizer,
                                  size_t digits_max, struct arena *arena, struct operation *operation,
                                  struct outcome *outcome) JP_MUST_CHECK;

#endif
