#include "client/url.h"

#include "client/transports.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static void check(const char *url, const char *host, const char *port, const char *path)
{
  struct client_url parts;
  const struct transport_kind *kind = NULL;
  struct jp_client_error error;
  if (client_url_parse(url, &parts, &kind, &error) != JP_CLIENT_OK)
    fail_msg("%s: %s", url, error.text);
  assert_ptr_equal(kind, &transport_websocket);
  if (host == NULL) {
    assert_null(parts.host.data);
  } else {
    assert_true(text_equal(parts.host, text_of(host)));
    assert_true(text_equal(parts.port, text_of(port)));
  }
  assert_true(text_equal(parts.path, text_of(path)));
}

static void test_parts(void **state)
{
  (void)state;
  check("ws://127.0.0.1:4711", "127.0.0.1", "4711", "/rpc");
  check("ws://localhost:1/", "localhost", "1", "/");
  check("ws://a.example:65535/a/b?c", "a.example", "65535", "/a/b?c");
  check("ws://[::1]:80/rpc", "::1", "80", "/rpc");
  check("ws+unix:/run/a b", NULL, NULL, "/run/a b");
  check("ws+unix:peer.sock", NULL, NULL, "peer.sock");
}

static void test_refused(void **state)
{
  (void)state;
  static const struct {
    const char *url;
    enum jp_client_status status;
  } cases[] = {
      {"", JP_CLIENT_UNSUPPORTED},
      {"ws", JP_CLIENT_INVALID},
      {"ws:", JP_CLIENT_INVALID},
      {"ws://", JP_CLIENT_INVALID},
      {"ws:///rpc", JP_CLIENT_INVALID},
      {"ws://host", JP_CLIENT_INVALID},
      {"ws://host/rpc", JP_CLIENT_INVALID},
      {"ws://host:/rpc", JP_CLIENT_INVALID},
      {"ws://host:0/rpc", JP_CLIENT_INVALID},
      {"ws://host:65536/rpc", JP_CLIENT_INVALID},
      {"ws://host:123456/rpc", JP_CLIENT_INVALID},
      {"ws://host:8o/rpc", JP_CLIENT_INVALID},
      {"ws://:80/rpc", JP_CLIENT_INVALID},
      {"ws://::1:80/rpc", JP_CLIENT_INVALID},
      {"ws://[::1:80/rpc", JP_CLIENT_INVALID},
      {"ws://[::1]/rpc", JP_CLIENT_INVALID},
      {"ws://[::1]80/rpc", JP_CLIENT_INVALID},
      {"ws://[]:80/rpc", JP_CLIENT_INVALID},
      {"ws://host:80/a b", JP_CLIENT_INVALID},
      {"ws://host:80/a\r\nx: y", JP_CLIENT_INVALID},
      {"ws+unix:", JP_CLIENT_INVALID},
      {"wss://host:80/rpc", JP_CLIENT_UNSUPPORTED},
      {"WS://host:80/rpc", JP_CLIENT_UNSUPPORTED},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct client_url parts;
    const struct transport_kind *kind;
    struct jp_client_error error = {0};
    char *url = unit_exact_copy(cases[i].url, strlen(cases[i].url) + 1);
    enum jp_client_status status = client_url_parse(url, &parts, &kind, &error);
    if (status != cases[i].status)
      fail_msg("\"%s\": %d", cases[i].url, status);
    assert_int_equal(error.status, status);
    assert_true(error.text[0] != '\0');
    test_free(url);
  }
}

static void test_long_socket_path(void **state)
{
  (void)state;
  char url[8 + 108 + 1] = "ws+unix:";
  struct client_url parts;
  const struct transport_kind *kind;
  memset(url + 8, 'a', 108);
  assert_int_equal(client_url_parse(url, &parts, &kind, NULL), JP_CLIENT_INVALID);
  url[8 + 107] = '\0';
  assert_int_equal(client_url_parse(url, &parts, &kind, NULL), JP_CLIENT_OK);
  assert_int_equal(parts.path.len, 107);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_long_socket_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
