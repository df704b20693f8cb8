#include "rpc/jsonrpc/json_params.h"

#include "base/number.h"
#include "op/type.h"
#include "rpc/methods/procedures.h"
#include "rpc/suggest/nearest.h"
#include "rpc/values/value_read.h"
#include "rpc/values/value_write.h"
#include "json/reader.h"
#include "json/writer.h"

/* ---- near names ---- */

/* Returns the member of params whose name is nearest to `missing`. data NULL: no name is near, or params have
 * the member `missing` itself. */
static struct text find_near_param(struct json_value params, struct text missing)
{
  struct nearest nearest;
  struct json_cursor cursor = json_enter(params);
  struct text raw_key;
  struct json_value value;
  nearest_begin(&nearest, missing, missing);
  while (json_next_member(&cursor, &raw_key, &value)) {
    if (json_key_is(raw_key, missing))
      return TEXT_ABSENT;
    if (json_find_key(raw_key, rpc_param_names, RPC_OPERATION_PARAMS) < 0)
      nearest_offer(&nearest, raw_key, nearest_distance(raw_key, missing, nearest.limit));
  }
  return nearest.count > 0 ? nearest.names[0] : TEXT_ABSENT;
}

bool rpc_has_near_param(struct json_value params, enum rpc_param missing)
{
  return find_near_param(params, rpc_param_names[missing]).data != NULL;
}

void rpc_hint_param(struct json_value params, enum rpc_param missing, struct arena *arena,
                    struct outcome *outcome)
{
  struct text near = find_near_param(params, rpc_param_names[missing]);
  if (near.data == NULL)
    return;
  struct text message =
      arena_printf(arena, "%.*s (\"%.*s\": did you mean \"%s\"?)", TEXT_ARGS(outcome->message),
                   TEXT_ARGS(near), rpc_param_names[missing].data);
  if (message.data != NULL)
    outcome->message = message;
}

/* ---- shared by the decoders ---- */

enum { FETCHED = 1000, ROWS = 10000 /* elements and rows, if the request does not give a number */ };

struct params_reader {
  bool coerces; /* JSON-RPC 1.1, 6.6.1 */
  const struct rpc_value_rules *rules;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;
  struct json_value params; /* an object if arguments were given by name; otherwise its span is absent */
  struct json_members members;
};

static enum jp_status fail_params(struct params_reader *reader, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

/* Reports a missing member, and suggests a near name that the caller may have meant. With --compat pal no
 * name is suggested, because the Java implementation suggests none. */
static enum jp_status fail_missing(struct params_reader *reader, enum rpc_param param, const char *missing)
{
  enum jp_status status = fail_params(reader, missing);
  if (reader->params.span.data != NULL && !reader->rules->compat_pal)
    rpc_hint_param(reader->params, param, reader->arena, reader->outcome);
  return status;
}

static enum jp_status fail_kind(struct params_reader *reader, enum rpc_param param, const char *wanted)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' must be %s, not %s",
               rpc_param_names[param].data, wanted, json_kind_name(reader->members.value[param].kind));
  return JP_INVALID;
}

/* Reads a required text. missing: the text of the error if the member is absent. */
static enum jp_status read_text(struct params_reader *reader, enum rpc_param param, const char *missing,
                                struct text *t)
{
  if (!reader->members.has[param])
    return fail_missing(reader, param, missing);
  if (reader->members.value[param].kind != JSON_KIND_STRING)
    return fail_kind(reader, param, "a string");
  *t = json_read_string(reader->members.value[param], reader->arena);
  if (t->data == NULL)
    return outcome_fail_memory(reader->outcome);
  if (t->len > (param == RPC_PARAM_TYPE ? OP_TYPE_TEXT_MAX : OP_NAME_MAX)) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is longer than the limit of %d bytes", rpc_param_names[param].data, OP_NAME_MAX);
    return JP_INVALID;
  }
  return t->len == 0 ? fail_params(reader, missing) : JP_OK;
}

static enum jp_status read_type(struct params_reader *reader)
{
  return read_text(reader, RPC_PARAM_TYPE, "Type is missing in params", &reader->operation->type);
}

/* A request with an instance may omit the class, except with --compat pal. It then means the class of the
 * instance. If params have a member with a near name, such as a misspelt "type", the class does not count as
 * omitted, because the caller meant to name a class. */
static enum jp_status read_type_or_instance(struct params_reader *reader)
{
  bool is_implied = !reader->members.has[RPC_PARAM_TYPE] && reader->members.has[RPC_PARAM_INSTANCE] &&
                    !reader->rules->compat_pal &&
                    !(reader->params.span.data != NULL && rpc_has_near_param(reader->params, RPC_PARAM_TYPE));
  return is_implied ? JP_OK : read_type(reader);
}

static struct rpc_value_reader begin_values(const struct params_reader *reader)
{
  struct rpc_value_reader values;
  rpc_value_reader_init(&values, reader->rules, reader->arena, reader->outcome);
  return values;
}

static enum jp_status read_receiver(struct params_reader *reader, struct json_value json)
{
  struct rpc_value_reader decoder = begin_values(reader);
  return rpc_receiver_read(&decoder, json, &reader->operation->receiver);
}

static enum jp_status read_instance(struct params_reader *reader)
{
  struct json_value instance = reader->members.value[RPC_PARAM_INSTANCE];
  if (!reader->members.has[RPC_PARAM_INSTANCE])
    return JP_OK;
  if (instance.kind == JSON_KIND_OBJECT && !reader->rules->compat_pal)
    return read_receiver(reader, instance);
  if (instance.kind != JSON_KIND_NUMBER)
    return fail_kind(reader, RPC_PARAM_INSTANCE, "an integer");
  if (!rpc_ref_read(instance, &reader->operation->instance))
    return fail_params(reader, "'instance' must be an integer from 1 to 2147483647");
  reader->operation->has_instance = true;
  return JP_OK;
}

