#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
/*
 * A connected TCP or unix socket with an input and an output buffer. Only connecting and client_stream_await
 * block.
 *
 * One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "client/transports/client_url.h"

#include <stdint.h>

struct client_stream {
  int fd; /* -1: none */
  struct buffer in;
  size_t consumed; /* bytes of `in` that were consumed */
  struct buffer out;
  size_t sent; /* bytes of `out` that were sent */
};

void client_stream_init(struct client_stream *stream);
void client_stream_fini(struct client_stream *stream);

/*
 * Connects to the URL's host and port, trying one address after the other, or to its Unix socket.
 * JP_CLIENT_REFUSED. deadline_ns: by clock_now_ns. Resolving a name may take longer, because the system's
 * resolver has its own timeouts.
 */
enum jp_client_status client_stream_connect(struct client_stream *stream, const struct client_url *url,
                                            int64_t deadline_ns,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Waits until the socket is readable (is_for_writing: writable). JP_CLIENT_REFUSED: timed out. */
enum jp_client_status client_stream_await(const struct client_stream *stream, bool is_for_writing,
                                          int64_t deadline_ns,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Sends as much of `out` as the socket accepts. */
enum jp_client_status client_stream_flush(struct client_stream *stream,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Sends all of `out`, and waits for room if necessary. JP_CLIENT_REFUSED: timed out. */
enum jp_client_status client_stream_flush_all(struct client_stream *stream, int64_t deadline_ns,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Appends the available input to `in`. JP_CLIENT_CLOSED: the other side has closed. */
enum jp_client_status client_stream_read(struct client_stream *stream,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

static inline bool client_stream_wants_to_write(const struct client_stream *stream)
{
  return stream->sent < stream->out.len;
}

/* The input that was not consumed yet. */
static inline struct text client_stream_unused(const struct client_stream *stream)
{
  return stream->in.len == 0 ? TEXT("")
                             : text_slice(buffer_text(&stream->in), stream->consumed, stream->in.len);
}

#endif
