#include "tests/unit/jni/with_jvm.h"

#include "jni/runtime/machine.h"
#include "tests/ledger/reference_ledger.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 16 };

struct jvm *the_jvm;
struct jvm_thread *the_thread;

/* cmocka calls this to catch SIGSEGV and other signals during a test. HotSpot uses that signal itself, by
 * sigaction. For this reason this definition replaces the C library's. */
__attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler)
{
  (void)number, (void)handler;
  return SIG_DFL;
}

struct tests {
  int (*run)(struct jvm *jvm, struct jvm_thread *thread);
  bool count_references;
  sem_t done;
  int failures;
};

static void run_on_thread(void *argument, struct jvm_thread *thread)
{
  struct tests *tests = argument;
  bool is_ready = !tests->count_references || reference_ledger_start(thread->env);
  if (!is_ready)
    fprintf(stderr, "the JVM lets nobody count local references\n");
  the_thread = thread;
  tests->failures = tests->run(the_jvm, thread);
  if (!is_ready || (tests->count_references && reference_ledger_breaches() > 0))
    tests->failures++;
  sem_post(&tests->done);
}

static enum jp_status started(void *context, struct jvm *jvm, struct jp_error *error)
{
  struct tests *tests = context;
  the_jvm = jvm;
  enum jp_status status = jvm_spawn(jvm, "tests", run_on_thread, tests, error);
  if (status == JP_OK)
    sem_wait(&tests->done);
  return status;
}

static void drain(void *context)
{
  (void)context;
}

static void died(void *context, const struct jp_error *error)
{
  (void)context;
  fprintf(stderr, "%s\n", error->text);
}

static void exiting(void *context, const int *status)
{
  (void)context, (void)status;
  fflush(NULL);
}

static size_t options_of(char *text, const char **options)
{
  size_t count = 0;
  options[count++] = "-Xmx256m"; /* so that a test can soon make memory short */
  char *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word != NULL && count < OPTIONS_MAX;
       word = strtok_r(NULL, " ", &rest))
    options[count++] = word;
  return count;
}

static int run_in_jvm(int (*run)(struct jvm *jvm, struct jvm_thread *thread), bool count_references)
{
  struct tests tests = {.run = run, .count_references = count_references};
  sem_init(&tests.done, 0, 0);
  struct jvm_home home;
  struct jp_error error = {.status = JP_OK};
  if (jvm_locate(NULL, &home, &error) != JP_OK) {
    fprintf(stderr, "%s\n", error.text);
    return EXIT_FAILURE;
  }
  const char *text = getenv("JPEER_TEST_JVM_OPTIONS");
  char *words = strdup(text == NULL ? "" : text);
  const char *options[OPTIONS_MAX];
  struct jvm_launch launch = {.home = &home,
                              .class_path = TEST_CLASSES,
                              .options = options,
                              .option_count = options_of(words, options),
                              .main_class = "jpeer.test.Nothing"};
  struct jvm_hooks hooks = {
      .context = &tests, .started = started, .drain = drain, .died = died, .exiting = exiting};
  int status = jvm_run(&launch, &hooks, &error);
  free(words);
  if (error.status != JP_OK)
    fprintf(stderr, "%s\n", error.text);
  return status != 0 || tests.failures != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int with_jvm(int (*run)(struct jvm *jvm, struct jvm_thread *thread))
{
  return run_in_jvm(run, true);
}

int with_jvm_uncounted(int (*run)(struct jvm *jvm, struct jvm_thread *thread))
{
  return run_in_jvm(run, false);
}
