#include "jni/runtime/tasks.h"

#include "base/latch.h"
#include "base/process_limits.h"
#include "jni/runtime/throwables.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHECK_NS = 1000000000 /* how often a waiting thread checks that Java still references the object */ };

enum task_state { TASK_WAITING, TASK_TAKEN, TASK_WITHDRAWN };

struct jvm_task {
  struct jvm_thread *thread; /* of the thread that waits; lent to the thread that runs the task */
  JNIEnv *env;               /* of the thread that waits */
  void (*run)(void *argument, struct jvm_thread *thread);
  void *argument;
  jweak object;
  jint object_hash; /* the identity hash of the object */
  uint64_t serial;
  struct latch ended;
  bool is_cramped;

  /* Under the lock: */
  enum task_state state;
  jobject java_thread; /* global: the thread that runs the task */
  JNIEnv *taker_env;   /* that thread's */
  unsigned holders;
  struct jvm_task *next; /* in `tasks` */
};

/* All tasks that have holders, ordered by serial. No JNI call is made under the lock: a Java thread that
 * returns from JNI may be suspended while it holds the lock. */
static struct {
  pthread_mutex_t lock;
  struct jvm *jvm; /* NULL before the first task */
  struct jvm_task *first;
  struct jvm_task **last;
  uint64_t serial; /* of the newest task */
} tasks = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &tasks.first};

/* ---- the list ---- */

/* Holds the next task after the serial that waits for an object with this hash; NULL: none. */
static struct jvm_task *hold_next(jint object_hash, uint64_t serial)
{
  pthread_mutex_lock(&tasks.lock);
  struct jvm_task *task = tasks.first;
  while (task != NULL &&
         (task->serial <= serial || task->state != TASK_WAITING || task->object_hash != object_hash))
    task = task->next;
  if (task != NULL)
    task->holders++;
  pthread_mutex_unlock(&tasks.lock);
  return task;
}

struct jvm_task *jvm_task_of(const JNIEnv *waiting)
{
  pthread_mutex_lock(&tasks.lock);
  struct jvm_task *found = NULL;
  for (struct jvm_task *task = tasks.first; task != NULL; task = task->next) {
    if (task->env == waiting)
      found = task;
  }
  if (found != NULL)
    found->holders++;
  pthread_mutex_unlock(&tasks.lock);
  return found;
}

static bool change_state(struct jvm_task *task, enum task_state state, JNIEnv *env, jobject java_thread)
{
  pthread_mutex_lock(&tasks.lock);
  bool was_waiting = task->state == TASK_WAITING;
  if (was_waiting) {
    task->state = state;
    task->java_thread = java_thread;
    task->taker_env = env;
  }
  pthread_mutex_unlock(&tasks.lock);
  return was_waiting;
}

jobject jvm_task_taker(struct jvm_task *task, JNIEnv **env)
{
  pthread_mutex_lock(&tasks.lock);
  jobject java_thread = task->java_thread;
  *env = task->taker_env;
  pthread_mutex_unlock(&tasks.lock);
  return java_thread;
}

static void free_task(JNIEnv *env, struct jvm_task *task)
{
  (*env)->DeleteWeakGlobalRef(env, task->object);
  (*env)->DeleteGlobalRef(env, task->java_thread);
  latch_fini(&task->ended);
  free(task);
}

void jvm_task_release(JNIEnv *env, struct jvm_task *task)
{
  pthread_mutex_lock(&tasks.lock);
  bool was_last = --task->holders == 0;
  if (was_last) {
    struct jvm_task **at = &tasks.first;
    while (*at != task)
      at = &(*at)->next;
    *at = task->next;
    if (tasks.last == &task->next)
      tasks.last = at;
  }
  pthread_mutex_unlock(&tasks.lock);
  if (was_last)
    free_task(env, task);
}

/* ---- the waiting thread ---- */

