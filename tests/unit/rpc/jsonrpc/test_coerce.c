/* What JSON-RPC 1.1 makes of values and of params: each case is JSON in, JSON out. */
#include "rpc/jsonrpc/coerce.h"
#include "tests/unit/unit.h"

#include "base/buffer.h"

static struct arena arena;

static int set_up(void **state)
{
  (void)state;
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  arena_fini(&arena);
  return 0;
}

static struct json_value parse(const char *json)
{
  struct json_fault fault;
  assert_int_equal(json_validate(text_of(json), (struct json_limits){32}, TEXT(""), &fault), JP_OK);
  return json_root(text_of(json));
}

static const struct value_case {
  const char *json;
  enum rpc_wants wants;
  const char *near;
} values[] = {
    {"\"42\"", RPC_WANTS_NUMBER, "42"},
    {"\"-1.5e3\"", RPC_WANTS_NUMBER, "-1.5e3"},
    {"\"\\u0034\"", RPC_WANTS_NUMBER, "4"},
    {"true", RPC_WANTS_NUMBER, "1"},
    {"false", RPC_WANTS_NUMBER, "0"},
    {"\"\"", RPC_WANTS_NUMBER, "\"\""},
    {"\" 4\"", RPC_WANTS_NUMBER, "\" 4\""},
    {"\"4l\"", RPC_WANTS_NUMBER, "\"4l\""},
    {"\"0x4\"", RPC_WANTS_NUMBER, "\"0x4\""},
    {"[4]", RPC_WANTS_NUMBER, "[4]"},
    {"42", RPC_WANTS_TEXT, "\"42\""},
    {"1.50", RPC_WANTS_TEXT, "\"1.50\""},
    {"true", RPC_WANTS_TEXT, "\"true\""},
    {"{}", RPC_WANTS_TEXT, "{}"},
    {"\"true\"", RPC_WANTS_BOOLEAN, "true"},
    {"\"false\"", RPC_WANTS_BOOLEAN, "false"},
    {"\"1\"", RPC_WANTS_BOOLEAN, "true"},
    {"1", RPC_WANTS_BOOLEAN, "true"},
    {"0", RPC_WANTS_BOOLEAN, "false"},
    {"2", RPC_WANTS_BOOLEAN, "2"},
    {"\"TRUE\"", RPC_WANTS_BOOLEAN, "\"TRUE\""},
    {"\"x\"", RPC_WANTS_LIST, "[\"x\"]"},
    {"{\"ref\":1}", RPC_WANTS_LIST, "[{\"ref\":1}]"},
    {"[1,2]", RPC_WANTS_LIST, "[1,2]"},
    {"[]", RPC_WANTS_LIST, "[]"},
    {"5", RPC_WANTS_ANY, "5"},
    {"\"5\"", RPC_WANTS_ANY, "\"5\""},
};

static void brings_values_near(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    struct json_value near;
    assert_int_equal(rpc_value_coerce(parse(values[i].json), values[i].wants, &arena, &near), JP_OK);
    unit_assert_text(near.span, text_of(values[i].near), __FILE__, __LINE__);
    assert_int_equal(near.kind, parse(values[i].near).kind);
  }
}

/* The members that a call comes to, as name=value, or what is wrong with it. */
static const struct call_case {
  const char *procedure;
  const char *params;
  const char *members;
} calls[] = {
    {"call", "{\"type\":\"T\",\"method\":\"m\",\"args\":[1]}", "type=\"T\" method=\"m\" args=[1] "},
    {"call", "{\"1\":\"m\",\"args\":[1],\"0\":\"T\"}", "type=\"T\" method=\"m\" args=[1] "},
    {"call", "[\"T\",\"m\",null,[1]]", "type=\"T\" method=\"m\" args=[1] "},
    {"call", "[\"T\",\"m\",\"7\",5]", "type=\"T\" method=\"m\" instance=7 args=[5] "},
    {"call", "[\"T\",\"m\",7,[],\"extra\",\"more\"]", "type=\"T\" method=\"m\" instance=7 args=[] "},
    {"call", "{\"0\":\"T\",\"4\":\"base64\",\"99999999999999999999\":1,\"encoding\":\"base64\"}",
     "type=\"T\" encoding=\"base64\" "},
    {"call", "{\"00\":\"T\",\"0001\":\"m\"}", "type=\"T\" method=\"m\" "},
    {"call", "{\"t\\u0079pe\":\"T\",\"Type\":\"U\",\"field\":\"f\"}", "type=\"T\" "},
    {"call", "{\"type\":null,\"0\":\"T\"}", "type=\"T\" "},
    {"call", "{\"type\":\"T\",\"0\":\"U\"}", "'type' is given twice in params"},
    {"call", "{\"type\":\"T\",\"type\":\"T\"}", "'type' is given twice in params"},
    {"put", "[\"T\",\"f\",{\"ref\":1},2]", "type=\"T\" field=\"f\" instance=2 value={\"ref\":1} "},
    {"new", "[\"T\",[1]]", "type=\"T\" args=[1] "},
    {"control", "[5]", "method=\"5\" "},
    {"control", "{}", ""},
    {"meta", "[]", ""},
};

static void show(const struct json_members *members, struct buffer *out)
{
  for (int i = 0; i < RPC_PARAMS; i++) {
    if (members->has[i])
      buffer_printf(out, "%.*s=%.*s ", TEXT_ARGS(rpc_param_names[i]), TEXT_ARGS(members->value[i].span));
  }
}

static void puts_params_in_their_places(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(calls); i++) {
    struct json_members members = {0};
    struct outcome outcome;
    struct buffer shown;
    buffer_init(&shown);
    const struct rpc_procedure *procedure = rpc_procedure_find(text_of(calls[i].procedure));
    if (rpc_params_coerce(procedure, parse(calls[i].params), &arena, &members, &outcome) == JP_OK)
      show(&members, &shown);
    else
      buffer_append_text(&shown, outcome.message);
    unit_assert_text(buffer_text(&shown), text_of(calls[i].members), __FILE__, __LINE__);
    buffer_fini(&shown);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(brings_values_near, set_up, tear_down),
      cmocka_unit_test_setup_teardown(puts_params_in_their_places, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
