/*
 * jpeer-bench-start: measures the time from before the start of a program to its end, or, with --ping, to the
 * first ping that the program answers. Prints microseconds.
 *
 * usage: jpeer-bench-start [--ping] PROGRAM [ARGUMENTS]
 * With --ping, PROGRAM is a peer: it prints on standard error when it is ready, and the address of its WebSockets.
 */
#include "base/clock.h"
#include "bench/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPIN_MS = 60000 };

struct child {
  pid_t pid;
  int errors; /* the child's standard error with --ping; otherwise -1 */
};

static enum jp_status start(char **words, bool hears, struct child *child, struct jp_error *error)
{
  int ends[2] = {-1, -1};
  if (hears && pipe2(ends, O_CLOEXEC) != 0)
    return jp_fail(error, JP_IO, "pipe: %s", strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (hears)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  int fault = posix_spawnp(&child->pid, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (hears)
    close(ends[1]);
  child->errors = ends[0];
  return fault == 0 ? JP_OK : jp_fail(error, JP_IO, "%s: %s", words[0], strerror(fault));
}

static enum jp_status await_end(const struct child *child, struct jp_error *error)
{
  int state;
  while (waitpid(child->pid, &state, 0) < 0) {
    if (errno != EINTR)
      return jp_fail(error, JP_IO, "waitpid: %s", strerror(errno));
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
    return jp_fail(error, JP_INVALID, "the program failed (%#x)", (unsigned)state);
  return JP_OK;
}

/* Reads the peer's output until it is ready. *address is inside said. */
static enum jp_status await_ready(const struct child *child, struct buffer *said, const char **address,
                                  struct jp_error *error)
{
  for (;;) {
    enum { PIECE = 1024 };
    char *room = buffer_reserve(said, PIECE);
    ssize_t count = room == NULL ? -1 : read(child->errors, room, PIECE - 1);
    if (count <= 0)
      return jp_fail(error, JP_CLOSED, "the peer was never ready: %.*s", TEXT_ARGS(buffer_text(said)));
    said->len += (size_t)count;
    said->data[said->len] = '\0';
    char *found = strstr(said->data, ", ws://");
    char *end = found == NULL ? NULL : strpbrk(found + 2, ",\n");
    if (end == NULL)
      continue;
    *end = '\0';
    *address = found + 2;
    return JP_OK;
  }
}

struct pinger {
  struct link_listener listener;
  bool is_answered;
};

static enum jp_status handle_answer(struct link_listener *listener, struct text answer,
                                    struct jp_error *error)
{
  struct pinger *pinger = (struct pinger *)listener;
  pinger->is_answered = text_equal(answer, TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"void\":true}}"));
  return pinger->is_answered ? JP_OK
                             : jp_fail(error, JP_INVALID, "the ping's answer: %.*s", TEXT_ARGS(answer));
}

static enum jp_status ping(const char *address, struct jp_error *error)
{
  static const char request[] =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"ping\"}}";
  struct pinger pinger = {{handle_answer}, false};
  struct link_target target;
  const struct link_kind *kind;
  struct link *link = NULL;
  bool blocked;
  bool again;
  enum jp_status status = link_target_parse(&target, address, &kind, error);
  if (status == JP_OK)
    status = kind->open(&target, &link, error);
  if (status != JP_OK)
    return status;
  kind->send(link, text_of(request));
  status = kind->flush(link, &blocked, &again, error);
  struct pollfd readable = {.fd = kind->fd(link), .events = POLLIN};
  while (status == JP_OK && !pinger.is_answered) {
    if (poll(&readable, 1, SPIN_MS) != 1)
      status = jp_fail(error, JP_IO, "the ping was not answered");
    else
      status = kind->receive(link, &pinger.listener, error);
  }
  kind->close(link);
  return status;
}

static enum jp_status time_ping(char **words, int64_t *ends_ns, struct jp_error *error)
{
  struct child child;
  struct buffer said;
  const char *address = NULL;
  enum jp_status status = start(words, true, &child, error);
  if (status != JP_OK)
    return status;
  buffer_init(&said);
  status = await_ready(&child, &said, &address, error);
  if (status == JP_OK)
    status = ping(address, error);
  *ends_ns = clock_now_ns();
  kill(child.pid, SIGTERM);
  if (status == JP_OK)
    status = await_end(&child, error);
  close(child.errors);
  buffer_fini(&said);
  return status;
}

static enum jp_status time_all(char **words, int64_t *ends_ns, struct jp_error *error)
{
  struct child child;
  enum jp_status status = start(words, false, &child, error);
  if (status == JP_OK)
    status = await_end(&child, error);
  *ends_ns = clock_now_ns();
  return status;
}

int main(int argc, char **argv)
{
  bool pings = argc > 1 && strcmp(argv[1], "--ping") == 0;
  char **words = argv + 1 + pings;
  if (words[0] == NULL) {
    fputs("usage: jpeer-bench-start [--ping] PROGRAM [ARGUMENTS]\n", stderr);
    return 2;
  }
  struct jp_error error;
  int64_t begins_ns = clock_now_ns();
  int64_t ends_ns = begins_ns;
  if ((pings ? time_ping : time_all)(words, &ends_ns, &error) != JP_OK) {
    fprintf(stderr, "jpeer-bench-start: %s\n", error.text);
    return 1;
  }
  printf("%.1f\n", (double)(ends_ns - begins_ns) / 1e3);
  return 0;
}
