/*
 * A client of libjpeer-client whose peer is killed again and again: it opens a connection, calls until the connection
 * ends, closes it, and opens the next one.
 *
 * usage: shm_survivor URL ROUNDS
 * After the tenth round and after the last it prints the descriptors and the maps of shared memory that it has then, and
 * its resident KiB.
 */
#include "jpeer/client.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 20000, TEXT_SIZE = 200000, FIRST_ROUNDS = 10, TRIES = 20000 };

static unsigned count_descriptors(void)
{
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL)
    return 0;
  while (readdir(folder) != NULL)
    count++;
  closedir(folder);
  return count - 3; /* . and .. and the folder itself */
}

/* Counts the lines of a file of /proc/self that hold a word; *number is the number behind the word in the last of them. */
static unsigned count_lines(const char *path, const char *word, unsigned long *number)
{
  char line[4096];
  unsigned count = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL)
    return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    const char *found = strstr(line, word);
    if (found == NULL)
      continue;
    count++;
    *number = strtoul(found + strlen(word), NULL, 10);
  }
  fclose(file);
  return count;
}

static void print_state(void)
{
  unsigned long ignored;
  unsigned long resident = 0;
  unsigned maps = count_lines("/proc/self/maps", "jpeer-shm", &ignored);
  count_lines("/proc/self/status", "VmRSS:", &resident);
  printf("%u %u %lu\n", count_descriptors(), maps, resident);
  fflush(stdout);
}

/* The peer may just be starting. */
static struct jp_client *open_client(const char *url)
{
  struct jp_client *client = NULL;
  struct jp_client_error error;
  for (int i = 0; i < TRIES; i++) {
    if (jp_client_open(url, NULL, &client, &error) == JP_CLIENT_OK)
      return client;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  fprintf(stderr, "shm_survivor: %s\n", error.text);
  return NULL;
}

/* Until the connection ends. Short texts and such as fill a ring in turns. */
static bool call_on(struct jp_client *client, const char *text)
{
  enum jp_client_status status = JP_CLIENT_OK;
  for (unsigned i = 0; status == JP_CLIENT_OK; i++) {
    struct jp_text part = {text, i % 2 == 0 ? 10 : TEXT_SIZE - i % 1000};
    struct jp_argument argument = jp_text_argument(part);
    struct jp_request request = jp_build_class_method_call("fixtures.Arguments", "echoString", &argument, 1);
    struct jp_answer *answer;
    struct jp_client_error error;
    status = jp_client_call(client, &request, TIMEOUT_MS, &answer, &error);
    jp_answer_free(answer);
    if (status == JP_CLIENT_TIMEOUT || status == JP_CLIENT_REMOTE) {
      fprintf(stderr, "shm_survivor: %s\n", error.text);
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv)
{
  if (argc != 3) {
    fputs("usage: shm_survivor URL ROUNDS\n", stderr);
    return 2;
  }
  unsigned long rounds = strtoul(argv[2], NULL, 10);
  char *text = malloc(TEXT_SIZE);
  bool good = text != NULL;
  if (good)
    memset(text, 'x', TEXT_SIZE);
  for (unsigned long i = 0; good && i < rounds; i++) {
    struct jp_client *client = open_client(argv[1]);
    good = client != NULL && call_on(client, text);
    jp_client_close(client);
    if (good && (i + 1 == FIRST_ROUNDS || i + 1 == rounds))
      print_state();
  }
  free(text);
  return good ? 0 : 1;
}
