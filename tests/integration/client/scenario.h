#ifndef JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
#define JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
/* For programs that play a scenario, and end with a line that describes the failure. */
#include <stdio.h>
#include <stdlib.h>

/* How often a program polls for a condition, at least a millisecond apart. */
enum { POLLS_MAX = 60000 };

/* The rest: a format and its arguments, or nothing. */
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
