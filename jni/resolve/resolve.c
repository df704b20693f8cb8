#include "jni/objects/object_table.h"
#include "jni/resolve/resolution.h"
#include "jni/runtime/throwables.h"

enum {
  FRAMED_ARGUMENTS = 16, /* the request's frame has room for their references */
  /* What the arguments of one call become: JVMS 4.3.3 allows 255, and each may need another on its way. What
   * is gathered into an array leaves none. */
  MADE_REFERENCES = 2 * 255 + 64
};

static enum jp_status fail_unknown_ref(const struct jvm_request *request, uint32_t ref,
                                       struct outcome *outcome)
{
  outcome_fail(outcome, request->arena, FAILURE_SERVER, "java.lang.NullPointerException",
               "No object found with objRef: %u", ref);
  return JP_NOT_FOUND;
}

static enum jp_status fail_memory(const struct jvm_request *request, struct outcome *outcome)
{
  outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "out of memory");
  return JP_NO_MEMORY;
}

static enum jp_status take_receiver(const struct jvm_request *request, struct jvm_records *records,
                                    struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  records->receiver = NULL;
  records->has_references = operation->has_instance;
  records->receiver_class = 0;
  if (!operation->has_instance)
    return JP_OK;
  records->receiver =
      jvm_objects_get(request->thread, request->objects, operation->instance, &records->receiver_class);
  return records->receiver == NULL ? fail_unknown_ref(request, operation->instance, outcome) : JP_OK;
}

/* Of the arguments that are refs. */
static enum jp_status take_arguments(const struct jvm_request *request, struct jvm_records *records,
                                     struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  enum jp_status status = JP_OK;
  for (size_t i = 0; status == JP_OK && i < operation->arg_count; i++) {
    const struct op_value *value = &operation->args[i];
    records->objects[i] = NULL;
    records->classes[i] = 0;
    if (value->kind != OP_REF)
      continue;
    records->has_references = true;
    records->objects[i] =
        jvm_objects_get(request->thread, request->objects, value->ref, &records->classes[i]);
    if (records->objects[i] == NULL)
      status = fail_unknown_ref(request, value->ref, outcome);
  }
  return status;
}

static size_t count_refs(const struct operation *operation)
{
  size_t count = 0;
  for (size_t i = 0; i < operation->arg_count; i++)
    count += operation->args[i].kind == OP_REF;
  return count;
}

/* A frame for the refs, and inside it one for what the arguments become: together they may be more than a
 * frame can have. What an earlier look at the same operation has opened is dropped. */
static enum jp_status take_many_arguments(const struct jvm_request *request, struct jvm_records *records,
                                          struct outcome *outcome)
{
  records->has_references = true;
  jvm_thread_close_frames(request->thread);
  if (!jvm_thread_open_frame(request->thread, count_refs(request->operation)))
    return fail_memory(request, outcome);
  enum jp_status status = take_arguments(request, records, outcome);
  if (status != JP_OK)
    return status;
  return jvm_thread_open_frame(request->thread, MADE_REFERENCES) ? JP_OK : fail_memory(request, outcome);
}

/* Local references to the receiver and to the arguments that are refs: they stay alive for the call. */
static enum jp_status take_objects(const struct jvm_request *request, struct jvm_records *records,
                                   struct outcome *outcome)
{
  const struct operation *operation = request->operation;
  records->epoch = jvm_objects_epoch(request->objects);
  records->stamp = request->guard == NULL ? 0 : request->guard->stamp;
  if (!records_open(records, operation, request->arena))
    return fail_memory(request, outcome);
  enum jp_status status = take_receiver(request, records, outcome);
  if (status != JP_OK)
    return status;
  return operation->arg_count <= FRAMED_ARGUMENTS ? take_arguments(request, records, outcome)
                                                  : take_many_arguments(request, records, outcome);
}

static bool find_class(struct resolution *resolution)
{
  const struct operation *operation = resolution->operation;
  struct jp_error error;
  struct op_type type;
  if (op_type_parse_target(operation->type, &type, &error) != JP_OK) {
    outcome_fail(resolution->conversion.outcome, resolution->arena, FAILURE_INVALID_PARAMS, NULL, "%s",
                 error.text);
    return false;
  }
  if (resolution->receiver_class != NULL) {
    struct text name = op_type_binary_name(&type, resolution->arena);
    if (name.data == NULL)
      return argument_fail_memory(&resolution->conversion);
    resolution->named = resolution_find_ancestor(resolution, resolution->receiver_class, name);
  }
  if (resolution->named == NULL)
    resolution->named = argument_declared_class(&resolution->conversion, &type, NULL);
  return resolution->named != NULL;
}

static bool resolve_member(struct resolution *resolution)
{
  switch (resolution->operation->kind) {
  case OP_NEW:
    return resolution_find_constructor(resolution);
  case OP_CALL:
    return resolution_find_method(resolution);
  default:
    return resolution_find_field(resolution);
  }
}

static struct resolved_member *resolve_anew(const struct jvm_request *request, struct jvm_records *records,
                                            struct outcome *outcome)
{
  uint32_t receiver_class = records->receiver_class;
  records->has_references = true;
  struct resolved_member *member = arena_calloc(request->arena, 1, sizeof *member);
  if (member == NULL) {
    (void)fail_memory(request, outcome);
    return NULL;
  }
  struct resolution resolution = {
      .conversion = {.thread = request->thread,
                     .request = request,
                     .outcome = outcome,
                     .is_put = request->operation->kind == OP_PUT},
      .records = records,
      .operation = request->operation,
      .arena = request->arena,
      .receiver_class = receiver_class == 0 ? NULL : jvm_class_by_id(request->thread, receiver_class),
      .member = member,
      .cacheable = true,
  };
  if (!find_class(&resolution))
    return NULL;
  resolution.conversion.beside = resolution.named;
  member->named = resolution.named;
  member->name = request->operation->member;
  bool is_array = request->operation->kind == OP_NEW && resolution.named->component != 0;
  if (!is_array && !resolution_type_arguments(&resolution))
    return NULL;
  if (!resolve_member(&resolution))
    return NULL;
  return resolution.cacheable ? records_keep(records, request->operation, member) : member;
}

bool jvm_find(const struct jvm_request *request, struct jvm_target *target)
{
  struct outcome ignored;
  struct jvm_records *records = records_of(request->thread);
  if (records == NULL || take_objects(request, records, &ignored) != JP_OK)
    return false;
  struct resolved_member *member = records_find(records, request->operation);
  if (member == NULL)
    return false;
  resolved_member_fill_target(member, target);
  return true;
}

enum jp_status jvm_resolve(const struct jvm_request *request, struct jvm_target *target,
                           struct outcome *outcome)
{
  struct jvm_records *records = records_of(request->thread);
  if (records == NULL)
    return fail_memory(request, outcome);
  enum jp_status status = take_objects(request, records, outcome);
  if (status != JP_OK)
    return status;
  struct resolved_member *member = records_find(records, request->operation);
  if (member == NULL)
    member = resolve_anew(request, records, outcome);
  if (member == NULL)
    return outcome->kind == OUTCOME_ERROR && outcome->failure == FAILURE_DENIED ? JP_DENIED : JP_NOT_FOUND;
  resolved_member_fill_target(member, target);
  return JP_OK;
}
