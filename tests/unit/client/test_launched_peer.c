/* Peers as child processes, with scripts in place of peers: their command and environment, and children that
 * end at once. */
#include "tests/unit/unit.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "jpeer/client.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with the program `jpeer`, a shell script, and the output of that program. */
struct scene {
  char folder[32];
  char program[48];
  char printed[4000];
  size_t length;
  struct jp_client_error error;
};

static void enter(struct scene *scene, const char *script)
{
  *scene = (struct scene){.folder = "/tmp/jpeer-test-XXXXXX"};
  assert_non_null(mkdtemp(scene->folder));
  snprintf(scene->program, sizeof scene->program, "%s/jpeer", scene->folder);
  FILE *file = fopen(scene->program, "w");
  assert_non_null(file);
  fprintf(file, "#!/bin/sh\n%s\n", script);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(scene->program, S_IRWXU), 0);
}

static void leave(struct scene *scene)
{
  unlink(scene->program);
  assert_int_equal(rmdir(scene->folder), 0);
}

static void keep(void *context, int descriptor, struct jp_text bytes)
{
  struct scene *scene = context;
  assert_int_equal(descriptor, STDOUT_FILENO);
  assert_in_range(scene->length + bytes.len, 0, sizeof scene->printed - 1);
  memcpy(scene->printed + scene->length, bytes.data, bytes.len);
  scene->length += bytes.len;
}

/* The script ends without being stopped, so the launch fails with the script's text. */
static void launch(struct scene *scene, struct jp_launch_config config, const char *text)
{
  struct jp_peer *peer;
  config.size = sizeof config;
  config.on_output = keep;
  config.output_context = scene;
  if (config.program == NULL)
    config.program = scene->program;
  assert_int_equal(jp_launch(&config, &peer, &scene->error), JP_CLIENT_REFUSED);
  assert_null(peer);
  assert_string_equal(scene->error.text, text);
}

#define ENDED "the peer has ended before it was ready, with "

/* ---- the command ---- */

/* Prints each argument in brackets; S is printed for the path of the socket, F for its folder. */
#define PRINT_WORDS                                                                                          \
  "for word in \"$@\"; do case $word in unix:/*/socket) word=unix:S;; /*/jpeer-*) word=F;; esac; "           \
  "printf '[%s]' \"$word\"; done; exit 5"

static void expect_words(struct jp_launch_config config, const char *words)
{
  struct scene scene;
  enter(&scene, PRINT_WORDS);
  launch(&scene, config, ENDED "exit status 5");
  assert_string_equal(scene.printed, words);
  leave(&scene);
}

#define BEGIN "[run][--json-rpc][unix:S][--stop-on-eof][3][--remove-on-eof][F]"
#define ALLOW "[--rpc-default-action][ALLOW]"

UNIT_TEST(serves_only_this_user)
{
  expect_words((struct jp_launch_config){0}, BEGIN ALLOW "[--as-service]");
}

UNIT_TEST(starts_a_program)
{
  static const char *const jvm[] = {"-Xmx1g", "-Dk=v", NULL};
  static const char *const arguments[] = {"--rpc-policy", "x", NULL};
  expect_words(
      (struct jp_launch_config){
          .class_path = "a.jar:b", .jvm_options = jvm, .main_class = "a.Main", .arguments = arguments},
      BEGIN ALLOW "[-cp][a.jar:b][-J][-Xmx1g][-J][-Dk=v][a.Main][--rpc-policy][x]");
}

UNIT_TEST(is_found_on_the_path)
{
  struct scene scene;
  enter(&scene, "printf '%s' \"$1\"; exit 5");
  const char *now = getenv("PATH");
  char *path = strdup(now == NULL ? "/usr/bin:/bin" : now);
  setenv("PATH", scene.folder, 1);
  launch(&scene, (struct jp_launch_config){.program = "jpeer"}, ENDED "exit status 5");
  setenv("PATH", path, 1);
  free(path);
  assert_string_equal(scene.printed, "run");
  leave(&scene);
}

