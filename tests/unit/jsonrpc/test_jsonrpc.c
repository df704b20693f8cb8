/* The envelopes of JSON-RPC 2.0 and 1.1, and the interface of handlers. tests/unit/jsonrpc/test_library.c has
 * the examples of the specification. Backquotes are replaced by quotes. */
#include "jsonrpc/jsonrpc.h"

#include "base/number.h"
#include "json/writer.h"

#include "tests/unit/cases.h"

static int calls;
static int stream_token;

static void append_part(struct buffer *out, bool is_there, struct text part)
{
  buffer_append_char(out, ',');
  buffer_append_text(out, is_there ? part : TEXT("0"));
}

/* The request, for a handler that shows it: method, id, peer-id, params, options, and 0 for a missing member. */
static void show(const struct jsonrpc_request *request, struct buffer *out)
{
  BUFFER_LITERAL(out, "[");
  json_write_string(out, request->method);
  append_part(out, request->id.data != NULL, request->id);
  append_part(out, request->peer_id.data != NULL, request->peer_id);
  append_part(out, request->has_params, request->params.span);
  append_part(out, request->has_options, request->options.span);
  BUFFER_LITERAL(out, "]");
}

static void stream(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  if (!request->may_stream) {
    BUFFER_LITERAL(jsonrpc_result(response), "\"whole\"");
    return;
  }
  BUFFER_LITERAL(jsonrpc_result(response), "{\"value\":\"");
  jsonrpc_result_stream(response, &stream_token, TEXT("\"}"));
}

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)context;
  calls++;
  assert_false(request->is_notification && request->version == JSONRPC_1_1);
  struct text method = request->method;
  struct text prefix = TEXT("error:");
  if (text_starts_with(method, prefix)) {
    struct number code;
    assert_true(number_parse(text_slice(method, prefix.len, method.len), &code));
    jsonrpc_error(response, (int)code.integer, jsonrpc_code_message((int)code.integer));
  } else if (text_equal(method, TEXT("own words"))) {
    BUFFER_LITERAL(jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Out \"of\" paper"), "{\"tray\":2}");
  } else if (text_equal(method, TEXT("echo"))) {
    buffer_append_text(jsonrpc_result(response), request->has_params ? request->params.span : TEXT("null"));
  } else if (text_equal(method, TEXT("peer_id"))) {
    json_write_string(jsonrpc_result(response), request->peer_id);
  } else if (text_equal(method, TEXT("change_mind"))) {
    BUFFER_LITERAL(jsonrpc_result(response), "{\"half\":");
    BUFFER_LITERAL(jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Server error"), "{\"message\":\"late\"}");
  } else if (text_equal(method, TEXT("stream"))) {
    stream(request, response);
  } else if (text_equal(method, TEXT("empty"))) {
    jsonrpc_result(response);
  } else if (!text_equal(method, TEXT("no_answer"))) {
    show(request, jsonrpc_result(response));
  }
}

static struct arena arena;
static struct buffer out;
static struct jsonrpc_stream streamed;
static struct jsonrpc_service service = {.arena = &arena,
                                         .handle = handle,
                                         .limits = {5},
                                         .max_batch = 10,
                                         .may_stream = true,
                                         .takes_options = true};

/* The reply is in `out` afterwards. */
static enum jsonrpc_handled ask(const char *message)
{
  const char *json = unit_json(message);
  size_t length = strlen(json);
  char *copy = unit_exact_copy(json, length);
  arena_reset(&arena);
  buffer_clear(&out);
  enum jsonrpc_handled handled = jsonrpc_handle(&service, (struct text){copy, length}, &out, &streamed);
  test_free(copy);
  return handled;
}

static void check(const char *message, const char *reply, enum jsonrpc_handled wanted)
{
  enum jsonrpc_handled handled = ask(message);
  unit_assert_text(buffer_text(&out), text_of(unit_json(reply)), message, __LINE__);
  assert_int_equal(handled, wanted);
}

#define RESULT(id, value) "{`jsonrpc`:`2.0`,`id`:" id ",`result`:" value "}"
#define NO_JSON(detail)                                                                                      \
  "{`jsonrpc`:`2.0`,`id`:null,`error`:{`code`:-32700,`message`:`Parse error`,`data`:{`message`:`" detail     \
  "`}}}"

static void check_exchange(const char *place, const char *sent, const char *received)
{
  enum jsonrpc_handled handled = ask(sent);
  enum jsonrpc_handled wanted = *received == '\0' ? JSONRPC_NO_REPLY : JSONRPC_REPLY;
  if (strstr(received, "JSONRPCError") != NULL)
    wanted = strstr(received, ":107,") != NULL ? JSONRPC_NOT_SAFE : JSONRPC_FAILED;
  unit_assert_text(buffer_text(&out), text_of(received), place, __LINE__);
  assert_int_equal(handled, wanted);
}

UNIT_TEST(answers_every_kind_of_envelope)
{
  unit_cases(ENVELOPES, check_exchange);
  check("", NO_JSON("The message is empty"), JSONRPC_REPLY);
  check(" \r\n\t", NO_JSON("The message is empty"), JSONRPC_REPLY);
  check("\xEF\xBB\xBF{}", NO_JSON("Byte 0: unexpected character"), JSONRPC_REPLY);
}

UNIT_TEST(ignores_options_if_the_service_has_none)
{
  service.takes_options = false;
  check("{`jsonrpc`:`2.0`,`options`:5,`method`:``,`id`:1,`options`:{}}", RESULT("1", "[``,1,0,0,0]"),
        JSONRPC_REPLY);
  service.takes_options = true;
}

