/* Reads a binary request: finds the part of the message that is the request, and makes the operation from
 * this part. */
#include "rpc/colfer/binary_request.h"

#include "rpc/values/value_read.h"

/* The meaning of a message's type, and the part that belongs to it. */
static const struct kind {
  bool asks;
  bool answers;
  enum rpc_colfer_part part;
} kinds[UINT8_MAX + 1] = {
    [COLFER_CALLS_CONSTRUCTOR] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_CALLS_INSTANCE_METHOD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_CALLS_CLASS_METHOD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_GETS_STATIC] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_GETS_FIELD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUTS_STATIC] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUTS_FIELD] = {.asks = true, .part = RPC_COLFER_EXEC},
    [COLFER_PUT_STATIC_DONE] = {.answers = true},
    [COLFER_PUT_FIELD_DONE] = {.answers = true},
    [COLFER_THROWS] = {.answers = true},
    [COLFER_RETURNS] = {.answers = true},
    [COLFER_CONTROL_REQUEST] = {.asks = true, .part = RPC_COLFER_CONTROL},
    [COLFER_CONTROL_RESPONSE] = {.answers = true},
    [COLFER_META_REQUEST] = {.asks = true, .part = RPC_COLFER_META},
    [COLFER_META_RESPONSE] = {.answers = true},
};

/* A request being decoded into an operation. */
struct reader {
  const struct rpc_colfer_rules *rules;
  struct arena *arena;
  struct operation *operation;
  struct outcome *outcome;
  struct rpc_value_reader values;
};

/* ---- bytes ---- */

static void find_sender(struct rpc_colfer_request *request)
{
  const struct colfer_message *message = &request->message;
  request->part = RPC_COLFER_CONTROL;
  request->id = TEXT_ABSENT;
  request->session = TEXT_ABSENT;
  if (message->exec_message != NULL) {
    request->part = RPC_COLFER_EXEC;
    request->id = message->exec_message->message_id;
    request->session = message->exec_message->peer_uuid;
  } else if (message->control_message != NULL) {
    request->id = message->control_message->message_id;
    request->session = message->control_message->from_peer;
  } else if (message->meta_message != NULL) {
    request->part = RPC_COLFER_META;
    request->id = message->meta_message->message_id;
    request->session = message->meta_message->from_peer;
  }
}

/* An intercept message is a field after the last known field. A message with such a field has no other field
 * except the type. */
static bool is_intercept(struct text bytes)
{
  enum { TYPE_SIZE = 2, FIRST_INTERCEPT = 4, LAST_INTERCEPT = 8 };
  size_t first = bytes.len > 0 && bytes.data[0] == 0 ? TYPE_SIZE : 0;
  return first < bytes.len && bytes.data[first] >= FIRST_INTERCEPT && bytes.data[first] <= LAST_INTERCEPT;
}

static enum jp_status fail_bytes(struct text bytes, enum jp_status status, const struct jp_error *error,
                                 struct arena *arena, struct outcome *outcome)
{
  if (status == JP_NO_MEMORY) {
    outcome_fail_memory(outcome);
  } else if (bytes.len == 0) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "The message is empty");
  } else if (is_intercept(bytes)) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Intercept messages are not served");
    outcome->status = TEXT("UNSUPPORTED");
  } else {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "The message cannot be decoded: %s",
                 error->text);
  }
  return status;
}

static enum jp_status fail_type(uint8_t type, struct arena *arena, struct outcome *outcome)
{
  if (kinds[type].answers) {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Message type %d is an answer, not a request",
                 type);
  } else {
    outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "Message type %d is not served", type);
    outcome->status = TEXT("UNSUPPORTED");
  }
  return JP_INVALID;
}

enum jp_status rpc_colfer_request_read(struct text bytes, struct arena *arena,
                                       struct rpc_colfer_request *request, struct outcome *outcome)
{
  struct jp_error error;
  enum jp_status status = colfer_decode(&colfer_message_type, bytes, arena, &request->message, &error);
  const struct kind *kind = &kinds[request->message.message_type];
  find_sender(request);
  if (status == JP_OK && kind->asks) {
    request->part = kind->part;
    return JP_OK;
  }
  const struct colfer_exec_message *exec = request->message.exec_message;
  if (status == JP_OK && !kind->answers && exec != NULL && exec->clinit_call != NULL)
    return JP_OK; /* the call of a class initializer has no message type of its own */
  request->part = RPC_COLFER_CONTROL;
  return status != JP_OK ? fail_bytes(bytes, status, &error, arena, outcome)
                         : fail_type(request->message.message_type, arena, outcome);
}

