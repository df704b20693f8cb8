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

/* The rest of the answer cannot be made, and its beginning was sent. */
static enum step abandon_answer(struct connection *connection)
{
  connection_end_stream(connection);
  return connection->protocol->abandon_answer(connection);
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
    return abandon_answer(connection);
  if (status == JP_OK) {
    if (part->len > 0)
      connection->protocol->write_part(connection, buffer_text(part), false);
    return STEP_SERVED;
  }
  enum step step = connection->protocol->write_part(connection, buffer_text(&stream->tail), true);
  connection_end_stream(connection);
  return step;
}
