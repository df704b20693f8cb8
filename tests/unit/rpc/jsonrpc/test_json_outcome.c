/* Outcome in, JSON out, as text, in the plain dialect and with --compat pal. */
#include "rpc/jsonrpc/json_outcome.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

struct bench {
  struct buffer out;
  struct buffer scratch;
  struct arena arena;
};

static int set_up(void **state)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  buffer_init(&bench->out);
  buffer_init(&bench->scratch);
  arena_init(&bench->arena);
  *state = bench;
  return 0;
}

static int tear_down(void **state)
{
  struct bench *bench = *state;
  buffer_fini(&bench->out);
  buffer_fini(&bench->scratch);
  arena_fini(&bench->arena);
  test_free(bench);
  return 0;
}

static const struct rpc_reached_member from_method = {
    .class_name = TEXT("com.example.A"), .member = TEXT("add"), .modifiers = 9};
static const struct rpc_reached_member from_field = {
    .class_name = TEXT("com.example.A"), .member = TEXT("count"), .is_field = true, .modifiers = 2};
static const struct rpc_reached_member from_nowhere = {.class_name = TEXT_ABSENT};

static void check_result(struct bench *bench, const struct outcome *outcome, bool compat_pal,
                         const struct rpc_reached_member *from, const char *wanted)
{
  struct rpc_answer answer = {
      .request_id = TEXT("1"), .compat_pal = compat_pal, .from = from, .scratch = &bench->scratch};
  buffer_clear(&bench->out);
  rpc_result_write(&bench->out, outcome, &answer);
  unit_assert_text(buffer_text(&bench->out), text_of(wanted), __FILE__, __LINE__);
}

/* ---- values ---- */

static const uint8_t booleans[] = {1, 0};
static const int8_t bytes[] = {-128, 127};
static const uint16_t chars[] = {'a', '"', 0xD800};
static const int16_t shorts[] = {-32768, 5};
static const int32_t ints[] = {5, 6, 7};
static const int64_t longs[] = {INT64_MIN, 0};
static const float floats[] = {1.5f, NAN};
static const double doubles[] = {0.1, -INFINITY, 1e10};
static struct op_value strings[] = {{.kind = OP_TEXT, .text = TEXT("a\"b")}, {.kind = OP_NULL}};
static struct op_value boxes[] = {{.kind = OP_INTEGER, .integer = 1},
                                  {.kind = OP_DOUBLE, .decimal = NAN},
                                  {.kind = OP_BOOLEAN, .boolean = true},
                                  {.kind = OP_CHAR, .integer = 'x'},
                                  {.kind = OP_FLOAT, .decimal = 2.5}};

#define PACKED(letter, array)                                                                                \
  {                                                                                                          \
    .kind = OP_PACKED, .packed = {.data = (array), .count = COUNT_OF(array), .element = (letter) }           \
  }

static const struct {
  const char *type;
  struct op_value value;
  const char *plain;  /* what stands for value */
  const char *compat; /* NULL: the same */
} value_cases[] = {
    {"int", {.kind = OP_INTEGER, .integer = 8}, "\"8\"", NULL},
    {"long", {.kind = OP_INTEGER, .integer = INT64_MIN}, "\"-9223372036854775808\"", NULL},
    {"boolean", {.kind = OP_BOOLEAN, .boolean = true}, "\"true\"", NULL},
    {"java.lang.Boolean", {.kind = OP_BOOLEAN, .boolean = false}, "\"false\"", NULL},
    {"double", {.kind = OP_DOUBLE, .decimal = 8}, "\"8.0\"", NULL},
    {"double", {.kind = OP_DOUBLE, .decimal = 0.1}, "\"0.1\"", NULL},
    {"double", {.kind = OP_DOUBLE, .decimal = 1e10}, "\"1.0E10\"", NULL},
    {"double", {.kind = OP_DOUBLE, .decimal = NAN}, "\"NaN\"", NULL},
    {"double", {.kind = OP_DOUBLE, .decimal = -INFINITY}, "\"-Infinity\"", NULL},
    {"float", {.kind = OP_FLOAT, .decimal = 0.1f}, "\"0.1\"", NULL},
    {"char", {.kind = OP_CHAR, .integer = 'A'}, "\"A\"", "\"\\\"A\\\"\""},
    {"char", {.kind = OP_CHAR, .integer = 0xE9}, "\"\xC3\xA9\"", "\"\\\"\xC3\xA9\\\"\""},
    {"char", {.kind = OP_CHAR, .integer = 0xD800}, "\"\\ud800\"", "\"\\\"\\\\ud800\\\"\""},
    {"java.lang.String", {.kind = OP_TEXT, .text = TEXT("hello")}, "\"hello\"", "\"\\\"hello\\\"\""},
    {"java.lang.String", {.kind = OP_TEXT, .text = TEXT("")}, "\"\"", "\"\\\"\\\"\""},
    {"java.lang.String",
     {.kind = OP_TEXT, .text = TEXT("a\"\n")},
     "\"a\\\"\\n\"",
     "\"\\\"a\\\\\\\"\\\\n\\\"\""},
};

