#include "net/listener.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/admission/client_address.h"
#include "net/admission/connection_audit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS_A_TURN = 64 };

static bool is_loopback(const struct sockaddr *address)
{
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = (const void *)address;
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  const struct sockaddr_in6 *v6 = (const void *)address;
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void describe_address(struct listener *listener)
{
  struct sockaddr_storage address = {0};
  socklen_t length = sizeof address;
  char host[64] = "?";
  char port[8] = "?";
  if (getsockname(listener->fd, (struct sockaddr *)&address, &length) == 0)
    getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  bool v6 = strchr(host, ':') != NULL;
  snprintf(listener->address, sizeof listener->address, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
           port);
  listener->is_loopback = is_loopback((struct sockaddr *)&address);
}

/* Returns a socket that listens on the address; -1 with errno on failure. */
static int listen_on(const struct addrinfo *at)
{
  int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
  int on = 1;
  if (fd < 0)
    return -1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

static enum jp_status bind_tcp(struct listener *listener, const struct net_endpoint *endpoint,
                               struct jp_error *error)
{
  const char *host = endpoint->host != NULL ? endpoint->host : "127.0.0.1";
  char port[8];
  snprintf(port, sizeof port, "%u", endpoint->port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  int failure = getaddrinfo(host, port, &hints, &found);
  if (failure != 0)
    return jp_fail(error, JP_NOT_FOUND, "%s:%s: %s", host, port, gai_strerror(failure));
  for (struct addrinfo *at = found; at != NULL && listener->fd < 0; at = at->ai_next)
    listener->fd = listen_on(at);
  int reason = errno;
  freeaddrinfo(found);
  if (listener->fd < 0)
    return jp_fail(error, JP_IO, "cannot listen on %s:%s: %s", host, port, strerror(reason));
  describe_address(listener);
  return JP_OK;
}

/* Another process has made the socket. */
static enum jp_status adopt_tcp(struct listener *listener, int fd, struct jp_error *error)
{
  listener->fd = fd;
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
    return jp_fail(error, JP_IO, "cannot listen on descriptor %d: %s", fd, strerror(errno));
  describe_address(listener);
  return JP_OK;
}

void listener_init(struct listener *listener)
{
  *listener = (struct listener){.fd = -1, .file = {.fd = -1}};
  pthread_mutex_init(&listener->lock, NULL);
}

void listener_fini(struct listener *listener)
{
  pthread_mutex_destroy(&listener->lock);
}

static void set_state(struct listener *listener, enum listener_state to)
{
  ASSERT_TRANSITION(listener_transitions, listener->state, to);
  listener->state = to;
}

enum jp_status listener_bind(struct listener *listener, const struct net_endpoint *endpoint,
                             const struct unix_socket_access *access, const struct admission *admission,
                             struct jp_error *error)
{
  enum jp_status status;
  if (endpoint->path == NULL) {
    status =
        endpoint->fd > 0 ? adopt_tcp(listener, endpoint->fd, error) : bind_tcp(listener, endpoint, error);
  } else {
    status = endpoint->fd > 0 ? unix_socket_adopt(endpoint->fd, endpoint->path, &listener->file, error)
                              : unix_socket_bind(endpoint->path, access, &listener->file, error);
    listener->fd = listener->file.fd;
    listener->admission = admission;
  }
  if (listener->fd >= 0)
    set_state(listener, LISTENER_OPEN);
  return status;
}

/* If the socket cannot be watched, the tick tries again. */
static void watch_socket(struct listener *listener)
{
  struct crew *crew = listener->table->crew;
  struct jp_error error;
  enum jp_status status = crew_watch_again(crew, &listener->source, listener->fd, EPOLLIN, &error);
  set_state(listener, status == JP_OK ? LISTENER_OPEN : LISTENER_PAUSED);
  if (status != JP_OK)
    log_error_rarely("no connection can be accepted for now: %s", error.text);
}

/* A client that disappears without a FIN (its machine is off, or a router has forgotten the connection) is detected
 * after two minutes. An idle WebSocket has no other deadline. */
static void enable_keepalive(int fd)
{
  enum { IDLE_S = 60, BETWEEN_S = 10, PROBES = 6 };
  static const struct {
    int level, name, value;
  } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                 {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
                 {IPPROTO_TCP, TCP_KEEPINTVL, BETWEEN_S},
                 {IPPROTO_TCP, TCP_KEEPCNT, PROBES}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

/* Takes fd. */
static void refuse_client(struct listener *listener, int fd, const struct admission_client *client)
{
  log_warn_rarely("a connection of user %u, group %u, to %s is refused: %s", client->user, client->group,
                  listener->file.path,
                  admission_has_others(listener->admission)
                      ? "--allow-user, --allow-group and --socket-group do not admit that user"
                      : "only the peer's own user may use it");
  struct rpc_address address = rpc_address_of_user(client->user);
  address.process = (uint32_t)client->process;
  connection_audit_refusal(0, &address, "the user may not use this peer");
  char reason[96];
  monitor_count_refusal(listener->table->limits.monitor, METRICS_REFUSAL_NOT_ADMITTED);
  snprintf(reason, sizeof reason, "user %u may not use this peer", client->user);
  struct buffer answer;
  buffer_init(&answer);
  if (listener->protocol->write_refusal != NULL)
    listener->protocol->write_refusal(&answer, CONNECTION_NOT_ADMITTED, reason);
  refusals_add(&listener->refusals, fd, buffer_text(&answer), clock_now_ms());
  buffer_fini(&answer);
}

/* Takes fd. */
static void accept_unix_client(struct listener *listener, int fd)
{
  struct admission_client client;
  bool is_judged_later = listener->table->limits.principals != NULL; /* by the evidence of its requests */
  if (is_judged_later ? !admission_identify(fd, &client)
                      : !admission_admits(listener->admission, fd, &client)) {
    refuse_client(listener, fd, &client);
    return;
  }
  struct rpc_address address = rpc_address_of_user(client.user);
  address.process = (uint32_t)client.process;
  connection_table_accept(listener->table, fd, listener->protocol, &address, NULL);
}

/* Takes fd. */
static void accept_tcp_client(struct listener *listener, int fd, const struct sockaddr_storage *client)
{
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  enable_keepalive(fd);
  struct rpc_address address = client_address_of_socket(client);
  connection_table_accept(listener->table, fd, listener->protocol, &address, listener->credentials);
}

static void listener_turn(struct crew_source *source, struct crew_member *member)
{
  (void)member;
  struct listener *listener = (struct listener *)(void *)source;
  pthread_mutex_lock(&listener->lock);
  for (int i = 0; i < ACCEPTS_A_TURN && listener->state != LISTENER_CLOSED; i++) {
    struct sockaddr_storage client = {0};
    socklen_t length = sizeof client;
    int fd = accept4(listener->fd, (struct sockaddr *)&client, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == ECONNABORTED || errno == EINTR || errno == EPROTO || errno == EPERM))
      continue; /* these errors concern only this connection */
    if (fd < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        log_warn_rarely("a connection cannot be accepted: %s", strerror(errno));
        set_state(listener, LISTENER_PAUSED);
      }
      break;
    }
    if (listener->file.path != NULL)
      accept_unix_client(listener, fd);
    else
      accept_tcp_client(listener, fd, &client);
  }
  if (listener->state == LISTENER_OPEN)
    watch_socket(listener);
  pthread_mutex_unlock(&listener->lock);
}

enum jp_status listener_start(struct listener *listener, struct connection_table *table,
                              const struct connection_protocol *protocol, struct tls_credentials *credentials,
                              struct jp_error *error)
{
  listener->table = table;
  listener->protocol = protocol;
  listener->credentials = credentials;
  listener->source.turn = listener_turn;
  return crew_watch(table->crew, &listener->source, listener->fd, EPOLLIN, error);
}

bool listener_tick(struct listener *listener)
{
  pthread_mutex_lock(&listener->lock);
  if (listener->state == LISTENER_PAUSED)
    watch_socket(listener);
  bool has_refusals = refusals_tick(&listener->refusals, clock_now_ms());
  bool is_paused = listener->state == LISTENER_PAUSED;
  pthread_mutex_unlock(&listener->lock);
  return is_paused || has_refusals;
}

void listener_close(struct listener *listener)
{
  pthread_mutex_lock(&listener->lock);
  unix_socket_remove(&listener->file);
  refusals_close(&listener->refusals);
  if (listener->fd >= 0)
    close(listener->fd);
  listener->fd = -1;
  set_state(listener, LISTENER_CLOSED);
  pthread_mutex_unlock(&listener->lock);
}
