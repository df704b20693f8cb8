#ifndef JPEER_CLIENT_LAUNCH_CHILD_H
#define JPEER_CLIENT_LAUNCH_CHILD_H
/*
 * A process of our own: started, watched, ended. One owner, one thread at a time.
 */
#include "client/messages/client_error.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
  pid_t pid; /* 0: none */
  int lifeline; /* our end of a socket, whose other end the child watches; it writes there why it does not start */
  int output[2]; /* the read ends of its stdout and stderr; -1: they are ours */
  bool has_ended;
  int status; /* of waitpid; -1: somebody else has waited for it */
};

/* Starts it in a process group of its own, so that a Ctrl-C at the terminal is the parent's alone, with an
 * empty signal mask and nothing ignored. Its stdin is /dev/null. */
enum jp_client_status child_start(struct child *child, const char *const *command, bool takes_output,
                                  struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Whether it has ended; waits for timeout_ms at most. */
bool child_await(struct child *child, int timeout_ms);
/* What the child has written to the lifeline, without waiting for it; "" where that is nothing. */
void child_read_reason(const struct child *child, char *out, size_t size);
/* Asks it to end, by closing the lifeline, after the word that says that this is planned. */
void child_let_go(struct child *child);
void child_kill(struct child *child);
/* "exit status 1", "signal 9"; for people. */
void child_describe_end(const struct child *child, char *out, size_t size);

#endif
