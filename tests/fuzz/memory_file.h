#ifndef JPEER_TESTS_FUZZ_MEMORY_FILE_H
#define JPEER_TESTS_FUZZ_MEMORY_FILE_H
/* An input as a file, for readers of a path. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH_SIZE = 40 };

/* A file in memory that contains the input, and a path of the file that is valid as long as its descriptor is
 * open. The caller closes the descriptor. */
static inline int open_copy(struct text input, char path[FUZZ_PATH_SIZE])
{
  int file = memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0);
  for (size_t done = 0; done < input.len;) {
    ssize_t written = write(file, input.data + done, input.len - done);
    require(written > 0);
    done += (size_t)written;
  }
  snprintf(path, FUZZ_PATH_SIZE, "/proc/self/fd/%d", file);
  return file;
}

#endif
