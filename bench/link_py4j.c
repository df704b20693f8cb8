/*
 * Py4J's gateway, one of the rivals: a command is a few lines, of which the last is "e"; an answer is one line, which
 * begins with "!" (Py4J's documentation, "Protocol"). A connection's commands are answered in their order, so several
 * may be in flight.
 */
#include "stream.h"

#include <stdlib.h>

struct link {
  struct stream stream;
};

static void py4j_close(struct link *link)
{
  if (link == NULL)
    return;
  stream_fini(&link->stream);
  free(link);
}

static enum jp_status begin(struct link *link, const struct link_target *target, struct jp_error *error)
{
  (void)target;
  return stream_unblock(&link->stream, error);
}

static enum jp_status py4j_open(const struct link_target *target, struct link **link, struct jp_error *error)
{
  return stream_open_link(sizeof(struct link), target, begin, py4j_close, link, error);
}

static int py4j_fd(const struct link *link)
{
  return link->stream.fd;
}

static void py4j_send(struct link *link, struct text message)
{
  buffer_append_text(&link->stream.out, message);
}

static enum jp_status py4j_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  *again = false;
  return stream_flush(&link->stream, blocked, error);
}

/* The first line, without its end; data is NULL until the line has arrived completely. */
static struct text next_line(struct stream *stream)
{
  struct text unused = stream_unused(stream);
  const char *end = unused.len == 0 ? NULL : memchr(unused.data, '\n', unused.len);
  if (end == NULL)
    return TEXT_ABSENT;
  size_t length = (size_t)(end - unused.data);
  stream->used += length + 1;
  return text_slice(unused, 0, length);
}

static enum jp_status py4j_receive(struct link *link, struct link_listener *listener, struct jp_error *error)
{
  enum jp_status status = stream_read(&link->stream, error);
  while (status == JP_OK) {
    struct text line = next_line(&link->stream);
    if (line.data == NULL)
      break;
    status = listener->answer(listener, line, error);
  }
  return status;
}

const struct link_kind link_py4j = {
    .scheme = "py4j",
    .open = py4j_open,
    .close = py4j_close,
    .fd = py4j_fd,
    .send = py4j_send,
    .flush = py4j_flush,
    .receive = py4j_receive,
};
