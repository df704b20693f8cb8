/*
 * For test_directory_clients.py: what a program in C sees of a directory.
 *
 *   call URL FILE LINE MS [idempotent]  Tally.addSlowly(FILE, LINE, MS): prints "open", then STATUS and the result or error
 *   blocked URL LENGTH                  two threads call: the first sends a text of that length, the second, 0.5 s later,
 *                                       a short one; prints "open" and, by thread, "1 STATUS TEXT" and "2 STATUS TEXT"
 *   watch ENDPOINTS COUNT [wait]        prints "NAME UUID JSON_RPC|..." of COUNT states of the directory, a line each;
 *                                       wait: reads a line before each
 *   names ENDPOINTS                     opens and closes lists with wrong configurations; prints "good"
 */
#include "jpeer/client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MS = 60000 };

static struct jp_client *open_client(const char *url)
{
  struct jp_client *client;
  struct jp_client_error error;
  if (jp_client_open(url, NULL, &client, &error) != JP_CLIENT_OK) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
  puts("open");
  fflush(stdout);
  return client;
}

static void print_result(const char *prefix, enum jp_client_status status, const struct jp_answer *answer,
                         const struct jp_client_error *error)
{
  const char *text = status == JP_CLIENT_OK ? jp_answer_text(answer).data : error->text;
  printf("%s%d %s\n", prefix, status, text == NULL ? "" : text);
  fflush(stdout);
}

static int call(char **words)
{
  struct jp_client *client = open_client(words[0]);
  const struct jp_options options = {.size = sizeof options, .idempotent = words[4] != NULL};
  struct jp_request request = jp_build_class_method_call(
      "fixtures.Tally", "addSlowly",
      JP_ARGUMENTS(jp_string(words[1]), jp_string(words[2]), jp_long(atol(words[3]))));
  request.options = &options;
  struct jp_answer *answer;
  struct jp_client_error error;
  enum jp_client_status status = jp_client_call(client, &request, CALL_MS, &answer, &error);
  print_result("", status, answer, &error);
  jp_answer_free(answer);
  jp_client_close(client);
  return 0;
}

/* ---- a call behind one that the socket does not accept ---- */

struct blocked {
  struct jp_client *client;
  const char *text;
  const char *prefix;
  bool waits; /* for a line of stdin, which says that the server accepts no more of the other call */
};

static void *call_later(void *argument)
{
  const struct blocked *blocked = argument;
  struct jp_answer *answer;
  struct jp_client_error error;
  if (blocked->waits && getchar() == EOF)
    return NULL;
  struct jp_request request =
      jp_build_class_method_call("java.lang.String", "valueOf", JP_ARGUMENTS(jp_string(blocked->text)));
  enum jp_client_status status = jp_client_call(blocked->client, &request, CALL_MS, &answer, &error);
  print_result(blocked->prefix, status, answer, &error);
  jp_answer_free(answer);
  return NULL;
}

static int call_blocked(char **words)
{
  const size_t length = (size_t)atol(words[1]);
  char *text = malloc(length + 1);
  if (text == NULL)
    return 1;
  memset(text, 'x', length);
  text[length] = '\0';
  struct jp_client *client = open_client(words[0]);
  struct blocked calls[] = {{client, text, "1 ", false}, {client, "short", "2 ", true}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, call_later, &calls[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  jp_client_close(client);
  free(text);
  return 0;
}

/* ---- lists ---- */

static const char *text_or(const char *text)
{
  return text == NULL ? "-" : text;
}

static int watch(char **words)
{
  const struct jp_directory_config config = {.size = sizeof config, .endpoints = words[0]};
  struct jp_directory_peers *peers = NULL;
  struct jp_client_error error;
  for (long left = atol(words[1]); left > 0; left--) {
    if (words[2] != NULL && getchar() == EOF)
      return 1;
    if (jp_directory_watch(&config, CALL_MS, &peers, &error) != JP_CLIENT_OK) {
      fprintf(stderr, "%s\n", error.text);
      jp_directory_peers_free(peers);
      return 1;
    }
    for (size_t i = 0; i < jp_directory_peers_count(peers); i++) {
      const struct jp_directory_peer *peer = jp_directory_peers_at(peers, i);
      printf("%s%s %s %s", i > 0 ? "|" : "", text_or(peer->name), peer->uuid, text_or(peer->json_rpc));
    }
    puts("");
    fflush(stdout);
  }
  if (jp_directory_watch(&config, 0, &peers, &error) != JP_CLIENT_TIMEOUT)
    return 1;
  jp_directory_peers_free(peers);
  return 0;
}

static bool end_now(void *context)
{
  (void)context;
  return true;
}

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "line %d: %s\n", __LINE__, error.text);                                                \
      return 1;                                                                                              \
    }                                                                                                        \
  } while (0)

static int check_names(char **words)
{
  struct jp_directory_peers *peers;
  struct jp_client *client;
  struct jp_client_error error = {0};
  struct jp_directory_config config = {.endpoints = words[0]};
  char url[200];
  CHECK(jp_directory_list(&config, &peers, &error) == JP_CLIENT_INVALID && peers == NULL);
  config.size = sizeof config + 8;
  CHECK(jp_directory_list(&config, &peers, &error) == JP_CLIENT_UNSUPPORTED);
  config.size = sizeof config;
  config.timeout_ms = -1;
  CHECK(jp_directory_list(&config, &peers, &error) == JP_CLIENT_INVALID);
  config.timeout_ms = 0;
  CHECK(jp_directory_list(&config, &peers, &error) == JP_CLIENT_OK);
  CHECK(jp_directory_peers_at(peers, jp_directory_peers_count(peers)) == NULL);
  config.interrupted = end_now;
  CHECK(jp_directory_watch(&config, JP_FOREVER, &peers, &error) == JP_CLIENT_INTERRUPTED && peers != NULL);
  jp_directory_peers_free(peers);
  jp_directory_peers_free(NULL);
  CHECK(jp_directory_peers_count(NULL) == 0 && jp_directory_peers_fault(NULL) == NULL);
  const struct jp_client_config client_config = {.size = sizeof client_config, .directory = &config};
  snprintf(url, sizeof url, "dir://%s/nobody", words[0]);
  CHECK(jp_client_open(url, &client_config, &client, &error) == JP_CLIENT_INVALID); /* endpoints twice */
  config.endpoints = NULL;
  CHECK(jp_client_open(url, &client_config, &client, &error) == JP_CLIENT_REFUSED);
  CHECK(jp_client_open_json(url, "{\"directory\":{\"name_space\":\"a/b\"}}", &client, &error) ==
        JP_CLIENT_INVALID);
  CHECK(jp_client_open_json(url, "{\"directory\":{\"name_space\":\"other\"},\"binary\":true}", &client,
                            &error) == JP_CLIENT_REFUSED);
  puts("good");
  return 0;
}

int main(int count, char **words)
{
  static const struct {
    const char *name;
    int (*run)(char **words);
    int words;
  } modes[] = {
      {"call", call, 4}, {"blocked", call_blocked, 2}, {"watch", watch, 2}, {"names", check_names, 1}};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (count >= 2 + modes[i].words && strcmp(words[1], modes[i].name) == 0)
      return modes[i].run(words + 2);
  }
  return 2;
}
