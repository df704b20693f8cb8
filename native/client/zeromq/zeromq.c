/*
 * ZeroMQ over TCP and unix sockets: one frame a message, JSON or binary. The peer answers without a
 * delimiter, because there is none before a request.
 */
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports.h"
#include "client/zeromq/zeromq_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINGER_MS = 200, KEPT_MAX = 1024 * 1024 };

struct zeromq {
  struct client_transport transport;
  struct zeromq_socket socket;
  size_t message_max;
  struct buffer out;     /* messages, one behind the other */
  struct buffer lengths; /* a size_t for each of them */
  size_t sent;           /* bytes of `out` that libzmq has */
  size_t sent_lengths;   /* bytes of `lengths` */
  size_t begin;          /* of the message that is being written */
  bool has_ended;
};

static struct zeromq *zeromq_of(struct client_transport *transport)
{
  return (struct zeromq *)transport;
}

/* ---- opening and closing ---- */

static void destroy(struct zeromq *zeromq, int linger_ms)
{
  zeromq_socket_fini(&zeromq->socket, linger_ms);
  buffer_fini(&zeromq->out);
  buffer_fini(&zeromq->lengths);
  free(zeromq);
}

/* The epoch out of the answer to `control session`. An answer without one, as an older peer gives, has none. */
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

/* Asks for the epoch of the session (docs/protocol.md, "Sessions over restarts"). */
static enum jp_client_status ask_epoch(struct zeromq *zeromq, struct text peer_id, int64_t deadline_ns,
                                       struct jp_client_error *error)
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
  enum jp_client_status status = zeromq_socket_await(&zeromq->socket, deadline_ns, &answer, error);
  if (status == JP_CLIENT_OK)
    read_epoch((struct text){zmq_msg_data(&answer), zmq_msg_size(&answer)}, &zeromq->transport);
  zmq_msg_close(&answer);
  return status;
}

static enum jp_client_status open_zeromq(const struct client_url *url,
                                         const struct transport_options *options,
                                         struct client_transport **transport, struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * 1000000;
  struct zeromq *zeromq = calloc(1, sizeof *zeromq);
  if (zeromq == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  zeromq->transport.kind = &transport_zeromq;
  zeromq->message_max = options->message_max;
  zeromq_socket_init(&zeromq->socket);
  enum jp_client_status status = zeromq_socket_open(&zeromq->socket, url, options, error);
  if (status == JP_CLIENT_OK && !options->binary) {
    status = ask_epoch(zeromq, options->peer_id, deadline_ns, error);
    if (status != JP_CLIENT_OK)
      client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  }
  if (status != JP_CLIENT_OK) {
    destroy(zeromq, 0);
    return status;
  }
  *transport = &zeromq->transport;
  return JP_CLIENT_OK;
}

/* libzmq has what was sent last, and takes a moment to write it. */
static void close_zeromq(struct client_transport *transport)
{
  struct zeromq *zeromq = zeromq_of(transport);
  destroy(zeromq, zeromq->has_ended ? 0 : LINGER_MS);
}

/* ---- writing ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct zeromq *)transport)->socket.epoll_fd;
}

/* The descriptor never says that there is room: libzmq tells that as input, too. */
static bool wants_to_write(const struct client_transport *transport)
{
  const struct zeromq *zeromq = (const struct zeromq *)transport;
  return zeromq->sent_lengths < zeromq->lengths.len;
}

static struct buffer *begin_message(struct client_transport *transport)
{
  struct zeromq *zeromq = zeromq_of(transport);
  zeromq->begin = zeromq->out.len;
  return &zeromq->out;
}

static void end_message(struct client_transport *transport, bool is_answered)
{
  (void)is_answered;
  struct zeromq *zeromq = zeromq_of(transport);
  size_t length = zeromq->out.len - zeromq->begin;
  buffer_append(&zeromq->lengths, &length, sizeof length);
}

static void take_back(struct client_transport *transport)
{
  struct zeromq *zeromq = zeromq_of(transport);
  buffer_truncate(&zeromq->out, zeromq->begin < zeromq->out.len ? zeromq->begin : zeromq->out.len);
  zeromq->out.failed = false; /* what was there before is whole */
}

/* Moving what is left costs as much as it is long: only where that is less than what was sent. */
static void drop_sent(struct buffer *buffer, size_t *sent)
{
  if (*sent <= buffer->len / 2)
    return;
  buffer_consume(buffer, *sent);
  *sent = 0;
  if (buffer->len == 0)
    buffer_trim(buffer, KEPT_MAX);
}

/* False: libzmq takes no more now; or it fails, and *status says so. */
static bool send_next(struct zeromq *zeromq, enum jp_client_status *status, struct jp_client_error *error)
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

static enum jp_client_status flush(struct client_transport *transport, struct jp_client_error *error)
{
  struct zeromq *zeromq = zeromq_of(transport);
  enum jp_client_status status = JP_CLIENT_OK;
  if (zeromq->out.failed || zeromq->lengths.failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for what is to be sent");
  while (status == JP_CLIENT_OK && wants_to_write(transport) && send_next(zeromq, &status, error))
    continue;
  drop_sent(&zeromq->out, &zeromq->sent);
  drop_sent(&zeromq->lengths, &zeromq->sent_lengths);
  zeromq->has_ended |= status != JP_CLIENT_OK;
  return status;
}

/* ---- reading ---- */

static enum jp_client_status take_message(const struct zeromq *zeromq, zmq_msg_t *message,
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

/* Until nothing is there: the descriptor reports only what comes later. */
static enum jp_client_status take_messages(const struct zeromq *zeromq, struct transport_listener *listener,
                                           struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  bool is_dry = false;
  zmq_msg_t message;
  zmq_msg_init(&message);
  while (status == JP_CLIENT_OK && !is_dry) {
    if (zmq_msg_recv(&message, zeromq->socket.dealer, ZMQ_DONTWAIT) >= 0)
      status = take_message(zeromq, &message, listener, error);
    else if (errno == EAGAIN)
      is_dry = true;
    else if (errno != EINTR)
      status = client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", zmq_strerror(errno));
  }
  zmq_msg_close(&message);
  return status;
}

static enum jp_client_status receive(struct client_transport *transport, struct transport_listener *listener,
                                     struct jp_client_error *error)
{
  struct zeromq *zeromq = zeromq_of(transport);
  bool is_gone = zeromq_socket_is_gone(&zeromq->socket); /* libzmq tells it behind the last message */
  enum jp_client_status status = take_messages(zeromq, listener, error);
  if (status == JP_CLIENT_OK && is_gone)
    status =
        client_fail(error, JP_CLIENT_CLOSED,
                    "the peer has closed the connection, or an answer was longer than twice message_max");
  zeromq->has_ended |= status != JP_CLIENT_OK;
  return status;
}

static bool has_input(struct client_transport *transport)
{
  return zeromq_socket_has_input(&zeromq_of(transport)->socket);
}

const struct transport_kind transport_zeromq = {
    .session_is_named = true,
    .names_in_messages = true,
    .has_binary = true,
    .open = open_zeromq,
    .close = close_zeromq,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .take_back = take_back,
    .flush = flush,
    .receive = receive,
};
