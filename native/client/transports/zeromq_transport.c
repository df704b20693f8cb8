/*
 * ZeroMQ over TCP and unix sockets: one frame for each message, JSON or binary. The peer answers without a
 * delimiter frame, because requests have no delimiter frame.
 */
#include "base/clock.h"
#include "base/curve_keys.h"
#include "client/messages/client_error.h"
#include "client/transports/client_stream.h"
#include "client/transports/transport.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

enum { NS_IN_MS = 1000000, LINGER_MS = 200, KEPT_MAX = 1024 * 1024, ENDPOINT_MAX = 256 };

/*
 * A DEALER socket that is connected to one peer, and a monitor that reports the end of the connection; libzmq
 * itself would wait for a new connection for ever. The socket has its own context, with libzmq's two threads:
 * a context that connections share would outlive a fork.
 *
 * libzmq's descriptors report input once. epoll_fd watches both of them; call has_input before waiting for
 * it.
 */
struct zeromq_socket {
  void *context;
  void *dealer;
  void *monitor;
  int epoll_fd; /* -1: none */
};

struct zeromq_transport {
  struct client_transport transport;
  struct zeromq_socket socket;
  size_t message_max;
  struct buffer out;     /* messages, one after the other */
  struct buffer lengths; /* a size_t for each message */
  size_t sent;           /* bytes of `out` that were passed to libzmq */
  size_t sent_lengths;   /* bytes of `lengths` */
  size_t begin;          /* of the message that is being written */
  bool has_ended;
};

static struct zeromq_transport *zeromq_of(struct client_transport *transport)
{
  return (struct zeromq_transport *)transport;
}

/* ---- the socket ---- */

static enum jp_client_status fail_system(struct jp_client_error *error)
{
  enum jp_client_status status = errno == ENOMEM ? JP_CLIENT_NO_MEMORY : JP_CLIENT_LIMIT;
  return client_fail(error, status, "no ZeroMQ socket: %s", zmq_strerror(errno));
}

/* Detects a lost network within half a minute, as the other transports do. */
static int set_options(void *dealer, const struct transport_options *options)
{
  const struct {
    int option;
    int value;
  } numbers[] = {
      /* not -1, which would also drop answers that arrived just before the end */
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
  /* At this limit libzmq ends the connection without a reason. The transport's own limit is lower, and its
   * error says the reason. */
  int64_t most = options->message_max > INT64_MAX / 2 ? -1 : (int64_t)options->message_max * 2;
  return zmq_setsockopt(dealer, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

/* The keys are read again for each connection. */
static enum jp_client_status use_curve(void *dealer, const struct client_credentials *credentials,
                                       struct jp_client_error *error)
{
  struct curve_keys keys;
  struct jp_error why;
  char derived[CURVE_KEY_SIZE];
  if (credentials->server_key == NULL)
    return JP_CLIENT_OK;
  if (zmq_has("curve") != 1)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "server_key: this libzmq was built without CURVE");
  if (curve_keys_read(credentials->key_file, &keys, &why) != JP_OK)
    return client_fail(error, why.status == JP_NO_MEMORY ? JP_CLIENT_NO_MEMORY : JP_CLIENT_INVALID,
                       "key_file: %s", why.text);
  enum jp_client_status status = JP_CLIENT_OK;
  if (zmq_curve_public(derived, keys.secret_key) != 0 || strcmp(derived, keys.public_key) != 0)
    status =
        client_fail(error, JP_CLIENT_INVALID, "key_file: %s: the public key is not the one of the secret key",
                    credentials->key_file);
  else if (zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, credentials->server_key, CURVE_KEY_SIZE) != 0 ||
           zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, keys.public_key, CURVE_KEY_SIZE) != 0 ||
           zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, keys.secret_key, CURVE_KEY_SIZE) != 0)
    status = fail_system(error);
  explicit_bzero(&keys, sizeof keys);
  return status;
}

static int create_monitor(struct zeromq_socket *socket)
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