static enum jp_status read_args(struct params_reader *reader)
{
  struct json_value args = reader->members.value[RPC_PARAM_ARGS];
  if (!reader->members.has[RPC_PARAM_ARGS])
    return JP_OK;
  if (args.kind != JSON_KIND_ARRAY)
    return fail_kind(reader, RPC_PARAM_ARGS, "an array");
  struct rpc_value_reader decoder = begin_values(reader);
  return rpc_args_read(&decoder, args, &reader->operation->args, &reader->operation->arg_count);
}

static enum jp_status read_encoding(struct params_reader *reader)
{
  struct json_value encoding = reader->members.value[RPC_PARAM_ENCODING];
  if (!reader->members.has[RPC_PARAM_ENCODING])
    return JP_OK;
  if (encoding.kind != JSON_KIND_STRING)
    return fail_kind(reader, RPC_PARAM_ENCODING, "a string");
  if (!json_key_is(text_slice(encoding.span, 1, encoding.span.len - 1), TEXT("base64")))
    return fail_params(reader, "'encoding' must be \"base64\"");
  reader->operation->base64_result = true;
  reader->operation->base64_bytes = reader->rules->compat_pal;
  return JP_OK;
}

/* ---- the six methods ---- */

static enum jp_status read_new(struct params_reader *reader)
{
  enum jp_status status = read_type(reader);
  reader->operation->member = TEXT("<init>");
  if (status == JP_OK)
    status = read_encoding(reader);
  return status == JP_OK ? read_args(reader) : status;
}

static enum jp_status read_call(struct params_reader *reader)
{
  enum jp_status status = read_type_or_instance(reader);
  if (status == JP_OK)
    status = read_text(reader, RPC_PARAM_METHOD, "Method is missing in 'call' request",
                       &reader->operation->member);
  if (status == JP_OK)
    status = read_instance(reader);
  if (status == JP_OK)
    status = read_encoding(reader);
  return status == JP_OK ? read_args(reader) : status;
}

static enum jp_status read_field(struct params_reader *reader, const char *missing)
{
  enum jp_status status = read_text(reader, RPC_PARAM_FIELD, missing, &reader->operation->member);
  return status != JP_OK || reader->rules->compat_pal
             ? status
             : rpc_piece_read(reader->operation, reader->arena, reader->outcome);
}

static enum jp_status read_get(struct params_reader *reader)
{
  enum jp_status status = read_type_or_instance(reader);
  if (status == JP_OK)
    status = read_field(reader, "Field is missing in 'get' request");
  if (status == JP_OK)
    status = read_instance(reader);
  return status == JP_OK ? read_encoding(reader) : status;
}

static enum jp_status read_put_value(struct params_reader *reader)
{
  if (!reader->members.has[RPC_PARAM_VALUE])
    return fail_missing(reader, RPC_PARAM_VALUE, "Value is missing in 'put' request");
  struct rpc_value_reader decoder = begin_values(reader);
  decoder.is_put = true;
  struct op_value *value = arena_alloc(reader->arena, sizeof *value);
  if (value == NULL)
    return outcome_fail_memory(decoder.outcome);
  reader->operation->args = value;
  reader->operation->arg_count = 1;
  return rpc_value_read(&decoder, reader->members.value[RPC_PARAM_VALUE], value);
}

static enum jp_status read_put(struct params_reader *reader)
{
  enum jp_status status = read_type_or_instance(reader);
  if (status == JP_OK)
    status = read_field(reader, "Field is missing in 'put' request");
  if (status == JP_OK)
    status = read_instance(reader);
  return status == JP_OK ? read_put_value(reader) : status;
}

static enum jp_status check_refs(struct params_reader *reader, const struct op_control_method *control)
{
  const struct operation *operation = reader->operation;
  if (operation->arg_count == 0) {
    struct text missing =
        arena_printf(reader->arena, "Missing object ref for %s request", control->name.data);
    return missing.data == NULL ? outcome_fail_memory(reader->outcome)
                                : fail_missing(reader, RPC_PARAM_ARGS, missing.data);
  }
  for (size_t i = 0; i < operation->arg_count; i++) {
    if (operation->args[i].kind == OP_REF)
      continue;
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "Missing object ref for %s request: argument %zu is no {\"ref\": N}", control->name.data, i);
    return JP_INVALID;
  }
  return JP_OK;
}

/* Reads a reference count: any integer from 1. A number that is larger than can be counted means all
 * references. */
static bool read_reference_count(struct json_value json, uint32_t *count)
{
  struct number number;
  if (json.kind != JSON_KIND_NUMBER)
    return false;
  number_read(json.span, &number);
  if (!number.integral || number.suffix != 0 || *number.literal.data == '-' ||
      (number.fits && number.integer < 1))
    return false;
  *count = number.fits && number.integer < UINT32_MAX ? (uint32_t)number.integer : UINT32_MAX;
  return true;
}

static enum jp_status read_released_reference(struct params_reader *reader, size_t i, struct json_value json)
{
  static const struct text names[] = {TEXT("told")};
  struct json_members members;
  json_members_collect(json, names, 1, &members);
  const char *wrong = members.repeated >= 0 ? "is given twice" : "must be an integer from 1";
  if (!members.has[0] || (members.repeated < 0 &&
                          read_reference_count(members.value[0], &reader->operation->args[i].release_count)))
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "argument %zu: 'told' %s", i,
               wrong);
  return JP_INVALID;
}

/* Reads {"ref": N, "told": K}. All arguments of the method are refs. */
static enum jp_status read_released_references(struct params_reader *reader)
{
  struct json_cursor cursor = json_enter(reader->members.value[RPC_PARAM_ARGS]);
  struct json_value json;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && json_next_element(&cursor, &json); i++)
    status = read_released_reference(reader, i, json);
  return status;
}

