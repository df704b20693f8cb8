#ifndef JPEER_TESTS_UNIT_TEMPORARY_FILE_H
#define JPEER_TESTS_UNIT_TEMPORARY_FILE_H
/* A file below /tmp for one test, which unlinks it. */
#include "tests/unit/unit.h"

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

#endif
