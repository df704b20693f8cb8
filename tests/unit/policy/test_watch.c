#include "policy/watch.h"

#include "base/clock.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPIN_MS = 60000, NEVER_MS = 86400000 };

static char folder[] = "/tmp/jpeer-watch-XXXXXX";
static char path[64];
static char other_path[64];

static void write_to(const char *where, const char *yaml)
{
  FILE *file = fopen(where, "w");
  assert_non_null(file);
  assert_true(fputs(yaml, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

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

static void check_default(const struct watched *watched, bool allow)
{
  struct policy *policy = policy_source_take(watched->source);
  const struct policy_query query = {.class_name = TEXT("a.A"), .member_name = TEXT("m")};
  assert_int_equal(policy_check(policy, &query).allow, allow);
  policy_destroy(policy);
}

/* No look by time would come within the test's patience. */
UNIT_TEST(a_written_file_is_seen_by_inotify)
{
  write_to(path, "defaultAction: DENY\n");
  struct watched watched = start(path, NEVER_MS);
  write_to(path, "defaultAction: ALLOW\n");
  await_another(&watched);
  check_default(&watched, true);
  stop(&watched);
}

UNIT_TEST(a_file_in_the_place_of_another_is_seen)
{
  write_to(path, "defaultAction: DENY\n");
  struct watched watched = start(path, NEVER_MS);
  write_to(other_path, "defaultAction: ALLOW\n");
  assert_int_equal(rename(other_path, path), 0);
  await_another(&watched);
  check_default(&watched, true);
  stop(&watched);
}

UNIT_TEST(a_file_behind_a_link_is_seen)
{
  char link_folder[80];
  char link_path[96];
  snprintf(link_folder, sizeof link_folder, "%s/links", folder);
  snprintf(link_path, sizeof link_path, "%s/policy.yaml", link_folder);
  assert_int_equal(mkdir(link_folder, 0700), 0);
  write_to(path, "defaultAction: DENY\n");
  assert_int_equal(symlink(path, link_path), 0);
  struct watched watched = start(link_path, NEVER_MS);
  write_to(path, "defaultAction: ALLOW\n");
  await_another(&watched);
  check_default(&watched, true);
  stop(&watched);
  unlink(link_path);
  rmdir(link_folder);
}

UNIT_TEST(a_wrong_file_and_a_missing_one_change_nothing)
{
  write_to(path, "defaultAction: DENY\n");
  struct watched watched = start(path, 10);
  write_to(path, "defaultAction: PERHAPS\n");
  policy_watch_reload(watched.watch);
  unlink(path);
  policy_watch_reload(watched.watch);
  write_to(path, "defaultAction: ALLOW\n");
  await_another(&watched); /* the first that came is the good one: nothing was in force between */
  check_default(&watched, true);
  stop(&watched);
}

UNIT_TEST(with_no_interval_only_a_request_reloads)
{
  write_to(path, "defaultAction: DENY\n");
  struct watched watched = start(path, 0);
  write_to(path, "defaultAction: ALLOW\n");
  check_default(&watched, false);
  policy_watch_reload(watched.watch);
  await_another(&watched);
  check_default(&watched, true);
  stop(&watched);
}

/* Opening it would wait for a writer, and the end of the watch with it. */
UNIT_TEST(a_pipe_is_not_read_again)
{
  write_to(path, "defaultAction: DENY\n");
  struct watched watched = start(path, 10);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  policy_watch_reload(watched.watch);
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
