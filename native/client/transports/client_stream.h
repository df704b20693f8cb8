#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_STREAM_H
/*
 * A connected TCP or unix socket, with TLS if the URL says so, with an input and an output buffer. Only connecting and
 * client_stream_await block.
 *
 * One owner, one thread at a time.
 */
#include "base/buffer.h"
#include "client/transports/client_credentials.h"
#include "client/transports/client_tls.h"
#include "client/transports/client_url.h"

#include <stdint.h>

struct client_stream {
  int fd; /* -1: none */
  struct buffer in;
  size_t consumed; /* bytes of `in` that were consumed */
  struct buffer out;
  size_t sent; /* bytes of `out` that were sent */

  struct client_tls *tls;  /* NULL: none */
  bool has_unread;         /* there may be more input, although poll(2) may not show it */
  bool reading_needs_room; /* reading continues when the socket is writable, because TLS has to send an answer
                            * first */
  bool is_cut;             /* the connection ended without an announcement, so the last message may be
                            * incomplete */
};

void client_stream_init(struct client_stream *stream);
void client_stream_fini(struct client_stream *stream);

/*
 * Connects to the socket in the URL, or to its host and port; the addresses of a host are tried in turn. If
 * the URL is secure, also makes the TLS handshake. JP_CLIENT_REFUSED. JP_CLIENT_INVALID: a file of the
 * credentials cannot be used. JP_CLIENT_NO_TOKEN: the credentials have a token, and the host is neither
 * secure nor this machine; nothing was sent to it. deadline_ns: a time of clock_now_ns. Resolving a name may
 * take longer, because the system's resolver has its own timeouts. credentials may be NULL if the URL is not
 * secure.
 */
enum jp_client_status client_stream_connect(struct client_stream *stream, const struct client_url *url,
                                            const struct client_credentials *credentials, int64_t deadline_ns,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Waits until reading can continue or, with is_for_writing, until the socket is writable. JP_CLIENT_REFUSED:
 * timed out. */
enum jp_client_status client_stream_await(const struct client_stream *stream, bool is_for_writing,
                                          int64_t deadline_ns,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* Sends as much of `out` as the socket accepts. */
enum jp_client_status client_stream_flush(struct client_stream *stream,
                                          struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Sends all of `out`, and waits for room if necessary. JP_CLIENT_REFUSED: timed out. */
enum jp_client_status client_stream_flush_all(struct client_stream *stream, int64_t deadline_ns,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Appends the available input to `in`. JP_CLIENT_CLOSED: the other side has closed (then see is_cut). */
enum jp_client_status client_stream_read(struct client_stream *stream,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

static inline bool client_stream_wants_to_write(const struct client_stream *stream)
{
  return stream->sent < stream->out.len || stream->reading_needs_room;
}

/* The input that was not consumed yet. */
static inline struct text client_stream_unused(const struct client_stream *stream)
{
  return stream->in.len == 0 ? TEXT("")
                             : text_slice(buffer_text(&stream->in), stream->consumed, stream->in.len);
}

#endif
