#include "jni/callbacks/thrown_answers.h"

#include "jni/objects/object_table.h"
#include "jni/resolve/resolve.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"

jobject callback_exception_make(struct jvm_thread *thread, int code, struct text message)
{
  JNIEnv *env = thread->env;
  const struct jvm_callback_ids *ids = &thread->jvm->callback;
  jstring text = message.data == NULL ? NULL : jvm_string_new(thread, message);
  jobject made = NULL;
  if (!(*env)->ExceptionCheck(env))
    made = (*env)->NewObject(env, ids->exception_class, ids->new_exception, (jint)code, text);
  jthrowable thrown = throwable_catch(env);
  (*env)->DeleteLocalRef(env, text);
  return thrown != NULL ? thrown : made;
}

static bool is_throwable(struct jvm_thread *thread, jobject object)
{
  return object != NULL &&
         (*thread->env)->IsInstanceOf(thread->env, object, thread->jvm->known.class_throwable);
}

/* Makes the throwable like a client's OP_NEW: the judge is asked before a class is loaded. NULL: the policy
 * denies it, or the throwable cannot be made. */
static jobject make_by_new(const struct jvm_request *request, const struct jvm_callback_thrown *described)
{
  struct op_value message = {.kind = OP_TEXT, .text = described->message};
  const struct operation operation = {.kind = OP_NEW,
                                      .type = described->throwable_type,
                                      .member = TEXT("<init>"),
                                      .args = &message,
                                      .arg_count = described->message.data != NULL};
  struct jvm_result result = {.object = NULL};
  struct jvm_request making = *request;
  making.operation = &operation;
  making.drops_result = true;
  making.result = &result;
  struct jvm_target target;
  struct outcome outcome = {.kind = OUTCOME_VOID};
  if (jvm_resolve(&making, &target, &outcome) == JP_OK)
    jvm_invoke(&making, &target, &outcome);
  return is_throwable(request->thread, result.object) ? result.object : NULL;
}

static jstring make_string(struct jvm_thread *thread, struct text text)
{
  return text.data == NULL ? NULL : jvm_string_new(thread, text);
}

/* NULL: an exception is pending. */
static jobject make_frame(struct jvm_thread *thread, const struct jvm_callback_frame *frame)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  const struct text parts[] = {frame->class, frame->method, frame->file};
  jstring strings[sizeof parts / sizeof *parts] = {NULL};
  jobject made = NULL;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !(*env)->ExceptionCheck(env); i++)
    strings[i] = make_string(thread, parts[i]);
  if (!(*env)->ExceptionCheck(env))
    made = (*env)->NewObject(env, known->class_stack_trace_element, known->method_stack_trace_element_init,
                             strings[0], strings[1], strings[2], (jint)frame->line);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    (*env)->DeleteLocalRef(env, strings[i]);
  return made;
}

/* The client's frames, and then the Java frames of the caller. NULL: an exception is pending. */
static jobjectArray make_trace(struct jvm_thread *thread, const struct jvm_callback_thrown *described,
                               jobjectArray of_java)
{
  JNIEnv *env = thread->env;
  jsize client_count = (jsize)described->frame_count;
  jsize java_count = of_java == NULL ? 0 : (*env)->GetArrayLength(env, of_java);
  jobjectArray trace = (*env)->NewObjectArray(env, client_count + java_count,
                                              thread->jvm->known.class_stack_trace_element, NULL);
  for (jsize i = 0; trace != NULL && i < client_count + java_count; i++) {
    jobject frame = i < client_count ? make_frame(thread, &described->frames[i])
                                     : (*env)->GetObjectArrayElement(env, of_java, i - client_count);
    if (!(*env)->ExceptionCheck(env))
      (*env)->SetObjectArrayElement(env, trace, i, frame);
    (*env)->DeleteLocalRef(env, frame);
    if ((*env)->ExceptionCheck(env))
      return NULL;
  }
  return trace;
}

/* Sets the stack trace of the throwable. The throwable keeps its own trace if its class does not allow
 * changing it, or if making the new trace fails. */
static void set_trace(struct jvm_thread *thread, jobject throwable,
                      const struct jvm_callback_thrown *described)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  if (described->frame_count == 0)
    return;
  jobjectArray of_java = (*env)->CallObjectMethod(env, throwable, known->method_throwable_get_stack_trace);
  jobjectArray trace = (*env)->ExceptionCheck(env) ? NULL : make_trace(thread, described, of_java);
  if (trace != NULL)
    (*env)->CallVoidMethod(env, throwable, known->method_throwable_set_stack_trace, trace);
  (void)throwable_take(thread, NULL);
  (*env)->DeleteLocalRef(env, of_java);
  (*env)->DeleteLocalRef(env, trace);
}

/* Sets the cause of the throwable, unless the throwable has a cause already. */
static void set_cause(struct jvm_thread *thread, jobject throwable, jobject cause)
{
  JNIEnv *env = thread->env;
  jobject same =
      (*env)->CallObjectMethod(env, throwable, thread->jvm->known.method_throwable_init_cause, cause);
  (void)throwable_take(thread, NULL);
  (*env)->DeleteLocalRef(env, same);
}

/* Makes the throwable without its cause. */
static jobject make_throwable(const struct jvm_request *request, int code,
                              const struct jvm_callback_thrown *described)
{
  struct jvm_thread *thread = request->thread;
  jobject thrown =
      described->ref == 0 ? NULL : jvm_objects_get(thread, request->objects, described->ref, NULL);
  if (!is_throwable(thread, thrown))
    thrown = NULL;
  if (thrown == NULL && described->throwable_type.data != NULL)
    thrown = make_by_new(request, described);
  if (thrown == NULL)
    thrown = callback_exception_make(thread, code, described->message);
  if (thrown != NULL)
    set_trace(thread, thrown, described);
  return thrown;
}

jobject callback_throwable_make(const struct jvm_request *request, const struct jvm_callback_answer *answer)
{
  JNIEnv *env = request->thread->env;
  jobject outermost = make_throwable(request, answer->code, &answer->thrown);
  jobject thrown = outermost;
  for (const struct jvm_callback_thrown *described = answer->thrown.cause;
       described != NULL && thrown != NULL; described = described->cause) {
    jobject cause = make_throwable(request, answer->code, described);
    if (cause != NULL)
      set_cause(request->thread, thrown, cause);
    if (thrown != outermost)
      (*env)->DeleteLocalRef(env, thrown);
    thrown = cause;
  }
  return outermost;
}
