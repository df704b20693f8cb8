/* From a signal to the end of the process: the handlers, the thread that reads the signals, and ending the
 * process. */
#include "jni/start/stopping.h"

#include "base/clock.h"
#include "base/latch.h"
#include "base/log.h"
#include "base/text.h"
#include "jni/runtime/peer_threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_BYTES = 1024 * 1024, STEP_MS = 1000 };

/* Process-wide, like signals. */
static struct {
  struct jvm_stopping_config config;
  struct jvm *_Atomic jvm; /* NULL while the JVM is being created */
  sem_t first_signal;
  atomic_bool is_dismissed; /* the JVM is exiting already */
  int64_t began_ms;
  char waited_for[512]; /* written by a step, read after that step */
} stopping;

/* ---- signal handlers ---- */

/* Requests of signals. */
enum { ASKED_STOP = 1, ASKED_HANGUP = 2, ASKED_ABORT = 4 };

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
static const char *const names[] = {"SIGTERM", "SIGINT", "SIGHUP"};
enum { SIGNALS = sizeof numbers / sizeof numbers[0] };

static struct sigaction before[SIGNALS];
static bool is_caught[SIGNALS];
/* Global, because a signal handler has no context argument. */
static volatile sig_atomic_t descriptor_to_wake;
/* The first signal that asks to stop. number is written last; 0: none yet. */
static struct {
  atomic_bool is_claimed;
  _Atomic pid_t sender; /* 0: the kernel, for example for Ctrl-C in a terminal */
  _Atomic uid_t user;
  atomic_int number;
} first;
static volatile sig_atomic_t hangup_is_own;
static atomic_uint asked_for; /* set of ASKED_*; lock-free, so that a handler may write it */
/* true while the JVM is being created: sigaction then reports SIG_IGN in place of our handlers */
static atomic_bool are_hidden;

static void wake_thread(unsigned request)
{
  const uint64_t one = 1;
  atomic_fetch_or(&asked_for, request);
  /* The write fails only if the counter is full, and then the descriptor is readable anyway. */
  ssize_t wrote = write(descriptor_to_wake, &one, sizeof one);
  (void)wrote;
}

static void wake_reader(int number, siginfo_t *facts, void *unused)
{
  (void)unused;
  int saved = errno;
  const bool is_hangup = number == SIGHUP && hangup_is_own;
  if (!is_hangup && !atomic_exchange(&first.is_claimed, true)) {
    atomic_store(&first.sender, facts->si_code <= 0 ? facts->si_pid : 0);
    atomic_store(&first.user, facts->si_code <= 0 ? facts->si_uid : 0);
    atomic_store(&first.number, number);
  }
  wake_thread(is_hangup ? ASKED_HANGUP : ASKED_STOP);
  errno = saved;
}

/* The signal that aborts the process: HotSpot's own after a crash, or that of a service manager's watchdog. */
static struct {
  atomic_bool is_claimed;
  _Atomic pid_t sender; /* 0: the kernel */
  _Atomic uid_t user;
  atomic_bool is_logged;
} aborting;

/* Waits until the thread that reads the signals has logged why the process ends, but not longer than a second, because
 * that thread may be the one that is aborted. Then the signal has its usual effect. */
static void log_abort(int number, siginfo_t *facts, void *unused)
{
  enum { WAITS = 100, WAIT_NS = 10000000 };
  const struct timespec pause = {.tv_nsec = WAIT_NS};
  (void)unused;
  if (!atomic_exchange(&aborting.is_claimed, true)) {
    atomic_store(&aborting.sender, facts->si_code <= 0 ? facts->si_pid : 0);
    atomic_store(&aborting.user, facts->si_code <= 0 ? facts->si_uid : 0);
    wake_thread(ASKED_ABORT);
  }
  for (int i = 0; i < WAITS && !atomic_load(&aborting.is_logged); i++)
    nanosleep(&pause, NULL);
  const struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(number, &usual, NULL);
  raise(number); /* takes effect when this handler returns */
}

