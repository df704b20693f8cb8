/* Threads in calls of callbacks: a struct jvm_thread that is bound to one for a while, and those that wait in Java. */
#include "jni/callbacks/waiting_threads.h"

#include "base/process_limits.h"
#include "jni/runtime/peer_threads.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK_MIN = 256 * 1024 };

/* ---- waiters ---- */

struct jvm_waiter {
  struct jvm *jvm;
  jobject waiting;     /* global */
  jobject java_thread; /* global */
  const JNIEnv *env;   /* of that thread; of a virtual one the carrier's when the call began */
  atomic_uint holders;

  /* Under the lock of `left`: */
  bool is_listed;
  bool is_to_wake; /* else to be freed */
  struct jvm_waiter *next;
};

/* What threads that the JVM does not know have left to be done. */
static struct {
  pthread_mutex_t lock;
  sem_t any;
  struct jvm_waiter *first;
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_now(JNIEnv *env, struct jvm_waiter *waiter)
{
  (*env)->DeleteGlobalRef(env, waiter->waiting);
  (*env)->DeleteGlobalRef(env, waiter->java_thread);
  free(waiter);
}

struct jvm_waiter *jvm_waiter_create(struct jvm *jvm, JNIEnv *env, jobject waiting, jobject java_thread)
{
  struct jvm_waiter *waiter = calloc(1, sizeof *waiter);
  if (waiter == NULL)
    return NULL;
  *waiter = (struct jvm_waiter){.jvm = jvm,
                                .waiting = (*env)->NewGlobalRef(env, waiting),
                                .java_thread = (*env)->NewGlobalRef(env, java_thread),
                                .env = env};
  atomic_init(&waiter->holders, 1);
  if (waiter->waiting != NULL && waiter->java_thread != NULL)
    return waiter;
  free_now(env, waiter);
  return NULL;
}

bool jvm_waiter_is_exiting(const struct jvm_waiter *waiter)
{
  return jvm_thread_is_doing_exit(waiter->jvm, waiter->java_thread, waiter->env);
}

struct jvm_waiter *jvm_waiter_hold(struct jvm_waiter *waiter)
{
  atomic_fetch_add(&waiter->holders, 1);
  return waiter;
}

/* NULL: of a thread that the JVM does not know. */
static JNIEnv *find_env(const struct jvm *jvm)
{
  JNIEnv *env = NULL;
  return (*jvm->vm)->GetEnv(jvm->vm, (void **)&env, JNI_VERSION_10) == JNI_OK ? env : NULL;
}

static void wake_now(JNIEnv *env, const struct jvm_waiter *waiter)
{
  (*env)->CallVoidMethod(env, waiter->waiting, waiter->jvm->callback.wake);
  (*env)->ExceptionClear(env);
}

/* to_wake: the list holds the waiter until that is done. */
static void leave_to_thread(struct jvm_waiter *waiter, bool to_wake)
{
  pthread_mutex_lock(&left.lock);
  bool is_new = !waiter->is_listed;
  if (is_new) {
    if (to_wake)
      jvm_waiter_hold(waiter);
    waiter->is_listed = true;
    waiter->is_to_wake = to_wake;
    waiter->next = left.first;
    left.first = waiter;
  }
  pthread_mutex_unlock(&left.lock);
  if (is_new)
    sem_post(&left.any);
}

void jvm_waiter_wake(struct jvm_waiter *waiter)
{
  JNIEnv *env = find_env(waiter->jvm);
  if (env != NULL)
    wake_now(env, waiter);
  else
    leave_to_thread(waiter, true);
}

void jvm_waiter_release(struct jvm_waiter *waiter)
{
  if (atomic_fetch_sub(&waiter->holders, 1) != 1)
    return;
  JNIEnv *env = find_env(waiter->jvm);
  if (env != NULL)
    free_now(env, waiter);
  else
    leave_to_thread(waiter, false);
}

/* ---- the thread that wakes ---- */

static struct jvm_waiter *take_left(bool *is_to_wake)
{
  pthread_mutex_lock(&left.lock);
  struct jvm_waiter *waiter = left.first;
  if (waiter != NULL) {
    left.first = waiter->next;
    waiter->is_listed = false;
    *is_to_wake = waiter->is_to_wake;
  }
  pthread_mutex_unlock(&left.lock);
  return waiter;
}

static void serve_left(void *unused, struct jvm_thread *thread)
{
  (void)unused;
  for (;;) {
    while (sem_wait(&left.any) != 0)
      continue; /* a signal */
    bool is_to_wake;
    struct jvm_waiter *waiter = take_left(&is_to_wake);
    if (waiter == NULL)
      continue;
    if (is_to_wake) {
      wake_now(thread->env, waiter);
      jvm_waiter_release(waiter);
    } else {
      free_now(thread->env, waiter);
    }
  }
}

enum jp_status jvm_waiters_start(struct jvm *jvm, struct jp_error *error)
{
  sem_init(&left.any, 0, 0);
  return jvm_spawn(jvm, "jpeer-waker", serve_left, NULL, error);
}

/* ---- a struct jvm_thread without a thread ---- */

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
  JNIEnv *env = find_env(thread->jvm);
  assert(env != NULL); /* jni has called the hook that calls this */
  const struct jvm_thread_place place = jvm_thread_lend(thread, env);
  run(argument);
  jvm_thread_take_back(thread, &place);
}
