/* Params in, operation out: each case is a method, its params, and the operation as text or the error. */
#include "rpc/jsonrpc/json_params.h"
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

static void test_methods_are_read(void **state)
{
  static const struct params_request cases[] = {
      {"new", "{\"type\":\"com.example.Calculator\"}", "new com.example.Calculator <init>"},
      {"new", "{\"type\":\"A\",\"args\":[]}", "new A <init>"},
      {"new",
       "{\"args\":[{\"value\":\"john\",\"type\":\"java.lang.String\"},{\"type\":\"int\",\"value\":30}],"
       "\"type\":\"com.example.User\"}",
       "new com.example.User <init> (java.lang.String)'john' (int)30"},
      {"call", "{\"type\":\"C\",\"method\":\"add\",\"args\":[{\"type\":\"int\",\"value\":5},{\"ref\":42}]}",
       "call C add (int)5 @42"},
      {"call", "{\"method\":\"size\",\"instance\":42,\"type\":\"java.util.ArrayList\"}",
       "call java.util.ArrayList size on @42"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":2147483647,\"encoding\":\"base64\"}",
       "call C m on @2147483647 base64"},
      {"call", "{\"\\u0074ype\":\"C\",\"method\":\"m\\u0041\"}", "call C mA"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"unknown\":1,\"unknown\":{},\"field\":7}", "call C m"},
      {"get", "{\"type\":\"com.example.Config\",\"field\":\"VERSION\"}", "get com.example.Config VERSION"},
      {"get", "{\"type\":\"C\",\"field\":\"f\",\"instance\":1}", "get C f on @1"},
      {"put", "{\"type\":\"C\",\"field\":\"f\",\"value\":{\"type\":\"boolean\",\"value\":true}}",
       "put C f (boolean)true"},
      {"put", "{\"value\":null,\"type\":\"C\",\"field\":\"f\"}", "put C f null"},
      {"put", "{\"value\":{\"ref\":3},\"type\":\"C\",\"instance\":9,\"field\":\"f\"}", "put C f on @9 @3"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{\"type\":\"T\",\"value\":\"x\"}}",
       "call C m on (T)'x'"},
      {"get", "{\"instance\":{\"value\":[1],\"type\":\"int[]\"},\"type\":\"C\",\"field\":\"f\"}",
       "get C f on (int[])I{1}"},
      {"get", "{\"type\":\"C[]\",\"field\":\"[-1]\",\"instance\":1}", "get C[] [] on @1 piece [-1]"},
      {"get", "{\"type\":\"C[]\",\"field\":\"[1:]\",\"instance\":1}", "get C[] [] on @1 piece [1:]"},
      {"put", "{\"type\":\"C[]\",\"field\":\"[1]\",\"instance\":1,\"value\":5}",
       "put C[] [] on @1 piece [1] 5"},
      {"call", "{\"type\":\"C[]\",\"method\":\"[1]\",\"instance\":1}", "call C[] [1] on @1"},
      {"control", "{\"method\":\"ping\"}", "control ping"},
      {"control", "{\"method\":\"PinG\",\"args\":[]}", "control ping"},
      {"control", "{\"method\":\"GC\"}", "control gc"},
      {"control", "{\"method\":\"Stats\"}", "control stats"},
      {"jpeer.describe", "{\"instance\":7}", "describe   on @7"},
      {"jpeer.describe", "{\"instance\":{\"ref\":7}}", "describe   on @7"},
      {"jpeer.describe", "[7]", "describe   on @7"},
      {"jpeer.describe", "{\"instance\":{\"value\":\"x\",\"type\":\"T\"}}", "describe   on (T)'x'"},
      {"jpeer.describe", "{\"type\":\"a.B\"}", "describe a.B "},
      {"control", "{\"method\":\"Delete_Session\"}", "control delete_session"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":42},{\"type\":\"x.Y\",\"ref\":43}]}",
       "control delete_object @42 (x.Y)@43"},
      {"control",
       "{\"method\":\"delete_object\",\"args\":[{\"ref\":4,\"told\":1},{\"ref\":5},{\"t\\u006fld\":"
       "2147483648,"
       "\"ref\":6}]}",
       "control delete_object @4*1 @5 @6*2147483648"},
      {"control",
       "{\"method\":\"delete_object\",\"args\":[{\"ref\":4,\"told\":4294967295},{\"ref\":5,\"told\":"
       "4294967296},"
       "{\"ref\":6,\"told\":18446744073709551616}]}",
       "control delete_object @4*4294967295 @5*4294967295 @6*4294967295"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"args\":[{\"ref\":4,\"told\":0}]}", "call C m @4"},
  };
  params_check_requests(*state, cases, COUNT_OF(cases));
}

static void test_meta_arguments_are_read(void **state)
{
  static const struct params_request cases[] = {
      {"meta", "{\"method\":\"fetch_classes_info\"}", "meta compress=1 merge=0 exclude=- include=-"},
      {"meta",
       "{\"method\":\"fetch_classes_info\",\"args\":["
       "{\"name\":\"compress_encode\",\"type\":\"boolean\",\"value\":false},"
       "{\"name\":\"merge_ancestry\",\"type\":\"java.lang.Boolean\",\"value\":true},"
       "{\"name\":\"exclude_prefixes\",\"type\":\"java.lang.String[]\",\"value\":[\"java.\",\"sun.\"]},"
       "{\"name\":\"include_classes\",\"value\":[]}]}",
       "meta compress=0 merge=1 exclude=java.,sun. include="},
      {"meta",
       "{\"method\":\"fetch_classes_info\",\"args\":["
       "{\"value\":null,\"type\":\"[Ljava.lang.String;\",\"name\":\"exclude_prefixes\"},"
       "{\"value\":[\"a.B\"],\"type\":\"String[]\",\"name\":\"include_classes\"}]}",
       "meta compress=1 merge=0 exclude=- include=a.B"},
  };
  params_check_requests(*state, cases, COUNT_OF(cases));
}

static void test_wrong_requests_are_refused(void **state)
{
  static const struct params_error cases[] = {
      {"frobnicate", "{}", FAILURE_INVALID_REQUEST, "Invalid method: frobnicate"},
      {"New", NULL, FAILURE_INVALID_REQUEST, "Invalid method: New"},
      {"", "{}", FAILURE_INVALID_REQUEST, "Invalid method: "},
      {"rpc.discover", NULL, FAILURE_NOT_FOUND, "Invalid method: rpc.discover"},
      {"com.example.Calculator.add", "{}", FAILURE_NOT_FOUND, "Invalid method: com.example.Calculator.add"},
      {"new", NULL, FAILURE_INVALID_PARAMS, "Params are missing"},
      {"control", NULL, FAILURE_INVALID_PARAMS, "Params are missing"},
      {"meta", NULL, FAILURE_INVALID_PARAMS, "Params are missing"},
      {"call", "[\"C\",\"m\"]", FAILURE_INVALID_PARAMS,
       "'params' must be an object: parameters by position are not taken"},
      {"new", "{}", FAILURE_INVALID_PARAMS, "Type is missing in params"},
      {"new", "{\"type\":\"\"}", FAILURE_INVALID_PARAMS, "Type is missing in params"},
      {"new", "{\"type\":7}", FAILURE_INVALID_PARAMS, "'type' must be a string, not a number"},
      {"new", "{\"type\":null}", FAILURE_INVALID_PARAMS, "'type' must be a string, not null"},
      {"call", "{\"method\":\"m\"}", FAILURE_INVALID_PARAMS, "Type is missing in params"},
      {"call", "{\"type\":\"C\"}", FAILURE_INVALID_PARAMS, "Method is missing in 'call' request"},
      {"call", "{\"type\":\"C\",\"method\":\"\"}", FAILURE_INVALID_PARAMS,
       "Method is missing in 'call' request"},
      {"call", "{\"type\":\"C\",\"method\":[]}", FAILURE_INVALID_PARAMS,
       "'method' must be a string, not an array"},
      {"get", "{\"type\":\"C\"}", FAILURE_INVALID_PARAMS, "Field is missing in 'get' request"},
      {"get", "{\"type\":\"C\",\"method\":\"m\"}", FAILURE_INVALID_PARAMS,
       "Field is missing in 'get' request"},
      {"put", "{\"type\":\"C\",\"value\":1}", FAILURE_INVALID_PARAMS, "Field is missing in 'put' request"},
      {"put", "{\"type\":\"C\",\"field\":\"f\"}", FAILURE_INVALID_PARAMS,
       "Value is missing in 'put' request"},
      {"put", "{\"type\":\"C\",\"field\":true,\"value\":1}", FAILURE_INVALID_PARAMS,
       "'field' must be a string, not a boolean"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"args\":{}}", FAILURE_INVALID_PARAMS,
       "'args' must be an array, not an object"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"args\":null}", FAILURE_INVALID_PARAMS,
       "'args' must be an array, not null"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{}}", FAILURE_INVALID_PARAMS,
       "instance: a value needs 'type' and 'value'"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{\"ref\":1}}", FAILURE_INVALID_PARAMS,
       "instance: a ref is a number here"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{\"type\":\"T\",\"ref\":1}}",
       FAILURE_INVALID_PARAMS, "instance: a ref is a number here"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{\"type\":\"int[]\",\"value\":[1,2.5]}}",
       FAILURE_INVALID_PARAMS, "instance[1]: 2.5: not an integer for int (-2147483648 to 2147483647)"},
      {"get", "{\"type\":\"C[]\",\"field\":\"[]\",\"instance\":1}", FAILURE_INVALID_PARAMS,
       "'field' [] is not an element or a range, as [3] and [10:20] are"},
      {"get", "{\"type\":\"C[]\",\"field\":\"[1\",\"instance\":1}", FAILURE_INVALID_PARAMS,
       "'field' [1 is not an element or a range, as [3] and [10:20] are"},
      {"put", "{\"type\":\"C[]\",\"field\":\"[1:2]\",\"instance\":1,\"value\":1}", FAILURE_INVALID_PARAMS,
       "'field' [1:2] is not an element, as [3] is"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":[]}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer, not an array"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":\"1\"}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer, not a string"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":0}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer from 1 to 2147483647"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":-1}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer from 1 to 2147483647"},
      {"get", "{\"type\":\"C\",\"field\":\"m\",\"instance\":2147483648}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer from 1 to 2147483647"},
      {"get", "{\"type\":\"C\",\"field\":\"m\",\"instance\":1.0}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer from 1 to 2147483647"},
      {"get", "{\"type\":\"C\",\"field\":\"m\",\"instance\":1l}", FAILURE_INVALID_PARAMS,
       "'instance' must be an integer from 1 to 2147483647"},
      {"get", "{\"type\":\"C\",\"field\":\"m\",\"encoding\":\"hex\"}", FAILURE_INVALID_PARAMS,
       "'encoding' must be \"base64\""},
      {"get", "{\"type\":\"C\",\"field\":\"m\",\"encoding\":1}", FAILURE_INVALID_PARAMS,
       "'encoding' must be a string, not a number"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"type\":\"C\"}", FAILURE_INVALID_PARAMS,
       "'type' is given twice in params"},
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":1,\"\\u0069nstance\":1}",
       FAILURE_INVALID_PARAMS, "'instance' is given twice in params"},
      {"control", "{}", FAILURE_INVALID_PARAMS, "Method is missing in 'control' request"},
      {"control", "{\"method\":\"reboot\"}", FAILURE_NOT_FOUND, "Invalid control method: reboot"},
      {"control", "{\"method\":\"ping\",\"args\":[1]}", FAILURE_INVALID_PARAMS, "'ping' takes no arguments"},
      {"control", "{\"method\":\"delete_object\"}", FAILURE_INVALID_PARAMS,
       "Missing object ref for delete_object request"},
      {"control", "{\"method\":\"delete_object\",\"args\":[]}", FAILURE_INVALID_PARAMS,
       "Missing object ref for delete_object request"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1},42]}", FAILURE_INVALID_PARAMS,
       "Missing object ref for delete_object request: argument 1 is no {\"ref\": N}"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"type\":\"int\",\"value\":4}]}",
       FAILURE_INVALID_PARAMS, "Missing object ref for delete_object request: argument 0 is no {\"ref\": N}"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":1},{\"ref\":1,\"told\":0}]}",
       FAILURE_INVALID_PARAMS, "argument 1: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":-1}]}", FAILURE_INVALID_PARAMS,
       "argument 0: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":1.5}]}",
       FAILURE_INVALID_PARAMS, "argument 0: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":1l}]}", FAILURE_INVALID_PARAMS,
       "argument 0: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":\"1\"}]}",
       FAILURE_INVALID_PARAMS, "argument 0: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":-18446744073709551616}]}",
       FAILURE_INVALID_PARAMS, "argument 0: 'told' must be an integer from 1"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":1,\"told\":1,\"told\":1}]}",
       FAILURE_INVALID_PARAMS, "argument 0: 'told' is given twice"},
      {"meta", "{}", FAILURE_INVALID_PARAMS, "Method is missing in 'meta' request"},
      {"meta", "{\"method\":\"fetch\"}", FAILURE_NOT_FOUND, "Invalid meta service: fetch"},
      {"meta", "{\"method\":\"fetch_classes_info\",\"args\":{}}", FAILURE_INVALID_PARAMS,
       "'args' must be an array, not an object"},
  };
  params_check_errors(*state, cases, COUNT_OF(cases));
}

