#include "client/transports/client_url.h"

#include "client/transports/transport.h"
#include "tests/unit/unit.h"

static void check_kind(const struct transport_kind *wanted, const char *url, const char *host,
                       const char *port, const char *path)
{
  struct client_url parts;
  const struct transport_kind *kind = NULL;
  struct jp_client_error error;
  if (client_url_parse(url, &parts, &kind, &error) != JP_CLIENT_OK)
    fail_msg("%s: %s", url, error.text);
  assert_ptr_equal(kind, wanted);
  if (host == NULL) {
    assert_null(parts.host.data);
  } else {
    assert_true(text_equal(parts.host, text_of(host)));
    assert_true(text_equal(parts.port, text_of(port)));
  }
  assert_true(text_equal(parts.path, text_of(path)));
  assert_int_equal(parts.is_secure, strncmp(url, "wss:", 4) == 0 || strncmp(url, "https:", 6) == 0);
}

static void check(const char *url, const char *host, const char *port, const char *path)
{
  check_kind(&transport_websocket, url, host, port, path);
}

UNIT_TEST(test_parts)
{
  check("ws://127.0.0.1:4711", "127.0.0.1", "4711", "/rpc");
  check("ws://localhost:1/", "localhost", "1", "/");
  check("ws://a.example:65535/a/b?c", "a.example", "65535", "/a/b?c");
  check("ws://[::1]:80/rpc", "::1", "80", "/rpc");
  check("ws+unix:/run/a b", NULL, NULL, "/run/a b");
  check("ws+unix:peer.sock", NULL, NULL, "peer.sock");
}

UNIT_TEST(test_schemes)
{
  check_kind(&transport_http, "http://127.0.0.1:4711", "127.0.0.1", "4711", "/rpc");
  check_kind(&transport_http, "http://[::1]:80/a", "::1", "80", "/a");
  check("wss://a.example", "a.example", "443", "/rpc");
  check("wss://a.example/b@c", "a.example", "443", "/b@c");
  check("wss://[::1]/", "::1", "443", "/");
  check("wss://[::1]:80", "::1", "80", "/rpc");
  check_kind(&transport_http, "https://127.0.0.1:4711/a", "127.0.0.1", "4711", "/a");
  check_kind(&transport_http, "http+unix:/run/peer", NULL, NULL, "/run/peer");
  check_kind(&transport_shm, "shm:/run/peer", NULL, NULL, "/run/peer");
#ifdef JPEER_CLIENT_ZEROMQ
  check_kind(&transport_zeromq, "tcp://127.0.0.1:4711", "127.0.0.1", "4711", "/rpc");
  check_kind(&transport_zeromq, "ipc:///run/peer", NULL, NULL, "/run/peer");
  check_kind(&transport_zeromq, "ipc://peer", NULL, NULL, "peer");
#else
  struct client_url parts;
  const struct transport_kind *kind;
  assert_int_equal(client_url_parse("tcp://a:1", &parts, &kind, NULL), JP_CLIENT_UNSUPPORTED);
  assert_int_equal(client_url_parse("ipc://a", &parts, &kind, NULL), JP_CLIENT_UNSUPPORTED);
#endif
}

UNIT_TEST(test_a_directory_names_a_peer_or_a_service)
{
  static const struct {
    const char *url, *endpoints, *target;
    bool is_service;
  } cases[] = {
      {"dir://127.0.0.1:2379/calc", "127.0.0.1:2379", "calc", false},
      {"dir://a:1,[::1]:2,c.example:3/my peer@home%20", "a:1,[::1]:2,c.example:3", "my peer@home%20", false},
      {"dir://a:1/1b4e28ba-2fa1-11d2-883f-0016d3cca427", "a:1", "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
       false},
      {"dir://a:1/service", "a:1", "service", false},
      {"dir://a:1/service/math", "a:1", "math", true},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct client_url parts;
    const struct transport_kind *kind;
    assert_int_equal(client_url_parse(cases[i].url, &parts, &kind, NULL), JP_CLIENT_OK);
    assert_ptr_equal(kind, &transport_websocket);
    assert_true(text_equal(parts.endpoints, text_of(cases[i].endpoints)));
    assert_true(text_equal(parts.target, text_of(cases[i].target)));
    assert_int_equal(parts.is_service, cases[i].is_service);
    assert_null(parts.host.data);
  }
}

