#include "cli/first_process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 1, SIGNALLED = 128, FIRST_FD = 3, LAST_FD = 1023 };

static sigset_t mask_before;
static bool is_first;

/* A signal that is blocked waits, even if its action is to be ignored. No sanitizer has been initialised yet. */
__attribute__((no_sanitize("address"))) static void block_signals(void)
{
  sigset_t all;
  is_first = getpid() == FIRST;
  if (!is_first)
    return;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask_before);
}

/* Runs before the constructors of the program and its libraries. */
__attribute__((section(".preinit_array"), used)) static void (*const block_first)(void) = block_signals;

/* The protocols of the service manager name the process that they are for. */
static void adopt_variable(const char *name)
{
  char own[16];
  const char *value = getenv(name);
  if (value == NULL || strcmp(value, "1") != 0)
    return;
  snprintf(own, sizeof own, "%ld", (long)getpid());
  setenv(name, own, 1);
}

/* True: the child has ended, with *status. */
static bool reap_children(pid_t child, int *status)
{
  bool has_ended = false;
  int ended;
  pid_t process;
  while ((process = waitpid(-1, &ended, WNOHANG)) > 0) {
    if (process != child)
      continue;
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : SIGNALLED + WTERMSIG(ended);
    has_ended = true;
  }
  return has_ended;
}

/* The terminal sends its signals to the child, too. */
__attribute__((noreturn)) static void watch_over(pid_t child)
{
  sigset_t all;
  siginfo_t facts;
  int status = EXIT_FAILURE;
  /* An address in use by this process would accept connections after the child has closed it. */
  for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
    close(fd);
  sigfillset(&all);
  while (!reap_children(child, &status)) {
    const int number = sigwaitinfo(&all, &facts);
    if (number > 0 && number != SIGCHLD && facts.si_code != SI_KERNEL)
      kill(child, number);
  }
  _exit(status);
}

void first_process_split(void)
{
  if (!is_first)
    return;
  pid_t child = fork();
  if (child > 0)
    watch_over(child);
  sigprocmask(SIG_SETMASK, &mask_before, NULL);
  if (child < 0) {
    fprintf(stderr, "jpeer: as the first process of a container, it cannot make another: %s\n",
            strerror(errno));
    return;
  }
  adopt_variable("LISTEN_PID");
  adopt_variable("WATCHDOG_PID");
}
