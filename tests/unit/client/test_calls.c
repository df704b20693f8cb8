/* Calls against a peer without a JVM: how answers are read, and what happens if the peer misbehaves. */
#include "client_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ---- answers ---- */

/* Calls the library in the way of programs that use foreign functions. */
UNIT_TEST(test_json)
{
  static const char text[] = "{\"method\":\"call\",\"params\":{\"type\":\"A\",\"method\":\"m\"}}";
  struct fake_peer *peer = fake_peer_start(fake_serve, NULL);
  struct jp_client_error *error = jp_client_error_create();
  struct jp_client *client = NULL;
  struct jp_answer *answer = NULL;
  size_t length = 99;
  assert_int_equal(jp_client_open_json(fake_peer_url(peer), "{\"size\":1}", &client, error),
                   JP_CLIENT_INVALID);
  assert_null(client);
  assert_int_equal(jp_client_error_status(error), JP_CLIENT_INVALID);
  assert_string_equal(jp_client_error_text(error), "a configuration has no member \"size\"");
  assert_int_equal(jp_client_open_json(fake_peer_url(peer), "{\"pending_max\":5}", &client, error),
                   JP_CLIENT_OK);
  assert_int_equal(jp_client_call_json(client, text, sizeof text - 1, 60000, &answer, error), JP_CLIENT_OK);
  assert_string_equal(jp_answer_text_of(answer, &length), "8");
  assert_int_equal(length, 1);
  assert_null(jp_answer_json_of(answer, &length));
  assert_int_equal(length, 0);
  jp_answer_free(answer);
  assert_int_equal(jp_client_call_json(client, text, 5, 60000, &answer, error), JP_CLIENT_INVALID);
  assert_null(answer);
  jp_client_close(client);
  jp_client_error_destroy(error);
  jp_client_error_destroy(NULL);
  assert_string_equal(jp_client_error_text(NULL), "");
  assert_null(jp_answer_text_of(NULL, NULL));
  fake_peer_stop(peer);
}

static void answer_with_suggestions(struct fake_connection *connection, void *context)
{
  struct text message;
  while (fake_read(connection, &message))
    fake_write(connection,
               "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,\"message\":\"Method not "
               "found\",\"data\":{\"message\":\"a.Mat\",\"suggestions\":%s}}}",
               (unsigned long long)fake_id(message), (const char *)context);
}

UNIT_TEST(test_suggestions)
{
  static const char *const cases[][2] = {
      {"[\"a.Math\"]", "Method not found: a.Mat: did you mean a.Math?"},
      {"[\"a.Math\",\"a.Mat\\u0065\",\"b.Mat\"]",
       "Method not found: a.Mat: did you mean a.Math, a.Mate or b.Mat?"},
      {"[]", "Method not found: a.Mat"},
      {"[5,null]", "Method not found: a.Mat"},
      {"\"a.Math\"", "Method not found: a.Mat"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jp_client *client =
        fixture_open(fake_peer_start(answer_with_suggestions, (void *)cases[i][0]), NULL);
    const struct jp_request request = fixture_request();
    struct jp_answer *answer;
    struct jp_client_error error;
    assert_int_equal(jp_client_call(client, &request, 60000, &answer, &error), JP_CLIENT_REMOTE);
    assert_string_equal(error.text, cases[i][1]);
    jp_answer_free(answer);
    fixture_end(client);
  }
}

/* ---- late, second and unexpected answers ---- */

/* Answers with an object, and waits for its release. */
static void answer_and_await_release(struct fake_connection *connection, void *context)
{
  struct text message;
  while (fake_read(connection, &message)) {
    if (memmem(message.data, message.len, "\"ref\":77", 8) != NULL)
      atomic_store((atomic_bool *)context, true);
    else
      fake_answer_object(connection, fake_id(message), 77);
  }
}

UNIT_TEST(test_flush_needs_no_message)
{
  atomic_bool is_released = false;
  struct jp_client *client = fixture_open(fake_peer_start(answer_and_await_release, &is_released), NULL);
  const struct jp_request request = fixture_request();
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, NULL), JP_CLIENT_OK);
  assert_true(jp_client_flush(client)); /* there is nothing to flush yet */
  jp_answer_free(answer);
  assert_true(jp_client_flush(client));
  for (int i = 0; i < 60000 && !atomic_load(&is_released); i++)
    usleep(1000);
  assert_true(atomic_load(&is_released));
  fixture_end(client);
}

