/* Heads that came before: what is recognised, and that it means what reading it would. */
#include "net/http/http_heads.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { HEAD_MAX = 4096, MESSAGE_MAX = 5000 };

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"
#define UUID "peer-id: 00112233-4455-6677-8899-aabbccddeeff\r\n"

static const struct http_site SITE = {.is_loopback = true, .host = TEXT("peer.test"), .prefix = TEXT("/rpc")};

/* Reads the head that input is; false where it is refused. */
static bool read_head(struct text input, struct http_request *request, struct http_route_result *route)
{
  struct http_parser parser;
  size_t scanned = 0;
  size_t used = 0;
  http_parser_init(&parser);
  if (http_read_head(&parser, input, HEAD_MAX, &scanned, &used, request) != HTTP_DONE)
    return false;
  assert_int_equal(used, input.len);
  http_route(request, &SITE, MESSAGE_MAX, route);
  return true;
}

static void keep(struct http_heads *heads, const char *head)
{
  struct http_request request;
  struct http_route_result route;
  assert_true(read_head(text_of(head), &request, &route));
  http_heads_keep(heads, &SITE, text_of(head), &request, &route);
}

/* The length that the head at the start of input tells of; 0: it is not known. */
static size_t find(struct http_heads *heads, const char *input)
{
  size_t used;
  size_t length;
  struct http_request request;
  struct http_route_result route;
  const struct http_terms *terms =
      http_heads_find(heads, &SITE, text_of(input), HEAD_MAX, MESSAGE_MAX, &used, &length);
  if (terms == NULL)
    return 0;
  assert_true(read_head((struct text){input, used}, &request, &route));
  assert_int_equal(route.action, HTTP_SERVE);
  assert_false(request.is_chunked || route.continues);
  assert_int_equal(request.length, length);
  assert_int_equal(terms->mode.is_1_1, request.is_1_1);
  assert_int_equal(terms->mode.keeps_alive, request.keep_alive);
  assert_false(terms->mode.is_head);
  assert_ptr_equal(terms->mode.origin, route.origin);
  assert_int_equal(terms->refuses_json, route.refuses_json);
  assert_int_equal(terms->has_peer_id, route.has_peer_id);
  assert_true(!route.has_peer_id || uuid_equal(&terms->peer_id, &route.peer_id));
  return length;
}

static int set_up(void **state)
{
  *state = http_heads_create();
  return *state == NULL ? 1 : 0;
}

static int tear_down(void **state)
{
  http_heads_destroy(*state);
  return 0;
}

#define HEAD(length) "POST /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: " length "\r\nX: 1\r\n\r\n"

UNIT_TEST_OF(test_the_length_may_differ, struct http_heads *heads, set_up, tear_down)
{
  assert_int_equal(find(heads, HEAD("17")), 0);
  keep(heads, HEAD("17"));
  assert_int_equal(find(heads, HEAD("17")), 17);
  assert_int_equal(find(heads, HEAD("1") "a body"), 1);
  assert_int_equal(find(heads, HEAD("05000")), 5000);
}

UNIT_TEST_OF(test_nothing_else_may, struct http_heads *heads, set_up, tear_down)
{
  static const char *const others[] = {
      "",
      "P",
      "POST /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: ",
      "POST /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: 17",
      "POST /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: 17\r\nX: 1\r\n\r",
      "POST /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: 17\r\nX: 2\r\n\r\n",
      "POST /rpc HTTP/1.0\r\n" HOST JSON "Content-Length: 17\r\nX: 1\r\n\r\n",
      "post /rpc HTTP/1.1\r\n" HOST JSON "Content-Length: 17\r\nX: 1\r\n\r\n",
      HEAD("0"),
      HEAD("00"),
      HEAD("5001"),
      HEAD("1000000000"),
      HEAD("18446744073709551617"),
      HEAD("1 7"),
      HEAD("1,7"),
      HEAD("-1"),
      HEAD("+1"),
      HEAD(""),
      HEAD("0x1"),
  };
  keep(heads, HEAD("17"));
  for (size_t i = 0; i < COUNT_OF(others); i++)
    assert_int_equal(find(heads, others[i]), 0);
}

