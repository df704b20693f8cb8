#ifndef JPEER_BASE_NEAR_NAME_H
#define JPEER_BASE_NEAR_NAME_H
/*
 * What may have been meant by a name that is unknown: the nearest of the known names.
 *
 * near_name_init, near_name_offer for each known name, then `best`. The time is linear in the candidates and
 * in their lengths; nothing is allocated. One owner, one thread.
 */
#include "base/text.h"

enum {
  NEAR_NAME_LENGTH_MAX = 255, /* bytes; a longer name is near to none */
  NEAR_NAME_BOUND_MAX = 3
};

struct near_name {
  struct text wanted; /* borrowed */
  struct text best;   /* borrowed from near_name_offer; data is NULL where no candidate is near */
  unsigned distance;  /* of best; before: one more than what counts as near */
};

/* A third of the name's bytes may differ, at most NEAR_NAME_BOUND_MAX: below three bytes nothing is near. */
void near_name_init(struct near_name *search, struct text wanted);
/* Among candidates that are equally near, the first is kept. */
void near_name_offer(struct near_name *search, struct text candidate);

/* How many bytes have to be put in, left out, replaced, or swapped with their neighbour to make b from a
 * (each byte is changed once: "optimal string alignment"). ASCII letters are compared without their case.
 * More than bound, or a name that is too long: bound + 1. bound is at most NEAR_NAME_BOUND_MAX. */
unsigned near_name_distance(struct text a, struct text b, unsigned bound);

#endif
