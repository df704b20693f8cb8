#include "rpc/jsonrpc/coerce.h"

#include "base/number.h"

enum { NO_PARAM = -1 };

static enum jp_status enclose_text(struct json_value value, const char *format, enum json_kind kind,
                                   struct arena *arena, struct json_value *near)
    __attribute__((format(printf, 2, 0)));

/* Puts the value's text between brackets or quotes. Neither a number nor a literal needs an escape. */
static enum jp_status enclose_text(struct json_value value, const char *format, enum json_kind kind,
                                   struct arena *arena, struct json_value *near)
{
  *near = (struct json_value){.kind = kind, .span = arena_printf(arena, format, TEXT_ARGS(value.span))};
  return near->span.data == NULL ? JP_NO_MEMORY : JP_OK;
}

static bool is_boolean(struct json_value value)
{
  return value.kind == JSON_KIND_TRUE || value.kind == JSON_KIND_FALSE;
}

static enum jp_status make_text(struct json_value value, struct arena *arena, struct json_value *near)
{
  if (value.kind == JSON_KIND_NUMBER || is_boolean(value))
    return enclose_text(value, "\"%.*s\"", JSON_KIND_STRING, arena, near);
  return JP_OK;
}

static enum jp_status make_number(struct json_value value, struct arena *arena, struct json_value *near)
{
  if (is_boolean(value)) {
    *near = (struct json_value){.kind = JSON_KIND_NUMBER,
                                .span = value.kind == JSON_KIND_TRUE ? TEXT("1") : TEXT("0")};
  } else if (value.kind == JSON_KIND_STRING) {
    struct text content = json_read_string(value, arena);
    struct number number;
    if (content.data == NULL)
      return JP_NO_MEMORY;
    if (number_parse(content, &number) && number.suffix == 0)
      *near = (struct json_value){.kind = JSON_KIND_NUMBER, .span = content};
  }
  return JP_OK;
}

static enum jp_status make_boolean(struct json_value value, struct arena *arena, struct json_value *near)
{
  struct text content = value.span;
  if (value.kind == JSON_KIND_STRING)
    content = json_read_string(value, arena);
  else if (value.kind != JSON_KIND_NUMBER)
    return JP_OK;
  if (content.data == NULL)
    return JP_NO_MEMORY;
  if (text_equal(content, TEXT("true")) || text_equal(content, TEXT("1")))
    *near = (struct json_value){.kind = JSON_KIND_TRUE, .span = TEXT("true")};
  else if (text_equal(content, TEXT("false")) || text_equal(content, TEXT("0")))
    *near = (struct json_value){.kind = JSON_KIND_FALSE, .span = TEXT("false")};
  return JP_OK;
}

static enum jp_status make_list(struct json_value value, struct arena *arena, struct json_value *near)
{
  return value.kind == JSON_KIND_ARRAY ? JP_OK : enclose_text(value, "[%.*s]", JSON_KIND_ARRAY, arena, near);
}

enum jp_status rpc_value_coerce(struct json_value value, enum rpc_wants wants, struct arena *arena,
                                struct json_value *near)
{
  static enum jp_status (*const makers[])(struct json_value value, struct arena * arena,
                                          struct json_value * near) = {
      [RPC_WANTS_TEXT] = make_text, [RPC_WANTS_NUMBER] = make_number, [RPC_WANTS_BOOLEAN] = make_boolean,
      [RPC_WANTS_LIST] = make_list, [RPC_WANTS_OBJECT] = NULL,
  };
  *near = value;
  return makers[wants] == NULL ? JP_OK : makers[wants](value, arena, near);
}

/* ---- params ---- */

struct placing {
  const struct rpc_procedure *procedure;
  struct arena *arena;
  struct json_members *members;
  struct outcome *outcome;
};

static enum jp_status fail_memory(struct placing *placing)
{
  outcome_fail(placing->outcome, placing->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

/* index NO_PARAM: the procedure has no such parameter; the value is dropped. */
static enum jp_status place_param(struct placing *placing, int index, struct json_value value)
{
  if (index == NO_PARAM || value.kind == JSON_KIND_NULL)
    return JP_OK;
  const struct rpc_procedure_param *param = &placing->procedure->params[index];
  if (placing->members->has[param->param]) {
    outcome_fail(placing->outcome, placing->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is given twice in params", rpc_param_names[param->param].data);
    return JP_INVALID;
  }
  placing->members->has[param->param] = true;
  enum jp_status status =
      rpc_value_coerce(value, param->wants, placing->arena, &placing->members->value[param->param]);
  return status == JP_OK ? JP_OK : fail_memory(placing);
}

static int param_at(const struct rpc_procedure *procedure, size_t position)
{
  bool is_there = position < procedure->param_count && !procedure->params[position].by_name_only;
  return is_there ? (int)position : NO_PARAM;
}

/* A name that has only digits is a position (JSON-RPC 1.1, 6.2.1). */
static bool is_position(struct text name)
{
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] < '0' || name.data[i] > '9')
      return false;
  }
  return name.len > 0;
}

static size_t read_position(struct text digits)
{
  size_t position = 0;
  for (size_t i = 0; i < digits.len && position < RPC_PROCEDURE_PARAMS_MAX; i++)
    position = position * 10 + (size_t)(digits.data[i] - '0');
  return position;
}

static int find_param(const struct rpc_procedure *procedure, struct text name)
{
  if (is_position(name))
    return param_at(procedure, read_position(name));
  for (size_t i = 0; i < procedure->param_count; i++) {
    if (text_equal(rpc_param_names[procedure->params[i].param], name))
      return (int)i;
  }
  return NO_PARAM;
}

static enum jp_status place_elements(struct placing *placing, struct json_value params)
{
  struct json_cursor cursor = json_enter(params);
  struct json_value value;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && json_next_element(&cursor, &value); i++)
    status = place_param(placing, param_at(placing->procedure, i), value);
  return status;
}

static enum jp_status place_members(struct placing *placing, struct json_value params)
{
  struct json_cursor cursor = json_enter(params);
  struct text raw_key;
  struct json_value value;
  enum jp_status status = JP_OK;
  while (status == JP_OK && json_next_member(&cursor, &raw_key, &value)) {
    struct text name = json_unescape(raw_key, placing->arena);
    status = name.data == NULL ? fail_memory(placing)
                               : place_param(placing, find_param(placing->procedure, name), value);
  }
  return status;
}

enum jp_status rpc_params_coerce(const struct rpc_procedure *procedure, struct json_value params,
                                 struct arena *arena, struct json_members *members, struct outcome *outcome)
{
  struct placing placing = {procedure, arena, members, outcome};
  return params.kind == JSON_KIND_ARRAY ? place_elements(&placing, params) : place_members(&placing, params);
}
