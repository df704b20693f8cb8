#ifndef JPEER_RPC_COLFER_BINARY_REQUEST_H
#define JPEER_RPC_COLFER_BINARY_REQUEST_H
/*
 * A binary message as a request: which of its parts asks, and who; and the operation that it asks for
 * (docs/binary.md). Any thread; everything is borrowed from the message's bytes and from the arena.
 */
#include "base/arena.h"
#include "base/uuid.h"
#include "colfer/messages.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/values/value_read.h"

/* The part of a message that asks. Its answer is in the same part. */
enum rpc_colfer_part { RPC_COLFER_EXEC, RPC_COLFER_CONTROL, RPC_COLFER_META, RPC_COLFER_PARTS };

struct rpc_colfer_request {
  enum rpc_colfer_part part;
  struct colfer_message message;
  struct text id;      /* data NULL: it has none */
  struct text session; /* the bytes that name the sender; empty: it does not say */
};

/*
 * Reads a whole message. Anything but JP_OK leaves an OUTCOME_ERROR: the bytes are no message, or it asks nothing that
 * is served; the error is answered in a control message then, under the id if that could be read.
 */
enum jp_status rpc_colfer_request_read(struct text bytes, struct arena *arena,
                                       struct rpc_colfer_request *request,
                                       struct outcome *outcome) JP_MUST_CHECK;

/* Reads what the beginning of a message tells of it: its part, control if that cannot be told, and its id. */
void rpc_colfer_request_glance(struct text beginning, struct arena *arena,
                               struct rpc_colfer_request *request);

/* The session that a request names; *is_named false: it names none. JP_INVALID leaves an OUTCOME_ERROR. */
enum jp_status rpc_colfer_session_read(const struct rpc_colfer_request *request, struct arena *arena,
                                       bool *is_named, struct uuid *session,
                                       struct outcome *outcome) JP_MUST_CHECK;

/* How values are read, of all requests alike. */
struct rpc_colfer_rules {
  struct json_limits json;
  struct rpc_value_rules values;
};

/* Anything but JP_OK leaves an OUTCOME_ERROR in *outcome. */
enum jp_status rpc_colfer_operation_read(const struct rpc_colfer_request *request,
                                         const struct rpc_colfer_rules *rules, struct arena *arena,
                                         struct operation *operation, struct outcome *outcome) JP_MUST_CHECK;

#endif
