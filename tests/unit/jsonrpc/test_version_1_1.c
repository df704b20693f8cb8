/* The envelope of JSON-RPC 1.1: the draft's examples, and what its sections 6.2, 7.3 and 7.4 say. */
#include "jsonrpc/jsonrpc.h"

#include "base/number.h"
#include "json/writer.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static int64_t integer_of(struct json_value value)
{
  struct number number;
  number_read(value.span, &number);
  return number.integer;
}

/* What is added up here is told by name or by position; which is which is rpc/jsonrpc/coerce.h's. */
static void sum(const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  int64_t total = 0;
  struct json_cursor cursor = json_enter(request->params);
  struct json_value value;
  struct text key;
  if (request->params.kind == JSON_KIND_ARRAY) {
    while (json_next_element(&cursor, &value))
      total += integer_of(value);
  } else {
    while (json_next_member(&cursor, &key, &value))
      total += integer_of(value);
  }
  json_write_integer(jsonrpc_result(response), total);
}

/* "error:CODE": fails with the code and its standard message. */
static void handle(void *context, const struct jsonrpc_request *request, struct jsonrpc_response *response)
{
  (void)context;
  assert_false(request->is_notification && request->version == JSONRPC_1_1);
  struct text prefix = TEXT("error:");
  if (text_starts_with(request->method, prefix)) {
    struct number number;
    assert_true(number_parse(text_slice(request->method, prefix.len, request->method.len), &number));
    jsonrpc_error(response, (int)number.integer, jsonrpc_code_message((int)number.integer));
  } else if (text_equal(request->method, TEXT("own words"))) {
    BUFFER_LITERAL(jsonrpc_error(response, JSONRPC_SERVER_ERROR, "Out of paper"), "{\"tray\":2}");
  } else if (text_equal(request->method, TEXT("nothing"))) {
    return;
  } else {
    sum(request, response);
  }
}

#define V1          "{\"version\":\"1.1\""
#define FAILS(c, m) ",\"error\":{\"name\":\"JSONRPCError\",\"code\":" c ",\"message\":\"" m "\""
#define DATA(d)     ",\"error\":{\"message\":\"" d "\"}}}"