static const struct {
  const char *type;
  struct op_value value;
  const char *text;
} array_cases[] = {
    {"[Z", PACKED('Z', booleans), "[true,false]"},
    {"[B", PACKED('B', bytes), "[-128,127]"},
    {"[C", PACKED('C', chars), "[\\\"a\\\",\\\"\\\\\\\"\\\",\\\"\\\\ud800\\\"]"},
    {"[S", PACKED('S', shorts), "[-32768,5]"},
    {"[I", PACKED('I', ints), "[5,6,7]"},
    {"[J", PACKED('J', longs), "[-9223372036854775808,0]"},
    {"[F", PACKED('F', floats), "[1.5,\\\"NaN\\\"]"},
    {"[D", PACKED('D', doubles), "[0.1,\\\"-Infinity\\\",1.0E10]"},
    {"[I", {.kind = OP_PACKED, .packed = {ints, 0, 'I'}}, "[]"},
    {"[Ljava.lang.String;", {.kind = OP_LIST, .list = {strings, 2}}, "[\\\"a\\\\\\\"b\\\",null]"},
    {"[Ljava.lang.Object;", {.kind = OP_LIST, .list = {boxes, 5}}, "[1,\\\"NaN\\\",true,\\\"x\\\",2.5]"},
};

static void test_values(void **state)
{
  char wanted[512];
  for (size_t i = 0; i < COUNT_OF(value_cases); i++) {
    struct outcome outcome = {.kind = OUTCOME_VALUE,
                              .type = text_of(value_cases[i].type),
                              .has_value = true,
                              .value = value_cases[i].value};
    snprintf(wanted, sizeof wanted,
             "{\"void\":false,\"value\":{\"type\":\"%s\",\"null\":false,\"value\":%s}}", value_cases[i].type,
             value_cases[i].plain);
    check_result(*state, &outcome, false, &from_method, wanted);
    snprintf(wanted, sizeof wanted,
             "{\"void\":false,\"value\":{\"type\":\"%s\",\"null\":false,\"value\":%s}}", value_cases[i].type,
             value_cases[i].compat == NULL ? value_cases[i].plain : value_cases[i].compat);
    check_result(*state, &outcome, true, NULL, wanted);
  }
}

static void test_arrays_have_ref_and_text(void **state)
{
  char wanted[512];
  for (size_t i = 0; i < COUNT_OF(array_cases); i++) {
    struct outcome outcome = {.kind = OUTCOME_VALUE,
                              .type = text_of(array_cases[i].type),
                              .ref = 9,
                              .has_value = true,
                              .value = array_cases[i].value};
    snprintf(wanted, sizeof wanted,
             "{\"void\":false,\"value\":{\"type\":\"%s\",\"null\":false,\"ref\":9,\"value\":\"%s\"}}",
             array_cases[i].type, array_cases[i].text);
    check_result(*state, &outcome, false, &from_method, wanted);
    check_result(*state, &outcome, true, &from_nowhere, wanted);
  }
}

