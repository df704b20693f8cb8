#ifndef JPEER_BENCH_STREAM_H
#define JPEER_BENCH_STREAM_H
/* A connection over TCP or a Unix socket, with a buffer for each direction. The WebSocket link and the HTTP
 * link use it. One thread. */
#include "link.h"

struct stream {
  int fd; /* -1: not connected */
  struct buffer in;
  struct buffer out;
  size_t used; /* used bytes of `in` */
  size_t sent; /* sent bytes of `out` */
};

void stream_init(struct stream *stream);
void stream_fini(struct stream *stream);

/* Connects, over TCP with TCP_NODELAY; the socket blocks until stream_unblock. JP_IO. */
enum jp_status stream_connect(struct stream *stream, const struct link_target *target,
                              struct jp_error *error) JP_MUST_CHECK;
enum jp_status stream_unblock(struct stream *stream, struct jp_error *error) JP_MUST_CHECK;

/* Implements link_kind.open for a link that begins with a struct stream. Allocates `size` zero bytes for the
 * link, connects the stream, and calls begin, which must end with stream_unblock. If one of them fails, the
 * function calls close. */
enum jp_status stream_open_link(size_t size, const struct link_target *target,
                                enum jp_status (*begin)(struct link *link, const struct link_target *target,
                                                        struct jp_error *error),
                                void (*close)(struct link *link), struct link **link,
                                struct jp_error *error) JP_MUST_CHECK;

/* Writes as much of `out` as possible. *blocked is true if some bytes remain. JP_IO. */
enum jp_status stream_flush(struct stream *stream, bool *blocked, struct jp_error *error) JP_MUST_CHECK;
/* Reads once, after the bytes in `in`. JP_CLOSED at the end of the stream; JP_IO. */
enum jp_status stream_read(struct stream *stream, struct jp_error *error) JP_MUST_CHECK;

/* The bytes that were read and not used yet; borrowed until the next read. */
static inline struct text stream_unused(const struct stream *stream)
{
  return text_slice(buffer_text(&stream->in), stream->used, stream->in.len);
}

/* Reads, blocking, until the empty line that ends an HTTP head, and consumes it. *head is borrowed until the next
 * read. JP_CLOSED, JP_IO. */
enum jp_status stream_read_head(struct stream *stream, struct text *head,
                                struct jp_error *error) JP_MUST_CHECK;

#endif
