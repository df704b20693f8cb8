#include "net/connection/connection.h"

#include <stdlib.h>

enum { PART_SIZE = 64 * 1024, UNSENT_MARK = 256 * 1024 };

bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream)
{
  struct connection_stream *made = calloc(1, sizeof *made);
  if (made != NULL) {
    made->rpc = *stream;
    buffer_append_text(&made->tail, stream->tail);
  }
  if (made == NULL || made->tail.failed) {
    stream->body.close(stream->body.state);
    free(made);
    return false;
  }
  connection->stream = made;
  return true;
}

void connection_end_stream(struct connection *connection)
{
  struct connection_stream *stream = connection->stream;
  if (stream == NULL)
    return;
  connection->stream = NULL;
  stream->rpc.body.close(stream->rpc.body.state);
  buffer_fini(&stream->tail);
  free(stream);
}

static void write_part(struct connection *connection, struct text part, bool is_last)
{
  if (connection->protocol == PROTOCOL_WEBSOCKET)
    websocket_write_part(connection, part, is_last);
  else
    http_write_part(connection, part, is_last);
}

/* The answer cannot be finished, and its beginning is out: the client must not take it for whole. */
static enum step abandon(struct connection *connection)
{
  connection_end_stream(connection);
  if (connection->protocol != PROTOCOL_WEBSOCKET)
    return STEP_DROPS;
  websocket_close(connection, WS_INTERNAL, "the answer could not be finished");
  return STEP_ENDS;
}

enum step connection_pump(struct connection *connection, struct crew_member *member)
{
  if (connection_unsent(connection) > UNSENT_MARK) {
    connection_flush(connection);
    if (connection_unsent(connection) > UNSENT_MARK)
      return STEP_BLOCKED;
  }
  struct connection_stream *stream = connection->stream;
  struct buffer *part = &member->scratch.buffers[SCRATCH_ANSWER];
  buffer_clear(part);
  enum jp_status status = stream->rpc.body.read(stream->rpc.body.state, part, PART_SIZE);
  if (part->failed || (status != JP_OK && status != JP_CLOSED))
    return abandon(connection);
  if (status == JP_OK) {
    if (part->len > 0)
      write_part(connection, buffer_text(part), false);
    return STEP_SERVED;
  }
  write_part(connection, buffer_text(&stream->tail), true);
  connection_end_stream(connection);
  bool ends = connection->protocol == PROTOCOL_HTTP && !connection->manner.keeps_alive;
  return ends ? STEP_ENDS : STEP_SERVED;
}
