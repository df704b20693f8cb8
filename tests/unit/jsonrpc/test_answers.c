#include "jsonrpc/answers.h"

#include "tests/unit/unit.h"

static struct json_value read_json(const char *text)
{
  struct json_fault fault;
  assert_int_equal(json_validate(text_of(text), (struct json_limits){20}, TEXT_ABSENT, &fault), JP_OK);
  return json_root(text_of(text));
}

UNIT_TEST(test_answers_are_told_from_requests)
{
  static const struct {
    const char *message;
    const char *id;    /* NULL: it is no answer */
    const char *value; /* the error, where it begins with '!' */
  } cases[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":\"cb-1\",\"result\":5}", "\"cb-1\"", "5"},
      {"{\"id\":1,\"result\":null}", "1", "null"},
      {"{\"result\":[],\"id\":null}", "null", "[]"},
      {"{\"\\u0069d\":1,\"resul\\u0074\":1,\"other\":1}", "1", "1"},
      {"{\"id\":1,\"error\":{\"code\":1}}", "1", "!{\"code\":1}"},
      {"{\"id\":1,\"error\":null}", "1", "!null"},
      {"{\"id\":1,\"result\":1,\"params\":{},\"options\":{}}", "1", "1"},
      {"{\"jsonrpc\":\"2.0\",\"result\":5}", NULL, NULL},
      {"{\"id\":1}", NULL, NULL},
      {"{\"id\":1,\"result\":1,\"error\":{}}", NULL, NULL},
      {"{\"id\":1,\"result\":1,\"error\":null}", "1", "1"},
      {"{\"id\":1,\"result\":null,\"error\":null}", "1", "null"},
      {"{\"id\":1,\"result\":null,\"error\":{}}", "1", "!{}"},
      {"{\"id\":1,\"result\":1,\"method\":\"m\"}", NULL, NULL},
      {"{\"id\":1,\"result\":1,\"method\":null}", NULL, NULL},
      {"{\"id\":1,\"id\":1,\"result\":1}", NULL, NULL},
      {"{\"id\":1,\"result\":1,\"result\":1}", NULL, NULL},
      {"[{\"id\":1,\"result\":1}]", NULL, NULL},
      {"{}", NULL, NULL},
      {"\"id\"", NULL, NULL},
  };
  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct jsonrpc_answer answer;
    bool is_answer = jsonrpc_answer_read(read_json(cases[i].message), &answer);
    if (is_answer != (cases[i].id != NULL))
      fail_msg("%s", cases[i].message);
    if (!is_answer)
      continue;
    const char *value = cases[i].value + (*cases[i].value == '!');
    assert_true(text_equal(answer.id.span, text_of(cases[i].id)));
    assert_true(text_equal(answer.value.span, text_of(value)));
    assert_int_equal(answer.is_error, *cases[i].value == '!');
  }
}

UNIT_MAIN
