/*
 * A small program around jvm_run, for test_start.c: says on its standard output which hooks were called.
 *
 *   start_probe [--fail] [--exit-in-crew] [--show-signals] [--slow-start] [--slow-drain] [--no-grace]
 *               [--as-service] [-J OPTION]... [-cp PATH] [-jar FILE | MAIN] [args]
 *
 * What is slow goes on when SIGUSR1 has come.
 */
#include "jni/jvm.h"
#include "jni/runtime/machine.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS_MAX = 16, GRACE_MS = 3600 * 1000 };

struct probe {
  struct jvm_launch launch;
  const char *options[OPTIONS_MAX];
  bool fail;
  bool exit_in_crew;
  bool show_signals;
  bool slow_start;
  bool slow_drain;
  bool no_grace;
  struct jvm *jvm;
  const struct jvm_thread *_Atomic exiting_thread;
};

/* One write a line: what Java prints stands between. */
static void say(const char *format, ...) JP_PRINTF(1, 2);
static void say(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vdprintf(STDOUT_FILENO, format, args);
  va_end(args);
}

static sem_t go_on;

static void on_go_on(int number)
{
  (void)number;
  sem_post(&go_on);
}

static void wait_for_go_on(void)
{
  while (sem_wait(&go_on) != 0)
    ;
}

static const char *disposition(int number)
{
  struct sigaction action;
  sigaction(number, NULL, &action);
  if (action.sa_handler == SIG_IGN)
    return "ignored";
  return action.sa_handler == SIG_DFL ? "default" : "caught";
}

static void show_signals(void)
{
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  bool is_blocked =
      sigismember(&blocked, SIGTERM) || sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGHUP);
  say("TERM %s INT %s HUP %s QUIT %s, %s blocked\n", disposition(SIGTERM), disposition(SIGINT),
      disposition(SIGHUP), disposition(SIGQUIT), is_blocked ? "some" : "none");
  int ends[2];
  if (pipe(ends) == 0) {
    close(ends[0]);
    ssize_t wrote = write(ends[1], "x", 1);
    say("a broken pipe is %s\n", wrote < 0 && errno == EPIPE ? "an error" : "something else");
    close(ends[1]);
  }
}

static void exit_in_crew(void *argument, struct jvm_thread *thread)
{
  struct probe *probe = argument;
  const struct jvm_known *known = &thread->jvm->known;
  probe->exiting_thread = thread;
  (*thread->env)->CallStaticVoidMethod(thread->env, known->class_system, known->static_system_exit, 5);
}

static enum jp_status started(void *context, struct jvm *jvm, struct jp_error *error)
{
  struct probe *probe = context;
  probe->jvm = jvm;
  if (probe->fail)
    return jp_fail(error, JP_IO, "no sockets today");
  if (probe->show_signals)
    show_signals();
  if (probe->slow_start) {
    say("starting\n");
    wait_for_go_on();
  }
  say("started\n");
  return probe->exit_in_crew ? jvm_spawn(jvm, "crew", exit_in_crew, probe, error) : JP_OK;
}

/* In a thread that the JVM does not know, as the crew's watcher is one. */
static void *ask_unattached(void *argument)
{
  struct probe *probe = argument;
  say("is exiting, says a stranger: %d\n", jvm_thread_is_exiting(probe->jvm, probe->exiting_thread));
  return NULL;
}

static void drain(void *context)
{
  struct probe *probe = context;
  pthread_t stranger;
  if (probe->exiting_thread != NULL) {
    say("is exiting: %d\n", jvm_thread_is_exiting(probe->jvm, probe->exiting_thread));
    if (pthread_create(&stranger, NULL, ask_unattached, probe) == 0)
      pthread_join(stranger, NULL);
  }
  if (probe->slow_drain) {
    say("draining\n");
    wait_for_go_on();
  }
  say("drained\n");
}

static void died(void *context, const struct jp_error *error)
{
  (void)context;
  say("died: %s\n", error->text);
}

static void exiting(void *context, int status)
{
  (void)context;
  say("exiting %d\n", status);
}

static bool *flag_of(struct probe *probe, const char *word)
{
  const struct {
    const char *word;
    bool *flag;
  } rows[] = {{"--fail", &probe->fail},
              {"--exit-in-crew", &probe->exit_in_crew},
              {"--show-signals", &probe->show_signals},
              {"--slow-start", &probe->slow_start},
              {"--slow-drain", &probe->slow_drain},
              {"--no-grace", &probe->no_grace},
              {"--as-service", &probe->launch.as_service}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].word, word) == 0)
      return rows[i].flag;
  }
  return NULL;
}

/* Returns the place of the first word that is no option. */
static int parse(struct probe *probe, int argc, char **argv)
{
  struct jvm_launch *launch = &probe->launch;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; at++) {
    bool *flag = flag_of(probe, argv[at]);
    if (flag != NULL)
      *flag = true;
    else if (strcmp(argv[at], "-J") == 0)
      probe->options[launch->option_count++] = argv[++at];
    else if (strcmp(argv[at], "-cp") == 0)
      launch->class_path = argv[++at];
    else if (strcmp(argv[at], "-jar") == 0)
      launch->jar = argv[++at];
  }
  return at;
}

int main(int argc, char **argv)
{
  struct probe probe = {.launch = {.options = probe.options}};
  sem_init(&go_on, 0, 0);
  signal(SIGUSR1, on_go_on);
  int at = parse(&probe, argc, argv);
  probe.launch.grace_ms = probe.no_grace ? 0 : GRACE_MS;
  const char *more = getenv("JPEER_TEST_JVM_OPTIONS");
  if (more != NULL)
    probe.options[probe.launch.option_count++] = more;
  if (probe.launch.jar == NULL && !probe.launch.as_service)
    probe.launch.main_class = argv[at++];
  probe.launch.args = (const char *const *)argv + at;
  probe.launch.arg_count = (size_t)(argc - at);

  struct jvm_home home;
  struct jp_error error = {.status = JP_OK};
  if (jvm_locate(NULL, &home, &error) != JP_OK) {
    say("%s\n", error.text);
    return 2;
  }
  probe.launch.home = &home;
  struct jvm_hooks hooks = {
      .context = &probe, .started = started, .drain = drain, .died = died, .exiting = exiting};
  int status = jvm_run(&probe.launch, &hooks, &error);
  if (error.status != JP_OK)
    say("returned %d: %s\n", status, error.text);
  else
    say("returned %d\n", status);
  return status;
}
