#ifndef JPEER_RPC_SUGGEST_NEAREST_H
#define JPEER_RPC_SUGGEST_NEAREST_H
/*
 * The names that are nearest to one that was not found: by the least number of characters to change, insert, leave
 * out or exchange with their neighbour. Changes nothing but the caller's struct; any one thread.
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
  struct text names[NEAREST_KEPT]; /* the nearest first; of the same distance as they came */
  unsigned distances[NEAREST_KEPT];
};

/* A third of the characters of `significant`, which is the name or a part of it, may be wrong: one at least, three at
 * most. */
void nearest_begin(struct nearest *nearest, struct text wanted, struct text significant);

/* The distance of two names, or limit + 1 where it is larger than that. Case counts half: names that differ in case
 * alone have the distance 1. */
unsigned nearest_distance(struct text a, struct text b, unsigned limit);

/* True where a name of this distance would be kept: a reason to look whether it may be told. */
bool nearest_wants(const struct nearest *nearest, unsigned distance);

/* Keeps the name, unless it is there already or others are nearer. */
void nearest_offer(struct nearest *nearest, struct text name, unsigned distance);

#endif
