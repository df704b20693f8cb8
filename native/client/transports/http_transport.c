/*
 * HTTP/1.1 over TCP and unix sockets: one POST for each message, on one persistent connection. Requests do
 * not wait for earlier responses, which arrive in order (RFC 9112, 9.3.2).
 */
#include "base/clock.h"
#include "client/messages/client_error.h"
#include "client/transports/client_stream.h"
#include "client/transports/http_responses.h"
#include "client/transports/transport.h"

#include <stdio.h>
#include <stdlib.h>

/* The length is written before the body is known, so it has leading zeros (RFC 9110, 8.6: digits). The peer
 * recognizes repeated heads that differ only in these digits. */
enum { LENGTH_DIGITS = 9, HTTP_ERRORS_FROM = 400 };
#define LENGTH_FIELD "Content-Length: "
#define LENGTH_PLACE "000000000"
#define HEAD_END     "\r\n\r\n"

struct http_transport {
  struct client_transport transport;
  struct client_stream stream;
  const struct client_url *url;
  struct text peer_id;
  const struct client_credentials *credentials;
  char *token;                         /* in `head`; NULL: none */
  struct buffer head;                  /* of each POST, up to the digits of Content-Length */
  char epoch[TRANSPORT_EPOCH_MAX + 1]; /* of the refs in the message; "": no refs */
  size_t begin;                        /* of the request that is being written */
  struct buffer expected; /* a byte for each POST without a response: whether it expects an answer */
  size_t responses;       /* bytes of `expected` that were consumed */
  struct http_reader reader;
};

static struct http_transport *http_of(struct client_transport *transport)
{
  return (struct http_transport *)transport;
}

/* ---- opening and closing ---- */

static void write_head(struct http_transport *http)
{
  struct buffer *out = &http->head;
  buffer_clear(out);
  BUFFER_LITERAL(out, "POST ");
  buffer_append_text(out, client_url_request_path(http->url));
  BUFFER_LITERAL(out, " HTTP/1.1\r\nHost: ");
  client_url_write_host(http->url, out);
  BUFFER_LITERAL(out, "\r\nContent-Type: application/json\r\n");
  if (http->peer_id.data != NULL)
    buffer_printf(out, "peer-id: %.*s\r\n", TEXT_ARGS(http->peer_id));
  client_credentials_write_fields(http->credentials, http->token == NULL ? "" : http->token, out);
  BUFFER_LITERAL(out, LENGTH_FIELD);
}

static void forget_token(struct http_transport *http)
{
  if (http->token == NULL)
    return;
  explicit_bzero(http->token, strlen(http->token));
  if (http->head.len > 0)
    explicit_bzero(http->head.data, http->head.len);
  free(http->token);
  http->token = NULL;
}

/* The peer recognizes repeated heads, so the head is written only when the token changes. */
static bool use_token(struct client_transport *transport, const char *token)
{
  struct http_transport *http = http_of(transport);
  if (strcmp(http->token == NULL ? "" : http->token, token) == 0)
    return true;
  forget_token(http);
  if (token[0] != '\0' && (http->token = strdup(token)) == NULL)
    return false;
  write_head(http);
  return !http->head.failed;
}

static void close_http(struct client_transport *transport)
{
  struct http_transport *http = http_of(transport);
  client_stream_fini(&http->stream);
  forget_token(http);
  buffer_fini(&http->head);
  buffer_fini(&http->expected);
  http_reader_fini(&http->reader);
  free(http);
}

