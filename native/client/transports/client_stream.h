#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
/*
 * A connected socket, TCP or unix, with what has been read from it and what is to be written. Nothing
 * blocks but connecting and client_stream_await.
 *
 * One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "client/transports/client_url.h"

#include <stdint.h>

struct client_stream {
  int fd; /* -1: none */
  struct buffer in;
  size_t taken; /* bytes of `in` that are done with */
  struct buffer out;
  size_t sent; /* bytes of `out` that are written */
};

void client_stream_init(struct client_stream *stream);
void client_stream_fini(struct client_stream *stream);

/*
 * Connects to the URL's host and port, each of its addresses in turn, or to its socket. JP_CLIENT_REFUSED.
 * deadline_ns is by clock_now_ns. Resolving a name may take longer: the system's resolver has limits of its
 * own.
 */
enum jp_client_status client_stream_connect(struct client_stream *stream, const struct client_url *url,
                                            int64_t deadline_ns,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Waits until the socket can be read (is_for_writing: or written). JP_CLIENT_REFUSED: not in time. */
enum jp_client_status client_stream_await(const struct client_stream *stream, bool is_for_writing,
                                          int64_t deadline_ns,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Writes what is in `out`, as far as the socket takes it. */
enum jp_client_status client_stream_flush(struct client_stream *stream,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Writes all of it, and waits for room meanwhile. JP_CLIENT_REFUSED: not in time. */
enum jp_client_status client_stream_flush_all(struct client_stream *stream, int64_t deadline_ns,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Reads what is there behind `in`. JP_CLIENT_CLOSED: the other side has closed. */
enum jp_client_status client_stream_read(struct client_stream *stream,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

static inline bool client_stream_wants_to_write(const struct client_stream *stream)
{
  return stream->sent < stream->out.len;
}

/* What was read and is not taken yet. */
static inline struct text client_stream_unused(const struct client_stream *stream)
{
  return stream->in.len == 0 ? TEXT("") : text_slice(buffer_text(&stream->in), stream->taken, stream->in.len);
}

#endif