/*
 * Replaces libc's function for the whole process, libjvm included, because the symbols of a program are found
 * before the symbols of its libraries (jni/CMakeLists.txt exports this function). HotSpot reads the action of
 * TERM, INT and HUP while it starts, and sets no handler for a signal that is ignored. If the signals were
 * really ignored, signals that arrive during that time would be lost. For this reason the signals are caught,
 * and only HotSpot sees them as ignored. The function that is replaced may belong to libc, to a sanitizer or
 * to libjsig (LD_PRELOAD).
 */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *restrict action,
                                                     struct sigaction *restrict old)
{
  typedef int (*sigaction_function)(int, const struct sigaction *restrict, struct sigaction *restrict);
  static _Atomic sigaction_function hidden;
  sigaction_function function = atomic_load(&hidden);
  if (function == NULL) {
    /* POSIX's conversion from an object pointer to a function pointer. */
    *(void **)&function = dlsym(RTLD_NEXT, "sigaction");
    atomic_store(&hidden, function);
  }
  int result = function(number, action, old);
  if (result == 0 && action == NULL && old != NULL && (old->sa_flags & SA_SIGINFO) != 0 &&
      old->sa_sigaction == wake_reader && atomic_load(&are_hidden)) {
    old->sa_handler = SIG_IGN;
    old->sa_flags &= ~SA_SIGINFO;
  }
  return result;
}

static void set_handlers(void)
{
  struct sigaction action = {.sa_sigaction = wake_reader, .sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO};
  for (size_t i = 0; i < SIGNALS; i++) {
    if (is_caught[i])
      sigaction(numbers[i], &action, NULL);
  }
}

/* An application that handles the signal itself replaces this handler. */
static void catch_abort(void)
{
  const struct sigaction action = {.sa_sigaction = log_abort, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  struct sigaction found;
  if (sigaction(SIGABRT, NULL, &found) == 0 && found.sa_handler == SIG_DFL)
    sigaction(SIGABRT, &action, NULL);
}

enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error)
{
  *descriptor = eventfd(0, EFD_CLOEXEC);
  if (*descriptor < 0)
    return jp_fail(error, JP_IO, "eventfd: %s", strerror(errno));
  descriptor_to_wake = *descriptor;
  hangup_is_own = own_hangup;
  for (size_t i = 0; i < SIGNALS; i++) {
    sigaction(numbers[i], NULL, &before[i]);
    is_caught[i] = before[i].sa_handler != SIG_IGN || (numbers[i] == SIGHUP && own_hangup);
  }
  atomic_store(&are_hidden, true);
  set_handlers();
  catch_abort();
  return JP_OK;
}

void jvm_signals_keep(void)
{
  atomic_store(&are_hidden, false);
  set_handlers();
}

void jvm_signals_restore(void)
{
  atomic_store(&are_hidden, false);
  for (size_t i = 0; i < SIGNALS; i++) {
    if (is_caught[i])
      sigaction(numbers[i], &before[i], NULL);
  }
}

/* ---- the stacks of the thread that ends the JVM, and of the hook that it waits for ---- */

enum { DEPTH = 64, REFERENCES = 64, SEARCHES = 20, PAUSE_US = 20000 };

struct report {
  JNIEnv *env;
  jvmtiEnv *jvmti;
  const struct jvm *jvm;
};

static void free_memory(const struct report *report, void *memory)
{
  (*report->jvmti)->Deallocate(report->jvmti, memory);
}

/* True if the signature of the method's class begins with `signature`. */
static bool is_method_of(const struct report *report, jmethodID method, const char *signature)
{
  jclass class;
  char *found;
  if ((*report->jvmti)->GetMethodDeclaringClass(report->jvmti, method, &class) != JVMTI_ERROR_NONE)
    return false;
  bool is_same = false;
  if ((*report->jvmti)->GetClassSignature(report->jvmti, class, &found, NULL) == JVMTI_ERROR_NONE) {
    is_same = strncmp(found, signature, strlen(signature)) == 0;
    free_memory(report, found);
  }
  (*report->env)->DeleteLocalRef(report->env, class);
  return is_same;
}

static jint read_stack(const struct report *report, jthread thread, jvmtiFrameInfo *frames)
{
  jint count = 0;
  jvmtiError failure = (*report->jvmti)->GetStackTrace(report->jvmti, thread, 0, DEPTH, frames, &count);
  return failure == JVMTI_ERROR_NONE ? count : 0;
}

