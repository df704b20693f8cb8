#ifndef JPEER_TESTS_UNIT_COLFER_KINDS_H
#define JPEER_TESTS_UNIT_COLFER_KINDS_H
/* A struct with a field of each kind, and values of it with their bytes and with how they are shown. */
#include "colfer/colfer.h"

#include <stdbool.h>

struct kinds {
  bool truth;                /* 0 */
  uint8_t byte;              /* 1 */
  uint32_t number;           /* 2 */
  uint64_t large;            /* 3 */
  int32_t whole;             /* 4 */
  int64_t wide;              /* 5 */
  struct text text;          /* 6 */
  struct text binary;        /* 7 */
  struct kinds *inner;       /* 8 */
  struct colfer_texts texts; /* 9 */
  struct {
    struct kinds *items;
    size_t count;
  } list; /* 10 */
};

extern const struct colfer_type kinds_type;

struct kinds_form {
  struct kinds value;
  struct text bytes;
  const char *printed;
};

extern const struct kinds_form kinds_forms[];
extern const size_t kinds_form_count;

#endif
