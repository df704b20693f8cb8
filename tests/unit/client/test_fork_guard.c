#include "client/fork_guard.h"

#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>

static void check_child(const struct fork_guard *guard)
{
  assert_false(fork_guard_is_child(guard));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(fork_guard_is_child(guard) ? 0 : 1);
  int status = AWAIT_CHILD(child);
  assert_int_equal(status, 0);
  assert_false(fork_guard_is_child(guard));
}

/* Checks the guard without its page, too, as on a kernel without MADV_WIPEONFORK. */
UNIT_TEST(test_child)
{
  struct fork_guard guard;
  fork_guard_init(&guard);
  check_child(&guard);
  fork_guard_fini(&guard);
  assert_null(guard.mark);
  check_child(&guard);
}

UNIT_MAIN
