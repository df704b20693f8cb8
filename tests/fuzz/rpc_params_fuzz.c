/*
 * The params of the six methods, and the options of requests: the input is a JSON-RPC message. An accepted operation
 * is walked to its last byte; a refusal must be JSON.
 */
#include "rpc/jsonrpc/json_options.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/callback_read.h"
#include "rpc/values/value_read.h"
#include "tests/fuzz/touch_operation.h"

#include "tests/fuzz/fuzz.h"

enum { DIGITS_MAX = 1000 };

struct reading {
  struct arena arena;
  struct callback_counts callbacks; /* of the request that is being served */
};

static enum jp_status read_request(struct reading *reading, const struct jsonrpc_request *request,
                                   struct operation *operation, struct outcome *outcome)
{
  const struct rpc_callback_sink sink = {.context = &reading->callbacks, .accept = accept_callback};
  const struct rpc_value_rules rules = {.digits_max = DIGITS_MAX, .callbacks = &sink};
  struct rpc_request_options options;
  enum jp_status status = rpc_request_options_read(request, &reading->arena, &options, outcome);
  if (status == JP_OK)
    status = rpc_params_decode(request, &rules, &reading->arena, operation, outcome);
  if (status == JP_OK)
    rpc_request_options_apply(&options, operation);
  return status;
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct reading *reading = context;
  struct operation operation;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  struct rpc_answer answer = {.request_id = request->id};
  reading->callbacks = (struct callback_counts){0};
  if (request->has_params)
    rpc_callbacks_scan(request->params, find_callback, &reading->callbacks);
  enum jp_status status = read_request(reading, request, &operation, &outcome);
  require(reading->callbacks.taken <= reading->callbacks.found);
  if (status == JP_OK) {
    touch_operation(&operation);
    rpc_result_write(jsonrpc_result(response), &outcome, &answer);
    return;
  }
  require(outcome.kind == OUTCOME_ERROR && outcome.message.data != NULL);
  int code = rpc_failure_code(outcome.failure);
  rpc_error_data_write(jsonrpc_error(response, code, jsonrpc_code_message(code)), &outcome, &answer);
}

FUZZ_TARGET(input)
{
  struct reading reading;
  struct buffer out;
  arena_init(&reading.arena);
  buffer_init(&out);
  const struct jsonrpc_service service = {.context = &reading,
                                          .arena = &reading.arena,
                                          .handle = handle,
                                          .limits = {.max_depth = 64},
                                          .max_batch = 16,
                                          .takes_options = true};
  struct jsonrpc_stream stream;
  struct json_fault fault;
  if (jsonrpc_handle(&service, input, &out, &stream) == JSONRPC_REPLY)
    require(json_validate(buffer_text(&out), service.limits, TEXT_ABSENT, &fault) == JP_OK);
  buffer_fini(&out);
  arena_fini(&reading.arena);
}
