#ifndef JPEER_RPC_JSONRPC_JSON_OUTCOME_H
#define JPEER_RPC_JSONRPC_JSON_OUTCOME_H
/*
 * Writes the JSON of a result or of an error's data from an outcome (docs/protocol.md, "Results" and
 * "Errors"). Any thread.
 */
#include "base/buffer.h"
#include "op/outcome.h"
#include "rpc/run.h"

/* The offset in the buffer at which a written result has its whole number. */
struct rpc_number_place {
  bool is_known; /* the place is known; other answers of the member differ only in the number and the id */
  size_t at;
  size_t length; /* 0: the result has no number */
};

struct rpc_answer {
  struct text request_id; /* the id as received, as JSON; data NULL: null */
  bool compat_pal;
  const struct rpc_reached_member *from; /* `from` in --compat pal; NULL: not known */
  struct buffer *scratch;                /* for values that are text within text; cleared by the writer */
  /* for an error: the JSON of its cause, which replaces the throwable's cause; data NULL: none */
  struct text cause;
  /* set by the writer if the result is void or a whole number; NULL: not wanted */
  struct rpc_number_place *number;
};

/* The code of a failure (docs/protocol.md, "Errors"). */
int rpc_failure_code(enum outcome_failure failure);

/* For an OUTCOME_VOID or OUTCOME_VALUE. */
void rpc_result_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer);
/* For an OUTCOME_VALUE: writes only the value, {"type", "null", "ref", "value"}, as in results and the
 * arguments of callbacks. */
void rpc_result_value_write(struct buffer *out, const struct outcome *outcome,
                            const struct rpc_answer *answer);
/* Writes the result of an operation with by_value, as plain JSON: {"ref": N} for an object, null for null
 * and void. */
void rpc_by_value_result_write(struct buffer *out, const struct outcome *outcome);
/* Writes the member `outs` of an answer, after its result. Writes nothing if no array has changed. */
void rpc_outs_write(struct buffer *out, const struct outcome *outcome);
/* Writes the data of an OUTCOME_ERROR. */
void rpc_error_data_write(struct buffer *out, const struct outcome *outcome, const struct rpc_answer *answer);

#endif
