#include "client/transports/client_stream.h"

#include "base/clock.h"
#include "client/messages/client_error.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_MIN = 64 * 1024, READ_AT_ONCE = 1024 * 1024, KEPT_MAX = 1024 * 1024 };

void client_stream_init(struct client_stream *stream)
{
  *stream = (struct client_stream){.fd = -1};
}

void client_stream_fini(struct client_stream *stream)
{
  client_tls_destroy(stream->tls);
  stream->tls = NULL;
  if (stream->fd >= 0)
    close(stream->fd);
  buffer_fini(&stream->in);
  buffer_fini(&stream->out);
  stream->fd = -1;
}

/* ---- connecting ---- */

static int poll_timeout(int64_t deadline_ns)
{
  enum { NS_IN_MS = 1000000 };
  int64_t left_ns = deadline_ns - clock_now_ns();
  if (left_ns <= 0)
    return 0;
  int64_t left_ms = (left_ns + NS_IN_MS - 1) / NS_IN_MS;
  return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

enum jp_client_status client_stream_await(const struct client_stream *stream, bool is_for_writing,
                                          int64_t deadline_ns, struct jp_client_error *error)
{
  struct pollfd polled = {.fd = stream->fd,
                          .events = is_for_writing || stream->reading_needs_room ? POLLOUT : POLLIN};
  if (!is_for_writing && stream->has_unread)
    return JP_CLIENT_OK;
  for (;;) {
    int timeout = poll_timeout(deadline_ns);
    int ready = poll(&polled, 1, timeout);
    if (ready > 0 && timeout > 0)
      return JP_CLIENT_OK;
    if (ready >= 0 && timeout == 0) /* also true for a peer that sends bytes without end and completes
                                     * nothing */
      return client_fail(error, JP_CLIENT_REFUSED, "the peer did not answer in time");
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
      return client_fail(error, JP_CLIENT_REFUSED, "poll: %s", strerror(errno));
  }
}

static void set_number(int fd, int level, int option, int value)
{
  /* The result is ignored: the connection also works without the option. */
  (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Detects a lost network within half a minute while no data is in flight; for data in flight the kernel's own
 * limit applies. TCP_USER_TIMEOUT would be faster, but would end connections to a busy peer, because it also
 * counts the time in which the peer does not read. */
static void set_tcp_options(int fd)
{
  enum { IDLE_SECONDS = 15, BETWEEN_SECONDS = 5, PROBES = 3 };
  set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_SECONDS);
  set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, BETWEEN_SECONDS);
  set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

static enum jp_client_status await_connection(struct client_stream *stream, int64_t deadline_ns,
                                              struct jp_client_error *error)
{
  enum jp_client_status status = client_stream_await(stream, true, deadline_ns, error);
  if (status != JP_CLIENT_OK)
    return status;
  int failure = 0;
  socklen_t size = sizeof failure;
  if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
    failure = errno;
  return failure == 0 ? JP_CLIENT_OK : client_fail(error, JP_CLIENT_REFUSED, "%s", strerror(failure));
}

/* True if the caller must connect again, because the queue of the unix socket is full. poll(2) cannot wait
 * for room in the queue, so this function makes a short pause. */
static bool connects_later(const struct sockaddr *address, int64_t deadline_ns)
{
  const struct timespec pause = {.tv_nsec = 5000000};
  if (errno != EAGAIN || address->sa_family != AF_UNIX || clock_now_ns() >= deadline_ns)
    return false;
  nanosleep(&pause, NULL);
  return true;
}

static enum jp_client_status connect_address(struct client_stream *stream, const struct sockaddr *address,
                                             socklen_t size, int64_t deadline_ns,
                                             struct jp_client_error *error)
{
  stream->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (stream->fd < 0)
    return client_fail(error, JP_CLIENT_REFUSED, "no socket: %s", strerror(errno));
  enum jp_client_status status = JP_CLIENT_OK;
  int failed;
  do {
    failed = connect(stream->fd, address, size);
  } while (failed != 0 && connects_later(address, deadline_ns));
  /* EINTR: the kernel still establishes the connection. */
  if (failed != 0)
    status = errno == EINPROGRESS || errno == EINTR
                 ? await_connection(stream, deadline_ns, error)
                 : client_fail(error, JP_CLIENT_REFUSED, "%s", strerror(errno));
  if (status != JP_CLIENT_OK) {
    close(stream->fd);
    stream->fd = -1;
  }
  return status;
}

static enum jp_client_status connect_socket(struct client_stream *stream, struct text path,
                                            int64_t deadline_ns, struct jp_client_error *error)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path.data, path.len);
  return connect_address(stream, (const struct sockaddr *)&address, sizeof address, deadline_ns, error);
}

