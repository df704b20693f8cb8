#include "net/http/http_route.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum {
  MESSAGE_MAX = 1000,
  SERVE = -1,
  UPGRADE = -2,
  CALL = -3,
  DOCUMENT = -4,
  HELP = -5,
  HEALTH = -6,
  METRICS = -7
};

struct sample {
  const char *line;   /* "POST /rpc" */
  const char *fields; /* in addition to "Host: localhost:80", unless has_host is set */
  int expected;       /* SERVE and the like, or a status */
};

#define JSON       "Content-Type: application/json\r\n"
#define JSON_ONE   JSON "Content-Length: 1\r\n"
#define TYPE(type) "Content-Type: " type "\r\nContent-Length: 1\r\n"
#define WS_KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define WS         "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define WS_ALL     WS WS_KEY "Sec-WebSocket-Version: 13\r\n"
#define ID         "11111111-2222-3333-4444-555555555555"

static const struct sample METHODS[] = {
    {"POST /", JSON_ONE, SERVE},
    {"POST /rpc", JSON_ONE, SERVE},
    {"POST /rpc?a=b", JSON_ONE, SERVE},
    {"POST http://localhost:80/rpc", JSON_ONE, SERVE},
    {"POST http://localhost:80", JSON_ONE, SERVE},
    {"POST /", JSON "Transfer-Encoding: chunked\r\n", SERVE},
    {"POST /", JSON "Content-Length: 0\r\n", SERVE},
    {"POST /", JSON "Content-Length: 1000\r\n", SERVE},
    {"POST /", JSON_ONE "peer-id: " ID "\r\n", SERVE},
    {"POST /", JSON_ONE "Expect: 100-continue\r\n", SERVE},
    {"POST /", JSON_ONE "Content-Encoding: identity\r\n", SERVE},

    {"POST /", TYPE("Application/JSON ; charset=\"UTF-8\""), SERVE},
    {"POST /", TYPE("application/json-rpc"), SERVE},
    {"POST /", TYPE("application/jsonrequest"), SERVE},
    {"POST /", TYPE("Application/JSON-RPC;charset=utf-8"), SERVE},
    {"POST /", TYPE("application/jsonrequest; Charset=Utf-8"), SERVE},
    {"POST /", TYPE("application/json; profile=\"charset=latin1\""), SERVE},
    {"POST /", TYPE("application/json; profile=\"a;charset=latin1\""), SERVE},
    {"POST /", TYPE("application/json; profile=\"a\\\";charset=latin1\"; charset=utf-8"), SERVE},
    {"POST /", TYPE("application/json;"), SERVE},
    {"POST /", TYPE("application/jsonx"), 415},
    {"POST /", TYPE("application/json-rpcx"), 415},
    {"POST /", TYPE("application/json rpc"), 415},
    {"POST /", TYPE("application/jsonrpc"), 415},
    {"POST /", TYPE("application/json, text/plain"), 415},
    {"POST /", TYPE("application/json; charset=latin1"), 415},
    {"POST /", TYPE("application/json; profile=\"a;b\"; charset=latin1"), 415},
    {"POST /", TYPE("application/json; charset=utf-8x"), 415},
    {"POST /", TYPE("application/json; charset=\"utf-8x\""), 415},
    {"POST /", TYPE("application/json; charset="), 415},
    {"POST /", TYPE("application/json-rpc; q=1; charset=utf-16"), 415},
    {"POST /", TYPE("application/x-www-form-urlencoded"), 415},
    {"POST /", TYPE("text/json"), 415},

    {"POST /rpc/", JSON_ONE, 404},
    {"POST /RPC", JSON_ONE, 404},
    {"POST /%72pc", JSON_ONE, 404},
    {"POST //", JSON_ONE, 404},
    {"POST /rpc#a", JSON_ONE, 400},
    {"POST *", JSON_ONE, 400},
    {"POST rpc", JSON_ONE, 400},
    {"POST https://localhost/rpc", JSON_ONE, 400},
    {"POST /", JSON, 411},
    {"POST /", JSON "Content-Length: 64001\r\n", 413},
    {"POST /", JSON "Content-Length: 1001\r\nExpect: 100-continue\r\n", 413},
    {"POST /", "Content-Length: 1\r\n", 415},
    {"POST /", "Content-Type: text/plain\r\nContent-Length: 1\r\n", 415},
    {"POST /", JSON_ONE "Content-Encoding: gzip\r\n", 415},
    {"POST /", JSON_ONE "Expect: tea\r\n", 417},
    {"POST /", JSON_ONE "peer-id: nobody\r\n", 400},
    {"POST /", JSON_ONE "peer-id:\r\n", 400},
    {"PUT /", JSON_ONE, 405},
    {"DELETE /", "", 405},
    {"HEAD /", "", 405},
    {"GET /", "", 405},
    {"TRACE /", "", 405},
    {"CONNECT localhost:80", "", 400},
    {"OPTIONS /", "", 204},
    {"OPTIONS *", "", 204},
    {"OPTIONS /other/path", "", 404},
};

