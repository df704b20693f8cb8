#include "net/http/http_response.h"

#include "base/base64.h"

#include <openssl/sha.h>
#include <string.h>

#define HTTP_VERSION        "HTTP/1.1 "
#define HTTP_NO_STORE       "Cache-Control: no-store\r\n"
#define HTTP_JSON_OF_LENGTH "Content-Type: application/json\r\nContent-Length: "

static const struct {
  int status;
  const char *words;
} STATUSES[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {426, "Upgrade Required"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

static const char *find_status_words(int status)
{
  for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++) {
    if (STATUSES[i].status == status)
      return STATUSES[i].words;
  }
  return "Internal Server Error";
}

/* Without printf, because nearly every response has a status and a length. */
static void write_number(struct buffer *out, size_t number)
{
  char digits[24];
  size_t at = sizeof digits;
  do
    digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  buffer_append(out, digits + at, sizeof digits - at);
}

/* Allows the header fields that clients and their libraries send, in addition to those that every page may send. */
static void write_preflight(struct buffer *out, const struct http_status_response *response)
{
  buffer_printf(out,
                "Access-Control-Allow-Methods: %s\r\n"
                "Access-Control-Allow-Headers: content-type, authorization, peer-id, jpeer-epoch, accept, "
                "user-agent, x-requested-with\r\n"
                "Access-Control-Max-Age: 600\r\n",
                response->allow);
  if (response->grants_private_network)
    BUFFER_LITERAL(out, "Access-Control-Allow-Private-Network: true\r\n");
}

static void write_status_line(struct buffer *out, struct http_response_mode mode, int status)
{
  BUFFER_LITERAL(out, HTTP_VERSION);
  write_number(out, (size_t)status);
  buffer_append_char(out, ' ');
  buffer_append_text(out, text_of(find_status_words(status)));
  BUFFER_LITERAL(out, "\r\n" HTTP_NO_STORE);
  if (!mode.keeps_alive)
    BUFFER_LITERAL(out, "Connection: close\r\n");
  if (mode.origin !=
      NULL) { /* nothing is cached (Cache-Control), so responses without an origin need no Vary */
    BUFFER_LITERAL(out, "Access-Control-Allow-Origin: ");
    buffer_append_text(out, text_of(mode.origin));
    BUFFER_LITERAL(out, "\r\nAccess-Control-Expose-Headers: peer-id, jpeer-epoch\r\nVary: Origin\r\n");
  }
}

static bool is_empty_session(const struct rpc_session_info *session)
{
  return session == NULL || (!session->is_new && session->epoch[0] == '\0');
}

static void write_session(struct buffer *out, const struct rpc_session_info *session)
{
  if (is_empty_session(session))
    return;
  if (session->is_new) {
    char text[UUID_TEXT_LENGTH + 1];
    uuid_format(&session->peer_id, text);
    buffer_printf(out, "peer-id: %s\r\n", text);
  }
  if (session->epoch[0] != '\0') {
    BUFFER_LITERAL(out, "jpeer-epoch: ");
    buffer_append_text(out, text_of(session->epoch));
    BUFFER_LITERAL(out, "\r\n");
  }
}

void http_write_status(struct buffer *out, struct http_response_mode mode,
                       const struct http_status_response *response)
{
  write_status_line(out, mode, response->status);
  if (response->allow != NULL)
    buffer_printf(out, "Allow: %s\r\n", response->allow);
  if (response->asks_for_token) /* RFC 6750, 3 */
    BUFFER_LITERAL(out, "WWW-Authenticate: Bearer realm=\"jpeer\"\r\n");
  if (response->is_preflight)
    write_preflight(out, response);
  if (response->has_ws_version)
    BUFFER_LITERAL(out, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
  if (response->reason != NULL)
    buffer_printf(out, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n\r\n%s%s",
                  strlen(response->reason) + 1, mode.is_head ? "" : response->reason,
                  mode.is_head ? "" : "\n");
  else
    BUFFER_LITERAL(out, "\r\n");
}

void http_write_text(struct buffer *out, struct http_response_mode mode, const char *parameters,
                     struct text words)
{
  write_status_line(out, mode, 200);
  buffer_printf(out, "Content-Type: text/plain%s; charset=utf-8\r\nContent-Length: ", parameters);
  write_number(out, words.len);
  BUFFER_LITERAL(out, "\r\n\r\n");
  if (!mode.is_head)
    buffer_append_text(out, words);
}

void http_write_reply_head(struct buffer *out, struct http_response_mode mode, int status, size_t length,
                           const struct rpc_session_info *session)
{
  if (status == 200 && mode.keeps_alive && mode.origin == NULL && is_empty_session(session)) {
    BUFFER_LITERAL(out, HTTP_VERSION
                   "200 OK\r\n" HTTP_NO_STORE HTTP_JSON_OF_LENGTH); /* the begin of nearly all responses */
  } else {
    write_status_line(out, mode, status);
    write_session(out, session);
    if (status == 405)
      BUFFER_LITERAL(out, "Allow: POST\r\n");
    BUFFER_LITERAL(out, HTTP_JSON_OF_LENGTH);
  }
  write_number(out, length);
  BUFFER_LITERAL(out, "\r\n\r\n");
}

void http_write_stream_head(struct buffer *out, struct http_response_mode mode,
                            const struct rpc_session_info *session)
{
  write_status_line(out, mode, 200);
  write_session(out, session);
  if (mode.is_1_1)
    BUFFER_LITERAL(out, "Transfer-Encoding: chunked\r\n");
  BUFFER_LITERAL(out, "Content-Type: application/json\r\n\r\n");
}

void http_write_no_content(struct buffer *out, struct http_response_mode mode,
                           const struct rpc_session_info *session)
{
  write_status_line(out, mode, 204);
  write_session(out, session);
  BUFFER_LITERAL(out, "\r\n");
}

void http_write_upgrade(struct buffer *out, struct text key, bool names_protocol,
                        const struct rpc_session_info *session)
{
  static const char accept_guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
  char seed[128];
  size_t length = key.len < 64 ? key.len : 64;
  memcpy(seed, key.data, length);
  memcpy(seed + length, accept_guid, sizeof accept_guid - 1);
  uint8_t digest[SHA_DIGEST_LENGTH];
  SHA1((const unsigned char *)seed, length + sizeof accept_guid - 1, digest);
  BUFFER_LITERAL(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      "Sec-WebSocket-Accept: ");
  base64_encode(out, digest, sizeof digest);
  BUFFER_LITERAL(out, "\r\n");
  if (names_protocol)
    BUFFER_LITERAL(out, "Sec-WebSocket-Protocol: jpeer\r\n");
  write_session(out, session);
  BUFFER_LITERAL(out, "\r\n");
}
