#include "jni/objects/stored.h"

#include <stdlib.h>

enum { FIRST_REFS = 8 };

bool stored_make_room(struct jvm_stored *stored)
{
  if (stored == NULL || stored->count < stored->capacity)
    return true;
  size_t capacity = stored->capacity == 0 ? FIRST_REFS : stored->capacity * 2;
  uint32_t *wider = reallocarray(stored->refs, capacity, sizeof *wider);
  if (wider == NULL)
    return false;
  stored->refs = wider;
  stored->capacity = capacity;
  return true;
}

void stored_note(struct jvm_stored *stored, uint32_t ref)
{
  if (stored != NULL)
    stored->refs[stored->count++] = ref;
}

void stored_drop(struct jvm_stored *stored, uint32_t ref)
{
  size_t i = stored == NULL ? 0 : stored->count;
  while (i > 0 && stored->refs[i - 1] != ref)
    i--;
  if (i > 0)
    stored->refs[i - 1] = stored->refs[--stored->count];
}

void jvm_stored_fini(struct jvm_stored *stored)
{
  free(stored->refs);
  *stored = (struct jvm_stored){0};
}
