#include "client/zeromq/zeromq_socket.h"

#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/zeromq/zeromq_endpoint.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { NS_IN_MS = 1000000 };

void zeromq_socket_init(struct zeromq_socket *socket)
{
  *socket = (struct zeromq_socket){.epoll_fd = -1};
}

void zeromq_socket_fini(struct zeromq_socket *socket, int linger_ms)
{
  if (socket->epoll_fd >= 0)
    close(socket->epoll_fd);
  /* libzmq loses the message of an event that has no reader any more: first nothing is to be sent. */
  if (socket->dealer != NULL && socket->monitor != NULL)
    zmq_socket_monitor(socket->dealer, NULL, 0);
  if (socket->monitor != NULL)
    zmq_close(socket->monitor);
  if (socket->dealer != NULL) {
    zmq_setsockopt(socket->dealer, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_close(socket->dealer);
  }
  while (socket->context != NULL && zmq_ctx_term(socket->context) != 0 && errno == EINTR)
    continue;
  zeromq_socket_init(socket);
}

/* ---- making ---- */

static enum jp_client_status fail_system(struct jp_client_error *error)
{
  enum jp_client_status status = errno == ENOMEM ? JP_CLIENT_NO_MEMORY : JP_CLIENT_LIMIT;
  return client_fail(error, status, "no ZeroMQ socket: %s", zmq_strerror(errno));
}

/* As of other connections: a network that is gone is found within half a minute. */
static int set_options(void *dealer, const struct transport_options *options)
{
  const struct {
    int option;
    int value;
  } numbers[] = {
      /* Not -1, which would also drop the answers that came just before the end. */
      {ZMQ_RECONNECT_IVL, INT_MAX / 2},
      {ZMQ_LINGER, 0},
      {ZMQ_IPV6, 1},
      {ZMQ_TCP_KEEPALIVE, 1},
      {ZMQ_TCP_KEEPALIVE_IDLE, 15},
      {ZMQ_TCP_KEEPALIVE_INTVL, 5},
      {ZMQ_TCP_KEEPALIVE_CNT, 3},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (zmq_setsockopt(dealer, numbers[i].option, &numbers[i].value, sizeof numbers[i].value) != 0)
      return -1;
  }
  /* libzmq ends the connection at this limit, and does not say why. Our own, below it, does. */
  int64_t most = options->message_max > INT64_MAX / 2 ? -1 : (int64_t)options->message_max * 2;
  return zmq_setsockopt(dealer, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

static int make_monitor(struct zeromq_socket *socket)
{
  static const char address[] = "inproc://monitor";
  enum {
    EVENTS = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
             ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CLOSED |
             ZMQ_EVENT_DISCONNECTED
  };
  if (zmq_socket_monitor(socket->dealer, address, EVENTS) != 0)
    return -1;
  socket->monitor = zmq_socket(socket->context, ZMQ_PAIR);
  return socket->monitor == NULL ? -1 : zmq_connect(socket->monitor, address);
}

static int watch(const struct zeromq_socket *socket, void *watched)
{
  int fd;
  size_t size = sizeof fd;
  struct epoll_event event = {.events = EPOLLIN};
  if (zmq_getsockopt(watched, ZMQ_FD, &fd, &size) != 0)
    return -1;
  return epoll_ctl(socket->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static enum jp_client_status make_socket(struct zeromq_socket *socket,
                                         const struct transport_options *options,
                                         struct jp_client_error *error)
{
  socket->context = zmq_ctx_new();
  if (socket->context != NULL)
    socket->dealer = zmq_socket(socket->context, ZMQ_DEALER);
  if (socket->dealer == NULL || set_options(socket->dealer, options) != 0 || make_monitor(socket) != 0)
    return fail_system(error);
  socket->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (socket->epoll_fd < 0 || watch(socket, socket->dealer) != 0 || watch(socket, socket->monitor) != 0)
    return fail_system(error);
  return JP_CLIENT_OK;
}

/* ---- what the monitor tells ---- */

/* The next event without waiting, which is a frame of 16 bits and 32 bits, and a frame with the address. 0:
 * there is none. */
static uint16_t next_event(const struct zeromq_socket *socket)
{
  unsigned char frame[6];
  uint16_t event;
  int length;
  do
    length = zmq_recv(socket->monitor, frame, sizeof frame, ZMQ_DONTWAIT);
  while (length < 0 && errno == EINTR);
  if (length != sizeof frame)
    return 0;
  memcpy(&event, frame, sizeof event);
  (void)zmq_recv(socket->monitor, NULL, 0, ZMQ_DONTWAIT); /* both frames have come */
  return event;
}

bool zeromq_socket_is_gone(const struct zeromq_socket *socket)
{
  bool is_gone = false;
  uint16_t event;
  while ((event = next_event(socket)) != 0)
    is_gone |= event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  return is_gone;
}

static bool has_events(void *socket)
{
  int events = 0;
  size_t size = sizeof events;
  /* It fails where a signal has interrupted it: then who receives looks again. */
  return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 || (events & ZMQ_POLLIN) != 0;
}

bool zeromq_socket_has_input(const struct zeromq_socket *socket)
{
  return has_events(socket->dealer) || has_events(socket->monitor);
}

/* ---- connecting ---- */

static enum jp_client_status judge_event(uint16_t event, struct jp_client_error *error)
{
  switch (event) {
  case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
    return JP_CLIENT_OK;
  case ZMQ_EVENT_CLOSED:
    return client_fail(error, JP_CLIENT_REFUSED, "it cannot be reached any more");
  case ZMQ_EVENT_DISCONNECTED:
    return client_fail(error, JP_CLIENT_REFUSED, "it closed the connection during ZeroMQ's handshake");
  default:
    return client_fail(error, JP_CLIENT_REFUSED, "what answers is no ZeroMQ socket that takes requests");
  }
}

static enum jp_client_status await_handshake(const struct zeromq_socket *socket, int64_t deadline_ns,
                                             struct jp_client_error *error)
{
  for (;;) {
    uint16_t event = next_event(socket);
    if (event != 0)
      return judge_event(event, error);
    int64_t left_ns = deadline_ns - clock_now_ns();
    if (left_ns <= 0)
      return client_fail(error, JP_CLIENT_REFUSED, "no ZeroMQ socket answered in time");
    zmq_pollitem_t item = {.socket = socket->monitor, .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, (long)((left_ns + NS_IN_MS - 1) / NS_IN_MS)) < 0 && errno != EINTR)
      return fail_system(error);
  }
}

static enum jp_client_status connect_socket(struct zeromq_socket *socket, const struct client_url *url,
                                            int64_t deadline_ns, struct jp_client_error *error)
{
  char endpoint[ZEROMQ_ENDPOINT_MAX];
  enum jp_client_status status = zeromq_endpoint_find(url, deadline_ns, endpoint, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (zmq_connect(socket->dealer, endpoint) != 0)
    status = client_fail(error, JP_CLIENT_REFUSED, "%s", zmq_strerror(errno));
  else
    status = await_handshake(socket, deadline_ns, error);
  if (status != JP_CLIENT_OK)
    client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  return status;
}

enum jp_client_status zeromq_socket_open(struct zeromq_socket *socket, const struct client_url *url,
                                         const struct transport_options *options,
                                         struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * NS_IN_MS;
  enum jp_client_status status = make_socket(socket, options, error);
  return status == JP_CLIENT_OK ? connect_socket(socket, url, deadline_ns, error) : status;
}

enum jp_client_status zeromq_socket_await(struct zeromq_socket *socket, int64_t deadline_ns,
                                          zmq_msg_t *message, struct jp_client_error *error)
{
  zmq_msg_init(message);
  while (zmq_msg_recv(message, socket->dealer, ZMQ_DONTWAIT) < 0) {
    int64_t left_ns = deadline_ns - clock_now_ns();
    if (errno != EAGAIN && errno != EINTR)
      return fail_system(error);
    if (zeromq_socket_is_gone(socket))
      return client_fail(error, JP_CLIENT_REFUSED, "the peer closed the connection before its first answer");
    if (left_ns <= 0)
      return client_fail(error, JP_CLIENT_REFUSED, "the peer gave no first answer in time");
    zmq_pollitem_t items[] = {{.socket = socket->dealer, .events = ZMQ_POLLIN},
                              {.socket = socket->monitor, .events = ZMQ_POLLIN}};
    if (zmq_poll(items, 2, (long)((left_ns + NS_IN_MS - 1) / NS_IN_MS)) < 0 && errno != EINTR)
      return fail_system(error);
  }
  return JP_CLIENT_OK;
}