static int watch_socket(const struct zeromq_socket *socket, void *watched)
{
  int fd;
  size_t size = sizeof fd;
  struct epoll_event event = {.events = EPOLLIN};
  if (zmq_getsockopt(watched, ZMQ_FD, &fd, &size) != 0)
    return -1;
  return epoll_ctl(socket->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static enum jp_client_status create_socket(struct zeromq_socket *socket,
                                           const struct transport_options *options,
                                           struct jp_client_error *error)
{
  socket->context = zmq_ctx_new();
  if (socket->context != NULL)
    socket->dealer = zmq_socket(socket->context, ZMQ_DEALER);
  if (socket->dealer == NULL || set_options(socket->dealer, options) != 0 || create_monitor(socket) != 0)
    return fail_system(error);
  enum jp_client_status status = use_curve(socket->dealer, options->credentials, error);
  if (status != JP_CLIENT_OK)
    return status;
  socket->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (socket->epoll_fd < 0 || watch_socket(socket, socket->dealer) != 0 ||
      watch_socket(socket, socket->monitor) != 0)
    return fail_system(error);
  return JP_CLIENT_OK;
}

/* linger_ms: how long libzmq may send queued messages. */
static void close_socket(struct zeromq_socket *socket, int linger_ms)
{
  if (socket->epoll_fd >= 0)
    close(socket->epoll_fd);
  /* libzmq leaks the message of an event that nobody reads, so the events are stopped first. */
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
}

/* ---- events of the monitor ---- */

/* The next event, without waiting. An event is a frame with 16 and 32 bits, and a frame with the address. 0:
 * none. */
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
  (void)zmq_recv(socket->monitor, NULL, 0, ZMQ_DONTWAIT); /* both frames have arrived */
  return event;
}

/* Reads all events. True: the connection has ended. Messages from before the end are received afterwards. */
static bool drain_events(const struct zeromq_socket *socket)
{
  bool is_gone = false;
  uint16_t event;
  while ((event = next_event(socket)) != 0)
    is_gone |= event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  return is_gone;
}

/* ---- the endpoint ---- */

static enum jp_client_status format_address(const struct client_stream *stream, char endpoint[ENDPOINT_MAX],
                                            struct jp_client_error *error)
{
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getpeername(stream->fd, (struct sockaddr *)&address, &size) != 0)
    return client_fail(error, JP_CLIENT_REFUSED, "%s", strerror(errno));
  int failure = getnameinfo((const struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                            NI_NUMERICHOST | NI_NUMERICSERV);
  if (failure != 0)
    return client_fail(error, JP_CLIENT_REFUSED, "%s", gai_strerror(failure));
  /* A numeric address always fits. */
  snprintf(endpoint, ENDPOINT_MAX, address.ss_family == AF_INET6 ? "tcp://[%.64s]:%.5s" : "tcp://%.64s:%.5s",
           host, port);
  return JP_CLIENT_OK;
}

/*
 * The URL in libzmq's form: a numeric address, or a path. To find it, a connection is opened and closed:
 * libzmq tries only the first address of a name, and does not report why it fails. JP_CLIENT_REFUSED: the
 * error contains the reason and the URL.
 */
static enum jp_client_status find_endpoint(const struct client_url *url, int64_t deadline_ns,
                                           char endpoint[ENDPOINT_MAX], struct jp_client_error *error)
{
  struct client_stream stream;
  client_stream_init(&stream);
  enum jp_client_status status = client_stream_connect(&stream, url, NULL, deadline_ns, error);
  if (status == JP_CLIENT_OK && url->host.data == NULL)
    snprintf(endpoint, ENDPOINT_MAX, "ipc://%.*s", TEXT_ARGS(url->path));
  else if (status == JP_CLIENT_OK)
    status = format_address(&stream, endpoint, error);
  client_stream_fini(&stream);
  return status;
}

/* ---- connecting ---- */

/* Makes the error of an event of the handshake. If the peer does not accept the mechanism, libzmq reports a
 * fault of the protocol; with a peer of an older version of the protocol the event has no detail. A wrong
 * server key has no detail either, because the peer cannot read the client's first message. */
static enum jp_client_status check_event(uint16_t event, bool has_curve, struct jp_client_error *error)
{
  switch (event) {
  case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
    return JP_CLIENT_OK;
  case ZMQ_EVENT_CLOSED:
    return client_fail(error, JP_CLIENT_REFUSED, "it cannot be reached any more");
  case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    return client_fail(error, JP_CLIENT_REFUSED,
                       "the peer has refused the public key of key_file: none of its principals lists it");
  case ZMQ_EVENT_DISCONNECTED:
    return client_fail(error, JP_CLIENT_REFUSED, "it closed the connection during ZeroMQ's handshake");
  default:
    return client_fail(
        error, JP_CLIENT_REFUSED,
        has_curve ? "CURVE has failed: server_key is not the peer's key, or the peer has no CURVE"
                  : "the peer is no ZeroMQ socket for requests, or needs CURVE (server_key and key_file)");
  }
}

static enum jp_client_status await_handshake(const struct zeromq_socket *socket, bool has_curve,
                                             int64_t deadline_ns, struct jp_client_error *error)
{
  for (;;) {
    uint16_t event = next_event(socket);
    if (event != 0)
      return check_event(event, has_curve, error);
    int64_t left_ns = deadline_ns - clock_now_ns();
    if (left_ns <= 0)
      return client_fail(error, JP_CLIENT_REFUSED, "no ZeroMQ socket answered in time");
    zmq_pollitem_t item = {.socket = socket->monitor, .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, (long)((left_ns + NS_IN_MS - 1) / NS_IN_MS)) < 0 && errno != EINTR)
      return fail_system(error);
  }
}

