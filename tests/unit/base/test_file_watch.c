/* When files are loaded again. tests/unit/policy/test_watch.c has the ways in which a file can change. */
#include "base/file_watch.h"

#include "base/clock.h"
#include "tests/unit/temporary_file.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum { SPIN_MS = 60000 };

static char paths[2][sizeof TEMPORARY_FILE];
static const char *const files[] = {paths[0], paths[1], NULL};
static atomic_int loads;

static const char *const *list_files(void *context)
{
  (void)context;
  return files;
}

static void count_load(void *context)
{
  (void)context;
  atomic_fetch_add(&loads, 1);
}

static struct file_watch *start(int64_t interval_ms)
{
  struct file_watch *watch;
  struct jp_error error = {0};
  const struct file_watch_config config = {.interval_ms = interval_ms,
                                           .thread_name = "test-watch",
                                           .what = "the files",
                                           .files = list_files,
                                           .reload = count_load};
  atomic_store(&loads, 0);
  assert_int_equal(file_watch_start(&config, &watch, &error), JP_OK);
  return watch;
}

/* Calls `change` until there are so many loads. Returns how long that took. */
static int64_t await_loads(int count, void (*change)(int step))
{
  int64_t begin = clock_now_ms();
  for (int step = 0; atomic_load(&loads) < count; step++) {
    assert_true(clock_now_ms() - begin < SPIN_MS);
    if (change != NULL)
      change(step);
    usleep(5000);
  }
  return clock_now_ms() - begin;
}

enum { TRIES = 10, RESTING_MS = 50 /* half of what the watch takes for a rest */, WRITING_MS = 300 };

static int64_t began_ms;
static int64_t written_ms;
static int64_t longest_gap_ms; /* between two writes: on a busy machine the files rest for as long */

static void note_write(int step)
{
  const int64_t now_ms = clock_now_ms();
  if (step == 0)
    began_ms = now_ms;
  else if (now_ms - written_ms > longest_gap_ms)
    longest_gap_ms = now_ms - written_ms;
  written_ms = now_ms;
}

static void write_first(int step)
{
  temporary_file_set(paths[0], step % 2 == 0 ? "even" : "odd");
  note_write(step);
}

/* Each within the rest of the other, and not until the second is over after which they are loaded without a rest. */
static void write_both_for_a_while(int step)
{
  if (step > 0 && clock_now_ms() - began_ms >= WRITING_MS)
    return;
  temporary_file_set(paths[step % 2], step % 4 < 2 ? "even" : "odd");
  note_write(step);
}

static void skip_if_files_rested(void)
{
  if (longest_gap_ms < RESTING_MS)
    return;
  print_message("skipped: in each of %d tries this machine let %lld ms pass between two writes\n", TRIES,
                (long long)longest_gap_ms);
  skip();
}

UNIT_TEST(files_that_change_one_after_another_are_loaded_once)
{
  int count = 0;
  for (int i = 0; i == 0 || (i < TRIES && longest_gap_ms >= RESTING_MS); i++) {
    struct file_watch *watch = start(10);
    longest_gap_ms = 0;
    await_loads(1, write_both_for_a_while);
    usleep(300 * 1000);
    count = atomic_load(&loads);
    file_watch_stop(watch);
  }
  skip_if_files_rested();
  assert_int_equal(count, 1);
}

UNIT_TEST(a_file_that_never_rests_is_loaded_once_a_second)
{
  int64_t took_ms = 0;
  for (int i = 0; i == 0 || (i < TRIES && longest_gap_ms >= RESTING_MS); i++) {
    struct file_watch *watch = start(10);
    longest_gap_ms = 0;
    took_ms = await_loads(2, write_first);
    note_write(1); /* the file may have rested since the last write */
    file_watch_stop(watch);
  }
  skip_if_files_rested();
  assert_true(took_ms >= 1900);
}

UNIT_TEST(without_an_interval_files_are_loaded_when_that_is_asked_for)
{
  struct file_watch *watch = start(0);
  write_first(0);
  usleep(300 * 1000);
  assert_int_equal(atomic_load(&loads), 0);
  file_watch_reload(watch, NULL);
  await_loads(1, NULL);
  file_watch_stop(watch);
}

static struct file_stamp stamps[2];

static const struct file_stamp *list_stamps(void *context)
{
  (void)context;
  return stamps;
}

/* Between the load and the start of the watch, and while a file is read that is new to the watch. */
UNIT_TEST(a_change_after_the_stamp_is_loaded)
{
  struct file_watch *watch;
  struct jp_error error = {0};
  const struct file_watch_config config = {.interval_ms = 10,
                                           .thread_name = "test-watch",
                                           .what = "the files",
                                           .files = list_files,
                                           .stamps = list_stamps,
                                           .reload = count_load};
  for (size_t i = 0; i < COUNT_OF(paths); i++)
    stamps[i] = file_stamp_read(paths[i]);
  temporary_file_set(paths[1], "changed before the watch");
  atomic_store(&loads, 0);
  assert_int_equal(file_watch_start(&config, &watch, &error), JP_OK);
  await_loads(1, NULL);
  usleep(300 * 1000);
  assert_int_equal(atomic_load(&loads), 1);
  file_watch_stop(watch);
}

/* Opening a pipe would wait for a writer. */
UNIT_TEST(what_is_no_regular_file_any_more_is_not_loaded)
{
  char pipe_path[sizeof TEMPORARY_FILE + sizeof ".pipe"];
  struct file_watch *watch = start(10);
  snprintf(pipe_path, sizeof pipe_path, "%s.pipe", paths[0]);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_int_equal(rename(pipe_path, paths[0]), 0); /* without a time in which there is no file */
  file_watch_reload(watch, NULL);
  usleep(300 * 1000);
  assert_int_equal(atomic_load(&loads), 0);
  unlink(paths[0]);
  await_loads(1, write_first);
  file_watch_stop(watch);
}

static int make_files(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(paths); i++) {
    memcpy(paths[i], TEMPORARY_FILE, sizeof TEMPORARY_FILE);
    temporary_file_write(paths[i], "", 0);
  }
  return 0;
}

static int remove_files(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(paths); i++)
    unlink(paths[i]);
  return 0;
}

UNIT_MAIN_WITH(make_files, remove_files)
