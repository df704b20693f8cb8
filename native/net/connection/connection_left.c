/* Connections whose client has left while its call lasts. */
#include "base/clock.h"
#include "net/connection/connection_duplex.h"
#include "net/connection/connection_table.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  PROBE_AGAIN_MS = 10000, /* a client that was there then may leave without a word: it has said its last */
  FAREWELL_MAX = 256      /* bytes: longer than a close frame */
};

/* Input that nobody has read: in the peer's own memory, or in what carries it. */
static bool has_unread(const struct connection *connection)
{
  const struct connection_carrier *carrier = connection->protocol->carrier;
  if (connection->held > 0 || connection->in.len > connection->in_used)
    return true;
  if (carrier != NULL)
    return carrier->has_untaken(connection) || carrier->look((struct connection *)connection);
  int count = 0;
  if (ioctl(connection->fd, FIONREAD, &count) != 0 || count == 0)
    return false;
  char input[FAREWELL_MAX];
  ssize_t peeked = recv(connection->fd, input, sizeof input, MSG_PEEK | MSG_DONTWAIT);
  return connection->protocol->is_farewell == NULL || peeked <= 0 || peeked == FAREWELL_MAX ||
         !connection->protocol->is_farewell((struct text){input, (size_t)peeked});
}

/* Both ends of the socket are closed, or it has failed. */
static bool is_over(short events)
{
  return (events & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* A Unix socket tells a client that has closed from one that still reads. */
static bool is_told(const struct connection *connection)
{
  int domain = AF_UNSPEC;
  socklen_t length = sizeof domain;
  return getsockopt(connection->fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

/* The client's system answers with a reset where nobody reads any more. */
static void probe(struct connection *connection)
{
  int64_t now_ms = clock_now_ms();
  if (is_told(connection) || (connection->probed_ms != 0 && now_ms < connection->probed_ms + PROBE_AGAIN_MS))
    return;
  connection->probed_ms = now_ms;
  if (connection_holds_back(connection) || connection->protocol->write_probe == NULL ||
      connection->protocol->write_probe(connection))
    connection_flush(connection);
}

static void close_early(struct connection *connection)
{
  struct connection_duplex *duplex = connection->duplex;
  if (duplex != NULL)
    duplex->is_closed = true;
  /* Who calls the client back may still look at the ring. */
  bool keeps_ring = duplex != NULL && duplex->callbacks != NULL;
  if (connection->protocol->carrier != NULL && !keeps_ring)
    connection->protocol->carrier->close(connection);
  connection->is_broken = true;
  close(connection->fd);
  connection->fd = -1;
}

/* In call, under the lock, as a visitor. */
static bool look_for_end(struct connection *connection)
{
  struct pollfd polled = {.fd = connection->fd, .events = POLLRDHUP};
  if (connection_has_left(connection))
    return true;
  if (connection->seized || poll(&polled, 1, 0) <= 0 || polled.revents == 0)
    return false;
  if ((connection->duplex != NULL && !connection_duplex_may_close(connection->duplex)) ||
      has_unread(connection))
    return is_over(polled.revents);
  if (!is_over(polled.revents)) {
    probe(connection);
    return false;
  }
  close_early(connection);
  return true;
}

bool connection_look_after(struct crew_source *source)
{
  struct connection *connection = (struct connection *)(void *)source;
  bool has_left = false;
  bool calls = false;
  pthread_mutex_lock(&connection->lock);
  if (in_call_visit(&connection->in_call)) {
    has_left = look_for_end(connection);
    calls = connection_has_left(connection) && connection->duplex != NULL;
    if (calls)
      connection_duplex_begin_upcall(connection);
    in_call_leave(&connection->in_call);
  }
  pthread_mutex_unlock(&connection->lock);
  if (calls)
    connection_duplex_end_upcall(connection);
  return has_left;
}
