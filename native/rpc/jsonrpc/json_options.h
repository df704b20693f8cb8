#ifndef JPEER_RPC_JSONRPC_JSON_OPTIONS_H
#define JPEER_RPC_JSONRPC_JSON_OPTIONS_H
/*
 * The options of a request: its top-level member `options` (docs/protocol.md, "Options of a request"). All
 * methods have the same options. To add an option, add a member to the struct and a row to the table in
 * json_options.c. Any thread. The options are borrowed from the message and the arena.
 */
#include "base/arena.h"
#include "jsonrpc/jsonrpc.h"
#include "op/operation.h"
#include "op/outcome.h"

struct rpc_request_options {
  bool base64_result;
  bool element_values;
  bool element_types;
  bool returns_throwable;
  bool longs_as_text;
  bool only_idempotent;
  bool has_array_value_max;
  size_t array_value_max;      /* valid if has_array_value_max */
  struct text thread_affinity; /* data NULL: not given */
  int64_t timeout_ms;          /* 0: not given */
  bool is_unkept;              /* "keep": false */
  uint32_t loader;             /* a ref; 0: not given */
  struct text within;          /* the callback in which the request is nested; data NULL: not given */
};

/* Reads the options of a request. The request need not have options. Each status except JP_OK leaves an
 * OUTCOME_ERROR in *outcome. */
enum jp_status rpc_request_options_read(const struct jsonrpc_request *request, struct arena *arena,
                                        struct rpc_request_options *options,
                                        struct outcome *outcome) JP_MUST_CHECK;

/* Makes *outcome the error that the thread that serves the message has no open call with the name `within`.
 * If its data is NULL: the error that the first request of the batch has no `within`. */
void rpc_request_options_fail_within(struct text within, struct arena *arena, struct outcome *outcome);

/* Sets the fields of the operation that correspond to the options. */
void rpc_request_options_apply(const struct rpc_request_options *options, struct operation *operation);

#endif
