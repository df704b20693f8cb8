/* Responses of HTTP, whole and in pieces, valid and invalid. */
#include "client/transports/http_responses.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { BODY_MAX = 1000 };

/* Feeds the input in pieces of that length, each a copy of exactly its size. */
static enum jp_client_status feed(struct http_reader *reader, struct text input, size_t piece, bool ends,
                                  struct buffer *output, struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  struct http_response response;
  bool is_whole;
  for (size_t at = 0; input.data != NULL && at < input.len && status == JP_CLIENT_OK;) {
    size_t length = piece < input.len - at ? piece : input.len - at;
    size_t used;
    char *copy = unit_exact_copy(input.data + at, length);
    status = http_reader_read(reader, (struct text){copy, length}, &used, &response, &is_whole, error);
    if (status == JP_CLIENT_OK && is_whole)
      buffer_printf(output, "%d %s%s[%.*s]", response.status, response.is_json ? "json " : "",
                    response.is_last ? "last " : "", TEXT_ARGS(response.body));
    at += used;
    test_free(copy);
  }
  if (status == JP_CLIENT_OK && ends) {
    status = http_reader_end(reader, &response, &is_whole, error);
    if (status == JP_CLIENT_OK && is_whole)
      buffer_printf(output, "%d %s[%.*s]", response.status, response.is_last ? "last " : "",
                    TEXT_ARGS(response.body));
  }
  return status;
}

static void check(const char *input, size_t size, bool ends, enum jp_client_status wanted, const char *what)
{
  for (size_t piece = 1; piece <= size; piece++) {
    struct http_reader reader;
    struct buffer output = {0};
    struct jp_client_error error = {0};
    http_reader_init(&reader, BODY_MAX);
    enum jp_client_status status = feed(&reader, (struct text){input, size}, piece, ends, &output, &error);
    struct text got = output.len == 0 ? TEXT("") : buffer_text(&output);
    if (status != JP_CLIENT_OK)
      got = text_of(error.text);
    bool is_right = wanted == JP_CLIENT_OK ? text_equal(got, text_of(what))
                                           : memmem(got.data, got.len, what, strlen(what)) != NULL;
    if (status != wanted || !is_right)
      fail_msg("in pieces of %zu: %d %.*s\nwanted %d %s\nof %s", piece, status, TEXT_ARGS(got), wanted, what,
               input);
    buffer_fini(&output);
    http_reader_fini(&reader);
  }
}

#define CHECK(input, what)              check((input), sizeof(input) - 1, false, JP_CLIENT_OK, (what))
#define CHECK_END(input, what)          check((input), sizeof(input) - 1, true, JP_CLIENT_OK, (what))
#define CHECK_FAILS(input, status, why) check((input), sizeof(input) - 1, false, (status), (why))

#define OK   "HTTP/1.1 200 OK\r\n"
#define JSON "Content-Type: application/json\r\n"

