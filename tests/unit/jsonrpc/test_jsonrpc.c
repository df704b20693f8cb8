#include "jsonrpc/jsonrpc.h"

#include "base/number.h"
#include "json/writer.h"

#include "tests/unit/unit.h"

/* The service of these tests: the methods of the specification's examples and some that misbehave. */

static int calls;
static int stream_token;

static int64_t integer_of(struct json_value value)
{
  struct number number;
  number_read(value.span, &number);
  return number.integer;
}

static void subtract(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  int64_t minuend = 0;
  int64_t subtrahend = 0;
  struct json_cursor cursor = json_enter(request->params);
  struct json_value value;
  struct text key;
  if (request->params.kind == JSON_KIND_OBJECT) {
    while (json_next_member(&cursor, &key, &value))
      *(json_key_is(key, TEXT("minuend")) ? &minuend : &subtrahend) = integer_of(value);
  } else {
    json_next_element(&cursor, &value);
    minuend = integer_of(value);
    json_next_element(&cursor, &value);
    subtrahend = integer_of(value);
  }
  json_write_integer(jsonrpc_result(response), minuend - subtrahend);
}

static void sum(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  int64_t total = 0;
  struct json_cursor cursor = json_enter(request->params);
  struct json_value value;
  while (json_next_element(&cursor, &value))
    total += integer_of(value);
  json_write_integer(jsonrpc_result(response), total);
}

static void reverse(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  struct json_value values[8];
  size_t count = 0;
  struct json_cursor cursor = json_enter(request->params);
  while (json_next_element(&cursor, &values[count]))
    count++;
  struct buffer *out = jsonrpc_result(response);
  buffer_append_char(out, '[');
  while (count > 0) {
    buffer_append_text(out, values[--count].span);
    if (count > 0)
      buffer_append_char(out, ',');
  }
  buffer_append_char(out, ']');
}

static void get_data(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  BUFFER_LITERAL(jsonrpc_result(response), "[\"hello\",5]");
}

static void accept_all(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  BUFFER_LITERAL(jsonrpc_result(response), "null");
}

static void change_mind(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  BUFFER_LITERAL(jsonrpc_result(response), "{\"half\":");
  struct buffer *data = jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Server error");
  BUFFER_LITERAL(data, "{\"message\":\"late\"}");
}

static void plain_error(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  jsonrpc_error(response, 123, "Not \"logged\" in");
}

static void empty_result(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  jsonrpc_result(response);
}

static void stream_result(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  if (!request->may_stream) {
    BUFFER_LITERAL(jsonrpc_result(response), "\"whole\"");
    return;
  }
  BUFFER_LITERAL(jsonrpc_result(response), "{\"value\":\"");
  jsonrpc_result_stream(response, &stream_token, TEXT("\"}"));
}

static void no_answer(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)request;
  (void)response;
}

static void peer_id(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  json_write_string(jsonrpc_result(response), request->peer_id);
}

static const struct {
  const char *name;
  void (*run)(const struct jsonrpc_request *request, struct jsonrpc_response *response);
} methods[] = {
    {"subtract", subtract},    {"sum", sum},
    {"foo", reverse},          {"get_data", get_data},
    {"update", accept_all},    {"notify_hello", accept_all},
    {"notify_sum", sum},       {"change_mind", change_mind},
    {"error", plain_error},    {"empty", empty_result},
    {"stream", stream_result}, {"no_answer", no_answer},
    {"peer_id", peer_id},
};

static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)context;
  calls++;
  for (size_t i = 0; i < COUNT_OF(methods); i++) {
    if (text_equal(request->method, text_of(methods[i].name))) {
      methods[i].run(request, response);
      return;
    }
  }
  jsonrpc_error(response, JSONRPC_METHOD_NOT_FOUND, jsonrpc_code_message(JSONRPC_METHOD_NOT_FOUND));
}

struct reply {
  enum jsonrpc_handled handled;
  struct buffer out;
  struct arena arena;
  struct jsonrpc_stream stream;
};

static struct jsonrpc_service service = {
    .handle = handle, .limits = {5}, .max_batch = 10, .may_stream = true};

static void ask(struct reply *reply, struct text message)
{
  *reply = (struct reply){0};
  arena_init(&reply->arena);
  buffer_init(&reply->out);
  service.arena = &reply->arena;
  char *copy = unit_exact_copy(message.data, message.len);
  reply->handled = jsonrpc_handle(&service, (struct text){copy, message.len}, &reply->out, &reply->stream);
  test_free(copy);
}

static void end(struct reply *reply)
{
  buffer_fini(&reply->out);
  arena_fini(&reply->arena);
}

struct exchange {
  const char *sent;
  const char *received; /* NULL: nothing */
};

static void check_exchanges(const struct exchange *exchanges, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct reply reply;
    ask(&reply, text_of(exchanges[i].sent));
    if (exchanges[i].received == NULL) {
      assert_int_equal(reply.handled, JSONRPC_NO_REPLY);
      assert_int_equal(reply.out.len, 0);
    } else {
      assert_int_equal(reply.handled, JSONRPC_REPLY);
      unit_assert_text(buffer_text(&reply.out), text_of(exchanges[i].received), __FILE__, __LINE__);
    }
    end(&reply);
  }
}