/* Reads the only argument {"name": NAME, "value": TEXT}. */
static enum jp_status read_control_text(struct params_reader *reader, const struct op_control_method *control)
{
  enum { NAME, VALUE };
  static const struct text names[] = {[NAME] = TEXT("name"), [VALUE] = TEXT("value")};
  struct json_value args = reader->members.value[RPC_PARAM_ARGS];
  if (!reader->members.has[RPC_PARAM_ARGS])
    return JP_OK;
  if (args.kind != JSON_KIND_ARRAY)
    return fail_kind(reader, RPC_PARAM_ARGS, "an array");
  struct json_cursor cursor = json_enter(args);
  struct json_value json;
  while (json_next_element(&cursor, &json)) {
    struct json_members members = {.repeated = -1};
    if (json.kind == JSON_KIND_OBJECT)
      json_members_collect(json, names, 2, &members);
    bool is_named = members.has[NAME] && members.value[NAME].kind == JSON_KIND_STRING &&
                    text_equal(json_read_string(members.value[NAME], reader->arena), control->text);
    bool is_right = is_named && members.repeated < 0 && members.has[VALUE] &&
                    members.value[VALUE].kind == JSON_KIND_STRING &&
                    reader->operation->command_text.data == NULL;
    if (!is_right) {
      outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                   "'%s' takes one argument at most: {\"name\": \"%s\", \"value\": TEXT}", control->name.data,
                   control->text.data);
      return JP_INVALID;
    }
    reader->operation->command_text = json_read_string(members.value[VALUE], reader->arena);
    if (reader->operation->command_text.data == NULL)
      return outcome_fail_memory(reader->outcome);
  }
  return JP_OK;
}

/* Reads the number of a call. 0: the value is not the number of a call. */
static uint64_t read_call_number(struct json_value value)
{
  struct number number;
  if (value.kind != JSON_KIND_NUMBER)
    return 0;
  number_read(value.span, &number);
  return number.integral && number.suffix == 0 && number.fits && number.integer > 0 ? (uint64_t)number.integer
                                                                                    : 0;
}

/* Reads the only argument {"name": "id", "value": ID} or {"name": "call", "value": NUMBER}. */
static enum jp_status read_control_id(struct params_reader *reader, const struct op_control_method *control)
{
  enum { NAME, VALUE };
  static const struct text names[] = {[NAME] = TEXT("name"), [VALUE] = TEXT("value")};
  struct json_value args = reader->members.value[RPC_PARAM_ARGS];
  struct json_members members = {.repeated = -1};
  struct json_value first, another;
  bool is_one = reader->members.has[RPC_PARAM_ARGS] && args.kind == JSON_KIND_ARRAY;
  if (is_one) {
    struct json_cursor cursor = json_enter(args);
    is_one = json_next_element(&cursor, &first) && !json_next_element(&cursor, &another) &&
             first.kind == JSON_KIND_OBJECT;
  }
  if (is_one)
    json_members_collect(first, names, 2, &members);
  is_one = is_one && members.has[NAME] && members.has[VALUE] && members.repeated < 0 &&
           members.value[NAME].kind == JSON_KIND_STRING;
  struct json_value value = members.value[VALUE];
  struct text name = {0};
  if (is_one)
    name = text_slice(members.value[NAME].span, 1, members.value[NAME].span.len - 1);
  if (is_one && json_key_is(name, TEXT("call")) && read_call_number(value) != 0) {
    reader->operation->command_call = read_call_number(value);
    reader->operation->command_text = value.span;
    return JP_OK;
  }
  if (is_one && json_key_is(name, TEXT("id")) &&
      (value.kind == JSON_KIND_STRING || value.kind == JSON_KIND_NUMBER)) {
    reader->operation->command_text = rpc_request_id_read(members.value[VALUE].span, reader->arena);
    return reader->operation->command_text.data == NULL ? outcome_fail_memory(reader->outcome) : JP_OK;
  }
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "'%s' takes one argument: {\"name\": \"id\", \"value\": ID}, the id of a request, or "
               "{\"name\": \"call\", \"value\": NUMBER}, a call that 'calls' lists",
               control->name.data);
  return JP_INVALID;
}

struct text rpc_request_id_read(struct text id, struct arena *arena)
{
  struct buffer written;
  if (id.len == 0 || id.data[0] != '"')
    return id;
  buffer_init(&written);
  json_write_string(&written, json_unescape(text_slice(id, 1, id.len - 1), arena));
  struct text kept = arena_text(arena, buffer_text(&written));
  buffer_fini(&written);
  return kept;
}

static enum jp_status read_control(struct params_reader *reader)
{
  struct text name = TEXT_ABSENT;
  enum jp_status status =
      read_text(reader, RPC_PARAM_METHOD, "Method is missing in 'control' request", &name);
  if (status != JP_OK)
    return status;
  const struct op_control_method *control = op_control_find(name);
  if (control == NULL || (control->is_addition && reader->rules->compat_pal)) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_FOUND, NULL, "Invalid control method: %.*s",
                 TEXT_ARGS(arena_shorten(reader->arena, name, OUTCOME_NAME_SHOWN)));
    return JP_INVALID;
  }
  reader->operation->command = control->command;
  reader->operation->command_text = TEXT_ABSENT;
  reader->operation->command_call = 0;
  if (control->text.data != NULL)
    return read_control_text(reader, control);
  if (control->takes_id)
    return read_control_id(reader, control);
  status = read_args(reader);
  if (status != JP_OK)
    return status;
  if (control->takes_refs) {
    status = check_refs(reader, control);
    return status == JP_OK && !reader->rules->compat_pal ? read_released_references(reader) : status;
  }
  if (reader->operation->arg_count == 0)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' takes no arguments",
               control->name.data);
  return JP_INVALID;
}

/* ---- meta ---- */

enum meta_member { META_NAME, META_TYPE, META_VALUE, META_MEMBERS };

static const struct text meta_member_names[META_MEMBERS] = {
    [META_NAME] = TEXT("name"),
    [META_TYPE] = TEXT("type"),
    [META_VALUE] = TEXT("value"),
};