static void test_wrong_meta_arguments_are_refused(void **state)
{
  static const struct {
    const char *argument;
    const char *message;
  } cases[] = {
      {"5", "argument 0 must be an object with 'name', 'type' and 'value'"},
      {"{\"value\":true}", "argument 0 has no 'name'"},
      {"{\"name\":\"compress\",\"value\":true}",
       "argument 0: 'name' must be compress_encode, merge_ancestry, exclude_prefixes or include_classes, not "
       "\"compress\""},
      {"{\"name\":1,\"value\":true}",
       "argument 0: 'name' must be compress_encode, merge_ancestry, exclude_prefixes or include_classes, not "
       "1"},
      {"{\"name\":\"merge_ancestry\"}", "'merge_ancestry' has no 'value'"},
      {"{\"name\":\"merge_ancestry\",\"value\":1}", "'merge_ancestry' must be true or false"},
      {"{\"name\":\"merge_ancestry\",\"value\":null}", "'merge_ancestry' must be true or false"},
      {"{\"name\":\"merge_ancestry\",\"type\":\"int\",\"value\":true}", "'merge_ancestry' has type boolean"},
      {"{\"name\":\"include_classes\",\"type\":\"boolean\",\"value\":[]}",
       "'include_classes' has type java.lang.String[]"},
      {"{\"name\":\"include_classes\",\"value\":\"a.B\"}",
       "'include_classes' must be an array of strings or null"},
      {"{\"name\":\"exclude_prefixes\",\"value\":[\"a\",1]}",
       "'exclude_prefixes' must be an array of strings or null"},
      {"{\"name\":\"merge_ancestry\",\"name\":\"x\",\"value\":true}", "argument 0: 'name' is given twice"},
      {"{\"name\":\"merge_ancestry\",\"value\":true},{\"name\":\"merge_ancestry\",\"value\":true}",
       "'merge_ancestry' is given twice"},
  };
  char params[512];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(params, sizeof params, "{\"method\":\"fetch_classes_info\",\"args\":[%s]}", cases[i].argument);
    params_check_errors(*state,
                        &(struct params_error){"meta", params, FAILURE_INVALID_PARAMS, cases[i].message}, 1);
  }
}

static void test_unknown_service_is_unsupported(void **state)
{
  struct params_bench *bench = *state;
  assert_int_not_equal(params_decode(bench, "meta", "{\"method\":\"fetch\"}"), JP_OK);
  assert_text(bench->outcome.status, "UNSUPPORTED");
  assert_int_not_equal(params_decode(bench, "meta", "{}"), JP_OK);
  assert_null(bench->outcome.status.data);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_methods_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_meta_arguments_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_requests_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_meta_arguments_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_unknown_service_is_unsupported, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
