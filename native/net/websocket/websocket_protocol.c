#include "net/websocket/websocket_protocol.h"

#include "net/connection/connection.h"
#include "net/connection/long_message.h"
#include "net/websocket/ws_frames.h"

/* The state of a connection. */
struct websocket_state {
  struct ws_reader reader;
  struct ws_decoder *decoder; /* NULL between turns, except inside a frame */
  /* the peer's close frame was written, and the input is read to find the client's close frame */
  bool awaits_close;
};

_Static_assert(sizeof(struct websocket_state) <= CONNECTION_PROTOCOL_STATE,
               "a connection has no room for WebSocket");

static struct websocket_state *state_of(struct connection *connection)
{
  return (struct websocket_state *)(void *)connection->protocol_state;
}

static void begin_frames(struct connection *connection)
{
  connection->began_ms = 0;
}

/* wslay reads ahead, so the decoder may contain whole frames. */
static void note_progress(struct connection *connection)
{
  const struct websocket_state *state = state_of(connection);
  bool is_clean = state->decoder == NULL || ws_decoder_is_clean(state->decoder);
  connection->held = is_clean ? 0 : WS_DECODER_SIZE;
  connection->is_midway = state->reader.in_message || !is_clean;
}

static bool borrow_decoder(struct connection *connection, struct crew_member *member)
{
  struct websocket_state *state = state_of(connection);
  if (state->decoder == NULL)
    state->decoder = scratch_take_object(&member->scratch, SCRATCH_WS_DECODER);
  if (state->decoder == NULL)
    state->decoder = ws_decoder_create();
  return state->decoder != NULL;
}

static void destroy_decoder(void *decoder)
{
  ws_decoder_destroy(decoder);
}

static void return_decoder(struct connection *connection, struct crew_member *member)
{
  struct websocket_state *state = state_of(connection);
  if (state->decoder == NULL || !ws_decoder_is_clean(state->decoder))
    return;
  scratch_keep_object(&member->scratch, SCRATCH_WS_DECODER, state->decoder, destroy_decoder);
  state->decoder = NULL;
}

static void discard_decoder(struct connection *connection)
{
  struct websocket_state *state = state_of(connection);
  ws_decoder_destroy(state->decoder);
  state->decoder = NULL;
}

static void write_answer(struct connection *connection, struct text answer, bool is_whole)
{
  ws_write(&connection->out, WS_TEXT, is_whole, answer);
}

static enum step write_part(struct connection *connection, struct text part, bool is_last)
{
  ws_write(&connection->out, WS_CONTINUATION, is_last, part);
  return STEP_SERVED;
}

static enum step write_close(struct connection *connection, uint16_t code, const char *reason)
{
  ws_write_close(&connection->out, code, reason);
  return STEP_ENDS;
}

static enum ws_event read_frames(struct connection *connection, struct ws_input *input)
{
  struct websocket_state *state = state_of(connection);
  *input = (struct ws_input){.bytes = connection_input(connection)};
  enum ws_event event =
      ws_read(&state->reader, state->decoder, input, &connection->message, connection->limits->message_max);
  connection->in_used += input->used;
  note_progress(connection);
  return event;
}

/* Consumes a frame, or a part of a frame. */
static enum step collect_message(struct connection *connection, struct crew_member *member,
                                 struct buffer *out)
{
  const struct websocket_state *state = state_of(connection);
  if (state->decoder == NULL && !borrow_decoder(connection, member))
    return STEP_DROPS;
  struct ws_input input;
  switch (read_frames(connection, &input)) {
  case WS_EVENT_NONE:
    return STEP_NEEDS_INPUT;
  case WS_EVENT_MESSAGE:
    connection->has_message = true;
    connection->is_too_long = state->reader.is_too_long;
    return STEP_SERVED;
  case WS_EVENT_PING:
    ws_write(out, WS_PONG, true, (struct text){(const char *)input.control, input.control_len});
    return STEP_SERVED;
  case WS_EVENT_PONG:
    return STEP_SERVED;
  case WS_EVENT_CLOSE:
    ws_write_close(out, input.code, "");
    return STEP_ENDS;
  default: /* the decoder may be inside the malformed frame, so it is not used again */
    discard_decoder(connection);
    note_progress(connection);
    ws_write_close(out, input.code, input.reason);
    return STEP_ENDS;
  }
}

static enum step run_step(struct connection *connection, struct crew_member *member)
{
  enum step step =
      connection->has_message ? STEP_SERVED : collect_message(connection, member, &connection->out);
  return connection->has_message ? connection_serve_frame(connection, member, write_answer) : step;
}

static void write_message(struct buffer *out, struct text message)
{
  ws_write(out, WS_TEXT, true, message);
}

