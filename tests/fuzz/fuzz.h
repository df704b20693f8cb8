#ifndef JPEER_TESTS_FUZZ_FUZZ_H
#define JPEER_TESTS_FUZZ_FUZZ_H
/* The parts of a fuzz target. FUZZ_TARGET(input) { ... } defines the use of each input, a struct text; libFuzzer
 * calls it, or replay_main.c. */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_TARGET(input)                                                                                   \
  int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                              \
  static void try_input(struct text input);                                                                  \
  int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                               \
  {                                                                                                          \
    try_input((struct text){(const char *)data, size});                                                      \
    return 0;                                                                                                \
  }                                                                                                          \
  static void try_input(struct text input)

static inline void require(bool condition)
{
  if (!condition)
    abort();
}

/* A copy with a NUL after it, which the caller frees. */
static inline char *copy_with_end(struct text text)
{
  char *copy = malloc(text.len + 1);
  require(copy != NULL);
  if (text.len > 0)
    memcpy(copy, text.data, text.len);
  copy[text.len] = '\0';
  return copy;
}

/* Removes the next line, up to a line feed, from *rest; false: no line is left. */
static inline bool next_line(struct text *rest, struct text *line)
{
  const char *feed = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
  if (feed == NULL)
    return false;
  *line = text_slice(*rest, 0, (size_t)(feed - rest->data));
  *rest = text_slice(*rest, line->len + 1, rest->len);
  return true;
}

/* No name of a class has an empty segment, so statements about every name do not include names with an empty
 * segment. */
static inline bool has_empty_segment(struct text t)
{
  return t.len == 0 || t.data[0] == '.' || t.data[t.len - 1] == '.' || memmem(t.data, t.len, "..", 2) != NULL;
}

#endif
