#ifndef JPEER_RPC_COLFER_PARAMS_H
#define JPEER_RPC_COLFER_PARAMS_H
/*
 * From a binary request to a struct operation (docs/binary.md). Any thread; the operation lives in the message and in
 * the arena.
 */
#include "op/operation.h"
#include "rpc/colfer/request.h"
#include "rpc/values/value_read.h"

/* How values are read, of all requests alike. */
struct rpc_colfer_rules {
  struct json_limits json;
  size_t digits_max; /* of one number, as it is written */
  size_t values_max; /* of rpc_value_reader_init */
  bool compat_pal;
};

/* Anything but JP_OK leaves an OUTCOME_ERROR in *outcome. */
enum jp_status rpc_colfer_operation_read(const struct rpc_colfer_request *request,
                                         const struct rpc_colfer_rules *rules, struct arena *arena,
                                         struct operation *operation, struct outcome *outcome) JP_MUST_CHECK;

/* ---- params.c for meta_params.c ---- */

struct rpc_colfer_reader {
  const struct rpc_colfer_rules *rules;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;
  struct rpc_value_reader values;
};

/* Reads a list of values into operation->args. */
enum jp_status rpc_colfer_values_read(struct rpc_colfer_reader *reader, const struct colfer_obj *objs,
                                      size_t count) JP_MUST_CHECK;

/* meta_params.c: what a metadata query asks for. */
enum jp_status rpc_colfer_meta_read(struct rpc_colfer_reader *reader,
                                    const struct colfer_meta_message *meta) JP_MUST_CHECK;

#endif
