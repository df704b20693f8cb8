#ifndef JPEER_RPC_METHODS_PROCEDURES_H
#define JPEER_RPC_METHODS_PROCEDURES_H
/*
 * The table of procedures: every name that a request may call, with its parameters in order. Serving, calls
 * by position and by name, HTTP GET, and the descriptions of the service (system.describe, rpc.discover) all
 * use this one table, so that they cannot differ.
 *
 * The table is constant data. The functions may be called from any thread; their results are in the arena.
 */
#include "base/arena.h"
#include "base/text.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "json/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The names of parameters of all procedures: a decoder finds each parameter at its constant. */
enum rpc_param {
  RPC_PARAM_TYPE,
  RPC_PARAM_METHOD,
  RPC_PARAM_FIELD,
  RPC_PARAM_INSTANCE,
  RPC_PARAM_ARGS,
  RPC_PARAM_VALUE,
  RPC_PARAM_ENCODING,
  RPC_OPERATION_PARAMS, /* the six methods have only parameters before this */
  RPC_PARAM_MAX = RPC_OPERATION_PARAMS,
  RPC_PARAM_FROM,
  RPC_PARAM_MEMBERS_ONLY,
  RPC_PARAM_REF,
  RPC_PARAM_COLUMNS,
  RPC_PARAM_ROWS,
  RPC_OWN_PARAMS, /* an operation has only parameters before this */
  RPC_PARAM_CLASSES = RPC_OWN_PARAMS,
  RPC_PARAM_OPENRPC,
  RPC_PARAM_NAMES,
  RPC_PARAMS
};

/* The names by enum rpc_param. */
extern const struct text rpc_param_names[RPC_PARAMS];

/* The type of a parameter (JSON-RPC 1.1, 10.2.1, has these words for them). */
enum rpc_wants {
  RPC_WANTS_ANY,     /* "any" */
  RPC_WANTS_TEXT,    /* "str" */
  RPC_WANTS_NUMBER,  /* "num" */
  RPC_WANTS_BOOLEAN, /* "bit" */
  RPC_WANTS_LIST,    /* "arr" */
  RPC_WANTS_OBJECT   /* "obj" */
};

/* The word of JSON-RPC 1.1, 10.2.1. */
struct text rpc_wants_word(enum rpc_wants wants);

struct rpc_procedure_param {
  enum rpc_param param;
  enum rpc_wants wants;
  bool required;
  bool or_instance; /* required if the request has no instance; with --compat pal always required */
  /* has no position; follows the parameters with positions; 1.1's descriptions leave it out */
  bool by_name_only;
  const char *summary; /* one sentence without a full stop */
};

enum { RPC_PROCEDURE_PARAMS_MAX = 6 };

/* Safe and idempotent, so that HTTP GET may call it (JSON-RPC 1.1, 6.3.2). */
enum rpc_safety {
  RPC_SAFE_NEVER,
  RPC_SAFE_ALWAYS,
  RPC_SAFE_BY_CONTROL /* if the control method that its parameter `method` names is safe */
};

/* The decoder and writer of the procedure. */
enum rpc_procedure_kind {
  RPC_PROCEDURE_OPERATION, /* a struct operation, decoded by rpc/jsonrpc/json_params.h */
  RPC_PROCEDURE_DESCRIBE,  /* system.describe */
  RPC_PROCEDURE_DISCOVER   /* rpc.discover */
};

struct rpc_procedure {
  struct text name;
  enum rpc_procedure_kind kind;
  enum op_kind op; /* RPC_PROCEDURE_OPERATION */
  enum rpc_safety safety;
  bool only_1_1; /* JSON-RPC 2.0 does not have this method */
  /* its name begins with "jpeer.", its result is plain JSON, and it does not exist with --compat pal */
  bool is_own;
  bool unlisted; /* system.describe is not in its own list (JSON-RPC 1.1, 10) */
  const char *summary;
  struct rpc_procedure_param params[RPC_PROCEDURE_PARAMS_MAX]; /* in order: their index is their position */
  size_t param_count;
  enum rpc_wants returns;
};

extern const struct rpc_procedure rpc_procedures[];
extern const size_t rpc_procedure_count;

/* True for an undotted name, like the names of the six methods. A dotted name belongs to a Java member or to
 * the peer. */
static inline bool rpc_is_bare_name(struct text method)
{
  return method.len == 0 || memchr(method.data, '.', method.len) == NULL;
}

/* True for a name that is reserved for procedures of the peer. */
static inline bool rpc_is_own_name(struct text method)
{
  return text_starts_with(method, TEXT("jpeer."));
}

/* NULL: no procedure has this name. Names are case-sensitive. */
const struct rpc_procedure *rpc_procedure_find(struct text name);

/* True if system.describe calls the procedure "idempotent", because every call of it is safe. */
static inline bool rpc_procedure_is_idempotent(const struct rpc_procedure *procedure)
{
  return procedure->safety == RPC_SAFE_ALWAYS;
}

/*
 * Parameters in the forms of JSON-RPC 1.1 (docs/jsonrpc-1.1.md, "Calls"): by position, by name or both; null
 * counts as not supplied, extra parameters are dropped, and values are coerced to the type of the parameter.
 * JSON-RPC 2.0 is strict and does not use these functions.
 */

/*
 * Text becomes a number or a boolean, a number or a boolean becomes text, true and false become 1 and 0 and
 * back, a single value becomes an array with one element. A value that fits already, or cannot be coerced, is
 * not changed. JP_NO_MEMORY.
 */
enum jp_status rpc_value_coerce(struct json_value value, enum rpc_wants wants, struct arena *arena,
                                struct json_value *near) JP_MUST_CHECK;

/*
 * Puts the params of a request (an array or an object) into the places of enum rpc_param. A parameter that is
 * given twice, by name or by position, is an error. Any result except JP_OK leaves an OUTCOME_ERROR in
 * *outcome.
 */
enum jp_status rpc_params_coerce(const struct rpc_procedure *procedure, struct json_value params,
                                 struct arena *arena, struct json_members *members,
                                 struct outcome *outcome) JP_MUST_CHECK;

#endif