/* The addresses of a name, in the order of the system's preference. */
static enum jp_client_status resolve_host(const struct client_url *url, struct addrinfo **found,
                                          struct jp_client_error *error)
{
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  struct addrinfo wanted = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  if (url->host.len >= sizeof host)
    return client_fail(error, JP_CLIENT_INVALID, "the name of the host is too long");
  snprintf(host, sizeof host, "%.*s", TEXT_ARGS(url->host));
  snprintf(port, sizeof port, "%.*s", TEXT_ARGS(url->port));
  int failure = getaddrinfo(host, port, &wanted, found);
  if (failure == EAI_NONAME) {
    wanted.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
    failure = getaddrinfo(host, port, &wanted, found);
  }
  if (failure == EAI_SYSTEM)
    return client_fail(error, JP_CLIENT_REFUSED, "%s: %s", host, strerror(errno));
  return failure == 0 ? JP_CLIENT_OK
                      : client_fail(error, JP_CLIENT_REFUSED, "%s: %s", host, gai_strerror(failure));
}

static bool is_loopback(const struct sockaddr *address)
{
  enum { NET_SHIFT = 24 };
  if (address->sa_family == AF_INET) {
    struct sockaddr_in four;
    memcpy(&four, address, sizeof four);
    return ntohl(four.sin_addr.s_addr) >> NET_SHIFT == IN_LOOPBACKNET;
  }
  struct sockaddr_in6 six;
  memcpy(&six, address, sizeof six);
  const uint8_t *bytes = six.sin6_addr.s6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) && bytes[12] == IN_LOOPBACKNET);
}

/* Fails if the token would be sent to another machine without TLS. The address is checked, because a name may
 * resolve to any address. */
static enum jp_client_status check_token_may_be_sent(const struct client_url *url,
                                                     const struct client_credentials *credentials,
                                                     const struct sockaddr *address,
                                                     struct jp_client_error *error)
{
  if (credentials == NULL || !client_credentials_have_token(credentials) || url->is_secure ||
      is_loopback(address))
    return JP_CLIENT_OK;
  return client_fail(
      error, JP_CLIENT_NO_TOKEN,
      "a token is sent only over TLS (wss: or https:), to a loopback address or over a unix socket");
}

/* Each address gets an equal part of the remaining time, so that a silent address leaves time for the
 * others. */
static enum jp_client_status connect_host(struct client_stream *stream, const struct client_url *url,
                                          const struct client_credentials *credentials, int64_t deadline_ns,
                                          struct jp_client_error *error)
{
  struct addrinfo *found = NULL;
  enum jp_client_status status = resolve_host(url, &found, error);
  if (status != JP_CLIENT_OK)
    return status;
  int64_t left = 0;
  for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
    left++;
  status = JP_CLIENT_REFUSED;
  for (const struct addrinfo *at = found; at != NULL && status != JP_CLIENT_OK; at = at->ai_next, left--) {
    int64_t now = clock_now_ns();
    int64_t until = deadline_ns > now ? now + (deadline_ns - now) / left : now;
    status = check_token_may_be_sent(url, credentials, at->ai_addr, error);
    if (status == JP_CLIENT_OK)
      status = connect_address(stream, at->ai_addr, at->ai_addrlen, until, error);
  }
  freeaddrinfo(found);
  if (status == JP_CLIENT_OK)
    set_tcp_options(stream->fd);
  return status;
}

static enum jp_client_status start_tls(struct client_stream *stream, const struct client_url *url,
                                       const struct client_credentials *credentials, int64_t deadline_ns,
                                       struct jp_client_error *error)
{
  enum tls_wait wait;
  enum jp_client_status status = client_tls_create(stream->fd, url, credentials, &stream->tls, error);
  if (status == JP_CLIENT_OK)
    status = client_tls_shake_hands(stream->tls, &wait, error);
  while (status == JP_CLIENT_OK && wait != TLS_NEEDS_NOTHING) {
    status = client_stream_await(stream, wait == TLS_NEEDS_ROOM, deadline_ns, error);
    if (status == JP_CLIENT_OK)
      status = client_tls_shake_hands(stream->tls, &wait, error);
    else
      client_error_prefix(error, "TLS handshake: ");
  }
  stream->has_unread = status == JP_CLIENT_OK && client_tls_has_input(stream->tls);
  return status;
}

enum jp_client_status client_stream_connect(struct client_stream *stream, const struct client_url *url,
                                            const struct client_credentials *credentials, int64_t deadline_ns,
                                            struct jp_client_error *error)
{
  enum jp_client_status status = url->host.data == NULL
                                     ? connect_socket(stream, url->path, deadline_ns, error)
                                     : connect_host(stream, url, credentials, deadline_ns, error);
  if (status == JP_CLIENT_OK && url->is_secure)
    status = start_tls(stream, url, credentials, deadline_ns, error);
  if (status != JP_CLIENT_OK)
    client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  return status;
}

/* ---- reading and writing ---- */