void rpc_colfer_request_glance(struct text beginning, struct arena *arena, struct rpc_colfer_request *request)
{
  /* Fields that were decoded before a failure keep their values. */
  enum jp_status status = colfer_decode(&colfer_message_type, beginning, arena, &request->message, NULL);
  (void)status;
  find_sender(request);
}

enum jp_status rpc_colfer_session_read(const struct rpc_colfer_request *request, struct arena *arena,
                                       bool *is_named, struct uuid *session, struct outcome *outcome)
{
  static const char *const names[RPC_COLFER_PARTS] = {
      [RPC_COLFER_EXEC] = "peer_uuid", [RPC_COLFER_CONTROL] = "from_peer", [RPC_COLFER_META] = "from_peer"};
  *is_named = request->session.len > 0;
  if (!*is_named)
    return JP_OK;
  if (request->session.len == sizeof session->bytes) {
    memcpy(session->bytes, request->session.data, sizeof session->bytes);
    return JP_OK;
  }
  outcome_fail(outcome, arena, FAILURE_INVALID_REQUEST, NULL, "'%s' must be a UUID of 16 bytes, not of %zu",
               names[request->part], request->session.len);
  return JP_INVALID;
}

/* ---- values ---- */

static enum jp_status fail_request(struct reader *reader, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

static enum jp_status read_json(struct reader *reader, struct text value, struct json_value *json)
{
  struct json_fault fault;
  enum jp_status status = json_validate(value, reader->rules->json, TEXT(""), &fault);
  if (status == JP_OK) {
    *json = json_root(value);
    return JP_OK;
  }
  if (status == JP_LIMIT)
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "%s: the value passes the depth limit of %zu at byte %zu", rpc_value_place(&reader->values),
                 reader->rules->json.max_depth, fault.offset);
  else
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "%s: the value is no JSON text: byte %zu: %s", rpc_value_place(&reader->values),
                 fault.offset, fault.reason);
  return status;
}

static enum jp_status read_ref(struct reader *reader, uint32_t ref, struct op_value *value)
{
  value->kind = OP_REF;
  value->release_count = 0;
  value->ref = ref;
  if (ref <= RPC_REF_MAX)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: 'ref' must be an integer from 1 to %d", rpc_value_place(&reader->values), RPC_REF_MAX);
  return JP_INVALID;
}

/* Clients may send back an object as they have received it. For this reason an object that has both a value
 * and a ref means the ref. */
static enum jp_status read_value(struct reader *reader, const struct colfer_obj *obj, struct op_value *value)
{
  *value = (struct op_value){.kind = OP_NULL};
  if (obj->clazz != NULL && obj->clazz->name.len > 0)
    value->type = obj->clazz->name;
  if (obj->is_null)
    return JP_OK;
  if (obj->ref != 0)
    return read_ref(reader, obj->ref, value);
  if (obj->value.len == 0)
    return JP_OK;
  struct json_value json;
  enum jp_status status = read_json(reader, obj->value, &json);
  return status == JP_OK ? rpc_typed_value_read(&reader->values, value->type, json, value) : status;
}

/* Reads a list of values into operation->args. */
static enum jp_status read_values(struct reader *reader, const struct colfer_obj *objs, size_t count)
{
  if (count == 0)
    return JP_OK;
  if (count > RPC_ARGS_MAX) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
                 "'args' has more elements than the limit of %d", RPC_ARGS_MAX);
    return JP_INVALID;
  }
  struct op_value *values = arena_alloc(reader->arena, count * sizeof *values);
  if (values == NULL)
    return outcome_fail_memory(reader->values.outcome);
  for (size_t i = 0; i < count; i++) {
    reader->values.argument = i;
    enum jp_status status = read_value(reader, &objs[i], &values[i]);
    if (status != JP_OK)
      return status;
  }
  reader->operation->args = values;
  reader->operation->arg_count = count;
  return JP_OK;
}

/* ---- exec messages ---- */

/* The parts that a request for a member may have. */
struct member_request {
  const struct colfer_class *clazz;
  struct text member;
  uint32_t object_ref;
  const struct colfer_obj *args;
  size_t arg_count;
  const struct colfer_obj *value; /* of a put; NULL: none */
  uint32_t value_ref;
};

static struct text name_of(const struct colfer_field *field)
{
  return field == NULL ? TEXT_ABSENT : field->name;
}

static struct member_request open_constructor_call(const void *request)
{
  const struct colfer_constructor_call *call = request;
  return (struct member_request){.clazz = call->clazz,
                                 .member = TEXT("<init>"),
                                 .args = call->args.items,
                                 .arg_count = call->args.count};
}

