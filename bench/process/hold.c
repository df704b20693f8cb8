/*
 * jpeer-bench-hold: opens many WebSockets, sends the same request on each, and holds them open until its standard
 * input ends. Prints "held" when all are open.
 *
 * usage: jpeer-bench-hold ADDRESS COUNT REQUEST [--await]
 * With --await, "held" means that every request was answered; without, that it was sent.
 */
#include "bench/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SPIN_MS = 20000, SPARE_DESCRIPTORS = 32 };

struct counter {
  struct link_listener listener;
  unsigned answers;
};

static enum jp_status count_answer(struct link_listener *listener, struct text answer, struct jp_error *error)
{
  struct counter *counter = (struct counter *)listener;
  if (memmem(answer.data, answer.len, "\"result\"", sizeof("\"result\"") - 1) == NULL)
    return jp_fail(error, JP_INVALID, "an answer that is no result: %.*s", TEXT_ARGS(answer));
  counter->answers++;
  return JP_OK;
}

static enum jp_status raise_limit(rlim_t count, struct jp_error *error)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return jp_fail(error, JP_IO, "getrlimit: %s", strerror(errno));
  if (limit.rlim_cur >= count)
    return JP_OK;
  if (limit.rlim_max < count)
    return jp_fail(error, JP_LIMIT, "%llu descriptors are needed, and this process may have %llu",
                   (unsigned long long)count, (unsigned long long)limit.rlim_max);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? JP_OK
                                               : jp_fail(error, JP_IO, "setrlimit: %s", strerror(errno));
}

static enum jp_status await_answer(const struct link_kind *kind, struct link *link, struct counter *counter,
                                   struct jp_error *error)
{
  struct pollfd readable = {.fd = kind->fd(link), .events = POLLIN};
  unsigned before = counter->answers;
  enum jp_status status = JP_OK;
  while (status == JP_OK && counter->answers == before) {
    if (poll(&readable, 1, SPIN_MS) != 1)
      return jp_fail(error, JP_IO, "no answer");
    status = kind->receive(link, &counter->listener, error);
  }
  return status;
}

struct wish {
  const char *address;
  unsigned long count;
  const char *request;
  bool awaits;
};

static enum jp_status hold(const struct wish *wish, struct jp_error *error)
{
  struct counter counter = {{count_answer}, 0};
  struct link_target target;
  const struct link_kind *kind;
  enum jp_status status = raise_limit(wish->count + SPARE_DESCRIPTORS, error);
  if (status == JP_OK)
    status = link_target_parse(&target, wish->address, &kind, error);
  for (unsigned long i = 0; status == JP_OK && i < wish->count; i++) {
    struct link *link; /* stays open until the process ends */
    bool blocked;
    bool again;
    status = kind->open(&target, &link, error);
    if (status != JP_OK)
      break;
    kind->send(link, text_of(wish->request));
    status = kind->flush(link, &blocked, &again, error);
    if (status == JP_OK && wish->awaits)
      status = await_answer(kind, link, &counter, error);
  }
  return status;
}

int main(int argc, char **argv)
{
  struct wish wish = {.awaits = argc == 5 && strcmp(argv[4], "--await") == 0};
  if (argc != 4 + wish.awaits) {
    fputs("usage: jpeer-bench-hold ADDRESS COUNT REQUEST [--await]\n", stderr);
    return 2;
  }
  wish.address = argv[1];
  wish.count = strtoul(argv[2], NULL, 10);
  wish.request = argv[3];
  struct jp_error error;
  if (hold(&wish, &error) != JP_OK) {
    fprintf(stderr, "jpeer-bench-hold: %s\n", error.text);
    return 1;
  }
  puts("held");
  fflush(stdout);
  char ignored;
  while (read(STDIN_FILENO, &ignored, 1) > 0)
    ;
  return 0;
}