/* Moves the remaining bytes to the front, but only if they are fewer than the sent bytes, so that moving is
 * cheap. */
static void drop_sent(struct client_stream *stream)
{
  if (stream->sent <= stream->out.len / 2)
    return;
  buffer_consume(&stream->out, stream->sent);
  stream->sent = 0;
}

/* *is_full: the socket accepts no more. */
static enum jp_client_status flush_tls(struct client_stream *stream, bool *is_full,
                                       struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  stream->has_unread |= stream->reading_needs_room;
  stream->reading_needs_room = false;
  while (status == JP_CLIENT_OK && !*is_full && stream->sent < stream->out.len) {
    enum tls_wait wait; /* always room to write: without renegotiation, writing never needs input */
    size_t count;
    status = client_tls_write(stream->tls, stream->out.data + stream->sent, stream->out.len - stream->sent,
                              &count, &wait, error);
    stream->sent += count;
    *is_full = count == 0;
  }
  return status;
}

static enum jp_client_status flush_plain(struct client_stream *stream, bool *is_full,
                                         struct jp_client_error *error)
{
  while (stream->sent < stream->out.len) {
    ssize_t count =
        send(stream->fd, stream->out.data + stream->sent, stream->out.len - stream->sent, MSG_NOSIGNAL);
    if (count >= 0) {
      stream->sent += (size_t)count;
    } else if (errno == EAGAIN) {
      *is_full = true;
      break;
    } else if (errno != EINTR) {
      return client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", strerror(errno));
    }
  }
  return JP_CLIENT_OK;
}

enum jp_client_status client_stream_flush(struct client_stream *stream, struct jp_client_error *error)
{
  bool is_full = false;
  if (stream->out.failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the messages to be sent");
  enum jp_client_status status =
      stream->tls == NULL ? flush_plain(stream, &is_full, error) : flush_tls(stream, &is_full, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (is_full) {
    drop_sent(stream);
    return JP_CLIENT_OK;
  }
  buffer_clear(&stream->out);
  buffer_trim(&stream->out, KEPT_MAX);
  stream->sent = 0;
  return JP_CLIENT_OK;
}

enum jp_client_status client_stream_flush_all(struct client_stream *stream, int64_t deadline_ns,
                                              struct jp_client_error *error)
{
  enum jp_client_status status = client_stream_flush(stream, error);
  while (status == JP_CLIENT_OK && stream->sent < stream->out.len) {
    status = client_stream_await(stream, true, deadline_ns, error);
    if (status == JP_CLIENT_OK)
      status = client_stream_flush(stream, error);
  }
  return status;
}

static enum jp_client_status fail_no_room(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a received message");
}

static enum jp_client_status read_tls(struct client_stream *stream, struct jp_client_error *error)
{
  size_t before = stream->in.len;
  do {
    enum tls_wait wait;
    size_t count;
    char *room = buffer_reserve(&stream->in, READ_MIN);
    if (room == NULL)
      return fail_no_room(error);
    enum jp_client_status status =
        client_tls_read(stream->tls, room, stream->in.cap - stream->in.len, &count, &wait, error);
    stream->is_cut = status != JP_CLIENT_OK && client_tls_is_cut(stream->tls);
    if (status != JP_CLIENT_OK)
      return status;
    stream->in.len += count;
    stream->reading_needs_room = wait == TLS_NEEDS_ROOM;
    stream->has_unread = wait == TLS_NEEDS_NOTHING && client_tls_has_input(stream->tls);
  } while (stream->has_unread && stream->in.len - before <= READ_AT_ONCE);
  return JP_CLIENT_OK;
}

static enum jp_client_status read_plain(struct client_stream *stream, struct jp_client_error *error)
{
  size_t before = stream->in.len;
  for (;;) {
    char *room = buffer_reserve(&stream->in, READ_MIN);
    if (room == NULL)
      return fail_no_room(error);
    size_t size = stream->in.cap - stream->in.len;
    ssize_t count = recv(stream->fd, room, size, 0);
    if (count == 0)
      return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
    if (count < 0 && errno == EAGAIN)
      return JP_CLIENT_OK;
    if (count < 0 && errno != EINTR) {
      stream->is_cut = true;
      return client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", strerror(errno));
    }
    if (count > 0)
      stream->in.len += (size_t)count;
    if (count > 0 && ((size_t)count < size || stream->in.len - before > READ_AT_ONCE))
      return JP_CLIENT_OK;
  }
}

enum jp_client_status client_stream_read(struct client_stream *stream, struct jp_client_error *error)
{
  buffer_consume(&stream->in, stream->consumed);
  stream->consumed = 0;
  if (stream->in.len == 0)
    buffer_trim(&stream->in, KEPT_MAX);
  return stream->tls == NULL ? read_plain(stream, error) : read_tls(stream, error);
}