static struct member_request open_instance_method_call(const void *request)
{
  const struct colfer_instance_method_call *call = request;
  return (struct member_request){.clazz = call->clazz,
                                 .member = call->name,
                                 .object_ref = call->object_ref,
                                 .args = call->args.items,
                                 .arg_count = call->args.count};
}

static struct member_request open_class_method_call(const void *request)
{
  const struct colfer_class_method_call *call = request;
  return (struct member_request){
      .clazz = call->clazz, .member = call->name, .args = call->args.items, .arg_count = call->args.count};
}

static struct member_request open_static_field_get(const void *request)
{
  const struct colfer_static_field_get *get = request;
  return (struct member_request){.clazz = get->clazz, .member = name_of(get->field)};
}

static struct member_request open_instance_field_get(const void *request)
{
  const struct colfer_instance_field_get *get = request;
  return (struct member_request){
      .clazz = get->clazz, .member = name_of(get->field), .object_ref = get->object_ref};
}

static struct member_request open_static_field_put(const void *request)
{
  const struct colfer_static_field_put *put = request;
  return (struct member_request){.clazz = put->clazz,
                                 .member = name_of(put->field),
                                 .value = put->value_object,
                                 .value_ref = put->value_object_ref};
}

static struct member_request open_instance_field_put(const void *request)
{
  const struct colfer_instance_field_put *put = request;
  return (struct member_request){.clazz = put->clazz,
                                 .member = name_of(put->field),
                                 .object_ref = put->object_ref,
                                 .value = put->value_object,
                                 .value_ref = put->value_object_ref};
}

/* By the type of the message. */
static const struct exec_kind {
  enum op_kind op;
  const char *missing; /* the error if the member has no name */
  const char *name;    /* of its struct */
  size_t offset;       /* of the pointer to this part in the message */
  struct member_request (*open)(const void *request);
} exec_kinds[] = {
#define EXEC_KIND(op, missing, name)                                                                         \
  {                                                                                                          \
    op, missing, #name, offsetof(struct colfer_exec_message, name), open_##name                              \
  }
#define METHOD_MISSING "Method is missing in 'call' request"
    [COLFER_CALLS_CONSTRUCTOR] = EXEC_KIND(OP_NEW, "", constructor_call),
    [COLFER_CALLS_INSTANCE_METHOD] = EXEC_KIND(OP_CALL, METHOD_MISSING, instance_method_call),
    [COLFER_CALLS_CLASS_METHOD] = EXEC_KIND(OP_CALL, METHOD_MISSING, class_method_call),
    [COLFER_GETS_STATIC] = EXEC_KIND(OP_GET, "Field is missing in 'get' request", static_field_get),
    [COLFER_GETS_FIELD] = EXEC_KIND(OP_GET, "Field is missing in 'get' request", instance_field_get),
    [COLFER_PUTS_STATIC] = EXEC_KIND(OP_PUT, "Field is missing in 'put' request", static_field_put),
    [COLFER_PUTS_FIELD] = EXEC_KIND(OP_PUT, "Field is missing in 'put' request", instance_field_put),
#undef EXEC_KIND
};

enum { EXEC_KINDS = sizeof exec_kinds / sizeof exec_kinds[0] };

static enum jp_status check_name(struct reader *reader, struct text name, size_t most, const char *missing)
{
  if (name.len == 0)
    return fail_request(reader, missing);
  if (name.len <= most)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "a name is longer than the limit of %d bytes", OP_NAME_MAX);
  return JP_INVALID;
}

static enum jp_status read_target(struct reader *reader, const struct exec_kind *kind,
                                  const struct member_request *wanted)
{
  struct operation *operation = reader->operation;
  operation->type = wanted->clazz == NULL ? TEXT_ABSENT : wanted->clazz->name;
  operation->member = wanted->member;
  operation->has_instance = wanted->object_ref != 0;
  operation->instance = wanted->object_ref;
  bool implies_type =
      operation->type.len == 0 && operation->has_instance && !reader->rules->values.compat_pal;
  if (implies_type)
    operation->type = TEXT_ABSENT;
  enum jp_status status =
      implies_type ? JP_OK
                   : check_name(reader, operation->type, OP_TYPE_TEXT_MAX, "Type is missing in params");
  if (status == JP_OK)
    status = check_name(reader, operation->member, OP_NAME_MAX, kind->missing);
  if (status == JP_OK && wanted->object_ref > RPC_REF_MAX)
    return fail_request(reader, "'instance' must be an integer from 1 to 2147483647");
  if (status == JP_OK && !reader->rules->values.compat_pal)
    status = rpc_piece_read(operation, reader->arena, reader->outcome);
  return status;
}

