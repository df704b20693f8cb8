#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_MIN = 64 * 1024 };

void stream_init(struct stream *stream)
{
  *stream = (struct stream){.fd = -1};
  buffer_init(&stream->in);
  buffer_init(&stream->out);
}

void stream_fini(struct stream *stream)
{
  if (stream->fd >= 0)
    close(stream->fd);
  buffer_fini(&stream->in);
  buffer_fini(&stream->out);
  stream->fd = -1;
}

static enum jp_status connect_tcp(struct stream *stream, const struct link_target *target,
                                  struct jp_error *error)
{
  const struct addrinfo wanted = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  int failure = getaddrinfo(target->host, target->port, &wanted, &found);
  if (failure != 0)
    return jp_fail(error, JP_INVALID, "%s: %s", target->address, gai_strerror(failure));
  enum jp_status status = JP_OK;
  const int on = 1;
  stream->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stream->fd < 0 || connect(stream->fd, found->ai_addr, found->ai_addrlen) != 0 ||
      setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
    status = jp_fail(error, JP_IO, "%s: %s", target->address, strerror(errno));
  freeaddrinfo(found);
  return status;
}

static enum jp_status connect_unix(struct stream *stream, const struct link_target *target,
                                   struct jp_error *error)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(target->socket_path);
  if (length >= sizeof(address.sun_path))
    return jp_fail(error, JP_INVALID, "%s: the path is too long", target->address);
  memcpy(address.sun_path, target->socket_path, length);
  stream->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stream->fd < 0 || connect(stream->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
    return jp_fail(error, JP_IO, "%s: %s", target->address, strerror(errno));
  return JP_OK;
}

enum jp_status stream_connect(struct stream *stream, const struct link_target *target, struct jp_error *error)
{
  return target->socket_path == NULL ? connect_tcp(stream, target, error)
                                     : connect_unix(stream, target, error);
}

enum jp_status stream_unblock(struct stream *stream, struct jp_error *error)
{
  int flags = fcntl(stream->fd, F_GETFL);
  if (flags < 0 || fcntl(stream->fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return jp_fail(error, JP_IO, "fcntl: %s", strerror(errno));
  return JP_OK;
}

enum jp_status stream_open_link(size_t size, const struct link_target *target,
                                enum jp_status (*begin)(struct link *link, const struct link_target *target,
                                                        struct jp_error *error),
                                void (*close)(struct link *link), struct link **link, struct jp_error *error)
{
  struct stream *stream = calloc(1, size);
  if (stream == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a connection");
  struct link *made = (struct link *)(void *)stream;
  stream_init(stream);
  enum jp_status status = stream_connect(stream, target, error);
  if (status == JP_OK)
    status = begin(made, target, error);
  if (status == JP_OK)
    *link = made;
  else
    close(made);
  return status;
}

enum jp_status stream_flush(struct stream *stream, bool *blocked, struct jp_error *error)
{
  *blocked = false;
  if (stream->out.failed)
    return jp_fail(error, JP_NO_MEMORY, "no memory for a message to send");
  while (stream->sent < stream->out.len && !*blocked) {
    ssize_t count =
        send(stream->fd, stream->out.data + stream->sent, stream->out.len - stream->sent, MSG_NOSIGNAL);
    if (count >= 0)
      stream->sent += (size_t)count;
    else if (errno == EAGAIN)
      *blocked = true;
    else if (errno != EINTR)
      return jp_fail(error, JP_IO, "send: %s", strerror(errno));
  }
  if (*blocked)
    return JP_OK; /* moving the rest to the front would cost more than sending it */
  buffer_clear(&stream->out);
  stream->sent = 0;
  return JP_OK;
}

enum jp_status stream_read(struct stream *stream, struct jp_error *error)
{
  buffer_consume(&stream->in, stream->used);
  stream->used = 0;
  char *room = buffer_reserve(&stream->in, READ_MIN);
  if (room == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for received bytes");
  ssize_t count = recv(stream->fd, room, READ_MIN, 0);
  if (count > 0)
    stream->in.len += (size_t)count;
  else if (count == 0)
    return jp_fail(error, JP_CLOSED, "the server closed the connection");
  else if (errno != EAGAIN && errno != EINTR)
    return jp_fail(error, JP_IO, "recv: %s", strerror(errno));
  return JP_OK;
}

enum jp_status stream_read_head(struct stream *stream, struct text *head, struct jp_error *error)
{
  for (;;) {
    struct text unused = stream_unused(stream);
    const char *end =
        unused.data == NULL || unused.len == 0 ? NULL : memmem(unused.data, unused.len, "\r\n\r\n", 4);
    if (end != NULL) {
      *head = text_slice(unused, 0, (size_t)(end - unused.data) + 4);
      stream->used += head->len;
      return JP_OK;
    }
    enum jp_status status = stream_read(stream, error);
    if (status != JP_OK)
      return status;
  }
}