static void answer_twice(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message)) {
    fake_answer_int(connection, fake_id(message), 8);
    fake_answer_int(connection, fake_id(message), 9);
  }
}

UNIT_TEST(test_second_answer)
{
  struct jp_client *client = fixture_open(fake_peer_start(answer_twice, NULL), NULL);
  for (int i = 0; i < 10; i++)
    fixture_assert_call(client);
  fixture_end(client);
}

/* ---- peers that misbehave ---- */

struct misbehaviour {
  const char *bytes;
  size_t count;
  const char *words;
  enum jp_client_status status;
  bool is_text; /* sent in one whole frame */
};

static void misbehave(struct fake_connection *connection, void *context)
{
  const struct misbehaviour *what = context;
  struct text message;
  if (!fake_read(connection, &message))
    return;
  if (what->is_text)
    fake_write(connection, "%.*s", (int)what->count, what->bytes);
  else
    fake_write_bytes(connection, what->bytes, what->count);
  if (what->status != JP_CLIENT_CLOSED)
    fake_read(connection, &message);
}

#define TEXT_FRAME(literal) .is_text = true, .bytes = (literal), .count = sizeof(literal) - 1
#define BYTES(literal)      .bytes = (literal), .count = sizeof(literal) - 1

UNIT_TEST(test_misbehaviour)
{
  static const struct misbehaviour cases[] = {
      {BYTES(""), .status = JP_CLIENT_CLOSED, .words = "has closed the connection"},
      {BYTES("\x81\x7e\x01"), .status = JP_CLIENT_CLOSED, .words = "has closed the connection"},
      {BYTES("\x81\x20{\"jsonrpc\""), .status = JP_CLIENT_CLOSED, .words = "has closed the connection"},
      {BYTES("HTTP/1.1 200 OK"), .status = JP_CLIENT_PROTOCOL, .words = "WebSocket protocol"},
      {TEXT_FRAME("hello"), .status = JP_CLIENT_PROTOCOL, .words = ""},
      {TEXT_FRAME("{}"), .status = JP_CLIENT_PROTOCOL, .words = ""},
      {TEXT_FRAME("[]"), .status = JP_CLIENT_PROTOCOL, .words = ""},
      {TEXT_FRAME("\"\xff\xfe\""), .status = JP_CLIENT_PROTOCOL, .words = ""},
      {TEXT_FRAME("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":null}"), .status = JP_CLIENT_PROTOCOL,
       .words = "never sent: 99"},
      {TEXT_FRAME("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":null}"), .status = JP_CLIENT_PROTOCOL,
       .words = "never sent"},
      {TEXT_FRAME("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}"), .status = JP_CLIENT_PROTOCOL,
       .words = ""},
      {TEXT_FRAME("{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":true}"), .status = JP_CLIENT_PROTOCOL,
       .words = "without an id"},
      {TEXT_FRAME("{\"jsonrpc\":\"2.0\",\"method\":\"hello\"}"), .status = JP_CLIENT_PROTOCOL, .words = ""},
      {BYTES("\x82\x02{}"), .status = JP_CLIENT_PROTOCOL, .words = "binary"},
      {BYTES("\x80\x02{}"), .status = JP_CLIENT_PROTOCOL, .words = "continuation of nothing"},
      {BYTES("\x01\x02{}\x81\x02{}"), .status = JP_CLIENT_PROTOCOL, .words = "inside one in pieces"},
      {BYTES("\x81\x7f\0\0\0\1\0\0\0\0"), .status = JP_CLIENT_LIMIT, .words = "message_max"},
      {BYTES("\x01\x7e\x80\0"), .status = JP_CLIENT_CLOSED, .words = "has closed the connection"},
      {BYTES("\x88\x00"), .status = JP_CLIENT_CLOSED, .words = "has closed the connection"},
      {BYTES("\x88\x0c\x03\xe9going away"), .status = JP_CLIENT_CLOSED, .words = "1001: going away"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct misbehaviour what = cases[i];
    struct jp_client *client = fixture_open(fake_peer_start(misbehave, &what), NULL);
    fixture_assert_fails(client, what.status, what.words);
    fixture_assert_fails(client, what.status, what.words); /* the connection remains broken */
    assert_int_equal(jp_client_pending(client), 0);
    fixture_end(client);
  }
}

UNIT_TEST(test_answers_over_message_max)
{
  static const struct misbehaviour cases[] = {
      {BYTES("\x81\x41")},           /* 65 bytes in a frame */
      {BYTES("\x01\x02{}\x80\x3f")}, /* 2 and 63 bytes in two frames */
  };
  const struct jp_client_config config = {.size = sizeof config, .message_max = 64};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct misbehaviour what = cases[i];
    struct fake_peer *peer = fake_peer_start(misbehave, &what);
    struct jp_client *client = fixture_open(peer, &config);
    fixture_assert_fails(client, JP_CLIENT_LIMIT, "message_max, 64 bytes");
    jp_client_close(client);
    fake_peer_stop(peer);
  }
}

