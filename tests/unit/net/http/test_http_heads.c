/* The cache of heads: which heads are found. */
#include "net/http/http_heads.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { HEAD_MAX = 4096, MESSAGE_MAX = 5000 };

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

static const struct http_site SITE = {.is_loopback = true, .host = TEXT("peer.test"), .prefix = TEXT("/rpc")};

static void keep_of(struct http_heads *heads, const struct http_site *site, const char *head)
{
  struct http_parser parser;
  struct http_request request;
  struct http_route_result route;
  size_t scanned = 0;
  size_t used = 0;
  http_parser_init(&parser);
  assert_int_equal(http_read_head(&parser, text_of(head), HEAD_MAX, &scanned, &used, &request), HTTP_DONE);
  http_route(&request, site, MESSAGE_MAX, &route);
  http_heads_keep(heads, site, text_of(head), &request, &route);
}

static void keep(struct http_heads *heads, const char *head)
{
  keep_of(heads, &SITE, head);
}

/* The length of the message of the known head at the begin of input; 0: the head is not known. */
static size_t find_of(struct http_heads *heads, const struct http_site *site, const char *input)
{
  size_t used;
  size_t length;
  return http_heads_find(heads, site, text_of(input), HEAD_MAX, MESSAGE_MAX, &used, &length) == NULL ? 0
                                                                                                     : length;
}

static size_t find(struct http_heads *heads, const char *input)
{
  return find_of(heads, &SITE, input);
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

/* A guess that shares its beginning with another client's token must not be answered faster. */
UNIT_TEST(a_head_with_a_token_is_never_kept)
{
  struct http_heads *heads = http_heads_create();
  const char *head =
      "POST /rpc HTTP/1.1\r\n" HOST JSON "Authorization: Bearer x\r\nContent-Length: 5\r\n\r\n";
  keep(heads, head);
  assert_int_equal(find_of(heads, &SITE, head), 0);
  http_heads_destroy(heads);
}

UNIT_TEST_OF(test_the_length_may_differ, struct http_heads *heads, set_up, tear_down)
{
  assert_int_equal(find(heads, HEAD("17")), 0);
  keep(heads, HEAD("17"));
  assert_int_equal(find(heads, HEAD("17")), 17);
  assert_int_equal(find(heads, HEAD("1") "a body"), 1);
  assert_int_equal(find(heads, HEAD("05000")), 5000);
}

/* Other differences are covered by http_fuzz, which compares each found head with the parsed one. */
UNIT_TEST_OF(test_malformed_lengths_are_left_to_the_parser, struct http_heads *heads, set_up, tear_down)
{
  static const char *const others[] = {HEAD("0"), HEAD("00"), HEAD("5001"), HEAD("1000000000"), HEAD("")};
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

/* A Unix socket serves every Host, but at a TCP port the same Host may come from DNS rebinding. */
UNIT_TEST_OF(test_a_head_is_known_for_one_site_only, struct http_heads *heads, set_up, tear_down)
{
  static const struct http_site unix_site = {.prefix = TEXT("/rpc")};
  static const char head[] = "POST / HTTP/1.1\r\nHost: evil.test\r\n" JSON "Content-Length: 3\r\n\r\n";
  keep_of(heads, &SITE, head);
  assert_int_equal(find_of(heads, &SITE, head), 0);
  keep_of(heads, &unix_site, head);
  assert_int_equal(find_of(heads, &unix_site, head), 3);
  assert_int_equal(find_of(heads, &SITE, head), 0);
}

UNIT_TEST_OF(test_a_long_head_is_not_kept, struct http_heads *heads, set_up, tear_down)
{
  char head[2048];
  snprintf(head, sizeof head, "POST / HTTP/1.1\r\n" HOST JSON "X: %01000d\r\nContent-Length: 3\r\n\r\n", 0);
  keep(heads, head);
  assert_int_equal(find(heads, head), 0);
}

UNIT_TEST_OF(test_the_newest_heads_are_kept, struct http_heads *heads, set_up, tear_down)
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
