/* More events than a client handles at once. */
#include "callback_fixture.h"

#include "base/buffer.h"
#include "net/websocket/ws_frames.h"

#include <poll.h>

enum { EVENTS = 900, HANDLED_AT_ONCE = 64 * 1024 };

/* ---- the peer ---- */

static void append_event(struct buffer *out, int number)
{
  char event[256];
  int length = snprintf(event, sizeof event,
                        "{\"jsonrpc\":\"2.0\"," CALLBACK("1") ",\"parameters\":[\"int\"],\"args\":[{\"type\":"
                                                              "\"int\",\"null\":false,\"value\":\"%d\"}]}}",
                        number);
  ws_write(out, WS_TEXT, true, (struct text){event, (size_t)length});
}

/* Answers one request and sends its events before the answer, all in one write. */
static void answer_last(struct fake_connection *connection, void *context)
{
  struct buffer out = {0};
  struct text message;
  (void)context;
  if (!fake_read(connection, &message))
    return;
  for (int i = 0; i < EVENTS; i++)
    append_event(&out, i);
  ws_write(&out, WS_TEXT, true, text_of(ANSWER("1").text));
  assert_true(out.len > (size_t)2 * HANDLED_AT_ONCE);
  fake_write_bytes(connection, out.data, out.len);
  buffer_fini(&out);
  while (fake_read(connection, &message))
    ;
}

/* The answer has as many bytes as are handled at once; an event follows it in the same write. */
static void answer_first(struct fake_connection *connection, void *context)
{
  struct buffer out = {0};
  struct buffer answer = {0};
  struct text message;
  (void)context;
  if (!fake_read(connection, &message))
    return;
  buffer_append_text(&answer, text_of(ANSWER("1").text));
  for (int i = 0; i < HANDLED_AT_ONCE; i++)
    buffer_append_text(&answer, TEXT(" "));
  ws_write(&out, WS_TEXT, true, buffer_text(&answer));
  append_event(&out, 0);
  fake_write_bytes(connection, out.data, out.len);
  buffer_fini(&answer);
  buffer_fini(&out);
  while (fake_read(connection, &message))
    ;
}

/* ---- the client ---- */

static void check_order(struct object *object, struct jp_callback_call *call)
{
  int64_t number = -1;
  assert_true(jp_answer_integer(jp_callback_argument_at(call, 0), &number));
  assert_int_equal(number + 1, object->calls);
}

static const struct jp_callback_config oneway = {.oneway = true};

/* pending_max is less than the events of the burst, and more than the events that are handled at once. */
UNIT_TEST(test_a_burst_is_handled_in_pieces)
{
  const struct jp_client_config config = {.size = sizeof config, .pending_max = 600};
  struct object object = {.behave = check_order};
  object_init(&object, fixture_open(fake_peer_start_over("ws+unix", answer_last, NULL), &config), &oneway);
  assert_given(&object);
  assert_int_equal(object.calls, EVENTS);
  jp_callback_release(object.callback);
  fixture_end(object.client);
}

/* The thread that waits for the answer does not run the event, and the socket shows no input any more. */
UNIT_TEST(test_a_remaining_event_wakes_the_loop)
{
  struct object object = {.behave = check_order};
  object_init(&object, fixture_open(fake_peer_start_over("ws+unix", answer_first, NULL), NULL), &oneway);
  struct pollfd polled = {.fd = jp_client_descriptor(object.client), .events = POLLIN};
  assert_given(&object);
  assert_int_equal(object.calls, 0);
  while (object.calls < 1) {
    assert_int_equal(poll(&polled, 1, 30000), 1);
    assert_int_equal(jp_client_process(object.client, NULL), JP_CLIENT_OK);
  }
  jp_callback_release(object.callback);
  fixture_end(object.client);
}

UNIT_MAIN
