/* The envelopes of JSON-RPC 2.0 and 1.1, and what a handler may do. tests/unit/jsonrpc/test_library.c has the examples of the
 * specification. Backquotes stand for quotes. */
#include "jsonrpc/jsonrpc.h"

#include "base/number.h"
#include "json/writer.h"

#include "tests/unit/unit.h"

#include <stdio.h>

static int calls;
static int stream_token;

static void append_part(struct buffer *out, bool is_there, struct text part)
{
  buffer_append_char(out, ',');
  buffer_append_text(out, is_there ? part : TEXT("0"));
}

/* What a request is, where the handler is asked to show it: method, id, peer-id, params, options, and 0 for what is not
 * there. */
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

/* The reply is in `out` then. */
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

/* reply: NULL for none. */
static void check(const char *message, const char *reply, enum jsonrpc_handled wanted)
{
  enum jsonrpc_handled handled = ask(message);
  if (reply != NULL)
    unit_assert_text(buffer_text(&out), text_of(unit_json(reply)), message, __LINE__);
  else
    assert_int_equal(out.len, 0);
  assert_int_equal(handled, wanted);
}

struct exchange {
  const char *sent;
  const char *received; /* NULL: nothing */
};

#define RESULT(id, value) "{`jsonrpc`:`2.0`,`id`:" id ",`result`:" value "}"
#define FAULT(id, code, message, detail)                                                                     \
  "{`jsonrpc`:`2.0`,`id`:" id ",`error`:{`code`:" code ",`message`:`" message "`,`data`:{`message`:`" detail \
  "`}}}"
#define NO_REQUEST(id, detail) FAULT(id, "-32600", "Invalid Request", detail)
#define NO_JSON(detail)        FAULT("null", "-32700", "Parse error", detail)
#define NO_OBJECT              "The request is not an object"

