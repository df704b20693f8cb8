#ifndef JPEER_TESTS_UNIT_UNIT_H
#define JPEER_TESTS_UNIT_UNIT_H
/* The header of every unit test: cmocka, after the headers that cmocka needs; tests that register themselves;
 * and a few assertions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* UNIT_TEST(name) { ... } defines a test, whose parameter is `state`. UNIT_MAIN ends a file, and runs the
 * file's tests in the order of their definitions. UNIT_MAIN_WITH also runs its setup before all tests, and
 * its teardown after all tests. setup, teardown: cmocka's fixture functions. UNIT_TEST_OF(name, struct
 * fixture *f, setup, teardown) gives the test what setup has put into *state. UNIT_TEST_ALSO runs a test once
 * more, with another setup. */
#define UNIT_TEST(name) UNIT_TEST_WITH(name, NULL, NULL)
#define UNIT_TEST_WITH(name, setup, teardown)                                                                \
  static void name(void **state);                                                                            \
  UNIT_REGISTER(name, name##_register, setup, teardown)                                                      \
  static void name(__attribute__((unused)) void **state)
#define UNIT_TEST_OF(name, parameter, setup, teardown)                                                       \
  static void name##_of(parameter);                                                                          \
  UNIT_TEST_WITH(name, setup, teardown)                                                                      \
  {                                                                                                          \
    name##_of(*state);                                                                                       \
  }                                                                                                          \
  static void name##_of(parameter)
#define UNIT_TEST_ALSO(name, setup, teardown) UNIT_REGISTER(name, name##_register_again, setup, teardown)
#define UNIT_REGISTER(name, function, setup, teardown)                                                       \
  __attribute__((constructor)) static void function(void)                                                    \
  {                                                                                                          \
    unit_register((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, setup, teardown));                \
  }
#define UNIT_MAIN UNIT_MAIN_WITH(NULL, NULL)
#define UNIT_MAIN_WITH(setup, teardown)                                                                      \
  int main(void)                                                                                             \
  {                                                                                                          \
    return UNIT_RUN(setup, teardown);                                                                        \
  }
#define UNIT_RUN(setup, teardown)                                                                            \
  _cmocka_run_group_tests("tests", unit_tests, unit_test_count, setup, teardown)

enum { UNIT_TESTS_MAX = 100 };

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX] __attribute__((unused));
static size_t unit_test_count __attribute__((unused));

enum { UNIT_WORD_MAX = 300 };

/* Removes the next word from a list of words with blanks between them; false: no word is left. */
static inline bool unit_next_word(const char **list, char word[UNIT_WORD_MAX])
{
  *list += strspn(*list, " ");
  size_t length = strcspn(*list, " ");
  if (length >= UNIT_WORD_MAX)
    abort();
  memcpy(word, *list, length);
  word[length] = '\0';
  *list += length;
  return length > 0;
}

/* JPEER_TEST_WITHOUT in the environment names tests that this machine cannot run: they are left out. */
static inline void unit_register(struct CMUnitTest test)
{
  const char *without = getenv("JPEER_TEST_WITHOUT");
  char word[UNIT_WORD_MAX];
  while (without != NULL && unit_next_word(&without, word)) {
    if (strcmp(word, test.name) == 0)
      return;
  }
  if (unit_test_count == UNIT_TESTS_MAX)
    abort();
  unit_tests[unit_test_count++] = test;
}

/* Asserts that a text equals a literal. Both may contain NULs. */
#define assert_text(actual, literal) unit_assert_text((actual), TEXT(literal), __FILE__, __LINE__)

static inline void unit_assert_text(struct text actual, struct text wanted, const char *file, int line)
{
  if (text_equal(actual, wanted))
    return;
  print_error("got    \"%.*s\" (%zu)\nwanted \"%.*s\" (%zu)\n", TEXT_ARGS(actual), actual.len,
              TEXT_ARGS(wanted), wanted.len);
  _fail(file, line);
}

/* Each backquote as a quote, so that JSON can be read in a literal. Valid until it is called four times more. */
static inline const char *unit_json(const char *text)
{
  static char rooms[4][4096];
  static size_t next;
  char *room = rooms[next++ % 4];
  size_t length = strlen(text);
  if (length >= sizeof rooms[0])
    abort();
  for (size_t i = 0; i <= length; i++)
    room[i] = (char)(text[i] == '`' ? '"' : text[i]);
  return room;
}

/* A copy on the heap of exactly its size, so that a sanitizer sees a read past its end. The caller frees it.
 */
static inline char *unit_exact_copy(const void *bytes, size_t count)
{
  char *copy = test_malloc(count + (count == 0));
  if (count > 0)
    memcpy(copy, bytes, count);
  return copy;
}

/* The bytes that are allocated now; 0 under a sanitizer. */
static inline size_t unit_allocated(void)
{
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo info = mallinfo();
#pragma GCC diagnostic pop
#endif
  return (size_t)info.uordblks + (size_t)info.hblkhd;
}

#endif