UNIT_TEST(returns_ids_byte_for_byte)
{
  static const char *const ids[] = {
      "null", "0",         "-0",    "1.50",          "1e400", "123456789012345678901234567890",
      "``",   "`\\u0041`", "`\\/`", "`\xE2\x82\xAC`"};
  for (size_t i = 0; i < COUNT_OF(ids); i++) {
    char message[128];
    char reply[128];
    snprintf(message, sizeof message, "{`jsonrpc`:`2.0`,`method`:`echo`,`id`: %s }", ids[i]);
    snprintf(reply, sizeof reply, RESULT("%s", "null"), ids[i]);
    check(message, reply, JSONRPC_REPLY);
  }
}

UNIT_TEST(knows_1_1_in_messages_that_it_cannot_read)
{
  static const struct {
    const char *message;
    bool is_1_1;
  } cases[] = {
      {"{\"version\":\"1.1\"", true},   {"{\"version\" :\n \"1.1\",", true},
      {"{\"version\":\"1.10\"", false}, {"{\"version\":1.1", false},
      {"{\"version\"", false},          {"{\"version\":", false},
      {"{\"version\" ", false},         {"", false},
      {"version: 1.1", false},          {"{\"version\":\"1.1\",\"jsonrpc\":", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    size_t length = strlen(cases[i].message);
    char *copy = unit_exact_copy(cases[i].message, length);
    assert_int_equal(jsonrpc_looks_like_1_1((struct text){copy, length}), cases[i].is_1_1);
    test_free(copy);
  }
}

UNIT_TEST(runs_nothing_of_a_message_that_is_no_json)
{
  calls = 0;
  ask("[{`jsonrpc`:`2.0`,`method`:`echo`,`id`:1},");
  assert_int_equal(calls, 0);
  ask("[{`jsonrpc`:`2.0`,`method`:`echo`,`id`:1},{`jsonrpc`:`2.0`,`method`:`echo`}]");
  assert_int_equal(calls, 2);
}

UNIT_TEST(appends_to_the_buffer)
{
  const char *request = unit_json("{`jsonrpc`:`2.0`,`method`:`change_mind`,`id`:1}");
  const char *notification = unit_json("[{`jsonrpc`:`2.0`,`method`:`change_mind`}]");
  buffer_clear(&out);
  BUFFER_LITERAL(&out, "before ");
  assert_int_equal(jsonrpc_handle(&service, text_of(notification), &out, &streamed), JSONRPC_NO_REPLY);
  assert_text(buffer_text(&out), "before ");
  assert_int_equal(jsonrpc_handle(&service, text_of(request), &out, &streamed), JSONRPC_REPLY);
  assert_text(buffer_text(&out),
              "before {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Server error\","
              "\"data\":{\"message\":\"late\"}}}");
}

UNIT_TEST(hands_a_stream_over_with_its_tail)
{
  check("{`jsonrpc`:`2.0`,`method`:`stream`,`id`:`s`}", "{`jsonrpc`:`2.0`,`id`:`s`,`result`:{`value`:`",
        JSONRPC_STREAM);
  assert_ptr_equal(streamed.stream, &stream_token);
  assert_text(streamed.tail, "\"}}");
}

UNIT_TEST(streams_only_if_the_service_may_stream)
{
  assert_int_equal(ask("{`jsonrpc`:`2.0`,`method`:`stream`}"), JSONRPC_NO_REPLY);
  service.may_stream = false;
  check("{`jsonrpc`:`2.0`,`method`:`stream`,`id`:1}", RESULT("1", "`whole`"), JSONRPC_REPLY);
  service.may_stream = true;
}

static void write_data(void *context, struct buffer *data, struct text detail, struct text id)
{
  (void)context;
  BUFFER_LITERAL(data, "[");
  json_write_string(data, detail);
  BUFFER_LITERAL(data, ",");
  buffer_append_text(data, id);
  BUFFER_LITERAL(data, "]");
}

UNIT_TEST(lets_the_service_write_error_data)
{
  service.write_error_data = write_data;
  check("{`jsonrpc`:`2.0`,`id`:`x`}",
        "{`jsonrpc`:`2.0`,`id`:`x`,`error`:{`code`:-32600,`message`:`Invalid Request`,`data`:[`Method is "
        "missing`,`x`]}}",
        JSONRPC_REPLY);
  check("?",
        "{`jsonrpc`:`2.0`,`id`:null,`error`:{`code`:-32700,`message`:`Parse error`,`data`:[`Byte 0: "
        "unexpected character`,null]}}",
        JSONRPC_REPLY);
  service.write_error_data = NULL;
}

UNIT_TEST(knows_the_texts_of_the_table)
{
  assert_string_equal(jsonrpc_code_message(-32700), "Parse error");
  assert_string_equal(jsonrpc_code_message(-32600), "Invalid Request");
  assert_string_equal(jsonrpc_code_message(-32601), "Method not found");
  assert_string_equal(jsonrpc_code_message(-32602), "Invalid params");
  assert_string_equal(jsonrpc_code_message(-32603), "Internal error");
  assert_string_equal(jsonrpc_code_message(-32000), "Server error");
  assert_string_equal(jsonrpc_code_message(-32001), "RPC access denied");
  assert_string_equal(jsonrpc_code_message(-32050), "Server error");
}

static int end(void **state)
{
  (void)state;
  buffer_fini(&out);
  arena_fini(&arena);
  return 0;
}

UNIT_MAIN_WITH(NULL, end)
