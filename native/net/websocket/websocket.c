#include "net/connection/connection.h"
#include "net/connection/connection_table.h"

void websocket_begin(struct connection *connection)
{
  connection->protocol = PROTOCOL_WEBSOCKET;
  connection->began_ms = 0;
  connection->reader = (struct ws_reader){0};
}

bool websocket_borrow(struct connection *connection, struct crew_member *member)
{
  if (connection->decoder == NULL) {
    connection->decoder = member->scratch.decoder;
    member->scratch.decoder = NULL;
  }
  if (connection->decoder == NULL)
    connection->decoder = ws_decoder_create();
  return connection->decoder != NULL;
}

void websocket_give_back(struct connection *connection, struct crew_member *member)
{
  struct ws_decoder *decoder = connection->decoder;
  if (decoder == NULL || !ws_decoder_is_clean(decoder))
    return;
  connection->decoder = NULL;
  if (member->scratch.decoder == NULL)
    member->scratch.decoder = decoder;
  else
    ws_decoder_destroy(decoder);
}

void websocket_write_text(struct connection *connection, struct text reply)
{
  ws_write(&connection->out, WS_TEXT, true, reply);
}

void websocket_write_part(struct connection *connection, struct text part, bool is_last)
{
  ws_write(&connection->out, WS_CONTINUATION, is_last, part);
}

void websocket_close(struct connection *connection, uint16_t code, const char *reason)
{
  ws_write_close(&connection->out, code, reason);
}

static enum step serve_message(struct connection *connection, struct crew_member *member)
{
  struct buffer *answer = &member->scratch.buffers[SCRATCH_ANSWER];
  enum crew_served served;
  struct rpc_stream stream = {0};
  if (!connection_serve(connection, member, answer, &served, &stream))
    return STEP_ENDS;
  if (served == CREW_WAIT)
    return STEP_WAITS;
  buffer_clear(&connection->message);
  connection->began_ms = 0;
  if (crew_has_replied(served))
    websocket_write_text(connection, buffer_text(answer));
  if (served == CREW_STREAM) {
    ws_write(&connection->out, WS_TEXT, false, buffer_text(answer));
    if (!connection_begin_stream(connection, &stream))
      return STEP_DROPS;
  }
  return STEP_SERVED;
}

/* The decoder may be in the middle of what was wrong. */
static enum step fail(struct connection *connection, const struct ws_input *input)
{
  ws_decoder_destroy(connection->decoder);
  connection->decoder = NULL;
  websocket_close(connection, input->code, input->reason);
  return STEP_ENDS;
}

enum step websocket_step(struct connection *connection, struct crew_member *member)
{
  if (connection->has_message)
    return serve_message(connection, member);
  if (connection->decoder == NULL && !websocket_borrow(connection, member))
    return STEP_DROPS;
  struct ws_input input = {.bytes = connection_input(connection)};
  enum ws_event event = ws_read(&connection->reader, connection->decoder, &input, &connection->message,
                                connection->table->limits.message_max);
  connection->in_used += input.used;
  switch (event) {
  case WS_EVENT_NONE:
    return STEP_NEEDS_INPUT;
  case WS_EVENT_MESSAGE:
    connection->has_message = true;
    return STEP_AGAIN;
  case WS_EVENT_PING:
    ws_write(&connection->out, WS_PONG, true, (struct text){(const char *)input.control, input.control_len});
    return STEP_SERVED;
  case WS_EVENT_PONG:
    return STEP_SERVED;
  case WS_EVENT_CLOSE:
    websocket_close(connection, input.code, "");
    return STEP_ENDS;
  default:
    return fail(connection, &input);
  }
}
