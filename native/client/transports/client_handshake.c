/* The opening handshakes of a client: an HTTP Upgrade (RFC 9110, 7.8) to a WebSocket or to shared memory. */
#include "client/transports/client_handshake.h"

#include "base/base64.h"
#include "client/messages/client_error.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Appended to the key before it is hashed (RFC 6455, 1.3). */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

#define SHM_PROTOCOL "jpeer-shm/1"

enum { SWITCHING = 101, UNAVAILABLE = 503 };

/* Room for more descriptors than a peer sends. The kernel drops descriptors without room. */
enum { DESCRIPTORS_MAX = 8, RECEIVE_SIZE = 4096 };

/* ---- the request ---- */

/* Writes a request to upgrade to the protocol. more: further fields. */
static void write_request(const struct client_url *url, const struct transport_options *options,
                          const char *token, const char *protocol, const char *more, struct buffer *out)
{
  BUFFER_LITERAL(out, "GET ");
  buffer_append_text(out, client_url_request_path(url));
  BUFFER_LITERAL(out, " HTTP/1.1\r\nHost: ");
  client_url_write_host(url, out);
  buffer_printf(out, "\r\nUpgrade: %s\r\nConnection: Upgrade\r\n%s", protocol, more);
  if (options->peer_id.data != NULL)
    buffer_printf(out, "peer-id: %.*s\r\n", TEXT_ARGS(options->peer_id));
  client_credentials_write_fields(options->credentials, token, out);
  BUFFER_LITERAL(out, "\r\n");
}

/* Removes the token from an error. The error may quote the peer's response, which may quote the request. */
static void forget_token(char token[JP_TOKEN_SIZE], enum jp_client_status status,
                         struct jp_client_error *error)
{
  if (status != JP_CLIENT_OK)
    client_credentials_hide_token(token, error);
  explicit_bzero(token, strlen(token));
}

/* ---- the response ---- */

/* Borrowed from the input. */
struct response {
  size_t length; /* of the head; 0: incomplete, and the other members are not set */
  unsigned status;
  struct text status_line; /* without the version: "101 Switching Protocols" */
  struct text fields;      /* lines */
  struct text body;        /* the input after the head */
};

static struct text trim_spaces(struct text t)
{
  while (t.len > 0 && (t.data[0] == ' ' || t.data[0] == '\t'))
    t = text_slice(t, 1, t.len);
  while (t.len > 0 && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t'))
    t.len--;
  return t;
}

/* Cuts the first line off *rest, and returns it without its end. */
static struct text cut_line(struct text *rest)
{
  const char *end = rest->len == 0 ? NULL : memmem(rest->data, rest->len, "\r\n", 2);
  size_t length = end == NULL ? rest->len : (size_t)(end - rest->data);
  struct text line = text_slice(*rest, 0, length);
  *rest = text_slice(*rest, end == NULL ? length : length + 2, rest->len);
  return line;
}

/* The value of a field that occurs exactly once; otherwise data NULL. */
static struct text find_field(const struct response *response, struct text name)
{
  struct text fields = response->fields;
  struct text value = TEXT_ABSENT;
  while (fields.len > 0) {
    struct text line = cut_line(&fields);
    const char *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || !text_equal_ignore_case(text_slice(line, 0, (size_t)(colon - line.data)), name))
      continue;
    if (value.data != NULL)
      return TEXT_ABSENT;
    value = trim_spaces(text_slice(line, (size_t)(colon - line.data) + 1, line.len));
  }
  return value;
}

/* True if the response has the fields of an upgrade to that protocol. */
static bool is_upgrade_to(const struct response *response, struct text protocol)
{
  return text_equal_ignore_case(find_field(response, TEXT("upgrade")), protocol) &&
         text_equal_ignore_case(find_field(response, TEXT("connection")), TEXT("upgrade"));
}

/* Fails with JP_CLIENT_REFUSED and the peer's text on one line, as far as the text has arrived. what: "the
 * WebSocket". */
