/* How a change of the file is noticed; tests/integration/test_policy_reload.py tests the effects of a reload. */
#include "policy/policy_source.h"

#include "base/clock.h"
#include "tests/unit/temporary_file.h"

#include <sys/stat.h>

enum { SPIN_MS = 60000, NEVER_MS = 86400000 };

static char folder[] = "/tmp/jpeer-watch-XXXXXX";
static char path[64];
static char other_path[64];

struct watched {
  struct policy_source *source;
  struct policy_watch *watch;
  struct policy *first;
};

static struct watched start(const char *file, int64_t interval_ms)
{
  struct watched watched;
  struct jp_error error = {0};
  const struct policy_config config = {.file = file};
  assert_int_equal(policy_source_create(&config, &watched.source, &error), JP_OK);
  assert_int_equal(policy_watch_start(watched.source, interval_ms, &watched.watch, &error), JP_OK);
  watched.first = policy_source_take(watched.source);
  return watched;
}

static void stop(struct watched *watched)
{
  policy_watch_stop(watched->watch);
  policy_destroy(watched->first);
  policy_source_destroy(watched->source);
}

static void await_another(const struct watched *watched)
{
  int64_t end = clock_now_ms() + SPIN_MS;
  while (policy_source_is_current(watched->source, watched->first)) {
    assert_true(clock_now_ms() < end);
    usleep(1000);
  }
}

/* watched_path: the file as the policy names it. The interval of polls is longer than the test's deadline. */
static void check_is_seen(const char *watched_path, bool is_replaced)
{
  struct watched watched = start(watched_path, NEVER_MS);
  temporary_file_set(is_replaced ? other_path : path, "defaultAction: ALLOW\n");
  if (is_replaced)
    assert_int_equal(rename(other_path, path), 0);
  await_another(&watched);
  stop(&watched);
}

UNIT_TEST(a_change_is_seen_when_a_file_is_written_replaced_or_linked)
{
  char link_folder[80];
  char link_path[96];
  for (int is_replaced = 0; is_replaced < 2; is_replaced++) {
    temporary_file_set(path, "defaultAction: DENY\n");
    check_is_seen(path, is_replaced);
  }
  snprintf(link_folder, sizeof link_folder, "%s/links", folder);
  snprintf(link_path, sizeof link_path, "%s/policy.yaml", link_folder);
  assert_int_equal(mkdir(link_folder, 0700), 0);
  temporary_file_set(path, "defaultAction: DENY\n");
  assert_int_equal(symlink(path, link_path), 0);
  check_is_seen(link_path, false);
  unlink(link_path);
  rmdir(link_folder);
}

UNIT_TEST(a_change_between_the_load_and_the_watch_is_seen)
{
  struct watched watched;
  struct jp_error error = {0};
  const struct policy_config config = {.file = path};
  temporary_file_set(path, "defaultAction: DENY\n");
  assert_int_equal(policy_source_create(&config, &watched.source, &error), JP_OK);
  watched.first = policy_source_take(watched.source);
  temporary_file_set(path, "defaultAction: ALLOW\n");
  assert_int_equal(policy_watch_start(watched.source, 10, &watched.watch, &error), JP_OK);
  await_another(&watched);
  stop(&watched);
}

/* Opening the file would wait for a writer, and the end of the watch would wait, too. */
UNIT_TEST(a_pipe_is_not_read_again)
{
  temporary_file_set(path, "defaultAction: DENY\n");
  struct watched watched = start(path, 10);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  policy_watch_reload(watched.watch, NULL);
  stop(&watched);
}

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/policy.yaml", folder);
  snprintf(other_path, sizeof other_path, "%s/new.yaml", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(path);
  rmdir(folder);
  return 0;
}

UNIT_MAIN_WITH(make_folder, remove_folder)
