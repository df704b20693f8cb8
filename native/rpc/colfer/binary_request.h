#ifndef JPEER_RPC_COLFER_BINARY_REQUEST_H
#define JPEER_RPC_COLFER_BINARY_REQUEST_H
/*
 * Reads a binary message as a request: the part of the message that is the request, the sender, and the
 * operation (docs/binary.md). Any thread; results are borrowed from the message's bytes and from the arena.
 */
#include "base/arena.h"
#include "base/uuid.h"
#include "colfer/messages.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/values/value_read.h"

/* The part of a message that is the request. The answer has the same part. */
enum rpc_colfer_part { RPC_COLFER_EXEC, RPC_COLFER_CONTROL, RPC_COLFER_META, RPC_COLFER_PARTS };

struct rpc_colfer_request {
  enum rpc_colfer_part part;
  struct colfer_message message;
  struct text id;      /* data NULL: the request has none */
  struct text session; /* the bytes that name the sender; empty: none */
};

/*
 * Reads a whole message. On failure, *outcome is an OUTCOME_ERROR: the bytes are not a message, or the
 * request cannot be served. The answer to such a request is a control message with the error, and with the id
 * if the id could be read.
 */
enum jp_status rpc_colfer_request_read(struct text bytes, struct arena *arena,
                                       struct rpc_colfer_request *request,
                                       struct outcome *outcome) JP_MUST_CHECK;

/* Reads from the beginning of a message its part and its id. If the part cannot be read yet, it is
 * RPC_COLFER_CONTROL. */
void rpc_colfer_request_glance(struct text beginning, struct arena *arena,
                               struct rpc_colfer_request *request);

/* Reads the session that a request names; *is_named false: the request does not name a session. JP_INVALID
 * leaves an OUTCOME_ERROR. */
enum jp_status rpc_colfer_session_read(const struct rpc_colfer_request *request, struct arena *arena,
                                       bool *is_named, struct uuid *session,
                                       struct outcome *outcome) JP_MUST_CHECK;

/* How the values of all requests are read. */
struct rpc_colfer_rules {
  struct json_limits json;
  struct rpc_value_rules values;
};

/* If the result is not JP_OK, *outcome is an OUTCOME_ERROR. */
enum jp_status rpc_colfer_operation_read(const struct rpc_colfer_request *request,
                                         const struct rpc_colfer_rules *rules, struct arena *arena,
                                         struct operation *operation, struct outcome *outcome) JP_MUST_CHECK;

#endif
