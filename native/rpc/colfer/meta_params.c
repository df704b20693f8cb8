/* The arguments of a metadata query: all by their place, or all as an object that has their name. */
#include "rpc/colfer/params.h"

enum argument { COMPRESS_ENCODE, MERGE_ANCESTRY, EXCLUDE_PREFIXES, INCLUDE_CLASSES, ARGUMENTS };

static const struct rule {
  struct text name;
  bool is_list; /* of texts; otherwise it is true or false */
} rules[ARGUMENTS] = {
    [COMPRESS_ENCODE] = {TEXT("compress_encode"), false},
    [MERGE_ANCESTRY] = {TEXT("merge_ancestry"), false},
    [EXCLUDE_PREFIXES] = {TEXT("exclude_prefixes"), true},
    [INCLUDE_CLASSES] = {TEXT("include_classes"), true},
};

static enum jp_status fail_argument(struct rpc_colfer_reader *reader, enum argument argument,
                                    const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' %s",
               rules[argument].name.data, what);
  return JP_INVALID;
}

static enum jp_status fail_place(struct rpc_colfer_reader *reader, size_t place, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "argument %zu %s", place, what);
  return JP_INVALID;
}

/* ---- values ---- */

static bool is_type(struct text written, bool is_list)
{
  struct op_type type;
  if (op_type_parse_argument(written, &type, NULL) != JP_OK)
    return false;
  if (is_list)
    return type.dimensions == 1 && type.base == 'L' && text_equal(type.name, TEXT("java.lang.String"));
  return type.dimensions == 0 && (type.base == 'Z' || text_equal(type.name, TEXT("java.lang.Boolean")));
}

static enum jp_status read_list(struct rpc_colfer_reader *reader, enum argument argument,
                                const struct op_value *value, struct text **list, size_t *count)
{
  if (value->kind != OP_LIST)
    return fail_argument(reader, argument, "must be an array of strings or null");
  struct text *items = arena_alloc(reader->arena, value->list.count * sizeof *items);
  if (items == NULL)
    return rpc_value_no_memory(&reader->values);
  for (size_t i = 0; i < value->list.count; i++) {
    if (value->list.items[i].kind != OP_TEXT)
      return fail_argument(reader, argument, "must be an array of strings or null");
    items[i] = value->list.items[i].text;
  }
  *list = items;
  *count = value->list.count;
  return JP_OK;
}

static enum jp_status read_flag(struct rpc_colfer_reader *reader, enum argument argument,
                                const struct op_value *value, bool *flag)
{
  if (value->kind != OP_BOOLEAN)
    return fail_argument(reader, argument, "must be true or false");
  *flag = value->boolean;
  return JP_OK;
}

static enum jp_status read_argument(struct rpc_colfer_reader *reader, enum argument argument,
                                    struct text type, const struct op_value *value)
{
  struct operation *query = reader->operation;
  if (type.data != NULL && !is_type(type, rules[argument].is_list))
    return fail_argument(reader, argument,
                         rules[argument].is_list ? "has type java.lang.String[]" : "has type boolean");
  if (value->kind == OP_NULL)
    return JP_OK;
  switch (argument) {
  case COMPRESS_ENCODE:
    return read_flag(reader, argument, value, &query->meta.compress_encode);
  case MERGE_ANCESTRY:
    return read_flag(reader, argument, value, &query->meta.merge_ancestry);
  case EXCLUDE_PREFIXES:
    return read_list(reader, argument, value, &query->meta.exclude_prefixes, &query->meta.exclude_count);
  default:
    return read_list(reader, argument, value, &query->meta.include_classes, &query->meta.include_count);
  }
}

/* ---- by place ---- */

static enum jp_status read_by_place(struct rpc_colfer_reader *reader, const struct op_value *values,
                                    size_t count)
{
  if (count > ARGUMENTS)
    return fail_place(reader, ARGUMENTS, "is one too many");
  for (size_t i = 0; i < count; i++) {
    if (values[i].kind == OP_MAP)
      return fail_place(reader, i, "has a name, and others have none");
    enum jp_status status = read_argument(reader, (enum argument)i, values[i].type, &values[i]);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* ---- by name ---- */

/* NULL: the object has none of this name. */
static const struct op_value *find_member(const struct op_value *object, struct text name)
{
  for (size_t i = 0; i < object->map.count; i++) {
    if (text_equal(object->map.entries[i].key, name))
      return &object->map.entries[i].value;
  }
  return NULL;
}

static int find_rule(const struct op_value *name)
{
  for (int i = 0; i < ARGUMENTS && name->kind == OP_TEXT; i++) {
    if (text_equal(rules[i].name, name->text))
      return i;
  }
  return -1;
}

static enum jp_status read_named(struct rpc_colfer_reader *reader, size_t place,
                                 const struct op_value *object, bool seen[ARGUMENTS])
{
  if (object->kind != OP_MAP)
    return fail_place(reader, place, "has no name, and others have one");
  const struct op_value *name = find_member(object, TEXT("name"));
  const struct op_value *type = find_member(object, TEXT("type"));
  const struct op_value *value = find_member(object, TEXT("value"));
  if (name == NULL)
    return fail_place(reader, place, "has no 'name'");
  int found = find_rule(name);
  if (found < 0)
    return fail_place(reader, place,
                      "must be named compress_encode, merge_ancestry, exclude_prefixes or include_classes");
  if (seen[found])
    return fail_argument(reader, (enum argument)found, "is given twice");
  seen[found] = true;
  if (value == NULL)
    return fail_argument(reader, (enum argument)found, "has no 'value'");
  if (type != NULL && type->kind != OP_TEXT)
    return fail_place(reader, place, "has a 'type' that is no string");
  return read_argument(reader, (enum argument)found, type == NULL ? TEXT_ABSENT : type->text, value);
}

static enum jp_status read_by_name(struct rpc_colfer_reader *reader, const struct op_value *values,
                                   size_t count)
{
  bool seen[ARGUMENTS] = {false};
  for (size_t i = 0; i < count; i++) {
    enum jp_status status = read_named(reader, i, &values[i], seen);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

enum jp_status rpc_colfer_meta_read(struct rpc_colfer_reader *reader, const struct colfer_meta_message *meta)
{
  struct operation *query = reader->operation;
  *query = (struct operation){.kind = OP_META, .meta.compress_encode = true};
  enum jp_status status = rpc_colfer_values_read(reader, meta->params.items, meta->params.count);
  if (status != JP_OK || query->arg_count == 0)
    return status;
  return query->args[0].kind == OP_MAP ? read_by_name(reader, query->args, query->arg_count)
                                       : read_by_place(reader, query->args, query->arg_count);
}