/* The Allow header of each path, in responses to OPTIONS and to a method that the path does not have. */
static const struct {
  const char *path;
  const char *allow; /* NULL: the path does not exist */
} PATHS[] = {
    {"/", "POST, OPTIONS"},
    {"/rpc", "POST, OPTIONS"},
    {"/rpc?a=b", "POST, OPTIONS"},
    {"/openrpc.json", "GET, HEAD, OPTIONS"},
    {"/help?x", "GET, HEAD, OPTIONS"},
    {"/rpc/get", "GET, HEAD, OPTIONS"},
    {"/rpc/java.lang.Math.max?1=2", "GET, HEAD, OPTIONS"},
    {"/get", "GET, HEAD, OPTIONS"},
    {"/rpc/", NULL},
    {"/rpc/get/", NULL},
    {"/rpc/a/b", NULL},
    {"/a/b", NULL},
    {"//", NULL},
    {"/metrics", "GET, HEAD, OPTIONS"},
    {"/healthz?x", "GET, HEAD, OPTIONS"},
    {"/rpc/metrics/", NULL},
    {"/favicon.ico", NULL},
};

/* Calls by GET (JSON-RPC 1.1, 6.3). */
static const struct sample CALLS[] = {
    {"GET /rpc/meta", "", CALL},
    {"GET /rpc/meta?method=x&method=y", "", CALL},
    {"GET /meta?method=x", "", CALL},
    {"GET /rpc/system.describe", "Accept: text/html, application/xml;q=0.9, */*;q=0.8\r\n", CALL},
    {"GET /rpc/meta", "Accept: application/json\r\n", CALL},
    {"GET /rpc/meta", "Accept: Application/*;q=0.1\r\n", CALL},
    {"GET /rpc/meta", "Accept: */*;q=0, application/json\r\n", CALL},
    {"GET /rpc/meta", "Accept:\r\n", CALL},
    {"GET /rpc/meta", "Accept: text/html\r\nAccept: application/json\r\n", CALL},
    {"GET /rpc/meta", "Sec-Fetch-Site: none\r\n", CALL},
    {"GET /rpc/meta", "Sec-Fetch-Site: same-origin\r\n", CALL},
    {"GET /rpc/healthz", "", CALL},

    {"GET /rpc/", "", 400},
    {"GET //", "", 400},
    {"GET /rpc/meta/", "", 400},
    {"GET /meta/?a=b", "", 400},
    {"GET /rpc/meta#x", "", 400},
    {"GET /rpc/meta?a#x", "", 400},
    {"GET /rpc/meta", "Content-Length: 1\r\n", 400},
    {"GET /rpc/meta", "Sec-Fetch-Site: cross-site\r\n", 403},
    {"GET /rpc/meta", "Sec-Fetch-Site: same-site\r\n", 403},
    {"GET /rpc/meta", "Origin: http://evil.test\r\n", 403},
    {"GET /rpc/a/b", "", 404},
    {"GET /a/b", "", 404},
    {"GET /openrpc.json", "", DOCUMENT},
    {"GET /help", "Accept: text/html\r\n", HELP},
    {"HEAD /help?x", "", HELP},
    {"GET /help", "Content-Length: 1\r\n", 400},
    {"POST /help", JSON_ONE, 405},
    {"GET /help", WS_ALL, 404},
    {"HEAD /openrpc.json?x", "", DOCUMENT},
    {"GET /openrpc.json", "Accept: text/html\r\n", 406},
    {"GET /openrpc.json", "Sec-Fetch-Site: cross-site\r\n", 403},
    {"GET /openrpc.json", "Content-Length: 1\r\n", 400},
    {"GET /openrpc.json", WS_ALL, 404},
    {"POST /openrpc.json", JSON_ONE, 405},
    {"GET /rpc/openrpc.json", "", CALL},
    {"GET /metrics", "", METRICS},
    {"HEAD /metrics?x", "Accept: text/plain;version=0.0.4\r\n", METRICS},
    {"GET /metrics", "Sec-Fetch-Site: cross-site\r\n", 403},
    {"GET /metrics", "Content-Length: 1\r\n", 400},
    {"POST /metrics", JSON_ONE, 405},
    {"GET /metrics/", "", 400},
    {"GET /healthz", "", HEALTH},
    {"HEAD /healthz", "", HEALTH},
    {"GET /healthz", "Content-Length: 1\r\n", 400},
    {"POST /healthz", JSON_ONE, 405},
    {"GET /healthz", "Origin: http://evil.test\r\n", 403},
    {"GET /rpc/meta", WS_ALL, 404},
    {"HEAD /rpc/meta?method=x", "", CALL},
    {"HEAD /meta", "", CALL},
    {"HEAD /rpc/meta", "Accept: text/html\r\n", 406},
    {"HEAD /rpc/meta", "Sec-Fetch-Site: cross-site\r\n", 403},
    {"HEAD /rpc/", "", 400},
    {"HEAD /rpc/a/b", "", 404},
    {"POST /rpc/meta", JSON_ONE, 405},
    {"POST /meta", JSON_ONE, 404},
    {"POST /rpcs", JSON_ONE, 404},
    {"GET /rpc/meta", "Accept: text/html\r\n", 406},
    {"GET /rpc/meta", "Accept: application/jsonx, text/*\r\n", 406},
    {"GET /rpc/meta", "Accept: application/json;q=0.000\r\n", 406},
    {"GET /rpc/meta", "Accept: */*, application/json; q=0\r\n", 406},
    {"GET /rpc/meta", "Accept: text/html; profile=\", application/json ,\"\r\n", 406},
};