static enum jp_status read_put_value(struct reader *reader, const struct member_request *wanted)
{
  if (wanted->value == NULL && wanted->value_ref == 0)
    return fail_request(reader, "Value is missing in 'put' request");
  struct colfer_obj obj = {0};
  if (wanted->value != NULL)
    obj = *wanted->value;
  if (wanted->value_ref != 0) {
    obj.ref = wanted->value_ref;
    obj.is_null = false;
  }
  struct op_value *value = arena_alloc(reader->arena, sizeof *value);
  if (value == NULL)
    return outcome_fail_memory(reader->values.outcome);
  reader->values.is_put = true;
  reader->operation->args = value;
  reader->operation->arg_count = 1;
  return read_value(reader, &obj, value);
}

static enum jp_status fail_mismatch(struct reader *reader, uint8_t type, const char *name)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_REQUEST, NULL, "message type %d needs %s",
               type, name);
  return JP_INVALID;
}

static enum jp_status read_exec(struct reader *reader, const struct colfer_message *message)
{
  const struct colfer_exec_message *exec = message->exec_message;
  const struct exec_kind *kind =
      message->message_type < EXEC_KINDS ? &exec_kinds[message->message_type] : &exec_kinds[0];
  if (exec == NULL)
    return fail_mismatch(reader, message->message_type, "exec_message");
  const void *request = NULL;
  if (kind->open != NULL)
    memcpy(&request, (const char *)exec + kind->offset, sizeof request);
  if (request == NULL && exec->clinit_call == NULL)
    return fail_mismatch(reader, message->message_type, kind->name);
  if (request == NULL) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_REQUEST,
                 "java.lang.UnsupportedOperationException", "clinit_call is not served");
    return JP_INVALID;
  }
  const struct member_request wanted = kind->open(request);
  *reader->operation = (struct operation){.kind = kind->op,
                                          .element_refs = reader->rules->values.compat_pal,
                                          .value_refs = reader->rules->values.compat_pal,
                                          .collection_values = true};
  if (exec->thread_affinity.len > 0)
    reader->operation->thread_affinity = exec->thread_affinity;
  enum jp_status status = read_target(reader, kind, &wanted);
  if (status != JP_OK)
    return status;
  return kind->op == OP_PUT ? read_put_value(reader, &wanted)
                            : read_values(reader, wanted.args, wanted.arg_count);
}

/* ---- control messages ---- */

static const struct op_control_method *find_control(uint8_t command)
{
  static const enum op_command commands[] = {
      [COLFER_DELETE_OBJECT] = OP_DELETE_OBJECT,
      [COLFER_DELETE_SESSION] = OP_DELETE_SESSION,
      [COLFER_GC] = OP_GC,
      [COLFER_PING] = OP_PING,
  };
  bool is_known = command >= COLFER_DELETE_OBJECT && command < sizeof commands / sizeof commands[0];
  return is_known ? &op_control_methods[commands[command]] : NULL;
}

static enum jp_status check_refs(struct reader *reader, const struct op_control_method *control)
{
  const struct operation *operation = reader->operation;
  bool are_refs = operation->arg_count > 0;
  for (size_t i = 0; are_refs && i < operation->arg_count; i++)
    are_refs = operation->args[i].kind == OP_REF;
  if (are_refs)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "Missing object ref for %s request", control->name.data);
  return JP_INVALID;
}

static enum jp_status read_control(struct reader *reader, const struct colfer_message *message)
{
  const struct colfer_control_message *control = message->control_message;
  if (control == NULL)
    return fail_mismatch(reader, message->message_type, "control_message");
  const struct op_control_method *method = find_control(control->command);
  if (method == NULL) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_FOUND, NULL, "Unknown control command: %d",
                 control->command);
    reader->outcome->status = TEXT("UNSUPPORTED");
    return JP_INVALID;
  }
  *reader->operation = (struct operation){.kind = OP_CONTROL, .command = method->command};
  if (method->takes_refs) {
    enum jp_status status = read_values(reader, control->params.items, control->params.count);
    return status == JP_OK ? check_refs(reader, method) : status;
  }
  if (control->params.count == 0)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' takes no arguments",
               method->name.data);
  return JP_INVALID;
}

/* ---- metadata: the arguments of a query, all by position, or all as objects with the name of the argument
 * ---- */

enum argument { COMPRESS_ENCODE, MERGE_ANCESTRY, EXCLUDE_PREFIXES, INCLUDE_CLASSES, ARGUMENTS };

