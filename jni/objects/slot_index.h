#ifndef JPEER_JNI_OBJECTS_SLOT_INDEX_H
#define JPEER_JNI_OBJECTS_SLOT_INDEX_H
/*
 * A hash table from a 32-bit key to 32-bit slots; a key may have several. Knows no Java. Its one owner locks
 * it. A new one needs no memory.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot_entry {
  uint32_t key;
  uint32_t slot_plus_one; /* 0: the place is free */
};

struct slot_index {
  struct slot_entry *entries;
  size_t capacity; /* 0 or a power of two */
  size_t count;
};

enum { SLOT_NONE = UINT32_MAX };

void slot_index_fini(struct slot_index *index);

/* JP_NO_MEMORY leaves the index as it was. */
enum jp_status slot_index_add(struct slot_index *index, uint32_t key, uint32_t slot) JP_MUST_CHECK;
/* Removes the pair, which must be there. */
void slot_index_remove(struct slot_index *index, uint32_t key, uint32_t slot);

/*
 * Walks the slots of a key: *cursor starts as SIZE_MAX; returns SLOT_NONE at the end. The index must not
 * change between the steps.
 */
uint32_t slot_index_next(const struct slot_index *index, uint32_t key, size_t *cursor);

/* Prefetches the place of a key that is added soon. */
void slot_index_expect(const struct slot_index *index, uint32_t key);

/* The slot of a key that has at most one; SLOT_NONE: it has none. */
uint32_t slot_index_find(const struct slot_index *index, uint32_t key);

#endif