static const struct example {
  const char *message;
  const char *reply;
  enum jsonrpc_handled handled;
} examples[] = {
    /* 6, 6.2.1, 7.3 */
    {V1 ",\"method\":\"sum\",\"params\":[17,25]}", V1 ",\"result\":42}", JSONRPC_REPLY},
    {V1 ",\"method\":\"sum\",\"params\":{\"a\":12,\"b\":34,\"c\":56}}", V1 ",\"result\":102}", JSONRPC_REPLY},
    {V1 ",\"method\":\"sum\",\"params\":{\"b\":34,\"c\":56,\"a\":12}}", V1 ",\"result\":102}", JSONRPC_REPLY},
    {V1 ",\"method\":\"sum\",\"params\":{\"1\":34,\"c\":56,\"0\":12}}", V1 ",\"result\":102}", JSONRPC_REPLY},
    {V1 ",\"method\":\"sum\",\"params\":[12,34,56]}", V1 ",\"result\":102}", JSONRPC_REPLY},
    {"{\"params\":[1],\"$x\":{},\"method\":\"sum\",\"version\":\"1\\u002e1\"}", V1 ",\"result\":1}",
     JSONRPC_REPLY},
    /* ids */
    {V1 ",\"id\":null,\"method\":\"sum\",\"params\":[]}", V1 ",\"id\":null,\"result\":0}", JSONRPC_REPLY},
    {V1 ",\"id\":{ \"a\" : [1.0] },\"method\":\"sum\",\"params\":[]}",
     V1 ",\"id\":{ \"a\" : [1.0] },\"result\":0}", JSONRPC_REPLY},
    {V1 ",\"id\":false,\"method\":\"sum\",\"params\":[]}", V1 ",\"id\":false,\"result\":0}", JSONRPC_REPLY},
    /* what is no call */
    {V1 "}", V1 FAILS("102", "Bad call") DATA("Method is missing"), JSONRPC_FAILED},
    {V1 ",\"id\":[],\"method\":1}",
     V1 ",\"id\":[]" FAILS("102", "Bad call") DATA("The member method is not a string"), JSONRPC_FAILED},
    {V1 ",\"method\":\"sum\",\"params\":\"x\"}",
     V1 FAILS("102", "Bad call") DATA("The member params is neither an object nor an array"), JSONRPC_FAILED},
    {V1 ",\"method\":\"sum\",\"params\":null}",
     V1 FAILS("102", "Bad call") DATA("The member params is neither an object nor an array"), JSONRPC_FAILED},
    {V1 ",\"id\":1,\"id\":1,\"method\":\"sum\"}",
     V1 FAILS("102", "Bad call") DATA("The member id is given twice"), JSONRPC_FAILED},
    {V1 ",\"id\":1,\"version\":\"1.1\",\"method\":\"sum\"}",
     V1 ",\"id\":1" FAILS("102", "Bad call") DATA("The member version is given twice"), JSONRPC_FAILED},
    /* what is no JSON (7.4's example lacks a bracket) */
    {V1 ",\"id\":1,\"method\":\"sum\",\"params\":[1,2,3,4,5}",
     V1 FAILS("101", "Parse error") DATA("Byte 58: ',' or ']' must come here"), JSONRPC_FAILED},
    /* codes: 2.0's, 1.1's own, others */
    {V1 ",\"method\":\"error:-32603\"}", V1 FAILS("100", "Server error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32700\"}", V1 FAILS("101", "Parse error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32600\"}", V1 FAILS("102", "Bad call") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32602\"}", V1 FAILS("102", "Bad call") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32000\"}", V1 FAILS("104", "Service error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32601\"}", V1 FAILS("105", "Procedure not found") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:-32001\"}", V1 FAILS("106", "Access denied") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:107\"}", V1 FAILS("107", "Procedure not callable by HTTP GET") "}}",
     JSONRPC_NOT_SAFE},
    {V1 ",\"method\":\"error:999\"}", V1 FAILS("999", "Server error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:1000\"}", V1 FAILS("104", "Service error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"error:99\"}", V1 FAILS("104", "Service error") "}}", JSONRPC_FAILED},
    {V1 ",\"method\":\"own words\"}", V1 FAILS("104", "Out of paper") ",\"error\":{\"tray\":2}}}",
     JSONRPC_FAILED},
    {V1 ",\"method\":\"nothing\"}", V1 FAILS("100", "Server error") DATA("The request was not answered"),
     JSONRPC_FAILED},
    /* not 1.1 */
    {"{\"version\":\"1.1\",\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sum\",\"params\":[1]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}", JSONRPC_REPLY},
    {"{\"version\":1.1,\"id\":1,\"method\":\"sum\",\"params\":[1]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid "
     "Request\",\"data\":{\"message\":"
     "\"The member jsonrpc is missing\"}}}",
     JSONRPC_REPLY},
    {"[{\"version\":\"1.1\",\"id\":1,\"method\":\"sum\",\"params\":[1]}]",
     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid "
     "Request\",\"data\":{\"message\":"
     "\"JSON-RPC 1.1 has no batches\"}}}]",
     JSONRPC_REPLY},
};

UNIT_TEST(answers_in_the_form_of_1_1)
{
  for (size_t i = 0; i < COUNT_OF(examples); i++) {
    struct arena arena;
    struct buffer out;
    struct jsonrpc_stream stream;
    arena_init(&arena);
    buffer_init(&out);
    const struct jsonrpc_service service = {
        .arena = &arena, .handle = handle, .limits = {32}, .max_batch = 16};
    enum jsonrpc_handled handled = jsonrpc_handle(&service, text_of(examples[i].message), &out, &stream);
    unit_assert_text(buffer_text(&out), text_of(examples[i].reply), examples[i].message, __LINE__);
    assert_int_equal(handled, examples[i].handled);
    buffer_fini(&out);
    arena_fini(&arena);
  }
}

UNIT_TEST(knows_1_1_in_what_it_cannot_read)
{
  static const struct {
    const char *message;
    bool looks;
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
    assert_int_equal(jsonrpc_looks_like_1_1((struct text){copy, length}), cases[i].looks);
    test_free(copy);
  }
}

UNIT_MAIN
