#include "base/curve_keys.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The test vector of RFC 32, with its bytes repeated: 40 characters. */
#define KEY     "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define LARGEST "%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0" /* all bits are set */

UNIT_TEST(a_key_is_40_characters_of_z85)
{
  static const struct {
    struct text text;
    bool is_valid;
  } cases[] = {
      {TEXT(KEY), true},
      {TEXT(LARGEST), true},
      {TEXT("0000000000000000000000000000000000000000"), true},
      {TEXT("%nSc1%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0"), false}, /* beyond 32 bits */
      {TEXT("0000000000000000000000000000000000000###"), true},
      {TEXT("000000000000000000000000000000000000000"), false},
      {TEXT("00000000000000000000000000000000000000000"), false},
      {TEXT("000000000000000000000000000000000000000~"), false},
      {TEXT("000000000000000000000000000000000000000\0"), false},
      {TEXT(""), false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    if (curve_key_is_valid(cases[i].text) != cases[i].is_valid)
      fail_msg("%.*s", TEXT_ARGS(cases[i].text));
  }
}

/* ---- files ---- */

static char folder[] = "/tmp/jpeer-curve-XXXXXX";
static char path[sizeof folder + 8];

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/jpeer-curve-XXXXXX");
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/key", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void put_file(const char *content, mode_t mode)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(content, file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, mode), 0);
}

UNIT_TEST_WITH(what_was_written_is_read, make_folder, remove_folder)
{
  const struct curve_keys keys = {KEY, LARGEST};
  struct curve_keys read;
  struct jp_error error;
  struct stat facts;
  umask(0);
  assert_int_equal(curve_keys_write(path, &keys, &error), JP_OK);
  assert_int_equal(stat(path, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0600);
  assert_int_equal(curve_keys_read(path, &read, &error), JP_OK);
  assert_string_equal(read.public_key, KEY);
  assert_string_equal(read.secret_key, LARGEST);
  assert_int_equal(curve_keys_write(path, &keys, &error), JP_IO);
  assert_non_null(strstr(error.text, "File exists"));
}

UNIT_TEST_WITH(other_files_are_refused_without_a_word_of_their_keys, make_folder, remove_folder)
{
  static const struct {
    const char *content;
    mode_t mode;
    const char *words; /* NULL: it is read */
  } cases[] = {
      {"public-key = \"" KEY "\"\r\nsecret-key=\"" LARGEST "\"\r\n", 0600, NULL},
      {"secret-key = " LARGEST "\npublic-key = " KEY, 0400, NULL},
      {"public-key = \"" KEY "\"\nsecret-key = \"" LARGEST "\"\n", 0604, "has the mode 0604"},
      {"public-key = \"" KEY "\"\nsecret-key = \"" LARGEST "\"\n", 0620, "has the mode 0620"},
      {"secret-key = \"" LARGEST "\"\n", 0600, "has no public-key"},
      {"public-key = \"" KEY "\"\n# secret-key = \"" LARGEST "\"\n", 0600, "has no secret-key"},
      {"public-key = \"" KEY "\"\nsecret-key = \"" LARGEST "\n", 0600, "has no secret-key"},
      {"public-key = \"" KEY "\"\nsecret-key = \"" LARGEST "0\"\n", 0600, "has no secret-key"},
      {"", 0600, "has no public-key"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct curve_keys keys;
    struct jp_error error = {0};
    put_file(cases[i].content, cases[i].mode);
    enum jp_status status = curve_keys_read(path, &keys, &error);
    if (cases[i].words == NULL ? status != JP_OK
                               : status != JP_INVALID || strstr(error.text, cases[i].words) == NULL ||
                                     strstr(error.text, "%nSc0") != NULL)
      fail_msg("%zu: %s", i, error.text);
    unlink(path);
  }
  struct curve_keys keys;
  struct jp_error error;
  assert_int_equal(curve_keys_read(path, &keys, &error), JP_NOT_FOUND);
  assert_int_equal(curve_keys_read(folder, &keys, &error), JP_INVALID);
}

UNIT_MAIN
