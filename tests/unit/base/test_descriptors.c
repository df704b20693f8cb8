#include "base/descriptors.h"

#include "tests/unit/unit.h"

#include <sys/resource.h>
#include <unistd.h>

UNIT_TEST(tells_when_none_is_left)
{
  enum { MOST = 64 };
  int taken[MOST];
  size_t count = 0;
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  assert_false(descriptors_are_used_up());
  const struct rlimit few = {MOST, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  while ((taken[count] = dup(STDERR_FILENO)) >= 0)
    count++;
  assert_true(count > 0);
  assert_true(descriptors_are_used_up());
  close(taken[--count]);
  assert_false(descriptors_are_used_up());
  while (count > 0)
    close(taken[--count]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

UNIT_MAIN
