/* The Java threads of the peer: their groups and names, their work, and threads that were attached from
 * outside. */
#include "jni/runtime/peer_threads.h"

#include "jni/runtime/strings.h"
#include "jni/runtime/tasks.h"
#include "jni/runtime/throwables.h"
#include "jni/thread_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DEPTH = 64 /* how many frames of a thread are searched for Runtime.exit, innermost first */ };
enum { NAME_REFERENCES = 8, OWN_NAME_MAX = 32 };

/* The work of one thread of the peer. */
struct jvm_work {
  struct jvm *jvm;
  jobject java_thread; /* global */
  jint thread_hash;    /* the identity hash of java_thread */
  void (*run)(void *argument, struct jvm_thread *thread);
  void *argument;
  struct jvm_work *next; /* in `waiting` */
};

/* Work whose thread has not begun to run. No JNI call is made under the lock: a Java thread that returns from
 * JNI may be suspended while it holds the lock. */
static struct {
  pthread_mutex_t lock;
  struct jvm_work *first;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct jvm_thread *own_thread;

struct jvm_thread *jvm_thread_own(void)
{
  return own_thread;
}

void jvm_gc(struct jvm_thread *thread)
{
  const struct jvm_known *known = &thread->jvm->known;
  (*thread->env)->CallStaticVoidMethod(thread->env, known->class_system, known->static_system_gc);
  (void)throwable_take(thread, NULL);
}

/* ---- groups ---- */

/*
 * Keeps the peer's threads out of the lists of Java's thread groups.
 *
 * In JDK 17 and 18 a ThreadGroup lists its threads and the groups below it. suspend, stop, interrupt and
 * enumerate walk these lists, getParent leads from any group to the root, and starting a thread takes its
 * group's monitor, which any code can hold. On these versions each thread of the peer is made in its own
 * group without a parent, so that none of these methods finds the thread. While the thread runs,
 * getThreadGroup() returns the application's group ("main"), because threads that application code makes
 * belong there. Java has no public API for either step, so a private constructor and a private field of the
 * JDK are used. If they are missing, the thread is in "main".
 *
 * From JDK 19 on, groups list nothing, and suspend and stop only throw. The peer's threads are in "main", and
 * PeerThread.interrupt refuses the interrupt of a group.
 */

static enum jp_status find_application_group(struct jvm *jvm, struct jvm_thread *thread,
                                             struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &jvm->known;
  jobject group = NULL;
  jobject current = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  if (!throwable_take(thread, error))
    group = (*env)->CallObjectMethod(env, current, known->method_thread_get_thread_group);
  if (throwable_take(thread, error) || group == NULL)
    return JP_JAVA;
  jvm->application_group = (*env)->NewGlobalRef(env, group);
  (*env)->DeleteLocalRef(env, group);
  (*env)->DeleteLocalRef(env, current);
  return jvm->application_group == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

/* True if threads keep their group in a writable field (JDK 17 and 18). */
static bool find_private_members(struct jvm *jvm, struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &jvm->known;
  jvm->thread_group = (*env)->GetFieldID(env, known->class_thread, "group", "Ljava/lang/ThreadGroup;");
  if (throwable_take(thread, NULL))
    return false;
  jvm->group_new_root = (*env)->GetMethodID(env, known->class_thread_group, "<init>", "()V");
  if (throwable_take(thread, NULL))
    jvm->group_new_root = NULL;
  return jvm->group_new_root != NULL;
}

/* Returns the group for a new thread of the peer: a local reference, NULL with an exception pending. */
static jobject new_group(struct jvm_thread *thread)
{
  const struct jvm *jvm = thread->jvm;
  JNIEnv *env = thread->env;
  if (jvm->group_new_root == NULL)
    return (*env)->NewLocalRef(env, jvm->application_group);
  return (*env)->NewObject(env, jvm->known.class_thread_group, jvm->group_new_root);
}

enum jp_status jvm_thread_groups_open(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  enum jp_status status = find_application_group(jvm, thread, error);
  if (status != JP_OK || !find_private_members(jvm, thread))
    return status;
  jobject group = new_group(thread);
  if (throwable_take(thread, error))
    return JP_JAVA;
  jvm->attach_group = (*env)->NewGlobalRef(env, group);
  (*env)->DeleteLocalRef(env, group);
  return jvm->attach_group == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

/* Sets what getThreadGroup returns on this thread of the peer. */
static void set_group(struct jvm_thread *thread, jobject group)
{
  const struct jvm *jvm = thread->jvm;
  if (jvm->group_new_root != NULL)
    (*thread->env)->SetObjectField(thread->env, thread->java_thread, jvm->thread_group, group);
}

/* ---- work ---- */

static void add_work(struct jvm_work *work)
{
  pthread_mutex_lock(&waiting.lock);
  work->next = waiting.first;
  waiting.first = work;
  pthread_mutex_unlock(&waiting.lock);
}

/* Removes `work` from the list or, if `work` is NULL, the first work for a thread with this hash. NULL: not
 * found. */
static struct jvm_work *take_work(const struct jvm_work *work, jint thread_hash)
{
  pthread_mutex_lock(&waiting.lock);
  struct jvm_work **at = &waiting.first;
  while (*at != NULL && (work != NULL ? *at != work : (*at)->thread_hash != thread_hash))
    at = &(*at)->next;
  struct jvm_work *taken = *at;
  if (taken != NULL)
    *at = taken->next;
  pthread_mutex_unlock(&waiting.lock);
  return taken;
}

/* The calling thread's work. NULL: the thread has taken its work already, or is not a thread of the peer. */
static struct jvm_work *take_own_work(JNIEnv *env)
{
  pthread_mutex_lock(&waiting.lock);
  const struct jvm *jvm = waiting.first == NULL ? NULL : waiting.first->jvm;
  pthread_mutex_unlock(&waiting.lock);
  jthread current;
  jint hash;
  if (jvm == NULL || (*jvm->jvmti)->GetCurrentThread(jvm->jvmti, &current) != JVMTI_ERROR_NONE)
    return NULL;
  struct jvm_work *mine = NULL;
  if ((*jvm->jvmti)->GetObjectHashCode(jvm->jvmti, current, &hash) == JVMTI_ERROR_NONE)
    mine = take_work(NULL, hash);
  if (mine != NULL && !(*env)->IsSameObject(env, mine->java_thread, current)) {
    add_work(mine);
    mine = NULL;
  }
  (*env)->DeleteLocalRef(env, current);
  return mine;
}

void JNICALL jvm_thread_serve(JNIEnv *env, jclass class)
{
  (void)class;
  struct jvm_work *mine = take_own_work(env);
  if (mine == NULL)
    return;
  struct jvm_thread thread;
  jvm_thread_init(&thread, mine->jvm, env, mine->java_thread);
  set_group(&thread, mine->jvm->application_group); /* before any application code runs */
  own_thread = &thread;
  mine->run(mine->argument, &thread);
  own_thread = NULL;
  set_group(&thread, NULL); /* the end of a thread would otherwise change the lists of its group */
  jvm_thread_fini(&thread);
  free(mine);
}

static void free_work(JNIEnv *env, struct jvm_work *work)
{
  (*env)->DeleteGlobalRef(env, work->java_thread);
  free(work);
}

bool jvm_work_withdraw(JNIEnv *env, struct jvm_work *work)
{
  if (take_work(work, 0) == NULL)
    return false;
  free_work(env, work);
  return true;
}

static jobject new_thread(struct jvm_thread *thread, const char *name, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm *jvm = thread->jvm;
  jobject made = NULL;
  jobject group = NULL;
  jstring string = jvm_string_new(thread, text_of(name));
  if (throwable_take(thread, error))
    goto out;
  group = new_group(thread);
  if (throwable_take(thread, error))
    goto out;
  made = (*env)->NewObject(env, jvm->thread_class, jvm->thread_new, group, string, jvm->class_loader);
  if (throwable_take(thread, error))
    made = NULL;
out:
  (*env)->DeleteLocalRef(env, group);
  (*env)->DeleteLocalRef(env, string);
  return made;
}

/* Sets the thread that the work belongs to. */
static enum jp_status set_thread(struct jvm_thread *thread, struct jvm_work *work, jobject java_thread,
                                 struct jp_error *error)
{
  work->java_thread = (*thread->env)->NewGlobalRef(thread->env, java_thread);
  if (work->java_thread == NULL ||
      (*thread->jvmti)->GetObjectHashCode(thread->jvmti, java_thread, &work->thread_hash) != JVMTI_ERROR_NONE)
    return jp_fail_memory(error, NULL);
  return JP_OK;
}

jobject jvm_thread_make(struct jvm_thread *thread, const char *name,
                        void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                        struct jvm_work **work, struct jp_error *error)
{
  struct jvm_work *made = malloc(sizeof *made);
  if (made == NULL) {
    jp_fail_memory(error, NULL);
    return NULL;
  }
  *made = (struct jvm_work){.jvm = thread->jvm, .run = run, .argument = argument};
  jobject java_thread = new_thread(thread, name, error);
  if (java_thread == NULL || set_thread(thread, made, java_thread, error) != JP_OK) {
    (*thread->env)->DeleteLocalRef(thread->env, java_thread);
    free_work(thread->env, made);
    return NULL;
  }
  add_work(made);
  *work = made;
  return java_thread;
}

static enum jp_status start_thread(struct jvm_thread *thread, const char *name,
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
  if (!failed || !jvm_work_withdraw(env, work))
    return JP_OK;
  if (error != NULL)
    error->status = JP_LIMIT;
  return JP_LIMIT;
}

/* ---- threads that were attached from outside ---- */

bool jvm_attach(struct jvm *jvm, struct jvm_attachment *attachment)
{
  JavaVM *vm = jvm->vm;
  JavaVMAttachArgs args = {.version = JNI_VERSION_10, .group = jvm->attach_group};
  *attachment = (struct jvm_attachment){0};
  if ((*vm)->GetEnv(vm, (void **)&attachment->env, JNI_VERSION_10) == JNI_OK)
    return true;
  attachment->is_new = (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&attachment->env, &args) == JNI_OK;
  return attachment->is_new;
}

void jvm_detach(struct jvm *jvm, const struct jvm_attachment *attachment)
{
  if (attachment->is_new)
    (*jvm->vm)->DetachCurrentThread(jvm->vm);
}

enum jp_status jvm_spawn(struct jvm *jvm, const char *name,
                         void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                         struct jp_error *error)
{
  struct jvm_attachment attachment;
  if (atomic_load(&jvm->has_stopped) || !jvm_attach(jvm, &attachment))
    return jp_fail(error, JP_LIMIT, "no thread can be made: the JVM does not attach the calling thread");
  struct jvm_thread caller;
  jvm_thread_init(&caller, jvm, attachment.env, NULL);
  enum jp_status status = start_thread(&caller, name, run, argument, error);
  jvm_thread_fini(&caller);
  jvm_detach(jvm, &attachment);
  return status;
}

void jvm_thread_interrupt(struct jvm_thread *by, const struct jvm_thread *thread)
{
  (*by->env)->CallVoidMethod(by->env, thread->java_thread, by->jvm->known.method_thread_interrupt);
  (void)throwable_take(by, NULL);
}

bool jvm_thread_clear_interrupt(struct jvm_thread *thread)
{
  const struct jvm_known *known = &thread->jvm->known;
  jboolean was_set =
      (*thread->env)
          ->CallStaticBooleanMethod(thread->env, known->class_thread, known->static_thread_interrupted);
  return !throwable_take(thread, NULL) && was_set;
}

/* True for a frame of the peer's own class, which is below all other frames. */
static bool is_own_frame(struct text frame)
{
  static const char own[] = "jpeer.peer.PeerThread.";
  return memmem(frame.data, frame.len, own, sizeof own - 1) != NULL;
}

/* Runs only code of the JDK: the class of the thread overrides neither method. */
size_t jvm_thread_trace(struct jvm_thread *by, const struct jvm_thread *thread, struct arena *arena,
                        struct text *frames, size_t max)
{
  JNIEnv *env = by->env;
  const struct jvm_known *known = &by->jvm->known;
  size_t count = 0;
  if ((*env)->PushLocalFrame(env, 8) != 0) {
    (void)throwable_take(by, NULL);
    return 0;
  }
  jobjectArray trace =
      (*env)->CallObjectMethod(env, thread->java_thread, known->method_thread_get_stack_trace);
  jsize length = throwable_take(by, NULL) || trace == NULL ? 0 : (*env)->GetArrayLength(env, trace);
  for (jsize i = 0; i < length && count < max; i++) {
    jobject element = (*env)->GetObjectArrayElement(env, trace, i);
    jstring written = (*env)->CallObjectMethod(env, element, known->method_object_to_string);
    if (!throwable_take(by, NULL) && written != NULL) {
      frames[count] = jvm_string_get_cut(by, written, arena, 1024);
      count += frames[count].data != NULL && !is_own_frame(frames[count]);
    }
    (*env)->DeleteLocalRef(env, written);
    (*env)->DeleteLocalRef(env, element);
  }
  (void)(*env)->PopLocalFrame(env, NULL);
  return count;
}

static bool is_in_exit(struct jvm *jvm, jobject java_thread)
{
  jvmtiFrameInfo frames[EXIT_DEPTH];
  jint count = 0;
  if ((*jvm->jvmti)->GetStackTrace(jvm->jvmti, java_thread, 0, EXIT_DEPTH, frames, &count) !=
      JVMTI_ERROR_NONE)
    return false;
  for (jint i = 0; i < count; i++) {
    if (frames[i].method == jvm->known.method_runtime_exit ||
        frames[i].method == jvm->known.method_runtime_halt)
      return true;
  }
  return false;
}

/* Searches also the threads that run this thread's work: a callback's nested request may run on an executor's
 * thread, which may wait in another callback, and so on. */
static bool is_doing_exit(struct jvm *jvm, JNIEnv *env, jobject java_thread, const JNIEnv *its_env)
{
  enum { TASKS_MAX = 64 };
  bool exiting = java_thread != NULL && is_in_exit(jvm, java_thread);
  for (int i = 0; i < TASKS_MAX && !exiting && its_env != NULL; i++) {
    struct jvm_task *task = jvm_task_of(its_env);
    if (task == NULL)
      break;
    JNIEnv *taker_env;
    jobject taker = jvm_task_taker(task, &taker_env);
    exiting = taker != NULL && is_in_exit(jvm, taker);
    jvm_task_release(env, task);
    its_env = taker_env == its_env ? NULL : taker_env;
  }
  return exiting;
}

bool jvm_thread_is_doing_exit(struct jvm *jvm, jobject java_thread, const JNIEnv *its_env)
{
  if (atomic_load(&jvm->has_stopped))
    return true;
  struct jvm_attachment attachment;
  if (!jvm_attach(jvm, &attachment)) /* JVMTI answers only threads that the JVM knows */
    return false;
  bool exiting = is_doing_exit(jvm, attachment.env, java_thread, its_env);
  jvm_detach(jvm, &attachment);
  return exiting;
}

bool jvm_thread_is_exiting(struct jvm *jvm, const struct jvm_thread *thread)
{
  return jvm_thread_is_doing_exit(jvm, thread->java_thread, thread->own_env);
}

/* ---- names ---- */

/* The private field of Thread that has its name, and the objects that compare and set this field. If the JVM
 * has no such field, threads are not renamed. Written by the first thread that calls give_name. Callers give
 * names one at a time, and restore them. */
static struct {
  bool is_looked_up;
  bool is_usable;
  jobject unsafe; /* global */
  jmethodID compare_and_set;
  jlong offset;
  jfieldID name;
} name_field;

static void look_up_offset(struct jvm_thread *by, jclass class, jobject unsafe)
{
  JNIEnv *env = by->env;
  jmethodID offset_of =
      (*env)->GetMethodID(env, class, "objectFieldOffset", "(Ljava/lang/Class;Ljava/lang/String;)J");
  jstring name = offset_of == NULL ? NULL : jvm_string_new(by, TEXT("name"));
  if (name == NULL)
    return;
  name_field.offset = (*env)->CallLongMethod(env, unsafe, offset_of, by->jvm->known.class_thread, name);
  if (!(*env)->ExceptionCheck(env))
    name_field.unsafe = (*env)->NewGlobalRef(env, unsafe);
}

static void look_up_field(struct jvm_thread *by)
{
  JNIEnv *env = by->env;
  name_field.is_looked_up = true;
  name_field.name = (*env)->GetFieldID(env, by->jvm->known.class_thread, "name", "Ljava/lang/String;");
  jclass class = name_field.name == NULL ? NULL : (*env)->FindClass(env, "jdk/internal/misc/Unsafe");
  jmethodID get = class == NULL
                      ? NULL
                      : (*env)->GetStaticMethodID(env, class, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
  name_field.compare_and_set =
      get == NULL ? NULL
                  : (*env)->GetMethodID(env, class, "compareAndSetReference",
                                        "(Ljava/lang/Object;JLjava/lang/Object;Ljava/lang/Object;)Z");
  jobject unsafe =
      name_field.compare_and_set == NULL ? NULL : (*env)->CallStaticObjectMethod(env, class, get);
  if (unsafe != NULL && !(*env)->ExceptionCheck(env))
    look_up_offset(by, class, unsafe);
  name_field.is_usable = !throwable_take(by, NULL) && name_field.unsafe != NULL;
}

static bool is_own_name(JNIEnv *env, jstring name, const char *own)
{
  jchar units[OWN_NAME_MAX];
  size_t length = strlen(own);
  if (name == NULL || length > OWN_NAME_MAX || (*env)->GetStringLength(env, name) != (jsize)length)
    return false;
  (*env)->GetStringRegion(env, name, 0, (jsize)length, units);
  for (size_t i = 0; i < length; i++) {
    if (units[i] != (unsigned char)own[i])
      return false;
  }
  return true;
}

/* False: the field had another value, or an exception was thrown. */
static bool replace_name(struct jvm_thread *by, jobject java_thread, jobject from, jobject to)
{
  JNIEnv *env = by->env;
  jboolean is_set = (*env)->CallBooleanMethod(env, name_field.unsafe, name_field.compare_and_set, java_thread,
                                              name_field.offset, from, to);
  return !throwable_take(by, NULL) && is_set;
}

static void drop_names(JNIEnv *env, struct jvm_given_name *given)
{
  (*env)->DeleteGlobalRef(env, given->name);
  (*env)->DeleteGlobalRef(env, given->before);
  *given = (struct jvm_given_name){0};
}

static void give_name(struct jvm_thread *by, jobject java_thread, const char *own, const char *name,
                      struct jvm_given_name *given)
{
  JNIEnv *env = by->env;
  jstring before = (*env)->GetObjectField(env, java_thread, name_field.name);
  if (!is_own_name(env, before, own))
    return;
  jstring made = jvm_string_new(by, text_of(name));
  if (throwable_take(by, NULL) || made == NULL)
    return;
  *given = (struct jvm_given_name){(*env)->NewGlobalRef(env, made), (*env)->NewGlobalRef(env, before)};
  if (given->name == NULL || given->before == NULL ||
      !replace_name(by, java_thread, given->before, given->name))
    drop_names(env, given);
}

void jvm_thread_give_name(struct jvm_thread *by, const struct jvm_thread *thread, const char *own,
                          const char *name, struct jvm_given_name *given)
{
  JNIEnv *env = by->env;
  *given = (struct jvm_given_name){0};
  if ((*env)->PushLocalFrame(env, NAME_REFERENCES) != 0) {
    (*env)->ExceptionClear(env);
    return;
  }
  if (!name_field.is_looked_up)
    look_up_field(by);
  if (name_field.is_usable)
    give_name(by, thread->java_thread, own, name, given);
  (*env)->PopLocalFrame(env, NULL);
}

void jvm_thread_restore_name(struct jvm_thread *thread, struct jvm_given_name *given)
{
  (void)replace_name(thread, thread->java_thread, given->name, given->before);
  drop_names(thread->env, given);
}
