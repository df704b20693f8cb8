#ifndef JPEER_TESTS_UNIT_TEMPORARY_FILE_H
#define JPEER_TESTS_UNIT_TEMPORARY_FILE_H
/* A file below /tmp for one test, which unlinks it. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEMPORARY_FILE "/tmp/jpeer-test-XXXXXX"

/* path: a copy of TEMPORARY_FILE, which becomes the file's name. */
static inline void temporary_file_write(char *path, const char *bytes, size_t size)
{
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, bytes, size), size);
  close(descriptor);
}

/* Makes the file of this name, or gives it another content. */
static inline void temporary_file_set(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* One file for all tests of a program: UNIT_MAIN_WITH(temporary_file_make, temporary_file_remove). */
static char temporary_path[] __attribute__((unused)) = TEMPORARY_FILE;

static inline int temporary_file_make(__attribute__((unused)) void **state)
{
  temporary_file_write(temporary_path, "", 0);
  return 0;
}

static inline int temporary_file_remove(__attribute__((unused)) void **state)
{
  unlink(temporary_path);
  return 0;
}

#endif
