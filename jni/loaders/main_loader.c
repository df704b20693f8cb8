#include "jni/loaders/main_loader.h"

#include "jni/loaders/loaders.h"
#include "jni/runtime/throwables.h"

#include <stdatomic.h>

enum { RUNNING = UINT32_MAX };

static struct {
  jweak thread;            /* stays, because another thread may be using it when main returns */
  _Atomic uint32_t number; /* RUNNING: main has not returned */
} of_main = {.number = RUNNING};

/* Asks Thread.getContextClassLoader and not a method that a subclass of the application overrides. */
static uint32_t read_number(struct jvm *jvm, JNIEnv *env, jobject thread)
{
  const struct jvm_known *known = &jvm->known;
  jobject loader = (*env)->CallNonvirtualObjectMethod(env, thread, known->class_thread,
                                                      known->method_thread_get_context_class_loader);
  if ((*env)->ExceptionCheck(env)) { /* a security manager may forbid it */
    (*env)->ExceptionClear(env);
    return 0;
  }
  if (loader == NULL)
    return 0;
  uint32_t number = loader_number(jvm, env, loader);
  (*env)->DeleteLocalRef(env, loader);
  return number <= LOADER_PLATFORM ? 0 : number;
}

enum jp_status main_loader_open(struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jobject self = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  if (throwable_take(thread, error))
    return JP_JAVA;
  of_main.thread = (*env)->NewWeakGlobalRef(env, self);
  (*env)->DeleteLocalRef(env, self);
  if (throwable_take(thread, error) || of_main.thread == NULL)
    return jp_fail(error, JP_NO_MEMORY, "out of memory");
  return JP_OK;
}

void main_loader_settle(struct jvm *jvm, JNIEnv *env)
{
  jobject self = (*env)->NewLocalRef(env, of_main.thread);
  atomic_store(&of_main.number, self == NULL ? 0 : read_number(jvm, env, self));
  (*env)->DeleteLocalRef(env, self);
}

uint32_t main_loader_number(struct jvm_thread *thread)
{
  uint32_t number = atomic_load_explicit(&of_main.number, memory_order_acquire);
  if (number != RUNNING)
    return number;
  JNIEnv *env = thread->env;
  jobject main_thread = (*env)->NewLocalRef(env, of_main.thread);
  if (main_thread == NULL)
    return 0;
  number = read_number(thread->jvm, env, main_thread);
  (*env)->DeleteLocalRef(env, main_thread);
  return number;
}