/* Sets the object that the task belongs to. */
static enum jp_status set_object(struct jvm_thread *thread, struct jvm_task *task, jobject object,
                                 struct jp_error *error)
{
  JNIEnv *env = thread->env;
  task->object = (*env)->NewWeakGlobalRef(env, object);
  if (throwable_take(thread, error))
    return JP_NO_MEMORY;
  if (task->object == NULL ||
      (*thread->jvmti)->GetObjectHashCode(thread->jvmti, object, &task->object_hash) != JVMTI_ERROR_NONE)
    return jp_fail_memory(error, NULL);
  return JP_OK;
}

enum jp_status jvm_task_create(struct jvm_thread *thread,
                               void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                               struct jvm_task **task, jobject *object, struct jp_error *error)
{
  struct jvm_task *made = malloc(sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  *made =
      (struct jvm_task){.thread = thread, .env = thread->env, .run = run, .argument = argument, .holders = 1};
  latch_init(&made->ended);
  jobject of_java = (*thread->env)->NewObject(thread->env, thread->jvm->task_class, thread->jvm->task_new);
  if (throwable_take(thread, error))
    of_java = NULL;
  if (of_java == NULL || set_object(thread, made, of_java, error) != JP_OK) {
    (*thread->env)->DeleteLocalRef(thread->env, of_java);
    free_task(thread->env, made);
    return JP_JAVA;
  }
  pthread_mutex_lock(&tasks.lock);
  made->serial = ++tasks.serial;
  tasks.jvm = thread->jvm;
  *tasks.last = made;
  tasks.last = &made->next;
  pthread_mutex_unlock(&tasks.lock);
  *task = made;
  *object = of_java;
  return JP_OK;
}

bool jvm_task_withdraw(struct jvm_task *task)
{
  return change_state(task, TASK_WITHDRAWN, NULL, NULL);
}

enum jvm_task_end jvm_task_await(struct jvm_task *task)
{
  while (!latch_await(&task->ended, clock_now_ns() + CHECK_NS)) {
    /* This reference is weak: the collector clears it once no code can reach the object. */
    if ((*task->env)->IsSameObject(task->env, task->object, NULL) && jvm_task_withdraw(task))
      return JVM_TASK_DROPPED;
  }
  return task->is_cramped ? JVM_TASK_CRAMPED : JVM_TASK_DONE;
}

/* ---- the thread that runs the task ---- */

/* A global reference; NULL: memory is short. */
static jobject refer_to_current_thread(JNIEnv *env, const struct jvm_known *known)
{
  jobject current = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  (*env)->ExceptionClear(env);
  jobject global = (*env)->NewGlobalRef(env, current);
  (*env)->DeleteLocalRef(env, current);
  return global;
}

/* Takes the object's task and holds it. NULL: the task was taken already or withdrawn, or there never was
 * one. */
static struct jvm_task *take_task_of(JNIEnv *env, jobject object)
{
  jint hash;
  pthread_mutex_lock(&tasks.lock);
  const struct jvm *jvm = tasks.jvm;
  pthread_mutex_unlock(&tasks.lock);
  if (jvm == NULL || (*jvm->jvmti)->GetObjectHashCode(jvm->jvmti, object, &hash) != JVMTI_ERROR_NONE)
    return NULL;
  struct jvm_task *task = hold_next(hash, 0);
  while (task != NULL) {
    if ((*env)->IsSameObject(env, task->object, object)) {
      jobject java_thread = refer_to_current_thread(env, &jvm->known);
      if (change_state(task, TASK_TAKEN, env, java_thread))
        return task;
      (*env)->DeleteGlobalRef(env, java_thread);
    }
    uint64_t serial = task->serial;
    jvm_task_release(env, task);
    task = hold_next(hash, serial);
  }
  return NULL;
}

void JNICALL jvm_task_serve(JNIEnv *env, jobject object)
{
  struct jvm_task *task = take_task_of(env, object);
  if (task == NULL)
    return;
  task->is_cramped = stack_left() < JVM_TASK_STACK_MIN;
  if (!task->is_cramped) {
    struct jvm_thread *thread = task->thread;
    const struct jvm_thread_place place = jvm_thread_lend(thread, env);
    task->run(task->argument, thread);
    jvm_thread_return(thread, &place);
  }
  latch_open(&task->ended);
  jvm_task_release(env, task);
}