static const struct sample HANDSHAKES[] = {
    {"GET /", WS_ALL, UPGRADE},
    {"GET /rpc?x", WS_ALL, UPGRADE},
    {"GET /",
     "Upgrade: h2c, WebSocket\r\nConnection: keep-alive, upgrade\r\n" WS_KEY "Sec-WebSocket-Version: 13\r\n",
     UPGRADE},
    {"GET /", WS_ALL "peer-id: " ID "\r\n", UPGRADE},
    {"GET /", WS_ALL "Sec-WebSocket-Protocol: x, jpeer\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
     UPGRADE},
    {"GET /", WS_ALL "Sec-WebSocket-Protocol: x\r\n", 400},
    {"GET /", WS_ALL "Sec-WebSocket-Protocol: jpeer.token.x\r\n", 400},
    {"GET /", WS_ALL "Sec-WebSocket-Protocol: jpeer.token.x, jpeer,jpeer.token.y\r\n", 400},

    {"GET /", WS_ALL "peer-id: 1111\r\n", 400},
    {"GET /other", WS_ALL, 404},
    {"POST /", WS_ALL, 415},
    {"PUT /", WS_ALL, 405},
    {"GET /", WS WS_KEY, 400},
    {"GET /", WS WS_KEY "Sec-WebSocket-Version: 8\r\n", 426},
    {"GET /", WS WS_KEY "Sec-WebSocket-Version: 13, 8\r\n", 426},
    {"GET /", WS "Sec-WebSocket-Version: 13\r\n", 400},
    {"GET /", WS "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n", 400},
    {"GET /", WS "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTEyMw\r\n", 400},
    {"GET /", WS "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: !GhlIHNhbXBsZSBub25jZQ==\r\n", 400},
    {"GET /", "Upgrade: websocket\r\n" WS_KEY "Sec-WebSocket-Version: 13\r\n", 400},
    {"GET /", "Connection: Upgrade\r\n" WS_KEY "Sec-WebSocket-Version: 13\r\n", 405},
    {"GET /", "Upgrade: h2c\r\nConnection: Upgrade\r\n", 405},
    {"GET /", WS_ALL "Content-Length: 1\r\n", 400},
};

