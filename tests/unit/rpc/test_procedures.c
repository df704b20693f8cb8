/* The table of procedures: what the contract says of names, order of parameters and safety. */
#include "rpc/procedures.h"
#include "tests/unit/unit.h"

#include <stdio.h>

/* The ordered parameters, required ones with a star; those that have no position behind a bar. */
static const struct expected {
  const char *name;
  const char *params;
  enum rpc_safety safety;
} expected[] = {
    {"new", "type:str* args:arr |encoding:str", RPC_SAFE_NEVER},
    {"call", "type:str* method:str* instance:num args:arr |encoding:str", RPC_SAFE_NEVER},
    {"get", "type:str* field:str* instance:num |encoding:str", RPC_SAFE_ALWAYS},
    {"put", "type:str* field:str* value:any* instance:num", RPC_SAFE_NEVER},
    {"control", "method:str* args:arr", RPC_SAFE_PING},
    {"meta", "method:str* args:arr", RPC_SAFE_ALWAYS},
    {"system.describe", "", RPC_SAFE_ALWAYS},
};

static void show_params(const struct rpc_procedure *procedure, char *out)
{
  out[0] = '\0';
  for (size_t i = 0; i < procedure->param_count; i++) {
    const struct rpc_procedure_param *param = &procedure->params[i];
    out += sprintf(out, "%s%s%.*s:%.*s%s", i > 0 ? " " : "", param->by_name_only ? "|" : "",
                   TEXT_ARGS(rpc_param_names[param->param]), TEXT_ARGS(rpc_wants_word(param->wants)),
                   param->required ? "*" : "");
  }
}

static void has_the_procedures_of_the_contract(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(expected); i++) {
    const struct rpc_procedure *procedure = rpc_procedure_find(text_of(expected[i].name));
    assert_non_null(procedure);
    char shown[256];
    show_params(procedure, shown);
    assert_string_equal(shown, expected[i].params);
    assert_int_equal(procedure->safety, expected[i].safety);
  }
}

static void says_something_of_everything(void **state)
{
  (void)state;
  for (size_t i = 0; i < rpc_procedure_count; i++) {
    assert_non_null(rpc_procedures[i].summary);
    for (size_t j = 0; j < rpc_procedures[i].param_count; j++)
      assert_non_null(rpc_procedures[i].params[j].summary);
  }
}

static void knows_no_other_names(void **state)
{
  (void)state;
  static const char *const names[] = {"", "Call", "call ", "cal", "system.Describe", "system.", "calls"};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    assert_null(rpc_procedure_find(text_of(names[i])));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_the_procedures_of_the_contract),
      cmocka_unit_test(says_something_of_everything),
      cmocka_unit_test(knows_no_other_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
