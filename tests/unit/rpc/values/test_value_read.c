/* JSON texts in, values out: as arguments of requests, each with the values as text or the error. */
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "tests/unit/rpc/params_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static int set_up(void **state)
{
  *state = params_bench_create();
  return 0;
}

static int tear_down(void **state)
{
  params_bench_destroy(*state);
  return 0;
}

static void test_arguments_are_read(void **state)
{
  static const struct {
    const char *argument;
    const char *wanted;
  } cases[] = {
      {"5", "5"},
      {"-0", "#-0"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "#9223372036854775808"},
      {"5.7", "#5.7"},
      {"1e2", "#1e2"},
      {"5l", "5l"},
      {"5F", "5f"},
      {"3.14D", "#3.14d"},
      {"true", "true"},
      {"null", "null"},
      {"\"a\\u0062\"", "'ab'"},
      {"\"\"", "''"},
      {"[1,\"x\",null,[2.5]]", "[1,'x',null,[#2.5]]"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"{\"a\":1,\"b\":{\"c\":[2]}}", "{a=1,b={c=[2]}}"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "{a=3,b=2}"},
      {"{\"a\":1,\"\\u0061\":2,\"a\":3,\"b\":4,\"b\":5}", "{a=3,b=5}"},
      {"{\"encoding\":1,\"encoding\":2}", "{encoding=2}"},
      {"{\"value\":5}", "5"},
      {"{\"value\":{\"type\":\"int\",\"value\":{\"value\":1}}}", "{type='int',value=1}"},
      {"{\"type\":\"int\",\"value\":5,\"name\":\"ignored\"}", "(int)5"},
      {"{\"type\":\"int\",\"value\":\"5\"}", "(int)'5'"},
      {"{\"type\":\"java.lang.String\",\"value\":null}", "(java.lang.String)null"},
      {"{\"ref\":1}", "@1"},
      {"{\"type\":\"T\",\"ref\":7}", "(T)@7"},
      {"{\"type\":\"java.util.HashMap\",\"value\":{\"key1\":39.0,\"type\":2}}",
       "(java.util.HashMap){key1=#39.0,type=2}"},
      {"{\"type\":\"java.util.ArrayList\",\"value\":[{\"type\":\"java.lang.Integer\",\"value\":39},{\"ref\":"
       "4},"
       "5,{\"k\":[{\"value\":1l}]}]}",
       "(java.util.ArrayList)[(java.lang.Integer)39,@4,5,{k=[1l]}]"},
      {"{\"type\":\"String[]\",\"value\":[\"a\",null]}", "(String[])['a',null]"},
      {"{\"type\":\"com.example.Foo[]\",\"value\":[{\"ref\":1},null]}", "(com.example.Foo[])[@1,null]"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_argument(*state, cases[i].argument, cases[i].wanted);
}

static void test_wrong_arguments_are_refused(void **state)
{
  static const struct {
    const char *argument;
    const char *message;
  } cases[] = {
      {"{\"ref\":\"1\"}", "argument 1: 'ref' must be an integer from 1 to 2147483647"},
      {"{\"ref\":0}", "argument 1: 'ref' must be an integer from 1 to 2147483647"},
      {"{\"ref\":null}", "argument 1: 'ref' must be an integer from 1 to 2147483647"},
      {"{\"ref\":1,\"value\":2}", "argument 1: has both 'value' and 'ref'"},
      {"{\"type\":\"int\"}", "argument 1: has neither 'value' nor 'ref'"},
      {"{\"type\":null,\"value\":1}", "argument 1: 'type' must be a string"},
      {"{\"type\":\"\",\"value\":1}", "argument 1: 'type' is empty"},
      {"{\"type\":\"int\",\"value\":1,\"value\":2}", "argument 1: 'value' is given twice"},
      {"[{\"ref\":1,\"ref\":1}]", "argument 1: 'ref' is given twice"},
      {"{\"type\":\"a/b[]\",\"value\":[]}", "Invalid characters in type: a/b[] (argument 1)"},
      {"{\"type\":\"try[]\",\"value\":[]}", "Type name is a Java reserved keyword: try[] (argument 1)"},
      {"{\"type\":\"String\",\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for arrays of primitives, of one dimension, alone"},
      {"{\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for arrays of primitives, of one dimension, alone"},
      {"{\"k\":{\"ref\":0}}", "argument 1: 'ref' must be an integer from 1 to 2147483647"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_wrong_argument(*state, cases[i].argument, cases[i].message);
}

static void test_put_speaks_of_its_value(void **state)
{
  static const struct params_error cases[] = {
      {"put", "{\"type\":\"C\",\"field\":\"f\",\"value\":{\"ref\":\"1\"}}", FAILURE_INVALID_PARAMS,
       "value: 'ref' must be an integer from 1 to 2147483647"},
      {"put", "{\"type\":\"C\",\"field\":\"f\",\"value\":{\"type\":\"byte[]\",\"value\":[300]}}",
       FAILURE_INVALID_PARAMS, "value[0]: 300: out of range for byte (-128 to 127)"},
  };
  params_check_errors(*state, cases, COUNT_OF(cases));
}

/* `[x,x,...]` in args, count times. */
static char *many(const char *head, const char *item, size_t count, const char *tail)
{
  size_t length = strlen(item) + 1;
  char *params = test_malloc(strlen(head) + count * length + strlen(tail) + 1);
  char *end = stpcpy(params, head);
  for (size_t i = 0; i < count; i++) {
    end = stpcpy(end, item);
    *end++ = i + 1 < count ? ',' : ' ';
  }
  stpcpy(end, tail);
  return params;
}

static void test_counts_have_limits(void **state)
{
  struct params_bench *bench = *state;
  char *params = many("{\"type\":\"C\",\"args\":[", "1", RPC_ARGS_MAX, "]}");
  assert_int_equal(params_decode(bench, "new", params), JP_OK);
  assert_int_equal(bench->operation.arg_count, RPC_ARGS_MAX);
  test_free(params);
  params = many("{\"type\":\"C\",\"args\":[", "1", RPC_ARGS_MAX + 1, "]}");
  params_check_errors(bench,
                      &(struct params_error){"new", params, FAILURE_INVALID_PARAMS,
                                             "'args' has more elements than the limit of 65535"},
                      1);
  test_free(params);
  params = many("{\"type\":\"C\",\"args\":[[", "[]", RPC_VALUES_MAX + 1, "]]}");
  params_check_errors(
      bench,
      &(struct params_error){"new", params, FAILURE_INVALID_PARAMS,
                             "argument 0: more than 1000000 values in one request (values-max)"},
      1);
  test_free(params);
  params = many("{\"type\":\"C\",\"args\":[{\"type\":\"int[]\",\"value\":[", "7", RPC_VALUES_MAX + 1, "]}]}");
  assert_int_equal(params_decode(bench, "new", params), JP_OK);
  assert_int_equal(bench->operation.args[0].packed.count, RPC_VALUES_MAX + 1);
  test_free(params);
}

static void test_digits_have_a_limit(void **state)
{
  struct params_bench *bench = *state;
  static const struct {
    const char *before;
    const char *behind;
    const char *place; /* of the error */
  } rows[] = {
      {"{\"type\":\"C\",\"args\":[", "]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[-", "]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[1,{\"type\":\"int\",\"value\":", "}]}", "argument 1: a number has"},
      {"{\"type\":\"C\",\"args\":[[[", "]]]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[{\"a\":", "}]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[-", "e-5]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[", "f]}", "argument 0: a number has"},
      {"{\"type\":\"C\",\"args\":[{\"type\":\"double[]\",\"value\":[1.5,", "e-9999]}]}",
       "argument 0[1]: 7777777777777777777777777777777777777777777777777777777777777777...:"},
      {"{\"type\":\"C\",\"args\":[{\"type\":\"float[]\",\"value\":[\"", "e-9999\"]}]}",
       "argument 0[0]: \"777777777777777777777777777777777777777777777777777777777777777...:"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char *digits = test_malloc(PARAMS_DIGITS_MAX + 2);
    char *params = test_malloc(PARAMS_DIGITS_MAX + 200);
    char wanted[200];
    memset(digits, '7', PARAMS_DIGITS_MAX + 1);
    digits[PARAMS_DIGITS_MAX + 1] = '\0';
    sprintf(params, "%s%s%s", rows[i].before, digits + 1, rows[i].behind);
    assert_int_equal(params_decode(bench, "new", params), JP_OK);
    sprintf(params, "%s%s%s", rows[i].before, digits, rows[i].behind);
    sprintf(wanted, "%s more digits than the limit of 10000 (number-digits-max)", rows[i].place);
    params_check_errors(bench, &(struct params_error){"new", params, FAILURE_INVALID_PARAMS, wanted}, 1);
    test_free(params);
    test_free(digits);
  }
}

/* The last value of each key in the place of its first, at sizes where a pairwise search would take minutes.
 */
static void test_many_repeated_keys(void **state)
{
  enum { KEYS = 20000, ROUNDS = 5 };
  struct params_bench *bench = *state;
  struct buffer params;
  buffer_init(&params);
  BUFFER_LITERAL(&params, "{\"type\":\"C\",\"args\":[{");
  for (int i = 0; i < KEYS * ROUNDS; i++)
    buffer_printf(&params, "%s\"k%d\":%d", i == 0 ? "" : ",", i % KEYS, i);
  BUFFER_LITERAL(&params, "}]}");
  buffer_append_char(&params, '\0');
  assert_int_equal(params_decode(bench, "new", params.data), JP_OK);
  const struct op_value *map = &bench->operation.args[0];
  assert_int_equal(map->map.count, KEYS);
  for (int i = 0; i < KEYS; i++)
    assert_int_equal(map->map.entries[i].value.integer, KEYS * (ROUNDS - 1) + i);
  buffer_fini(&params);
}

static void test_types_may_stand_elsewhere(void **state)
{
  static const struct {
    const char *type;
    const char *json;
    enum op_value_kind kind; /* OP_CHAR: an error */
  } cases[] = {
      {NULL, "5", OP_INTEGER},         {NULL, "{\"ref\":5}", OP_MAP},    {NULL, "{\"value\":5}", OP_MAP},
      {"[I", "[5]", OP_PACKED},        {"int[]", "null", OP_NULL},       {"[I", "\"x\"", OP_CHAR},
      {"byte[]", "\"AAAA\"", OP_CHAR}, {"[[[", "[5]", OP_CHAR},          {"T[]", "[{\"ref\":1}]", OP_LIST},
      {"T", "{\"type\":1}", OP_MAP},   {"T", "[{\"type\":1}]", OP_CHAR},
  };
  struct params_bench *bench = *state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct rpc_value_reader reader;
    struct json_fault fault;
    struct op_value value;
    struct text type = cases[i].type == NULL ? TEXT_ABSENT : text_of(cases[i].type);
    assert_int_equal(json_validate(text_of(cases[i].json), (struct json_limits){10}, TEXT_ABSENT, &fault),
                     JP_OK);
    rpc_value_reader_init(&reader, PARAMS_DIGITS_MAX, 0, &bench->arena, &bench->outcome);
    enum jp_status status = rpc_typed_value_read(&reader, type, json_root(text_of(cases[i].json)), &value);
    assert_int_equal(status == JP_OK, cases[i].kind != OP_CHAR);
    if (status != JP_OK)
      continue;
    assert_int_equal(value.kind, cases[i].kind);
    assert_true(text_equal(value.type, type));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_arguments_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_arguments_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_put_speaks_of_its_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_counts_have_limits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_digits_have_a_limit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_repeated_keys, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_types_may_stand_elsewhere, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