static const struct sample SOURCES[] = {
    {"POST /", "Host: localhost\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: LOCALHOST:4711\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: a.localhost\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: 127.0.0.1:4711\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: 192.168.1.1\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: [::1]:4711\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: peer.test\r\n" JSON_ONE, SERVE},
    {"POST /", "Host:\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: localhost\r\nOrigin: http://localhost\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: localhost:4711\r\nOrigin: http://localhost:4711\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: localhost\r\nOrigin: http://localhost:80\r\n" JSON_ONE, SERVE},
    {"POST /", "Host: [::1]:1\r\nOrigin: http://[::1]:1\r\n" JSON_ONE, SERVE},
    {"GET /", "Host: localhost:1\r\nOrigin: http://localhost:1\r\n" WS_ALL, UPGRADE},

    {"POST /?peer-id=x", "Host: localhost\r\n" JSON_ONE, 400},
    {"GET /rpc?a=b&Peer_Id=x", "Host: localhost:1\r\n" WS_ALL, 400},
    {"GET /rpc?peer-identity=x", "Host: localhost:1\r\n" WS_ALL, UPGRADE},
    {"GET /?", "Host: localhost:1\r\n" WS_ALL, UPGRADE},
    {"POST /", "Host: evil.test\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost.evil.test\r\n" JSON_ONE, 403},
    {"POST /", "Host: notlocalhost\r\n" JSON_ONE, 403},
    {"POST /", "Host: 127.0.0.1.evil.test\r\n" JSON_ONE, 403},
    {"POST http://evil.test/", "Host: localhost\r\n" JSON_ONE, 403},
    {"POST /", "Host: a b\r\n" JSON_ONE, 400},
    {"POST /", "Host: a@b\r\n" JSON_ONE, 400},
    {"POST /", "Host: a/b\r\n" JSON_ONE, 400},
    {"POST /", "Host: a:x\r\n" JSON_ONE, 400},
    {"POST /", "Host: [::1\r\n" JSON_ONE, 400},
    {"POST /", "Host: localhost\r\nOrigin: null\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin:\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin: http://evil.test\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin: http://localhost.evil.test\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin: http://localhost@evil.test\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost:4711\r\nOrigin: http://localhost:3000\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost:4711\r\nOrigin: http://127.0.0.1:4711\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin: https://localhost\r\n" JSON_ONE, 403},
    {"POST /", "Host: localhost\r\nOrigin: file://\r\n" JSON_ONE, 403},
    {"POST /", "Host:\r\nOrigin: http://\r\n" JSON_ONE, 403},
    {"GET /", "Host: localhost\r\nOrigin: http://evil.test\r\n" WS_ALL, 403},
    {"OPTIONS /", "Host: localhost\r\nOrigin: http://evil.test\r\n", 403},
};

/* Returns the status of a malformed head; 0: *route has the result. */
static int read_route(const struct sample *sample, const char *host, const struct http_site *site,
                      struct http_route_result *route)
{
  char bytes[2048];
  int length = snprintf(bytes, sizeof bytes, "%s HTTP/1.1\r\n%s%s\r\n", sample->line, host, sample->fields);
  struct http_parser parser;
  struct http_request request;
  size_t scanned = 0;
  size_t used;
  http_parser_init(&parser);
  if (http_read_head(&parser, (struct text){bytes, (size_t)length}, sizeof bytes, &scanned, &used,
                     &request) != HTTP_DONE)
    return parser.status;
  http_route(&request, site, MESSAGE_MAX, route);
  return 0;
}

static int result_of(const struct http_route_result *route)
{
  static const int results[] = {
      [HTTP_DOCUMENT] = DOCUMENT, [HTTP_HELP] = HELP, [HTTP_HEALTH] = HEALTH,  [HTTP_METRICS] = METRICS,
      [HTTP_SERVE] = SERVE,       [HTTP_CALL] = CALL, [HTTP_UPGRADE] = UPGRADE};
  return route->action == HTTP_RESPOND ? route->response.status : results[route->action];
}

