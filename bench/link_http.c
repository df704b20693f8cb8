/* HTTP/1.1 POST with keep-alive; more than one request in flight is pipelining (RFC 9112, 9.3.2). */
#include "base/uuid.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { HEAD_MAX = 512, DIGITS_MAX = 20 };

struct link {
  struct stream stream;
  char head[HEAD_MAX]; /* all before the value of Content-Length */
  size_t head_length;
  struct buffer body; /* the body that is joined from chunks */
  /* The head of the last answer. The next answer usually has the same head, which is then not parsed
   * again. */
  char known_head[HEAD_MAX];
  size_t known_length; /* of the head; 0: none */
  size_t known_body;   /* the length of the body */
};

static void http_close(struct link *link)
{
  if (link == NULL)
    return;
  stream_fini(&link->stream);
  buffer_fini(&link->body);
  free(link);
}

static void write_head(struct link *link, const struct link_target *target)
{
  char session[UUID_TEXT_LENGTH + 16] = "";
  char authorization[128] = "";
  if (target->keeps_session) {
    struct uuid uuid;
    char text[UUID_TEXT_LENGTH + 1];
    uuid_random(&uuid);
    uuid_format(&uuid, text);
    snprintf(session, sizeof(session), "peer-id: %s\r\n", text);
  }
  if (target->evidence.token != NULL)
    snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s\r\n", target->evidence.token);
  int length = snprintf(link->head, HEAD_MAX,
                        "POST %s HTTP/1.1\r\nHost: %s:%s\r\n%s%sContent-Type: application/json\r\n"
                        "Content-Length: ",
                        target->path, target->host, target->port, session, authorization);
  link->head_length = (size_t)length;
}

static enum jp_status begin(struct link *link, const struct link_target *target, struct jp_error *error)
{
  write_head(link, target);
  return stream_unblock(&link->stream, error);
}

static enum jp_status http_open(const struct link_target *target, struct link **link, struct jp_error *error)
{
  return stream_open_link(sizeof(struct link), target, begin, http_close, link, error);
}

static int http_fd(const struct link *link)
{
  return link->stream.fd;
}

static void http_send(struct link *link, struct text message)
{
  struct buffer *out = &link->stream.out;
  char digits[DIGITS_MAX];
  size_t from = DIGITS_MAX;
  for (size_t rest = message.len; rest != 0; rest /= 10)
    digits[--from] = (char)('0' + rest % 10);
  buffer_append(out, link->head, link->head_length);
  buffer_append(out, digits + from, DIGITS_MAX - from);
  BUFFER_LITERAL(out, "\r\n\r\n");
  buffer_append_text(out, message);
}

static enum jp_status http_flush(struct link *link, bool *blocked, bool *again, struct jp_error *error)
{
  *again = false;
  return stream_flush(&link->stream, blocked, error);
}

/* The value of a field, up to the end of the head; NULL if the head does not have the field. name:
 * "\r\nName:". */
static const char *field_of(struct text head, struct text name)
{
  for (size_t at = 0; at + name.len < head.len; at++)
    if (head.data[at] == '\r' && strncasecmp(head.data + at, name.data, name.len) == 0)
      return head.data + at + name.len;
  return NULL;
}

/* Reads the line with a chunk's length, a hexadecimal number. False if the line is not complete. */
static bool read_chunk_head(struct text *rest, size_t *length)
{
  const char *end = rest->len == 0 ? NULL : memmem(rest->data, rest->len, "\r\n", 2);
  if (end == NULL)
    return false;
  *length = strtoul(rest->data, NULL, 16); /* ends at the line's end */
  *rest = text_slice(*rest, (size_t)(end - rest->data) + 2, rest->len);
  return true;
}

/* Joins a body in chunks (RFC 9112, 7.1), without trailers. *whole: the bytes of all chunks with their heads, or 0
 * if the last chunk has not arrived. */
