/* JSON texts in, values out: as arguments of requests, each with the values as text or the error. */
#include "rpc/jsonrpc/json_params.h"
#include "rpc/values/value_read.h"
#include "tests/unit/rpc/params_bench.h"
#include "tests/unit/unit.h"

#include <malloc.h>
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
      {"-0", "0"},
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
      {"{\"type\":\"int[]\",\"value\":[1,-2,\"3\"]}", "(int[])I{1,-2,3}"},
      {"{\"value\":[1],\"type\":\"[I\"}", "([I)I{1}"},
      {"{\"type\":\"int[]\",\"value\":[]}", "(int[])I{}"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"int\",\"value\":4},5,{\"value\":6},{\"value\":\"-7\","
       "\"type\":\"Integer\"}]}",
       "(int[])I{4,5,6,-7}"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"byte\",\"value\":-128},{\"type\":\"short\",\"value\":300},"
       "{\"type\":\"char\",\"value\":\"A\"}]}",
       "(int[])I{-128,300,65}"},
      {"{\"type\":\"long[]\",\"value\":[{\"type\":\"long\",\"value\":5l},{\"type\":\"int\",\"value\":-5}]}",
       "(long[])J{5,-5}"},
      {"{\"type\":\"short[]\",\"value\":[{\"type\":\"java.lang.Byte\",\"value\":-1},{\"type\":\"short\","
       "\"value\":2}]}",
       "(short[])S{-1,2}"},
      {"{\"type\":\"boolean[]\",\"value\":[{\"type\":\"boolean\",\"value\":true},{\"type\":\"Boolean\","
       "\"value\":\"false\"}]}",
       "(boolean[])Z{1,0}"},
      {"{\"type\":\"int[][]\",\"value\":[[{\"type\":\"int\",\"value\":1}],{\"type\":\"int[]\",\"value\":[{"
       "\"type\":\"int\",\"value\":2}]}]}",
       "(int[][])[I{1},(int[])I{2}]"},
      {"{\"type\":\"int[]\",\"value\":null}", "(int[])null"},
      {"{\"type\":\"boolean[]\",\"value\":[true,false,\"TRUE\",\"false\"]}", "(boolean[])Z{1,0,1,0}"},
      {"{\"type\":\"byte[]\",\"value\":[-128,127]}", "(byte[])B{-128,127}"},
      {"{\"type\":\"short[]\",\"value\":[-32768,32767]}", "(short[])S{-32768,32767}"},
      {"{\"type\":\"int[]\",\"value\":[-2147483648,2147483647]}", "(int[])I{-2147483648,2147483647}"},
      {"{\"type\":\"char[]\",\"value\":[\"A\",\"\\ud800\",\"\\u0000\"]}", "(char[])C{41,d800,0}"},
      {"{\"type\":\"long[]\",\"value\":[2398239l,-23L,1]}", "(long[])J{2398239,-23,1}"},
      {"{\"type\":\"float[]\",\"value\":[23f,1.5,3l,\"NaN\",\"-Infinity\"]}",
       "(float[])F{23,1.5,3,nan,-inf}"},
      {"{\"type\":\"double[]\",\"value\":[239823d,0.1,0.1f,1l,\"Infinity\",\"2.5\"]}",
       "(double[])D{239823,0.10000000000000001,0.10000000149011612,1,inf,2.5}"},
      {"{\"type\":\"int[][]\",\"value\":[[1,2],[],null,{\"ref\":5}]}", "(int[][])[I{1,2},I{},null,@5]"},
      {"{\"type\":\"[[[B\",\"value\":[[[1]],[]]}", "([[[B)[[B{1}],[]]"},
      {"{\"type\":\"byte[]\",\"value\":\"AP8B\",\"encoding\":\"base64\"}", "(byte[])B{0,-1,1}"},
      {"{\"encoding\":\"base64\",\"value\":\"AP+\\/\",\"type\":\"[B\"}", "([B)B{0,-1,-65}"},
      {"{\"type\":\"byte[]\",\"value\":\"\",\"encoding\":\"base64\"}", "(byte[])B{}"},
      {"{\"type\":\"byte[]\",\"value\":null,\"encoding\":\"base64\"}", "(byte[])null"},
  };
  char params[512];
  char wanted[512];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(params, sizeof params, "{\"type\":\"C\",\"args\":[%s]}", cases[i].argument);
    snprintf(wanted, sizeof wanted, "new C <init> %s", cases[i].wanted);
    params_check_requests(*state, &(struct params_request){"new", params, wanted}, 1);
    snprintf(params, sizeof params, "{\"type\":\"C\",\"field\":\"f\",\"value\":%s}", cases[i].argument);
    snprintf(wanted, sizeof wanted, "put C f %s", cases[i].wanted);
    params_check_requests(*state, &(struct params_request){"put", params, wanted}, 1);
  }
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
      {"{\"type\":\"int[]\",\"value\":5}", "argument 1 (int[]): 'value' must be an array or null"},
      {"{\"type\":\"int[]\",\"value\":[1,null]}",
       "argument 1[1]: null: a primitive cannot be null for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"[I\",\"value\":[1d]}",
       "argument 1[0]: 1d: its suffix is of another type for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[1l]}",
       "argument 1[0]: 1l: its suffix is of another type for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[1,{\"type\":\"byte\",\"value\":300}]}",
       "argument 1[1]: 300: out of range for byte (-128 to 127)"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"long\",\"value\":3}]}",
       "argument 1[0]: {\"type\":\"long\",\"value\":3}: its type does not become int"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"String\",\"value\":\"3\"}]}",
       "argument 1[0]: {\"type\":\"String\",\"value\":\"3\"}: its type does not become int"},
      {"{\"type\":\"boolean[]\",\"value\":[{\"type\":\"int\",\"value\":1}]}",
       "argument 1[0]: {\"type\":\"int\",\"value\":1}: its type does not become boolean"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"a:b\",\"value\":3}]}",
       "argument 1[0]: {\"type\":\"a:b\",\"value\":3}: Invalid characters in type: a:b"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"int\",\"value\":null}]}",
       "argument 1[0]: {\"type\":\"int\",\"value\":null}: a primitive cannot be null for int (-2147483648 to "
       "2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":\"int\"}]}",
       "argument 1[0]: {\"type\":\"int\"}: has neither 'value' nor 'ref'"},
      {"{\"type\":\"int[]\",\"value\":[{\"type\":5,\"value\":5}]}",
       "argument 1[0]: {\"type\":5,\"value\":5}: 'type' must be a string"},
      {"{\"type\":\"int[]\",\"value\":[{\"value\":5,\"value\":5}]}",
       "argument 1[0]: {\"value\":5,\"value\":5}: a member is given twice"},
      {"{\"type\":\"int[]\",\"value\":[{\"ref\":5}]}",
       "argument 1[0]: {\"ref\":5}: an object is no primitive"},
      {"{\"type\":\"int[]\",\"value\":[{}]}",
       "argument 1[0]: {}: of another kind for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[{\"value\":[1]}]}",
       "argument 1[0]: [1]: of another kind for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[5.7]}",
       "argument 1[0]: 5.7: not an integer for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[2147483648]}",
       "argument 1[0]: 2147483648: out of range for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[]\",\"value\":[\"x\"]}",
       "argument 1[0]: \"x\": of another kind for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"byte[]\",\"value\":[0,0,300]}",
       "argument 1[2]: 300: out of range for byte (-128 to 127)"},
      {"{\"type\":\"short[]\",\"value\":[-32769]}",
       "argument 1[0]: -32769: out of range for short (-32768 to 32767)"},
      {"{\"type\":\"long[]\",\"value\":[9223372036854775808]}",
       "argument 1[0]: 9223372036854775808: out of range for long (-9223372036854775808 to "
       "9223372036854775807)"},
      {"{\"type\":\"long[]\",\"value\":[1f]}", "argument 1[0]: 1f: its suffix is of another type for long "
                                               "(-9223372036854775808 to 9223372036854775807)"},
      {"{\"type\":\"char[]\",\"value\":[\"AB\"]}",
       "argument 1[0]: \"AB\": out of range for char (one UTF-16 unit)"},
      {"{\"type\":\"char[]\",\"value\":[\"\"]}",
       "argument 1[0]: \"\": out of range for char (one UTF-16 unit)"},
      {"{\"type\":\"char[]\",\"value\":[65]}",
       "argument 1[0]: 65: of another kind for char (one UTF-16 unit)"},
      {"{\"type\":\"boolean[]\",\"value\":[1]}",
       "argument 1[0]: 1: of another kind for boolean (true or false)"},
      {"{\"type\":\"float[]\",\"value\":[1d]}",
       "argument 1[0]: 1d: its suffix is of another type for float (up to 3.4028235E38)"},
      {"{\"type\":\"float[]\",\"value\":[1e39]}",
       "argument 1[0]: 1e39: out of range for float (up to 3.4028235E38)"},
      {"{\"type\":\"double[]\",\"value\":[1e400]}",
       "argument 1[0]: 1e400: out of range for double (up to 1.7976931348623157E308)"},
      {"{\"type\":\"double[]\",\"value\":[true]}",
       "argument 1[0]: true: of another kind for double (up to 1.7976931348623157E308)"},
      {"{\"type\":\"int[][]\",\"value\":[[1],[2,\"z\"]]}",
       "argument 1[1][1]: \"z\": of another kind for int (-2147483648 to 2147483647)"},
      {"{\"type\":\"int[][]\",\"value\":[1]}", "argument 1[0]: 1: not an array"},
      {"{\"type\":\"byte[]\",\"value\":\"AAAA\"}", "argument 1 (byte[]): 'value' must be an array or null"},
      {"{\"type\":\"byte[]\",\"value\":[1],\"encoding\":\"base64\"}",
       "argument 1 (byte[]): 'value' must be a string of base64 or null"},
      {"{\"type\":\"byte[]\",\"value\":\"A\",\"encoding\":\"base64\"}",
       "argument 1 (byte[]): 'value' must be base64 (RFC 4648, with padding)"},
      {"{\"type\":\"byte[]\",\"value\":\"AA==\",\"encoding\":\"hex\"}",
       "argument 1: 'encoding' must be \"base64\""},
      {"{\"type\":\"byte[]\",\"value\":\"AA==\",\"encoding\":true}",
       "argument 1: 'encoding' must be a string"},
      {"{\"type\":\"String\",\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for values of type byte[] alone"},
      {"{\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for values of type byte[] alone"},
      {"{\"type\":\"byte[][]\",\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for values of type byte[] alone"},
      {"{\"k\":{\"ref\":0}}", "argument 1: 'ref' must be an integer from 1 to 2147483647"},
  };
  char params[512];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(params, sizeof params, "{\"type\":\"C\",\"method\":\"m\",\"args\":[1,%s]}", cases[i].argument);
    params_check_errors(*state,
                        &(struct params_error){"call", params, FAILURE_INVALID_PARAMS, cases[i].message}, 1);
  }
}

