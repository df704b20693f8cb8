#ifndef JPEER_BASE_HASH_INDEX_H
#define JPEER_BASE_HASH_INDEX_H
/*
 * A hash table from 32-bit hashes to 32-bit numbers. The numbers are indexes of an array of the owner. A hash
 * may have several numbers. To find an item, the owner compares the items that have these numbers. An index
 * has one owner, which locks the index if several threads use it. An all-zero index is empty and needs no
 * memory.
 */
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct hash_index_entry {
  uint32_t hash;
  uint32_t number_plus_one; /* 0: the entry is free */
};

struct hash_index {
  struct hash_index_entry *entries;
  size_t capacity; /* 0 or a power of two */
  size_t count;
};

enum { HASH_INDEX_NONE = UINT32_MAX };

void hash_index_fini(struct hash_index *index);

/* JP_NO_MEMORY: the index is unchanged. */
enum jp_status hash_index_add(struct hash_index *index, uint32_t hash, uint32_t number) JP_MUST_CHECK;
/* Removes the pair. The pair must exist. */
void hash_index_remove(struct hash_index *index, uint32_t hash, uint32_t number);

static inline size_t hash_index_home(const struct hash_index *index, uint32_t hash)
{
  /* Keys may be consecutive numbers, or numbers of few bits. A multiplication (by Knuth's golden ratio)
   * spreads both kinds, and its high bits depend on all bits of the key. */
  return (size_t)(((uint64_t)hash * 0x9E3779B97F4A7C15u) >> 32) & (index->capacity - 1);
}

/* Walks the numbers of a hash: *cursor starts as SIZE_MAX; returns HASH_INDEX_NONE at the end. The index must not change
 * between the steps. */
static inline uint32_t hash_index_next(const struct hash_index *index, uint32_t hash, size_t *cursor)
{
  if (index->count == 0)
    return HASH_INDEX_NONE;
  size_t mask = index->capacity - 1;
  size_t at = *cursor == SIZE_MAX ? hash_index_home(index, hash) : (*cursor + 1) & mask;
  for (; index->entries[at].number_plus_one != 0; at = (at + 1) & mask) {
    if (index->entries[at].hash == hash) {
      *cursor = at;
      return index->entries[at].number_plus_one - 1;
    }
  }
  *cursor = at == 0 ? mask : at - 1;
  return HASH_INDEX_NONE;
}

/* Prefetches the memory of a hash that the owner will soon look up or add. */
void hash_index_expect(const struct hash_index *index, uint32_t hash);

#endif
