/*
 * JSON-RPC messages: the input is the message. The handler reads all of the params and sends them back;
 * whatever came in, what goes out must be a JSON text, and an error or a result for each id.
 */
#include "jsonrpc/jsonrpc.h"

#include "base/number.h"
#include "json/writer.h"

#include "tests/fuzz/fuzz.h"

static void copy_value(struct json_value value, struct arena *arena, struct buffer *out);

static void copy_members(struct json_value object, struct arena *arena, struct buffer *out)
{
  struct json_cursor cursor = json_enter(object);
  struct json_value value;
  struct text key;
  for (bool first = true; json_next_member(&cursor, &key, &value); first = false) {
    if (!first)
      buffer_append_char(out, ',');
    json_write_string(out, json_unescape(key, arena));
    buffer_append_char(out, ':');
    copy_value(value, arena, out);
  }
}

static void copy_elements(struct json_value array, struct arena *arena, struct buffer *out)
{
  struct json_cursor cursor = json_enter(array);
  struct json_value value;
  for (bool first = true; json_next_element(&cursor, &value); first = false) {
    if (!first)
      buffer_append_char(out, ',');
    copy_value(value, arena, out);
  }
}

static void copy_number(struct json_value value, struct buffer *out)
{
  struct number number;
  require(number_parse(value.span, &number));
  buffer_append_text(out, number.literal);
}

static void copy_value(struct json_value value, struct arena *arena, struct buffer *out)
{
  switch (value.kind) {
  case JSON_KIND_STRING:
    json_write_string(out, json_read_string(value, arena));
    break;
  case JSON_KIND_NUMBER:
    copy_number(value, out);
    break;
  case JSON_KIND_ARRAY:
    buffer_append_char(out, '[');
    copy_elements(value, arena, out);
    buffer_append_char(out, ']');
    break;
  case JSON_KIND_OBJECT:
    buffer_append_char(out, '{');
    copy_members(value, arena, out);
    buffer_append_char(out, '}');
    break;
  default:
    buffer_append_text(out, value.span);
    break;
  }
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct arena *arena = context;
  if (request->method.len == 0)
    return;
  if (!request->has_params) {
    jsonrpc_error(response, JSONRPC_METHOD_NOT_FOUND, jsonrpc_code_message(JSONRPC_METHOD_NOT_FOUND));
    return;
  }
  copy_value(request->params, arena, jsonrpc_result(response));
  if (request->method.len % 2 == 0)
    json_write_string(jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Server error"), request->method);
}

/* Whatever the text is, an id that is made out of it is a JSON text inside it. */
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
  struct jsonrpc_service service = {
      .context = &arena, .arena = &arena, .handle = handle, .limits = {32}, .max_batch = 16};
  enum jsonrpc_handled handled = jsonrpc_handle(&service, input, &out, &stream);
  require(handled != JSONRPC_STREAM && (handled == JSONRPC_NO_REPLY) == (out.len == 0));
  if (handled != JSONRPC_NO_REPLY) {
    struct json_fault fault;
    /* The envelope, and a batch, are deeper than what came in. */
    require(json_validate(buffer_text(&out), (struct json_limits){40}, TEXT_ABSENT, &fault) == JP_OK);
  }
  for (size_t fault = 0; fault <= input.len; fault += 1 + input.len / 4) {
    salvage(input, fault, JSONRPC_2_0);
    salvage(input, fault, JSONRPC_1_1);
  }
  buffer_fini(&out);
  arena_fini(&arena);
}
