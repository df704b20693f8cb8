#ifndef JPEER_RPC_SUGGEST_NEAREST_H
#define JPEER_RPC_SUGGEST_NEAREST_H
/*
 * Collects the names that are nearest to a name that was not found. The distance is the least number of
 * characters to change, insert, leave out or exchange with their neighbour. Changes only the caller's struct,
 * which one thread uses at a time.
 */
#include "base/text.h"

enum {
  NEAREST_KEPT = 3,
  NEAREST_NAME_MAX = 128 /* bytes; nothing is near a longer name */
};

/* Begins with nearest_begin. The names are borrowed. */
struct nearest {
  struct text wanted;
  unsigned limit; /* of the distance */
  size_t count;
  /* the nearest first; names of the same distance in the order of nearest_offer */
  struct text names[NEAREST_KEPT];
  unsigned distances[NEAREST_KEPT];
};

/* significant: the name, or the part of it to which the limit applies. A third of its characters may be
 * wrong: at least one, at most three. */
void nearest_begin(struct nearest *nearest, struct text wanted, struct text significant);

/* The distance of two names, or limit + 1 if it is larger than limit. Case counts half: names that differ
 * only in case have the distance 1. */
unsigned nearest_distance(struct text a, struct text b, unsigned limit);

/* True if a name of this distance would be kept: the caller of this function then checks whether the client
 * may use the name. */
bool nearest_wants(const struct nearest *nearest, unsigned distance);

/* Keeps the name, unless it is kept already, or NEAREST_KEPT other names are nearer. */
void nearest_offer(struct nearest *nearest, struct text name, unsigned distance);

#endif