static int judge(const struct sample *sample, const char *host, bool is_loopback)
{
  struct http_site site = {.is_loopback = is_loopback, .host = TEXT("peer.test"), .prefix = TEXT("/rpc")};
  struct http_route_result route;
  int status = read_route(sample, host, &site, &route);
  if (status != 0)
    return status;
  bool has_allow = route.response.allow != NULL;
  assert_true(route.action != HTTP_RESPOND ||
              has_allow == (route.response.status == 405 || route.response.status == 204));
  assert_true(route.action != HTTP_RESPOND ||
              route.response.has_ws_version == (route.response.status == 426));
  assert_null(route.terms.mode.origin);
  return result_of(&route);
}

static void check(const struct sample *samples, size_t count, const char *host)
{
  for (size_t i = 0; i < count; i++) {
    int result = judge(&samples[i], host, true);
    if (result != samples[i].expected)
      fail_msg("%s with %s: %d, not %d", samples[i].line, samples[i].fields, result, samples[i].expected);
  }
}

UNIT_TEST(methods_and_paths)
{
  check(METHODS, COUNT_OF(METHODS), "Host: localhost:80\r\n");
}

UNIT_TEST(calls_by_get)
{
  check(CALLS, COUNT_OF(CALLS), "Host: localhost:80\r\n");
}

UNIT_TEST(a_site_with_tls_is_https)
{
  static const struct sample samples[] = {
      {"POST /", "Host: localhost\r\nOrigin: https://localhost\r\n" JSON_ONE, SERVE},
      {"POST /", "Host: localhost\r\nOrigin: https://localhost:443\r\n" JSON_ONE, SERVE},
      {"POST /", "Host: localhost:443\r\nOrigin: https://localhost\r\n" JSON_ONE, SERVE},
      {"POST /", "Host: localhost\r\nOrigin: http://localhost\r\n" JSON_ONE, 403},
      {"POST /", "Host: localhost:443\r\nOrigin: http://localhost:443\r\n" JSON_ONE, 403},
      {"POST /", "Host: localhost:80\r\nOrigin: https://localhost\r\n" JSON_ONE, 403},
      {"POST https://localhost/rpc", "Host: localhost\r\n" JSON_ONE, SERVE},
      {"POST http://localhost/rpc", "Host: localhost\r\n" JSON_ONE, 400},
  };
  static const struct http_site site = {.is_loopback = true, .has_tls = true, .prefix = TEXT("/rpc")};
  struct http_route_result route;
  for (size_t i = 0; i < COUNT_OF(samples); i++) {
    assert_int_equal(read_route(&samples[i], "", &site, &route), 0);
    if (result_of(&route) != samples[i].expected)
      fail_msg("%s with %s", samples[i].line, samples[i].fields);
  }
}

/* --metrics-listen: the other addresses have neither of the two paths, and it has nothing else. */
UNIT_TEST(monitoring_has_an_address_of_its_own)
{
  static const struct {
    const char *line;
    int alone, elsewhere;
  } samples[] = {
      {"GET /healthz", HEALTH, 404}, {"GET /metrics", METRICS, 404}, {"POST /metrics", 405, 404},
      {"GET /help", 404, HELP},      {"OPTIONS *", 404, 204},        {"GET /", 404, 405},
      {"GET /rpc/meta", 404, CALL},  {"POST /rpc", 404, SERVE},
  };
  struct http_site site = {.is_loopback = true, .prefix = TEXT("/rpc")};
  struct http_route_result route;
  for (size_t i = 0; i < COUNT_OF(samples); i++) {
    const char *fields = strncmp(samples[i].line, "POST", 4) == 0 ? JSON_ONE : "";
    const struct sample sample = {samples[i].line, fields, 0};
    site.monitoring = HTTP_MONITORING_ALONE;
    assert_int_equal(read_route(&sample, "Host: localhost\r\n", &site, &route), 0);
    assert_int_equal(result_of(&route), samples[i].alone);
    site.monitoring = HTTP_MONITORING_ELSEWHERE;
    assert_int_equal(read_route(&sample, "Host: localhost\r\n", &site, &route), 0);
    assert_int_equal(result_of(&route), samples[i].elsewhere);
  }
}

