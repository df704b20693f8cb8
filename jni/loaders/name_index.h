#ifndef JPEER_JNI_LOADERS_NAME_INDEX_H
#define JPEER_JNI_LOADERS_NAME_INDEX_H
/*
 * The class loaders that may have defined a class of a name: from the name's hash to loader numbers, in eight
 * bytes for each class. Two names can have the same hash, so the caller asks each loader. Plain C without a
 * JVM and without a lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_index {
  struct name_index_entry {
    uint32_t hash;
    uint32_t loader; /* 0: the slot is free */
  } * entries;
  size_t capacity; /* a power of two, or 0 */
  size_t count;
};

/* The index begins zeroed. */
void name_index_fini(struct name_index *index);

/* True if the next name_index_add has to enlarge the table. */
bool name_index_is_full(const struct name_index *index);
/* False: memory is short, and nothing was added. */
bool name_index_add(struct name_index *index, uint32_t hash, uint32_t loader);

/* Writes the loaders of the hash in ascending order, each once, and returns their number; only the `max`
 * greatest if there are more. */
size_t name_index_find(const struct name_index *index, uint32_t hash, uint32_t *loaders, size_t max);

/* Removes the entries of some loaders, which are in ascending order. Resizes the table to twice the remaining
 * entries, so that the next removal is not needed soon. */
void name_index_drop(struct name_index *index, const uint32_t *loaders, size_t count);

#endif
