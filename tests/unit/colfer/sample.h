#ifndef JPEER_TESTS_UNIT_COLFER_SAMPLE_H
#define JPEER_TESTS_UNIT_COLFER_SAMPLE_H
/* A struct of any type with a value in every one of its fields, made by its table. */
#include "colfer/messages.h"

/* Structs inside, lists of two and texts are in the arena. A struct that may be inside itself is so once more. */
void *sample_struct(const struct colfer_type *type, struct arena *arena);

/* Every type of colfer/messages.h. */
extern const struct colfer_type *const sample_types[];
extern const size_t sample_type_count;

#endif