/* True if the thread is inside a method of a class whose signature begins with `signature`. */
static bool is_inside(const struct report *report, jthread thread, const char *signature)
{
  jvmtiFrameInfo frames[DEPTH];
  jint count = read_stack(report, thread, frames);
  bool found = false;
  for (jint i = 0; i < count && !found; i++)
    found = is_method_of(report, frames[i].method, signature);
  return found;
}

static void free_references(const struct report *report, jint count, jthread *threads)
{
  for (jint i = 0; i < count; i++)
    (*report->env)->DeleteLocalRef(report->env, threads[i]);
  free_memory(report, threads);
}

/* True if `waiter` is in joined.join(), and `joined` is alive: join() waits on the monitor of the Thread
 * object. */
static bool has_joined(const struct report *report, jthread waiter, jthread joined)
{
  jvmtiMonitorUsage usage = {0};
  if ((*report->jvmti)->GetObjectMonitorUsage(report->jvmti, joined, &usage) != JVMTI_ERROR_NONE)
    return false;
  bool found = false;
  for (jint i = 0; i < usage.notify_waiter_count && !found; i++)
    found = (*report->env)->IsSameObject(report->env, usage.notify_waiters[i], waiter);
  (*report->env)->DeleteLocalRef(report->env, usage.owner);
  free_references(report, usage.waiter_count, usage.waiters);
  free_references(report, usage.notify_waiter_count, usage.notify_waiters);
  return found;
}

/* A local reference to each thread. 0: the JVM does not list them. */
static jint list_threads(const struct report *report, jthread **threads)
{
  jint count;
  if ((*report->jvmti)->GetAllThreads(report->jvmti, &count, threads) != JVMTI_ERROR_NONE)
    return 0;
  if ((*report->env)->EnsureLocalCapacity(report->env, count + REFERENCES) != 0)
    (*report->env)->ExceptionClear(report->env);
  return count;
}

/* Returns the thread that waits for the shutdown hooks, which is one of the listed threads; NULL: there is
 * none. */
static jthread find_ending_thread(const struct report *report, jint count, const jthread *threads)
{
  for (jint i = 0; i < count; i++) {
    if (is_inside(report, threads[i], "Ljava/lang/ApplicationShutdownHooks;"))
      return threads[i];
  }
  return NULL;
}

/* The shutdown hook whose end the JVM awaits: a thread of ApplicationShutdownHooks is in join() of the hook's thread.
 * A local reference, or NULL. */
static jobject find_hook(const struct report *report)
{
  jthread *threads = NULL;
  jint count = list_threads(report, &threads);
  jthread waiter = find_ending_thread(report, count, threads);
  jobject hook = NULL;
  for (jint i = 0; i < count && waiter != NULL && hook == NULL; i++) {
    if (has_joined(report, waiter, threads[i]))
      hook = (*report->env)->NewLocalRef(report->env, threads[i]);
  }
  free_references(report, count, threads);
  return hook;
}

/* The method of the innermost frame outside the JDK. NULL: there is none. */
static jmethodID find_place(const struct report *report, jthread thread)
{
  jvmtiFrameInfo frames[DEPTH];
  jint count = read_stack(report, thread, frames);
  jint at = 0;
  while (at < count && (is_method_of(report, frames[at].method, "Ljava/") ||
                        is_method_of(report, frames[at].method, "Ljdk/")))
    at++;
  return at < count ? frames[at].method : NULL;
}