static const struct exchange envelopes[] = {
    {"", NO_JSON("The message is empty")},
    {" \r\n\t", NO_JSON("The message is empty")},
    {"{`jsonrpc`:`2.0`", NO_JSON("Byte 16: unexpected end")},
    {"{} {}", NO_JSON("Byte 3: text after the end of the value")},
    {"\xEF\xBB\xBF{}", NO_JSON("Byte 0: unexpected character")},
    {"{'jsonrpc':'2.0'}", NO_JSON("Byte 1: a member's name must come here")},
    {"{`jsonrpc`:`2.0`,`method`:`echo`,`params`:[1l,2d],`id`:1}", RESULT("1", "[1l,2d]")},
    {"{`jsonrpc`:`2.0`,`method`:`echo`,`params`:[1],`id`:1l}",
     NO_JSON("Byte 52: number suffix outside params")},
    {"{`jsonrpc`:`2.0`,`method`:`echo`,`id`:null}", RESULT("null", "null")},
    {"{`jsonrpc`:`2.0`,`method`:`echo`,`id`:1e400}", RESULT("1e400", "null")},
    {"{`jsonrpc`:`2.0`,`method`:`change_mind`,`id`:1}", FAULT("1", "-32000", "Server error", "late")},
    {"{`jsonrpc`:`2.0`,`method`:`no_answer`,`id`:1}",
     FAULT("1", "-32603", "Internal error", "The request was not answered")},
    {"{`jsonrpc`:`2.0`,`method`:`empty`,`id`:1}",
     FAULT("1", "-32603", "Internal error", "The request was not answered")},
    {"{`jsonrpc`:`2.0`,`method`:`no_answer`}", NULL},
    {"{`jsonrpc`:`2.0`,`method`:`error:5`}", NULL},
    {"{`jsonrpc`:`2.0`,`method`:`peer_id`,`peer-id`:`\\u0061b`,`id`:1}", RESULT("1", "`ab`")},
    {"{`jsonrpc`:`2.0`,`method`:`peer_id`,`peer-id`:5,`id`:1}", RESULT("1", "`5`")},
    {"[[]]", "[" NO_REQUEST("null", "The request is not an object") "]"},
    {"[{`jsonrpc`:`2.0`,`method`:`echo`},{`jsonrpc`:`2.0`,`method`:`echo`,`params`:[4],`id`:2},{`jsonrpc`:`2."
     "0`,`method`:`echo`}]",
     "[" RESULT("2", "[4]") "]"},
    {"[0,0,0,0,0,0,0,0,0,0,0]", NO_REQUEST("null", "The batch of 11 requests passes the batch limit of 10")},
    {"[[[[[[]]]]]]", NO_REQUEST("null", "The message passes the depth limit of 5 at byte 5")},
    {"{`id`:7,`params`:[[[[[[]]]]]]}", NO_REQUEST("7", "The message passes the depth limit of 5 at byte 21")},
    {"{`params`:[[[[[[]]]]]],`id`:7}",
     NO_REQUEST("null", "The message passes the depth limit of 5 at byte 14")},
    {"[{`jsonrpc`:`2.0`,`method`:`stream`,`id`:1}]", "[" RESULT("1", "`whole`") "]"},
    {"{`jsonrpc`:`2.0`,`method`:`own words`,`id`:1}",
     "{`jsonrpc`:`2.0`,`id`:1,`error`:{`code`:-32000,`message`:`Out \\`of\\` paper`,`data`:{`tray`:2}}}"},
    {"{`jsonrpc`:`2.0`,`method`:`error:123`,`id`:1}",
     "{`jsonrpc`:`2.0`,`id`:1,`error`:{`code`:123,`message`:`Server error`}}"},
    {"{`version`:1.1,`id`:1,`method`:`echo`,`params`:[1]}", NO_REQUEST("1", "The member jsonrpc is missing")},
    {"[{`version`:`1.1`,`id`:1,`method`:`echo`,`params`:[1]}]",
     "[" NO_REQUEST("1", "JSON-RPC 1.1 has no batches") "]"},
    {"[{`jsonrpc`:`2.0`,`method`:`change_mind`}]", NULL},
    /* the members, in any order and spelling, and what is not there */
    {"{`jsonrpc`:`2.0`,`id`:`a\\u0031`,`method`:`c\\u0061ll`,`params`:{`x`:5l},`peer-id`:`\\u0070`}",
     RESULT("`a\\u0031`", "[`call`,`a\\u0031`,p,{`x`:5l},0]")},
    {"{`p\\u0061rams`:{`x`:5l},`peer\\u002did`:`\\u0070`,`meth\\u006fd`:`c\\u0061ll`,`other`:[{`id`:9}],`"
     "\\u0069d`:`a\\u0031`,`other`:1,`jsonrpc`:`2\\u002e0`,`version`:`1.1`}",
     RESULT("`a\\u0031`", "[`call`,`a\\u0031`,p,{`x`:5l},0]")},
    {"{`jsonrpc`:`2.0`,`method`:``,`id`:1}", RESULT("1", "[``,1,0,0,0]")},
    {"{`opti\\u006fns`:{`a`:{}},`jsonrpc`:`2.0`,`method`:``,`id`:1}", RESULT("1", "[``,1,0,0,{`a`:{}}]")},
    {"{`options`:null,`jsonrpc`:`2.0`,`method`:``,`id`:1}", RESULT("1", "[``,1,0,0,null]")},
    {"{`options`:[1],`jsonrpc`:`2.0`,`method`:``,`id`:1}", RESULT("1", "[``,1,0,0,[1]]")},
};

UNIT_TEST(answers_every_kind_of_envelope)
{
  for (size_t i = 0; i < COUNT_OF(envelopes); i++)
    check(envelopes[i].sent, envelopes[i].received,
          envelopes[i].received == NULL ? JSONRPC_NO_REPLY : JSONRPC_REPLY);
}

