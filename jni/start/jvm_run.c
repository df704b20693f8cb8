/* jvm_run: from a launch to the end of the process. */
#include "base/log.h"
#include "jni/callbacks/waiting_threads.h"
#include "jni/loaders/loaders.h"
#include "jni/runtime/peer_threads.h"
#include "jni/runtime/strings.h"
#include "jni/runtime/throwables.h"
#include "jni/start/jvm_create.h"
#include "jni/start/main_class.h"
#include "jni/start/peer_classes.h"
#include "jni/start/stopping.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Process-wide, because the JVM's exit hook has no context argument. */
static struct {
  const struct jvm_launch *launch;
  const struct jvm_hooks *hooks;
  struct jvm jvm;

  pthread_mutex_t serving_lock; /* held while hooks.started runs, so that the shutdown hook waits for it */
  enum {
    NOT_SERVING, /* hooks.started has not returned JP_OK */
    IS_SERVING,
    HAS_SERVED, /* the JVM has begun to end */
  } serving;

  atomic_bool is_failing;  /* the start has failed; the JVM is being stopped */
  atomic_bool has_drained; /* the shutdown hook has begun */

  pid_t pid; /* of the peer, not of a child that native code has forked */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_over; /* jvm_run may return */
  bool ended;   /* the thread "main" has ended, and can be joined */
  int status;
  struct jp_error error;
} run = {.serving_lock = PTHREAD_MUTEX_INITIALIZER,
         .lock = PTHREAD_MUTEX_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER};

static void finish_run(int status, bool ended)
{
  pthread_mutex_lock(&run.lock);
  run.is_over = true;
  run.ended = ended;
  run.status = status;
  pthread_cond_signal(&run.changed);
  pthread_mutex_unlock(&run.lock);
}

__attribute__((noreturn)) static void park_thread(void)
{
  for (;;)
    pause();
}

/* ---- the end ---- */

/* The JVM has stopped every Java thread and is about to end the process. */
static void JNICALL on_exit_of_jvm(jint status)
{
  if (atomic_load(&run.is_failing)) {
    /* The start has failed, and jvm_run returns the error. The JVM remains stopped, so that it cannot disturb
     * the end of the process. */
    atomic_store(&run.jvm.has_stopped, true);
    finish_run(1, false);
    park_thread();
  }
  (void)jvm_create_pass_on_words();
  if (!atomic_load(&run.has_drained))
    log_info("the peer ends at once: Runtime.halt(%d) was called", (int)status);
  run.hooks->exiting(run.hooks->context, &(int){status});
  _exit(status);
}

/* The JVM aborted while it was being created. */
static void on_death_of_jvm(const struct jp_error *error)
{
  const int status = 1;
  run.hooks->died(run.hooks->context, error);
  run.hooks->exiting(run.hooks->context, &status);
  _exit(status);
}

/* A handler of exit(3), which the JVM calls only while it is being created (an option that asks for help); otherwise
 * the caller is native code, for example an agent. ISO C gives a handler no status, so exit goes on after this one, with
 * the caller's status. If jvm_run has returned, its caller may have freed what the hooks use; the lock keeps it from
 * returning now. */
static void on_exit_by_native_code(void)
{
  if (getpid() != run.pid || atomic_load(&run.is_failing))
    return; /* a child process that native code has forked; or the start has failed, which has its line */
  pthread_mutex_lock(&run.lock);
  if (run.is_over) {
    pthread_mutex_unlock(&run.lock);
    return;
  }
  if (jvm_create_pass_on_words()) {
    struct jp_error error;
    (void)jp_fail(&error, JP_INTERNAL,
                  "the JVM or an agent called exit(3) before the JVM was up: see its output above");
    run.hooks->died(run.hooks->context, &error);
  } else {
    log_info("the peer ends at once: native code called exit(3)");
  }
  run.hooks->exiting(run.hooks->context, NULL);
}

