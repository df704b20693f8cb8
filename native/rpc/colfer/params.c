#include "rpc/colfer/params.h"

#include "rpc/values/value_read.h"

static enum jp_status fail(struct rpc_colfer_reader *reader, const char *what)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "%s", what);
  return JP_INVALID;
}

/* ---- values ---- */

static enum jp_status read_json(struct rpc_colfer_reader *reader, struct text value, struct json_value *json)
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

static enum jp_status read_ref(struct rpc_colfer_reader *reader, uint32_t ref, struct op_value *value)
{
  value->kind = OP_REF;
  value->tellings = 0;
  value->ref = ref;
  if (ref <= RPC_REF_MAX)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "%s: 'ref' must be an integer from 1 to %d", rpc_value_place(&reader->values), RPC_REF_MAX);
  return JP_INVALID;
}

/* What a client was given it may hand back as it came: an object with a value beside its ref is the object. */
static enum jp_status read_value(struct rpc_colfer_reader *reader, const struct colfer_obj *obj,
                                 struct op_value *value)
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

enum jp_status rpc_colfer_values_read(struct rpc_colfer_reader *reader, const struct colfer_obj *objs,
                                      size_t count)
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
    return rpc_value_no_memory(&reader->values);
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
  const char *missing; /* the error where the member has no name */
  const char *name;    /* of its struct */
  size_t offset;       /* of the pointer to that in the message */
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

static enum jp_status check_name(struct rpc_colfer_reader *reader, struct text name, size_t most,
                                 const char *missing)
{
  if (name.len == 0)
    return fail(reader, missing);
  if (name.len <= most)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL,
               "a name is longer than the limit of %d bytes", OP_NAME_MAX);
  return JP_INVALID;
}

static enum jp_status read_target(struct rpc_colfer_reader *reader, const struct exec_kind *kind,
                                  const struct member_request *wanted)
{
  struct operation *operation = reader->operation;
  operation->type = wanted->clazz == NULL ? TEXT_ABSENT : wanted->clazz->name;
  operation->member = wanted->member;
  operation->has_instance = wanted->object_ref != 0;
  operation->instance = wanted->object_ref;
  bool implies_type = operation->type.len == 0 && operation->has_instance && !reader->rules->compat_pal;
  if (implies_type)
    operation->type = TEXT_ABSENT;
  enum jp_status status =
      implies_type ? JP_OK
                   : check_name(reader, operation->type, OP_TYPE_TEXT_MAX, "Type is missing in params");
  if (status == JP_OK)
    status = check_name(reader, operation->member, OP_NAME_MAX, kind->missing);
  if (status == JP_OK && wanted->object_ref > RPC_REF_MAX)
    return fail(reader, "'instance' must be an integer from 1 to 2147483647");
  if (status == JP_OK && !reader->rules->compat_pal)
    status = rpc_piece_read(operation, reader->arena, reader->outcome);
  return status;
}

static enum jp_status read_put_value(struct rpc_colfer_reader *reader, const struct member_request *wanted)
{
  if (wanted->value == NULL && wanted->value_ref == 0)
    return fail(reader, "Value is missing in 'put' request");
  struct colfer_obj obj = {0};
  if (wanted->value != NULL)
    obj = *wanted->value;
  if (wanted->value_ref != 0) {
    obj.ref = wanted->value_ref;
    obj.is_null = false;
  }
  struct op_value *value = arena_alloc(reader->arena, sizeof *value);
  if (value == NULL)
    return rpc_value_no_memory(&reader->values);
  reader->values.is_put = true;
  reader->operation->args = value;
  reader->operation->arg_count = 1;
  return read_value(reader, &obj, value);
}

static enum jp_status fail_initializer(struct rpc_colfer_reader *reader)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_REQUEST,
               "java.lang.UnsupportedOperationException", "clinit_call is not served");
  return JP_INVALID;
}

static enum jp_status fail_mismatch(struct rpc_colfer_reader *reader, uint8_t type, const char *name)
{
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_REQUEST, NULL, "message type %d needs %s",
               type, name);
  return JP_INVALID;
}

static enum jp_status read_exec(struct rpc_colfer_reader *reader, const struct colfer_message *message)
{
  const struct colfer_exec_message *exec = message->exec_message;
  const struct exec_kind *kind =
      message->message_type < EXEC_KINDS ? &exec_kinds[message->message_type] : &exec_kinds[0];
  if (exec == NULL)
    return fail_mismatch(reader, message->message_type, "exec_message");
  const void *request = NULL;
  if (kind->open != NULL)
    memcpy(&request, (const char *)exec + kind->offset, sizeof request);
  if (request == NULL)
    return exec->clinit_call != NULL ? fail_initializer(reader)
                                     : fail_mismatch(reader, message->message_type, kind->name);
  const struct member_request wanted = kind->open(request);
  *reader->operation = (struct operation){.kind = kind->op,
                                          .element_refs = reader->rules->compat_pal,
                                          .value_refs = reader->rules->compat_pal,
                                          .collection_values = true};
  if (exec->thread_affinity.len > 0)
    reader->operation->thread_affinity = exec->thread_affinity;
  enum jp_status status = read_target(reader, kind, &wanted);
  if (status != JP_OK)
    return status;
  return kind->op == OP_PUT ? read_put_value(reader, &wanted)
                            : rpc_colfer_values_read(reader, wanted.args, wanted.arg_count);
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

static enum jp_status check_refs(struct rpc_colfer_reader *reader, const struct op_control_method *control)
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

static enum jp_status read_control(struct rpc_colfer_reader *reader, const struct colfer_message *message)
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
    enum jp_status status = rpc_colfer_values_read(reader, control->params.items, control->params.count);
    return status == JP_OK ? check_refs(reader, method) : status;
  }
  if (control->params.count == 0)
    return JP_OK;
  outcome_fail(reader->outcome, reader->arena, FAILURE_INVALID_PARAMS, NULL, "'%s' takes no arguments",
               method->name.data);
  return JP_INVALID;
}

/* ---- metadata ---- */

static enum jp_status read_meta(struct rpc_colfer_reader *reader, const struct colfer_message *message)
{
  const struct colfer_meta_message *meta = message->meta_message;
  if (meta == NULL)
    return fail_mismatch(reader, message->message_type, "meta_message");
  if (meta->service == COLFER_FETCH_CLASSES_INFO)
    return rpc_colfer_meta_read(reader, meta);
  outcome_fail(reader->outcome, reader->arena, FAILURE_NOT_FOUND, NULL, "Unknown meta service: %d",
               meta->service);
  reader->outcome->status = TEXT("UNSUPPORTED");
  return JP_INVALID;
}

/* ---- */

enum jp_status rpc_colfer_operation_read(const struct rpc_colfer_request *request,
                                         const struct rpc_colfer_rules *rules, struct arena *arena,
                                         struct operation *operation, struct outcome *outcome)
{
  static enum jp_status (*const readers[RPC_COLFER_PARTS])(struct rpc_colfer_reader *,
                                                           const struct colfer_message *) = {
      [RPC_COLFER_EXEC] = read_exec, [RPC_COLFER_CONTROL] = read_control, [RPC_COLFER_META] = read_meta};
  struct rpc_colfer_reader reader = {
      .rules = rules, .arena = arena, .operation = operation, .outcome = outcome};
  rpc_value_reader_init(&reader.values, rules->digits_max, rules->values_max, arena, outcome);
  reader.values.compat_pal = rules->compat_pal;
  return readers[request->part](&reader, &request->message);
}