static struct text chunked_body(struct link *link, struct text rest, size_t *whole)
{
  const size_t given = rest.len;
  size_t length = 1;
  *whole = 0;
  buffer_clear(&link->body);
  while (length != 0) {
    if (!read_chunk_head(&rest, &length) || rest.len < length + 2)
      return TEXT_ABSENT;
    buffer_append(&link->body, rest.data, length);
    rest = text_slice(rest, length + 2, rest.len);
  }
  *whole = given - rest.len;
  return buffer_text(&link->body);
}

static void learn_head(struct link *link, struct text head, size_t body_length)
{
  link->known_length = head.len <= sizeof(link->known_head) ? head.len : 0;
  memcpy(link->known_head, head.data, link->known_length);
  link->known_body = body_length;
}

/* The body that follows the head; data is NULL until all of it has arrived. *whole: its bytes on the wire. */
static enum jp_status body_after(struct link *link, struct text head, struct text rest, struct text *body,
                                 size_t *whole, struct jp_error *error)
{
  *body = TEXT_ABSENT;
  const char *length = field_of(head, TEXT("\r\nContent-Length:"));
  if (length != NULL) {
    *whole = strtoul(length, NULL, 10); /* the head ends with "\r\n" */
    learn_head(link, head, *whole);
    if (rest.len >= *whole)
      *body = text_slice(rest, 0, *whole);
    return JP_OK;
  }
  if (field_of(head, TEXT("\r\nTransfer-Encoding: chunked\r\n")) == NULL)
    return jp_fail(error, JP_INVALID, "an answer of unknown length: %.*s", TEXT_ARGS(head));
  *body = chunked_body(link, rest, whole);
  return link->body.failed ? jp_fail(error, JP_NO_MEMORY, "no memory for an answer in chunks") : JP_OK;
}

/* True if the first response has arrived completely and has the same head as the response before it. */
static bool read_alike(struct link *link, struct text unused, struct text *body)
{
  if (link->known_length == 0 || unused.len < link->known_length + link->known_body ||
      memcmp(unused.data, link->known_head, link->known_length) != 0)
    return false;
  *body = text_slice(unused, link->known_length, link->known_length + link->known_body);
  link->stream.used += link->known_length + link->known_body;
  return true;
}

/* The body of the first response; data is NULL until all of it has arrived. */
static enum jp_status next_body(struct link *link, struct text *body, struct jp_error *error)
{
  struct text unused = stream_unused(&link->stream);
  *body = TEXT_ABSENT;
  if (read_alike(link, unused, body))
    return JP_OK;
  const char *end = unused.len == 0 ? NULL : memmem(unused.data, unused.len, "\r\n\r\n", 4);
  if (end == NULL)
    return JP_OK;
  struct text head = text_slice(unused, 0, (size_t)(end - unused.data) + 4);
  if (!text_starts_with(head, TEXT("HTTP/1.1 200 ")))
    return jp_fail(error, JP_INVALID, "the answer to a request is not 200: %.*s", TEXT_ARGS(head));
  size_t whole = 0;
  enum jp_status status =
      body_after(link, head, text_slice(unused, head.len, unused.len), body, &whole, error);
  if (status == JP_OK && body->data != NULL)
    link->stream.used += head.len + whole;
  return status;
}

static enum jp_status http_receive(struct link *link, struct link_listener *listener, struct jp_error *error)
{
  enum jp_status status = stream_read(&link->stream, error);
  while (status == JP_OK) {
    struct text body;
    status = next_body(link, &body, error);
    if (status != JP_OK || body.data == NULL)
      break;
    status = listener->answer(listener, body, error);
  }
  return status;
}

const struct link_kind link_http = {
    .scheme = "http",
    .unix_scheme = "http+unix",
    .open = http_open,
    .close = http_close,
    .fd = http_fd,
    .send = http_send,
    .flush = http_flush,
    .receive = http_receive,
};