/* What is no request, the id that the answer has, and why. */
static const struct {
  const char *message;
  const char *id;
  const char *detail;
} bad[] = {
    {"5", "null", NO_OBJECT},
    {"`x`", "null", NO_OBJECT},
    {"null", "null", NO_OBJECT},
    {"{}", "null", "The member jsonrpc is missing"},
    {"{`x`:42}", "null", "The member jsonrpc is missing"},
    {"{`method`:`m`,`id`:1}", "1", "The member jsonrpc is missing"},
    {"{`version`:`1.0`,`method`:`m`,`id`:1}", "1", "The member jsonrpc is missing"},
    {"{`jsonrpc`:`1.0`,`method`:`m`,`id`:1}", "1", "The member jsonrpc is not \\`2.0\\`"},
    {"{`jsonrpc`:2.0,`method`:`m`,`id`:1}", "1", "The member jsonrpc is not \\`2.0\\`"},
    {"{`jsonrpc`:null,`version`:`1.1`,`method`:`m`}", "null", "The member jsonrpc is not \\`2.0\\`"},
    {"{`jsonrpc`:`2.00`,`method`:`m`,`id`:1}", "1", "The member jsonrpc is not \\`2.0\\`"},
    {"{`jsonrpc`:`2.0`,`id`:1}", "1", "Method is missing"},
    {"{`jsonrpc`:`2.0`,`Method`:`m`,`id`:1}", "1", "Method is missing"},
    {"{`jsonrpc`:`2.0`,`method`:1,`id`:`x`}", "`x`", "The member method is not a string"},
    {"{`jsonrpc`:`2.0`,`method`:null,`id`:null}", "null", "The member method is not a string"},
    {"{`jsonrpc`:`2.0`,`method`:[],`params`:`bar`}", "null", "The member method is not a string"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:true}", "null",
     "The member id is neither a string, a number nor null"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:{}}", "null",
     "The member id is neither a string, a number nor null"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:[1]}", "null",
     "The member id is neither a string, a number nor null"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:1,`params`:5}", "1",
     "The member params is neither an object nor an array"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`params`:null}", "null",
     "The member params is neither an object nor an array"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`params`:`x`,`id`:1}", "1",
     "The member params is neither an object nor an array"},
    {"{`jsonrpc`:`2.0`,`jsonrpc`:`2.0`,`method`:`m`,`id`:1}", "1", "The member jsonrpc is given twice"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:1,`method`:`m`}", "1", "The member method is given twice"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:1,`params`:{},`p\\u0061rams`:{}}", "1",
     "The member params is given twice"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:1,`\\u0069d`:1}", "null", "The member id is given twice"},
    {"{`jsonrpc`:`2.0`,`method`:`m`,`id`:1,`peer-id`:1,`peer-id`:2}", "1",
     "The member peer-id is given twice"},
    {"{`jsonrpc`:`2.0`,`options`:{},`method`:`m`,`id`:1,`options`:{}}", "1",
     "The member options is given twice"},
};

UNIT_TEST(says_what_is_no_request_and_why)
{
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    char reply[512];
    snprintf(reply, sizeof reply, NO_REQUEST("%s", "%s"), bad[i].id, bad[i].detail);
    check(bad[i].message, reply, JSONRPC_REPLY);
  }
}

UNIT_TEST(passes_over_options_where_the_service_has_none)
{
  service.takes_options = false;
  check("{`jsonrpc`:`2.0`,`options`:5,`method`:``,`id`:1,`options`:{}}", RESULT("1", "[``,1,0,0,0]"),
        JSONRPC_REPLY);
  service.takes_options = true;
}

UNIT_TEST(gives_ids_back_byte_for_byte)
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

#define V1          "{`version`:`1.1`"
#define FAILS(c, m) ",`error`:{`name`:`JSONRPCError`,`code`:" c ",`message`:`" m "`"
#define DATA(d)     ",`error`:{`message`:`" d "`}}}"

