/* Peers started by jp_launch. usage: client_launches JPEER SCENARIO. Ends with 0 on success. */
#include "scenario.h"

#include <jpeer/client.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000 };

static const char *program;

static struct jp_peer *launch(struct jp_launch_config config)
{
  struct jp_peer *peer;
  struct jp_client_error error;
  config.size = sizeof config;
  config.program = program;
  if (jp_launch(&config, &peer, &error) != JP_CLIENT_OK) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
  return peer;
}

static enum jp_client_status call(struct jp_peer *peer, struct jp_request request,
                                  struct jp_client_error *error)
{
  struct jp_answer *answer;
  enum jp_client_status status = jp_client_call(jp_peer_client(peer), &request, TIMEOUT_MS, &answer, error);
  jp_answer_free(answer);
  return status;
}

/* Any call that a policy may deny. */
static enum jp_client_status get_property(struct jp_peer *peer, struct jp_client_error *error)
{
  return call(
      peer,
      jp_build_class_method_call("java.lang.System", "getProperty", JP_ARGUMENTS(jp_string("java.version"))),
      error);
}

/* The folder of the socket in the URL. */
static void read_folder(const struct jp_peer *peer, char *folder, size_t size)
{
  snprintf(folder, size, "%s", strchr(jp_peer_url(peer), ':') + 1);
  *strrchr(folder, '/') = '\0';
}

static bool exists(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0;
}

static void serves_and_stops(void)
{
  struct jp_peer *peer = launch((struct jp_launch_config){0});
  struct jp_client *second;
  struct stat status;
  char folder[200];
  read_folder(peer, folder, sizeof folder);
  CHECK(stat(folder, &status) == 0 && (status.st_mode & 0777) == 0700);
  CHECK(get_property(peer, NULL) == JP_CLIENT_OK);
  CHECK(jp_client_open(jp_peer_url(peer), NULL, &second, NULL) == JP_CLIENT_OK);
  jp_client_close(second);
  CHECK(jp_peer_stop(peer, TIMEOUT_MS) == 0);
  CHECK(!exists(folder));
}

struct heard {
  char text[100000];
  size_t length;
};

static void hear(void *context, int descriptor, struct jp_text bytes)
{
  struct heard *heard = context;
  size_t room = sizeof heard->text - 1 - heard->length;
  size_t count = bytes.len < room ? bytes.len : room;
  if (descriptor == STDOUT_FILENO)
    memcpy(heard->text + heard->length, bytes.data, count);
  heard->length += descriptor == STDOUT_FILENO ? count : 0;
}

static void hands_on_output(void)
{
  static struct heard heard;
  struct jp_peer *peer = launch((struct jp_launch_config){.on_output = hear, .output_context = &heard});
  struct jp_request out = jp_build_static_field_get("java.lang.System", "out");
  struct jp_answer *stream;
  CHECK(jp_client_call(jp_peer_client(peer), &out, TIMEOUT_MS, &stream, NULL) == JP_CLIENT_OK);
  CHECK(call(peer,
             jp_build_instance_method_call("java.io.PrintStream", "println", jp_object(jp_answer_ref(stream)),
                                           JP_ARGUMENTS(jp_string("last words"))),
             NULL) == JP_CLIENT_OK);
  jp_peer_await_output(peer);
  CHECK(strcmp(heard.text, "last words\n") == 0);
  jp_answer_free(stream);
  CHECK(jp_peer_stop(peer, TIMEOUT_MS) == 0);
  CHECK(strcmp(heard.text, "last words\n") == 0);
}

static void gives_it_an_input(void)
{
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], "a", 1) == 1 && close(ends[1]) == 0);
  struct jp_peer *peer = launch((struct jp_launch_config){.input = ends[0]});
  CHECK(fcntl(ends[0], F_GETFD) >= 0); /* the program still owns it */
  struct jp_request in = jp_build_static_field_get("java.lang.System", "in");
  struct jp_answer *stream, *first;
  CHECK(jp_client_call(jp_peer_client(peer), &in, TIMEOUT_MS, &stream, NULL) == JP_CLIENT_OK);
  struct jp_request read_one =
      jp_build_instance_method_call("java.io.InputStream", "read", jp_object(jp_answer_ref(stream)), NULL, 0);
  CHECK(jp_client_call(jp_peer_client(peer), &read_one, TIMEOUT_MS, &first, NULL) == JP_CLIENT_OK);
  int64_t byte;
  CHECK(jp_answer_integer(first, &byte) && byte == 'a');
  jp_answer_free(stream);
  jp_answer_free(first);
  CHECK(jp_peer_stop(peer, TIMEOUT_MS) == 0);
  close(ends[0]);
}

