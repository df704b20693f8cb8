#ifndef JPEER_TESTS_UNIT_UNIT_H
#define JPEER_TESTS_UNIT_UNIT_H
/* What a unit test includes: cmocka with the headers that it needs before it, and a few assertions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A text that may contain NULs, out of a literal. */
#define assert_text(actual, literal) unit_assert_text((actual), TEXT(literal), __FILE__, __LINE__)

static inline void unit_assert_text(struct text actual, struct text wanted, const char *file, int line)
{
  if (text_equal(actual, wanted))
    return;
  print_error("got    \"%.*s\" (%zu)\nwanted \"%.*s\" (%zu)\n", TEXT_ARGS(actual), actual.len,
              TEXT_ARGS(wanted), wanted.len);
  _fail(file, line);
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

#endif