/* The draft's sections 6.2, 7.3 and 7.4. */
static const struct exchange of_1_1[] = {
    /* 6, 6.2.1, 7.3 */
    {V1 ",`method`:`echo`,`params`:{ `b`:34,`0`:12}}", V1 ",`result`:{ `b`:34,`0`:12}}"},
    {"{`params`:[1],`$x`:{},`method`:`echo`,`version`:`1\\u002e1`}", V1 ",`result`:[1]}"},
    /* ids */
    {V1 ",`id`:null,`method`:`echo`,`params`:[]}", V1 ",`id`:null,`result`:[]}"},
    {V1 ",`id`:{ `a` : [1.0] },`method`:`echo`,`params`:[]}", V1 ",`id`:{ `a` : [1.0] },`result`:[]}"},
    {V1 ",`id`:false,`method`:`echo`,`params`:[]}", V1 ",`id`:false,`result`:[]}"},
    /* what is no call */
    {V1 "}", V1 FAILS("102", "Bad call") DATA("Method is missing")},
    {V1 ",`id`:[],`method`:1}",
     V1 ",`id`:[]" FAILS("102", "Bad call") DATA("The member method is not a string")},
    {V1 ",`method`:`echo`,`params`:`x`}",
     V1 FAILS("102", "Bad call") DATA("The member params is neither an object nor an array")},
    {V1 ",`method`:`echo`,`params`:null}",
     V1 FAILS("102", "Bad call") DATA("The member params is neither an object nor an array")},
    {V1 ",`id`:1,`id`:1,`method`:`echo`}", V1 FAILS("102", "Bad call") DATA("The member id is given twice")},
    {V1 ",`id`:1,`version`:`1.1`,`method`:`echo`}",
     V1 ",`id`:1" FAILS("102", "Bad call") DATA("The member version is given twice")},
    /* what is no JSON (7.4's example lacks a bracket) */
    {V1 ",`id`:1,`method`:`echo`,`params`:[1,2,3,4,5}",
     V1 FAILS("101", "Parse error") DATA("Byte 59: ',' or ']' must come here")},
    /* codes: 2.0's, 1.1's own, others */
    {V1 ",`method`:`error:-32603`}", V1 FAILS("100", "Server error") "}}"},
    {V1 ",`method`:`error:-32700`}", V1 FAILS("101", "Parse error") "}}"},
    {V1 ",`method`:`error:-32600`}", V1 FAILS("102", "Bad call") "}}"},
    {V1 ",`method`:`error:-32602`}", V1 FAILS("102", "Bad call") "}}"},
    {V1 ",`method`:`error:-32000`}", V1 FAILS("104", "Service error") "}}"},
    {V1 ",`method`:`error:-32601`}", V1 FAILS("105", "Procedure not found") "}}"},
    {V1 ",`method`:`error:-32001`}", V1 FAILS("106", "Access denied") "}}"},
    {V1 ",`method`:`error:107`}", V1 FAILS("107", "Procedure not callable by HTTP GET") "}}"},
    {V1 ",`method`:`error:999`}", V1 FAILS("999", "Server error") "}}"},
    {V1 ",`method`:`error:1000`}", V1 FAILS("104", "Service error") "}}"},
    {V1 ",`method`:`error:99`}", V1 FAILS("104", "Service error") "}}"},
    {V1 ",`method`:`own words`}", V1 FAILS("104", "Out \\`of\\` paper") ",`error`:{`tray`:2}}}"},
    {V1 ",`method`:`no_answer`}", V1 FAILS("100", "Server error") DATA("The request was not answered")},
};

UNIT_TEST(answers_in_the_form_of_1_1)
{
  for (size_t i = 0; i < COUNT_OF(of_1_1); i++) {
    bool is_error = strstr(of_1_1[i].received, "JSONRPCError") != NULL;
    enum jsonrpc_handled failed =
        strstr(of_1_1[i].received, ":107,") != NULL ? JSONRPC_NOT_SAFE : JSONRPC_FAILED;
    check(of_1_1[i].sent, of_1_1[i].received, is_error ? failed : JSONRPC_REPLY);
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

UNIT_TEST(runs_nothing_of_a_message_that_is_no_json)
{
  calls = 0;
  ask("[{`jsonrpc`:`2.0`,`method`:`echo`,`id`:1},");
  assert_int_equal(calls, 0);
  ask("[{`jsonrpc`:`2.0`,`method`:`echo`,`id`:1},{`jsonrpc`:`2.0`,`method`:`echo`}]");
  assert_int_equal(calls, 2);
}

UNIT_TEST(appends_to_what_is_there)
{
  const char *request = unit_json("{`jsonrpc`:`2.0`,`method`:`change_mind`,`id`:1}");
  const char *notification = unit_json("[{`jsonrpc`:`2.0`,`method`:`change_mind`}]");
  buffer_clear(&out);
  BUFFER_LITERAL(&out, "before ");
  assert_int_equal(jsonrpc_handle(&service, text_of(notification), &out, &streamed), JSONRPC_NO_REPLY);
  assert_text(buffer_text(&out), "before ");
  assert_int_equal(jsonrpc_handle(&service, text_of(request), &out, &streamed), JSONRPC_REPLY);
  unit_assert_text(buffer_text(&out),
                   text_of(unit_json("before " FAULT("1", "-32000", "Server error", "late"))), __FILE__,
                   __LINE__);
}

UNIT_TEST(hands_a_stream_over_with_its_tail)
{
  check("{`jsonrpc`:`2.0`,`method`:`stream`,`id`:`s`}", "{`jsonrpc`:`2.0`,`id`:`s`,`result`:{`value`:`",
        JSONRPC_STREAM);
  assert_ptr_equal(streamed.stream, &stream_token);
  assert_text(streamed.tail, "\"}}");
}

UNIT_TEST(streams_only_where_it_may)
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