static void check_allow(const char *method, const char *path, const char *allow)
{
  static const struct http_site site = {.is_loopback = true, .prefix = TEXT("/rpc")};
  char line[128];
  struct http_route_result route;
  snprintf(line, sizeof line, "%s %s", method, path);
  int refused = strcmp(method, "OPTIONS") == 0 ? 204 : 405;
  assert_int_equal(read_route(&(struct sample){line, "", 0}, "Host: localhost\r\n", &site, &route), 0);
  assert_int_equal(route.action, HTTP_RESPOND);
  if (route.response.status != (allow == NULL ? 404 : refused))
    fail_msg("%s: %d", line, route.response.status);
  if (allow == NULL)
    assert_null(route.response.allow);
  else
    assert_string_equal(route.response.allow, allow);
}

UNIT_TEST(options_lists_the_methods_of_a_path)
{
  static const char *const methods[] = {"OPTIONS", "DELETE", "PUT", "PATCH", "TRACE"};
  for (size_t i = 0; i < COUNT_OF(PATHS); i++) {
    for (size_t j = 0; j < COUNT_OF(methods); j++)
      check_allow(methods[j], PATHS[i].path, PATHS[i].allow);
  }
  check_allow("OPTIONS", "*", "GET, HEAD, POST, OPTIONS");
}

UNIT_TEST(handshakes)
{
  check(HANDSHAKES, COUNT_OF(HANDSHAKES), "Host: localhost:80\r\n");
}

UNIT_TEST(hosts_and_origins)
{
  check(SOURCES, COUNT_OF(SOURCES), "");
}

UNIT_TEST(any_host_is_served_on_another_address)
{
  static const struct sample samples[] = {
      {"POST /", "Host: example.test\r\n" JSON_ONE, SERVE},
      {"POST /", "Host: example.test\r\nOrigin: http://evil.test\r\n" JSON_ONE, 403},
  };
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(judge(&samples[i], "", false), samples[i].expected);
}

#define APP       "Origin: https://app.test\r\n"
#define PREFLIGHT APP "Access-Control-Request-Method: POST\r\n"

