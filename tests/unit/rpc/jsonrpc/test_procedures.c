/* The table of procedures: what the contract says of names, order of parameters and safety. */
#include "rpc/jsonrpc/procedures.h"
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
    {"control", "method:str* args:arr", RPC_SAFE_BY_CONTROL},
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

UNIT_TEST(has_the_procedures_of_the_contract)
{
  for (size_t i = 0; i < COUNT_OF(expected); i++) {
    const struct rpc_procedure *procedure = rpc_procedure_find(text_of(expected[i].name));
    assert_non_null(procedure);
    char shown[256];
    show_params(procedure, shown);
    assert_string_equal(shown, expected[i].params);
    assert_int_equal(procedure->safety, expected[i].safety);
  }
}

static bool has_only(struct text name, const char *characters)
{
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] == '\0' || strchr(characters, name.data[i]) == NULL)
      return false;
  }
  return name.len > 0;
}

/* JSON-RPC 1.1, 11. A name of digits would be a position (6.2.1). */
UNIT_TEST(keeps_names_to_their_characters)
{
  static const char parameters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  static const char procedures[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-";
  for (size_t i = 0; i < rpc_procedure_count; i++)
    assert_true(has_only(rpc_procedures[i].name, procedures));
  for (size_t i = 0; i < RPC_PARAMS; i++) {
    assert_true(has_only(rpc_param_names[i], parameters));
    assert_false(has_only(rpc_param_names[i], "0123456789"));
  }
}

UNIT_MAIN