static void test_bytes_as_base64(void **state)
{
  struct outcome outcome = {
      .kind = OUTCOME_VALUE, .type = TEXT("[B"), .ref = 3, .has_value = true, .value = PACKED('B', bytes)};
  outcome.value.packed.form = OP_PACKED_BASE64;
  check_result(*state, &outcome, false, NULL,
               "{\"void\":false,\"value\":{\"type\":\"[B\",\"null\":false,\"ref\":3,\"value\":\"gH8=\"}}");
}

static void test_void_null_and_ref(void **state)
{
  const struct outcome nothing = {.kind = OUTCOME_VOID};
  const struct outcome null = {.kind = OUTCOME_VALUE, .type = TEXT("java.lang.String"), .is_null = true};
  const struct outcome object = {.kind = OUTCOME_VALUE, .type = TEXT("com.example.User"), .ref = 42};
  check_result(*state, &nothing, false, &from_method, "{\"void\":true}");
  check_result(*state, &null, false, NULL,
               "{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":true}}");
  check_result(*state, &object, false, NULL,
               "{\"void\":false,\"value\":{\"type\":\"com.example.User\",\"null\":false,\"ref\":42}}");
  check_result(*state, &nothing, true, &from_method,
               "{\"void\":true,\"from\":{\"class\":\"com.example.A\",\"method\":\"add\",\"modifiers\":9}}");
  check_result(*state, &null, true, &from_field,
               "{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":true},"
               "\"from\":{\"class\":\"com.example.A\",\"field\":\"count\",\"modifiers\":2}}");
  check_result(
      *state, &object, true, &from_nowhere,
      "{\"void\":false,\"value\":{\"type\":\"com.example.User\",\"null\":false,\"ref\":42,\"value\":\"\"}}");
}

/* ---- errors ---- */

static void check_data(struct bench *bench, const struct outcome *outcome, struct text id, bool compat_pal,
                       const char *wanted)
{
  struct rpc_answer answer = {.request_id = id, .compat_pal = compat_pal, .from = &from_method};
  buffer_clear(&bench->out);
  rpc_error_data_write(&bench->out, outcome, &answer);
  unit_assert_text(buffer_text(&bench->out), text_of(wanted), __FILE__, __LINE__);
}

static void test_error_data(void **state)
{
  struct bench *bench = *state;
  struct outcome outcome;
  outcome_fail(&outcome, &bench->arena, FAILURE_INVALID_PARAMS, NULL, "Type is missing in params");
  check_data(bench, &outcome, TEXT("\"a\\u0062\""), false,
             "{\"message\":\"Type is missing in params\",\"request_id\":\"a\\u0062\",\"stack_trace\":[],"
             "\"cause\":null}");
  check_data(
      bench, &outcome, TEXT("17"), false,
      "{\"message\":\"Type is missing in params\",\"request_id\":17,\"stack_trace\":[],\"cause\":null}");
  check_data(
      bench, &outcome, TEXT_ABSENT, false,
      "{\"message\":\"Type is missing in params\",\"request_id\":null,\"stack_trace\":[],\"cause\":null}");
  check_data(bench, &outcome, TEXT("7"), true,
             "{\"message\":\"Type is missing in params\",\"request_id\":7,\"requestId\":7,\"stack_trace\":[],"
             "\"from\":{\"class\":\"com.example.A\",\"method\":\"add\",\"modifiers\":9},\"cause\":null}");
  outcome.status = TEXT("UNSUPPORTED");
  check_data(bench, &outcome, TEXT("1"), false,
             "{\"message\":\"Type is missing in params\",\"request_id\":1,\"stack_trace\":[],"
             "\"status\":\"UNSUPPORTED\",\"cause\":null}");
}

