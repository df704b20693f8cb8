#include "rpc/jsonrpc/escaped_body.h"

#include "json/writer.h"

#include <stdlib.h>

struct body_stream {
  struct outcome_body source;
  struct buffer piece; /* read and not yet passed on; between two calls at most the start of a character */
  bool ended;
};

/* The bytes of the piece up to a character that is cut off at its end. */
static size_t whole_characters(struct text t)
{
  size_t back = 0;
  while (back < 3 && back < t.len && ((unsigned char)t.data[t.len - 1 - back] & 0xC0) == 0x80)
    back++;
  if (back == t.len)
    return t.len;
  unsigned char lead = (unsigned char)t.data[t.len - 1 - back];
  size_t needs = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  return back < needs ? t.len - 1 - back : t.len;
}

static enum jp_status read_escaped(void *state, struct buffer *out, size_t max)
{
  struct body_stream *stream = state;
  size_t before = out->len;
  while (out->len == before && !out->failed) {
    if (stream->ended)
      return JP_CLOSED;
    enum jp_status status = stream->source.read(stream->source.state, &stream->piece, max);
    if (stream->piece.failed)
      return JP_NO_MEMORY;
    if (status != JP_OK && status != JP_CLOSED)
      return status;
    stream->ended = status == JP_CLOSED;
    struct text piece = buffer_text(&stream->piece);
    size_t whole = stream->ended ? piece.len : whole_characters(piece);
    json_write_escaped(out, (struct text){piece.data, whole});
    buffer_consume(&stream->piece, whole);
  }
  return out->failed ? JP_NO_MEMORY : JP_OK;
}

static void close_stream(void *state)
{
  struct body_stream *stream = state;
  stream->source.close(stream->source.state);
  buffer_fini(&stream->piece);
  free(stream);
}

enum jp_status rpc_body_escape(const struct outcome_body *source, struct outcome_body *escaped)
{
  struct body_stream *stream = malloc(sizeof *stream);
  if (stream == NULL) {
    source->close(source->state);
    return JP_NO_MEMORY;
  }
  stream->source = *source;
  stream->ended = false;
  buffer_init(&stream->piece);
  *escaped = (struct outcome_body){.state = stream, .read = read_escaped, .close = close_stream};
  return JP_OK;
}
