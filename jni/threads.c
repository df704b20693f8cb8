#include "jni/internal/peer_threads.h"
#include "jni/internal/strings.h"
#include "jni/internal/throwables.h"
#include "jni/members.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
  REQUEST_REFERENCES = 64,
  UNITS_KEPT = 32 * 1024, /* scratch that survives a request */
  EXIT_DEPTH = 64         /* how far up from its innermost frame a thread's Runtime.exit is looked for */
};

/* What a thread of the peer is to do; its address is what the Java object holds. */
struct jvm_work {
  struct jvm *jvm;
  jobject java_thread; /* global */
  void (*run)(void *argument, struct jvm_thread *thread);
  void *argument;
};

void jvm_thread_init(struct jvm_thread *thread, struct jvm *jvm, JNIEnv *env, jobject java_thread)
{
  static _Atomic uint32_t numbers;
  *thread = (struct jvm_thread){.env = env,
                                .jvm = jvm,
                                .jvmti = jvm->jvmti,
                                .java_thread = java_thread,
                                .number = atomic_fetch_add(&numbers, 1) + 1};
}

bool jvm_thread_open_frame(struct jvm_thread *thread, size_t count)
{
  if ((*thread->env)->PushLocalFrame(thread->env, (jint)count) != 0) {
    (*thread->env)->ExceptionClear(thread->env);
    return false;
  }
  thread->more_frames++;
  return true;
}

void jvm_thread_close_frames(struct jvm_thread *thread)
{
  for (; thread->more_frames > 0; thread->more_frames--)
    (*thread->env)->PopLocalFrame(thread->env, NULL);
}

static void drop_frame(struct jvm_thread *thread)
{
  jvm_thread_close_frames(thread);
  if (thread->has_frame)
    (*thread->env)->PopLocalFrame(thread->env, NULL);
  thread->has_frame = false;
}