UNIT_TEST_OF(test_limits_hold, struct http_heads *heads, set_up, tear_down)
{
  static const char head[] = HEAD("17");
  size_t used;
  size_t length;
  keep(heads, head);
  assert_null(http_heads_find(heads, &SITE, text_of(head), sizeof head - 2, MESSAGE_MAX, &used, &length));
  assert_null(http_heads_find(heads, &SITE, text_of(head), sizeof head - 1, 16, &used, &length));
  assert_non_null(http_heads_find(heads, &SITE, text_of(head), sizeof head - 1, 17, &used, &length));
  assert_int_equal(used, sizeof head - 1);
}

/* What a Unix socket serves may be DNS rebinding at a port. */
UNIT_TEST_WITH(test_a_head_is_known_to_its_site_alone, set_up, tear_down)
{
  static const struct http_site unix_site = {.prefix = TEXT("/rpc")};
  static const char head[] = "POST / HTTP/1.1\r\nHost: evil.test\r\n" JSON "Content-Length: 3\r\n\r\n";
  struct http_heads *heads = *state;
  struct http_parser parser;
  struct http_request request;
  struct http_route_result route;
  size_t scanned = 0;
  size_t used;
  size_t length;
  http_parser_init(&parser);
  assert_int_equal(http_read_head(&parser, text_of(head), HEAD_MAX, &scanned, &used, &request), HTTP_DONE);
  http_route(&request, &SITE, MESSAGE_MAX, &route);
  assert_int_equal(route.action, HTTP_RESPOND);
  http_route(&request, &unix_site, MESSAGE_MAX, &route);
  assert_int_equal(route.action, HTTP_SERVE);
  http_heads_keep(heads, &unix_site, text_of(head), &request, &route);
  assert_non_null(http_heads_find(heads, &unix_site, text_of(head), HEAD_MAX, MESSAGE_MAX, &used, &length));
  assert_null(http_heads_find(heads, &SITE, text_of(head), HEAD_MAX, MESSAGE_MAX, &used, &length));
}

UNIT_TEST_OF(test_what_a_head_says_is_kept, struct http_heads *heads, set_up, tear_down)
{
  static const char *const kinds[] = {
      "POST / HTTP/1.0\r\n" JSON "Content-Length:3 \r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST "Connection: close\r\n" JSON "Content-Length: 3\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST "Accept: text/html\r\n" JSON "Content-Length: 3\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST UUID JSON "Content-Length: 3\r\n\r\n",
  };
  for (size_t i = 0; i < COUNT_OF(kinds); i++)
    keep(heads, kinds[i]);
  for (size_t i = 0; i < COUNT_OF(kinds); i++)
    assert_int_equal(find(heads, kinds[i]), 3);
}

UNIT_TEST_OF(test_only_plain_posts_are_kept, struct http_heads *heads, set_up, tear_down)
{
  static const char *const kinds[] = {
      "GET /help HTTP/1.1\r\n" HOST "\r\n",
      "POST / HTTP/1.1\r\n" HOST JSON "Content-Length: 0\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST JSON "Transfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST JSON "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST JSON "Content-Length: 5001\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: evil.test\r\n" JSON "Content-Length: 3\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST "peer-id: me\r\n" JSON "Content-Length: 3\r\n\r\n",
      "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n",
  };
  for (size_t i = 0; i < COUNT_OF(kinds); i++) {
    keep(heads, kinds[i]);
    assert_int_equal(find(heads, kinds[i]), 0);
  }
}

UNIT_TEST_OF(test_a_long_head_is_not_kept, struct http_heads *heads, set_up, tear_down)
{
  char head[2048];
  snprintf(head, sizeof head, "POST / HTTP/1.1\r\n" HOST JSON "X: %01000d\r\nContent-Length: 3\r\n\r\n", 0);
  keep(heads, head);
  assert_int_equal(find(heads, head), 0);
}

UNIT_TEST_OF(test_the_newest_stay, struct http_heads *heads, set_up, tear_down)
{
  char head[256];
  for (int i = 0; i < 100; i++) {
    snprintf(head, sizeof head, "POST / HTTP/1.1\r\n" HOST JSON "X: %d\r\nContent-Length: 3\r\n\r\n", i);
    keep(heads, head);
    assert_int_equal(find(heads, head), 3);
  }
  snprintf(head, sizeof head, "POST / HTTP/1.1\r\n" HOST JSON "X: %d\r\nContent-Length: 3\r\n\r\n", 98);
  assert_int_equal(find(heads, head), 3);
}

UNIT_MAIN
