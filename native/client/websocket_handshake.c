#include "client/websocket_handshake.h"

#include "base/base64.h"
#include "client/messages/client_error.h"
#include "client/upgrade.h"

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

enum jp_client_status websocket_read_response(struct text came, const char *key, size_t *length,
                                              struct text *epoch, struct jp_client_error *error)
{
  struct upgrade_response response;
  enum jp_client_status status = upgrade_read_response(came, &response, error);
  *length = 0;
  if (status != JP_CLIENT_OK || response.length == 0)
    return status;
  if (response.status != UPGRADE_SWITCHING)
    return upgrade_refuse(&response, "the WebSocket", error);
  if (!upgrade_speaks(&response, TEXT("websocket")) ||
      !is_accepted(upgrade_find_field(&response, TEXT("sec-websocket-accept")), key))
    return client_fail(error, JP_CLIENT_PROTOCOL, "the response to the handshake is none of a WebSocket");
  *epoch = upgrade_find_field(&response, TEXT("jpeer-epoch"));
  *length = response.length;
  return JP_CLIENT_OK;
}