UNIT_TEST(test_valid)
{
  CHECK(OK JSON "Content-Length: 2\r\n\r\n{}", "200 json [{}]");
  CHECK(OK "content-TYPE:\t application/JSON ; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        "200 json [{}]");
  CHECK(OK "Content-Type: application/jsonx\r\nContent-Length: 2\r\n\r\n{}", "200 [{}]");
  CHECK(OK "Content-Typ: application/json\r\nContent-Length: 0\r\n\r\n", "200 []");
  CHECK("HTTP/1.1 204 No Content\r\n\r\n" OK JSON "Content-Length: 1\r\n\r\n1", "204 []200 json [1]");
  CHECK("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n" JSON "Content-Length: 2\r\n\r\n{}",
        "503 json last [{}]");
  CHECK("HTTP/1.1 403\r\nContent-Length: 3\r\n\r\nno\n", "403 [no\n]");
  CHECK("HTTP/1.1 100 Continue\r\n\r\n" OK JSON "Content-Length: 2\r\n\r\n[]", "200 json [[]]");
  CHECK("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1", "200 last [1]");
}

UNIT_TEST(test_chunks)
{
  CHECK(OK JSON "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n" OK
                "Content-Length: 0\r\n\r\n",
        "200 json [{}]200 []");
  CHECK(OK "Transfer-Encoding: chunked\r\n\r\n00A;name=\"value\"\r\n0123456789\r\n0\r\n" JSON "\r\n",
        "200 [0123456789]"); /* the type in a trailer does not count */
  CHECK(OK JSON "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 json []");
  CHECK(OK JSON
        "Transfer-Encoding: chunked\r\n\r\n2 ; a = b;c=\"d\\\"e; \";f\r\n{}\r\n0; x=\"y\"\r\n\r\n" OK JSON
        "Content-Length: 2\r\n\r\n[]",
        "200 json [{}]200 json [[]]");
}

UNIT_TEST(test_end)
{
  CHECK_END(OK "\r\nuntil the end", "200 last [until the end]");
  CHECK_END(OK JSON "Content-Length: 2\r\n\r\n{}", "200 json [{}]");
  static const char *const cut[] = {"H", OK "Cont", OK "Content-Length: 2\r\n\r\n{",
                                    OK "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"};
  for (size_t i = 0; i < COUNT_OF(cut); i++)
    check(cut[i], strlen(cut[i]), true, JP_CLIENT_CLOSED, "inside an answer");
}

UNIT_TEST(test_invalid)
{
  CHECK_FAILS("hello", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS("\x81\x02{}", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS("GET / HTTP/1.1\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS("HTTP/1.1 2x0 OK\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS(OK "Content-Length: 1x\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS(OK "Content-Length: 99999999999999999999999\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS(OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", JP_CLIENT_PROTOCOL,
              "no HTTP response");
  CHECK_FAILS(OK "Transfer-Encoding: chunked\r\n\r\nx\r\n", JP_CLIENT_PROTOCOL, "no HTTP response");
  CHECK_FAILS(OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", JP_CLIENT_PROTOCOL,
              "no HTTP response");
  static const char *const extensions[] = {"\n",      " x\r\n", ";a=\"b\r\nc\"\r\n", ";a=\"b\nc\"\r\n",
                                           ";=b\r\n", " \r\n"};
  for (size_t i = 0; i < COUNT_OF(extensions); i++) {
    char input[200];
    snprintf(input, sizeof input, "%s%s%s%s", OK "Transfer-Encoding: chunked\r\n\r\n1", extensions[i], "{",
             "\r\n");
    CHECK_FAILS(input, JP_CLIENT_PROTOCOL, "chunk extension");
  }
  CHECK_FAILS("HTTP/1.1 101 Switching Protocols\r\n\r\n", JP_CLIENT_PROTOCOL, "change of protocols");
}

UNIT_TEST(test_long)
{
  enum { LONG = 200 * 1024 };
  static const char *const forms[] = {OK "X: %s", OK "%s", "HTTP/1.1 200 %s",
                                      OK "Transfer-Encoding: chunked\r\n\r\n1;%s",
                                      OK "Transfer-Encoding: chunked\r\n\r\n0\r\nX: %s"};
  char *many = test_malloc(LONG + 1);
  memset(many, 'a', LONG);
  many[LONG] = '\0';
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    struct buffer input = {0};
    struct buffer output = {0};
    struct http_reader reader;
    struct jp_client_error error;
    const char *place = strstr(forms[i], "%s");
    buffer_append(&input, forms[i], (size_t)(place - forms[i]));
    buffer_append(&input, many, LONG);
    http_reader_init(&reader, BODY_MAX);
    assert_int_equal(feed(&reader, buffer_text(&input), 1000, false, &output, &error), JP_CLIENT_LIMIT);
    assert_string_equal(error.text, "the head of a response is too long");
    http_reader_fini(&reader);
    buffer_fini(&input);
    buffer_fini(&output);
  }
  test_free(many);
  CHECK_FAILS(OK "Content-Length: 1001\r\n\r\n", JP_CLIENT_LIMIT, "message_max, 1000 bytes");
  CHECK_FAILS(OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n3e8\r\naaaa" /* cut */, JP_CLIENT_OK, "");
}

/* A body without an announced end. */
UNIT_TEST(test_long_body)
{
  static const char *const heads[] = {OK "\r\n", OK "Transfer-Encoding: chunked\r\n\r\nffff\r\n"};
  char body[BODY_MAX + 1];
  memset(body, 'a', sizeof body);
  for (size_t i = 0; i < COUNT_OF(heads); i++) {
    struct buffer input = {0};
    buffer_append_text(&input, text_of(heads[i]));
    buffer_append(&input, body, BODY_MAX);
    check(input.data, input.len, false, JP_CLIENT_OK, "");
    buffer_append(&input, body, 1);
    check(input.data, input.len, false, JP_CLIENT_LIMIT, "message_max, 1000 bytes");
    buffer_fini(&input);
  }
}

UNIT_TEST(test_description)
{
  static const char input[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 19\r\n\r\nno such page here\nx";
  struct http_reader reader;
  struct http_response response;
  struct jp_client_error error;
  struct buffer words = {0};
  bool is_whole;
  size_t used;
  http_reader_init(&reader, BODY_MAX);
  assert_int_equal(http_reader_read(&reader, TEXT(input), &used, &response, &is_whole, &error), JP_CLIENT_OK);
  assert_true(is_whole);
  assert_int_equal(used, sizeof input - 1);
  http_reader_describe(&reader, &response, &words);
  assert_text(buffer_text(&words), "403 Forbidden: no such page here");
  buffer_fini(&words);
  http_reader_fini(&reader);
}

UNIT_MAIN
