/* Which files are read, and how others are refused. */
#include "base/small_file.h"

#include "tests/unit/temporary_file.h"

#include <sys/stat.h>

static char folder[] = "/tmp/jpeer-small-XXXXXX";
static char path[sizeof folder + 8];
static char other[sizeof folder + 8];
static struct buffer content;

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/jpeer-small-XXXXXX");
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  buffer_init(&content);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  buffer_fini(&content);
  unlink(path);
  unlink(other);
  return rmdir(folder);
}

static void expect(const char *name, enum small_file_kind kind, enum jp_status status, const char *words)
{
  struct jp_error error = {.text = ""};
  buffer_clear(&content);
  if (small_file_read(name, kind, 1024, &content, NULL, &error) != status ||
      strstr(error.text, words) == NULL)
    fail_msg("%s: %d, %s", words, error.status, error.text);
}

UNIT_TEST_WITH(a_mode_counts_by_the_kind_of_file, make_folder, remove_folder)
{
  static const struct {
    mode_t mode;
    enum jp_status trusted, secret;
  } cases[] = {{0600, JP_OK, JP_OK},      {0400, JP_OK, JP_OK},           {0644, JP_OK, JP_INVALID},
               {0604, JP_OK, JP_INVALID}, {0660, JP_INVALID, JP_INVALID}, {0602, JP_INVALID, JP_INVALID},
               {0610, JP_OK, JP_INVALID}};
  temporary_file_set(path, "text");
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(chmod(path, cases[i].mode), 0);
    expect(path, SMALL_FILE_PLAIN, JP_OK, "");
    assert_true(text_equal(buffer_text(&content), TEXT("text")));
    expect(path, SMALL_FILE_TRUSTED, cases[i].trusted,
           cases[i].trusted == JP_OK ? "" : "may write it (mode 06");
    expect(path, SMALL_FILE_SECRET, cases[i].secret, cases[i].secret == JP_OK ? "" : "has the mode 06");
  }
  assert_int_equal(chmod(path, 0640), 0); /* a group that root has made for keys */
  const bool is_of_root = geteuid() == 0;
  expect(path, SMALL_FILE_SECRET, is_of_root ? JP_OK : JP_INVALID, is_of_root ? "" : "has the mode 0640");
  assert_int_equal(chmod(path, 0600), 0);
  assert_int_equal(symlink(path, other), 0);
  expect(other, SMALL_FILE_SECRET, JP_OK, "");
}

UNIT_TEST_WITH(other_files_are_refused_at_once, make_folder, remove_folder)
{
  char large[1026];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  expect(path, SMALL_FILE_PLAIN, JP_NOT_FOUND, "file: No such file");
  expect(folder, SMALL_FILE_PLAIN, JP_INVALID, "no regular file");
  expect("/dev/zero", SMALL_FILE_PLAIN, JP_INVALID, "no regular file");
  assert_int_equal(mkfifo(other, 0600), 0); /* nobody writes it */
  expect(other, SMALL_FILE_PLAIN, JP_INVALID, "no regular file");
  temporary_file_set(path, large);
  expect(path, SMALL_FILE_PLAIN, JP_INVALID, "larger than 1 KiB");
  large[1024] = '\0';
  temporary_file_set(path, large);
  expect(path, SMALL_FILE_PLAIN, JP_OK, "");
  assert_int_equal(content.len, 1024);
  temporary_file_set(path, "");
  expect(path, SMALL_FILE_PLAIN, JP_OK, "");
  assert_int_equal(content.len, 0);
}

UNIT_MAIN
