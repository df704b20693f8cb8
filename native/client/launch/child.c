#include "client/launch/child.h"

#include "base/clock.h"
#include "client/launch/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's ends of the pipes; -1: none. They lie above the descriptors that the child gets them as. */
struct ends {
  int lifeline;
  int output[2];
};

enum { LOWEST_END = 10 };

static void close_end(int *end)
{
  if (*end >= 0)
    close(*end);
  *end = -1;
}

/* Both ends close on exec, in other programs that this process starts, too. */
static bool make_pipe(int *read_end, int *write_end)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  *read_end = fcntl(ends[0], F_DUPFD_CLOEXEC, LOWEST_END);
  *write_end = fcntl(ends[1], F_DUPFD_CLOEXEC, LOWEST_END);
  close(ends[0]);
  close(ends[1]);
  return *read_end >= 0 && *write_end >= 0;
}

/* As make_pipe. A write to a socket need not raise SIGPIPE. */
static bool make_lifeline(int *theirs, int *ours)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  *theirs = fcntl(ends[0], F_DUPFD_CLOEXEC, LOWEST_END);
  *ours = fcntl(ends[1], F_DUPFD_CLOEXEC, LOWEST_END);
  close(ends[0]);
  close(ends[1]);
  return *theirs >= 0 && *ours >= 0;
}

static bool make_pipes(struct child *child, struct ends *ends, bool takes_output)
{
  return make_lifeline(&ends->lifeline, &child->lifeline) &&
         (!takes_output ||
          (make_pipe(&child->output[0], &ends->output[0]) && make_pipe(&child->output[1], &ends->output[1])));
}

static int add_files(posix_spawn_file_actions_t *files, const struct ends *ends)
{
  int fault = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (int i = 0; fault == 0 && i < 2; i++) {
    if (ends->output[i] >= 0)
      fault = posix_spawn_file_actions_adddup2(files, ends->output[i], STDOUT_FILENO + i);
  }
  return fault != 0 ? fault
                    : posix_spawn_file_actions_adddup2(files, ends->lifeline, LAUNCH_PARENT_DESCRIPTOR);
}

static int set_attributes(posix_spawnattr_t *attributes)
{
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int fault = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETPGROUP);
  if (fault == 0)
    fault = posix_spawnattr_setsigmask(attributes, &none);
  return fault != 0 ? fault : posix_spawnattr_setsigdefault(attributes, &all);
}

/* An errno; 0: it runs. */
static int spawn(struct child *child, const struct ends *ends, const char *const *command)
{
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&files) != 0)
    return ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return ENOMEM;
  }
  int fault = add_files(&files, ends);
  if (fault == 0)
    fault = set_attributes(&attributes);
  if (fault == 0)
    fault = posix_spawnp(&child->pid, command[0], &files, &attributes, (char *const *)command, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return fault;
}

enum jp_client_status child_start(struct child *child, const char *const *command, bool takes_output,
                                  struct jp_client_error *error)
{
  struct ends ends = {-1, {-1, -1}};
  *child = (struct child){.lifeline = -1, .output = {-1, -1}, .status = -1};
  bool has_pipes = make_pipes(child, &ends, takes_output);
  int fault = has_pipes ? spawn(child, &ends, command) : errno;
  close_end(&ends.lifeline);
  close_end(&ends.output[0]);
  close_end(&ends.output[1]);
  if (fault == 0)
    return JP_CLIENT_OK;
  child->pid = 0;
  close_end(&child->lifeline);
  close_end(&child->output[0]);
  close_end(&child->output[1]);
  return client_fail(error, JP_CLIENT_REFUSED, "cannot start %s: %s", command[0], strerror(fault));
}

static void look(struct child *child)
{
  int status;
  pid_t ended = waitpid(child->pid, &status, WNOHANG);
  if (ended == child->pid)
    child->status = status;
  child->has_ended = ended == child->pid || (ended < 0 && errno == ECHILD);
}

bool child_await(struct child *child, int timeout_ms)
{
  enum { PAUSE_MS = 2 };
  int64_t deadline = clock_now_ms() + timeout_ms;
  while (child->pid != 0 && !child->has_ended) {
    look(child);
    if (child->has_ended || (timeout_ms >= 0 && clock_now_ms() >= deadline))
      break;
    poll(NULL, 0, PAUSE_MS);
  }
  return child->pid == 0 || child->has_ended;
}

void child_read_reason(const struct child *child, char *out, size_t size)
{
  ssize_t count = child->lifeline < 0 ? -1 : recv(child->lifeline, out, size - 1, MSG_DONTWAIT);
  out[count < 0 ? 0 : count] = '\0';
}

void child_let_go(struct child *child)
{
  static const char planned[] = "stop"; /* docs/flags.md, --stop-on-eof */
  if (child->lifeline >= 0)
    (void)!send(child->lifeline, planned, sizeof planned - 1,
                MSG_DONTWAIT | MSG_NOSIGNAL); /* or it has ended */
  close_end(&child->lifeline);
}

void child_kill(struct child *child)
{
  if (child->pid != 0 && !child->has_ended)
    kill(child->pid, SIGKILL);
}

void child_describe_end(const struct child *child, char *out, size_t size)
{
  if (child->status == -1)
    snprintf(out, size, "an unknown status");
  else if (WIFSIGNALED(child->status))
    snprintf(out, size, "signal %d", WTERMSIG(child->status));
  else
    snprintf(out, size, "exit status %d", WEXITSTATUS(child->status));
}
