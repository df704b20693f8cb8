/* The state of a thread: its frames of local references, its scratch buffer, and lending. */
#include "jni/runtime/machine.h"

#include "jni/members.h"
#include "jni/runtime/throwables.h"

#include <stdlib.h>

enum { UNITS_KEPT = 32 * 1024, REQUEST_REFERENCES = 64 };

void jvm_thread_init(struct jvm_thread *thread, struct jvm *jvm, JNIEnv *env, jobject java_thread)
{
  *thread = (struct jvm_thread){.env = env,
                                .own_env = env,
                                .jvm = jvm,
                                .jvmti = jvm->jvmti,
                                .java_thread = java_thread,
                                .restorable = java_thread};
}

static void set_place(struct jvm_thread *thread, const struct jvm_thread_place *place)
{
  thread->env = place->env;
  thread->restorable = place->restorable;
  thread->frame = place->frame; /* this frame belongs to another thread, so its state does not change */
  thread->more_frames = place->more_frames;
}

struct jvm_thread_place jvm_thread_lend(struct jvm_thread *thread, JNIEnv *env)
{
  const struct jvm_thread_place own = {.env = thread->env,
                                       .restorable = thread->restorable,
                                       .frame = thread->frame,
                                       .more_frames = thread->more_frames};
  set_place(thread, &(struct jvm_thread_place){.env = env});
  return own;
}

void jvm_thread_return(struct jvm_thread *thread, const struct jvm_thread_place *place)
{
  (void)jvm_thread_drop_frames_except(thread, NULL);
  set_place(thread, place);
}

jobject jvm_thread_drop_frames_except(struct jvm_thread *thread, jobject kept)
{
  for (; thread->more_frames > 0; thread->more_frames--)
    kept = (*thread->env)->PopLocalFrame(thread->env, kept);
  if (thread->frame != JVM_FRAME_NONE)
    kept = (*thread->env)->PopLocalFrame(thread->env, kept);
  jvm_thread_set_frame(thread, JVM_FRAME_NONE);
  return kept;
}

void jvm_thread_fini(struct jvm_thread *thread)
{
  (void)jvm_thread_drop_frames_except(thread, NULL);
  if (thread->member_cache_destroy != NULL)
    thread->member_cache_destroy(thread);
  if (thread->fill_cache_destroy != NULL)
    thread->fill_cache_destroy(thread);
  if (thread->reading_cache_destroy != NULL)
    thread->reading_cache_destroy(thread);
  if (thread->found_classes_destroy != NULL)
    thread->found_classes_destroy(thread);
  (*thread->env)->DeleteGlobalRef(thread->env, thread->java_thread);
  free(thread->units);
  *thread = (struct jvm_thread){0};
}

uint16_t *jvm_thread_units(struct jvm_thread *thread, size_t count)
{
  if (count <= thread->unit_capacity && thread->units != NULL)
    return thread->units;
  size_t capacity = count < 256 ? 256 : count + count / 2;
  uint16_t *units = reallocarray(NULL, capacity, sizeof *units);
  if (units == NULL)
    return NULL;
  free(thread->units);
  thread->units = units;
  thread->unit_capacity = capacity;
  return units;
}

/* ---- requests ---- */

/* Undoes an interrupt or a context class loader that an earlier call has left on the thread. */
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

void jvm_thread_keep_changes(struct jvm_thread *thread)
{
  thread->restorable = NULL;
}

enum jp_status jvm_request_begin(struct jvm_thread *thread)
{
  if (thread->frame == JVM_FRAME_NONE &&
      (*thread->env)->PushLocalFrame(thread->env, REQUEST_REFERENCES) != 0) {
    (*thread->env)->ExceptionClear(thread->env);
    return JP_NO_MEMORY;
  }
  jvm_thread_set_frame(thread, JVM_FRAME_USED);
  restore_thread(thread);
  return JP_OK;
}

void jvm_request_end(struct jvm_thread *thread)
{
  if (thread->frame != JVM_FRAME_EMPTY)
    (void)jvm_thread_drop_frames_except(thread, NULL);
  if (thread->unit_capacity <= UNITS_KEPT)
    return;
  free(thread->units);
  thread->units = NULL;
  thread->unit_capacity = 0;
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