enum meta_argument {
  META_COMPRESS_ENCODE,
  META_MERGE_ANCESTRY,
  META_EXCLUDE_PREFIXES,
  META_INCLUDE_CLASSES,
  META_PREFIX,
  META_MAX
};

enum meta_kind { META_FLAG, META_LIST, META_TEXT, META_COUNT };

enum { LISTED = 1000, LISTED_MAX = 100000 };

static const struct meta_rule {
  struct text name;
  enum meta_kind kind;
  enum op_meta_service service;
} meta_rules[] = {
    [META_COMPRESS_ENCODE] = {TEXT("compress_encode"), META_FLAG, OP_META_CLASSES},
    [META_MERGE_ANCESTRY] = {TEXT("merge_ancestry"), META_FLAG, OP_META_CLASSES},
    [META_EXCLUDE_PREFIXES] = {TEXT("exclude_prefixes"), META_LIST, OP_META_CLASSES},
    [META_INCLUDE_CLASSES] = {TEXT("include_classes"), META_LIST, OP_META_CLASSES},
    [META_PREFIX] = {TEXT("prefix"), META_TEXT, OP_META_NAMES},
    [META_MAX] = {TEXT("max"), META_COUNT, OP_META_NAMES},
};

static const struct {
  struct text name;
  const char *arguments; /* for errors */
} meta_services[] = {
    [OP_META_CLASSES] = {TEXT("fetch_classes_info"),
                         "compress_encode, merge_ancestry, exclude_prefixes or include_classes"},
    [OP_META_NAMES] = {TEXT("list_names"), "prefix or max"},
};

enum { META_RULES = sizeof meta_rules / sizeof meta_rules[0] };

enum { META_TYPES = 3 };

/* The types that an argument may have. Errors name the first type. */
static const struct text meta_types[][META_TYPES] = {
    [META_FLAG] = {TEXT("boolean"), TEXT("java.lang.Boolean"), TEXT("Boolean")},
    [META_LIST] = {TEXT("java.lang.String[]"), TEXT("String[]"), TEXT("[Ljava.lang.String;")},
    [META_TEXT] = {TEXT("java.lang.String"), TEXT("String"), TEXT("char[]")},
    [META_COUNT] = {TEXT("int"), TEXT("java.lang.Integer"), TEXT("Integer")},
};

static enum jp_status fail_meta_argument(struct params_reader *reader, const struct meta_rule *rule,
                                         const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' %s", rule->name.data,
               what);
  return JP_INVALID;
}

static enum jp_status fail_meta_index(struct params_reader *reader, size_t index, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "argument %zu %s", index, what);
  return JP_INVALID;
}

static bool is_meta_type(struct json_value json, const struct meta_rule *rule)
{
  if (json.kind != JSON_KIND_STRING)
    return false;
  const struct text *types = meta_types[rule->kind];
  struct text raw = text_slice(json.span, 1, json.span.len - 1);
  for (size_t i = 0; i < META_TYPES; i++) {
    if (json_key_is(raw, types[i]))
      return true;
  }
  return false;
}

static enum jp_status coerce_meta_value(const struct params_reader *reader, enum rpc_wants wants,
                                        struct json_value *json)
{
  return reader->coerces ? rpc_value_coerce(*json, wants, reader->arena, json) : JP_OK;
}

static enum jp_status read_meta_list(struct params_reader *reader, const struct meta_rule *rule,
                                     struct json_value json, struct text **list, size_t *count)
{
  if (json.kind == JSON_KIND_NULL)
    return JP_OK;
  if (coerce_meta_value(reader, RPC_WANTS_LIST, &json) != JP_OK)
    return outcome_fail_memory(reader->outcome);
  if (json.kind != JSON_KIND_ARRAY)
    return fail_meta_argument(reader, rule, "must be an array of strings or null");
  size_t length = json_count(json);
  struct text *items = arena_alloc(reader->arena, length * sizeof *items);
  if (items == NULL)
    return outcome_fail_memory(reader->outcome);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < length && json_next_element(&cursor, &element); i++) {
    if (coerce_meta_value(reader, RPC_WANTS_TEXT, &element) != JP_OK)
      return outcome_fail_memory(reader->outcome);
    if (element.kind != JSON_KIND_STRING)
      return fail_meta_argument(reader, rule, "must be an array of strings or null");
    items[i] = json_read_string(element, reader->arena);
    if (items[i].data == NULL)
      return outcome_fail_memory(reader->outcome);
  }
  *list = items;
  *count = length;
  return JP_OK;
}

static enum jp_status read_meta_text(struct params_reader *reader, const struct meta_rule *rule,
                                     struct json_value json, struct text *text)
{
  if (coerce_meta_value(reader, RPC_WANTS_TEXT, &json) != JP_OK)
    return outcome_fail_memory(reader->outcome);
  if (json.kind != JSON_KIND_STRING)
    return fail_meta_argument(reader, rule, "must be a string");
  *text = json_read_string(json, reader->arena);
  return text->data == NULL ? outcome_fail_memory(reader->outcome) : JP_OK;
}

static enum jp_status read_meta_count(struct params_reader *reader, const struct meta_rule *rule,
                                      struct json_value json, size_t *count)
{
  struct op_value value = {.kind = OP_NULL};
  if (coerce_meta_value(reader, RPC_WANTS_NUMBER, &json) != JP_OK)
    return outcome_fail_memory(reader->outcome);
  if (json.kind == JSON_KIND_NUMBER)
    rpc_number_read(json, &value);
  if (value.kind != OP_INTEGER || value.suffix != 0 || value.integer < 1 || value.integer > LISTED_MAX)
    return fail_meta_argument(reader, rule, "must be an integer from 1 to 100000");
  *count = (size_t)value.integer;
  return JP_OK;
}