/* The path and the field Host of an HTTP request. */
UNIT_TEST(test_request)
{
  static const struct {
    const char *url, *path, *host;
  } cases[] = {
      {"http://a.example:80/b?c", "/b?c", "a.example:80"},
      {"ws://[::1]:81", "/rpc", "[::1]:81"},
      {"http+unix:/run/peer", "/rpc", "localhost"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct client_url parts;
    const struct transport_kind *kind;
    struct buffer host = {0};
    assert_int_equal(client_url_parse(cases[i].url, &parts, &kind, NULL), JP_CLIENT_OK);
    client_url_write_host(&parts, &host);
    assert_true(text_equal(buffer_text(&host), text_of(cases[i].host)));
    assert_true(text_equal(client_url_request_path(&parts), text_of(cases[i].path)));
    buffer_fini(&host);
  }
}

UNIT_TEST(test_refused)
{
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
      {"ws://host:80/rpc?peer-id=x", JP_CLIENT_INVALID},
      {"http://host:80/rpc?a=b&peer_id=x", JP_CLIENT_INVALID},
      {"ws+unix:/run/peer?peer-id=x", JP_CLIENT_INVALID},
      {"http://host/rpc", JP_CLIENT_INVALID},
      {"http+unix:", JP_CLIENT_INVALID},
#ifdef JPEER_CLIENT_ZEROMQ
      {"tcp:host:80", JP_CLIENT_INVALID},
      {"tcp://host:80/", JP_CLIENT_INVALID},

      {"ipc:/run/peer", JP_CLIENT_INVALID},
      {"ipc://", JP_CLIENT_INVALID},
#endif
      {"wss://", JP_CLIENT_INVALID},
      {"wss://:443", JP_CLIENT_INVALID},
      {"wss://host:", JP_CLIENT_INVALID},
      {"wss://::1", JP_CLIENT_INVALID},
      {"https://[::1]80", JP_CLIENT_INVALID},
      {"dir:a:1/calc", JP_CLIENT_INVALID},
      {"dir://", JP_CLIENT_INVALID},
      {"dir://a:1", JP_CLIENT_INVALID},
      {"dir://a:1/", JP_CLIENT_INVALID},
      {"dir://a/calc", JP_CLIENT_INVALID},
      {"dir:///calc", JP_CLIENT_INVALID},
      {"dir://a:1,/calc", JP_CLIENT_INVALID},
      {"dir://a:1,,b:2/calc", JP_CLIENT_INVALID},
      {"dir://a:1 /calc", JP_CLIENT_INVALID},
      {"dir://a:1/calc/x", JP_CLIENT_INVALID},
      {"dir://a:1/service/", JP_CLIENT_INVALID},
      {"dir://a:1/service/math/x", JP_CLIENT_INVALID},
      {"wss+unix:/run/peer", JP_CLIENT_UNSUPPORTED},
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

/* No error shows them. */
UNIT_TEST(test_secrets)
{
  static const char *const urls[] = {
      "ws://SECRET@host:80/rpc",
      "wss://user:SECRET@host/rpc",
      "tcp://user:SECRET@host:80",
      "dir://user:SECRET@host:80/calc",
      "wss://host/rpc?token=SECRET",
      "https://host:80/?a=b&Access_Token=SECRET",
      "http://host:80/rpc#jwt-token=SECRET",
      "nothing://user:SECRET@host",
      "ws://host:80/jp_SECRET0123456789012345678901234567890-_abcde",
      "ws+unix:/run/jp_SECRET0123456789012345678901234567890-_abcde",
  };
  for (size_t i = 0; i < COUNT_OF(urls); i++) {
    struct client_url parts;
    const struct transport_kind *kind;
    struct jp_client_error error;
    assert_int_equal(client_url_parse(urls[i], &parts, &kind, &error), JP_CLIENT_INVALID);
    if (strstr(error.text, "SECRET") != NULL)
      fail_msg("%s", error.text);
  }
}

UNIT_TEST(test_long_socket_path)
{
  char url[8 + 108 + 1] = "ws+unix:";
  struct client_url parts;
  const struct transport_kind *kind;
  memset(url + 8, 'a', 108);
  assert_int_equal(client_url_parse(url, &parts, &kind, NULL), JP_CLIENT_INVALID);
  url[8 + 107] = '\0';
  assert_int_equal(client_url_parse(url, &parts, &kind, NULL), JP_CLIENT_OK);
  assert_int_equal(parts.path.len, 107);
}

UNIT_MAIN
