#include "rpc/jsonrpc/coerce.h"
#include "rpc/jsonrpc/json_params.h"
#include "json/object_members.h"

enum meta_member { META_NAME, META_TYPE, META_VALUE, META_MEMBERS };

static const struct text member_names[META_MEMBERS] = {
    [META_NAME] = TEXT("name"),
    [META_TYPE] = TEXT("type"),
    [META_VALUE] = TEXT("value"),
};

enum meta_argument { META_COMPRESS_ENCODE, META_MERGE_ANCESTRY, META_EXCLUDE_PREFIXES, META_INCLUDE_CLASSES };

struct meta_reader {
  bool coerces;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;
};

static const struct meta_rule {
  struct text name;
  bool is_list;
} rules[] = {
    [META_COMPRESS_ENCODE] = {TEXT("compress_encode"), false},
    [META_MERGE_ANCESTRY] = {TEXT("merge_ancestry"), false},
    [META_EXCLUDE_PREFIXES] = {TEXT("exclude_prefixes"), true},
    [META_INCLUDE_CLASSES] = {TEXT("include_classes"), true},
};

enum { META_RULES = sizeof rules / sizeof rules[0] };

static const struct text boolean_types[] = {TEXT("boolean"), TEXT("java.lang.Boolean"), TEXT("Boolean")};
static const struct text list_types[] = {TEXT("java.lang.String[]"), TEXT("String[]"),
                                         TEXT("[Ljava.lang.String;")};

static enum jp_status fail_argument(struct meta_reader *reader, const struct meta_rule *rule,
                                    const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' %s", rule->name.data,
               what);
  return JP_INVALID;
}

static enum jp_status fail_index(struct meta_reader *reader, size_t index, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "argument %zu %s", index, what);
  return JP_INVALID;
}

static enum jp_status fail_memory(struct meta_reader *reader)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INTERNAL, NULL, "out of memory");
  return JP_NO_MEMORY;
}

static bool is_type(struct json_value json, const struct meta_rule *rule)
{
  if (json.kind != JSON_KIND_STRING)
    return false;
  const struct text *types = rule->is_list ? list_types : boolean_types;
  struct text raw = text_slice(json.span, 1, json.span.len - 1);
  for (size_t i = 0; i < 3; i++) {
    if (json_key_is(raw, types[i]))
      return true;
  }
  return false;
}

static enum jp_status coerce_value(const struct meta_reader *reader, enum rpc_wants wants,
                                   struct json_value *json)
{
  return reader->coerces ? rpc_value_coerce(*json, wants, reader->arena, json) : JP_OK;
}

static enum jp_status read_list(struct meta_reader *reader, const struct meta_rule *rule,
                                struct json_value json, struct text **list, size_t *count)
{
  if (json.kind == JSON_KIND_NULL)
    return JP_OK;
  if (coerce_value(reader, RPC_WANTS_LIST, &json) != JP_OK)
    return fail_memory(reader);
  if (json.kind != JSON_KIND_ARRAY)
    return fail_argument(reader, rule, "must be an array of strings or null");
  size_t length = json_count(json);
  struct text *items = arena_alloc(reader->arena, length * sizeof *items);
  if (items == NULL)
    return fail_memory(reader);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < length && json_next_element(&cursor, &element); i++) {
    if (coerce_value(reader, RPC_WANTS_TEXT, &element) != JP_OK)
      return fail_memory(reader);
    if (element.kind != JSON_KIND_STRING)
      return fail_argument(reader, rule, "must be an array of strings or null");
    items[i] = json_read_string(element, reader->arena);
    if (items[i].data == NULL)
      return fail_memory(reader);
  }
  *list = items;
  *count = length;
  return JP_OK;
}

static enum jp_status read_value(struct meta_reader *reader, enum meta_argument argument,
                                 struct json_value json)
{
  struct operation *operation = reader->operation;
  if (argument == META_EXCLUDE_PREFIXES)
    return read_list(reader, &rules[argument], json, &operation->meta.exclude_prefixes,
                     &operation->meta.exclude_count);
  if (argument == META_INCLUDE_CLASSES)
    return read_list(reader, &rules[argument], json, &operation->meta.include_classes,
                     &operation->meta.include_count);
  if (coerce_value(reader, RPC_WANTS_BOOLEAN, &json) != JP_OK)
    return fail_memory(reader);
  if (json.kind != JSON_KIND_TRUE && json.kind != JSON_KIND_FALSE)
    return fail_argument(reader, &rules[argument], "must be true or false");
  bool *flag =
      argument == META_COMPRESS_ENCODE ? &operation->meta.compress_encode : &operation->meta.merge_ancestry;
  *flag = json.kind == JSON_KIND_TRUE;
  return JP_OK;
}

static int find_rule(struct text raw)
{
  for (int i = 0; i < META_RULES; i++) {
    if (json_key_is(raw, rules[i].name))
      return i;
  }
  return -1;
}

static enum jp_status read_argument(struct meta_reader *reader, struct json_value json, size_t index,
                                    bool seen[META_RULES])
{
  if (json.kind != JSON_KIND_OBJECT)
    return fail_index(reader, index, "must be an object with 'name', 'type' and 'value'");
  struct json_members members;
  json_members_collect(json, member_names, META_MEMBERS, &members);
  if (members.repeated >= 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "argument %zu: '%s' is given twice", index, member_names[members.repeated].data);
    return JP_INVALID;
  }
  if (!members.has[META_NAME])
    return fail_index(reader, index, "has no 'name'");
  struct json_value name = members.value[META_NAME];
  int found = name.kind == JSON_KIND_STRING ? find_rule(text_slice(name.span, 1, name.span.len - 1)) : -1;
  if (found < 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "argument %zu: 'name' must be compress_encode, merge_ancestry, exclude_prefixes or "
                 "include_classes, not %.*s",
                 index, TEXT_ARGS(arena_shorten(reader->arena, name.span, OUTCOME_NAME_SHOWN)));
    return JP_INVALID;
  }
  if (seen[found])
    return fail_argument(reader, &rules[found], "is given twice");
  seen[found] = true;
  if (members.has[META_TYPE] && !is_type(members.value[META_TYPE], &rules[found]))
    return fail_argument(reader, &rules[found],
                         rules[found].is_list ? "has type java.lang.String[]" : "has type boolean");
  if (!members.has[META_VALUE])
    return fail_argument(reader, &rules[found], "has no 'value'");
  return read_value(reader, (enum meta_argument)found, members.value[META_VALUE]);
}

enum jp_status rpc_meta_args_decode(struct json_value args, bool coerces, struct arena *arena,
                                    struct operation *operation, struct outcome *outcome)
{
  struct meta_reader reader = {coerces, arena, operation, outcome};
  bool seen[META_RULES] = {false};
  struct json_cursor cursor = json_enter(args);
  struct json_value element;
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    enum jp_status status = read_argument(&reader, element, i, seen);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

enum jp_status rpc_meta_params_decode(struct json_value params, struct arena *arena,
                                      struct operation *operation, struct outcome *outcome)
{
  struct meta_reader reader = {true, arena, operation, outcome};
  bool seen[META_RULES] = {false};
  struct json_cursor cursor = json_enter(params);
  struct text raw_key;
  struct json_value value;
  while (json_next_member(&cursor, &raw_key, &value)) {
    int found = find_rule(raw_key);
    if (found < 0 || value.kind == JSON_KIND_NULL)
      continue;
    if (seen[found])
      return fail_argument(&reader, &rules[found], "is given twice");
    seen[found] = true;
    enum jp_status status = read_value(&reader, (enum meta_argument)found, value);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}
