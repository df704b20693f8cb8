/* A struct jvm_thread without a thread, and the thread that it is bound to for a while. */
#include "base/process_limits.h"
#include "jni/callbacks.h"
#include "jni/runtime/peer_threads.h"

#include <assert.h>
#include <stdlib.h>

enum { STACK_MIN = 256 * 1024 };

bool jvm_stack_is_short(void)
{
  return stack_left() < STACK_MIN;
}

enum jp_status jvm_thread_create(struct jvm *jvm, struct jvm_thread **thread)
{
  *thread = malloc(sizeof **thread);
  if (*thread == NULL)
    return JP_NO_MEMORY;
  jvm_thread_init(*thread, jvm, NULL, NULL);
  (*thread)->is_nested = true;
  return JP_OK;
}

void jvm_thread_destroy(struct jvm_thread *thread)
{
  if (thread == NULL)
    return;
  struct jvm *jvm = thread->jvm;
  struct jvm_attachment attachment;
  /* Once the JVM has stopped, what it holds for the thread has gone with it. */
  if (!atomic_load(&jvm->has_stopped) && jvm_attach(jvm, &attachment)) {
    thread->env = attachment.env;
    jvm_thread_fini(thread);
    jvm_detach(jvm, &attachment);
  }
  free(thread);
}

void jvm_thread_run(struct jvm_thread *thread, void (*run)(void *argument), void *argument)
{
  JavaVM *vm = thread->jvm->vm;
  JNIEnv *env = NULL;
  jint found = (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10);
  assert(found == JNI_OK); /* jni has called the hook that calls this */
  (void)found;
  const struct jvm_thread_place place = jvm_thread_lend(thread, env);
  run(argument);
  jvm_thread_take_back(thread, &place);
}
