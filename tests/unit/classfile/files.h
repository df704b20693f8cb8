#ifndef JPEER_TESTS_UNIT_CLASSFILE_FILES_H
#define JPEER_TESTS_UNIT_CLASSFILE_FILES_H
/* Files and folders for the class file tests. A failure ends the test. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of a file, on the heap and exactly its size; the caller frees them with test_free. */
static inline uint8_t *files_read(const char *path, size_t *size)
{
  FILE *file = fopen(path, "rb");
  struct stat facts;
  assert_non_null(file);
  assert_int_equal(fstat(fileno(file), &facts), 0);
  *size = (size_t)facts.st_size;
  uint8_t *bytes = test_malloc(*size + (*size == 0));
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static inline void files_write(const char *folder, const char *name, const void *bytes, size_t size)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static inline void files_make_folder(const char *folder, const char *name)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

/* An empty folder of the test's own; path needs room for 64 characters. */
static inline void files_open_scratch(char *path)
{
  strcpy(path, "/tmp/jpeer-classfile-XXXXXX");
  assert_non_null(mkdtemp(path));
}

static inline void files_drop_scratch(const char *path)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  assert_int_equal(system(command), 0);
}

#endif
