#include "jni/dispatch.h"
#include "jni/objects/object_table.h"
#include "jni/resolve/member_cache.h"
#include "jni/runtime/throwables.h"

static struct jvm_record *noted_record(const struct jvm_thread *thread, const struct operation *operation)
{
  const struct jvm_records *records = thread->records;
  const struct op_memo *memo = operation->memo;
  if (records == NULL || memo == NULL || memo->serial != records->serial)
    return NULL;
  struct jvm_record *record = memo->found;
  return record->is_brief ? record : NULL;
}

const uint64_t *jvm_brief_verdicts(const struct jvm_thread *thread, const struct operation *operation)
{
  const struct jvm_record *record = noted_record(thread, operation);
  return record == NULL ? NULL : record->verdicts;
}

static bool read_arguments(const struct jvm_record *record, const struct operation *operation, jvalue *out)
{
  for (size_t i = 0; i < record->plan_count; i++)
    if (!argument_read_plainly(&record->plans[i], &operation->args[i], &out[i]))
      return false;
  return true;
}

static bool is_of(JNIEnv *env, const struct jvm_record *record, jobject receiver)
{
  return (*env)->IsInstanceOf(env, receiver, record->named->ref) &&
         (record->named == record->declaring || (*env)->IsInstanceOf(env, receiver, record->declaring->ref));
}

/* As the key and the general way want it (records_find, jvm_invoke); false: they shall say what is wrong. */
static bool take_receiver(const struct jvm_request *request, const struct jvm_record *record,
                          jobject *receiver)
{
  JNIEnv *env = request->thread->env;
  uint32_t class_id = 0;
  *receiver = NULL;
  if (!request->operation->has_instance)
    return record->key.receiver_class == 0;
  *receiver = jvm_objects_get(request->thread, request->objects, request->operation->instance, &class_id);
  if (*receiver == NULL)
    return false;
  if (class_id == record->key.receiver_class && is_of(env, record, *receiver))
    return true;
  (*env)->DeleteLocalRef(env, *receiver);
  return false;
}

static void run_action(JNIEnv *env, const struct jvm_record *record, jobject receiver,
                       const jvalue *arguments, jvalue *value)
{
  switch (record->action) {
  case RECORD_CALL:
    dispatch_call(env, record->brief_result, receiver, record->method_id, arguments, value);
    break;
  case RECORD_CALL_STATIC:
    dispatch_call_static(env, record->brief_result, record->declaring->ref, record->method_id, arguments,
                         value);
    break;
  case RECORD_GET:
    dispatch_get(env, record->brief_result, receiver, record->field_id, value);
    break;
  case RECORD_GET_STATIC:
    dispatch_get_static(env, record->brief_result, record->field->owner->ref, record->field_id, value);
    break;
  case RECORD_PUT:
    dispatch_put(env, record->plans[0].from, receiver, record->field_id, arguments);
    break;
  default:
    dispatch_put_static(env, record->plans[0].from, record->field->owner->ref, record->field_id, arguments);
    break;
  }
}

static enum jvm_brief tell(const struct jvm_record *record, const jvalue *value, int64_t *integer)
{
  switch (record->brief_result) {
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
  struct jvm_record *record = noted_record(thread, request->operation);
  jvalue arguments[FEW_ARGUMENTS];
  jvalue value = {0};
  jobject receiver;
  thread->frame_is_empty = true;
  /* A static member without an id: its class is not initialised yet. */
  if (record == NULL || (record->method_id == NULL && record->field_id == NULL) ||
      !read_arguments(record, request->operation, arguments) || !take_receiver(request, record, &receiver))
    return JVM_BRIEF_UNFIT;
  run_action(env, record, receiver, arguments, &value);
  if (receiver != NULL)
    (*env)->DeleteLocalRef(env, receiver);
  if (!throwable_take_outcome(thread, request->arena, request->limits->stack_frames_max, outcome))
    return tell(record, &value, integer);
  thread->frame_is_empty = false;
  return JVM_BRIEF_FAILED;
}
