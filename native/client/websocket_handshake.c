#include "client/websocket_handshake.h"

#include "base/base64.h"
#include "client/messages/client_error.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <sys/random.h>

/* Appended to the key before it is hashed (RFC 6455, 1.3). */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/* ---- the request ---- */

bool websocket_make_key(char key[WEBSOCKET_KEY_LENGTH + 1])
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

void websocket_write_request(const struct client_url *url, struct text peer_id, const char *key,
                             struct buffer *out)
{
  BUFFER_LITERAL(out, "GET ");
  buffer_append_text(out, client_url_request_path(url));
  BUFFER_LITERAL(out, " HTTP/1.1\r\nHost: ");
  client_url_write_host(url, out);
  buffer_printf(out,
                "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                "Sec-WebSocket-Version: 13\r\n",
                key);
  if (peer_id.data != NULL)
    buffer_printf(out, "peer-id: %.*s\r\n", TEXT_ARGS(peer_id));
  BUFFER_LITERAL(out, "\r\n");
}

/* ---- the response ---- */

static struct text trim(struct text t)
{
  while (t.len > 0 && (t.data[0] == ' ' || t.data[0] == '\t'))
    t = text_slice(t, 1, t.len);
  while (t.len > 0 && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t'))
    t.len--;
  return t;
}

/* Takes a line without its end. */
static struct text take_line(struct text *rest)
{
  const char *end = rest->len == 0 ? NULL : memmem(rest->data, rest->len, "\r\n", 2);
  size_t length = end == NULL ? rest->len : (size_t)(end - rest->data);
  struct text line = text_slice(*rest, 0, length);
  *rest = text_slice(*rest, end == NULL ? length : length + 2, rest->len);
  return line;
}

/* The value of a field that stands once in the head; data NULL: it does not. */
static struct text find_field(struct text head, struct text name)
{
  struct text value = TEXT_ABSENT;
  while (head.len > 0) {
    struct text line = take_line(&head);
    const char *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || !text_equal_ignore_case(text_slice(line, 0, (size_t)(colon - line.data)), name))
      continue;
    if (value.data != NULL)
      return TEXT_ABSENT;
    value = trim(text_slice(line, (size_t)(colon - line.data) + 1, line.len));
  }
  return value;
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

/* The first line of a text for people, whichever way it ends. */
static struct text first_line(struct text t)
{
  size_t length = 0;
  while (length < t.len && t.data[length] != '\r' && t.data[length] != '\n')
    length++;
  return trim(text_slice(t, 0, length));
}

/* The peer's own words, as far as they have come, on one line. */
static enum jp_client_status refuse(struct text status_line, struct text body, struct jp_client_error *error)
{
  enum { SHOWN_MAX = 500 };
  body = text_cut(first_line(body), SHOWN_MAX);
  status_line = text_cut(status_line, SHOWN_MAX);
  return client_fail(error, JP_CLIENT_REFUSED, "the peer refuses the WebSocket: %.*s%s%.*s",
                     TEXT_ARGS(status_line), body.len > 0 ? ": " : "", TEXT_ARGS(body));
}

enum jp_client_status websocket_read_response(struct text came, const char *key, size_t *length,
                                              struct jp_client_error *error)
{
  static const struct text version = TEXT("HTTP/1.1 ");
  *length = 0;
  if (memcmp(came.data, version.data, came.len < version.len ? came.len : version.len) != 0)
    return client_fail(error, JP_CLIENT_PROTOCOL, "what answers is no HTTP/1.1 server");
  const char *end = memmem(came.data, came.len, "\r\n\r\n", 4);
  if (end == NULL)
    return came.len <= WEBSOCKET_RESPONSE_MAX
               ? JP_CLIENT_OK
               : client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is too long");
  size_t head_length = (size_t)(end - came.data) + 4;
  struct text head = text_slice(came, 0, head_length - 2);
  struct text status_line = take_line(&head);
  status_line = text_slice(status_line, version.len, status_line.len);
  if (!text_starts_with(status_line, TEXT("101")))
    return refuse(status_line, text_slice(came, head_length, came.len), error);
  if (!text_equal_ignore_case(find_field(head, TEXT("upgrade")), TEXT("websocket")) ||
      !text_equal_ignore_case(find_field(head, TEXT("connection")), TEXT("upgrade")) ||
      !is_accepted(find_field(head, TEXT("sec-websocket-accept")), key))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is none of a WebSocket");
  *length = head_length;
  return JP_CLIENT_OK;
}