/* --- deadlines and ends --- */

/* Input of control frames sets began_ms, too, although they are not messages. If no message has begun, the
 * control frame has ended, and there is no deadline. */
static int64_t find_deadline(struct connection *connection, bool has_begun, int64_t now_ms)
{
  (void)now_ms;
  if (!has_begun)
    connection->began_ms = 0;
  if (connection->began_ms == 0)
    return INT64_MAX;
  return connection->began_ms + connection->limits->body_timeout_ms;
}

static size_t count_bytes_left(const struct connection *connection)
{
  const struct websocket_state *state =
      (const struct websocket_state *)(const void *)connection->protocol_state;
  if (state->reader.in_message && state->reader.is_too_long)
    return LONG_MESSAGE_BEGINNING;
  return state->reader.left > 0 ? state->reader.left : SIZE_MAX;
}

static enum step abandon_answer(struct connection *connection)
{
  return write_close(connection, WS_INTERNAL, "the answer could not be finished");
}

static void time_out_message(struct connection *connection)
{
  write_close(connection, WS_POLICY, "the message took too long");
}

static void expel_client(struct connection *connection)
{
  write_close(connection, WS_POLICY, "the client's principal or evidence is listed no more");
}

static void cut_message(struct connection *connection, const char *reason, struct buffer *answer)
{
  (void)answer;
  write_close(connection, WS_TRY_AGAIN_LATER, reason);
}

static enum step close_gracefully(struct connection *connection, bool is_quiet)
{
  (void)is_quiet;
  state_of(connection)->awaits_close = true;
  return write_close(connection, WS_GOING_AWAY, CREW_SHUTTING_DOWN);
}

/* RFC 6455, 7.1.1: the server closes the connection when both sides have sent a close frame. Messages before the
 * client's close frame are dropped. */
static bool is_end_confirmed(struct connection *connection, struct crew_member *member)
{
  struct websocket_state *state = state_of(connection);
  const struct ws_reader *reader = &state->reader;
  if (reader->in_message && reader->valid > connection->message.len)
    state->awaits_close = false; /* the reader is inside a message whose beginning was dropped */
  if (!state->awaits_close || (state->decoder == NULL && !borrow_decoder(connection, member)))
    return false;
  struct ws_input input;
  enum ws_event event;
  do {
    event = read_frames(connection, &input);
    /* the bytes of an incomplete message are kept, because the reader has counted them */
    if (event == WS_EVENT_MESSAGE)
      buffer_clear(&connection->message);
  } while (event == WS_EVENT_MESSAGE || event == WS_EVENT_PING || event == WS_EVENT_PONG);
  if (event != WS_EVENT_NONE && event != WS_EVENT_CLOSE)
    state->awaits_close = false; /* the input after a malformed frame cannot be read */
  return event == WS_EVENT_CLOSE;
}

/* RFC 6455, 5.5.3: an unsolicited pong. */
static bool write_probe(struct connection *connection)
{
  ws_write(&connection->out, WS_PONG, true, TEXT(""));
  return true;
}

/* True if the input is exactly one close frame, which most clients send before they close the socket. The
 * frame is masked, and its payload is shorter than 126 bytes. */
static bool is_ignorable(struct text input)
{
  enum { CLOSE_FRAME = 0x88, MASKED = 0x80, HEAD = 6 };
  return input.len >= HEAD && (unsigned char)input.data[0] == CLOSE_FRAME &&
         ((unsigned char)input.data[1] ^ MASKED) == input.len - HEAD;
}

static void write_last_reply(struct connection *connection, enum rpc_served served, struct text reply)
{
  if (served != RPC_NO_REPLY)
    write_answer(connection, reply, true);
  write_close(connection, WS_GOING_AWAY, CREW_SHUTTING_DOWN);
}

const struct connection_protocol websocket_protocol = {.channel = OP_CHANNEL_WEBSOCKET,
                                                       .begin = begin_frames,
                                                       .borrow = borrow_decoder,
                                                       .return_objects = return_decoder,
                                                       .discard = discard_decoder,
                                                       .step = run_step,
                                                       .collect = collect_message,
                                                       .write_message = write_message,
                                                       .deadline = find_deadline,
                                                       .bytes_left = count_bytes_left,
                                                       .write_part = write_part,
                                                       .abandon_answer = abandon_answer,
                                                       .expire = time_out_message,
                                                       .expel = expel_client,
                                                       .cut = cut_message,
                                                       .close_gracefully = close_gracefully,
                                                       .is_end_confirmed = is_end_confirmed,
                                                       .write_probe = write_probe,
                                                       .is_ignorable = is_ignorable,
                                                       .write_last_reply = write_last_reply};