static enum jp_status read_meta_value(struct params_reader *reader, enum meta_argument argument,
                                      struct json_value json)
{
  struct operation *operation = reader->operation;
  if (argument == META_EXCLUDE_PREFIXES)
    return read_meta_list(reader, &meta_rules[argument], json, &operation->meta.exclude_prefixes,
                          &operation->meta.exclude_count);
  if (argument == META_INCLUDE_CLASSES)
    return read_meta_list(reader, &meta_rules[argument], json, &operation->meta.include_classes,
                          &operation->meta.include_count);
  if (argument == META_PREFIX)
    return read_meta_text(reader, &meta_rules[argument], json, &operation->names.prefix);
  if (argument == META_MAX)
    return read_meta_count(reader, &meta_rules[argument], json, &operation->names.max);
  if (coerce_meta_value(reader, RPC_WANTS_BOOLEAN, &json) != JP_OK)
    return outcome_fail_memory(reader->outcome);
  if (json.kind != JSON_KIND_TRUE && json.kind != JSON_KIND_FALSE)
    return fail_meta_argument(reader, &meta_rules[argument], "must be true or false");
  bool *flag =
      argument == META_COMPRESS_ENCODE ? &operation->meta.compress_encode : &operation->meta.merge_ancestry;
  *flag = json.kind == JSON_KIND_TRUE;
  return JP_OK;
}

static int find_meta_rule(struct text raw, enum op_meta_service service)
{
  for (int i = 0; i < META_RULES; i++) {
    if (meta_rules[i].service == service && json_key_is(raw, meta_rules[i].name))
      return i;
  }
  return -1;
}

static enum jp_status read_meta_argument(struct params_reader *reader, struct json_value json, size_t index,
                                         bool seen[META_RULES])
{
  if (json.kind != JSON_KIND_OBJECT)
    return fail_meta_index(reader, index, "must be an object with 'name', 'type' and 'value'");
  struct json_members members;
  json_members_collect(json, meta_member_names, META_MEMBERS, &members);
  if (members.repeated >= 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "argument %zu: '%s' is given twice", index, meta_member_names[members.repeated].data);
    return JP_INVALID;
  }
  if (!members.has[META_NAME])
    return fail_meta_index(reader, index, "has no 'name'");
  struct json_value name = members.value[META_NAME];
  enum op_meta_service service = reader->operation->meta.service;
  int found = name.kind == JSON_KIND_STRING
                  ? find_meta_rule(text_slice(name.span, 1, name.span.len - 1), service)
                  : -1;
  if (found < 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "argument %zu: 'name' must be %s, not %.*s", index, meta_services[service].arguments,
                 TEXT_ARGS(arena_shorten(reader->arena, name.span, OUTCOME_NAME_SHOWN)));
    return JP_INVALID;
  }
  if (seen[found])
    return fail_meta_argument(reader, &meta_rules[found], "is given twice");
  seen[found] = true;
  if (members.has[META_TYPE] && !is_meta_type(members.value[META_TYPE], &meta_rules[found])) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' has type %s",
                 meta_rules[found].name.data, meta_types[meta_rules[found].kind][0].data);
    return JP_INVALID;
  }
  if (!members.has[META_VALUE])
    return fail_meta_argument(reader, &meta_rules[found], "has no 'value'");
  return read_meta_value(reader, (enum meta_argument)found, members.value[META_VALUE]);
}

/* Sets the defaults of the service's arguments. With --compat pal only the first service exists. */
static bool begin_meta_service(const struct params_reader *reader, struct text name)
{
  struct operation *operation = reader->operation;
  bool is_names = !reader->rules->compat_pal && text_equal(name, meta_services[OP_META_NAMES].name);
  operation->meta.service = is_names ? OP_META_NAMES : OP_META_CLASSES;
  if (is_names) {
    operation->names.prefix = TEXT("");
    operation->names.max = LISTED;
  } else {
    operation->meta.compress_encode = true;
  }
  return is_names || text_equal(name, meta_services[OP_META_CLASSES].name);
}

