/*
 * Every way in which a JVM starts and ends, through start_probe: a JVM is started once a process. A row gives
 * the command line, the signals that are sent when a line has been seen, and what must come out.
 */
#include "jni/jvm.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 12, STEPS_MAX = 4, OUTPUT_MAX = 256 * 1024 };

struct step {
  const char *await; /* a text in the output so far */
  int signal;
};

struct row {
  const char *name;
  const char *args[ARGS_MAX];
  struct step steps[STEPS_MAX];
  int status;       /* exit status, or minus the signal that ended it */
  const char *out;  /* all of the standard output; NULL: not compared */
  const char *says; /* in the standard output or error */
};

struct child {
  pid_t pid;
  int out;    /* a pipe */
  int errors; /* a memory file, read when the child has ended */
  char output[OUTPUT_MAX];
  size_t length;
};

#define JAR(name)    (TEST_JARS "/" name)
#define IGNORING_HUP "a signal that was ignored stays so"
#define ENDS         "-cp", TEST_CLASSES, "jpeer.test.Ends"
#define MAINS(one)   "-cp", TEST_CLASSES, ("jpeer.test.Mains$" one)

static const struct row rows[] = {
    /* the normal end */
    {"main returns", {ENDS}, {{0}}, 0, "started\nmain \ndrained\nreturned 0\n", NULL},
    {"slashes in the name",
     {"-cp", TEST_CLASSES, "jpeer/test/Ends"},
     {{0}},
     0,
     "started\nmain \ndrained\nreturned 0\n",
     NULL},
    {"main's thread",
     {ENDS, "name"},
     {{0}},
     0,
     "started\nmain name\nmain false\ndrained\nreturned 0\n",
     NULL},
    {"another thread is last",
     {ENDS, "thread"},
     {{0}},
     0,
     "started\nmain thread\nlast thread\ndrained\nreturned 0\n",
     NULL},
    {"a daemon is not waited for",
     {ENDS, "daemon"},
     {{0}},
     0,
     "started\nmain daemon\ndrained\nreturned 0\n",
     NULL},
    {"main throws",
     {ENDS, "throw"},
     {{0}},
     1,
     "started\nmain throw\ndrained\nreturned 1\n",
     "Exception in thread \"main\" java.lang.IllegalStateException: thrown by main\n"
     "\tat jpeer.test.Ends.main(Ends.java:"},
    {"main throws to a handler",
     {ENDS, "handler"},
     {{0}},
     1,
     "started\nmain handler\nmain handled thrown by main\ndrained\nreturned 1\n",
     NULL},
    {"the initialiser throws",
     {MAINS("Broken")},
     {{0}},
     1,
     "started\ndrained\nreturned 1\n",
     "Exception in thread \"main\" java.lang.ExceptionInInitializerError"},
    {"initialised when main runs",
     {MAINS("Loud")},
     {{0}},
     0,
     "started\ninitialised\nran\ndrained\nreturned 0\n",
     NULL},
    {"main is inherited", {MAINS("Inherited")}, {{0}}, 0, "started\ninherited\ndrained\nreturned 0\n", NULL},

    /* the application ends it */
    {"exit", {ENDS, "exit", "3"}, {{0}}, 3, "started\nmain exit,3\ndrained\nexiting 3\n", NULL},
    {"exit 0", {ENDS, "exit", "0"}, {{0}}, 0, "started\nmain exit,0\ndrained\nexiting 0\n", NULL},
    {"exit in an initialiser",
     {ENDS, "exit-in-initializer"},
     {{0}},
     6,
     "started\nmain exit-in-initializer\ndrained\nexiting 6\n",
     NULL},
    {"halt", {ENDS, "halt"}, {{0}}, 7, "started\nmain halt\nexiting 7\n", NULL},
    {"exit in a thread of the peer",
     {"--exit-in-crew", "--as-service"},
     {{0}},
     5,
     "started\nis exiting: 1\nis exiting, says a stranger: 1\ndrained\nexiting 5\n",
     NULL},
    {"a shutdown hook throws",
     {ENDS, "hook-throws"},
     {{0}},
     0,
     "started\nmain hook-throws\ndrained\nreturned 0\n",
     "IllegalStateException: thrown by the hook"},
    {"a shutdown hook blocks",
     {ENDS, "hook-blocks"},
     {{"drained", SIGTERM}, {"drained", SIGKILL}},
     -SIGKILL,
     "started\nmain hook-blocks\nwaiting\ndrained\n",
     NULL},

    /* signals */
    {"TERM",
     {ENDS, "wait"},
     {{"waiting", SIGTERM}},
     0,
     "started\nmain wait\nwaiting\ndrained\nexiting 0\n",
     NULL},
    {"INT",
     {ENDS, "wait"},
     {{"waiting", SIGINT}},
     0,
     "started\nmain wait\nwaiting\ndrained\nexiting 0\n",
     NULL},
    {"HUP",
     {ENDS, "wait"},
     {{"waiting", SIGHUP}},
     0,
     "started\nmain wait\nwaiting\ndrained\nexiting 0\n",
     NULL},
    {"TERM twice",
     {ENDS, "wait"},
     {{"waiting", SIGTERM}, {"waiting", SIGTERM}, {"waiting", SIGINT}},
     0,
     "started\nmain wait\nwaiting\ndrained\nexiting 0\n",
     NULL},
    {"the hook that a later signal does not wait for",
     {"--no-grace", "--slow-drain", ENDS, "hook-outlives-drain"},
     {{"waiting", SIGTERM}, {"the hook sees the drain", SIGUSR1}, {"last hook", SIGTERM}},
     143,
     NULL,
     "Waited for: the shutdown hook \"endless\", in jpeer.test.Ends."},
    {"an end that a later signal does not wait for",
     {"--no-grace", "--slow-drain", ENDS, "wait"},
     {{"waiting", SIGINT}, {"draining", SIGINT}},
     143,
     "started\nmain wait\nwaiting\ndraining\nexiting 143\n",
     "Waited for: the shutdown hook \"jpeer-drain\", in jpeer.peer.PeerThread.serve"},
    {"QUIT shows the threads",
     {ENDS, "wait"},
     {{"waiting", SIGQUIT}, {"Full thread dump", SIGTERM}},
     0,
     NULL,
     "exiting 0\n"},
    {"a service ends by TERM",
     {"--as-service"},
     {{"started", SIGTERM}},
     0,
     "started\ndrained\nexiting 0\n",
     NULL},
    {"children have usual signals",
     {ENDS, "child", "kill -TERM $$"},
     {{0}},
     0,
     "started\nmain child,kill -TERM $$\nchild 143\ndrained\nreturned 0\n",
     NULL},

    {"signals are caught, not blocked",
     {"--show-signals", ENDS},
     {{0}},
     0,
     "TERM caught INT caught HUP caught QUIT caught, none blocked\na broken pipe is an error\n"
     "started\nmain \ndrained\nreturned 0\n",
     NULL},
    {IGNORING_HUP,
     {"--show-signals", ENDS},
     {{0}},
     0,
     "TERM caught INT caught HUP ignored QUIT caught, none blocked\na broken pipe is an error\n"
     "started\nmain \ndrained\nreturned 0\n",
     NULL},
    {"TERM while it starts",
     {"--slow-start", "--as-service"},
     {{"starting", SIGTERM}, {"starting", SIGUSR1}},
     0,
     "starting\nstarted\ndrained\nexiting 0\n",
     NULL},
    {"TERM while it drains",
     {"--slow-drain", ENDS, "wait"},
     {{"waiting", SIGTERM}, {"draining", SIGTERM}, {"draining", SIGINT}, {"draining", SIGUSR1}},
     0,
     "started\nmain wait\nwaiting\ndraining\ndrained\nexiting 0\n",
     NULL},
    {"TERM while the last thread's end drains",
     {"--slow-drain", ENDS},
     {{"draining", SIGTERM}, {"draining", SIGUSR1}},
     0,
     NULL,
     "started\nmain \ndraining\ndrained\n"},

    /* starts that fail */
    {"a hook says no", {"--fail", ENDS}, {{0}}, 1, "returned 1: no sockets today\n", NULL},
    {"no such class",
     {"-cp", TEST_CLASSES, "no.such.Main"},
     {{0}},
     1,
     "returned 1: main class no.such.Main not found\n",
     NULL},
    {"no class path",
     {"-cp", "/nowhere", "no.such.Main"},
     {{0}},
     1,
     NULL,
     "main class no.such.Main not found\n"},
    {"an array is no class", {"-cp", TEST_CLASSES, "[I"}, {{0}}, 1, NULL, "returned 1: "},
    {"a name in the wrong case",
     {"-cp", TEST_CLASSES, "jpeer.test.ends"},
     {{0}},
     1,
     NULL,
     "returned 1: main class jpeer.test.ends "},
    {"no main",
     {MAINS("None")},
     {{0}},
     1,
     "returned 1: class jpeer.test.Mains$None has no public static void main(String[])\n",
     NULL},
    {"main not void", {MAINS("NotVoid")}, {{0}}, 1, NULL, "is not public static void"},
    {"no such jar",
     {"-jar", "/nowhere/app.jar"},
     {{0}},
     1,
     NULL,
     "returned 1: cannot read the jar /nowhere/app.jar: "},
    {"no jar",
     {"-jar", TEST_CLASSES "/jpeer/test/Ends.class"},
     {{0}},
     1,
     NULL,
     "returned 1: cannot read the jar "},
    {"a folder for a jar", {"-jar", TEST_CLASSES}, {{0}}, 1, NULL, "returned 1: cannot read the jar "},
    {"a jar without a main class",
     {"-jar", JAR("none.jar")},
     {{0}},
     1,
     NULL,
     "has no Main-Class in its manifest\n"},
    {"a jar whose main class is missing",
     {"-jar", JAR("missing.jar")},
     {{0}},
     1,
     "returned 1: main class jpeer.test.Missing not found\n",
     NULL},
    {"an unknown option",
     {"-J", "-foo", ENDS},
     {{0}},
     1,
     "returned 1: the JVM cannot be started: Unrecognized option: -foo\n",
     NULL},
    {"an unknown -XX option",
     {"-J", "-XX:+NoSuchThing", ENDS},
     {{0}},
     1,
     NULL,
     "returned 1: the JVM cannot be started: Unrecognized VM option 'NoSuchThing'"},
    {"a size that is none",
     {"-J", "-Xmxhuge", ENDS},
     {{0}},
     1,
     NULL,
     "returned 1: the JVM cannot be started: Invalid maximum heap size: -Xmxhuge"},
    {"a heap beyond the machine",
     {"-J", "-Xmx100000g", ENDS},
     {{0}},
     1,
     NULL,
     "died: the JVM cannot be started: Error occurred during initialization of VM; Could not reserve"},
    {"a heap larger than itself",
     {"-J", "-Xms2g", "-J", "-Xmx1g", ENDS},
     {{0}},
     1,
     "died: the JVM cannot be started: Error occurred during initialization of VM; Initial heap size set to "
     "a larger value than the maximum heap size\nexiting 1\n",
     NULL},
    {"a stack beyond the machine", {"-J", "-Xss100000g", ENDS}, {{0}}, 1, NULL, "returned 1: "},
    {"no such agent", {"-J", "-agentlib:nope", ENDS}, {{0}}, 1, NULL, "Could not find agent library nope"},
    {"no such class loader",
     {"-J", "-Djava.system.class.loader=No", ENDS},
     {{0}},
     1,
     NULL,
     "java.lang.Error: No; Caused by: java.lang.ClassNotFoundException: No\nexiting 1\n"},
    {"help of the JVM's own", {"-J", "-Xlog:help", ENDS}, {{0}}, 0, NULL, "-Xlog Usage"},
    {"a hook's name",
     {"-J", "exit", ENDS},
     {{0}},
     1,
     "returned 1: the JVM option \"exit\" does not begin with '-'\n",
     NULL},
    {"an empty option", {"-J", "", ENDS}, {{0}}, 1, NULL, "does not begin with '-'\n"},

    /* class paths, jars, arguments, options. Those with a jar end by exit: the JDK keeps an Inflater's memory
     * in Java objects, where a leak checker does not look. */
    {"a jar",
     {"-jar", JAR("ends.jar"), "exit", "4"},
     {{0}},
     4,
     "started\nmain exit,4\ndrained\nexiting 4\n",
     NULL},
    {"a jar that names another",
     {"-jar", JAR("chain.jar"), "exit", "4"},
     {{0}},
     4,
     "started\nmain exit,4\ndrained\nexiting 4\n",
     NULL},
    {"a jar that opens packages",
     {"-jar", JAR("deep.jar")},
     {{0}},
     0,
     "started\nopened false\ndrained\nexiting 0\n",
     NULL},
    {"the same without its manifest",
     {"-cp", TEST_CLASSES, "jpeer.test.Mains$Deep"},
     {{0}},
     1,
     NULL,
     "InaccessibleObjectException"},
    {"a path with a blank and more than ASCII",
     {"-cp", JAR("a b \xC3\xA9/ends.jar"), "jpeer.test.Ends", "exit", "4"},
     {{0}},
     4,
     "started\nmain exit,4\ndrained\nexiting 4\n",
     NULL},
    {"arguments beyond ASCII",
     {MAINS("Arguments"), "\xC3\xA9", "\xF0\x9F\x98\x80", "", "a b"},
     {{0}},
     0,
     "started\nargument e9\nargument 1f600\nargument\nargument 61 20 62\ndrained\nreturned 0\n",
     NULL},
    {"options reach the JVM",
     {"-J", "-Dsun.java.command=x", "-J", "-Xss2m", "-J", "-Xmx64m", ENDS},
     {{0}},
     0,
     "started\nmain \ndrained\nreturned 0\n",
     NULL},
};