static enum jp_client_status fail_refused(const struct response *response, const char *what,
                                          struct jp_client_error *error)
{
  enum { SHOWN_MAX = 500 };
  size_t length = 0; /* of the first line of the body, which may end in CR LF, LF, or with the body */
  while (length < response->body.len && response->body.data[length] != '\r' &&
         response->body.data[length] != '\n')
    length++;
  struct text body = text_cut(trim_spaces(text_slice(response->body, 0, length)), SHOWN_MAX);
  struct text status_line = text_cut(response->status_line, SHOWN_MAX);
  return client_fail(error, JP_CLIENT_REFUSED, "the peer refuses %s: %.*s%s%.*s", what,
                     TEXT_ARGS(status_line), body.len > 0 ? ": " : "", TEXT_ARGS(body));
}

/* Three digits; 0: not a status. */
static unsigned read_status(struct text status_line)
{
  unsigned status = 0;
  for (size_t i = 0; i < 3; i++) {
    unsigned digit = i < status_line.len ? (unsigned)(status_line.data[i] - '0') : 10;
    if (digit > 9)
      return 0;
    status = status * 10 + digit;
  }
  return status_line.len == 3 || status_line.data[3] == ' ' ? status : 0;
}

/* Searches the input, which is not empty, for the head of the response. JP_CLIENT_PROTOCOL: not HTTP/1.1, or
 * longer than UPGRADE_RESPONSE_MAX. */
static enum jp_client_status read_response(struct text input, struct response *response,
                                           struct jp_client_error *error)
{
  static const struct text version = TEXT("HTTP/1.1 ");
  *response = (struct response){0};
  if (memcmp(input.data, version.data, input.len < version.len ? input.len : version.len) != 0)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer is no HTTP/1.1 server");
  const char *end = memmem(input.data, input.len, "\r\n\r\n", 4);
  if (end == NULL)
    return input.len <= UPGRADE_RESPONSE_MAX
               ? JP_CLIENT_OK
               : client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is too long");
  response->length = (size_t)(end - input.data) + 4;
  response->fields = text_slice(input, 0, response->length - 2);
  response->body = text_slice(input, response->length, input.len);
  struct text status_line = cut_line(&response->fields);
  response->status_line = text_slice(status_line, version.len, status_line.len);
  response->status = read_status(response->status_line);
  return JP_CLIENT_OK;
}

/* ---- WebSocket (RFC 6455, 4.1) ---- */

/* 16 random bytes as base64, NUL-terminated. False: no memory. */
static bool make_key(char key[WEBSOCKET_KEY_LENGTH + 1])
{
  uint8_t bytes[16];
  struct buffer text = {0};
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) /* never interrupted below 256 bytes */
    abort();
  base64_encode(&text, bytes, sizeof bytes);
  bool made = !text.failed && text.len == WEBSOCKET_KEY_LENGTH;
  if (made)
    memcpy(key, text.data, WEBSOCKET_KEY_LENGTH);
  key[WEBSOCKET_KEY_LENGTH] = '\0';
  buffer_fini(&text);
  return made;
}

static bool is_accepted(struct text accept, const char *key)
{
  unsigned char hash[SHA_DIGEST_LENGTH];
  char hashed[WEBSOCKET_KEY_LENGTH + sizeof GUID];
  memcpy(hashed, key, WEBSOCKET_KEY_LENGTH);
  memcpy(hashed + WEBSOCKET_KEY_LENGTH, GUID, sizeof GUID);
  SHA1((const unsigned char *)hashed, WEBSOCKET_KEY_LENGTH + sizeof GUID - 1, hash);
  struct buffer wanted = {0};
  base64_encode(&wanted, hash, sizeof hash);
  bool is_equal = !wanted.failed && text_equal(accept, buffer_text(&wanted));
  buffer_fini(&wanted);
  return is_equal;
}

