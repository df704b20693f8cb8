/*
 * JSON-RPC messages: the input is the message. The handler sends the params back, which json_fuzz reads; for any
 * input, the output must be a JSON text, with an error or a result for each id.
 */
#include "jsonrpc/jsonrpc.h"

#include "json/writer.h"

#include "tests/fuzz/fuzz.h"

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)context;
  if (request->method.len == 0)
    return;
  if (!request->has_params) {
    jsonrpc_error(response, JSONRPC_METHOD_NOT_FOUND, jsonrpc_code_message(JSONRPC_METHOD_NOT_FOUND));
    return;
  }
  buffer_append_text(jsonrpc_result(response), request->params.span);
  if (request->method.len % 2 == 0)
    json_write_string(jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Server error"), request->method);
}

/* In any text, an id that is found is a JSON text inside it. */
static void salvage(struct text message, size_t fault, enum jsonrpc_version version)
{
  struct json_fault unused;
  struct text id = jsonrpc_salvage_id(message, fault, version);
  if (id.data == NULL)
    return;
  require(id.data >= message.data && id.data + id.len <= message.data + message.len);
  require(json_validate(id, (struct json_limits){JSON_DEPTH_MAX}, TEXT_ABSENT, &unused) == JP_OK);
}

FUZZ_TARGET(input)
{
  struct arena arena;
  struct buffer out;
  struct jsonrpc_stream stream;
  arena_init(&arena);
  buffer_init(&out);
  struct jsonrpc_service service = {.arena = &arena, .handle = handle, .limits = {32}, .max_batch = 16};
  enum jsonrpc_handled handled = jsonrpc_handle(&service, input, &out, &stream);
  require(handled != JSONRPC_STREAM && (handled == JSONRPC_NO_REPLY) == (out.len == 0));
  if (handled != JSONRPC_NO_REPLY) {
    struct json_fault fault;
    /* The envelope and a batch add depth to the input. */
    require(json_validate(buffer_text(&out), (struct json_limits){40}, TEXT_ABSENT, &fault) == JP_OK);
  }
  for (size_t fault = 0; fault <= input.len; fault += 1 + input.len / 4) {
    salvage(input, fault, JSONRPC_2_0);
    salvage(input, fault, JSONRPC_1_1);
  }
  buffer_fini(&out);
  arena_fini(&arena);
}
