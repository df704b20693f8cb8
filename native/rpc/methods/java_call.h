#ifndef JPEER_RPC_METHODS_JAVA_CALL_H
#define JPEER_RPC_METHODS_JAVA_CALL_H
/*
 * Decodes a request whose method is a Java member's own name ("com.example.Calculator.add") into an operation
 * (docs/descriptions.md, "Calling what is described"). Any thread; the operation points into the message and
 * the arena.
 */
#include "jsonrpc/jsonrpc.h"
#include "judge/judge.h"
#include "op/description.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/values/value_read.h"

struct catalog;
struct java_methods_index;
struct rpc_run;

struct java_method_rules {
  struct rpc_value_rules values; /* compat_pal: a bare ref is an instance, too */
  uint32_t loader;               /* a ref: only this class loader is asked; 0: none is named */
  struct rpc_run
      *jvm_run; /* asks the JVM for classes that the catalog lacks; NULL: only the catalog is asked */
};

/*
 * Makes an OP_CALL or OP_NEW by_value. The policy is asked before the catalog, so that a caller who may not
 * use a class does not learn whether it exists. Each status except JP_OK leaves an OUTCOME_ERROR:
 * FAILURE_NOT_FOUND ("Invalid method: ...") if no member has the name, FAILURE_DENIED,
 * FAILURE_INVALID_PARAMS, or the error of rpc_run_look_up. Without a catalog (NULL) only rpc_run_look_up
 * finds members.
 */
enum jp_status java_method_decode(const struct jsonrpc_request *request, struct catalog *catalog,
                                  struct java_methods_index *index, const struct judge *judge,
                                  const struct java_method_rules *rules, struct arena *arena,
                                  struct operation *operation, struct outcome *outcome) JP_MUST_CHECK;

/* Applies a parameter's generic signature, or descriptor, to the elements of lists and maps: declares types
 * for elements without a type, at every level. False if memory is short. */
bool java_value_type_elements(struct text type, struct arena *arena, struct op_value *value) JP_MUST_CHECK;

#endif
