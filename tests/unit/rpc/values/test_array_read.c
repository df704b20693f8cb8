/* Arrays of primitives as arguments of requests: the packed elements, or the error. */
#include "base/buffer.h"
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

static void test_arrays_are_packed(void **state)
{
  static const struct {
    const char *argument;
    const char *wanted;
  } cases[] = {
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
      {"{\"type\":\"int[]\",\"value\":\"AQAAAP7///////9/\",\"encoding\":\"base64\"}",
       "(int[])I{1,-2,2147483647}"},
      {"{\"type\":\"[J\",\"value\":\"AQAAAAAAAAD+/////////w==\",\"encoding\":\"base64\"}", "([J)J{1,-2}"},
      {"{\"type\":\"short[]\",\"value\":\"//8sAQ==\",\"encoding\":\"base64\"}", "(short[])S{-1,300}"},
      {"{\"type\":\"double[]\",\"value\":\"AAAAAAAA+D8=\",\"encoding\":\"base64\"}", "(double[])D{1.5}"},
      {"{\"type\":\"boolean[]\",\"value\":\"AAEB\",\"encoding\":\"base64\"}", "(boolean[])Z{0,1,1}"},
      {"{\"type\":\"long[]\",\"value\":\"\",\"encoding\":\"base64\"}", "(long[])J{}"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_argument(*state, cases[i].argument, cases[i].wanted);
}

static void test_wrong_elements_are_refused(void **state)
{
  static const struct {
    const char *argument;
    const char *message;
  } cases[] = {
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
      {"{\"type\":\"int[]\",\"value\":\"AQAAAAE=\",\"encoding\":\"base64\"}",
       "argument 1 (int[]): 'value' must be whole elements of 4 bytes, not 5 bytes"},
      {"{\"type\":\"boolean[]\",\"value\":\"AAEC\",\"encoding\":\"base64\"}",
       "argument 1 (boolean[]): 'value' must be bytes of 0 and 1 alone"},
      {"{\"type\":\"boolean[]\",\"value\":\"AAH/\",\"encoding\":\"base64\"}",
       "argument 1 (boolean[]): 'value' must be bytes of 0 and 1 alone"},
      {"{\"type\":\"double[]\",\"value\":[1.5],\"encoding\":\"base64\"}",
       "argument 1 (double[]): 'value' must be a string of base64 or null"},
      {"{\"type\":\"byte[][]\",\"value\":\"AA==\",\"encoding\":\"base64\"}",
       "argument 1: 'encoding' is for arrays of primitives, of one dimension, alone"},
      {"{\"type\":\"double[]\",\"value\":[1.5l]}",
       "argument 1[0]: 1.5l: not an integer for double (up to 1.7976931348623157E308)"},
      {"{\"type\":\"boolean[]\",\"value\":[\"yes\"]}",
       "argument 1[0]: \"yes\": of another kind for boolean (true or false)"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_wrong_argument(*state, cases[i].argument, cases[i].message);
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
      cmocka_unit_test_setup_teardown(test_arrays_are_packed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_elements_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_wrong_element_is_named_wherever_it_is, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_commas_in_a_text_take_no_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