enum jp_client_status websocket_read_response(struct text input, const char *key, size_t *length,
                                              struct text *epoch, struct jp_client_error *error)
{
  struct response response;
  enum jp_client_status status = read_response(input, &response, error);
  *length = 0;
  if (status != JP_CLIENT_OK || response.length == 0)
    return status;
  if (response.status != SWITCHING)
    return fail_refused(&response, "the WebSocket", error);
  if (!is_upgrade_to(&response, TEXT("websocket")) ||
      !is_accepted(find_field(&response, TEXT("sec-websocket-accept")), key))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is none of a WebSocket");
  *epoch = find_field(&response, TEXT("jpeer-epoch"));
  *length = response.length;
  return JP_CLIENT_OK;
}

static enum jp_client_status await_response(struct client_stream *stream, const char *key,
                                            int64_t deadline_ns, struct client_transport *transport,
                                            struct jp_client_error *error)
{
  for (;;) {
    enum jp_client_status status = client_stream_await(stream, false, deadline_ns, error);
    if (status == JP_CLIENT_OK)
      status = client_stream_read(stream, error);
    /* The peer may refuse and close the connection at the same time. The refusal is then read first. */
    const bool has_ended = status == JP_CLIENT_CLOSED;
    size_t length = 0;
    struct text epoch;
    if ((status == JP_CLIENT_OK || has_ended) && client_stream_unused(stream).len > 0)
      status = websocket_read_response(client_stream_unused(stream), key, &length, &epoch, error);
    if (status != JP_CLIENT_OK && status != JP_CLIENT_CLOSED)
      return status;
    if (length == 0 && has_ended)
      return client_fail(error, JP_CLIENT_REFUSED, "the peer closed the connection during the handshake");
    if (length > 0) {
      transport_keep_epoch(transport, epoch);
      stream->consumed += length;
      return JP_CLIENT_OK;
    }
  }
}

enum jp_client_status websocket_shake_hands(struct client_stream *stream, const struct client_url *url,
                                            const struct transport_options *options, int64_t deadline_ns,
                                            struct client_transport *transport, struct jp_client_error *error)
{
  char key[WEBSOCKET_KEY_LENGTH + 1];
  char fields[100];
  char token[JP_TOKEN_SIZE];
  if (!make_key(key))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a connection");
  snprintf(fields, sizeof fields, "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n", key);
  enum jp_client_status status = client_credentials_read_token(options->credentials, token, error);
  if (status != JP_CLIENT_OK)
    return status;
  write_request(url, options, token, "websocket", fields, &stream->out);
  status = client_stream_flush_all(stream, deadline_ns, error);
  if (status == JP_CLIENT_OK)
    status = await_response(stream, key, deadline_ns, transport, error);
  forget_token(token, status, error);
  return status;
}

/* ---- shared memory ---- */

/* Received descriptors. The first is kept; others are closed. */
struct shm_descriptors {
  int fd; /* owned; -1: none */
  unsigned count;
  bool is_cut; /* there were more than fit */
};

static void collect_descriptors(const struct cmsghdr *header, struct shm_descriptors *descriptors)
{
  if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return;
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; i++) {
    int fd;
    memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    if (descriptors->count++ == 0)
      descriptors->fd = fd;
    else
      close(fd);
  }
}

/* Appends received bytes to `in`, and collects descriptors (close-on-exec). JP_CLIENT_CLOSED: the other side
 * has closed. */
static enum jp_client_status receive_bytes(int socket, struct buffer *in, struct shm_descriptors *descriptors,
                                           struct jp_client_error *error)
{
  union {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
  } control;
  char *room = buffer_reserve(in, RECEIVE_SIZE);
  if (room == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for the answer to the upgrade");
  struct iovec bytes = {.iov_base = room, .iov_len = RECEIVE_SIZE};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return JP_CLIENT_OK;
  if (count < 0)
    return client_fail(error, JP_CLIENT_CLOSED, "the connection has ended: %s", strerror(errno));
  for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at))
    collect_descriptors(at, descriptors);
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    descriptors->is_cut = true;
  if (count == 0)
    return client_fail(error, JP_CLIENT_CLOSED, "the peer closed the connection during the handshake");
  in->len += (size_t)count;
  return JP_CLIENT_OK;
}

