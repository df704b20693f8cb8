#include "base/hash_index.h"

#include <assert.h>
#include <stdlib.h>

enum { SMALLEST = 16 };

void hash_index_fini(struct hash_index *index)
{
  free(index->entries);
  *index = (struct hash_index){0};
}

void hash_index_expect(const struct hash_index *index, uint32_t hash)
{
  if (index->capacity > 0)
    __builtin_prefetch(&index->entries[hash_index_home(index, hash)], 1);
}

static void place_entry(struct hash_index *index, struct hash_index_entry entry)
{
  size_t at = hash_index_home(index, entry.hash);
  while (index->entries[at].number_plus_one != 0)
    at = (at + 1) & (index->capacity - 1);
  index->entries[at] = entry;
}

static enum jp_status resize_index(struct hash_index *index, size_t capacity)
{
  struct hash_index wider = {.capacity = capacity, .count = index->count};
  wider.entries = calloc(capacity, sizeof *wider.entries);
  if (wider.entries == NULL)
    return JP_NO_MEMORY;
  for (size_t i = 0; i < index->capacity; i++) {
    if (index->entries[i].number_plus_one != 0)
      place_entry(&wider, index->entries[i]);
  }
  free(index->entries);
  *index = wider;
  return JP_OK;
}

enum jp_status hash_index_add(struct hash_index *index, uint32_t hash, uint32_t number)
{
  if ((index->count + 1) * 3 > index->capacity * 2) {
    enum jp_status status = resize_index(index, index->capacity == 0 ? SMALLEST : index->capacity * 2);
    if (status != JP_OK)
      return status;
  }
  place_entry(index, (struct hash_index_entry){hash, number + 1});
  index->count++;
  return JP_OK;
}

/* Linear probing without tombstones: an entry after the gap moves into the gap if its probe sequence crosses
 * the gap. */
static void close_gap(struct hash_index *index, size_t gap)
{
  size_t mask = index->capacity - 1;
  for (size_t at = (gap + 1) & mask; index->entries[at].number_plus_one != 0; at = (at + 1) & mask) {
    size_t home = hash_index_home(index, index->entries[at].hash);
    if (((at - home) & mask) >= ((at - gap) & mask)) {
      index->entries[gap] = index->entries[at];
      gap = at;
    }
  }
  index->entries[gap] = (struct hash_index_entry){0};
}

static void shrink_index(struct hash_index *index)
{
  /* If there is no memory for a smaller table, the larger table is kept. */
  if (index->capacity > SMALLEST && index->count * 8 < index->capacity)
    (void)resize_index(index, index->capacity / 4 < SMALLEST ? SMALLEST : index->capacity / 4);
}

void hash_index_remove(struct hash_index *index, uint32_t hash, uint32_t number)
{
  size_t at = hash_index_home(index, hash);
  while (index->entries[at].hash != hash || index->entries[at].number_plus_one != number + 1) {
    assert(index->entries[at].number_plus_one != 0);
    at = (at + 1) & (index->capacity - 1);
  }
  close_gap(index, at);
  index->count--;
  shrink_index(index);
}
