/* WebSocket (RFC 6455) over TCP and unix sockets: one text message for each request or answer. */
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports/client_handshake.h"
#include "client/transports/client_stream.h"
#include "client/transports/transport.h"
#include "client/transports/websocket_client_frames.h"

#include <stdlib.h>

/* Bytes that are handled before a thread runs the calls and completions in them; thousands more may have
 * arrived. */
enum { HANDLED_AT_ONCE = 64 * 1024 };

struct websocket_transport {
  struct client_transport transport;
  struct client_stream stream;
  struct client_ws_keys keys;
  size_t message_max;
  size_t begin;         /* of the frame that is being written */
  struct buffer pieces; /* a message in several frames */
  bool in_pieces;
  bool has_unread; /* input remains after the handshake, or after HANDLED_AT_ONCE bytes */
  bool has_ended;  /* nothing more can be sent */
};

static struct websocket_transport *websocket_of(struct client_transport *transport)
{
  return (struct websocket_transport *)transport;
}

/* ---- opening and closing ---- */

static void destroy_websocket(struct websocket_transport *socket)
{
  client_stream_fini(&socket->stream);
  buffer_fini(&socket->pieces);
  free(socket);
}

static enum jp_client_status open_websocket(const struct client_url *url,
                                            const struct transport_options *options,
                                            struct client_transport **transport,
                                            struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * 1000000;
  struct websocket_transport *socket = calloc(1, sizeof *socket);
  if (socket == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  socket->transport.kind = &transport_websocket;
  socket->message_max = options->message_max;
  client_stream_init(&socket->stream);
  client_ws_keys_init(&socket->keys);
  enum jp_client_status status =
      client_stream_connect(&socket->stream, url, options->credentials, deadline_ns, error);
  if (status == JP_CLIENT_OK) {
    status = websocket_shake_hands(&socket->stream, url, options, deadline_ns, &socket->transport, error);
    socket->has_unread = status == JP_CLIENT_OK && client_stream_unused(&socket->stream).len > 0;
    if (status != JP_CLIENT_OK)
      client_error_prefix(error, "%.*s: ", TEXT_ARGS(url->whole));
  }
  if (status != JP_CLIENT_OK) {
    destroy_websocket(socket);
    return status;
  }
  *transport = &socket->transport;
  return JP_CLIENT_OK;
}

static void write_control(struct websocket_transport *socket, enum client_ws_opcode opcode,
                          struct text payload)
{
  size_t begin = client_ws_begin(&socket->stream.out);
  buffer_append_text(&socket->stream.out, payload);
  client_ws_end(&socket->stream.out, begin, opcode, &socket->keys);
}

static void close_websocket(struct client_transport *transport)
{
  struct websocket_transport *socket = websocket_of(transport);
  /* Output that waits may have requests that were reported as not sent: a close frame would be sent after them. */
  if (!socket->has_ended && !client_stream_wants_to_write(&socket->stream)) {
    write_control(socket, CLIENT_WS_CLOSE, TEXT("\x03\xe8")); /* 1000 */
    /* The peer need not receive the close frame. */
    (void)!client_stream_flush(&socket->stream, NULL);
  }
  destroy_websocket(socket);
}

/* ---- writing ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct websocket_transport *)transport)->stream.fd;
}

static bool wants_to_write(const struct client_transport *transport)
{
  return client_stream_wants_to_write(&((const struct websocket_transport *)transport)->stream);
}

static struct buffer *begin_message(struct client_transport *transport)
{
  struct websocket_transport *socket = websocket_of(transport);
  socket->begin = client_ws_begin(&socket->stream.out);
  return &socket->stream.out;
}

static void end_message(struct client_transport *transport, bool is_answered)
{
  (void)is_answered;
  struct websocket_transport *socket = websocket_of(transport);
  client_ws_end(&socket->stream.out, socket->begin, CLIENT_WS_TEXT, &socket->keys);
}

static void discard_message(struct client_transport *transport)
{
  struct websocket_transport *socket = websocket_of(transport);
  struct buffer *out = &socket->stream.out;
  buffer_truncate(out, socket->begin < out->len ? socket->begin : out->len);
  out->failed = false; /* earlier messages are complete */
}

static enum jp_client_status flush_output(struct client_transport *transport, struct jp_client_error *error)
{
  struct websocket_transport *socket = websocket_of(transport);
  enum jp_client_status status = client_stream_flush(&socket->stream, error);
  socket->has_ended = status != JP_CLIENT_OK;
  return status;
}

static size_t count_waiting(const struct client_transport *transport)
{
  const struct client_stream *stream = &((const struct websocket_transport *)transport)->stream;
  return stream->out.len - stream->sent;
}

/* ---- reading ---- */

static enum jp_client_status handle_close(struct websocket_transport *socket, struct text payload,
                                          struct jp_client_error *error)
{
  unsigned code = payload.len < 2 ? CLIENT_WS_NO_CODE
                                  : (unsigned)(uint8_t)payload.data[0] << 8 | (uint8_t)payload.data[1];
  struct text reason = payload.len < 2 ? TEXT("") : text_slice(payload, 2, payload.len);
  reason.len = text_valid_utf8(reason);
  if (!client_stream_wants_to_write(
          &socket->stream)) { /* otherwise it would be sent after requests that are lost */
    write_control(socket, CLIENT_WS_CLOSE, payload);
    (void)!client_stream_flush(&socket->stream,
                               NULL); /* the peer has closed, whether or not it receives this */
  }
  if (code == CLIENT_WS_NO_CODE)
    return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection");
  return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection with %u%s%.*s", code,
                     reason.len > 0 ? ": " : "", TEXT_ARGS(reason));
}

