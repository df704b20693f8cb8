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
  int status;       /* exit status, or minus the signal that ended it */
  const char *out;  /* all of the standard output; NULL: not compared */
  const char *says; /* in the standard output or error; NULL: anything */
  struct step steps[STEPS_MAX];
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

#define MAIN(after) "started\nmain " after "\n"
#define WAITED      MAIN("wait") "waiting\ndrained\nexiting 0\n"

/* Rows without signals: name, exit status, output, command line. */
#define PRINTS(label, code, text, ...)                                                                       \
  {                                                                                                          \
    .name = (label), .args = {__VA_ARGS__}, .status = (code), .out = (text)                                  \
  }
#define SAYS(label, code, text, ...)                                                                         \
  {                                                                                                          \
    .name = (label), .args = {__VA_ARGS__}, .status = (code), .says = (text)                                 \
  }

static const struct row rows[] = {
    /* the normal end */
    PRINTS("main returns", 0, MAIN("") "drained\nreturned 0\n", ENDS),
    PRINTS("slashes in the name", 0, MAIN("") "drained\nreturned 0\n", "-cp", TEST_CLASSES,
           "jpeer/test/Ends"),
    PRINTS("main's thread", 0, MAIN("name") "main false\ndrained\nreturned 0\n", ENDS, "name"),
    PRINTS("another thread is last", 0, MAIN("thread") "last thread\ndrained\nreturned 0\n", ENDS, "thread"),
    PRINTS("a daemon is not waited for", 0, MAIN("daemon") "drained\nreturned 0\n", ENDS, "daemon"),
    {"main throws",
     {ENDS, "throw"},
     1,
     .out = MAIN("throw") "drained\nreturned 1\n",
     .says = "Exception in thread \"main\" java.lang.IllegalStateException: thrown by main\n"
             "\tat jpeer.test.Ends.main(Ends.java:"},
    PRINTS("main throws to a handler", 1,
           MAIN("handler") "main handled thrown by main\ndrained\nreturned 1\n", ENDS, "handler"),
    {"the initialiser throws",
     {MAINS("Broken")},
     1,
     .out = "started\ndrained\nreturned 1\n",
     .says = "Exception in thread \"main\" java.lang.ExceptionInInitializerError"},
    PRINTS("initialised when main runs", 0, "started\ninitialised\nran\ndrained\nreturned 0\n",
           MAINS("Loud")),
    PRINTS("main is inherited", 0, "started\ninherited\ndrained\nreturned 0\n", MAINS("Inherited")),

    /* the application ends it */
    PRINTS("exit", 3, MAIN("exit,3") "drained\nexiting 3\n", ENDS, "exit", "3"),
    PRINTS("exit 0", 0, MAIN("exit,0") "drained\nexiting 0\n", ENDS, "exit", "0"),
    PRINTS("exit in an initialiser", 6, MAIN("exit-in-initializer") "drained\nexiting 6\n", ENDS,
           "exit-in-initializer"),
    PRINTS("halt", 7, MAIN("halt") "exiting 7\n", ENDS, "halt"),
    PRINTS("exit in a thread of the peer", 5,
           "started\nis exiting: 1\nis exiting, says a stranger: 1\ndrained\nexiting 5\n", "--exit-in-crew",
           "--as-service"),
    {"a shutdown hook throws",
     {ENDS, "hook-throws"},
     0,
     .out = MAIN("hook-throws") "drained\nreturned 0\n",
     .says = "IllegalStateException: thrown by the hook"},
    {"a shutdown hook blocks",
     {ENDS, "hook-blocks"},
     -SIGKILL,
     .out = MAIN("hook-blocks") "waiting\ndrained\n",
     .steps = {{"drained", SIGTERM}, {"drained", SIGKILL}}},

    /* signals */
    {"TERM", {ENDS, "wait"}, 0, .out = WAITED, .steps = {{"waiting", SIGTERM}}},
    {"INT", {ENDS, "wait"}, 0, .out = WAITED, .steps = {{"waiting", SIGINT}}},
    {"HUP", {ENDS, "wait"}, 0, .out = WAITED, .steps = {{"waiting", SIGHUP}}},
    {"TERM twice",
     {ENDS, "wait"},
     0,
     .out = WAITED,
     .steps = {{"waiting", SIGTERM}, {"waiting", SIGTERM}, {"waiting", SIGINT}}},
    {"the hook that a later signal does not wait for",
     {"--no-grace", "--slow-drain", ENDS, "hook-outlives-drain"},
     143,
     .says = "Waited for: the shutdown hook \"endless\", in jpeer.test.Ends.",
     .steps = {{"waiting", SIGTERM}, {"the hook sees the drain", SIGUSR1}, {"last hook", SIGTERM}}},
    {"an end that a later signal does not wait for",
     {"--no-grace", "--slow-drain", ENDS, "wait"},
     143,
     .out = MAIN("wait") "waiting\ndraining\nexiting 143\n",
     .says = "Waited for: the shutdown hook \"jpeer-drain\", in jpeer.peer.PeerThread.serve",
     .steps = {{"waiting", SIGINT}, {"draining", SIGINT}}},
    {"QUIT shows the threads",
     {ENDS, "wait"},
     0,
     .says = "exiting 0\n",
     .steps = {{"waiting", SIGQUIT}, {"Full thread dump", SIGTERM}}},
    {"a service ends by TERM",
     {"--as-service"},
     0,
     .out = "started\ndrained\nexiting 0\n",
     .steps = {{"started", SIGTERM}}},
    PRINTS("children have usual signals", 0, MAIN("child,kill -TERM $$") "child 143\ndrained\nreturned 0\n",
           ENDS, "child", "kill -TERM $$"),

    PRINTS("signals are caught, not blocked", 0,
           "TERM caught INT caught HUP caught QUIT caught, none blocked\na broken pipe is an error\n" MAIN(
               "") "drained\nreturned 0\n",
           "--show-signals", ENDS),
    PRINTS(IGNORING_HUP, 0,
           "TERM caught INT caught HUP ignored QUIT caught, none blocked\na broken pipe is an error\n" MAIN(
               "") "drained\nreturned 0\n",
           "--show-signals", ENDS),
    {"TERM while it starts",
     {"--slow-start", "--as-service"},
     0,
     .out = "starting\nstarted\ndrained\nexiting 0\n",
     .steps = {{"starting", SIGTERM}, {"starting", SIGUSR1}}},
    {"TERM while it drains",
     {"--slow-drain", ENDS, "wait"},
     0,
     .out = MAIN("wait") "waiting\ndraining\ndrained\nexiting 0\n",
     .steps = {{"waiting", SIGTERM}, {"draining", SIGTERM}, {"draining", SIGINT}, {"draining", SIGUSR1}}},
    {"TERM while the last thread's end drains",
     {"--slow-drain", ENDS},
     0,
     .says = MAIN("") "draining\ndrained\n",
     .steps = {{"draining", SIGTERM}, {"draining", SIGUSR1}}},

    /* starts that fail */
    PRINTS("a hook says no", 1, "returned 1: no sockets today\n", "--fail", ENDS),
    PRINTS("no such class", 1, "returned 1: main class no.such.Main not found\n", "-cp", TEST_CLASSES,
           "no.such.Main"),
    SAYS("no class path", 1, "main class no.such.Main not found\n", "-cp", "/nowhere", "no.such.Main"),
    SAYS("an array is no class", 1, "returned 1: ", "-cp", TEST_CLASSES, "[I"),
    SAYS("a name in the wrong case", 1, "returned 1: main class jpeer.test.ends ", "-cp", TEST_CLASSES,
         "jpeer.test.ends"),
    PRINTS("no main", 1, "returned 1: class jpeer.test.Mains$None has no public static void main(String[])\n",
           MAINS("None")),
    SAYS("main not void", 1, "is not public static void", MAINS("NotVoid")),
    SAYS("no such jar", 1, "returned 1: cannot read the jar /nowhere/app.jar: ", "-jar", "/nowhere/app.jar"),
    SAYS("no jar", 1, "returned 1: cannot read the jar ", "-jar", TEST_CLASSES "/jpeer/test/Ends.class"),
    SAYS("a folder for a jar", 1, "returned 1: cannot read the jar ", "-jar", TEST_CLASSES),
    SAYS("a jar without a main class", 1, "has no Main-Class in its manifest\n", "-jar", JAR("none.jar")),
    PRINTS("a jar whose main class is missing", 1, "returned 1: main class jpeer.test.Missing not found\n",
           "-jar", JAR("missing.jar")),
    PRINTS("an unknown option", 1, "returned 1: the JVM cannot be started: Unrecognized option: -foo\n", "-J",
           "-foo", ENDS),
    SAYS("an unknown -XX option", 1,
         "returned 1: the JVM cannot be started: Unrecognized VM option 'NoSuchThing'", "-J",
         "-XX:+NoSuchThing", ENDS),
    SAYS("a size that is none", 1,
         "returned 1: the JVM cannot be started: Invalid maximum heap size: -Xmxhuge", "-J", "-Xmxhuge",
         ENDS),
    {"a heap beyond the machine",
     {"-J", "-Xmx100000g", ENDS},
     1,
     .says =
         "died: the JVM cannot be started: Error occurred during initialization of VM; Could not reserve"},
    PRINTS("a heap larger than itself", 1,
           "died: the JVM cannot be started: Error occurred during initialization of VM; Initial heap size "
           "set to "
           "a larger value than the maximum heap size\nexiting 1\n",
           "-J", "-Xms2g", "-J", "-Xmx1g", ENDS),
    SAYS("a stack beyond the machine", 1, "returned 1: ", "-J", "-Xss100000g", ENDS),
    SAYS("no such agent", 1, "Could not find agent library nope", "-J", "-agentlib:nope", ENDS),
    SAYS("no such class loader", 1,
         "java.lang.Error: No; Caused by: java.lang.ClassNotFoundException: No\nexiting 1\n", "-J",
         "-Djava.system.class.loader=No", ENDS),
    SAYS("help of the JVM's own", 0, "-Xlog Usage", "-J", "-Xlog:help", ENDS),
    PRINTS("a hook's name", 1, "returned 1: the JVM option \"exit\" does not begin with '-'\n", "-J", "exit",
           ENDS),
    SAYS("an empty option", 1, "does not begin with '-'\n", "-J", "", ENDS),

    /* class paths, jars, arguments, options. Those with a jar end by exit: the JDK keeps an Inflater's memory
     * in Java objects, where a leak checker does not look. */
    PRINTS("a jar", 4, MAIN("exit,4") "drained\nexiting 4\n", "-jar", JAR("ends.jar"), "exit", "4"),
    PRINTS("a jar that names another", 4, MAIN("exit,4") "drained\nexiting 4\n", "-jar", JAR("chain.jar"),
           "exit", "4"),
    PRINTS("a jar that opens packages", 0, "started\nopened false\ndrained\nexiting 0\n", "-jar",
           JAR("deep.jar")),
    SAYS("the same without its manifest", 1, "InaccessibleObjectException", "-cp", TEST_CLASSES,
         "jpeer.test.Mains$Deep"),
    PRINTS("a path with a blank and more than ASCII", 4, MAIN("exit,4") "drained\nexiting 4\n", "-cp",
           JAR("a b \xC3\xA9/ends.jar"), "jpeer.test.Ends", "exit", "4"),
    PRINTS("arguments beyond ASCII", 0,
           "started\nargument e9\nargument 1f600\nargument\nargument 61 20 62\ndrained\nreturned 0\n",
           MAINS("Arguments"), "\xC3\xA9", "\xF0\x9F\x98\x80", "", "a b"),
    PRINTS("options reach the JVM", 0, MAIN("") "drained\nreturned 0\n", "-J", "-Dsun.java.command=x", "-J",
           "-Xss2m", "-J", "-Xmx64m", ENDS),
};

static const struct row rows_before_25[] = {
    SAYS("main not public", 1, "NotPublic has no public static void main", MAINS("NotPublic")),
    SAYS("main not static", 1, "is not public static void", MAINS("NotStatic")),
};

static const struct row rows_since_25[] = {
    PRINTS("main not public", 0, "started\nran\ndrained\nreturned 0\n", MAINS("NotPublic")),
    PRINTS("main not static", 0, "started\nran\ndrained\nreturned 0\n", MAINS("NotStatic")),
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