static void report_limits(struct fake_connection *connection, void *context)
{
  (void)context;
  struct text message;
  while (fake_read(connection, &message))
    fake_write(
        connection,
        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"void\":false,\"value\":{\"type\":"
        "\"java.lang.String\",\"null\":false,\"value\":\"{\\\"message_max\\\":150,\\\"values_max\\\":7}\"}}}",
        (unsigned long long)fake_id(message));
}

UNIT_TEST(test_requests_over_the_limit_of_the_peer_are_not_sent)
{
  char long_text[200];
  memset(long_text, 'x', sizeof long_text);
  const struct jp_argument text = {.kind = JP_ARGUMENT_TEXT, .as.text = {long_text, sizeof long_text}};
  const struct jp_request ping = jp_build_ping();
  const struct jp_request request = jp_build_class_method_call("a.B", "c", &text, 1);
  struct jp_client *client = fixture_open(fake_peer_start(report_limits, NULL), NULL);
  struct jp_client_error error;
  struct jp_peer_limits limits;
  struct jp_answer *answer;
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, &error), JP_CLIENT_OK);
  jp_answer_free(answer);
  assert_int_equal(jp_client_learn_limits(client, 60000, &limits, &error), JP_CLIENT_OK);
  assert_int_equal(limits.message_max, 150);
  assert_int_equal(limits.values_max, 7);
  assert_int_equal(jp_client_call(client, &request, 60000, &answer, &error), JP_CLIENT_TOO_LONG);
  assert_non_null(strstr(error.text, "the peer accepts at most 150 (message-max)"));
  assert_int_equal(jp_client_call(client, &ping, 60000, &answer, &error), JP_CLIENT_OK);
  jp_answer_free(answer);
  fixture_end(client);
}

/* ---- valid frames of all kinds ---- */

static void answer_in_pieces(struct fake_connection *connection, void *context)
{
  (void)context;
  static const char rest[] =
      ",\"result\":{\"void\":false,\"value\":{\"type\":\"int\",\"null\":false,\"value\":\"8\"}}}";
  struct text message;
  while (fake_read(connection, &message)) {
    char first[64];
    char head[4] = {(char)0x80, (char)(sizeof rest - 1), 0, 0};
    int length = snprintf(first + 2, sizeof first - 2, "{\"jsonrpc\":\"2.0\",\"id\":%llu",
                          (unsigned long long)fake_id(message));
    first[0] = 0x01;
    first[1] = (char)length;
    for (int i = 0; i < length + 2; i++)
      fake_write_bytes(connection, first + i, 1);
    fake_write_bytes(connection, "\x89\x04ping\x8a\x00", 8);
    fake_write_bytes(connection, "\x00\x00", 2);
    fake_write_bytes(connection, head, 2);
    fake_write_bytes(connection, rest, sizeof rest - 1);
  }
}

UNIT_TEST(test_pieces_and_pings)
{
  struct jp_client *client = fixture_open(fake_peer_start(answer_in_pieces, NULL), NULL);
  for (int i = 0; i < 20; i++)
    fixture_assert_call(client);
  fixture_end(client);
}

enum { PINGS = 400000 };

/* Does not read while it sends pings. */
static void flood_with_pings(struct fake_connection *connection, void *context)
{
  static char pings[2 * PINGS];
  struct text message;
  for (int i = 0; i < PINGS; i++)
    memcpy(pings + (size_t)2 * i, "\x89", 2);
  while (fake_read(connection, &message)) {
    if (fake_pongs(connection) == 0)
      fake_write_bytes(connection, pings, sizeof pings);
    fake_answer_int(connection, fake_id(message), 8);
  }
  *(unsigned *)context = fake_pongs(connection);
}

UNIT_TEST(test_flood_of_pings)
{
  unsigned pongs = 0;
  struct jp_client *client = fixture_open(fake_peer_start(flood_with_pings, &pongs), NULL);
  fixture_assert_call(client);
  fixture_assert_call(client);
  fixture_end(client);
  assert_in_range(pongs, 1, PINGS / 2);
}

UNIT_MAIN
