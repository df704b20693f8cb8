#ifndef JPEER_CLIENT_STEP_NAMES_H
#define JPEER_CLIENT_STEP_NAMES_H
/* Which step of a chain has a name: a hash table with open addressing. One thread at a time. */
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct step_name {
  struct text name; /* borrowed; absent: the place is free */
  size_t step;
};

struct step_names {
  struct step_name *places;
  size_t capacity; /* a power of two */
};

/* Room for `most` names, in the arena. False: no memory. */
bool step_names_init(struct step_names *names, size_t most, struct arena *arena);
/* False: another step has the name. */
bool step_names_add(struct step_names *names, struct text name, size_t step);
/* Borrowed; NULL: no step has the name. */
const struct step_name *step_names_find(const struct step_names *names, struct text name);

#endif