static void leaves_the_policy_to_options(void)
{
  static const char *const options[] = {"--rpc-allow", "java.lang.Math", NULL};
  struct jp_peer *peer = launch((struct jp_launch_config){.options = options});
  struct jp_client_error error;
  CHECK(get_property(peer, &error) == JP_CLIENT_REMOTE);
  CHECK(strstr(error.text, "RPC access denied: java.lang.System.getProperty") != NULL);
  CHECK(call(peer, jp_build_class_method_call("java.lang.Math", "abs", JP_ARGUMENTS(jp_int(-1))), NULL) ==
        JP_CLIENT_OK);
  CHECK(jp_peer_stop(peer, TIMEOUT_MS) == 0);
}

static void tells_how_the_peer_ended(void)
{
  struct jp_peer *peer = launch((struct jp_launch_config){0});
  CHECK(call(peer, jp_build_class_method_call("java.lang.System", "exit", JP_ARGUMENTS(jp_int(3))), NULL) !=
        JP_CLIENT_OK);
  char how[40];
  CHECK(jp_peer_has_ended(peer, TIMEOUT_MS, how, sizeof how) && strcmp(how, "exit status 3") == 0);
  int status = jp_peer_stop(peer, TIMEOUT_MS);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void kills_a_peer_that_does_not_end(void)
{
  static const char *const options[] = {"--grace", "600s", NULL};
  struct jp_peer *peer = launch((struct jp_launch_config){.options = options});
  struct jp_request sleep_long =
      jp_build_class_method_call("java.lang.Thread", "sleep", JP_ARGUMENTS(jp_long(600000)));
  char folder[200];
  read_folder(peer, folder, sizeof folder);
  CHECK(jp_client_notify(jp_peer_client(peer), &sleep_long, NULL) == JP_CLIENT_OK);
  usleep(200000);
  int status = jp_peer_stop(peer, 300);
  CHECK(WIFSIGNALED(status) && !exists(folder));
}

/* Expects that no peer starts, for a reason with this text. */
static void expect_no_peer(const struct jp_launch_config *config, enum jp_client_status expected,
                           const char *reason)
{
  struct jp_peer *peer;
  struct jp_client_error error = {.text = "no error"};
  const enum jp_client_status status = jp_launch(config, &peer, &error);
  if (status != expected || peer != NULL || strstr(error.text, reason) == NULL) {
    fprintf(stderr, "status %d instead of %d, without \"%s\": %s\n", status, expected, reason, error.text);
    exit(1);
  }
}

static void says_why_there_is_no_peer(void)
{
  static const char *const wrong[] = {"--no-such-option", NULL};
  static const char *const none[] = {NULL};
  struct jp_launch_config config = {.size = sizeof config, .program = program, .options = wrong};
  expect_no_peer(&config, JP_CLIENT_REFUSED,
                 "the peer has ended before it was ready, with exit status 2: "
                 "unknown option \"--no-such-option\" (--help lists them)");
  static const char *const jvm_options[] = {"-XX:+NoSuchFlag", NULL};
  config.options = NULL;
  config.jvm_options = jvm_options;
  expect_no_peer(&config, JP_CLIENT_REFUSED,
                 "with exit status 1: the JVM cannot be started: Unrecognized VM option 'NoSuchFlag'");
  config.jvm_options = NULL;
  config.main_class = "no.such.Main";
  expect_no_peer(&config, JP_CLIENT_REFUSED, "with exit status 1: main class no.such.Main not found");
  config.main_class = NULL;
  config.options = none;
  config.program = "/nonexistent/jpeer";
  expect_no_peer(&config, JP_CLIENT_REFUSED, "cannot start /nonexistent/jpeer: No such file or directory");
  config.program = program;
  config.start_timeout_ms = 1;
  expect_no_peer(&config, JP_CLIENT_TIMEOUT, "");
  config.size = 0;
  expect_no_peer(&config, JP_CLIENT_INVALID, "");
}

/* The program is a script of the test. */
static void ends_while_it_binds(void)
{
  struct jp_launch_config config = {.size = sizeof config, .program = program};
  struct jp_peer *peer;
  CHECK(jp_launch(&config, &peer, NULL) == JP_CLIENT_REFUSED && peer == NULL);
}

/* The test kills this process. */
static void waits(void)
{
  struct jp_peer *peer = launch((struct jp_launch_config){0});
  printf("%d\n", jp_peer_process_id(peer));
  fflush(stdout);
  for (;;)
    pause();
}

static const struct {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"serves", serves_and_stops},
    {"output", hands_on_output},
    {"input", gives_it_an_input},
    {"policy", leaves_the_policy_to_options},
    {"exits", tells_how_the_peer_ended},
    {"kills", kills_a_peer_that_does_not_end},
    {"fails", says_why_there_is_no_peer},
    {"binds", ends_while_it_binds},
    {"waits", waits},
};

int main(int count, char **words)
{
  CHECK(count == 3);
  program = words[1];
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    if (strcmp(words[2], scenarios[i].name) != 0)
      continue;
    scenarios[i].run();
    return 0;
  }
  fprintf(stderr, "no scenario %s\n", words[2]);
  return 2;
}
