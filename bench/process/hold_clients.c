/*
 * jpeer-bench-hold-clients: opens many clients of libjpeer-client, makes calls of `add` on each, one client after the
 * other, and holds all of them open until its standard input ends. Prints "held" when every call was answered.
 *
 * usage: jpeer-bench-hold-clients URL COUNT CALLS
 */
#include "jpeer/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, TIMEOUT_MS = 20000 };

struct calls {
  struct jp_client *client;
  struct jp_client_error error;
  unsigned long left; /* the number of calls that are not begun yet */
  unsigned long open;
  bool has_failed;
};

static void fail_calls(struct calls *calls, const char *what)
{
  fprintf(stderr, "jpeer-bench-hold-clients: %s\n", what);
  calls->has_failed = true;
}

static void begin_call(struct calls *calls);

static void complete_call(void *context, enum jp_client_status status, struct jp_answer *answer)
{
  struct calls *calls = context;
  int64_t sum;
  calls->open--;
  if (status != JP_CLIENT_OK || !jp_answer_integer(answer, &sum) || sum != 8)
    fail_calls(calls, status == JP_CLIENT_OK ? "an answer is not the sum" : jp_client_status_text(status));
  jp_answer_free(answer);
  begin_call(calls);
}

static void begin_call(struct calls *calls)
{
  if (calls->left == 0 || calls->has_failed)
    return;
  const struct jp_request add =
      jp_build_class_method_call("com.example.Calculator", "add", JP_ARGUMENTS(jp_int(1), jp_int(7)));
  calls->left--;
  calls->open++;
  if (jp_client_send(calls->client, &add, TIMEOUT_MS, complete_call, calls, &calls->error) == JP_CLIENT_OK)
    return;
  calls->open--;
  fail_calls(calls, calls->error.text);
}

static bool make_calls(const char *url, unsigned long count)
{
  struct calls calls = {.left = count};
  if (jp_client_open(url, NULL, &calls.client, &calls.error) != JP_CLIENT_OK) {
    fail_calls(&calls, calls.error.text);
    return false;
  }
  struct pollfd polled = {.fd = jp_client_descriptor(calls.client), .events = POLLIN};
  for (int i = 0; i < IN_FLIGHT; i++)
    begin_call(&calls);
  while (calls.open > 0 && !calls.has_failed) {
    if (poll(&polled, 1, 2 * TIMEOUT_MS) == 0)
      fail_calls(&calls, "a call has neither an answer nor timed out");
    else if (jp_client_process(calls.client, &calls.error) != JP_CLIENT_OK)
      fail_calls(&calls, calls.error.text);
  }
  return !calls.has_failed; /* the client stays open until the process ends */
}

int main(int argc, char **argv)
{
  struct rlimit limit;
  if (argc != 4) {
    fputs("usage: jpeer-bench-hold-clients URL COUNT CALLS\n", stderr);
    return 2;
  }
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* if it fails, a client cannot be opened */
  }
  for (unsigned long left = strtoul(argv[2], NULL, 10); left > 0; left--)
    if (!make_calls(argv[1], strtoul(argv[3], NULL, 10)))
      return 1;
  puts("held");
  fflush(stdout);
  char ignored;
  while (read(STDIN_FILENO, &ignored, 1) > 0)
    ;
  return 0;
}
