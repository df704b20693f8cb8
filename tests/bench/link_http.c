/* HTTP/1.1 POST with keep-alive; more than one request in flight is pipelining (RFC 9112, 9.3.2). */
#include "base/uuid.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { HEAD_MAX = 512 };

struct link {
  struct stream stream;
  char head[HEAD_MAX]; /* up to the number of Content-Length */
  size_t head_length;
};

static void http_close(struct link *link)
{
  if (link == NULL)
    return;
  stream_fini(&link->stream);
  free(link);
}

static void write_head(struct link *link, const struct link_target *target)
{
  char session[UUID_TEXT_LENGTH + 16] = "";
  if (target->keeps_session) {
    struct uuid uuid;
    char text[UUID_TEXT_LENGTH + 1];
    uuid_random(&uuid);
    uuid_format(&uuid, text);
    snprintf(session, sizeof(session), "peer-id: %s\r\n", text);
  }
  int length = snprintf(link->head, HEAD_MAX,
                        "POST %s HTTP/1.1\r\nHost: %s:%s\r\n%sContent-Type: application/json\r\n"
                        "Content-Length: ",
                        target->path, target->host, target->port, session);
  link->head_length = (size_t)length;
}

static enum jp_status http_open(const struct link_target *target, struct link **link, struct jp_error *error)
{
  struct link *made = calloc(1, sizeof(*made));
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a connection");
  stream_init(&made->stream);
  write_head(made, target);
  enum jp_status status = stream_connect(&made->stream, target, error);
  if (status == JP_OK)
    status = stream_unblock(&made->stream, error);
  if (status != JP_OK) {
    http_close(made);
    return status;
  }
  *link = made;
  return JP_OK;
}

static int http_fd(const struct link *link)
{
  return link->stream.fd;
}

static void http_send(struct link *link, struct text message)
{
  struct buffer *out = &link->stream.out;
  buffer_append(out, link->head, link->head_length);
  buffer_printf(out, "%zu\r\n\r\n", message.len);
  buffer_append_text(out, message);
}

static enum jp_status http_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  *again = false;
  return stream_flush(&link->stream, blocked, error);
}

/* False where the head has no Content-Length. */
static bool content_length(struct text head, size_t *length)
{
  static const char name[] = "\r\nContent-Length:";
  const size_t name_length = sizeof(name) - 1;
  for (size_t at = 0; at + name_length < head.len; at++) {
    if (head.data[at] == '\r' && strncasecmp(head.data + at, name, name_length) == 0) {
      *length = strtoul(head.data + at + name_length, NULL, 10); /* the head ends with "\r\n" */
      return true;
    }
  }
  return false;
}

/* The body of the first response; data NULL where it is not whole. */
static enum jp_status next_body(struct stream *stream, struct text *body, struct jp_error *error)
{
  struct text unused = stream_unused(stream);
  *body = TEXT_ABSENT;
  const char *end = unused.len == 0 ? NULL : memmem(unused.data, unused.len, "\r\n\r\n", 4);
  if (end == NULL)
    return JP_OK;
  struct text head = text_slice(unused, 0, (size_t)(end - unused.data) + 4);
  size_t length;
  if (!text_starts_with(head, TEXT("HTTP/1.1 200 ")) || !content_length(head, &length))
    return jp_fail(error, JP_INVALID, "a request was answered: %.*s", TEXT_ARGS(head));
  if (unused.len - head.len < length)
    return JP_OK;
  *body = (struct text){unused.data + head.len, length};
  stream->taken += head.len + length;
  return JP_OK;
}

static enum jp_status http_receive(struct link *link, struct link_listener *listener, struct jp_error *error)
{
  enum jp_status status = stream_read(&link->stream, error);
  while (status == JP_OK) {
    struct text body;
    status = next_body(&link->stream, &body, error);
    if (status != JP_OK || body.data == NULL)
      break;
    status = listener->answer(listener, body, error);
  }
  return status;
}

const struct link_kind link_http = {
    .scheme = "http",
    .open = http_open,
    .close = http_close,
    .fd = http_fd,
    .send = http_send,
    .flush = http_flush,
    .receive = http_receive,
};
