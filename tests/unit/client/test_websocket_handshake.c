#include "client/upgrade.h"
#include "client/websocket_handshake.h"

#include "tests/unit/unit.h"

/* The key and the accept value of RFC 6455, 1.3. */
#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define HEAD   "HTTP/1.1 101 Switching Protocols\r\n"
#define FIELDS "Upgrade: websocket\r\nConnection: Upgrade\r\n"

static enum jp_client_status read_response(const char *response, size_t *length,
                                           struct jp_client_error *error)
{
  size_t count = strlen(response);
  char *came = unit_exact_copy(response, count);
  struct text epoch = TEXT_ABSENT;
  enum jp_client_status status =
      websocket_read_response((struct text){came, count}, KEY, length, &epoch, error);
  test_free(came);
  return status;
}

UNIT_TEST(test_refused)
{
  static const struct {
    const char *response;
    enum jp_client_status status;
    const char *words;
  } cases[] = {
      {"HTTP/1.1 403 Forbidden\r\n\r\nthis origin\nmay not", JP_CLIENT_REFUSED, "403 Forbidden: this origin"},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", JP_CLIENT_REFUSED, "404 Not Found"},
      {"SSH-2.0-OpenSSH\r\n", JP_CLIENT_PROTOCOL, "no HTTP/1.1 server"},
      {"HTTP/1.0 101 Switching\r\n\r\n", JP_CLIENT_PROTOCOL, "no HTTP/1.1 server"},
      {"HTTP/1.1 1O1 X\r\n" FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_REFUSED, "1O1 X"},
      {"HTTP/1.1 1011 X\r\n" FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_REFUSED, "1011 X"},
      {HEAD "\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD FIELDS "\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD FIELDS "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO=\r\n\r\n", JP_CLIENT_PROTOCOL,
       "none of"},
      {HEAD "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n", JP_CLIENT_PROTOCOL, "none of a WebSocket"},
      {HEAD FIELDS "Sec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
       JP_CLIENT_PROTOCOL, "none of a WebSocket"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jp_client_error error;
    size_t length;
    enum jp_client_status status = read_response(cases[i].response, &length, &error);
    if (status != cases[i].status || strstr(error.text, cases[i].words) == NULL)
      fail_msg("%s: %d %s", cases[i].response, status, error.text);
    assert_null(strpbrk(error.text, "\r\n"));
  }
}

UNIT_TEST(test_endless_head)
{
  static char response[UPGRADE_RESPONSE_MAX + 100];
  size_t length;
  memset(response, 'a', sizeof response);
  memcpy(response, HEAD, sizeof HEAD - 1);
  struct text epoch;
  assert_int_equal(
      websocket_read_response((struct text){response, sizeof response}, KEY, &length, &epoch, NULL),
      JP_CLIENT_PROTOCOL);
}

UNIT_MAIN