/* One that is wrong among many that are read in one go. */
static void test_a_wrong_element_is_named_wherever_it_is(void **state)
{
  enum { COUNT = 100 };
  struct buffer params;
  buffer_init(&params);
  for (int wrong = 0; wrong < COUNT; wrong++) {
    char message[64];
    buffer_clear(&params);
    BUFFER_LITERAL(&params, "{\"type\":\"C\",\"method\":\"m\",\"args\":[{\"type\":\"short[]\",\"value\":");
    for (int i = 0; i < COUNT; i++)
      buffer_printf(&params, "%c%d", i == 0 ? '[' : ',', i == wrong ? 32768 + i : i - 50);
    buffer_append(&params, "]}]}", sizeof "]}]}");
    snprintf(message, sizeof message, "argument 0[%d]: %d: out of range for short (-32768 to 32767)", wrong,
             32768 + wrong);
    params_check_errors(*state, &(struct params_error){"call", params.data, FAILURE_INVALID_PARAMS, message},
                        1);
  }
  buffer_fini(&params);
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
  params_check_errors(bench,
                      &(struct params_error){"new", params, FAILURE_INVALID_PARAMS,
                                             "argument 0: more than 1000000 values in one request"},
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

static size_t allocated(void)
{
  struct mallinfo2 info = mallinfo2(); /* nothing but zeros under a sanitizer */
  return info.uordblks + info.hblkhd;
}

/* The memory for an array follows from how many numbers there can be, not from the commas of a text in it. */
static void test_commas_in_a_text_take_no_memory(void **state)
{
  enum { COMMAS = 1024 * 1024 };
  struct params_bench *bench = *state;
  struct buffer params;
  buffer_init(&params);
  BUFFER_LITERAL(&params, "{\"type\":\"C\",\"args\":[{\"type\":\"long[]\",\"value\":[\"");
  for (size_t i = 0; i < COMMAS; i++)
    buffer_append_char(&params, ',');
  buffer_append(&params, "\"]}]}", sizeof "\"]}]}");
  size_t before = allocated();
  assert_int_equal(params_decode(bench, "new", params.data), JP_INVALID);
  assert_true(allocated() - before < 4 * COMMAS);
  buffer_fini(&params);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_arguments_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_arguments_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_wrong_element_is_named_wherever_it_is, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_put_speaks_of_its_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_counts_have_limits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_digits_have_a_limit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_repeated_keys, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_commas_in_a_text_take_no_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
