#include "net/zeromq/zeromq_state.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How many requests of a client libzmq holds. It reports room only when half of them have been taken: a
 * client with more than half of them in flight finds its pipe full, and its requests then come in pieces,
 * each with its own wake-ups. The mark for answers is far above what a client has in flight, because each
 * time that libzmq reports room, it wakes a thread that has nothing to send. */
enum { PIPE_REQUESTS_MAX = 132 };

/* Makes a numeric address, because libzmq takes names for those of network interfaces. */
static enum jp_status format_endpoint(const char *host, uint16_t port, char endpoint[ZEROMQ_ADDRESS_MAX],
                                      int *is_ipv6, struct jp_error *error)
{
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *found;
  int failure = getaddrinfo(host, NULL, &hints, &found);
  if (failure != 0)
    return jp_fail(error, JP_IO, "ZeroMQ address %s: %s", host, gai_strerror(failure));
  char numeric[NI_MAXHOST];
  failure = getnameinfo(found->ai_addr, found->ai_addrlen, numeric, sizeof numeric, NULL, 0, NI_NUMERICHOST);
  *is_ipv6 = found->ai_family == AF_INET6;
  freeaddrinfo(found);
  if (failure != 0)
    return jp_fail(error, JP_IO, "ZeroMQ address %s: %s", host, gai_strerror(failure));
  char number[8] = "*";
  if (port != 0)
    snprintf(number, sizeof number, "%u", port);
  snprintf(endpoint, ZEROMQ_ADDRESS_MAX, *is_ipv6 ? "tcp://[%s]:%s" : "tcp://%s:%s", numeric, number);
  return JP_OK;
}

static int set_options(void *socket, const struct zeromq_config *config)
{
  const struct {
    int option;
    int value;
  } options[] = {
      {ZMQ_ROUTER_MANDATORY, 1}, /* else a full pipe loses answers silently */
      {ZMQ_ROUTER_HANDOVER, 1}, /* a client that comes back with its routing id replaces its old connection */
      {ZMQ_SNDHWM, PIPE_ANSWERS_MAX},
      {ZMQ_RCVHWM, PIPE_REQUESTS_MAX},
      {ZMQ_HANDSHAKE_IVL, (int)config->handshake_ms},
      {ZMQ_TCP_KEEPALIVE, 1},
      {ZMQ_LINGER, 0},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    if (zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof options[i].value) != 0)
      return -1;
  }
  /* libzmq drops the connection at this limit. Our own, below it, answers with an error. */
  int64_t most = (int64_t)config->message_max * 2;
  return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

static enum jp_status open_socket(struct zeromq *zeromq, struct jp_error *error)
{
  size_t fd_size = sizeof zeromq->fd;
  zeromq->context = zmq_ctx_new();
  if (zeromq->context != NULL)
    zeromq->socket = zmq_socket(zeromq->context, ZMQ_ROUTER);
  if (zeromq->socket == NULL || set_options(zeromq->socket, &zeromq->config) != 0 ||
      zmq_getsockopt(zeromq->socket, ZMQ_FD, &zeromq->fd, &fd_size) != 0)
    return jp_fail(error, JP_IO, "ZeroMQ socket: %s", zmq_strerror(errno));
  return JP_OK;
}

enum jp_status zeromq_create(const struct zeromq_config *config, struct zeromq **zeromq,
                             struct jp_error *error)
{
  struct zeromq *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail(error, JP_NO_MEMORY, "no memory for the ZeroMQ socket");
  made->config = *config;
  made->source.turn = zeromq_socket_turn;
  pthread_mutex_init(&made->lock, NULL);
  enum jp_status status = open_socket(made, error);
  if (status != JP_OK) {
    zeromq_destroy(made);
    return status;
  }
  *zeromq = made;
  return JP_OK;
}

enum jp_status zeromq_listen(struct zeromq *zeromq, const char *host, uint16_t port,
                             char address[ZEROMQ_ADDRESS_MAX], struct jp_error *error)
{
  char endpoint[ZEROMQ_ADDRESS_MAX];
  int is_ipv6 = 0;
  enum jp_status status = format_endpoint(host == NULL ? "127.0.0.1" : host, port, endpoint, &is_ipv6, error);
  if (status != JP_OK)
    return status;
  size_t size = ZEROMQ_ADDRESS_MAX;
  if (zmq_setsockopt(zeromq->socket, ZMQ_IPV6, &is_ipv6, sizeof is_ipv6) != 0 ||
      zmq_bind(zeromq->socket, endpoint) != 0 ||
      zmq_getsockopt(zeromq->socket, ZMQ_LAST_ENDPOINT, address, &size) != 0)
    return jp_fail(error, JP_IO, "%s: %s", endpoint, zmq_strerror(errno));
  return JP_OK;
}

/* Options count for the binds behind them: ZMQ_USE_FD would meet a later TCP address, too. */
enum jp_status zeromq_listen_on(struct zeromq *zeromq, int fd, const char *path, struct jp_error *error)
{
  char endpoint[ZEROMQ_ADDRESS_MAX];
  const uid_t user = geteuid();
  const int no_fd = -1;
  snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
  bool is_taken = zmq_setsockopt(zeromq->socket, ZMQ_IPC_FILTER_UID, &user, sizeof user) == 0 &&
                  zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &fd, sizeof fd) == 0 &&
                  zmq_bind(zeromq->socket, endpoint) == 0;
  int reason = errno;
  if (!is_taken)
    close(fd);
  if (!is_taken || zmq_setsockopt(zeromq->socket, ZMQ_USE_FD, &no_fd, sizeof no_fd) != 0)
    return jp_fail(error, JP_IO, "%s: %s", endpoint, zmq_strerror(reason));
  return JP_OK;
}
