/* Results that are told as a ref, because they cannot travel by value. */
#include "jni/convert/judge.h"
#include "jni/convert/results.h"
#include "jni/objects/object_table.h"
#include "jni/runtime/throwables.h"

/* What a collection or map says of itself; a negative size, and an exception, are no length. */
static bool ask_size(const struct jvm_request *request, jobject object, jmethodID method, size_t *length)
{
  jint size = (*request->thread->env)->CallIntMethod(request->thread->env, object, method);
  if (throwable_take(request->thread, NULL) || size < 0)
    return false;
  *length = (size_t)size;
  return true;
}

bool result_find_length(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                        size_t *length)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_known *known = &request->thread->jvm->known;
  if (class->component != 0 || class->maker == MAKER_STRING) {
    *length = (size_t)(class->component != 0 ? (*env)->GetArrayLength(env, object)
                                             : (*env)->GetStringLength(env, object));
    return true;
  }
  if ((*env)->IsInstanceOf(env, object, known->class_collection))
    return ask_size(request, object, known->method_collection_size, length);
  if ((*env)->IsInstanceOf(env, object, known->class_map))
    return ask_size(request, object, known->method_map_size, length);
  return false;
}

/* The length of an array or a String is told with every ref; a collection's or map's is a call of its size. */
static bool may_tell_length(const struct jvm_request *request, struct jvm_class *class, jobject object)
{
  JNIEnv *env = request->thread->env;
  const struct jvm_known *known = &request->thread->jvm->known;
  if (class->component != 0 || class->maker == MAKER_STRING)
    return true;
  if ((*env)->IsInstanceOf(env, object, known->class_collection))
    return judge_reading(request, class, READING_COLLECTION_SIZE);
  return (*env)->IsInstanceOf(env, object, known->class_map) &&
         judge_reading(request, class, READING_MAP_SIZE);
}

void result_fill_ref(const struct jvm_request *request, uint64_t epoch, jobject object, bool by_value,
                     size_t kept, struct outcome *outcome)
{
  struct jvm_class *class = jvm_class_of_object(request->thread, object);
  if (request->stored != NULL)
    jvm_objects_renew(request->thread, request->objects, request->stored, kept);
  *outcome = (struct outcome){.kind = OUTCOME_VALUE};
  if (class == NULL) {
    outcome_fail(outcome, request->arena, FAILURE_SERVER, NULL, "out of memory");
    return;
  }
  outcome->type = class->name;
  if (!result_store(request, epoch, class, object, &outcome->ref, outcome) || !by_value)
    return;
  outcome->has_value = true;
  outcome->value = (struct op_value){.kind = OP_REF, .type = class->name, .ref = outcome->ref};
  outcome->value.has_length = may_tell_length(request, class, object) &&
                              result_find_length(request, class, object, &outcome->value.length);
}

bool jvm_result_become_ref(const struct jvm_request *request, bool by_value, struct outcome *outcome)
{
  const struct jvm_result *result = request->result;
  if (result->object == NULL)
    return false;
  result_fill_ref(request, result->epoch, result->object, by_value, result->stored_before, outcome);
  return true;
}

void jvm_result_hold(struct jvm_thread *thread, struct jvm_result *result)
{
  if (result == NULL || result->object == NULL)
    return;
  jobject held = (*thread->env)->NewGlobalRef(thread->env, result->object);
  (*thread->env)->DeleteLocalRef(thread->env, result->object);
  result->object = held;
  result->is_global = true;
}

void jvm_result_end(const struct jvm_request *request)
{
  JNIEnv *env = request->thread->env;
  struct jvm_result *result = request->result;
  if (result->object != NULL && result->is_global)
    (*env)->DeleteGlobalRef(env, result->object);
  else if (result->object != NULL)
    (*env)->DeleteLocalRef(env, result->object);
  *result = (struct jvm_result){.object = NULL};
  if (request->stored != NULL)
    jvm_objects_release(request->objects, request->stored);
}

void jvm_throwable_want(struct jvm_thread *thread)
{
  thread->thrown.is_wanted = true;
}

void jvm_throwable_tell(const struct jvm_request *request, struct outcome *outcome)
{
  struct jvm_thread *thread = request->thread;
  jobject thrown = thread->thrown.object;
  bool is_it = thrown != NULL && outcome->kind == OUTCOME_ERROR && outcome->throwable != NULL &&
               outcome->throwable == thread->thrown.described;
  const struct jvm_class *class = is_it ? jvm_class_of_object(thread, thrown) : NULL;
  struct outcome failed;
  if (class == NULL || !result_store(request, jvm_objects_epoch(request->objects), class, thrown,
                                     &outcome->throwable_ref, &failed))
    outcome->throwable_ref = 0;
  if (thrown != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, thrown);
  thread->thrown.object = NULL;
  thread->thrown.described = NULL;
  thread->thrown.is_wanted = false;
}
