#ifndef JPEER_BASE_NEAR_NAME_H
#define JPEER_BASE_NEAR_NAME_H
/*
 * Finds the known name that is nearest to an unknown one, for "did you mean".
 *
 * Call near_name_init, then near_name_offer for each known name; `best` is then the nearest. The time is
 * linear in the number and the lengths of the names; nothing is allocated. One owner, one thread.
 */
#include "base/text.h"

enum {
  NEAR_NAME_LENGTH_MAX = 255, /* bytes; longer names are never near */
  NEAR_NAME_BOUND_MAX = 3
};

struct near_name {
  struct text wanted; /* borrowed */
  struct text best;   /* borrowed from near_name_offer; data is NULL if no candidate is near */
  unsigned distance;  /* of best; at first, one more than the largest distance that counts as near */
};

/* Begins a search. A third of the bytes of `wanted` may differ, at most NEAR_NAME_BOUND_MAX bytes. As a
 * result nothing is near a name of one or two bytes. */
void near_name_init(struct near_name *search, struct text wanted);
/* Compares a candidate with `wanted`. If several candidates are equally near, the first candidate is kept. */
void near_name_offer(struct near_name *search, struct text candidate);

/* The number of bytes to insert, delete, replace, or swap with their neighbour to turn a into b, where no
 * byte is changed twice ("optimal string alignment"). The case of ASCII letters does not matter. The result
 * is bound + 1 if the distance is greater than bound, or if a name is longer than NEAR_NAME_LENGTH_MAX. bound
 * is at most NEAR_NAME_BOUND_MAX. */
unsigned near_name_distance(struct text a, struct text b, unsigned bound);

#endif
