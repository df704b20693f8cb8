#include "jni/start/stopping.h"

#include "base/clock.h"
#include "base/log.h"
#include "jni/start/exit_report.h"
#include "jni/start/signals.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 1024 * 1024, STEP_MS = 1000 };

/* One a process, as its signals are. */
static struct {
  struct jvm_stopping_config config;
  struct jvm *_Atomic jvm; /* NULL: it is being created */
  sem_t first_signal;
  int64_t began_ms;
  char waited_for[512]; /* a step writes it, and it is read after that step */
} stopping;

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

/* ---- the end ---- */

/* A part of the end that may hang, in a JVM that no longer answers or on a stderr that nobody reads. */
struct step {
  void (*run)(void);
  sem_t done;
};

static void *run_step(void *argument)
{
  struct step *step = argument;
  step->run();
  sem_post(&step->done);
  return NULL;
}

/* Runs the step on a thread of its own. False: it has not ended within STEP_MS. */
static bool take_step(struct step *step)
{
  struct timespec until;
  sem_init(&step->done, 0, 0);
  if (start_thread(run_step, step) != 0)
    return false;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += STEP_MS / 1000;
  int waited;
  do
    waited = sem_clockwait(&step->done, CLOCK_MONOTONIC, &until);
  while (waited != 0 && errno == EINTR);
  return waited == 0;
}

static void find_what_is_waited_for(void)
{
  struct jvm *jvm = atomic_load(&stopping.jvm);
  if (jvm != NULL)
    jvm_exit_report(jvm, stopping.waited_for, sizeof stopping.waited_for);
  else
    snprintf(stopping.waited_for, sizeof stopping.waited_for, "the start of the JVM");
}

static void say_it(void)
{
  log_error("%lld ms after the first signal the JVM has not ended; this one ends the process, with %d. "
            "Waited for: %s",
            (long long)(clock_now_ms() - stopping.began_ms), JVM_STOPPING_STATUS, stopping.waited_for);
}

static void say_that_nothing_is_known(void)
{
  log_error("%lld ms after the first signal the JVM has not ended; this one ends the process, with %d. "
            "The JVM does not say what it waits for",
            (long long)(clock_now_ms() - stopping.began_ms), JVM_STOPPING_STATUS);
}

static void call_exiting(void)
{
  stopping.config.exiting(JVM_STOPPING_STATUS);
}

__attribute__((noreturn)) static void end_process(void)
{
  /* Static, because a step that hangs goes on using it. */
  static struct step find = {.run = find_what_is_waited_for};
  static struct step say = {.run = say_it};
  static struct step exiting = {.run = call_exiting};
  if (!take_step(&find))
    say.run = say_that_nothing_is_known;
  (void)take_step(&say);
  (void)take_step(&exiting);
  _exit(JVM_STOPPING_STATUS);
}

/* ---- signals ---- */

static bool await_signal(void)
{
  uint64_t count;
  while (read(stopping.config.descriptor, &count, sizeof count) < 0) {
    if (errno != EINTR)
      return false;
  }
  return true;
}

/* True after a signal that asks to stop; hang-ups before it are served. False: no signal can be awaited any
 * more. */
static bool await_stop(void)
{
  while (await_signal()) {
    unsigned asked = jvm_signals_take();
    if ((asked & JVM_SIGNALS_HANGUP) != 0)
      stopping.config.hangup();
    if ((asked & JVM_SIGNALS_STOP) != 0)
      return true;
  }
  return false;
}

static void *watch_signals(void *unused)
{
  (void)unused;
  if (!await_stop())
    return NULL;
  stopping.began_ms = clock_now_ms();
  sem_post(&stopping.first_signal);
  while (await_stop()) {
    int64_t left_ms = stopping.began_ms + stopping.config.grace_ms - clock_now_ms();
    if (left_ms <= 0)
      end_process();
    log_info("the peer is stopping; a signal after %lld ms more ends it at once", (long long)left_ms);
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

void jvm_stopping_await(void)
{
  while (sem_wait(&stopping.first_signal) != 0)
    ;
}