/* Runs on the thread of the shutdown hook. HotSpot ends a process only after 300 ms, or once no thread that
 * it knows is in native code, so the peer's threads that wait in native code end here. */
static void drain_peer(void *argument, struct jvm_thread *thread)
{
  (void)argument;
  if (!atomic_exchange(&run.has_drained, true)) {
    jvm_stopping_log_cause(thread);
    if (run.hooks->stopping != NULL)
      run.hooks->stopping(run.hooks->context);
  }
  pthread_mutex_lock(&run.serving_lock);
  bool is_serving = run.serving == IS_SERVING;
  run.serving = HAS_SERVED;
  pthread_mutex_unlock(&run.serving_lock);
  if (is_serving)
    run.hooks->drain(run.hooks->context);
  jvm_waiters_stop();
  jvm_stopping_dismiss();
}

/* A later signal ends the process without Java. If jvm_run has returned, its caller may have freed what the
 * hooks use. */
static void exit_after_signal(int status)
{
  pthread_mutex_lock(&run.lock);
  if (!run.is_over)
    run.hooks->exiting(run.hooks->context, &status);
  _exit(status);
}

/* If jvm_run has returned, its caller may have freed the hook's context. */
static void call_hangup(void)
{
  pthread_mutex_lock(&run.lock);
  if (!run.is_over)
    run.hooks->hangup(run.hooks->context);
  pthread_mutex_unlock(&run.lock);
}

/* Runs on a Java thread, which the first signal wakes. */
static void exit_on_signal(void *argument, struct jvm_thread *thread)
{
  (void)argument;
  if (!jvm_stopping_await())
    return;
  const struct jvm_known *known = &thread->jvm->known;
  (*thread->env)->CallStaticVoidMethod(thread->env, known->class_system, known->static_system_exit, 0);
  /* System.exit returns only with an exception: a security manager forbids it, or memory is short. The
   * process ends nevertheless, but without the application's shutdown hooks. */
  struct jp_error error;
  if (throwable_take(thread, &error))
    log_error("System.exit: %s", error.text);
  drain_peer(NULL, thread);
  const int status = 0;
  run.hooks->exiting(run.hooks->context, &status);
  _exit(status);
}

/* Ends a running JVM, so that its threads stop and its files are removed, and lets jvm_run return 1. */
__attribute__((noreturn)) static void fail_start(struct jvm_thread *thread, const struct jp_error *error)
{
  run.error = *error;
  atomic_store(&run.is_failing, true);
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  jobject runtime =
      known->static_runtime_get == NULL
          ? NULL
          : (*env)->CallStaticObjectMethod(env, known->class_runtime, known->static_runtime_get);
  if (runtime != NULL && !throwable_take(thread, NULL))
    (*env)->CallVoidMethod(env, runtime, known->method_runtime_halt, 1);
  finish_run(1, false); /* halt has failed as well */
  park_thread();
}

/* ---- the start, on the thread "main" ---- */

static enum jp_status find_class_loader(struct jvm *jvm, struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &jvm->known;
  jobject loader =
      (*env)->CallStaticObjectMethod(env, known->class_class_loader, known->static_class_loader_get_system);
  if (throwable_take(thread, error))
    return JP_JAVA;
  jvm->class_loader = (*env)->NewGlobalRef(env, loader);
  (*env)->DeleteLocalRef(env, loader);
  return jvm->class_loader == NULL ? jp_fail_memory(error, NULL) : JP_OK;
}

/* The class loader opens a jar on first use, and never tries again if that fails. For this reason all jars
 * are opened now, while file descriptors are available, by searching each jar for a name that no jar has. */
static void open_class_path(const struct jvm *jvm, struct jvm_thread *thread)
{
  JNIEnv *env = thread->env;
  jobject found = NULL;
  jstring name = jvm_string_new(thread, TEXT("jpeer/peer/nothing"));
  if (name != NULL)
    found =
        (*env)->CallObjectMethod(env, jvm->class_loader, jvm->known.method_class_loader_get_resource, name);
  (void)throwable_take(thread, NULL);
  (*env)->DeleteLocalRef(env, found);
  (*env)->DeleteLocalRef(env, name);
}

