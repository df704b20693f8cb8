#ifndef JPEER_TESTS_UNIT_CASES_H
#define JPEER_TESTS_UNIT_CASES_H
/*
 * Cases in a text file, where JSON, YAML and command lines are written without escapes. A case is an input of
 * one or more lines, followed by a line that begins with "=>" and has the expected result. Between cases,
 * blank lines and lines that begin with "## " are ignored.
 */
#include "tests/unit/unit.h"

#include <stdio.h>

/* place: file and line of the expected result, for the failure. input: on the heap, so that a sanitizer sees a read
 * past it. */
typedef void unit_case_function(const char *place, const char *input, const char *wanted);

static inline void unit_cases(const char *path, unit_case_function *check)
{
  static char line[16 * 1024];
  static char input[16 * 1024];
  size_t length = 0;
  size_t count = 0;
  FILE *in = fopen(path, "re");
  assert_non_null(in);
  for (int number = 1; fgets(line, sizeof line, in) != NULL; number++) {
    char *end = strchr(line, '\n');
    assert_non_null(end); /* a line that is too long */
    *end = '\0';
    if (strncmp(line, "=>", 2) == 0) {
      char place[1024];
      snprintf(place, sizeof place, "%s:%d", path, number);
      input[length] = '\0';
      char *copy = unit_exact_copy(input, length + 1);
      check(place, copy, line[2] == ' ' ? line + 3 : line + 2);
      test_free(copy);
      length = 0;
      count++;
    } else if (length > 0 || (line[0] != '\0' && strncmp(line, "## ", 3) != 0)) {
      length += (size_t)snprintf(input + length, sizeof input - length, length == 0 ? "%s" : "\n%s", line);
      assert_true(length < sizeof input);
    }
  }
  fclose(in);
  assert_true(count > 0 && length == 0);
}

#endif
