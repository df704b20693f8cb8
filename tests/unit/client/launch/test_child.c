#include "client/launch/child.h"

#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>

static void start(struct child *child, const char *script)
{
  const char *const command[] = {"sh", "-c", script, NULL};
  struct jp_client_error error;
  if (child_start(child, command, false, &error) != JP_CLIENT_OK)
    fail_msg("%s", error.text);
}

UNIT_TEST(reads_why_it_has_ended)
{
  struct child child;
  char why[8];
  start(&child, "printf 'no such class' >&3; exit 1");
  assert_true(child_await(&child, 10000));
  child_read_reason(&child, why, sizeof why);
  assert_string_equal(why, "no such");
  child_let_go(&child); /* nobody reads: no signal */
  child_read_reason(&child, why, sizeof why);
  assert_string_equal(why, "");
}

UNIT_TEST(gives_nothing_else)
{
  struct child child;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  signal(SIGPIPE, SIG_IGN);
  /* stdin ends at once, the signals are as in a new program (libc ignores 32 and 33), and no other end of the
   * lifeline is open. */
  start(&child, "read line && exit 1; grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status || exit 2; "
                "grep -q '^SigIgn:.*[08]0000000$' /proc/self/status || exit 3; "
                "n=0; for fd in /proc/$$/fd/*; do case $(readlink $fd) in socket:*) n=$((n+1));; esac; done; "
                "[ $n = 1 ] || exit 4; exit 0");
  assert_true(child_await(&child, 10000));
  pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
  assert_int_equal(child.status, 0);
  child_let_go(&child);
}

/* As in a program that waits for all of its children. */
UNIT_TEST(ends_though_somebody_else_has_waited)
{
  struct child child;
  char text[40];
  start(&child, "exit 0");
  (void)AWAIT_CHILD(child.pid);
  assert_true(child_await(&child, 10000));
  child_describe_end(&child, text, sizeof text);
  assert_string_equal(text, "an unknown status");
  child_let_go(&child);
}

UNIT_MAIN