static enum jp_client_status open_http(const struct client_url *url, const struct transport_options *options,
                                       struct client_transport **transport, struct jp_client_error *error)
{
  int64_t deadline_ns = clock_now_ns() + (int64_t)options->timeout_ms * 1000000;
  struct http_transport *http = calloc(1, sizeof *http);
  if (http == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  http->transport.kind = &transport_http;
  http->url = url;
  http->peer_id = options->peer_id;
  http->credentials = options->credentials;
  client_stream_init(&http->stream);
  http_reader_init(&http->reader, options->message_max);
  write_head(http);
  enum jp_client_status status =
      client_stream_connect(&http->stream, url, options->credentials, deadline_ns, error);
  if (status == JP_CLIENT_OK && http->head.failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  if (status != JP_CLIENT_OK) {
    close_http(&http->transport);
    return status;
  }
  *transport = &http->transport;
  return JP_CLIENT_OK;
}

/* ---- writing ---- */

static int descriptor_of(const struct client_transport *transport)
{
  return ((const struct http_transport *)transport)->stream.fd;
}

static bool wants_to_write(const struct client_transport *transport)
{
  return client_stream_wants_to_write(&((const struct http_transport *)transport)->stream);
}

static struct buffer *begin_message(struct client_transport *transport)
{
  struct http_transport *http = http_of(transport);
  struct buffer *out = &http->stream.out;
  http->begin = out->len;
  buffer_append_text(out, buffer_text(&http->head));
  BUFFER_LITERAL(out, LENGTH_PLACE HEAD_END);
  return out;
}

/* A length with more digits than the reserved place moves the body. */
static void write_length(struct buffer *out, size_t place, size_t length)
{
  char digits[24];
  size_t count = 0;
  for (size_t left = length; left > 0 || count < LENGTH_DIGITS; left /= 10)
    digits[sizeof digits - ++count] = (char)('0' + left % 10);
  size_t after = place + LENGTH_DIGITS;
  size_t more = count - LENGTH_DIGITS;
  if (more > 0 && buffer_reserve(out, more) == NULL)
    return;
  memmove(out->data + after + more, out->data + after, out->len - after);
  memcpy(out->data + place, digits + sizeof digits - count, count);
  out->len += more;
}

/* Inserts the header before Content-Length, so that Content-Length remains the last header. Returns how many
 * bytes were inserted. */
static size_t insert_epoch(struct http_transport *http)
{
  enum { FIELD_MAX = 64 };
  char field[FIELD_MAX];
  struct buffer *out = &http->stream.out;
  size_t place = http->begin + http->head.len - (sizeof LENGTH_FIELD - 1);
  size_t more = (size_t)snprintf(field, sizeof field, "jpeer-epoch: %s\r\n", http->epoch);
  http->epoch[0] = '\0';
  if (buffer_reserve(out, more) == NULL)
    return 0;
  memmove(out->data + place + more, out->data + place, out->len - place);
  memcpy(out->data + place, field, more);
  out->len += more;
  return more;
}

static void end_message(struct client_transport *transport, bool is_answered)
{
  struct http_transport *http = http_of(transport);
  struct buffer *out = &http->stream.out;
  buffer_append_char(&http->expected, (char)is_answered);
  out->failed |= http->expected.failed; /* flush reports it */
  if (out->failed)
    return;
  size_t place = http->begin + http->head.len;
  if (http->epoch[0] != '\0')
    place += insert_epoch(http);
  write_length(out, place, out->len - place - LENGTH_DIGITS - (sizeof HEAD_END - 1));
}

static void name_epoch(struct client_transport *transport, struct text epoch)
{
  struct http_transport *http = http_of(transport);
  memcpy(http->epoch, epoch.data, TRANSPORT_EPOCH_MAX);
  http->epoch[TRANSPORT_EPOCH_MAX] = '\0';
}

static void discard_message(struct client_transport *transport)
{
  struct http_transport *http = http_of(transport);
  struct buffer *out = &http->stream.out;
  http->epoch[0] = '\0';
  buffer_truncate(out, http->begin < out->len ? http->begin : out->len);
  out->failed = false; /* earlier messages are complete */
}

static enum jp_client_status flush_output(struct client_transport *transport, struct jp_client_error *error)
{
  return client_stream_flush(&http_of(transport)->stream, error);
}

/* ---- reading ---- */

/* Removes the oldest POST without a response. False: every POST has its response. */
static bool pop_expected(struct http_transport *http, bool *is_answered)
{
  if (http->responses == http->expected.len)
    return false;
  *is_answered = http->expected.data[http->responses++] != 0;
  if (http->responses > http->expected.len / 2) { /* moves each byte at most once on average */
    buffer_consume(&http->expected, http->responses);
    http->responses = 0;
  }
  return true;
}

/* Fails for a response that is neither an answer nor the 204 of a notification. */
static enum jp_client_status refuse_response(struct http_transport *http,
                                             const struct http_response *response, const char *what,
                                             struct jp_client_error *error)
{
  struct buffer words = {0};
  http_reader_describe(&http->reader, response, &words);
  if (words.failed)
    buffer_clear(&words);
  enum jp_client_status status =
      client_fail(error, response->status >= HTTP_ERRORS_FROM ? JP_CLIENT_REFUSED : JP_CLIENT_PROTOCOL,
                  "%s%.*s", what, TEXT_ARGS(buffer_text(&words)));
  buffer_fini(&words);
  return status;
}

static enum jp_client_status pass_response(struct http_transport *http, const struct http_response *response,
                                           struct transport_listener *listener, struct jp_client_error *error)
{
  bool is_answered;
  if (!pop_expected(http, &is_answered)) /* a peer sends such a response to a user who is not admitted */
    return refuse_response(http, response,
                           response->status >= HTTP_ERRORS_FROM ? "the peer ends the connection: HTTP "
                                                                : "a response to no request: HTTP ",
                           error);
  listener->epoch(listener, response->epoch);
  if (!is_answered && (response->is_json || (response->status >= 200 && response->status < 300)))
    return JP_CLIENT_OK; /* the client does not wait for it */
  if (!response->is_json || response->status == 204)
    return refuse_response(http, response, "the peer answers with HTTP ", error);
  return listener->message(listener, response->body, error);
}

static enum jp_client_status handle_response(struct http_transport *http,
                                             const struct http_response *response,
                                             struct transport_listener *listener,
                                             struct jp_client_error *error)
{
  enum jp_client_status status = pass_response(http, response, listener, error);
  if (status != JP_CLIENT_OK || !response->is_last)
    return status;
  return client_fail(error, JP_CLIENT_CLOSED, "the peer has closed the connection after an answer");
}

static enum jp_client_status handle_responses(struct http_transport *http,
                                              struct transport_listener *listener,
                                              struct jp_client_error *error)
{
  struct client_stream *stream = &http->stream;
  enum jp_client_status status = JP_CLIENT_OK;
  while (status == JP_CLIENT_OK && client_stream_unused(stream).len > 0) {
    struct http_response response;
    bool is_whole;
    size_t used;
    status =
        http_reader_read(&http->reader, client_stream_unused(stream), &used, &response, &is_whole, error);
    stream->consumed += used;
    if (status == JP_CLIENT_OK && is_whole)
      status = handle_response(http, &response, listener, error);
  }
  return status;
}

/* The peer has closed the connection. This ends a response without a length. */
static enum jp_client_status handle_end(struct http_transport *http, struct transport_listener *listener,
                                        struct jp_client_error *error)
{
  struct http_response response;
  bool is_whole;
  enum jp_client_status status = http_reader_end(&http->reader, &response, &is_whole, error);
  return status == JP_CLIENT_OK && is_whole ? handle_response(http, &response, listener, error) : status;
}

static enum jp_client_status receive_input(struct client_transport *transport,
                                           struct transport_listener *listener, struct jp_client_error *error)
{
  struct http_transport *http = http_of(transport);
  struct jp_client_error later; /* an error of a response is reported instead of the connection's end */
  enum jp_client_status ended = client_stream_read(&http->stream, error);
  enum jp_client_status status = handle_responses(http, listener, &later);
  if (status == JP_CLIENT_OK && ended == JP_CLIENT_CLOSED && !http->stream.is_cut)
    status = handle_end(http, listener, &later);
  if (status != JP_CLIENT_OK && error != NULL)
    *error = later;
  return status != JP_CLIENT_OK ? status : ended;
}

static bool may_end_to_cancel(const struct client_transport *transport)
{
  const struct http_transport *http = (const struct http_transport *)transport;
  return http->expected.len - http->responses == 1;
}

static bool has_input(struct client_transport *transport)
{
  return http_of(transport)->stream.has_unread;
}

const struct transport_kind transport_http = {
    .session_is_named = true,
    .has_fields = true,
    .epoch_is_in_answers = true,
    .ends_when_idle = true,
    .open = open_http,
    .close = close_http,
    .descriptor = descriptor_of,
    .wants_to_write = wants_to_write,
    .has_input = has_input,
    .begin = begin_message,
    .end = end_message,
    .discard = discard_message,
    .name_epoch = name_epoch,
    .use_token = use_token,
    .may_end_to_cancel = may_end_to_cancel,
    .flush = flush_output,
    .receive = receive_input,
};
