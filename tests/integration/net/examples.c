#include "examples.h"

#include "base/number.h"
#include "jsonrpc/jsonrpc.h"
#include "rpc/jsonrpc/coerce.h"
#include "json/writer.h"

#include <stdio.h>

enum { NUMBERS_MAX = 3, MAX_DEPTH = 32, MAX_BATCH = 100 };

/* One request on its way. */
struct call {
  const struct jsonrpc_request *request;
  struct jsonrpc_response *response;
  int64_t numbers[NUMBERS_MAX]; /* 0: not given */
};

struct procedure {
  struct text name;
  void (*run)(const struct call *call);
  bool is_safe; /* HTTP GET may call it */
  size_t required;
  size_t count; /* of numbers; 0: the params may be anything */
  const char *params[NUMBERS_MAX];
};

/* --- procedures --- */

static void subtract(const struct call *call)
{
  json_write_integer(jsonrpc_result(call->response), call->numbers[0] - call->numbers[1]);
}

static void sum(const struct call *call)
{
  json_write_integer(jsonrpc_result(call->response), call->numbers[0] + call->numbers[1] + call->numbers[2]);
}

static void get_data(const struct call *call)
{
  BUFFER_LITERAL(jsonrpc_result(call->response), "[\"hello\",5]");
}

static void take_note(const struct call *call)
{
  BUFFER_LITERAL(jsonrpc_result(call->response), "null");
}

/* Its params, as it was given them. */
static void echo(const struct call *call)
{
  struct buffer *out = jsonrpc_result(call->response);
  buffer_append_text(out, call->request->has_params ? call->request->params.span : TEXT("null"));
}

static void append_reversed(struct json_cursor *cursor, struct buffer *out)
{
  struct json_value value;
  if (!json_next_element(cursor, &value))
    return;
  size_t start = out->len;
  append_reversed(cursor, out);
  if (out->len > start)
    buffer_append_char(out, ',');
  buffer_append_text(out, value.span);
}

static void reverse(const struct call *call)
{
  struct buffer *out = jsonrpc_result(call->response);
  struct json_cursor cursor = json_enter(call->request->params);
  buffer_append_char(out, '[');
  append_reversed(&cursor, out);
  buffer_append_char(out, ']');
}

static void say(const struct call *call)
{
  struct buffer *out = jsonrpc_result(call->response);
  BUFFER_LITERAL(out, "{\"Foo says\":");
  json_write_integer(out, call->numbers[0] + call->numbers[1] + 42);
  buffer_append_char(out, '}');
}

static void log_out(const struct call *call)
{
  jsonrpc_error(call->response, 123, "Not logged in");
}

/* The error of JSON-RPC 1.1, 7.4. */
static void fail(const struct call *call)
{
  struct buffer *data = jsonrpc_error(call->response, 123, "An error occurred parsing the request object.");
  BUFFER_LITERAL(data, "{\"name\":\"JSONError\",\"message\":\"Bad array\",\"at\":42,\"text\":");
  json_write_string(data, TEXT("{\"id\":1,\"method\":\"sum\",\"params\":[1,2,3,4,5}"));
  buffer_append_char(data, '}');
}

static const struct procedure procedures[] = {
    {TEXT("subtract"), subtract, true, 2, 2, {"minuend", "subtrahend"}},
    {TEXT("sum"), sum, true, 0, 3, {"a", "b", "c"}},
    {TEXT("Foo"), say, true, 2, 2, {"X", "Y"}},
    {TEXT("get_data"), get_data, .is_safe = true},
    {TEXT("echo"), echo, .is_safe = true},
    {TEXT("foo"), reverse, .is_safe = true},
    {TEXT("update"), take_note, .is_safe = false},
    {TEXT("notify_hello"), take_note, .is_safe = false},
    {TEXT("notify_sum"), take_note, .is_safe = false},
    {TEXT("Logout"), log_out, .is_safe = false},
    {TEXT("fail"), fail, .is_safe = false},
};

static const struct procedure *find_procedure(struct text name)
{
  for (size_t i = 0; i < sizeof procedures / sizeof procedures[0]; i++) {
    if (text_equal(procedures[i].name, name))
      return &procedures[i];
  }
  return NULL;
}

/* --- parameters --- */

/* By position; by name; in 1.1 also by a name that is the position (6.2.1). */
static bool find_param(const struct jsonrpc_request *request, size_t position, const char *name,
                       struct json_value *value)
{
  struct json_cursor cursor = json_enter(request->params);
  struct text key;
  if (request->params.kind == JSON_KIND_ARRAY) {
    for (size_t i = 0; i <= position; i++) {
      if (!json_next_element(&cursor, value))
        return false;
    }
    return true;
  }
  char digits[24];
  snprintf(digits, sizeof digits, "%zu", position);
  while (json_next_member(&cursor, &key, value)) {
    if (json_key_is(key, text_of(name)) ||
        (request->version == JSONRPC_1_1 && json_key_is(key, text_of(digits))))
      return true;
  }
  return false;
}

static bool read_number(const struct jsonrpc_request *request, struct json_value value, int64_t *out)
{
  struct number number;
  if (request->version == JSONRPC_1_1 &&
      rpc_value_coerce(value, RPC_WANTS_NUMBER, request->arena, &value) != JP_OK)
    return false;
  if (value.kind != JSON_KIND_NUMBER)
    return false;
  number_read(value.span, &number);
  *out = number.integer;
  return number.fits;
}

static bool read_numbers(const struct procedure *procedure, struct call *call)
{
  const struct jsonrpc_request *request = call->request;
  if (request->version == JSONRPC_2_0 && request->has_params && procedure->count > 0 &&
      json_count(request->params) > procedure->count)
    return false;
  for (size_t i = 0; i < procedure->count; i++) {
    struct json_value value;
    if (request->has_params && find_param(request, i, procedure->params[i], &value)) {
      if (!read_number(request, value, &call->numbers[i]))
        return false;
    } else if (i < procedure->required) {
      return false;
    }
  }
  return true;
}

/* --- messages --- */

static void fail_with(struct jsonrpc_response *response, int code)
{
  jsonrpc_error(response, code, jsonrpc_code_message(code));
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)context;
  struct call call = {.request = request, .response = response};
  const struct procedure *procedure = find_procedure(request->method);
  if (procedure == NULL)
    fail_with(response, JSONRPC_METHOD_NOT_FOUND);
  else if (request->only_safe && !procedure->is_safe)
    fail_with(response, JSONRPC_1_1_NOT_BY_GET);
  else if (!read_numbers(procedure, &call))
    fail_with(response, JSONRPC_INVALID_PARAMS);
  else
    procedure->run(&call);
}

enum rpc_served examples_serve(struct text message, bool only_safe, struct buffer *out)
{
  static const enum rpc_served served[] = {[JSONRPC_REPLY] = RPC_REPLY,
                                           [JSONRPC_NO_REPLY] = RPC_NO_REPLY,
                                           [JSONRPC_FAILED] = RPC_FAILED,
                                           [JSONRPC_NOT_SAFE] = RPC_NOT_SAFE};
  struct arena arena;
  struct jsonrpc_stream stream;
  arena_init(&arena);
  const struct jsonrpc_service service = {.arena = &arena,
                                          .handle = handle,
                                          .limits = {MAX_DEPTH},
                                          .max_batch = MAX_BATCH,
                                          .only_safe = only_safe};
  enum jsonrpc_handled handled = jsonrpc_handle(&service, message, out, &stream);
  arena_fini(&arena);
  return served[handled];
}
