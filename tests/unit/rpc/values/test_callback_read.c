/* Callbacks as arguments of requests: reading them, refusing them, and counting them. */
#include "base/buffer.h"
#include "rpc/values/callback_scan.h"
#include "rpc/values/value_read.h"
#include "tests/unit/rpc/params_bench.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define GIVEN(rest) "{\"ref\":{\"callback\":7}" rest "}"

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

static void test_callbacks_are_read(void **state)
{
  static const struct {
    const char *argument;
    const char *wanted;
  } cases[] = {
      {GIVEN(""), "call7"},
      {"{\"ref\":{\"callback\":9223372036854775807}}", "call9223372036854775807"},
      {"{\"type\":\"java.util.Comparator\",\"ref\":{\"callback\":1}}", "(java.util.Comparator)call1"},
      {GIVEN(",\"interfaces\":[\"a.B\",\"c.\\u0044\"]"), "call7 of a.B+c.D"},
      {GIVEN(",\"arity\":0"), "call7 arity 0"},
      {GIVEN(",\"arity\":255"), "call7 arity 255"},
      {GIVEN(",\"overrides\":[\"reversed\",\"x\"]"), "call7 over reversed+x"},
      {GIVEN(",\"oneway\":true"), "call7 oneway"},
      {GIVEN(",\"borrow\":true"), "call7 borrow"},
      {GIVEN(",\"borrow\":true,\"oneway\":false"), "call7 borrow"},
      {GIVEN(",\"encoding\":1,\"other\":{\"callback\":8}"), "call7"},
      {"[" GIVEN("") ",{\"a\":" GIVEN("") "}]", "[call7,{a=call7}]"},
      {"{\"value\":[" GIVEN("") "]}", "[call7]"},
      /* inside "value" an object is a map */
      {"{\"value\":" GIVEN("") "}", "{ref={callback=7}}"},
      {"{\"interfaces\":[\"a.B\"]}", "{interfaces=['a.B']}"},
      {"{\"type\":\"T[]\",\"value\":[" GIVEN("") "]}", "(T[])[call7]"},
      {"{\"type\":\"int[][]\",\"value\":[" GIVEN("") "]}", "(int[][])[call7]"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_argument(*state, cases[i].argument, cases[i].wanted);
}

#define NO_CALLBACK                                                                                          \
  "argument 1: a callback is {\"callback\":ID} and nothing else, where ID is an integer from 1"
#define NO_REF "argument 1: 'ref' must be an integer from 1 to 2147483647"

static void test_wrong_callbacks_are_refused(void **state)
{
  static const struct {
    const char *argument;
    const char *message;
  } cases[] = {
      {"{\"ref\":{\"callback\":0}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":-1}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":1.5}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":1l}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":9223372036854775808}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":\"1\"}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":null}}", NO_CALLBACK},
      {"{\"ref\":{}}", NO_REF},
      {"{\"ref\":{\"callbacks\":1}}", NO_REF},
      {"{\"ref\":{\"callback\":1,\"oneway\":true}}", NO_CALLBACK},
      {"{\"ref\":{\"callback\":1,\"callback\":1}}", NO_CALLBACK},
      {"{\"ref\":[1]}", NO_REF},
      {GIVEN(",\"value\":1"), "argument 1: has both 'value' and 'ref'"},
      {GIVEN(",\"type\":\"T\",\"interfaces\":[\"a.B\"]"), "argument 1: has both 'type' and 'interfaces'"},
      {GIVEN(",\"type\":\"\""), "argument 1: 'type' is empty"},
      {GIVEN(",\"interfaces\":[]"), "argument 1: 'interfaces' is empty"},
      {GIVEN(",\"interfaces\":\"a.B\""), "argument 1: 'interfaces' must be a list of strings"},
      {GIVEN(",\"interfaces\":[\"a.B\",1]"), "argument 1: 'interfaces' must be a list of strings"},
      {GIVEN(",\"interfaces\":[\"\"]"), "argument 1: 'interfaces' has an empty string"},
      {GIVEN(",\"overrides\":[null]"), "argument 1: 'overrides' must be a list of strings"},
      {GIVEN(",\"overrides\":[]"), "argument 1: 'overrides' is empty"},
      {GIVEN(",\"arity\":-1"), "argument 1: 'arity' must be an integer from 0 to 255"},
      {GIVEN(",\"arity\":256"), "argument 1: 'arity' must be an integer from 0 to 255"},
      {GIVEN(",\"arity\":2.0"), "argument 1: 'arity' must be an integer from 0 to 255"},
      {GIVEN(",\"arity\":2l"), "argument 1: 'arity' must be an integer from 0 to 255"},
      {GIVEN(",\"arity\":null"), "argument 1: 'arity' must be an integer from 0 to 255"},
      {GIVEN(",\"oneway\":1"), "argument 1: 'oneway' must be a boolean"},
      {GIVEN(",\"borrow\":null"), "argument 1: 'borrow' must be a boolean"},
      {GIVEN(",\"borrow\":true,\"borrow\":true"), "argument 1: 'borrow' is given twice"},
      {GIVEN(",\"ref\":1"), "argument 1: 'ref' is given twice"},
      {GIVEN(",\"oneway\":true,\"borrow\":true"),
       "argument 1: 'borrow' is not for a 'oneway' callback, whose calls have no answer"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    params_check_wrong_argument(*state, cases[i].argument, cases[i].message);
}

static void test_lists_of_names_have_a_limit(void **state)
{
  struct params_bench *bench = *state;
  for (size_t count = 256; count <= 257; count++) {
    struct buffer params;
    buffer_init(&params);
    BUFFER_LITERAL(&params, "{\"type\":\"C\",\"args\":[{\"ref\":{\"callback\":1},\"interfaces\":[\"i\"");
    for (size_t i = 1; i < count; i++)
      BUFFER_LITERAL(&params, ",\"i\"");
    BUFFER_LITERAL(&params, "]}]}");
    buffer_append_char(&params, '\0');
    enum jp_status status = params_decode(bench, "new", params.data);
    assert_int_equal(status, count == 256 ? JP_OK : JP_INVALID);
    if (status == JP_OK)
      assert_int_equal(bench->operation.args[0].callback->interface_count, 256);
    else
      assert_true(
          text_equal(bench->outcome.message, TEXT("argument 0: 'interfaces' has more than 256 names")));
    buffer_fini(&params);
  }
}

static void test_who_can_only_be_answered_gives_none(void **state)
{
  struct params_bench *bench = *state;
  bench->refuses_callbacks = true;
  params_check_wrong_argument(bench, GIVEN(""),
                              "argument 1: a callback needs a connection on which both sides may speak at "
                              "any time, as over WebSocket");
  params_check_wrong_argument(bench, "{\"ref\":{\"callback\":0}}", NO_CALLBACK);
}

static void test_who_takes_them_may_refuse(void **state)
{
  params_check_errors(*state,
                      &(struct params_error){"new",
                                             "{\"type\":\"C\",\"args\":[{\"ref\":{\"callback\":404}}]}",
                                             FAILURE_SERVER, "argument 0: too many"},
                      1);
}

static void test_an_instance_is_none(void **state)
{
  static const struct params_error cases[] = {
      {"call", "{\"type\":\"C\",\"method\":\"m\",\"instance\":{\"ref\":{\"callback\":7}}}",
       FAILURE_INVALID_PARAMS, "instance: a callback is no object of Java's"},
      {"control", "{\"method\":\"delete_object\",\"args\":[{\"ref\":{\"callback\":7}}]}",
       FAILURE_INVALID_PARAMS, "Missing object ref for delete_object request: argument 0 is no {\"ref\": N}"},
  };
  params_check_errors(*state, cases, COUNT_OF(cases));
}

/* ---- counting ---- */

static void note_id(void *context, int64_t id)
{
  buffer_printf(context, "%lld ", (long long)id);
}

static void test_scans_find_what_reading_takes(void **state)
{
  static const struct {
    const char *params;
    const char *wanted;
    bool is_read; /* and then gives as many */
  } cases[] = {
      {"{\"type\":\"C\",\"args\":[" GIVEN("") ",5,{\"type\":\"T\",\"ref\":{\"callback\":8}}]}", "7 8 ", true},
      {"{\"type\":\"C\",\"args\":[[" GIVEN("") "],{\"k\":" GIVEN("") "}]}", "7 7 ", true},
      {"{\"type\":\"C\",\"args\":[{\"value\":[" GIVEN("") "]},{\"value\":" GIVEN("") "}]}", "7 ", true},
      {"{\"type\":\"C\",\"args\":[{\"type\":\"L\",\"value\":{\"ref\":" GIVEN("") "}}]}", "7 ", true},
      {"{\"type\":\"C\",\"args\":[{\"ref\":5},{\"ref\":{\"k\":{\"callback\":1}}}]}", "", false},
      {"{\"type\":\"C\",\"args\":[{\"ref\":0}," GIVEN("") "]}", "7 ", false},
      {"{\"type\":\"C\",\"args\":[" GIVEN(",\"oneway\":5") "," GIVEN("") "]}", "7 7 ", false},
      {"{\"args\":[" GIVEN("") "],\"value\":" GIVEN("") "}", "7 7 ", false},
      {"[{\"ref\":{\"callback\":3}},{\"callback\":4}]", "3 ", false},
      {"{\"type\":\"C\",\"args\":[]}", "", true},
  };
  struct params_bench *bench = *state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct json_fault fault;
    struct buffer found;
    buffer_init(&found);
    enum jp_status status = params_decode(bench, "new", cases[i].params);
    rpc_callbacks_scan(json_root(text_of(cases[i].params)), note_id, &found);
    buffer_append_char(&found, '\0');
    assert_string_equal(found.data, cases[i].wanted);
    assert_int_equal(status == JP_OK, cases[i].is_read);
    if (status == JP_OK)
      assert_int_equal(bench->callbacks, strlen(cases[i].wanted) / 2);
    assert_int_equal(json_validate(text_of(cases[i].params), (struct json_limits){10}, TEXT(""), &fault),
                     JP_OK);
    buffer_fini(&found);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_callbacks_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_callbacks_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_lists_of_names_have_a_limit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_who_can_only_be_answered_gives_none, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_who_takes_them_may_refuse, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_instance_is_none, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_scans_find_what_reading_takes, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
