#ifndef JPEER_TESTS_COLFER_RANDOM_STRUCTS_H
#define JPEER_TESTS_COLFER_RANDOM_STRUCTS_H
/*
 * Structs with random fields, the bounds of the encoding among them, for any table of colfer/colfer.h.
 *
 * The same seed gives the same structs. One thread.
 */
#include "base/arena.h"
#include "colfer/colfer.h"

struct randomness {
  uint64_t state;
  struct arena *arena; /* for texts, lists and structs inside */
};

/* Fills *value, of type->size bytes. Too little memory ends the program. */
void make_random_struct(struct randomness *randomness, const struct colfer_type *type, void *value);

#endif
