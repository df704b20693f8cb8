/* cli/ready.c: the ready file is complete, replaces the previous file, leaves no trace if it cannot be
 * written, and is removed only by the peer that has written it. */
#include "cli/ready.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/jpeer-ready-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/ready.json", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static size_t count_files(void)
{
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(listing);
  return count;
}

static void expect_file(const char *name, const char *json_name)
{
  struct ready ready;
  static const char *const addresses[] = {"ws://127.0.0.1:1/rpc", "tcp://127.0.0.1:2", NULL};
  struct ready_facts facts = {.name = name, .addresses = addresses};
  struct jp_error error;
  assert_int_equal(ready_init(&ready, path, &error), JP_OK);
  assert_int_equal(ready_announce(&ready, &facts, &error), JP_OK);
  ready_fini(&ready);

  char expected[512];
  snprintf(expected, sizeof expected,
           "{\"uuid\":\"00000000-0000-0000-0000-000000000000\",\"name\":%s,\"pid\":%ld,\"addresses\":[\"ws://"
           "127.0.0.1:1/rpc\",\"tcp://127.0.0.1:2\"]}\n",
           json_name, (long)getpid());
  char content[512] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t length = fread(content, 1, sizeof content - 1, file);
  fclose(file);
  content[length] = '\0';
  assert_string_equal(content, expected);
  assert_int_equal(count_files(), 1);
}

UNIT_TEST(test_the_file_is_whole_and_replaces_the_last)
{
  expect_file("a much longer name than the next one", "\"a much longer name than the next one\"");
  expect_file("\"\\ \xC3\xA4", "\"\\\"\\\\ \xC3\xA4\"");
}

UNIT_TEST(test_without_addresses_and_without_a_file)
{
  static const char *const none[] = {NULL};
  struct ready_facts facts = {.name = "n", .addresses = none};
  struct ready ready;
  assert_int_equal(ready_init(&ready, NULL, NULL), JP_OK);
  assert_int_equal(ready_announce(&ready, &facts, NULL), JP_OK);
  ready_withdraw(&ready);
  ready_fini(&ready);
}

static void expect_failure(const char *unwritable)
{
  static const char *const none[] = {NULL};
  struct ready_facts facts = {.name = "n", .addresses = none};
  struct ready ready;
  struct jp_error error;
  enum jp_status status = ready_init(&ready, unwritable, &error);
  if (status == JP_OK)
    status = ready_announce(&ready, &facts, &error);
  assert_int_equal(status, JP_IO);
  ready_withdraw(&ready);
  ready_fini(&ready);
  assert_non_null(strstr(error.text, "cannot write "));
}

UNIT_TEST(test_a_failed_write_leaves_nothing)
{
  size_t before = count_files();
  expect_failure("/nonexistent/ready.json");
  expect_failure(folder); /* a folder cannot be replaced by a file */
  char long_path[5000];
  memset(long_path, 'x', sizeof long_path - 1);
  long_path[sizeof long_path - 1] = '\0';
  expect_failure(long_path);
  assert_int_equal(count_files(), before);

  char draft[96];
  snprintf(draft, sizeof draft, "%s.%ld", folder, (long)getpid());
  assert_int_not_equal(access(draft, F_OK), 0);
}

static void announce_peer(struct ready *ready, const char *name)
{
  static const char *const none[] = {NULL};
  struct ready_facts facts = {.name = name, .addresses = none};
  struct jp_error error;
  assert_int_equal(ready_init(ready, path, &error), JP_OK);
  assert_int_equal(ready_announce(ready, &facts, &error), JP_OK);
}

UNIT_TEST(test_a_file_is_removed_by_the_peer_that_wrote_it)
{
  struct ready first, second;
  announce_peer(&first, "first");
  announce_peer(&second, "second");
  ready_withdraw(&first);
  ready_fini(&first);
  assert_int_equal(access(path, F_OK), 0);
  ready_withdraw(&second);
  assert_int_not_equal(access(path, F_OK), 0);
  ready_fini(&second);
}

UNIT_TEST(test_a_start_removes_only_the_file_of_a_dead_peer)
{
  struct ready running, starting;
  struct jp_error error;
  announce_peer(&running, "running");
  assert_int_equal(ready_init(&starting, path, &error), JP_OK);
  assert_int_equal(access(path, F_OK), 0);
  ready_fini(&starting);
  ready_fini(&running); /* has the effect of killing a peer: the file remains, and its lock ends */
  assert_int_equal(ready_init(&starting, path, &error), JP_OK);
  assert_int_not_equal(access(path, F_OK), 0);
  ready_fini(&starting);
}

UNIT_TEST(test_a_file_of_another_program_is_never_removed)
{
  struct ready ready;
  struct jp_error error;
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(ready_init(&ready, path, &error), JP_OK); /* the file is empty, as after mktemp */
  ready_fini(&ready);
  file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs("{\"uuid\": 1}\n", file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(ready_init(&ready, path, &error), JP_IO);
  assert_non_null(strstr(error.text, "is not the ready file of a peer"));
  ready_fini(&ready);
  assert_int_equal(unlink(path), 0);
}

UNIT_TEST(test_nothing_is_announced_after_the_withdrawal)
{
  static const char *const none[] = {NULL};
  struct ready_facts facts = {.name = "late", .addresses = none};
  struct ready ready;
  struct jp_error error;
  assert_int_equal(ready_init(&ready, path, &error), JP_OK);
  ready_withdraw(&ready);
  assert_int_equal(ready_announce(&ready, &facts, &error), JP_OK);
  assert_int_not_equal(access(path, F_OK), 0);
  ready_fini(&ready);
}

UNIT_MAIN_WITH(make_folder, remove_folder)