UNIT_TEST(sets_no_policy_if_the_options_name_one)
{
  static const struct {
    const char *options[3];
    const char *words;
  } cases[] = {
      {{"--rpc-policy", "p.yaml"}, BEGIN "[--as-service][--rpc-policy][p.yaml]"},
      {{"--rpc-policy=p.yaml"}, BEGIN "[--as-service][--rpc-policy=p.yaml]"},
      {{"--rpc-allow", "a.**"}, BEGIN "[--as-service][--rpc-allow][a.**]"},
      {{"--rpc-policy-preset=deny-unsafe"}, BEGIN "[--as-service][--rpc-policy-preset=deny-unsafe]"},
      {{"--rpc-default-action", "DENY"}, BEGIN "[--as-service][--rpc-default-action][DENY]"},
      {{"--rpc-policy-watch-interval", "5"}, BEGIN ALLOW "[--as-service][--rpc-policy-watch-interval][5]"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    expect_words((struct jp_launch_config){.options = cases[i].options}, cases[i].words);
}

UNIT_TEST(sets_no_policy_if_the_environment_names_one)
{
  static const struct {
    const char *name;
    const char *value;
    bool names_policy;
  } cases[] = {
      {"JPEER_RPC_POLICY", "p.yaml", true},
      {"JPEER_RPC_ALLOW", "a", true},
      {"JPEER_RPC_POLICY", "", false}, /* counts as unset */
      {"JPEER_RPC_POLICY_WATCH_INTERVAL", "5", false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    setenv(cases[i].name, cases[i].value, 1);
    expect_words((struct jp_launch_config){0},
                 cases[i].names_policy ? BEGIN "[--as-service]" : BEGIN ALLOW "[--as-service]");
    unsetenv(cases[i].name);
  }
}

/* ---- the child ---- */

UNIT_TEST(says_why_it_has_ended)
{
  struct scene scene;
  enter(&scene, "printf 'no such class' >&3; exit 1");
  launch(&scene, (struct jp_launch_config){0}, ENDED "exit status 1: no such class");
  leave(&scene);
  enter(&scene, "kill -9 $$");
  launch(&scene, (struct jp_launch_config){0}, ENDED "signal 9");
  leave(&scene);
}

UNIT_TEST(inherits_nothing_else)
{
  struct scene scene;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  signal(SIGPIPE, SIG_IGN);
  /* stdin ends at once, the signals are as in a new program (libc ignores 32 and 33), and no other end of the
   * lifeline is open. */
  enter(&scene, "read line && exit 1; grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status || exit 2; "
                "grep -q '^SigIgn:.*[08]0000000$' /proc/self/status || exit 3; "
                "n=0; for fd in /proc/$$/fd/*; do case $(readlink $fd) in socket:*) n=$((n+1));; esac; done; "
                "[ $n = 1 ] || exit 4; exit 0");
  launch(&scene, (struct jp_launch_config){0}, ENDED "exit status 0");
  pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
  signal(SIGPIPE, SIG_DFL);
  leave(&scene);
}

/* Behaves like a program that waits for all of its children. */
UNIT_TEST(ends_if_other_code_has_waited)
{
  struct scene scene;
  enter(&scene, "exit 0");
  signal(SIGCHLD, SIG_IGN);
  launch(&scene, (struct jp_launch_config){0}, ENDED "an unknown status");
  signal(SIGCHLD, SIG_DFL);
  leave(&scene);
}

UNIT_TEST(cannot_start_a_missing_program)
{
  struct scene scene;
  enter(&scene, "");
  launch(&scene, (struct jp_launch_config){.program = "/nonexistent/jpeer"},
         "cannot start /nonexistent/jpeer: No such file or directory");
  leave(&scene);
}

/* A grandchild holds the pipes and goes on running. */
UNIT_TEST(does_not_wait_for_a_grandchild)
{
  struct scene scene;
  const int64_t since_ms = clock_now_ms();
  enter(&scene, "sleep 300 & printf '%s last words' $!; exit 1");
  launch(&scene, (struct jp_launch_config){0}, ENDED "exit status 1");
  assert_in_range(clock_now_ms() - since_ms, 0, 200000);
  char *rest;
  long grandchild = strtol(scene.printed, &rest, 10);
  assert_string_equal(rest, " last words");
  assert_int_equal(kill((pid_t)grandchild, SIGKILL), 0);
  leave(&scene);
}

UNIT_MAIN
