#include "jni/objects/object_table.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/throwables.h"

static struct resolved_member *noted_member(const struct jvm_thread *thread,
                                            const struct operation *operation)
{
  const struct member_cache *cache = thread->member_cache;
  const struct op_memo *memo = operation->memo;
  if (cache == NULL || memo == NULL || memo->serial != cache->serial)
    return NULL;
  struct resolved_member *member = memo->found;
  return member->is_brief ? member : NULL;
}

const uint64_t *jvm_brief_verdicts(const struct jvm_thread *thread, const struct operation *operation)
{
  const struct resolved_member *member = noted_member(thread, operation);
  return member == NULL ? NULL : member->verdicts;
}

static bool read_arguments(const struct resolved_member *member, const struct operation *operation,
                           jvalue *out)
{
  for (size_t i = 0; i < member->plan_count; i++)
    if (!argument_read_plainly(&member->plans[i], &operation->args[i], &out[i]))
      return false;
  return true;
}

static bool is_of(JNIEnv *env, const struct resolved_member *member, jobject receiver)
{
  return (*env)->IsInstanceOf(env, receiver, member->named->ref) &&
         (member->named == member->declaring || (*env)->IsInstanceOf(env, receiver, member->declaring->ref));
}

/* As the key and the general way want it (member_cache_find, jvm_invoke); false: they shall say what is wrong. */
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
  if (class_id == member->key.receiver_class && is_of(env, member, *receiver))
    return true;
  (*env)->DeleteLocalRef(env, *receiver);
  return false;
}

static void run_action(JNIEnv *env, const struct resolved_member *member, jobject receiver,
                       const jvalue *arguments, jvalue *value)
{
  switch (member->action) {
  case MEMBER_CALL:
    dispatch_call(env, member->brief_result, receiver, member->method_id, arguments, value);
    break;
  case MEMBER_CALL_STATIC:
    dispatch_call_static(env, member->brief_result, member->declaring->ref, member->method_id, arguments,
                         value);
    break;
  case MEMBER_GET:
    dispatch_get(env, member->brief_result, receiver, member->field_id, value);
    break;
  case MEMBER_GET_STATIC:
    dispatch_get_static(env, member->brief_result, member->field->owner->ref, member->field_id, value);
    break;
  case MEMBER_PUT:
    dispatch_put(env, member->plans[0].from, receiver, member->field_id, arguments);
    break;
  default:
    dispatch_put_static(env, member->plans[0].from, member->field->owner->ref, member->field_id, arguments);
    break;
  }
}

static enum jvm_brief tell(const struct resolved_member *member, const jvalue *value, int64_t *integer)
{
  switch (member->brief_result) {
  case 'V':
    return JVM_BRIEF_VOID;
  case 'B':
    *integer = (jint)value->b;
    break;
  case 'S':
    *integer = value->s;
    break;
  case 'I':
    *integer = value->i;
    break;
  default:
    *integer = value->j;
    break;
  }
  return JVM_BRIEF_INTEGER;
}

enum jvm_brief jvm_brief_run(const struct jvm_request *request, int64_t *integer, struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  JNIEnv *env = thread->env;
  struct resolved_member *member = noted_member(thread, request->operation);
  jvalue arguments[FEW_ARGUMENTS];
  jvalue value = {0};
  jobject receiver;
  thread->frame_is_empty = true;
  /* A static member without an id: its class is not initialised yet. */
  if (member == NULL || (member->method_id == NULL && member->field_id == NULL) ||
      !read_arguments(member, request->operation, arguments) || !take_receiver(request, member, &receiver))
    return JVM_BRIEF_UNFIT;
  run_action(env, member, receiver, arguments, &value);
  if (receiver != NULL)
    (*env)->DeleteLocalRef(env, receiver);
  if (!throwable_take_outcome(thread, request->arena, request->limits->stack_frames_max, outcome))
    return tell(member, &value, integer);
  thread->frame_is_empty = false;
  return JVM_BRIEF_FAILED;
}