static enum jp_client_status fail_protocol(const char *why, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer broke the WebSocket protocol: %s", why);
}

static enum jp_client_status handle_data(struct websocket_transport *socket,
                                         const struct client_ws_head *head, struct text payload,
                                         struct transport_listener *listener, struct jp_client_error *error)
{
  bool is_first = head->opcode != CLIENT_WS_CONTINUATION;
  if (is_first == socket->in_pieces)
    return fail_protocol(is_first ? "a new message inside one in pieces" : "a continuation of nothing",
                         error);
  if (is_first && head->fin)
    return listener->message(listener, payload, error);
  buffer_append_text(&socket->pieces, payload);
  if (socket->pieces.failed)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a received message");
  socket->in_pieces = !head->fin;
  if (socket->in_pieces)
    return JP_CLIENT_OK;
  enum jp_client_status status = listener->message(listener, buffer_text(&socket->pieces), error);
  buffer_clear(&socket->pieces);
  buffer_trim(&socket->pieces, 0);
  return status;
}

/* RFC 6455, 5.5.3, does not require an answer to every ping. While the peer does not read, unanswered pings
 * would fill the memory. */
static void answer_ping(struct websocket_transport *socket, struct text payload)
{
  enum { QUEUED_MAX = 64 * 1024 };
  if (socket->stream.out.len - socket->stream.sent < QUEUED_MAX)
    write_control(socket, CLIENT_WS_PONG, payload);
}

static enum jp_client_status handle_frame(struct websocket_transport *socket,
                                          const struct client_ws_head *head, struct text payload,
                                          struct transport_listener *listener, struct jp_client_error *error)
{
  switch (head->opcode) {
  case CLIENT_WS_TEXT:
  case CLIENT_WS_CONTINUATION:
    return handle_data(socket, head, payload, listener, error);
  case CLIENT_WS_PING:
    answer_ping(socket, payload);
    return JP_CLIENT_OK;
  case CLIENT_WS_PONG:
    return JP_CLIENT_OK;
  case CLIENT_WS_CLOSE:
    return handle_close(socket, payload, error);
  default:
    return fail_protocol("a binary message", error);
  }
}

/* *is_whole: the whole frame has arrived, and *payload is set. */
static enum jp_client_status next_frame(struct websocket_transport *socket, struct client_ws_head *head,
                                        struct text *payload, bool *is_whole, struct jp_client_error *error)
{
  struct client_stream *stream = &socket->stream;
  struct text unused = client_stream_unused(stream);
  const char *fault;
  *is_whole = false;
  if (!client_ws_read_head(unused, head, &fault))
    return fail_protocol(fault, error);
  if (head->size == 0)
    return JP_CLIENT_OK;
  if (head->length > socket->message_max - socket->pieces.len)
    return client_fail(error, JP_CLIENT_LIMIT, "an answer is longer than message_max, %zu bytes",
                       socket->message_max);
  if (unused.len - head->size < head->length)
    return JP_CLIENT_OK;
  *is_whole = true;
  *payload = text_slice(unused, head->size, head->size + (size_t)head->length);
  stream->consumed += head->size + (size_t)head->length;
  return JP_CLIENT_OK;
}

static enum jp_client_status receive_input(struct client_transport *transport,
                                           struct transport_listener *listener, struct jp_client_error *error)
{
  struct websocket_transport *socket = websocket_of(transport);
  struct client_stream *stream = &socket->stream;
  enum jp_client_status ended = JP_CLIENT_OK;
  if (!socket->has_unread)
    ended = client_stream_read(stream, error);
  enum jp_client_status status = JP_CLIENT_OK;
  /* if handling a message fails, that error is reported instead of the end of the connection */
  struct jp_client_error later;
  bool is_whole = true;
  const size_t most = ended == JP_CLIENT_OK ? stream->consumed + HANDLED_AT_ONCE : SIZE_MAX;
  while (status == JP_CLIENT_OK && is_whole && stream->consumed < most) {
    struct client_ws_head head;
    struct text payload;
    status = next_frame(socket, &head, &payload, &is_whole, &later);
    if (status == JP_CLIENT_OK && is_whole)
      status = handle_frame(socket, &head, payload, listener, &later);
  }
  socket->has_unread = is_whole && client_stream_unused(stream).len > 0;
  if (status != JP_CLIENT_OK && error != NULL)
    *error = later;
  status = status != JP_CLIENT_OK ? status : ended;
  socket->has_ended = status != JP_CLIENT_OK;
  return status;
}

static bool has_input(struct client_transport *transport)
{
  const struct websocket_transport *socket = websocket_of(transport);
  return socket->has_unread || socket->stream.has_unread;
}

const struct transport_kind transport_websocket = {
    .has_callbacks = true,
    .has_fields = true,
    .obeys_cancel = true,
    .open = open_websocket,
    .close = close_websocket,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .discard = discard_message,
    .flush = flush_output,
    .waiting = count_waiting,
    .receive = receive_input,
};
