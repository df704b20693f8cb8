/* Threads inside calls of callbacks: binding a struct jvm_thread to such a thread, and waking the threads
 * that wait in Java. */
#include "jni/callbacks/waiting_threads.h"

#include "base/process_limits.h"
#include "base/transitions.h"
#include "jni/runtime/peer_threads.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK_MIN = 256 * 1024 };

/* ---- waiters ---- */

/*
 * The task of the waking thread for a waiter. Under the lock of `pending`.
 *
 * | state               | meaning                                       | what ends it           |
 * | JVM_WAITER_UNLISTED | the waiter is not in the list                 | list_for_thread        |
 * | JVM_WAITER_TO_WAKE  | the list holds the waiter                     | take_listed            |
 * | JVM_WAITER_TO_FREE  | it is in the list, and has no holder any more | take_listed            |
 */
enum jvm_waiter_state {
  JVM_WAITER_UNLISTED, /* the list does not have the waiter */
  JVM_WAITER_TO_WAKE,  /* the waking thread has to wake the waiter's Java thread */
  JVM_WAITER_TO_FREE   /* the waking thread has to free the waiter */
};

static const uint16_t jvm_waiter_transitions[] = {
    [JVM_WAITER_UNLISTED] = TO(JVM_WAITER_TO_WAKE) | TO(JVM_WAITER_TO_FREE),
    [JVM_WAITER_TO_WAKE] = TO(JVM_WAITER_UNLISTED),
    [JVM_WAITER_TO_FREE] = TO(JVM_WAITER_UNLISTED),
};

struct jvm_waiter {
  struct jvm *jvm;
  jobject waiting;     /* global */
  jobject java_thread; /* global */
  const JNIEnv *env;   /* of java_thread; if java_thread is virtual, of its carrier when the call began */
  atomic_uint holders;

  /* Under the lock of `pending`: */
  enum jvm_waiter_state state;
  struct jvm_waiter *next;
};

/* The tasks that threads unknown to the JVM have left for the waking thread. */
static struct {
  pthread_mutex_t lock;
  sem_t any;
  struct jvm_waiter *first;
  bool is_stopped; /* the waking thread has ended */
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_waiter_state(struct jvm_waiter *waiter, enum jvm_waiter_state to)
{
  assert(pthread_mutex_trylock(&pending.lock) != 0);
  ASSERT_TRANSITION(jvm_waiter_transitions, waiter->state, to);
  waiter->state = to;
}

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

/* NULL: the JVM does not know the calling thread. */
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

/* Does the task on the calling thread, because the waking thread has ended with the JVM's stop. */
static void attach_and_run(struct jvm_waiter *waiter, enum jvm_waiter_state what)
{
  struct jvm *jvm = waiter->jvm;
  struct jvm_attachment attachment;
  if (atomic_load(&jvm->has_stopped) || !jvm_attach(jvm, &attachment))
    return;
  if (what == JVM_WAITER_TO_WAKE)
    wake_now(attachment.env, waiter);
  else
    free_now(attachment.env, waiter);
  jvm_detach(jvm, &attachment);
}

/* A waiter that is in the list already keeps its state: one wake is enough, and a waiter without holders
 * cannot be woken. */
static void list_for_thread(struct jvm_waiter *waiter, enum jvm_waiter_state to)
{
  pthread_mutex_lock(&pending.lock);
  bool is_stopped = pending.is_stopped;
  bool is_new = !is_stopped && waiter->state == JVM_WAITER_UNLISTED;
  if (is_new) {
    if (to == JVM_WAITER_TO_WAKE)
      jvm_waiter_hold(waiter);
    set_waiter_state(waiter, to);
    waiter->next = pending.first;
    pending.first = waiter;
  }
  pthread_mutex_unlock(&pending.lock);
  if (is_new)
    sem_post(&pending.any);
  if (is_stopped)
    attach_and_run(waiter, to);
}

void jvm_waiter_wake(struct jvm_waiter *waiter)
{
  JNIEnv *env = find_env(waiter->jvm);
  if (env != NULL)
    wake_now(env, waiter);
  else
    list_for_thread(waiter, JVM_WAITER_TO_WAKE);
}

void jvm_waiter_release(struct jvm_waiter *waiter)
{
  if (atomic_fetch_sub(&waiter->holders, 1) != 1)
    return;
  JNIEnv *env = find_env(waiter->jvm);
  if (env != NULL)
    free_now(env, waiter);
  else
    list_for_thread(waiter, JVM_WAITER_TO_FREE);
}

/* ---- the waking thread ---- */

/* NULL: no work is pending. */
static struct jvm_waiter *take_listed(enum jvm_waiter_state *what, bool *is_stopped)
{
  pthread_mutex_lock(&pending.lock);
  struct jvm_waiter *waiter = pending.first;
  *is_stopped = pending.is_stopped;
  if (waiter != NULL) {
    pending.first = waiter->next;
    *what = waiter->state;
    set_waiter_state(waiter, JVM_WAITER_UNLISTED);
  }
  pthread_mutex_unlock(&pending.lock);
  return waiter;
}

static void serve_listed(void *unused, struct jvm_thread *thread)
{
  (void)unused;
  bool is_stopped = false;
  for (;;) {
    while (sem_wait(&pending.any) != 0)
      continue; /* a signal interrupted it */
    enum jvm_waiter_state what;
    struct jvm_waiter *waiter = take_listed(&what, &is_stopped);
    if (waiter == NULL && is_stopped)
      return;
    if (waiter == NULL)
      continue;
    if (what == JVM_WAITER_TO_WAKE) {
      wake_now(thread->env, waiter);
      jvm_waiter_release(waiter);
    } else {
      free_now(thread->env, waiter);
    }
  }
}

enum jp_status jvm_waiters_start(struct jvm *jvm, struct jp_error *error)
{
  sem_init(&pending.any, 0, 0);
  return jvm_spawn(jvm, "jpeer-waker", serve_listed, NULL, error);
}

void jvm_waiters_stop(void)
{
  pthread_mutex_lock(&pending.lock);
  pending.is_stopped = true;
  pthread_mutex_unlock(&pending.lock);
  sem_post(&pending.any);
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
  return JP_OK;
}

void jvm_thread_destroy(struct jvm_thread *thread)
{
  if (thread == NULL)
    return;
  struct jvm *jvm = thread->jvm;
  struct jvm_attachment attachment;
  /* A stopped JVM has already released its references for the thread. */
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
  assert(env != NULL); /* holds because only hooks call this, on threads that the JVM knows */
  const struct jvm_thread_place place = jvm_thread_lend(thread, env);
  run(argument);
  jvm_thread_return(thread, &place);
}
