#ifndef JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
#define JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
/* For programs that run a scenario and, if it fails, print a line about the fault. */
#include <stdio.h>
#include <stdlib.h>

/* How often a program checks a condition, at least a millisecond apart. */
enum { POLLS_MAX = 60000 };

/* Further arguments: a format and its values, or nothing. */
#define CHECK(condition, ...)                                                                                \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s:", __FILE__, __LINE__, #condition);                                         \
      fprintf(stderr, " " __VA_ARGS__);                                                                      \
      fputc('\n', stderr);                                                                                   \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

#endif