static enum jp_status read_meta(struct params_reader *reader)
{
  struct text name = TEXT_ABSENT;
  enum jp_status status = read_text(reader, RPC_PARAM_METHOD, "Method is missing in 'meta' request", &name);
  if (status != JP_OK)
    return status;
  if (!begin_meta_service(reader, name)) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_FOUND, NULL, "Invalid meta service: %.*s",
                 TEXT_ARGS(arena_shorten(reader->arena, name, OUTCOME_NAME_SHOWN)));
    reader->outcome->status = TEXT("UNSUPPORTED");
    return JP_INVALID;
  }
  if (!reader->members.has[RPC_PARAM_ARGS])
    return JP_OK;
  if (reader->members.value[RPC_PARAM_ARGS].kind != JSON_KIND_ARRAY)
    return fail_kind(reader, RPC_PARAM_ARGS, "an array");
  bool seen[META_RULES] = {false};
  struct json_cursor cursor = json_enter(reader->members.value[RPC_PARAM_ARGS]);
  struct json_value element;
  for (size_t i = 0; json_next_element(&cursor, &element); i++) {
    status = read_meta_argument(reader, element, i, seen);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* A query of HTTP GET cannot contain an object, so the arguments of a service may be parameters themselves
 * (docs/jsonrpc-1.1.md, "GET"). */
static enum jp_status read_meta_1_1(struct params_reader *reader, const struct jsonrpc_request *request)
{
  enum jp_status status = read_meta(reader);
  if (status != JP_OK || !request->has_params || request->params.kind != JSON_KIND_OBJECT)
    return status;
  /* Members that are not arguments of the service are ignored. */
  bool seen[META_RULES] = {false};
  struct json_cursor cursor = json_enter(request->params);
  struct text raw_key;
  struct json_value value;
  while (json_next_member(&cursor, &raw_key, &value)) {
    int found = find_meta_rule(raw_key, reader->operation->meta.service);
    if (found < 0 || value.kind == JSON_KIND_NULL)
      continue;
    if (seen[found])
      return fail_meta_argument(reader, &meta_rules[found], "is given twice");
    seen[found] = true;
    status = read_meta_value(reader, (enum meta_argument)found, value);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

/* ---- jpeer.* ---- */

/* Reads {"ref": N}, N or {"type", "value"}, the forms in which members that are called by their own names
 * receive their object. */
static enum jp_status read_object(struct params_reader *reader)
{
  struct json_value object = reader->members.value[RPC_PARAM_INSTANCE];
  if (!reader->members.has[RPC_PARAM_INSTANCE])
    return fail_missing(reader, RPC_PARAM_INSTANCE, "Instance is missing in params");
  if (object.kind == JSON_KIND_OBJECT) {
    static const struct text names[] = {TEXT("ref")};
    struct json_members members;
    json_members_collect(object, names, 1, &members);
    if (members.has[0])
      object = members.value[0];
    else
      return read_receiver(reader, object);
  } else if (reader->coerces && rpc_value_coerce(object, RPC_WANTS_NUMBER, reader->arena, &object) != JP_OK) {
    return outcome_fail_memory(reader->outcome);
  }
  if (!rpc_ref_read(object, &reader->operation->instance))
    return fail_params(reader, "'instance' must be a ref: {\"ref\": N}, or N");
  reader->operation->has_instance = true;
  return JP_OK;
}

/* *count is unchanged if the parameter is not given. */
static enum jp_status read_count(struct params_reader *reader, enum rpc_param param, size_t least,
                                 size_t *count)
{
  struct op_value value = {.kind = OP_NULL};
  if (!reader->members.has[param])
    return JP_OK;
  if (reader->members.value[param].kind == JSON_KIND_NUMBER)
    rpc_number_read(reader->members.value[param], &value);
  if (value.kind != OP_INTEGER || value.suffix != 0 || value.integer < (int64_t)least ||
      value.integer > INT32_MAX) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' must be an integer from %zu to 2147483647", rpc_param_names[param].data, least);
    return JP_INVALID;
  }
  *count = (size_t)value.integer;
  return JP_OK;
}

static enum jp_status read_fetch(struct params_reader *reader)
{
  struct operation *operation = reader->operation;
  operation->fetch.max = FETCHED;
  operation->fetch.text_length = rpc_value_length;
  enum jp_status status = read_object(reader);
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_MAX, 1, &operation->fetch.max);
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_FROM, 0, &operation->fetch.from);
  return status == JP_OK ? read_encoding(reader) : status;
}

static enum jp_status read_paths(struct params_reader *reader)
{
  struct json_value json = reader->members.value[RPC_PARAM_COLUMNS];
  if (!reader->members.has[RPC_PARAM_COLUMNS] || json.kind == JSON_KIND_NULL)
    return JP_OK;
  if (json.kind != JSON_KIND_ARRAY)
    return fail_kind(reader, RPC_PARAM_COLUMNS, "an array of strings");
  size_t count = json_count(json);
  struct text *paths = arena_alloc(reader->arena, count * sizeof *paths);
  if (paths == NULL)
    return outcome_fail_memory(reader->outcome);
  struct json_cursor cursor = json_enter(json);
  struct json_value element;
  for (size_t i = 0; i < count && json_next_element(&cursor, &element); i++) {
    if (element.kind != JSON_KIND_STRING)
      return fail_params(reader, "'columns' must be an array of strings");
    paths[i] = json_read_string(element, reader->arena);
    if (paths[i].data == NULL)
      return outcome_fail_memory(reader->outcome);
  }
  reader->operation->columns.paths = paths;
  reader->operation->columns.path_count = count;
  reader->operation->columns.has_paths = true;
  return JP_OK;
}

static enum jp_status read_columns(struct params_reader *reader)
{
  struct operation *operation = reader->operation;
  operation->columns.max = ROWS;
  operation->columns.text_length = rpc_value_length;
  operation->columns.cells_max = reader->rules->values_max == 0 ? RPC_VALUES_MAX : reader->rules->values_max;
  enum jp_status status = read_object(reader);
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_MAX, 1, &operation->columns.max);
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_FROM, 0, &operation->columns.from);
  return status == JP_OK ? read_paths(reader) : status;
}

static enum jp_status fail_column(struct params_reader *reader, size_t index, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "column %zu: %s", index, what);
  return JP_INVALID;
}

/* The members of a column of jpeer.rows. */
enum column_member {
  COLUMN_NAME,
  COLUMN_TYPE,
  COLUMN_UNIT,
  COLUMN_DATA,
  COLUMN_OFFSETS,
  COLUMN_VALID,
  COLUMN_SCALE,
  COLUMN_MEMBERS
};
static const struct text column_members[COLUMN_MEMBERS] = {
    [COLUMN_NAME] = TEXT("name"),   [COLUMN_TYPE] = TEXT("type"),       [COLUMN_UNIT] = TEXT("unit"),
    [COLUMN_DATA] = TEXT("data"),   [COLUMN_OFFSETS] = TEXT("offsets"), [COLUMN_VALID] = TEXT("valid"),
    [COLUMN_SCALE] = TEXT("scale"),
};

/* *t is unchanged if the column has no such member. */
static enum jp_status read_column_text(struct params_reader *reader, size_t index,
                                       const struct json_members *members, enum column_member member,
                                       struct text *t)
{
  if (!members->has[member] || members->value[member].kind == JSON_KIND_NULL)
    return JP_OK;
  if (members->value[member].kind != JSON_KIND_STRING) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "column %zu: '%s' must be a string, not %s", index, column_members[member].data,
                 json_kind_name(members->value[member].kind));
    return JP_INVALID;
  }
  *t = json_read_string(members->value[member], reader->arena);
  return t->data == NULL ? outcome_fail_memory(reader->outcome) : JP_OK;
}

static enum jp_status read_column_scale(struct params_reader *reader, size_t index,
                                        const struct json_members *members, struct op_sent_column *column)
{
  struct op_value number = {.kind = OP_NULL};
  if (!members->has[COLUMN_SCALE] || members->value[COLUMN_SCALE].kind == JSON_KIND_NULL)
    return JP_OK;
  if (members->value[COLUMN_SCALE].kind == JSON_KIND_NUMBER)
    rpc_number_read(members->value[COLUMN_SCALE], &number);
  if (number.kind != OP_INTEGER || number.suffix != 0)
    return fail_column(reader, index, "'scale' must be an integer from 0 to 38");
  column->has_scale = true;
  column->scale = number.integer;
  return JP_OK;
}

