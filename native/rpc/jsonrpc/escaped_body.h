#ifndef JPEER_RPC_JSONRPC_ESCAPED_BODY_H
#define JPEER_RPC_JSONRPC_ESCAPED_BODY_H
/*
 * A body as the inside of a JSON string: what the source gives is escaped piece by piece, so that an answer
 * of any size is never held whole. One reader at a time, on any thread.
 */
#include "op/outcome.h"

/* Makes *escaped give the text of *source, escaped. Takes source, even on failure (then it is closed).
 * JP_NO_MEMORY. */
enum jp_status rpc_body_escape(const struct outcome_body *source, struct outcome_body *escaped) JP_MUST_CHECK;

#endif