/* Fills run.jvm and the state of the main thread. */
static enum jp_status open_machine(struct jvm_thread *thread, struct jp_error *error)
{
  struct jvm *jvm = &run.jvm;
  JNIEnv *env = thread->env;
  if ((*jvm->vm)->GetEnv(jvm->vm, (void **)&jvm->jvmti, JVMTI_VERSION_11) != JNI_OK)
    return jp_fail(error, JP_INTERNAL, "this JVM has no JVMTI 11");
  thread->jvmti = jvm->jvmti;
  enum jp_status status = jvm_known_load(env, &jvm->known, error);
  if (status == JP_OK)
    status = find_class_loader(jvm, thread, error);
  if (status == JP_OK)
    status = loaders_open(jvm, thread, error);
  if (status == JP_OK)
    status = main_loader_open(thread, error);
  if (status == JP_OK)
    status = jvm_thread_groups_open(jvm, thread, error);
  if (status == JP_OK)
    status = jvm_peer_classes_define(jvm, env, error);
  if (status == JP_OK)
    open_class_path(jvm, thread);
  return status;
}

static enum jp_status add_shutdown_hook(struct jvm_thread *thread, struct jp_error *error)
{
  JNIEnv *env = thread->env;
  const struct jvm_known *known = &thread->jvm->known;
  struct jvm_work *work;
  jobject hook = jvm_thread_make(thread, "jpeer-drain", drain_peer, NULL, &work, error);
  if (hook == NULL)
    return JP_JAVA;
  jobject runtime = (*env)->CallStaticObjectMethod(env, known->class_runtime, known->static_runtime_get);
  if (!throwable_take(thread, error)) {
    (*env)->CallVoidMethod(env, runtime, known->method_runtime_add_shutdown_hook, hook);
    if (!throwable_take(thread, error))
      return JP_OK;
  }
  (void)jvm_work_withdraw(env, work);
  return JP_JAVA;
}

/* The thread "main" of a service does not end, because its group would otherwise be empty and might be
 * destroyed, and application code could then create no thread. It waits inside Java, because a JVM that ends
 * waits for threads in native code. */
__attribute__((noreturn)) static void wait_as_main(JNIEnv *env)
{
  enum { PAUSE_US = 100000 };
  const struct jvm_known *known = &run.jvm.known;
  jobject self = (*env)->CallStaticObjectMethod(env, known->class_thread, known->static_thread_current);
  (*env)->ExceptionClear(env);
  while (self != NULL) {
    (*env)->CallVoidMethod(env, self, known->method_thread_join);
    (*env)->ExceptionClear(env); /* application code may interrupt or stop this thread */
    usleep(PAUSE_US);
  }
  park_thread();
}

/* A signal may have asked to stop before the start. The thread that was woken then ends the process. */
static enum jp_status call_started(JNIEnv *env, struct jp_error *error)
{
  pthread_mutex_lock(&run.serving_lock);
  bool is_over = run.serving == HAS_SERVED;
  enum jp_status status = is_over ? JP_OK : run.hooks->started(run.hooks->context, &run.jvm, error);
  if (!is_over && status == JP_OK)
    run.serving = IS_SERVING;
  pthread_mutex_unlock(&run.serving_lock);
  if (is_over)
    wait_as_main(env);
  return status;
}

static enum jp_status start_application(struct jvm_thread *thread, struct jvm_main *found, jobjectArray *args,
                                        struct jp_error *error)
{
  enum jp_status status = open_machine(thread, error);
  if (status == JP_OK)
    status = add_shutdown_hook(thread, error);
  /* Called before the search for the main class, because the search may take long. */
  if (status == JP_OK)
    status = jvm_spawn(&run.jvm, "jpeer-signals", exit_on_signal, NULL, error);
  if (status == JP_OK) {
    jvm_stopping_set_jvm(&run.jvm);
    status = jvm_main_find(thread, run.launch, found, error);
  }
  if (status == JP_OK && found->class != NULL)
    status = jvm_main_args(thread, run.launch, args, error);
  if (status == JP_OK)
    status = call_started(thread->env, error);
  return status;
}