static const struct rule {
  struct text name;
  bool is_list; /* a list of texts; else a boolean */
} rules[ARGUMENTS] = {
    [COMPRESS_ENCODE] = {TEXT("compress_encode"), false},
    [MERGE_ANCESTRY] = {TEXT("merge_ancestry"), false},
    [EXCLUDE_PREFIXES] = {TEXT("exclude_prefixes"), true},
    [INCLUDE_CLASSES] = {TEXT("include_classes"), true},
};

static enum jp_status fail_argument(struct reader *reader, enum argument argument, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' %s",
               rules[argument].name.data, what);
  return JP_INVALID;
}

static enum jp_status fail_place(struct reader *reader, size_t place, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "argument %zu %s", place, what);
  return JP_INVALID;
}

static bool is_type(struct text written, bool is_list)
{
  struct op_type type;
  if (op_type_parse_argument(written, &type, NULL) != JP_OK)
    return false;
  if (is_list)
    return type.dimensions == 1 && type.base == 'L' && text_equal(type.name, TEXT("java.lang.String"));
  return type.dimensions == 0 && (type.base == 'Z' || text_equal(type.name, TEXT("java.lang.Boolean")));
}

static enum jp_status read_list(struct reader *reader, enum argument argument, const struct op_value *value,
                                struct text **list, size_t *count)
{
  if (value->kind != OP_LIST)
    return fail_argument(reader, argument, "must be an array of strings or null");
  struct text *items = arena_alloc(reader->arena, value->list.count * sizeof *items);
  if (items == NULL)
    return outcome_fail_memory(reader->values.outcome);
  for (size_t i = 0; i < value->list.count; i++) {
    if (value->list.items[i].kind != OP_TEXT)
      return fail_argument(reader, argument, "must be an array of strings or null");
    items[i] = value->list.items[i].text;
  }
  *list = items;
  *count = value->list.count;
  return JP_OK;
}

static enum jp_status read_flag(struct reader *reader, enum argument argument, const struct op_value *value,
                                bool *flag)
{
  if (value->kind != OP_BOOLEAN)
    return fail_argument(reader, argument, "must be true or false");
  *flag = value->boolean;
  return JP_OK;
}

static enum jp_status read_argument(struct reader *reader, enum argument argument, struct text type,
                                    const struct op_value *value)
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

static enum jp_status read_by_place(struct reader *reader, const struct op_value *values, size_t count)
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

/* NULL: the object has no member of this name. */
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

static enum jp_status read_named(struct reader *reader, size_t place, const struct op_value *object,
                                 bool seen[ARGUMENTS])
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

static enum jp_status read_by_name(struct reader *reader, const struct op_value *values, size_t count)
{
  bool seen[ARGUMENTS] = {false};
  for (size_t i = 0; i < count; i++) {
    enum jp_status status = read_named(reader, i, &values[i], seen);
    if (status != JP_OK)
      return status;
  }
  return JP_OK;
}

static enum jp_status read_meta(struct reader *reader, const struct colfer_message *message)
{
  const struct colfer_meta_message *meta = message->meta_message;
  if (meta == NULL)
    return fail_mismatch(reader, message->message_type, "meta_message");
  if (meta->service != COLFER_FETCH_CLASSES_INFO) {
    outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_FOUND, NULL, "Unknown meta service: %d",
                 meta->service);
    reader->outcome->status = TEXT("UNSUPPORTED");
    return JP_INVALID;
  }
  struct operation *query = reader->operation;
  *query = (struct operation){.kind = OP_META, .meta.compress_encode = true};
  enum jp_status status = read_values(reader, meta->params.items, meta->params.count);
  if (status != JP_OK || query->arg_count == 0)
    return status;
  return query->args[0].kind == OP_MAP ? read_by_name(reader, query->args, query->arg_count)
                                       : read_by_place(reader, query->args, query->arg_count);
}

/* ---- operations ---- */

enum jp_status rpc_colfer_operation_read(const struct rpc_colfer_request *request,
                                         const struct rpc_colfer_rules *rules, struct arena *arena,
                                         struct operation *operation, struct outcome *outcome)
{
  static enum jp_status (*const readers[RPC_COLFER_PARTS])(struct reader *, const struct colfer_message *) = {
      [RPC_COLFER_EXEC] = read_exec, [RPC_COLFER_CONTROL] = read_control, [RPC_COLFER_META] = read_meta};
  struct reader reader = {.rules = rules, .arena = arena, .operation = operation, .outcome = outcome};
  rpc_value_reader_init(&reader.values, &rules->values, arena, outcome);
  return readers[request->part](&reader, &request->message);
}
