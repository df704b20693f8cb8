/* Default methods of a callback's interfaces, which run in Java. */
#include "base/primitives.h"
#include "jni/callbacks/answers.h"
#include "jni/callbacks/natives.h"
#include "jni/convert/arguments.h"
#include "jni/proxies/proxies.h"
#include "jni/runtime/dispatch.h"

enum { ARGUMENTS_MAX = 255 }; /* JVMS 4.3.3 */

/* One run of a default method. */
struct default_run {
  JNIEnv *env;
  struct jvm *jvm;
  struct jvm_method *method;
  jvalue arguments[ARGUMENTS_MAX];
};

/* JNI checks no types. */
static bool read_argument(struct default_run *run, struct jvm_type *type, jobject object, jvalue *out)
{
  JNIEnv *env = run->env;
  struct jvm_thread passing;
  jvm_thread_init(&passing, run->jvm, env, NULL);
  bool fits;
  if (type->kind == 'L') {
    const struct jvm_class *class = jvm_type_class(&passing, type); /* loaded when the kind was made */
    fits = class != NULL && (object == NULL || (*env)->IsInstanceOf(env, object, class->ref));
    out->l = object;
  } else {
    fits =
        object != NULL && (*env)->IsInstanceOf(env, object, jvm_known_wrapper(&run->jvm->known, type->kind));
    if (fits)
      argument_unbox(&passing, object, type->kind, out);
  }
  jvm_thread_fini(&passing);
  return fits;
}

static bool read_arguments(struct default_run *run, jobjectArray arguments)
{
  JNIEnv *env = run->env;
  size_t count = run->method->param_count;
  jsize length = arguments == NULL ? 0 : (*env)->GetArrayLength(env, arguments);
  if ((size_t)length != count)
    return false;
  for (size_t i = 0; i < count; i++) {
    jobject object = (*env)->GetObjectArrayElement(env, arguments, (jsize)i);
    if (!read_argument(run, &run->method->params[i], object, &run->arguments[i]))
      return false;
  }
  return true;
}

static jobject run_method(struct default_run *run, jobject target)
{
  JNIEnv *env = run->env;
  struct jvm_method *method = run->method;
  char letter = method->result.kind;
  jvalue result = {0};
  dispatch_call_nonvirtual(env, letter, target, method->owner->ref, method->id, run->arguments, &result);
  if ((*env)->ExceptionCheck(env) || letter == 'V')
    return NULL;
  return letter == 'L' ? result.l : callback_box(run->jvm, env, letter, &result);
}

static void refuse_run(JNIEnv *env, const struct jvm *jvm)
{
  (*env)->ThrowNew(env, jvm->known.class_illegal_argument_exception, "no such method of a callback");
}

static jobject run_default(JNIEnv *env, struct jvm *jvm, struct jvm_method *method, jobject handler,
                           jobjectArray arguments)
{
  struct default_run run = {.env = env, .jvm = jvm, .method = method};
  if ((*env)->PushLocalFrame(env, (jint)method->param_count + 8) != 0)
    return NULL; /* an OutOfMemoryError is pending */
  jobject result = NULL;
  jobject target = callback_proxy_object(env, jvm, handler);
  bool is_right = target != NULL && (*env)->IsInstanceOf(env, target, method->owner->ref) &&
                  read_arguments(&run, arguments);
  if (is_right)
    result = run_method(&run, target);
  else
    refuse_run(env, jvm);
  jthrowable pending = (*env)->ExceptionOccurred(env);
  (*env)->ExceptionClear(env);
  jobject kept = (*env)->PopLocalFrame(env, pending != NULL ? pending : result);
  if (pending == NULL)
    return kept;
  (*env)->Throw(env, kept);
  return NULL;
}

jobject JNICALL callback_run(JNIEnv *env, jobject handler, jlong number, jint index, jobjectArray arguments)
{
  struct jvm *jvm = callback_jvm();
  struct callback_proxy *proxy = callback_proxy_take(env, (uint64_t)number, handler);
  bool is_default = proxy != NULL && index >= 0 && (size_t)index < proxy->kind->method_count &&
                    !proxy->kind->methods[index].is_sent;
  struct jvm_method *method = is_default ? proxy->kind->methods[index].method : NULL;
  callback_proxy_release(env, proxy); /* the handler, on the caller's stack, keeps the interface */
  if (method != NULL)
    return run_default(env, jvm, method, handler, arguments);
  refuse_run(env, jvm);
  return NULL;
}