#define RESULT(id, value) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" value "}"
#define ERROR(id, code, message)                                                                             \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}"
#define FAULT(id, code, message, detail)                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message                   \
  "\",\"data\":{\"message\":\"" detail "\"}}}"
#define NO_REQUEST(id, detail) FAULT(id, "-32600", "Invalid Request", detail)
#define NO_JSON(detail)        FAULT("null", "-32700", "Parse error", detail)

/* The examples of the JSON-RPC 2.0 specification, section 7. */
static const struct exchange specification[] = {
    {"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [42, 23], \"id\": 1}", RESULT("1", "19")},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [23, 42], \"id\": 2}", RESULT("2", "-19")},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": {\"subtrahend\": 23, \"minuend\": 42}, "
     "\"id\": 3}",
     RESULT("3", "19")},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": {\"minuend\": 42, \"subtrahend\": 23}, "
     "\"id\": 4}",
     RESULT("4", "19")},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"update\", \"params\": [1,2,3,4,5]}", NULL},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"foobar\"}", NULL},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"foobar\", \"id\": \"1\"}",
     ERROR("\"1\"", "-32601", "Method not found")},
    {"{\"jsonrpc\": \"2.0\", \"method\": \"foobar, \"params\": \"bar\", \"baz]",
     NO_JSON("Byte 39: ',' or '}' must come here")},
    {"{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}",
     NO_REQUEST("null", "The member method is not a string")},
    {"[{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": [1,2,4], \"id\": \"1\"},{\"jsonrpc\": "
     "\"2.0\", \"method\"]",
     NO_JSON("Byte 94: ':' must come here")},
    {"[]", NO_REQUEST("null", "The batch is empty")},
    {"[1]", "[" NO_REQUEST("null", "The request is not an object") "]"},
    {"[1,2,3]",
     "[" NO_REQUEST("null", "The request is not an object") "," NO_REQUEST(
         "null", "The request is not an object") "," NO_REQUEST("null", "The request is not an object") "]"},
    {"[{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": [1,2,4], \"id\": \"1\"},"
     "{\"jsonrpc\": \"2.0\", \"method\": \"notify_hello\", \"params\": [7]},"
     "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [42,23], \"id\": \"2\"},"
     "{\"foo\": \"boo\"},"
     "{\"jsonrpc\": \"2.0\", \"method\": \"foo.get\", \"params\": {\"name\": \"myself\"}, \"id\": \"5\"},"
     "{\"jsonrpc\": \"2.0\", \"method\": \"get_data\", \"id\": \"9\"}]",
     "[" RESULT("\"1\"", "7") "," RESULT("\"2\"", "19") "," NO_REQUEST(
         "null",
         "The member jsonrpc is missing") "," ERROR("\"5\"", "-32601",
                                                    "Method not found") "," RESULT("\"9\"",
                                                                                   "[\"hello\",5]") "]"},
    {"[{\"jsonrpc\": \"2.0\", \"method\": \"notify_sum\", \"params\": [1,2,4]},"
     "{\"jsonrpc\": \"2.0\", \"method\": \"notify_hello\", \"params\": [7]}]",
     NULL},
};

UNIT_TEST(answers_the_examples_of_the_specification)
{
  check_exchanges(specification, COUNT_OF(specification));
}

/* The messages of the library's manual that the project follows. */
static const struct exchange manual[] = {
    {"{\"jsonrpc\": \"2.0\", \"method\": \"foo\", \"params\": [1,2,3], \"id\": 1}", RESULT("1", "[3,2,1]")},
    {"dummy", NO_JSON("Byte 0: unexpected character")},
    {"{\"x\":42}", NO_REQUEST("null", "The member jsonrpc is missing")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"error\",\"id\":7}", ERROR("7", "123", "Not \\\"logged\\\" in")},
};

UNIT_TEST(answers_the_examples_of_the_manual)
{
  check_exchanges(manual, COUNT_OF(manual));
}