/* Ends the process if the hook fails, like a failed start. */
static void report_stage(JNIEnv *env, enum jvm_stage stage)
{
  struct jp_error error;
  if (run.hooks->reached == NULL || run.hooks->reached(run.hooks->context, stage, &error) == JP_OK)
    return;
  struct jvm_thread thread;
  jvm_thread_init(&thread, &run.jvm, env, NULL);
  fail_start(&thread, &error);
}

/* Runs the application on the calling thread and waits for the last of its threads. */
static int run_application(JNIEnv *env, struct jvm_main *found, jobjectArray args)
{
  JavaVM *vm = run.jvm.vm;
  if (found->class == NULL)
    wait_as_main(env);
  bool ended_well = jvm_main_initialise(env, found);
  if (ended_well) {
    report_stage(env, JVM_MAIN_INITIALISED);
    ended_well = jvm_main_run(env, found, args);
  }
  if (ended_well)
    report_stage(env, JVM_MAIN_RETURNED);
  jthrowable thrown = throwable_catch(env);
  main_loader_settle(&run.jvm, env);
  if (thrown != NULL)
    (*env)->Throw(env, thrown);
  (*env)->DeleteLocalRef(env, thrown);
  /* Detaching passes an exception to the thread's handler for uncaught exceptions, as in any Java thread. */
  (*vm)->DetachCurrentThread(vm);
  (*vm)->DestroyJavaVM(vm);
  return ended_well ? 0 : 1;
}

static void *run_main_thread(void *unused)
{
  (void)unused;
  JNIEnv *env;
  struct jvm_thread thread;
  struct jp_error error;
  struct jvm_main found = {0};
  jobjectArray args = NULL;

  const struct jvm_create_ends ends = {on_exit_of_jvm, on_death_of_jvm, on_exit_by_native_code};
  struct jvm_stopping_config stopping = {-1, run.launch->grace_ms, call_hangup, exit_after_signal};
  enum jp_status status = jvm_signals_catch(run.hooks->hangup != NULL, &stopping.descriptor, &error);
  if (status == JP_OK)
    status = jvm_stopping_start(&stopping, &error);
  if (status == JP_OK)
    status = jvm_create(run.launch, &ends, &run.jvm.vm, &env, &error);
  if (status != JP_OK) {
    jvm_signals_restore();
    run.error = error;
    finish_run(1, true);
    return NULL;
  }
  jvm_signals_keep();
  jvm_thread_init(&thread, &run.jvm, env, NULL);
  if (start_application(&thread, &found, &args, &error) != JP_OK)
    fail_start(&thread, &error);
  jvm_thread_fini(&thread);
  finish_run(run_application(env, &found, args), true);
  return NULL;
}

int jvm_run(const struct jvm_launch *launch, const struct jvm_hooks *hooks, struct jp_error *error)
{
  run.launch = launch;
  run.hooks = hooks;
  run.pid = getpid();
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int fault = pthread_attr_setstacksize(&attributes, jvm_main_stack_size(launch));
  if (fault == 0)
    fault = pthread_create(&thread, &attributes, run_main_thread, NULL);
  pthread_attr_destroy(&attributes);
  if (fault != 0) {
    jp_fail(error, JP_IO, "the main thread cannot be made: %s", strerror(fault));
    return 1;
  }
  pthread_mutex_lock(&run.lock);
  while (!run.is_over)
    pthread_cond_wait(&run.changed, &run.lock);
  pthread_mutex_unlock(&run.lock);
  if (run.ended)
    pthread_join(thread, NULL);
  if (error != NULL && run.error.status != JP_OK)
    *error = run.error;
  return run.status;
}