/* https://app.test and http://localhost:3000 are allowed; the server listens on a loopback address. */
static const struct {
  struct sample sample;
  const char *origin; /* the origin that may read the response; NULL: none */
} PAGES[] = {
    {{"POST /", "Host: localhost\r\n" APP JSON_ONE, SERVE}, "https://app.test"},
    {{"POST /", "Host: localhost\r\nOrigin: HTTPS://App.Test:443\r\n" JSON_ONE, SERVE}, "https://app.test"},
    {{"POST /", "Host: 127.0.0.1:1\r\nOrigin: http://localhost:3000\r\n" JSON_ONE, SERVE},
     "http://localhost:3000"},
    {{"GET /", "Host: localhost\r\n" APP WS_ALL, UPGRADE}, "https://app.test"},
    {{"GET /rpc/get", "Host: localhost\r\n" APP "Sec-Fetch-Site: cross-site\r\n", CALL}, "https://app.test"},
    {{"GET /openrpc.json", "Host: localhost\r\n" APP "Sec-Fetch-Site: cross-site\r\n", DOCUMENT},
     "https://app.test"},
    {{"OPTIONS /rpc", "Host: localhost\r\n" PREFLIGHT, 204}, "https://app.test"},
    {{"POST /", "Host: localhost\r\n" APP "Content-Length: 1\r\n", 415}, "https://app.test"},
    {{"POST /none", "Host: localhost\r\n" APP JSON_ONE, 404}, "https://app.test"},
    {{"POST /", "Host: localhost\r\n" JSON_ONE, SERVE}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: http://localhost\r\n" JSON_ONE, SERVE}, NULL},

    {{"POST /", "Host: localhost\r\nOrigin: http://app.test\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: https://app.test:8443\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: https://app.test.evil.test\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: https://app.test https://evil.test\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: null\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: localhost\r\nOrigin: *\r\n" JSON_ONE, 403}, NULL},
    {{"POST /", "Host: evil.test\r\n" APP JSON_ONE, 403}, NULL},
    {{"POST /", "Host: app.test\r\n" APP JSON_ONE, 403}, NULL},
    {{"GET /", "Host: app.test\r\n" APP WS_ALL, 403}, NULL},
    {{"OPTIONS /", "Host: app.test\r\n" PREFLIGHT, 403}, NULL},
    {{"OPTIONS /", "Host: localhost\r\nOrigin: http://evil.test\r\nAccess-Control-Request-Method: POST\r\n",
      403},
     NULL},
    {{"GET /rpc/get", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403}, NULL},
};

static int set_up_origins(void **state)
{
  struct web_origins *origins = NULL;
  struct jp_error error;
  enum jp_status status =
      web_origins_create(TEXT("https://app.test,http://localhost:3000"), &origins, &error);
  *state = origins;
  return status == JP_OK ? 0 : 1;
}

static int tear_down_origins(void **state)
{
  web_origins_destroy(*state);
  return 0;
}

UNIT_TEST_WITH(allowed_origins, set_up_origins, tear_down_origins)
{
  struct http_site site = {.is_loopback = true, .prefix = TEXT("/rpc"), .origins = *state};
  for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
    const struct sample *sample = &PAGES[i].sample;
    struct http_route_result route;
    assert_int_equal(read_route(sample, "", &site, &route), 0);
    if (result_of(&route) != sample->expected)
      fail_msg("%s with %s: %d, not %d", sample->line, sample->fields, result_of(&route), sample->expected);
    assert_int_equal(route.terms.mode.origin == NULL, PAGES[i].origin == NULL);
    if (route.terms.mode.origin != NULL)
      assert_string_equal(route.terms.mode.origin, PAGES[i].origin);
  }
}

static void check_preflight(const struct http_site *site, const char *fields, const char *expected)
{
  struct http_route_result route;
  struct buffer out = {0};
  assert_int_equal(
      read_route(&(struct sample){"OPTIONS /rpc", fields, 0}, "Host: localhost\r\n", site, &route), 0);
  struct http_response_mode mode = {.is_1_1 = true, .keeps_alive = true, .origin = route.terms.mode.origin};
  http_write_status(&out, mode, &route.response);
  buffer_append_char(&out, '\0');
  assert_string_equal(out.data, expected);
  buffer_fini(&out);
}

#define NO_CONTENT "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n"
#define SEEN_BY_APP                                                                                          \
  "Access-Control-Allow-Origin: https://app.test\r\nAccess-Control-Expose-Headers: peer-id, "                \
  "jpeer-epoch\r\nVary: "                                                                                    \
  "Origin\r\n"
#define GRANTS                                                                                               \
  "Allow: POST, OPTIONS\r\nAccess-Control-Allow-Methods: POST, OPTIONS\r\n"                                  \
  "Access-Control-Allow-Headers: content-type, authorization, peer-id, jpeer-epoch, accept, user-agent, "    \
  "x-requested-with\r\n"                                                                                     \
  "Access-Control-Max-Age: 600\r\n"
#define PRIVATE "Access-Control-Request-Private-Network: true\r\n"

UNIT_TEST_WITH(preflights_are_answered, set_up_origins, tear_down_origins)
{
  struct http_site site = {.is_loopback = true, .prefix = TEXT("/rpc"), .origins = *state};
  check_preflight(&site, PREFLIGHT, NO_CONTENT SEEN_BY_APP GRANTS "\r\n");
  check_preflight(&site, PREFLIGHT PRIVATE,
                  NO_CONTENT SEEN_BY_APP GRANTS "Access-Control-Allow-Private-Network: true\r\n\r\n");
  check_preflight(&site, APP PRIVATE, NO_CONTENT SEEN_BY_APP "Allow: POST, OPTIONS\r\n\r\n");
  check_preflight(&site, "Access-Control-Request-Method: POST\r\n" PRIVATE,
                  NO_CONTENT "Allow: POST, OPTIONS\r\n\r\n");
}

UNIT_MAIN
