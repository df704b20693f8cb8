/* The options of a request: what they mean, and what is wrong with them. */
#include "rpc/jsonrpc/request_options.h"

#include "tests/unit/unit.h"

#include <stdio.h>

struct fixture {
  struct arena arena;
  struct rpc_request_options options;
  struct outcome outcome;
  enum jp_status status;
};

/* written NULL: the request has none. */
static struct fixture read_options(const char *written)
{
  struct fixture f = {.outcome = {.kind = OUTCOME_VOID}};
  struct jsonrpc_request request = {.has_options = written != NULL};
  arena_init(&f.arena);
  if (written != NULL) {
    struct json_fault fault;
    assert_int_equal(json_validate(text_of(written), (struct json_limits){16}, TEXT_ABSENT, &fault), JP_OK);
    request.options = json_root(text_of(written));
  }
  f.status = rpc_request_options_read(&request, &f.arena, &f.options, &f.outcome);
  return f;
}

static void reads_what_is_given(void **state)
{
  (void)state;
  static const struct {
    const char *written;
    const char *thread_affinity; /* NULL: none */
    uint32_t loader;
  } cases[] = {
      {NULL, NULL, 0},
      {"{}", NULL, 0},
      {" { } ", NULL, 0},
      {"{\"threadAffinity\":\"FX\"}", "FX", 0},
      {"{ \"threadAffinity\" : \"\" }", "", 0},
      {"{\"thread\\u0041ffinity\":\"\\u0046\\u20ac\"}", "F\xE2\x82\xAC", 0},
      {"{\"loader\":7}", NULL, 7},
      {"{\"threadAffinity\":\"FX\",\"loader\" : { \"r\\u0065f\" : 2147483647 } }", "FX", 2147483647},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct fixture f = read_options(cases[i].written);
    struct operation operation = {.kind = OP_CALL};
    assert_int_equal(f.status, JP_OK);
    rpc_request_options_apply(&f.options, &operation);
    if (cases[i].thread_affinity == NULL)
      assert_null(operation.thread_affinity.data);
    else
      unit_assert_text(operation.thread_affinity, text_of(cases[i].thread_affinity), __FILE__, __LINE__);
    assert_int_equal(operation.loader, cases[i].loader);
    arena_fini(&f.arena);
  }
}

#define NOT_A_REF "'loader' must be a ref: an integer from 1 to 2147483647, or {\"ref\":N}"

static void says_what_is_wrong(void **state)
{
  (void)state;
  static const struct {
    const char *written;
    const char *message;
  } cases[] = {
      {"null", "'options' must be an object, not null"},
      {"[]", "'options' must be an object, not an array"},
      {"\"threadAffinity\"", "'options' must be an object, not a string"},
      {"5", "'options' must be an object, not a number"},
      {"true", "'options' must be an object, not a boolean"},
      {"{\"threadAffinity\":null}", "'threadAffinity' must be a string, not null"},
      {"{\"threadAffinity\":5}", "'threadAffinity' must be a string, not a number"},
      {"{\"threadAffinity\":{}}", "'threadAffinity' must be a string, not an object"},
      {"{\"threadAffinity\":[\"FX\"]}", "'threadAffinity' must be a string, not an array"},
      {"{\"threadAffinity\":false}", "'threadAffinity' must be a string, not a boolean"},
      {"{\"threadAffinity\":\"A\",\"thread\\u0041ffinity\":\"A\"}",
       "'threadAffinity' is given twice in options"},
      {"{\"loader\":\"7\"}", "'loader' must be an integer or {\"ref\":N}, not a string"},
      {"{\"loader\":[7]}", "'loader' must be an integer or {\"ref\":N}, not an array"},
      {"{\"loader\":null}", "'loader' must be an integer or {\"ref\":N}, not null"},
      {"{\"loader\":0}", NOT_A_REF},
      {"{\"loader\":-1}", NOT_A_REF},
      {"{\"loader\":1.0}", NOT_A_REF},
      {"{\"loader\":2147483648}", NOT_A_REF},
      {"{\"loader\":{}}", NOT_A_REF},
      {"{\"loader\":{\"ref\":\"7\"}}", NOT_A_REF},
      {"{\"loader\":{\"ref\":7,\"type\":\"a.B\"}}", NOT_A_REF},
      {"{\"loader\":{\"instance\":7}}", NOT_A_REF},
      {"{\"loader\":{\"ref\":{\"ref\":7}}}", NOT_A_REF},
      {"{\"loader\":1,\"loader\":2}", "'loader' is given twice in options"},
      {"{\"throwables\":null}", "'throwables' must be a boolean, not null"},
      {"{\"types\":1}", "'types' must be a boolean, not a number"},
      {"{\"types\":true,\"types\":false}", "'types' is given twice in options"},
      {"{\"within\":5}", "'within' must be a string, not a number"},
      {"{\"threadaffinity\":\"A\"}", "Unknown option: threadaffinity"},
      {"{\"\":1}", "Unknown option: "},
      {"{\"threadAffinity\":\"A\",\"x\\u0079z\":{\"a\":[]}}", "Unknown option: xyz"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct fixture f = read_options(cases[i].written);
    if (f.status == JP_OK)
      fail_msg("%s was taken", cases[i].written);
    assert_int_equal(f.outcome.kind, OUTCOME_ERROR);
    assert_int_equal(f.outcome.failure, FAILURE_INVALID_PARAMS);
    unit_assert_text(f.outcome.message, text_of(cases[i].message), __FILE__, __LINE__);
    arena_fini(&f.arena);
  }
}

static void shows_the_beginning_of_a_long_name(void **state)
{
  (void)state;
  char name[4000];
  char written[4096];
  memset(name, 'x', sizeof name);
  snprintf(written, sizeof written, "{\"%.*s\":1}", (int)sizeof name, name);
  struct fixture f = read_options(written);
  assert_int_equal(f.status, JP_INVALID);
  assert_true(f.outcome.message.len < sizeof "Unknown option: ..." + OUTCOME_NAME_SHOWN);
  assert_true(text_starts_with(f.outcome.message, TEXT("Unknown option: xxx")));
  arena_fini(&f.arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_is_given),
      cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(shows_the_beginning_of_a_long_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