static enum jp_status read_sent_column(struct params_reader *reader, struct rpc_value_reader *values,
                                       size_t index, struct json_value json, struct op_sent_column *column)
{
  struct json_members members;
  if (json.kind != JSON_KIND_OBJECT)
    return fail_column(reader, index, "it must be an object");
  json_members_collect(json, column_members, COLUMN_MEMBERS, &members);
  const struct {
    enum column_member member;
    struct text *text;
  } texts[] = {{COLUMN_NAME, &column->name},
               {COLUMN_TYPE, &column->type},
               {COLUMN_UNIT, &column->unit},
               {COLUMN_OFFSETS, &column->offsets},
               {COLUMN_VALID, &column->valid}};
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < sizeof texts / sizeof *texts; i++)
    status = read_column_text(reader, index, &members, texts[i].member, texts[i].text);
  if (status == JP_OK && column->type.data == NULL)
    status = fail_column(reader, index, "'type' is missing");
  if (status == JP_OK && !members.has[COLUMN_DATA])
    status = fail_column(reader, index, "'data' is missing");
  if (status == JP_OK)
    status = read_column_scale(reader, index, &members, column);
  if (status != JP_OK)
    return status;
  if (members.value[COLUMN_DATA].kind != JSON_KIND_ARRAY)
    return read_column_text(reader, index, &members, COLUMN_DATA, &column->data);
  column->objects = arena_calloc(reader->arena, 1, sizeof *column->objects);
  if (column->objects == NULL)
    return outcome_fail_memory(reader->outcome);
  values->argument = index;
  return rpc_typed_value_read(values, TEXT_ABSENT, members.value[COLUMN_DATA], column->objects);
}

static enum jp_status read_sent_columns(struct params_reader *reader)
{
  struct operation *operation = reader->operation;
  struct json_value json = reader->members.value[RPC_PARAM_COLUMNS];
  size_t most = reader->rules->values_max == 0 ? RPC_VALUES_MAX : reader->rules->values_max;
  if (!reader->members.has[RPC_PARAM_COLUMNS])
    return fail_missing(reader, RPC_PARAM_COLUMNS, "Columns are missing in params");
  if (json.kind != JSON_KIND_ARRAY)
    return fail_kind(reader, RPC_PARAM_COLUMNS, "an array of columns");
  size_t count = json_count(json);
  if (operation->rows.count > most / (count == 0 ? 1 : count)) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "columns: more than %zu values in one request (values-max)", most);
    return JP_INVALID;
  }
  struct op_sent_column *columns = arena_calloc(reader->arena, count + 1, sizeof *columns);
  if (columns == NULL)
    return outcome_fail_memory(reader->outcome);
  struct rpc_value_reader values = begin_values(reader);
  struct json_cursor cursor = json_enter(json);
  struct json_value column;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < count && json_next_element(&cursor, &column); i++)
    status = read_sent_column(reader, &values, i, column, &columns[i]);
  operation->rows.columns = columns;
  operation->rows.column_count = count;
  return status;
}

static enum jp_status read_rows(struct params_reader *reader)
{
  struct operation *operation = reader->operation;
  enum jp_status status = read_object(reader);
  if (status == JP_OK && !reader->members.has[RPC_PARAM_ROWS])
    status = fail_missing(reader, RPC_PARAM_ROWS, "Rows is missing in params");
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_ROWS, 0, &operation->rows.count);
  if (status == JP_OK)
    status = read_count(reader, RPC_PARAM_FROM, 0, &operation->rows.from);
  if (status == JP_OK && reader->members.has[RPC_PARAM_TYPE])
    status = read_text(reader, RPC_PARAM_TYPE, "Type is missing in params", &operation->rows.element);
  return status == JP_OK ? read_sent_columns(reader) : status;
}

/* Reads an object, or the name of a class. */
static enum jp_status read_describe(struct params_reader *reader)
{
  bool has_object = reader->members.has[RPC_PARAM_INSTANCE];
  enum json_kind only = reader->members.value[RPC_PARAM_MEMBERS_ONLY].kind;
  if (reader->members.has[RPC_PARAM_MEMBERS_ONLY] && only != JSON_KIND_TRUE && only != JSON_KIND_FALSE)
    return fail_kind(reader, RPC_PARAM_MEMBERS_ONLY, "a boolean");
  reader->operation->members_only = reader->members.has[RPC_PARAM_MEMBERS_ONLY] && only == JSON_KIND_TRUE;
  if (!reader->members.has[RPC_PARAM_TYPE])
    return read_object(reader);
  return has_object ? fail_params(reader, "jpeer.describe takes either 'instance' or 'type', not both")
                    : read_type(reader);
}

/* Reads a typed value in the form of arguments, and the ref of the object to which the value is appended. */
static enum jp_status read_assemble(struct params_reader *reader)
{
  struct operation *operation = reader->operation;
  struct text type;
  enum jp_status status = read_text(reader, RPC_PARAM_TYPE, "Type is missing in params", &type);
  if (status == JP_OK && !reader->members.has[RPC_PARAM_VALUE])
    status = fail_missing(reader, RPC_PARAM_VALUE, "Value is missing in params");
  if (status == JP_OK)
    status = read_encoding(reader);
  if (status != JP_OK)
    return status;
  if (reader->members.has[RPC_PARAM_REF]) {
    if (!rpc_ref_read(reader->members.value[RPC_PARAM_REF], &operation->instance))
      return fail_params(reader, "'ref' must be an integer from 1 to 2147483647");
    operation->has_instance = true;
  }
  struct json_value piece = reader->members.value[RPC_PARAM_VALUE];
  struct rpc_value_reader decoder = begin_values(reader);
  operation->assemble.size = piece.span.len;
  return rpc_piece_value_read(&decoder, type, operation->base64_result, piece, &operation->receiver);
}