static enum jp_client_status connect_socket(struct zeromq_socket *socket, const struct client_url *url,
                                            bool has_curve, int64_t deadline_ns,
                                            struct jp_client_error *error)
{
  char endpoint[ENDPOINT_MAX];
  enum jp_client_status status = find_endpoint(url, deadline_ns, endpoint, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (zmq_connect(socket->dealer, endpoint) != 0)
    status = client_fail(error, JP_CLIENT_REFUSED, "%s", zmq_strerror(errno));
  else
    status = await_handshake(socket, has_curve, deadline_ns, error);
  if (status != JP_CLIENT_OK)
    client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  return status;
}

/* Waits for the next message until the deadline; the caller closes it. Call before other threads use the
 * socket. JP_CLIENT_REFUSED: timed out, or the connection has ended. */
static enum jp_client_status await_message(struct zeromq_socket *socket, int64_t deadline_ns,
                                           zmq_msg_t *message, struct jp_client_error *error)
{
  zmq_msg_init(message);
  while (zmq_msg_recv(message, socket->dealer, ZMQ_DONTWAIT) < 0) {
    int64_t left_ns = deadline_ns - clock_now_ns();
    if (errno != EAGAIN && errno != EINTR)
      return fail_system(error);
    if (drain_events(socket))
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

/* ---- opening and closing ---- */

static void destroy_zeromq(struct zeromq_transport *zeromq, int linger_ms)
{
  close_socket(&zeromq->socket, linger_ms);
  buffer_fini(&zeromq->out);
  buffer_fini(&zeromq->lengths);
  free(zeromq);
}

/* Reads the epoch in the answer to `control session`. The answer of an older peer has no epoch. */
static void read_epoch(struct text answer, struct client_transport *transport)
{
  enum { DEPTH_MAX = 16, SESSION_MAX = 4096, EPOCH_ROOM = TRANSPORT_EPOCH_MAX + 2 };
  struct jp_json value;
  char session[SESSION_MAX];
  char epoch[EPOCH_ROOM];
  if (jp_json_parse((struct jp_text){answer.data, answer.len}, DEPTH_MAX, &value, NULL) != JP_JSONRPC_OK)
    return;
  value = jp_json_member(jp_json_member(jp_json_member(value, "result"), "value"), "value");
  size_t length = jp_json_string(value, session, sizeof session);
  if (length >= sizeof session ||
      jp_json_parse((struct jp_text){session, length}, DEPTH_MAX, &value, NULL) != JP_JSONRPC_OK)
    return;
  length = jp_json_string(jp_json_member(value, "epoch"), epoch, sizeof epoch);
  if (length < sizeof epoch)
    transport_keep_epoch(transport, (struct text){epoch, length});
}

/* Requests the epoch of the session (docs/protocol.md, "Sessions over restarts"). */
static enum jp_client_status request_epoch(struct zeromq_transport *zeromq, struct text peer_id,
                                           int64_t deadline_ns, struct jp_client_error *error)
{
  char request[256];
  zmq_msg_t answer;
  int length =
      snprintf(request, sizeof request,
               "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"control\",\"params\":{\"method\":\"session\"},"
               "\"peer-id\":\"%.*s\"}",
               TEXT_ARGS(peer_id));
  if (zmq_send(zeromq->socket.dealer, request, (size_t)length, 0) < 0)
    return client_fail(error, JP_CLIENT_REFUSED, "%s", zmq_strerror(errno));
  enum jp_client_status status = await_message(&zeromq->socket, deadline_ns, &answer, error);
  if (status == JP_CLIENT_OK)
    read_epoch((struct text){zmq_msg_data(&answer), zmq_msg_size(&answer)}, &zeromq->transport);
  zmq_msg_close(&answer);
  return status;
}

static enum jp_client_status open_zeromq(const struct client_url *url,
                                         const struct transport_options *options,
                                         struct client_transport **transport, struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * NS_IN_MS;
  struct zeromq_transport *zeromq = calloc(1, sizeof *zeromq);
  if (zeromq == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  zeromq->transport.kind = &transport_zeromq;
  zeromq->message_max = options->message_max;
  zeromq->socket.epoll_fd = -1;
  enum jp_client_status status = create_socket(&zeromq->socket, options, error);
  if (status == JP_CLIENT_OK)
    status =
        connect_socket(&zeromq->socket, url, options->credentials->server_key != NULL, deadline_ns, error);
  if (status == JP_CLIENT_OK && !options->binary) {
    status = request_epoch(zeromq, options->peer_id, deadline_ns, error);
    if (status != JP_CLIENT_OK)
      client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  }
  if (status != JP_CLIENT_OK) {
    destroy_zeromq(zeromq, 0);
    return status;
  }
  *transport = &zeromq->transport;
  return JP_CLIENT_OK;
}

/* Gives libzmq time to write the last messages. */
static void close_zeromq(struct client_transport *transport)
{
  struct zeromq_transport *zeromq = zeromq_of(transport);
  destroy_zeromq(zeromq, zeromq->has_ended ? 0 : LINGER_MS);
}

/* ---- writing ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct zeromq_transport *)transport)->socket.epoll_fd;
}

/* The descriptor never shows room to write: libzmq reports room as input, too. */
static bool wants_to_write(const struct client_transport *transport)
{
  const struct zeromq_transport *zeromq = (const struct zeromq_transport *)transport;
  return zeromq->sent_lengths < zeromq->lengths.len;
}

static struct buffer *begin_message(struct client_transport *transport)
{
  struct zeromq_transport *zeromq = zeromq_of(transport);
  zeromq->begin = zeromq->out.len;
  return &zeromq->out;
}

static void end_message(struct client_transport *transport, bool is_answered)
{
  (void)is_answered;
  struct zeromq_transport *zeromq = zeromq_of(transport);
  size_t length = zeromq->out.len - zeromq->begin;
  buffer_append(&zeromq->lengths, &length, sizeof length);
}

static void discard_message(struct client_transport *transport)
{
  struct zeromq_transport *zeromq = zeromq_of(transport);
  buffer_truncate(&zeromq->out, zeromq->begin < zeromq->out.len ? zeromq->begin : zeromq->out.len);
  zeromq->out.failed = false; /* earlier messages are complete */
}

/* The cost of moving depends on the number of remaining bytes, so they are moved only if they are fewer than
 * the sent bytes. */
static void drop_sent(struct buffer *buffer, size_t *sent)
{
  if (*sent <= buffer->len / 2)
    return;
  buffer_consume(buffer, *sent);
  *sent = 0;
  if (buffer->len == 0)
    buffer_trim(buffer, KEPT_MAX);
}

/* False: libzmq accepts no more now, or fails with *status. */
static bool send_next(struct zeromq_transport *zeromq, enum jp_client_status *status,
                      struct jp_client_error *error)
{
  size_t length;
  memcpy(&length, zeromq->lengths.data + zeromq->sent_lengths, sizeof length);
  if (zmq_send(zeromq->socket.dealer, zeromq->out.data + zeromq->sent, length, ZMQ_DONTWAIT) >= 0) {
    zeromq->sent += length;
    zeromq->sent_lengths += sizeof length;
    return true;
  }
  if (errno == EINTR)
    return true;
  if (errno != EAGAIN)
    *status = client_fail(error, errno == ENOMEM ? JP_CLIENT_NO_MEMORY : JP_CLIENT_CLOSED,
                          "the connection has ended: %s", zmq_strerror(errno));
  return false;
}

static enum jp_client_status flush_output(struct client_transport *transport, struct jp_client_error *error)
{
  struct zeromq_transport *zeromq = zeromq_of(transport);
  enum jp_client_status status = JP_CLIENT_OK;
  if (zeromq->out.failed || zeromq->lengths.failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the messages to be sent");
  while (status == JP_CLIENT_OK && wants_to_write(transport) && send_next(zeromq, &status, error))
    continue;
  drop_sent(&zeromq->out, &zeromq->sent);
  drop_sent(&zeromq->lengths, &zeromq->sent_lengths);
  zeromq->has_ended |= status != JP_CLIENT_OK;
  return status;
}

/* ---- reading ---- */

static enum jp_client_status pass_message(const struct zeromq_transport *zeromq, zmq_msg_t *message,
                                          struct transport_listener *listener, struct jp_client_error *error)
{
  struct text bytes = {zmq_msg_data(message), zmq_msg_size(message)};
  if (zmq_msg_more(message))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers with more than one frame");
  if (bytes.len > zeromq->message_max)
    return client_fail(error, JP_CLIENT_LIMIT, "an answer is longer than message_max, %zu bytes",
                       zeromq->message_max);
  return listener->message(listener, bytes, error);
}

/* Receives until nothing is left, because the descriptor reports only later messages. */
static enum jp_client_status receive_messages(const struct zeromq_transport *zeromq,
                                              struct transport_listener *listener,
                                              struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  bool is_empty = false;
  zmq_msg_t message;
  zmq_msg_init(&message);
  while (status == JP_CLIENT_OK && !is_empty) {
    if (zmq_msg_recv(&message, zeromq->socket.dealer, ZMQ_DONTWAIT) >= 0)
      status = pass_message(zeromq, &message, listener, error);
    else if (errno == EAGAIN)
      is_empty = true;
    else if (errno != EINTR)
      status = client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", zmq_strerror(errno));
  }
  zmq_msg_close(&message);
  return status;
}

static enum jp_client_status receive_input(struct client_transport *transport,
                                           struct transport_listener *listener, struct jp_client_error *error)
{
  struct zeromq_transport *zeromq = zeromq_of(transport);
  bool is_gone = drain_events(&zeromq->socket); /* libzmq reports the end after the last message */
  enum jp_client_status status = receive_messages(zeromq, listener, error);
  if (status == JP_CLIENT_OK && is_gone)
    status =
        client_fail(error, JP_CLIENT_CLOSED,
                    "the peer has closed the connection, or an answer was longer than twice message_max");
  zeromq->has_ended |= status != JP_CLIENT_OK;
  return status;
}

static bool has_events(void *socket)
{
  int events = 0;
  size_t size = sizeof events;
  /* Fails if interrupted by a signal; then the receiver checks again. */
  return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 || (events & ZMQ_POLLIN) != 0;
}

/* True if there are messages, or events of the monitor. */
static bool has_input(struct client_transport *transport)
{
  const struct zeromq_socket *socket = &zeromq_of(transport)->socket;
  return has_events(socket->dealer) || has_events(socket->monitor);
}

const struct transport_kind transport_zeromq = {
    .session_is_named = true,
    .names_in_messages = true,
    .has_binary = true,
    .obeys_cancel = true,
    .open = open_zeromq,
    .close = close_zeromq,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .discard = discard_message,
    .flush = flush_output,
    .receive = receive_input,
};