static const struct row rows_before_25[] = {
    {"main not public", {MAINS("NotPublic")}, {{0}}, 1, NULL, "NotPublic has no public static void main"},
    {"main not static", {MAINS("NotStatic")}, {{0}}, 1, NULL, "is not public static void"},
};

static const struct row rows_since_25[] = {
    {"main not public", {MAINS("NotPublic")}, {{0}}, 0, "started\nran\ndrained\nreturned 0\n", NULL},
    {"main not static", {MAINS("NotStatic")}, {{0}}, 0, "started\nran\ndrained\nreturned 0\n", NULL},
};

static void start(struct child *child, const char *const *args)
{
  const char *argv[ARGS_MAX + 2] = {TEST_PROBE};
  memcpy(argv + 1, args, ARGS_MAX * sizeof *args);
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  child->errors = memfd_create("errors", MFD_CLOEXEC);
  assert_true(child->errors >= 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child->errors, STDERR_FILENO);
  assert_int_equal(posix_spawn(&child->pid, TEST_PROBE, &actions, NULL, (char *const *)argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  child->out = ends[0];
  child->length = 0;
  child->output[0] = '\0';
}

/* Appends to the output. False at the end of what the descriptor gives. */
static bool read_more(struct child *child, int descriptor)
{
  ssize_t got;
  const int64_t since_ms = clock_now_ms();
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  while (poll(&polled, 1, 1000) <= 0)
    AWAIT_CHECK(since_ms, "the probe's output");
  do
    got = read(descriptor, child->output + child->length, OUTPUT_MAX - 1 - child->length);
  while (got < 0 && errno == EINTR);
  if (got <= 0)
    return false;
  child->length += (size_t)got;
  child->output[child->length] = '\0';
  return true;
}

static int follow(struct child *child, const struct step *steps)
{
  for (size_t i = 0; i < STEPS_MAX && steps[i].await != NULL; i++) {
    while (strstr(child->output, steps[i].await) == NULL && read_more(child, child->out))
      ;
    kill(child->pid, steps[i].signal);
  }
  while (read_more(child, child->out))
    ;
  close(child->out);
  int status = AWAIT_CHILD(child->pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void append_errors(struct child *child)
{
  lseek(child->errors, 0, SEEK_SET);
  while (read_more(child, child->errors))
    ;
  close(child->errors);
}

/* -Xcheck:jni has its own words between. */
static bool is_checked(void)
{
  return getenv("JPEER_TEST_JVM_OPTIONS") != NULL;
}

static bool run_row(const struct row *row)
{
  static struct child child;
  struct sigaction hup = {.sa_handler = strcmp(row->name, IGNORING_HUP) == 0 ? SIG_IGN : SIG_DFL};
  sigaction(SIGHUP, &hup, NULL);
  start(&child, row->args);
  int status = follow(&child, row->steps);
  bool is_same = row->out == NULL || is_checked() || strcmp(child.output, row->out) == 0;
  append_errors(&child);
  bool is_said = row->says == NULL || strstr(child.output, row->says) != NULL;
  bool is_clean = strstr(child.output, "in native method") == NULL;
  if (status == row->status && is_same && is_said && is_clean)
    return true;
  print_error("%s: status %d, not %d:\n%s\n", row->name, status, row->status, child.output);
  return false;
}

static void run_rows(const struct row *table, size_t count)
{
  size_t faults = 0;
  for (size_t i = 0; i < count; i++)
    faults += !run_row(&table[i]);
  assert_int_equal(faults, 0);
}

UNIT_TEST(every_row_ends_as_it_says)
{
  run_rows(rows, COUNT_OF(rows));
}

UNIT_TEST(mains_are_those_of_the_version)
{
  enum { FREE_MAINS_SINCE = 25 };
  struct jvm_home home;
  struct jp_error error;
  assert_int_equal(jvm_locate(NULL, &home, &error), JP_OK);
  if (home.feature_version < FREE_MAINS_SINCE)
    run_rows(rows_before_25, COUNT_OF(rows_before_25));
  else
    run_rows(rows_since_25, COUNT_OF(rows_since_25));
}

UNIT_MAIN