static const struct exchange envelopes[] = {
    {"", NO_JSON("The message is empty")},
    {" \r\n\t", NO_JSON("The message is empty")},
    {"{\"jsonrpc\":\"2.0\"", NO_JSON("Byte 16: unexpected end")},
    {"{} {}", NO_JSON("Byte 3: text after the end of the value")},
    {"\xEF\xBB\xBF{}", NO_JSON("Byte 0: unexpected character")},
    {"{'jsonrpc':'2.0'}", NO_JSON("Byte 1: a member's name must come here")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1l,2d],\"id\":1}", RESULT("1", "3")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1],\"id\":1l}",
     NO_JSON("Byte 51: number suffix outside params")},
    {"{\"params\":[1,2],\"method\":\"s\\u0075m\",\"id\":\"\\u0041\",\"jsonrpc\":\"2.0\",\"more\":[[]]}",
     RESULT("\"\\u0041\"", "3")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"id\":null}", RESULT("null", "null")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"id\":1e400}", RESULT("1e400", "null")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"id\":true}",
     NO_REQUEST("null", "The member id is neither a string, a number nor null")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"change_mind\",\"id\":1}",
     FAULT("1", "-32000", "Server error", "late")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"no_answer\",\"id\":1}",
     FAULT("1", "-32603", "Internal error", "The request was not answered")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"empty\",\"id\":1}",
     FAULT("1", "-32603", "Internal error", "The request was not answered")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"no_answer\"}", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"error\"}", NULL},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"params\":5}",
     NO_REQUEST("null", "The member params is neither an object nor an array")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"peer_id\",\"peer-id\":\"\\u0061b\",\"id\":1}", RESULT("1", "\"ab\"")},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"peer_id\",\"peer-id\":5,\"id\":1}", RESULT("1", "\"5\"")},
    {"[[]]", "[" NO_REQUEST("null", "The request is not an object") "]"},
    {"[{\"jsonrpc\":\"2.0\",\"method\":\"update\"},{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[4],"
     "\"id\":2},"
     "{\"jsonrpc\":\"2.0\",\"method\":\"update\"}]",
     "[" RESULT("2", "4") "]"},
    {"[0,0,0,0,0,0,0,0,0,0,0]", NO_REQUEST("null", "The batch of 11 requests passes the batch limit of 10")},
    {"[[[[[[]]]]]]", NO_REQUEST("null", "The message passes the depth limit of 5 at byte 5")},
    {"{\"id\":7,\"params\":[[[[[[]]]]]]}",
     NO_REQUEST("7", "The message passes the depth limit of 5 at byte 21")},
    {"{\"params\":[[[[[[]]]]]],\"id\":7}",
     NO_REQUEST("null", "The message passes the depth limit of 5 at byte 14")},
    {"[{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"id\":1}]", "[" RESULT("1", "\"whole\"") "]"},
};

UNIT_TEST(answers_every_kind_of_envelope)
{
  check_exchanges(envelopes, COUNT_OF(envelopes));
}

UNIT_TEST(runs_nothing_of_a_message_that_is_no_json)
{
  calls = 0;
  struct reply reply;
  ask(&reply, TEXT("[{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"id\":1},"));
  assert_int_equal(calls, 0);
  end(&reply);
  ask(&reply, TEXT("[{\"jsonrpc\":\"2.0\",\"method\":\"update\",\"id\":1},{\"jsonrpc\":\"2.0\",\"method\":"
                   "\"update\"}]"));
  assert_int_equal(calls, 2);
  end(&reply);
}

UNIT_TEST(appends_to_what_is_there)
{
  struct arena arena;
  struct buffer out;
  struct jsonrpc_stream stream;
  arena_init(&arena);
  buffer_init(&out);
  service.arena = &arena;
  BUFFER_LITERAL(&out, "before ");
  struct text request = TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"change_mind\",\"id\":1}");
  struct text notification = TEXT("[{\"jsonrpc\":\"2.0\",\"method\":\"change_mind\"}]");
  assert_int_equal(jsonrpc_handle(&service, notification, &out, &stream), JSONRPC_NO_REPLY);
  assert_text(buffer_text(&out), "before ");
  assert_int_equal(jsonrpc_handle(&service, request, &out, &stream), JSONRPC_REPLY);
  assert_text(buffer_text(&out), "before " FAULT("1", "-32000", "Server error", "late"));
  buffer_fini(&out);
  arena_fini(&arena);
}

UNIT_TEST(hands_a_stream_over_with_its_tail)
{
  struct reply reply;
  ask(&reply, TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"id\":\"s\"}"));
  assert_int_equal(reply.handled, JSONRPC_STREAM);
  assert_text(buffer_text(&reply.out), "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{\"value\":\"");
  assert_ptr_equal(reply.stream.stream, &stream_token);
  assert_text(reply.stream.tail, "\"}}");
  end(&reply);
}

UNIT_TEST(streams_only_where_it_may)
{
  struct reply reply;
  ask(&reply, TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"stream\"}"));
  assert_int_equal(reply.handled, JSONRPC_NO_REPLY);
  end(&reply);
  service.may_stream = false;
  ask(&reply, TEXT("{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"id\":1}"));
  assert_int_equal(reply.handled, JSONRPC_REPLY);
  end(&reply);
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
  struct reply reply;
  ask(&reply, TEXT("{\"jsonrpc\":\"2.0\",\"id\":\"x\"}"));
  assert_text(buffer_text(&reply.out),
              "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32600,\"message\":"
              "\"Invalid Request\",\"data\":[\"Method is missing\",\"x\"]}}");
  end(&reply);
  ask(&reply, TEXT("?"));
  assert_text(buffer_text(&reply.out),
              "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
              "\"Parse error\",\"data\":[\"Byte 0: unexpected character\",null]}}");
  end(&reply);
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

UNIT_MAIN