/* Writes ", in com.example.Main$1.run"; nothing if place is NULL. */
static void write_place(const struct report *report, jmethodID place, char *text, size_t size)
{
  jclass class;
  char *signature = NULL;
  char *name = NULL;
  if (place == NULL ||
      (*report->jvmti)->GetMethodDeclaringClass(report->jvmti, place, &class) != JVMTI_ERROR_NONE)
    return;
  if ((*report->jvmti)->GetClassSignature(report->jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE &&
      (*report->jvmti)->GetMethodName(report->jvmti, place, &name, NULL, NULL) == JVMTI_ERROR_NONE) {
    for (char *c = signature; *c != '\0'; c++)
      *c = *c == '/' ? '.' : *c;
    text_format(text, size, ", in %.*s.%s", (int)strlen(signature) - 2, signature + 1, name);
  }
  free_memory(report, name);
  free_memory(report, signature);
  (*report->env)->DeleteLocalRef(report->env, class);
}

static void write_hook(const struct report *report, jthread hook, char *text, size_t size)
{
  jvmtiThreadInfo info = {0};
  char place[256] = "";
  write_place(report, find_place(report, hook), place, sizeof place);
  if ((*report->jvmti)->GetThreadInfo(report->jvmti, hook, &info) == JVMTI_ERROR_NONE)
    text_format(text, size, "the shutdown hook \"%s\"%s", info.name, place);
  else
    text_format(text, size, "a shutdown hook%s", place);
  free_memory(report, (void *)info.name);
  (*report->env)->DeleteLocalRef(report->env, info.thread_group);
  (*report->env)->DeleteLocalRef(report->env, info.context_class_loader);
}

/*
 * Describes the hook in a few words, cut to the size of text. Runs no Java code of the application. Called on
 * a thread that is not attached to the JVM. If the JVM no longer responds, this function may never return.
 */
static void write_exit_report(struct jvm *jvm, char *text, size_t size)
{
  const jvmtiCapabilities wanted = {.can_get_monitor_info = 1};
  struct jvm_attachment attachment;
  snprintf(text, size, "no shutdown hook that the JVM reports");
  if (!jvm_attach(jvm, &attachment))
    return;
  const struct report report = {attachment.env, jvm->jvmti, jvm};
  jobject hook = NULL;
  /* A single search may fall between two hooks, when the JVM waits for no hook, so the search is repeated. */
  int searches = (*jvm->jvmti)->AddCapabilities(jvm->jvmti, &wanted) == JVMTI_ERROR_NONE ? SEARCHES : 0;
  for (int i = 0; hook == NULL && i < searches; i++) {
    if (i > 0)
      usleep(PAUSE_US);
    hook = find_hook(&report);
  }
  if (hook != NULL)
    write_hook(&report, hook, text, size);
  (*report.env)->DeleteLocalRef(report.env, hook);
  jvm_detach(jvm, &attachment);
}

static int start_thread(void *(*run)(void *argument), void *argument)
{
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int fault = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  return fault;
}

/* ---- ending the process ---- */

/* A step of the end that may block for ever: in a JVM that no longer responds, or on a stderr that nobody
 * reads. */
struct step {
  void (*run)(void);
  struct latch done;
};

static void *run_step(void *argument)
{
  struct step *step = argument;
  step->run();
  latch_open(&step->done);
  return NULL;
}

/* Runs the step on a thread of its own. False: it has not ended within STEP_MS. */
static bool take_step(struct step *step)
{
  latch_init(&step->done);
  return start_thread(run_step, step) == 0 &&
         latch_await(&step->done, clock_now_ns() + STEP_MS * INT64_C(1000000));
}

static void find_what_is_waited_for(void)
{
  struct jvm *jvm = atomic_load(&stopping.jvm);
  if (jvm != NULL)
    write_exit_report(jvm, stopping.waited_for, sizeof stopping.waited_for);
  else
    snprintf(stopping.waited_for, sizeof stopping.waited_for, "the start of the JVM");
}

static void log_exit_report(void)
{
  log_error("the JVM has not ended %lld ms after the first signal; the process ends now, with status %d. "
            "It waited for %s",
            (long long)(clock_now_ms() - stopping.began_ms), JVM_STOPPING_STATUS, stopping.waited_for);
}

static void log_without_report(void)
{
  log_error("the JVM has not ended %lld ms after the first signal; the process ends now, with status %d. "
            "The JVM does not respond, so the log cannot name what it waits for",
            (long long)(clock_now_ms() - stopping.began_ms), JVM_STOPPING_STATUS);
}

static void call_exiting(void)
{
  stopping.config.exiting(JVM_STOPPING_STATUS);
}

__attribute__((noreturn)) static void end_process(void)
{
  /* Static, because a step that hangs continues to use its memory. */
  static struct step find = {.run = find_what_is_waited_for};
  static struct step report = {.run = log_exit_report};
  static struct step exiting = {.run = call_exiting};
  if (!take_step(&find))
    report.run = log_without_report;
  (void)take_step(&report);
  (void)take_step(&exiting);
  _exit(JVM_STOPPING_STATUS);
}

/* ---- why the process ends ---- */

static const char *name_signal(int number)
{
  for (int i = 0; i < SIGNALS; i++) {
    if (numbers[i] == number)
      return names[i];
  }
  return "another signal";
}

/* False: no signal has asked to stop. */
static bool log_signal(void)
{
  const int number = atomic_load(&first.number);
  const pid_t sender = atomic_load(&first.sender);
  if (number == 0)
    return false;
  if (sender == getpid()) /* cli/parent_watch.c says why */
    log_debug("the peer stops: it has sent itself %s", name_signal(number));
  else if (sender != 0)
    log_info("the peer stops: %s from process %d of user %u", name_signal(number), (int)sender,
             (unsigned)atomic_load(&first.user));
  else
    log_info("the peer stops: %s", name_signal(number));
  return true;
}

void jvm_stopping_log_cause(struct jvm_thread *thread)
{
  const struct report report = {thread->env, thread->jvm->jvmti, thread->jvm};
  jthread *threads = NULL;
  char text[256] = "";
  if (log_signal())
    return;
  jint count = list_threads(&report, &threads);
  jthread ending = find_ending_thread(&report, count, threads);
  if (ending == NULL || !is_inside(&report, ending, "Ljava/lang/Runtime;")) {
    log_info("the peer stops: the application's last thread has ended");
  } else {
    jmethodID place = find_place(&report, ending);
    write_place(&report, place, text, sizeof text);
    if (place != NULL && is_method_of(&report, place, "Ljpeer/peer/"))
      log_info("the peer stops: a client's request called System.exit");
    else
      log_info("the peer stops: System.exit was called%s", text);
  }
  free_references(&report, count, threads);
}

static void log_aborting(void)
{
  const pid_t sender = atomic_load(&aborting.sender);
  if (sender == getpid())
    log_error("the peer ends: the JVM or native code has crashed (SIGABRT); HotSpot's report is in "
              "hs_err_pid%d.log, "
              "or where it has said",
              (int)sender);
  else if (sender != 0)
    log_error("the peer ends: SIGABRT from process %d of user %u, as a service manager's watchdog sends it",
              (int)sender, (unsigned)atomic_load(&aborting.user));
  else
    log_error("the peer ends: SIGABRT");
  log_finish(STEP_MS);
  atomic_store(&aborting.is_logged, true);
}

/* ---- the thread that reads the signals ---- */

/* Waits for a signal that asks to stop, and handles the hang-ups before it. False: signals can no longer be
 * read. */
static bool await_stop(void)
{
  for (;;) {
    uint64_t count;
    while (read(stopping.config.descriptor, &count, sizeof count) < 0) {
      if (errno != EINTR)
        return false;
    }
    unsigned asked = atomic_exchange(&asked_for, 0);
    if ((asked & ASKED_ABORT) != 0)
      log_aborting();
    if ((asked & ASKED_HANGUP) != 0)
      stopping.config.hangup();
    if ((asked & ASKED_STOP) != 0)
      return true;
  }
}

static void *watch_signals(void *unused)
{
  sigset_t abort_alone;
  (void)unused;
  sigemptyset(&abort_alone);
  sigaddset(&abort_alone, SIGABRT);
  pthread_sigmask(SIG_BLOCK, &abort_alone, NULL); /* the handler waits for this thread */
  if (!await_stop())
    return NULL;
  stopping.began_ms = clock_now_ms();
  sem_post(&stopping.first_signal);
  while (await_stop()) {
    int64_t left_ms = stopping.began_ms + stopping.config.grace_ms - clock_now_ms();
    if (left_ms <= 0)
      end_process();
    log_info("the peer is stopping; a signal in %lld ms or later ends the process at once",
             (long long)left_ms);
  }
  return NULL;
}

enum jp_status jvm_stopping_start(const struct jvm_stopping_config *config, struct jp_error *error)
{
  stopping.config = *config;
  sem_init(&stopping.first_signal, 0, 0);
  int fault = start_thread(watch_signals, NULL);
  if (fault != 0)
    return jp_fail(error, JP_LIMIT, "no thread for signals: %s", strerror(fault));
  return JP_OK;
}

void jvm_stopping_set_jvm(struct jvm *jvm)
{
  atomic_store(&stopping.jvm, jvm);
}

bool jvm_stopping_await(void)
{
  while (sem_wait(&stopping.first_signal) != 0)
    ;
  return !atomic_load(&stopping.is_dismissed);
}

void jvm_stopping_dismiss(void)
{
  atomic_store(&stopping.is_dismissed, true);
  sem_post(&stopping.first_signal);
}
