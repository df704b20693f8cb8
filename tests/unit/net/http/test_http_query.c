/* Requests of JSON-RPC 1.1 from the targets of GET. */
#include "net/http/http_query.h"

#include "tests/unit/unit.h"

static const struct good_case {
  const char *procedure;
  const char *query; /* NULL: none */
  const char *message;
} good[] = {
    {"sum", "a=17&b=25", "{\"version\":\"1.1\",\"method\":\"sum\",\"params\":{\"a\":\"17\",\"b\":\"25\"}}"},
    {"sum", NULL, "{\"version\":\"1.1\",\"method\":\"sum\"}"},
    {"sum", "", "{\"version\":\"1.1\",\"method\":\"sum\"}"},
    {"sum", "&&", "{\"version\":\"1.1\",\"method\":\"sum\"}"},
    {"weather", "city=london&scale=farenheit&city=zurich&city=new+york",
     "{\"version\":\"1.1\",\"method\":\"weather\",\"params\":{\"city\":[\"london\",\"zurich\",\"new york\"],"
     "\"scale\":\"farenheit\"}}"},
    {"s%75m", "%61=1&a=2", "{\"version\":\"1.1\",\"method\":\"sum\",\"params\":{\"a\":[\"1\",\"2\"]}}"},
    {"a+b", "x+y=+", "{\"version\":\"1.1\",\"method\":\"a+b\",\"params\":{\"x y\":\" \"}}"},
    {"m", "a", "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"a\":\"\"}}"},
    {"m", "a=b=c&d=", "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"a\":\"b=c\",\"d\":\"\"}}"},
    {"m", "0=x&1=%22%5c%0a",
     "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"0\":\"x\",\"1\":\"\\\"\\\\\\n\"}}"},
    {"m", "a=%26%3D%2B%25", "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"a\":\"&=+%\"}}"},
    {"m", "a=%e2%82%AC", "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"a\":\"\xE2\x82\xAC\"}}"},
    {"m", "a=%00", "{\"version\":\"1.1\",\"method\":\"m\",\"params\":{\"a\":\"\\u0000\"}}"},
};

UNIT_TEST(makes_a_request_from_the_target)
{
  for (size_t i = 0; i < COUNT_OF(good); i++) {
    struct buffer message = {0};
    struct text query = good[i].query == NULL ? TEXT_ABSENT : text_of(good[i].query);
    assert_null(http_query_to_call(text_of(good[i].procedure), query, &message));
    unit_assert_text(buffer_text(&message), text_of(good[i].message), __FILE__, __LINE__);
    buffer_fini(&message);
  }
}

static const struct bad_case {
  const char *procedure;
  const char *query;
} bad[] = {
    {"m%", ""},     {"m%4", ""},    {"m%4g", ""},      {"%zz", ""},          {"m", "a=%"},
    {"m", "a=%1"},  {"m", "%g1=a"}, {"m", "=a"},       {"m", "="},           {"m", "a=b&=c"},
    {"m", "a=%ff"}, {"m%c3", ""},   {"m", "a=%c3%28"}, {"m", "a=%ed%a0%80"}, {"m", "a=%e2&b=%82%ac"},
};

UNIT_TEST(refuses_malformed_targets)
{
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    struct buffer message = {0};
    if (http_query_to_call(text_of(bad[i].procedure), text_of(bad[i].query), &message) == NULL)
      fail_msg("%s?%s was accepted", bad[i].procedure, bad[i].query);
    assert_int_equal(message.len, 0);
    buffer_fini(&message);
  }
}

static const char *call_with(size_t params)
{
  struct buffer query = {0};
  struct buffer message = {0};
  for (size_t i = 0; i < params; i++)
    BUFFER_LITERAL(&query, "a&");
  const char *fault = http_query_to_call(TEXT("m"), buffer_text(&query), &message);
  buffer_fini(&query);
  buffer_fini(&message);
  return fault;
}

UNIT_TEST(limits_the_number_of_parameters)
{
  assert_null(call_with(HTTP_QUERY_PARAMS_MAX));
  assert_non_null(call_with(HTTP_QUERY_PARAMS_MAX + 1));
}

UNIT_MAIN
