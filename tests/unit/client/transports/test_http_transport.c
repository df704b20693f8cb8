/* Calls over HTTP against a peer without a JVM. */
#include "../client_fixture.h"

#include "base/buffer.h"

#include <stdio.h>

#define RESULT                                                                                               \
  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,"  \
  "\"value\":\"8\"}}}"

/* ---- requests and responses ---- */

static void write_answer(struct buffer *out, uint64_t id)
{
  char body[256];
  int length = snprintf(body, sizeof body, RESULT, (unsigned long long)id);
  buffer_printf(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                length, body);
}

static void answer(struct fake_connection *connection, uint64_t id)
{
  struct buffer out = {0};
  write_answer(&out, id);
  fake_write_bytes(connection, out.data, out.len);
  buffer_fini(&out);
}

static void serve(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text head, body;
  while (fake_read_post(connection, &head, &body)) {
    if (fake_id(body) == 0)
      fake_write_bytes(connection, "HTTP/1.1 204 No Content\r\n\r\n", 27);
    else
      answer(connection, fake_id(body));
  }
}

/* ---- requests that do not wait for responses ---- */

enum { IN_FLIGHT = 64 };

/* Answers the first half; the last answer says that the connection ends after it. */
static void answer_half(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text head, body;
  struct buffer out = {0};
  for (int i = 0; i < IN_FLIGHT && fake_read_post(connection, &head, &body); i++) {
    if (i >= IN_FLIGHT / 2)
      continue;
    size_t begin = out.len;
    write_answer(&out, fake_id(body));
    if (i == IN_FLIGHT / 2 - 1) {
      static const char close[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
      struct buffer last = {0};
      buffer_append(&last, out.data + begin + 17, out.len - begin - 17);
      buffer_truncate(&out, begin);
      buffer_append(&out, close, sizeof close - 1);
      buffer_append_text(&out, buffer_text(&last));
      buffer_fini(&last);
    }
  }
  fake_write_bytes(connection, out.data, out.len);
  buffer_fini(&out);
}

static struct tally send_together(struct jp_client *client)
{
  struct tally tally = {0};
  fixture_send(client, &tally, IN_FLIGHT);
  fixture_process_until(client, &tally, IN_FLIGHT);
  return tally;
}

UNIT_TEST(test_close_after_an_answer)
{
  struct jp_client *client = fixture_open(fake_peer_start_http(answer_half, NULL), NULL);
  struct tally tally = send_together(client);
  assert_int_equal(tally.good, IN_FLIGHT / 2);
  assert_int_equal(tally.closed, IN_FLIGHT / 2);
  assert_int_equal(send_together(client).good, IN_FLIGHT / 2); /* over another connection */
  assert_int_equal(fake_peer_connections(fixture_peer), 2);
  fixture_end(client);
}

/* ---- idle connections that end ---- */

static void answer_once(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text head, body;
  if (fake_read_post(connection, &head, &body))
    answer(connection, fake_id(body));
}

UNIT_TEST(test_idle_end)
{
  struct jp_client *client = fixture_open(fake_peer_start_http(answer_once, NULL), NULL);
  for (unsigned i = 1; i <= 5; i++) {
    fixture_assert_call(client);
    fake_peer_await_end(fixture_peer, i);
  }
  assert_int_equal(fake_peer_connections(fixture_peer), 5);
  fixture_end(client);
}

/* ---- peers that misbehave, or refuse ---- */

struct misbehaviour {
  const char *bytes;
  enum jp_client_status status;
  const char *words;
};

static void misbehave(struct fake_connection *connection, void *context)
{
  const struct misbehaviour *what = context;
  struct text head, body;
  if (!fake_read_post(connection, &head, &body))
    return;
  fake_write_bytes(connection, what->bytes, strlen(what->bytes));
  if (what->status != JP_CLIENT_CLOSED)
    fake_read_post(connection, &head, &body);
}

#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

UNIT_TEST(test_misbehaviour)
{
  static const struct misbehaviour cases[] = {
      {"", JP_CLIENT_CLOSED, "has closed the connection"},
      {"HTTP/1.1 200 OK\r\nConte", JP_CLIENT_CLOSED, "inside an answer"},
      {JSON "Content-Length: 100\r\n\r\n{", JP_CLIENT_CLOSED, "inside an answer"},
      {JSON "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", JP_CLIENT_CLOSED, "inside an answer"},
      {"hello", JP_CLIENT_PROTOCOL, "no HTTP response"},
      {JSON "Content-Length: 5\r\n\r\nhello", JP_CLIENT_PROTOCOL, ""},
      {JSON "Content-Length: 0\r\n\r\n", JP_CLIENT_PROTOCOL, ""},
      {JSON "Content-Length: 9999999999\r\n\r\n", JP_CLIENT_LIMIT, "message_max"},
      {"HTTP/1.1 204 No Content\r\n\r\n", JP_CLIENT_PROTOCOL, "answers with HTTP 204 No Content"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", JP_CLIENT_PROTOCOL, "HTTP 200 OK: hi"},
      {"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_PROTOCOL,
       "HTTP 302 Found"},
      {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "HTTP 401 Unauthorized"},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 11\r\n\r\nno, really\n", JP_CLIENT_REFUSED,
       "HTTP 403 Forbidden: no, really"},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "HTTP 404 Not Found"},
      {"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 8\r\n\r\ntoo long",
       JP_CLIENT_REFUSED, "HTTP 413 Content Too Large: too long"},
      {"HTTP/1.1 415 X\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "HTTP 415 X"},
      {"HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "HTTP 429 X"},
      {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nlater", JP_CLIENT_REFUSED,
       "HTTP 503 Service Unavailable: later"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct misbehaviour what = cases[i];
    struct jp_client *client = fixture_open(fake_peer_start_http(misbehave, &what), NULL);
    fixture_assert_fails(client, what.status, what.words);
    assert_int_equal(jp_client_pending(client), 0);
    fixture_end(client);
  }
}

/* Behaves like a peer with too many connections. */
static void refuse_at_once(struct fake_connection *connection, void *context)
{
  (void)context;
  static const char bytes[] =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull";
  struct text head, body;
  fake_write_bytes(connection, bytes, sizeof bytes - 1);
  fake_read_post(connection, &head, &body);
}

UNIT_TEST(test_response_to_nothing)
{
  struct jp_client *client = fixture_open(fake_peer_start_http(refuse_at_once, NULL), NULL);
  const struct jp_request request = fixture_request();
  struct jp_answer *answer;
  struct jp_client_error error;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, &error), JP_CLIENT_REFUSED);
  assert_non_null(strstr(error.text, "503 Service Unavailable: full"));
  fixture_end(client);
}

/* The response to a notification is ignored, unless it refuses the connection. */
static void refuse_notifications(struct fake_connection *connection, void *context)
{
  const char *bytes = context;
  struct text head, body;
  while (fake_read_post(connection, &head, &body)) {
    if (fake_id(body) != 0)
      answer(connection, fake_id(body));
    else
      fake_write_bytes(connection, bytes, strlen(bytes));
  }
}

UNIT_TEST(test_refused_notification)
{
  const struct jp_request request = fixture_request();
  static char error_body[] =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  static char forbidden[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
  struct jp_client *client = fixture_open(fake_peer_start_http(refuse_notifications, error_body), NULL);
  assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
  fixture_assert_call(client);
  fixture_end(client);
  client = fixture_open(fake_peer_start_http(refuse_notifications, forbidden), NULL);
  assert_int_equal(jp_client_notify(client, &request, NULL), JP_CLIENT_OK);
  fixture_assert_fails(client, JP_CLIENT_REFUSED, "HTTP 403 Forbidden");
  fixture_end(client);
}

/* ---- sizes ---- */

/* A request that cannot be written leaves no bytes in the output. */
UNIT_TEST(test_invalid_request)
{
  struct jp_client *client = fixture_open(fake_peer_start_http(serve, NULL), NULL);
  const struct jp_request request = jp_build_class_method_call(NULL, "m", JP_NO_ARGUMENTS);
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_INVALID);
  fixture_assert_call(client);
  fixture_end(client);
}

UNIT_MAIN
