#include "net/http/http_parser.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { HEAD_MAX = 1024, BODY_MAX = 64 };

/* The bytes of a request, and the expected result: the body, or the status of the error. */
struct sample {
  const char *name;
  const char *bytes;
  size_t length; /* 0: the length of the string */
  int status;    /* 0: the request is accepted */
  const char *body;
};

#define HOST           "Host: localhost\r\n"
#define POST           "POST /rpc HTTP/1.1\r\n" HOST
#define CHUNKED        POST "Transfer-Encoding: chunked\r\n\r\n"
#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct sample SAMPLES[] = {
    /* Refused, because two parsers could interpret it differently. */
    {"two lengths", POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 0, 400, NULL},
    {"the same length twice", POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"a list of lengths", POST "Content-Length: 1, 1\r\n\r\na", 0, 400, NULL},
    {"a signed length", POST "Content-Length: +1\r\n\r\na", 0, 400, NULL},
    {"a negative length", POST "Content-Length: -1\r\n\r\na", 0, 400, NULL},
    {"a hexadecimal length", POST "Content-Length: 0x1\r\n\r\na", 0, 400, NULL},
    {"a length with a space in it", POST "Content-Length: 1 1\r\n\r\na", 0, 400, NULL},
    {"an empty length", POST "Content-Length: \r\n\r\na", 0, 400, NULL},
    {"a length beyond 64 bits", POST "Content-Length: 18446744073709551617\r\n\r\na", 0, 400, NULL},
    {"length and chunked", POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na", 0, 400, NULL},
    {"chunked and length", POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0,
     400, NULL},
    {"chunked in a list", POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"chunked, then identity", POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"gzip, then chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"gzip alone", POST "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"chunked with a vertical tab", POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"quoted chunked", POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, 400, NULL},
    {"a space before the colon", POST "Content-Length : 1\r\n\r\na", 0, 400, NULL},
    {"a tab before the colon", POST "Content-Length\t: 1\r\n\r\na", 0, 400, NULL},
    {"a folded line", POST "X: a\r\n b\r\nContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"a line folded by a tab", POST "X: a\r\n\tb\r\nContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"a first field that is folded", "POST / HTTP/1.1\r\n Host: a\r\n\r\n", 0, 400, NULL},
    {"a bare LF", "POST / HTTP/1.1\nHost: a\r\n\r\n", 0, 400, NULL},
    {"a bare LF after a field", "POST / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 0, 400, NULL},
    {"a bare CR in a value", POST "X: a\rContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"a bare CR at the end of a value", POST "X: a\r\r\nContent-Length: 1\r\n\r\na", 0, 400, NULL},
    {"a bare CR in the request line", "POST /\r HTTP/1.1\r\n" HOST "\r\n", 0, 400, NULL},
    {"NUL in a value", BYTES(POST "X: a\0b\r\n\r\n"), 400, NULL},
    {"NUL in a name", BYTES(POST "X\0: ab\r\n\r\n"), 400, NULL},
    {"NUL in the target", BYTES("POST /\0 HTTP/1.1\r\n" HOST "\r\n"), 400, NULL},
    {"DEL in a value", POST "X: \x7f\r\n\r\n", 0, 400, NULL},
    {"a line without a colon", POST "Nonsense\r\n\r\n", 0, 400, NULL},
    {"a line that begins with a colon", POST ": a\r\n\r\n", 0, 400, NULL},
    {"a name that is no token", POST "X(y): a\r\n\r\n", 0, 400, NULL},
    {"two hosts", "POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 0, 400, NULL},
    {"the same host twice", "POST / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 0, 400, NULL},
    {"no host", "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 0, 400, NULL},
    {"two peer-ids", POST "peer-id: a\r\npeer-id: a\r\nContent-Length: 0\r\n\r\n", 0, 400, NULL},
    {"two content types", POST "Content-Type: a\r\nContent-Type: a\r\nContent-Length: 0\r\n\r\n", 0, 400,
     NULL},
    {"two origins", POST "Origin: a\r\nOrigin: a\r\nContent-Length: 0\r\n\r\n", 0, 400, NULL},

    /* The request line. */
    {"no version", "POST /\r\n\r\n", 0, 400, NULL},
    {"HTTP/0.9", "POST / HTTP/0.9\r\n\r\n", 0, 505, NULL},
    {"HTTP/1.2", "POST / HTTP/1.2\r\n" HOST "\r\n", 0, 505, NULL},
    {"HTTP/2.0", "POST / HTTP/2.0\r\n" HOST "\r\n", 0, 505, NULL},
    {"HTTP/11.1", "POST / HTTP/11.1\r\n" HOST "\r\n", 0, 400, NULL},
    {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 505, NULL},
    {"another protocol", "POST / RTSP/1.0\r\n\r\n", 0, 400, NULL},
    {"a method of another protocol", "DESCRIBE / HTTP/1.1\r\n" HOST "\r\n", 0, 400, NULL},
    {"an unknown method", "BREW / HTTP/1.1\r\n" HOST "\r\n", 0, 501, NULL},
    {"a method in lower case", "post / HTTP/1.1\r\n" HOST "\r\n", 0, 501, NULL},
    {"two spaces", "POST  / HTTP/1.1\r\n" HOST "\r\n", 0, 400, NULL},
    {"a space at the end", "POST / HTTP/1.1 \r\n" HOST "\r\n", 0, 400, NULL},
    {"a tab for a space", "POST\t/ HTTP/1.1\r\n" HOST "\r\n", 0, 400, NULL},
    {"TLS", BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400, NULL},
    {"bytes beyond ASCII in the target", "POST /\xff HTTP/1.1\r\n" HOST "\r\n", 0, 400, NULL},

    /* Bodies in chunks. */
    {"a chunk size that is no number", CHUNKED "g\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a signed chunk size", CHUNKED "+1\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a chunk size with 0x", CHUNKED "0x1\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a chunk size that overflows", CHUNKED "10000000000000001\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a chunk size and a space", CHUNKED "1 \r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a chunk size and a bare LF", CHUNKED "1\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a chunk size and a bare CR", CHUNKED "1\ra\r\n0\r\n\r\n", 0, 400, NULL},
    {"chunk data without its CR LF", CHUNKED "1\r\nab\r\n0\r\n\r\n", 0, 400, NULL},
    {"chunk data and a bare LF", CHUNKED "1\r\na\n0\r\n\r\n", 0, 400, NULL},
    {"an end without its CR LF", CHUNKED "0\r\nGET / HTTP/1.1\r\n", 0, 400, NULL},
    {"an end by a bare LF", CHUNKED "0\r\n\nG", 0, 400, NULL},
    {"an extension with a bare LF", CHUNKED "1;x\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a line break in a quoted value", CHUNKED "1;c=\"\r\n\"\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"an escaped line break in a quoted value", CHUNKED "1;c=\"\\\r\n\"\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a quoted value with a bare LF", CHUNKED "1;c=\"\n\"\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a quoted value and more", CHUNKED "1;c=\"d\"e\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a quote inside a token", CHUNKED "1;c=d\"e\"\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"an extension without a name", CHUNKED "1;\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"an extension with a sign and no value", CHUNKED "1;c=\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"blanks after an extension", CHUNKED "1;c \r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"blanks before a size", CHUNKED " 1\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"an extension without a size", CHUNKED ";c\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"a size that is interrupted", CHUNKED "1;c\r1\r\na\r\n0\r\n\r\n", 0, 400, NULL},
    {"NUL in a quoted value", BYTES(CHUNKED "1;c=\"\0\"\r\na\r\n0\r\n\r\n"), 400, NULL},
    {"a trailer field with a bare LF", CHUNKED "0\r\nX: a\n\r\n", 0, 400, NULL},
    {"a trailer field with a bare CR", CHUNKED "0\r\nX: a\rb\r\n\r\n", 0, 400, NULL},
    {"a trailer field that is folded", CHUNKED "0\r\nX: a\r\n b\r\n\r\n", 0, 400, NULL},
    {"a first trailer field that is folded", CHUNKED "0\r\n X: a\r\n\r\n", 0, 400, NULL},
    {"a trailer field and a space before the colon", CHUNKED "0\r\nX : a\r\n\r\n", 0, 400, NULL},
    {"a trailer field without a name", CHUNKED "0\r\n: a\r\n\r\n", 0, 400, NULL},
    {"a trailer field without a colon", CHUNKED "0\r\nX\r\n\r\n", 0, 400, NULL},
    {"NUL in a trailer field", BYTES(CHUNKED "0\r\nX: a\0b\r\n\r\n"), 400, NULL},
    {"trailer fields that end in a bare LF", CHUNKED "0\r\nX: a\r\n\nG", 0, 400, NULL},
    {"an end by CR alone", CHUNKED "0\r\nX: a\r\n\rG", 0, 400, NULL},
    {"a chunk of 64 times the limit and one", CHUNKED "1001\r\n", 0, 413, NULL},
    {"chunks that are so long together", CHUNKED "1\r\nx\r\n1000\r\n", 0, 413, NULL},
    {"a chunk of any length", CHUNKED "1\r\nx\r\nfffffffffffffffe\r\n", 0, 413, NULL},

    /* Accepted. */
    {"a body that is too long, of which the beginning is kept",
     CHUNKED "40\r\n"
             "0123456789abcdef0123456789abcdef"
             "0123456789abcdef0123456789abcdef\r\n1\r\nx\r\n0\r\n\r\n",
     0, 0, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefx"},
    {"a body", POST "Content-Length: 2\r\n\r\nab", 0, 0, "ab"},
    {"an empty body", POST "Content-Length: 0\r\n\r\n", 0, 0, ""},
    {"no body", POST "\r\n", 0, 0, ""},
    {"a length with zeros", POST "Content-Length: 002\r\n\r\nab", 0, 0, "ab"},
    {"empty lines first", "\r\n\r\nPOST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na", 0, 0, "a"},
    {"chunks", CHUNKED "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", 0, 0, "abc"},
    {"Chunked", POST "Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 0, 0, "a"},
    {"a chunk with an extension", CHUNKED "1;name=value\r\na\r\n0\r\n\r\n", 0, 0, "a"},
    {"no chunks", CHUNKED "0\r\n\r\n", 0, 0, ""},
    {"an extension without a value", CHUNKED "1;name\r\na\r\n0\r\n\r\n", 0, 0, "a"},
    {"blanks around the signs of extensions", CHUNKED "1 \t; c = d\t;\te ;f= \"g\" ; h\r\na\r\n0 ; x\r\n\r\n",
     0, 0, "a"},
    {"an escaped quote in an extension", CHUNKED "1;c=\"d\\\"e\\\\\"\r\na\r\n0\r\n\r\n", 0, 0, "a"},
    {"an end of a chunk in an extension's value", CHUNKED "1;c=\"0;\t\xc3\xa9\"\r\na\r\n0\r\n\r\n", 0, 0,
     "a"},
    {"a last chunk with an extension", CHUNKED "1\r\na\r\n0;x=y\r\n\r\n", 0, 0, "a"},
    {"a last chunk of many zeros", CHUNKED "1\r\na\r\n0000\r\n\r\n", 0, 0, "a"},
    {"a trailer field", CHUNKED "1\r\na\r\n0\r\nX: b\r\n\r\n", 0, 0, "a"},
    {"trailer fields", CHUNKED "1\r\na\r\n0\r\nX:\r\nY: \xc3\xa9\t1 \r\nX: b\r\n\r\n", 0, 0, "a"},
    {"trailer fields that may not be there",
     CHUNKED "1\r\na\r\n0\r\nContent-Length: 7\r\nTransfer-Encoding: gzip\r\nHost: b\r\nHost: c\r\n"
             "peer-id: x\r\nConnection: close\r\n\r\n",
     0, 0, "a"},
    {"a value of bytes beyond ASCII", POST "X: \xc3\xa9\r\nContent-Length: 1\r\n\r\na", 0, 0, "a"},
    {"an empty value", POST "X:\r\nContent-Length: 1\r\n\r\na", 0, 0, "a"},
    {"an empty host", "POST / HTTP/1.1\r\nHost:\r\nContent-Length: 1\r\n\r\na", 0, 0, "a"},
    {"HTTP/1.0 without a host", "POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\na", 0, 0, "a"},
    {"an upgrade that is not ours", POST "Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 1\r\n\r\na",
     0, 0, "a"},
};

struct outcome {
  int status;
  bool is_whole;
  size_t used;
  struct buffer body;
};

/* Parses the bytes in pieces of `piece`, as if received from a socket. */
static void parse(const char *bytes, size_t length, size_t piece, struct outcome *outcome)
{
  struct http_parser parser;
  struct http_request request;
  size_t scanned = 0;
  size_t at = 0;
  size_t seen = 0;
  bool has_head = false;
  *outcome = (struct outcome){0};
  http_parser_init(&parser);
  while (!outcome->is_whole && outcome->status == 0 && seen < length) {
    seen = seen + piece < length ? seen + piece : length;
    char *copy = unit_exact_copy(bytes + at, seen - at); /* bytes beyond the piece must not be read */
    struct text input = {copy, seen - at};
    size_t used = 0;
    enum http_progress progress = HTTP_DONE;
    if (!has_head) {
      progress = http_read_head(&parser, input, HEAD_MAX, &scanned, &used, &request);
      has_head = progress == HTTP_DONE;
      at += has_head ? used : 0;
      input = text_slice(input, has_head ? used : 0, input.len);
    }
    if (has_head && request.framing != HTTP_FRAMING_CHUNKS && request.length == 0) {
      outcome->is_whole = true;
    } else if (has_head && input.len > 0 && progress == HTTP_DONE) {
      progress = http_read_body(&parser, input, BODY_MAX, &used, &outcome->body);
      at += used;
      outcome->is_whole = progress == HTTP_DONE;
    }
    if (progress == HTTP_FAILED) {
      outcome->status = parser.status;
      assert_non_null(parser.reason);
    }
    test_free(copy);
  }
  outcome->used = at;
}

static void check(const struct sample *sample, size_t piece)
{
  size_t length = sample->length != 0 ? sample->length : strlen(sample->bytes);
  struct outcome outcome;
  parse(sample->bytes, length, piece, &outcome);
  if (outcome.status != sample->status)
    fail_msg("%s in pieces of %zu: %d, not %d", sample->name, piece, outcome.status, sample->status);
  if (sample->body != NULL) {
    if (!outcome.is_whole || outcome.used != length ||
        !text_equal(buffer_text(&outcome.body), text_of(sample->body)))
      fail_msg("%s in pieces of %zu: body \"%.*s\", %zu bytes used", sample->name, piece,
               TEXT_ARGS(buffer_text(&outcome.body)), outcome.used);
  }
  buffer_fini(&outcome.body);
}

UNIT_TEST(samples_are_accepted_or_refused)
{
  for (size_t i = 0; i < COUNT_OF(SAMPLES); i++) {
    check(&SAMPLES[i], 1 << 20);
    check(&SAMPLES[i], 1);
    check(&SAMPLES[i], 3);
  }
}

UNIT_TEST(a_head_that_is_too_long_is_431)
{
  char bytes[HEAD_MAX * 2];
  memset(bytes, 'a', sizeof bytes);
  memcpy(bytes, "POST /", 6);
  struct outcome outcome;
  parse(bytes, sizeof bytes, sizeof bytes, &outcome);
  assert_int_equal(outcome.status, 431);
  parse(bytes, sizeof bytes, 7, &outcome);
  assert_int_equal(outcome.status, 431);
  parse(bytes, HEAD_MAX - 1, HEAD_MAX, &outcome);
  assert_int_equal(outcome.status, 0);
}

UNIT_TEST(chunk_extensions_have_a_bound)
{
  struct buffer bytes = {0};
  BUFFER_LITERAL(&bytes, CHUNKED "1;x=");
  for (int i = 0; i < 10000; i++)
    buffer_append_char(&bytes, 'y');
  BUFFER_LITERAL(&bytes, "\r\na\r\n0\r\n\r\n");
  struct outcome outcome;
  parse(bytes.data, bytes.len, 100, &outcome);
  assert_int_equal(outcome.status, 400);
  buffer_fini(&outcome.body);
  buffer_fini(&bytes);
}

UNIT_TEST(trailer_fields_have_the_bound_of_a_head)
{
  struct buffer bytes = {0};
  BUFFER_LITERAL(&bytes, CHUNKED "1\r\na\r\n0\r\n");
  size_t start = bytes.len;
  while (bytes.len - start < HEAD_MAX - 10)
    BUFFER_LITERAL(&bytes, "X: a\r\n");
  size_t most = bytes.len;
  struct outcome outcome;
  BUFFER_LITERAL(&bytes, "\r\n");
  assert_true(bytes.len - start <= HEAD_MAX);
  parse(bytes.data, bytes.len, 100, &outcome);
  assert_true(outcome.is_whole);
  buffer_fini(&outcome.body);
  buffer_truncate(&bytes, most);
  for (int i = 0; i < 3; i++)
    BUFFER_LITERAL(&bytes, "X: a\r\n");
  BUFFER_LITERAL(&bytes, "\r\n");
  parse(bytes.data, bytes.len, 100, &outcome);
  assert_int_equal(outcome.status, 431);
  buffer_fini(&outcome.body);
  buffer_fini(&bytes);
}

UNIT_TEST(input_after_a_request_is_not_consumed)
{
  static const char *const requests[] = {
      CHUNKED "1\r\na\r\n0\r\n\r\nPOST /two HTTP/1.1\r\n\r\n",
      CHUNKED "1\r\na\r\n0\r\nContent-Length: 9\r\n\r\nPOST /two HTTP/1.1\r\n\r\n",
      POST "Upgrade: h2c\r\nConnection: upgrade\r\nTransfer-Encoding: chunked\r\n\r\n"
           "0\r\n\r\nPOST /two HTTP/1.1\r\n\r\n",
  };
  for (size_t i = 0; i < COUNT_OF(requests); i++) {
    struct outcome outcome;
    parse(requests[i], strlen(requests[i]), strlen(requests[i]), &outcome);
    assert_true(outcome.is_whole);
    assert_memory_equal(requests[i] + outcome.used, "POST /two", 9);
    buffer_fini(&outcome.body);
  }
}

UNIT_TEST(fields_are_given_trimmed)
{
  struct text input =
      TEXT("GET /rpc HTTP/1.1\r\nHost:\t a \t\r\nUpgrade: websocket\r\nConnection: x, Upgrade\r\n"
           "Sec-WebSocket-Key:k\r\n\r\n");
  struct http_parser parser;
  struct http_request request;
  size_t scanned = 0;
  size_t used;
  http_parser_init(&parser);
  assert_int_equal(http_read_head(&parser, input, HEAD_MAX, &scanned, &used, &request), HTTP_DONE);
  assert_int_equal(used, input.len);
  assert_int_equal(request.method, HTTP_GET);
  assert_true(request.is_1_1);
  assert_true(request.keep_alive);
  assert_true(request.has_upgrade);
  assert_true(text_equal(request.target, TEXT("/rpc")));
  assert_true(text_equal(request.fields[HTTP_FIELD_HOST], TEXT("a")));
  assert_true(text_equal(request.fields[HTTP_FIELD_WS_KEY], TEXT("k")));
  assert_null(request.fields[HTTP_FIELD_ORIGIN].data);
}

UNIT_MAIN