static enum jp_status (*const readers[])(struct params_reader *reader) = {
    [OP_CALL] = read_call,       [OP_NEW] = read_new,           [OP_GET] = read_get,
    [OP_PUT] = read_put,         [OP_CONTROL] = read_control,   [OP_META] = read_meta,
    [OP_FETCH] = read_fetch,     [OP_DESCRIBE] = read_describe, [OP_ASSEMBLE] = read_assemble,
    [OP_COLUMNS] = read_columns, [OP_ROWS] = read_rows,
};

static enum jp_status fail_unsafe(struct params_reader *reader, struct text what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_SAFE, NULL,
               "'%.*s' may change something, so that it is called by POST",
               TEXT_ARGS(arena_shorten(reader->arena, what, OUTCOME_NAME_SHOWN)));
  return JP_INVALID;
}

/* An unknown control method passes, because it is reported later as unknown and not as unsafe. */
static enum jp_status check_safe_control(struct params_reader *reader)
{
  struct json_value method = reader->members.value[RPC_PARAM_METHOD];
  if (!reader->members.has[RPC_PARAM_METHOD] || method.kind != JSON_KIND_STRING)
    return JP_OK;
  struct text name = json_read_string(method, reader->arena);
  const struct op_control_method *control = name.data == NULL ? NULL : op_control_find(name);
  return control == NULL || control->is_safe ? JP_OK : fail_unsafe(reader, control->name);
}

/* JSON-RPC 1.1: parameters by name, by position or both; HTTP GET may call only safe procedures. */
static enum jp_status decode_1_1(struct params_reader *reader, const struct rpc_procedure *procedure,
                                 const struct jsonrpc_request *request)
{
  enum jp_status status = JP_OK;
  reader->coerces = true;
  if (request->has_params && request->params.kind == JSON_KIND_OBJECT)
    reader->params = request->params;
  if (request->only_safe && procedure->safety == RPC_SAFE_NEVER)
    return fail_unsafe(reader, procedure->name);
  if (request->has_params)
    status = rpc_params_coerce(procedure, request->params, reader->arena, &reader->members, reader->outcome);
  if (status == JP_OK && request->only_safe && procedure->safety == RPC_SAFE_BY_CONTROL)
    status = check_safe_control(reader);
  if (status != JP_OK)
    return status;
  return procedure->op == OP_META ? read_meta_1_1(reader, request) : readers[procedure->op](reader);
}

/* The six methods accept parameters only by name. */
static enum jp_status place_positions(struct params_reader *reader, const struct rpc_procedure *procedure,
                                      struct json_value params)
{
  struct json_cursor cursor = json_enter(params);
  struct json_value value;
  for (size_t i = 0; json_next_element(&cursor, &value); i++) {
    if (i == procedure->param_count || procedure->params[i].by_name_only) {
      outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                   "'%s' takes no more than %zu parameters by position", procedure->name.data, i);
      return JP_INVALID;
    }
    reader->members.has[procedure->params[i].param] = true;
    reader->members.value[procedure->params[i].param] = value;
  }
  return JP_OK;
}

static enum jp_status decode_2_0(struct params_reader *reader, const struct rpc_procedure *procedure,
                                 const struct jsonrpc_request *request)
{
  if (!request->has_params)
    return fail_params(reader, "Params are missing");
  if (procedure->is_own && request->params.kind == JSON_KIND_ARRAY) {
    enum jp_status status = place_positions(reader, procedure, request->params);
    return status == JP_OK ? readers[procedure->op](reader) : status;
  }
  if (request->params.kind != JSON_KIND_OBJECT)
    return fail_params(reader, "'params' must be an object: parameters by position are not accepted");
  reader->params = request->params;
  json_members_collect(request->params, rpc_param_names,
                       procedure->is_own ? RPC_OWN_PARAMS : RPC_OPERATION_PARAMS, &reader->members);
  if (reader->members.repeated >= 0) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'%s' is given twice in params", rpc_param_names[reader->members.repeated].data);
    return JP_INVALID;
  }
  return readers[procedure->op](reader);
}

static enum jp_status decode_request(struct params_reader *reader, const struct jsonrpc_request *request)
{
  const struct rpc_procedure *procedure = rpc_procedure_find(request->method);
  if (procedure == NULL || procedure->kind != RPC_PROCEDURE_OPERATION ||
      (procedure->is_own && reader->rules->compat_pal)) {
    *reader->operation = (struct operation){.kind = OP_CONTROL};
    /* An unknown name without a dot makes an invalid request; a name with a dot is a procedure that was
     * not found. In 1.1 every unknown name is a procedure that was not found. */
    struct text name = request->method;
    bool is_procedure =
        request->version == JSONRPC_1_1 || (name.len > 0 && memchr(name.data, '.', name.len) != NULL);
    outcome_fail(reader->outcome, reader->arena, is_procedure ? FAILURE_NOT_FOUND : FAILURE_INVALID_REQUEST,
                 NULL, "Invalid method: %.*s",
                 TEXT_ARGS(arena_shorten(reader->arena, name, OUTCOME_NAME_SHOWN)));
    return JP_INVALID;
  }
  *reader->operation = (struct operation){
      .kind = procedure->op, .element_refs = reader->rules->compat_pal, .by_value = procedure->is_own};
  return request->version == JSONRPC_1_1 ? decode_1_1(reader, procedure, request)
                                         : decode_2_0(reader, procedure, request);
}

enum jp_status rpc_params_decode(const struct jsonrpc_request *request, const struct rpc_value_rules *rules,
                                 struct arena *arena, struct operation *operation, struct outcome *outcome)
{
  struct params_reader reader = {.rules = rules, .arena = arena, .operation = operation, .outcome = outcome};
  return decode_request(&reader, request);
}
