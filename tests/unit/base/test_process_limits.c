#include "base/process_limits.h"

#include "tests/unit/temporary_file.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/jpeer-test-XXXXXX";

static void write_file(const char *name, const char *text)
{
  char path[200];
  snprintf(path, sizeof path, "%s/%s", root, name);
  temporary_file_set(path, text);
}

static void assert_quota(unsigned wanted)
{
  char membership[200];
  snprintf(membership, sizeof membership, "%s/membership", root);
  assert_int_equal(processors_of_quota(membership, root), wanted);
}

static int make_tree(void **state)
{
  (void)state;
  char path[200];
  if (mkdtemp(root) == NULL)
    return 1;
  snprintf(path, sizeof path, "%s/a", root);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/a/b", root);
  return mkdir(path, 0700);
}

static int remove_tree(void **state)
{
  (void)state;
  static const char *const names[] = {"a/b/cpu.max", "a/b", "a/cpu.max", "a", "cpu.max", "membership", ""};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, names[i]);
    (void)remove(path);
  }
  return 0;
}

UNIT_TEST(test_the_least_quota_on_the_way_up_counts)
{
  write_file("membership", "12:memory:/x\n0::/a/b\n");
  assert_quota(PROCESSORS_UNLIMITED); /* no file */
  write_file("a/b/cpu.max", "400000 100000\n");
  assert_quota(4);
  write_file("a/cpu.max", "199999 100000\n");
  assert_quota(1);
  write_file("cpu.max", "max 100000\n");
  assert_quota(1);
  write_file("a/cpu.max", "max 100000\n");
  assert_quota(4);
  write_file("cpu.max", "300000 100000\n");
  assert_quota(3);
  write_file("cpu.max", "1000 100000\n");
  assert_quota(1);
}

UNIT_TEST(test_an_invalid_quota_limits_nothing)
{
  static const char *const files[] = {"", "max\n", "max 100000\n", "5 0\n", "-1 100000\n", "1000\n", "x y\n"};
  write_file("membership", "0::/\n");
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    write_file("cpu.max", files[i]);
    assert_quota(PROCESSORS_UNLIMITED);
  }
  write_file("cpu.max", "100000 100000\n");
  assert_quota(1);
  write_file("membership", "1:cpu:/\n");
  assert_quota(PROCESSORS_UNLIMITED);
}

UNIT_TEST(test_affinity)
{
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_in_range(processors_usable(), 1, CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before))
    first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(processors_allowed(), 1);
  assert_int_equal(processors_usable(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

UNIT_TEST(reports_that_no_descriptor_is_left)
{
  enum { MOST = 64 };
  int opened[MOST];
  size_t count = 0;
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  assert_false(descriptors_are_used_up());
  const struct rlimit few = {MOST, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  while ((opened[count] = dup(STDERR_FILENO)) >= 0)
    count++;
  assert_true(count > 0);
  assert_true(descriptors_are_used_up());
  close(opened[--count]);
  assert_false(descriptors_are_used_up());
  while (count > 0)
    close(opened[--count]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

UNIT_MAIN_WITH(make_tree, remove_tree)