void jvm_thread_fini(struct jvm_thread *thread)
{
  drop_frame(thread);
  if (thread->records_destroy != NULL)
    thread->records_destroy(thread);
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

/* An interrupt or a context class loader that an earlier call left here is not for this request. */
static void restore_thread(struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  const struct jvm *jvm = thread->jvm;
  if (thread->java_thread == NULL ||
      !(*env)->GetBooleanField(env, thread->java_thread, jvm->thread_is_changed))
    return;
  (*env)->CallVoidMethod(env, thread->java_thread, jvm->thread_restore);
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
    drop_frame(thread);
  if (thread->unit_capacity > UNITS_KEPT) {
    free(thread->units);
    thread->units = NULL;
    thread->unit_capacity = 0;
  }
}

void jvm_gc(struct jvm_thread *thread)
{
  const struct jvm_known *known = &thread->jvm->known;
  (*thread->env)->CallStaticVoidMethod(thread->env, known->class_system, known->static_system_gc);
  (void)throwable_take(thread, NULL);
}

void JNICALL jvm_thread_serve(JNIEnv *env, jclass class, jlong work)
{
  (void)class;
  struct jvm_work *mine = (struct jvm_work *)(intptr_t)work; /* NOLINT(performance-no-int-to-ptr) */
  struct jvm_thread thread;
  jvm_thread_init(&thread, mine->jvm, env, mine->java_thread);
  mine->run(mine->argument, &thread);
  jvm_thread_fini(&thread);
  free(mine);
}

void jvm_work_destroy(JNIEnv *env, struct jvm_work *work)
{
  (*env)->DeleteGlobalRef(env, work->java_thread);
  free(work);
}

static jobject new_thread(struct jvm_thread *thread, const char *name, const struct jvm_work *work,
                          struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm *jvm = thread->jvm;
  jobject made = NULL;
  jstring string = jvm_string_new(thread, text_of(name));
  if (throwable_take(thread, error))
    goto out;
  made = (*env)->NewObject(env, jvm->thread_class, jvm->thread_new, string, jvm->class_loader,
                           (jlong)(intptr_t)work);
  if (throwable_take(thread, error))
    made = NULL;
out:
  (*env)->DeleteLocalRef(env, string);
  return made;
}

jobject jvm_thread_make(struct jvm_thread *thread, const char *name,
                        void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                        struct jvm_work **work, struct jp_error *error)
{
  struct jvm_work *made = malloc(sizeof *made);
  if (made == NULL) {
    jp_fail(error, JP_NO_MEMORY, "out of memory");
    return NULL;
  }
  *made = (struct jvm_work){.jvm = thread->jvm, .run = run, .argument = argument};
  jobject java_thread = new_thread(thread, name, made, error);
  made->java_thread = java_thread == NULL ? NULL : (*thread->env)->NewGlobalRef(thread->env, java_thread);
  if (made->java_thread == NULL) {
    if (java_thread != NULL)
      jp_fail(error, JP_NO_MEMORY, "out of memory");
    (*thread->env)->DeleteLocalRef(thread->env, java_thread);
    free(made);
    return NULL;
  }
  *work = made;
  return java_thread;
}

static enum jp_status spawn(struct jvm_thread *thread, const char *name,
                            void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                            struct jp_error *error)
{
  JNIEnv *env = thread->env;
  struct jvm_work *work;
  jobject made = jvm_thread_make(thread, name, run, argument, &work, error);
  if (made == NULL)
    return JP_JAVA;
  (*env)->CallVoidMethod(env, made, thread->jvm->known.method_thread_start);
  bool failed = throwable_take(thread, error);
  (*env)->DeleteLocalRef(env, made);
  if (!failed)
    return JP_OK;
  /* Thread.start throws before the new thread has run anything. */
  jvm_work_destroy(env, work);
  if (error != NULL)
    error->status = JP_LIMIT;
  return JP_LIMIT;
}

/* A calling thread that the JVM may or may not know. */
struct attachment {
  JNIEnv *env;
  bool is_new;
};

static bool attach(struct jvm *jvm, struct attachment *attachment)
{
  JavaVM *vm = jvm->vm;
  *attachment = (struct attachment){0};
  if ((*vm)->GetEnv(vm, (void **)&attachment->env, JNI_VERSION_10) == JNI_OK)
    return true;
  attachment->is_new = (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&attachment->env, NULL) == JNI_OK;
  return attachment->is_new;
}

static void detach(struct jvm *jvm, const struct attachment *attachment)
{
  if (attachment->is_new)
    (*jvm->vm)->DetachCurrentThread(jvm->vm);
}

enum jp_status jvm_spawn(struct jvm *jvm, const char *name,
                         void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                         struct jp_error *error)
{
  struct attachment attachment;
  if (atomic_load(&jvm->has_stopped) || !attach(jvm, &attachment))
    return jp_fail(error, JP_LIMIT, "no thread can be made: the JVM does not take this one");
  struct jvm_thread caller;
  jvm_thread_init(&caller, jvm, attachment.env, NULL);
  enum jp_status status = spawn(&caller, name, run, argument, error);
  jvm_thread_fini(&caller);
  detach(jvm, &attachment);
  return status;
}

static bool stands_in_exit(struct jvm *jvm, const struct jvm_thread *thread)
{
  jvmtiFrameInfo frames[EXIT_DEPTH];
  jint count = 0;
  if ((*jvm->jvmti)->GetStackTrace(jvm->jvmti, thread->java_thread, 0, EXIT_DEPTH, frames, &count) !=
      JVMTI_ERROR_NONE)
    return false;
  for (jint i = 0; i < count; i++) {
    if (frames[i].method == jvm->known.method_runtime_exit ||
        frames[i].method == jvm->known.method_runtime_halt)
      return true;
  }
  return false;
}

bool jvm_thread_is_exiting(struct jvm *jvm, const struct jvm_thread *thread)
{
  if (atomic_load(&jvm->has_stopped))
    return true;
  struct attachment attachment;
  if (!attach(jvm, &attachment)) /* JVMTI tells nothing to a thread that the JVM does not know */
    return false;
  bool exiting = stands_in_exit(jvm, thread);
  detach(jvm, &attachment);
  return exiting;
}