static void test_throwables_are_told_with_their_causes(void **state)
{
  struct text frames[] = {TEXT("a.B.c(B.java:1)"), TEXT("a.B.d(\"\x01\")")};
  struct outcome_throwable deepest = {.type = TEXT("X"), .message = TEXT_ABSENT};
  struct outcome_throwable cause = {.type = TEXT("java.io.IOException"),
                                    .message = TEXT(""),
                                    .frames = frames,
                                    .frame_count = 1,
                                    .cause = &deepest};
  struct outcome_throwable top = {.frames = frames, .frame_count = 2, .cause = &cause};
  struct outcome outcome = {.kind = OUTCOME_ERROR,
                            .failure = FAILURE_SERVER,
                            .message = TEXT("/ by zero"),
                            .throwable_type = TEXT("java.lang.ArithmeticException"),
                            .throwable = &top};
  check_data(
      *state, &outcome, TEXT("\"1\""), false,
      "{\"throwable_type\":\"java.lang.ArithmeticException\",\"message\":\"/ by zero\",\"request_id\":\"1\","
      "\"stack_trace\":[\"a.B.c(B.java:1)\",\"a.B.d(\\\"\\u0001\\\")\"],\"cause\":"
      "{\"throwable_type\":\"java.io.IOException\",\"message\":\"\",\"request_id\":\"1\","
      "\"stack_trace\":[\"a.B.c(B.java:1)\"],\"cause\":"
      "{\"throwable_type\":\"X\",\"message\":null,\"request_id\":\"1\",\"stack_trace\":[],\"cause\":null}}}");
}

/* An answer that has it once more for each cause would be 33 times as long as its request. */
static void test_a_long_id_is_told_once(void **state)
{
  struct bench *bench = *state;
  enum { LENGTH = 100000, CAUSES = 31 };
  struct outcome_throwable causes[CAUSES];
  for (size_t i = 0; i < CAUSES; i++)
    causes[i] = (struct outcome_throwable){.type = TEXT("X"), .cause = i > 0 ? &causes[i - 1] : NULL};
  struct outcome_throwable top = {.cause = &causes[CAUSES - 1]};
  struct outcome outcome = {.kind = OUTCOME_ERROR, .message = TEXT("m"), .throwable = &top};
  char *id = test_malloc(LENGTH);
  memset(id, '7', LENGTH);
  struct rpc_answer answer = {.request_id = {id, LENGTH}};
  buffer_clear(&bench->out);
  rpc_error_data_write(&bench->out, &outcome, &answer);
  struct text written = buffer_text(&bench->out);
  assert_true(written.len > LENGTH && written.len < 2 * LENGTH);
  const char *cause = memmem(written.data, written.len, "\"X\"", 3);
  assert_memory_equal(cause + 3, ",\"message\":null,\"request_id\":null,", 34);
  test_free(id);
}

static void test_codes(void **state)
{
  (void)state;
  assert_int_equal(rpc_failure_code(FAILURE_INVALID_REQUEST), -32600);
  assert_int_equal(rpc_failure_code(FAILURE_NOT_FOUND), -32601);
  assert_int_equal(rpc_failure_code(FAILURE_INVALID_PARAMS), -32602);
  assert_int_equal(rpc_failure_code(FAILURE_INTERNAL), -32603);
  assert_int_equal(rpc_failure_code(FAILURE_SERVER), -32000);
  assert_int_equal(rpc_failure_code(FAILURE_DENIED), -32001);
}

static void test_body_frame(void **state)
{
  struct bench *bench = *state;
  struct rpc_answer answer = {.compat_pal = false};
  buffer_append_text(&bench->out, rpc_body_head(&answer));
  buffer_append_text(&bench->out, rpc_body_tail());
  assert_text(buffer_text(&bench->out),
              "{\"void\":false,\"value\":{\"type\":\"java.lang.String\",\"null\":false,"
              "\"value\":\"\",\"status\":\"OK\"}}");
  answer.compat_pal = true;
  assert_true(text_starts_with(rpc_body_head(&answer), TEXT("{\"void\":false,\"isVoid\":false,")));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_error_data, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_throwables_are_told_with_their_causes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_long_id_is_told_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_codes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_arrays_have_ref_and_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_bytes_as_base64, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_void_null_and_ref, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_body_frame, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
