#include "jni/members.h"
#include "jni/runtime/throwables.h"

enum { REQUEST_REFERENCES = 64 };

/* Removes an interrupt or a context class loader that an earlier call has left on the thread. */
static void restore_thread(struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  const struct jvm *jvm = thread->jvm;
  const struct jvm_known *known = &jvm->known;
  if (thread->restorable == NULL || !(*env)->GetBooleanField(env, thread->restorable, jvm->thread_is_changed))
    return;
  (*env)->SetBooleanField(env, thread->restorable, jvm->thread_is_changed, JNI_FALSE);
  (*env)->CallStaticBooleanMethod(env, known->class_thread, known->static_thread_interrupted);
  (void)throwable_take(thread, NULL);
  (*env)->CallNonvirtualVoidMethod(env, thread->restorable, known->class_thread,
                                   known->method_thread_set_context_class_loader, jvm->class_loader);
  (void)throwable_take(thread, NULL);
}

enum jp_status jvm_request_begin(struct jvm_thread *thread)
{
  if (!thread->has_frame && (*thread->env)->PushLocalFrame(thread->env, REQUEST_REFERENCES) != 0) {
    (*thread->env)->ExceptionClear(thread->env);
    return JP_NO_MEMORY;
  }
  thread->has_frame = true;
  thread->frame_is_empty = false;
  restore_thread(thread);
  return JP_OK;
}

void jvm_request_end(struct jvm_thread *thread)
{
  if (!thread->frame_is_empty)
    jvm_thread_drop_frames(thread);
  jvm_thread_trim_units(thread);
}

bool jvm_request_add_frame(struct jvm_thread *thread, size_t count)
{
  if ((*thread->env)->PushLocalFrame(thread->env, (jint)count) != 0) {
    (*thread->env)->ExceptionClear(thread->env);
    return false;
  }
  thread->more_frames++;
  return true;
}
