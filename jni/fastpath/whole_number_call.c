#include "jni/fastpath/whole_number_call.h"

#include "jni/objects/object_table.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/throwables.h"

/* ---- keeping a call ---- */

/* The letter of the result for the actions that run_action supports; 0: not supported. */
static char find_result_letter(const struct resolved_member *member)
{
  switch (member->action) {
  case MEMBER_CALL:
  case MEMBER_CALL_STATIC:
    return member->method->result.kind;
  case MEMBER_GET:
  case MEMBER_GET_STATIC:
    return member->field->type.kind;
  case MEMBER_PUT:
  case MEMBER_PUT_STATIC:
    return 'V';
  default:
    return 0;
  }
}

static bool is_whole_number_call(const struct resolved_member *member, const struct operation *operation,
                                 char result)
{
  if (result == 0 || strchr("BSIJV", result) == NULL || member->variable ||
      operation->arg_count != member->plan_count || member->plan_count > FEW_ARGUMENTS)
    return false;
  /* A later call may have other numbers, but needs the same member. It has: every whole number that
   * argument_read_whole_number reads has the same form in the member's key, because a number without a
   * declared type is read as an int if it fits. */
  for (size_t i = 0; i < member->plan_count; i++) {
    const struct op_value *value = &operation->args[i];
    if (!member->plans[i].is_whole_number ||
        (value->type.data == NULL && (value->kind != OP_INTEGER || member->plans[i].from != 'I')))
      return false;
  }
  return true;
}

bool jvm_whole_number_call_keep(const struct jvm_thread *thread, struct resolved_member *member,
                                const struct operation *operation, struct jvm_whole_number_call *call)
{
  char result = find_result_letter(member);
  if (!member->is_kept || member->named_ref != NULL || member->needs_own_thread || operation->loader != 0 ||
      !is_whole_number_call(member, operation, result))
    return false;
  *call = (struct jvm_whole_number_call){
      .member = member, .serial = thread->member_cache->serial, .result = result};
  return true;
}

/* ---- running a call ---- */

const uint64_t *jvm_whole_number_call_verdicts(const struct jvm_thread *thread,
                                               const struct jvm_whole_number_call *call)
{
  if (call->member == NULL || thread->member_cache->serial != call->serial)
    return NULL;
  return call->member->verdicts;
}

static bool read_arguments(const struct resolved_member *member, const struct operation *operation,
                           jvalue *out)
{
  for (size_t i = 0; i < member->plan_count; i++)
    if (!argument_read_whole_number(&member->plans[i], &operation->args[i], &out[i]))
      return false;
  return true;
}

/* False if the receiver does not match the member's key, or is not of its class; the general path reports the
 * error. */
static bool take_receiver(const struct jvm_request *request, const struct resolved_member *member,
                          jobject *receiver)
{
  JNIEnv *env = request->thread->env;
  uint32_t class_id = 0;
  *receiver = NULL;
  if (!request->operation->has_instance)
    return member->key.receiver_class == 0;
  *receiver = jvm_objects_get(request->thread, request->objects, request->operation->instance, &class_id);
  if (*receiver == NULL)
    return false;
  if (class_id == member->key.receiver_class && (*env)->IsInstanceOf(env, *receiver, member->named->ref) &&
      (member->named == member->declaring || (*env)->IsInstanceOf(env, *receiver, member->declaring->ref)))
    return true;
  (*env)->DeleteLocalRef(env, *receiver);
  return false;
}

static void run_action(JNIEnv *env, const struct jvm_whole_number_call *call, jobject receiver,
                       const jvalue *arguments, jvalue *value)
{
  const struct resolved_member *member = call->member;
  switch (member->action) {
  case MEMBER_CALL:
    dispatch_call(env, call->result, receiver, member->method_id, arguments, value);
    break;
  case MEMBER_CALL_STATIC:
    dispatch_call_static(env, call->result, member->declaring->ref, member->method_id, arguments, value);
    break;
  case MEMBER_GET:
    dispatch_get(env, call->result, receiver, member->field_id, value);
    break;
  case MEMBER_GET_STATIC:
    dispatch_get_static(env, call->result, member->field->owner->ref, member->field_id, value);
    break;
  case MEMBER_PUT:
    dispatch_put(env, member->plans[0].from, receiver, member->field_id, arguments);
    break;
  default:
    dispatch_put_static(env, member->plans[0].from, member->field->owner->ref, member->field_id, arguments);
    break;
  }
}

static enum jvm_whole_number read_result(char letter, const jvalue *value, int64_t *result)
{
  switch (letter) {
  case 'V':
    return JVM_WHOLE_NUMBER_VOID;
  case 'B':
    *result = (jint)value->b;
    break;
  case 'S':
    *result = value->s;
    break;
  case 'I':
    *result = value->i;
    break;
  default:
    *result = value->j;
    break;
  }
  return JVM_WHOLE_NUMBER_RESULT;
}

enum jvm_whole_number jvm_whole_number_call_run(const struct jvm_request *request,
                                                const struct jvm_whole_number_call *call, int64_t *result)
{
  struct jvm_thread *thread = request->thread;
  JNIEnv *env = thread->env;
  const struct resolved_member *member = call->member;
  jvalue arguments[FEW_ARGUMENTS];
  jvalue value = {0};
  jobject receiver;
  jvm_thread_set_frame(thread, JVM_FRAME_EMPTY);
  /* A static member has no id until its class is initialised. */
  if ((member->method_id == NULL && member->field_id == NULL) ||
      !read_arguments(member, request->operation, arguments) || !take_receiver(request, member, &receiver))
    return JVM_WHOLE_NUMBER_UNFIT;
  run_action(env, call, receiver, arguments, &value);
  if (receiver != NULL)
    (*env)->DeleteLocalRef(env, receiver);
  if ((*env)->ExceptionCheck(env))
    return JVM_WHOLE_NUMBER_THREW;
  return read_result(call->result, &value, result);
}

void jvm_whole_number_call_fail(const struct jvm_request *request, struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  jvm_thread_set_frame(thread, JVM_FRAME_USED);
  *outcome = (struct outcome){.kind = OUTCOME_VOID};
  (void)throwable_take_outcome(thread, request->arena, request->limits->stack_frames_max, outcome);
}