/* 0: not a valid size. */
static size_t read_ring_size(struct text digits)
{
  size_t size = 0;
  for (size_t i = 0; digits.data != NULL && i < digits.len; i++) {
    unsigned digit = (unsigned)(digits.data[i] - '0');
    if (digit > 9 || size > RING_SIZE_MAX)
      return 0;
    size = size * 10 + digit;
  }
  return size;
}

static enum jp_client_status map_memory(const struct response *response,
                                        const struct shm_descriptors *descriptors, struct ring_region *region,
                                        enum shm_refusal *refusal, struct jp_client_error *error)
{
  struct jp_error fault;
  if (!is_upgrade_to(response, TEXT(SHM_PROTOCOL)))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is none of shared memory");
  if (descriptors->is_cut)
    return client_fail(error, JP_CLIENT_PROTOCOL,
                       "the peer sent too many descriptors, or this process can have no more of them");
  if (descriptors->count != 1)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer sent %u descriptors with its response, not one",
                       descriptors->count);
  size_t ring_size = read_ring_size(find_field(response, TEXT("jpeer-shm-ring")));
  enum jp_status status = ring_region_map(descriptors->fd, ring_size, region, &fault);
  if (status == JP_OK)
    return JP_CLIENT_OK;
  if (status != JP_NO_MEMORY)
    return client_fail(error, JP_CLIENT_PROTOCOL, "%s", fault.text);
  *refusal = SHM_UNAVAILABLE;
  return client_fail(error, JP_CLIENT_NO_MEMORY, "%s", fault.text);
}

static enum jp_client_status accept_response(const struct response *response,
                                             const struct shm_descriptors *descriptors,
                                             struct ring_region *region, enum shm_refusal *refusal,
                                             struct jp_client_error *error)
{
  if (response->status == SWITCHING)
    return map_memory(response, descriptors, region, refusal, error);
  *refusal = response->status == UNAVAILABLE ? SHM_UNAVAILABLE : SHM_REFUSED;
  return fail_refused(response, "shared memory", error);
}

static enum jp_client_status await_memory(const struct client_stream *stream, struct buffer *in,
                                          struct shm_descriptors *descriptors, int64_t deadline_ns,
                                          struct response *response, struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  response->length = 0;
  while (status == JP_CLIENT_OK && response->length == 0) {
    status = client_stream_await(stream, false, deadline_ns, error);
    if (status == JP_CLIENT_OK)
      status = receive_bytes(stream->fd, in, descriptors, error);
    if (status == JP_CLIENT_OK && in->len > 0)
      status = read_response(buffer_text(in), response, error);
  }
  if (status == JP_CLIENT_CLOSED && error != NULL)
    error->status = JP_CLIENT_REFUSED;
  return status == JP_CLIENT_CLOSED ? JP_CLIENT_REFUSED : status;
}

enum jp_client_status shm_shake_hands(struct client_stream *stream, const struct client_url *url,
                                      const struct transport_options *options, int64_t deadline_ns,
                                      struct ring_region *region, struct client_transport *transport,
                                      enum shm_refusal *refusal, struct jp_client_error *error)
{
  char token[JP_TOKEN_SIZE];
  struct shm_descriptors descriptors = {.fd = -1};
  struct response response;
  struct buffer in = {0};
  *refusal = SHM_NOT_REFUSED;
  enum jp_client_status status = client_credentials_read_token(options->credentials, token, error);
  if (status != JP_CLIENT_OK)
    return status;
  write_request(url, options, token, SHM_PROTOCOL, "", &stream->out);
  status = client_stream_flush_all(stream, deadline_ns, error);
  if (status == JP_CLIENT_OK)
    status = await_memory(stream, &in, &descriptors, deadline_ns, &response, error);
  if (status == JP_CLIENT_OK)
    status = accept_response(&response, &descriptors, region, refusal, error);
  if (status == JP_CLIENT_OK)
    transport_keep_epoch(transport, find_field(&response, TEXT("jpeer-epoch")));
  if (descriptors.fd >= 0)
    close(descriptors.fd);
  buffer_fini(&in);
  forget_token(token, status, error);
  return status;
}
