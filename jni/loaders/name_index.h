#ifndef JPEER_JNI_LOADERS_NAME_INDEX_H
#define JPEER_JNI_LOADERS_NAME_INDEX_H
/*
 * Which class loaders may have defined a class of a name: the hash of the name to numbers of loaders, in eight
 * bytes a class. Two names can share a hash, so that the caller asks each loader. Plain C without a JVM and
 * without a lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_index {
  struct name_index_entry {
    uint32_t hash;
    uint32_t loader; /* 0: the place is free */
  } * entries;
  size_t capacity; /* a power of two, or 0 */
  size_t count;
};

/* Begins zeroed. */
void name_index_fini(struct name_index *index);

/* True where the next name_index_add makes room first. */
bool name_index_is_full(const struct name_index *index);
/* False: memory is short, and nothing was added. */
bool name_index_add(struct name_index *index, uint32_t hash, uint32_t loader);

/* Writes the loaders of the hash in ascending order, each once, and returns their number: the `max` greatest
 * where there are more. */
size_t name_index_find(const struct name_index *index, uint32_t hash, uint32_t *loaders, size_t max);

/* Drops the entries of some loaders, which stand in ascending order. Leaves room for as many as are left, so that
 * it is not needed again soon. */
void name_index_drop(struct name_index *index, const uint32_t *loaders, size_t count);

#endif
