#ifndef JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
#define JPEER_TESTS_INTEGRATION_CLIENT_SCENARIO_H
/* For programs that play a scenario, and end with a line that says what was wrong. */
#include <stdio.h>
#include <stdlib.h>

/* How often a program looks for what has to come about, a millisecond apart at least. */
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
