#include "client/step_names.h"

bool step_names_init(struct step_names *names, size_t most, struct arena *arena)
{
  names->capacity = 8;
  while (names->capacity / 2 < most)
    names->capacity *= 2;
  names->places = arena_calloc(arena, names->capacity, sizeof *names->places);
  return names->places != NULL;
}

/* That of the name, or the free one where it belongs. */
static struct step_name *place_of(const struct step_names *names, struct text name)
{
  size_t at = text_hash(name) & (names->capacity - 1);
  while (names->places[at].name.data != NULL && !text_equal(names->places[at].name, name))
    at = (at + 1) & (names->capacity - 1);
  return &names->places[at];
}

bool step_names_add(struct step_names *names, struct text name, size_t step)
{
  struct step_name *place = place_of(names, name);
  if (place->name.data != NULL)
    return false;
  *place = (struct step_name){.name = name, .step = step};
  return true;
}

const struct step_name *step_names_find(const struct step_names *names, struct text name)
{
  const struct step_name *place = place_of(names, name);
  return place->name.data != NULL ? place : NULL;
}
