/*
 * The params of the six methods, and the options of requests: the input is a JSON-RPC message. What was read is
 * walked to its last byte; what was refused must say so as JSON.
 */
#include "base/primitives.h"
#include "rpc/jsonrpc/json_outcome.h"
#include "rpc/jsonrpc/json_params.h"
#include "rpc/jsonrpc/request_options.h"

#include <stdlib.h>

enum { DIGITS_MAX = 1000 };

struct reading {
  struct arena arena;
  volatile uint8_t sum; /* of every byte that was read */
};

static void require(bool condition)
{
  if (!condition)
    abort();
}

static void touch(struct reading *reading, const void *bytes, size_t count)
{
  const uint8_t *p = bytes;
  for (size_t i = 0; i < count; i++)
    reading->sum = (uint8_t)(reading->sum + p[i]);
}

static void touch_text(struct reading *reading, struct text t)
{
  if (t.data != NULL)
    touch(reading, t.data, t.len);
}

static void touch_value(struct reading *reading, const struct op_value *value)
{
  touch_text(reading, value->type);
  touch_text(reading, value->literal);
  switch (value->kind) {
  case OP_TEXT:
    touch_text(reading, value->text);
    break;
  case OP_REF:
    require(value->ref >= 1 && value->ref <= INT32_MAX);
    break;
  case OP_LIST:
    for (size_t i = 0; i < value->list.count; i++)
      touch_value(reading, &value->list.items[i]);
    break;
  case OP_MAP:
    for (size_t i = 0; i < value->map.count; i++) {
      touch_text(reading, value->map.entries[i].key);
      touch_value(reading, &value->map.entries[i].value);
    }
    break;
  case OP_PACKED:
    require(primitive_size(value->packed.element) > 0);
    touch(reading, value->packed.data, value->packed.count * primitive_size(value->packed.element));
    break;
  case OP_BIG_INTEGER:
  case OP_FLOAT:
  case OP_DOUBLE:
    require(value->literal.data != NULL);
    break;
  default:
    require(value->kind != OP_CHAR);
    break;
  }
}

static void touch_operation(struct reading *reading, const struct operation *operation)
{
  touch_text(reading, operation->type);
  touch_text(reading, operation->member);
  touch_text(reading, operation->thread_affinity);
  for (size_t i = 0; i < operation->arg_count; i++)
    touch_value(reading, &operation->args[i]);
  for (size_t i = 0; i < operation->meta.exclude_count; i++)
    touch_text(reading, operation->meta.exclude_prefixes[i]);
  for (size_t i = 0; i < operation->meta.include_count; i++)
    touch_text(reading, operation->meta.include_classes[i]);
}

static enum jp_status read_request(struct reading *reading, const struct jsonrpc_request *request,
                                   struct operation *operation, struct outcome *outcome)
{
  struct rpc_request_options options;
  enum jp_status status = rpc_request_options_read(request, &reading->arena, &options, outcome);
  if (status == JP_OK)
    status = rpc_params_decode(request, DIGITS_MAX, &reading->arena, operation, outcome);
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
  if (read_request(reading, request, &operation, &outcome) == JP_OK) {
    touch_operation(reading, &operation);
    rpc_result_write(jsonrpc_result(response), &outcome, &answer);
    return;
  }
  require(outcome.kind == OUTCOME_ERROR && outcome.message.data != NULL);
  int code = rpc_failure_code(outcome.failure);
  rpc_error_data_write(jsonrpc_error(response, code, jsonrpc_code_message(code)), &outcome, &answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct reading reading = {.sum = 0};
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
  if (jsonrpc_handle(&service, (struct text){(const char *)data, size}, &out, &stream) == JSONRPC_REPLY)
    require(json_validate(buffer_text(&out), service.limits, TEXT_ABSENT, &fault) == JP_OK);
  buffer_fini(&out);
  arena_fini(&reading.arena);
  return 0;
}
