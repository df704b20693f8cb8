#include "jni/objects/slot_index.h"

#include <assert.h>
#include <stdlib.h>

enum { SMALLEST = 16 };

void slot_index_fini(struct slot_index *index)
{
  free(index->entries);
  *index = (struct slot_index){0};
}

static size_t home_of(const struct slot_index *index, uint32_t key)
{
  /* Refs are consecutive and identity hashes use 25 to 31 bits: a multiplication spreads both (Knuth's golden
   * ratio), and the high bits are the good ones. */
  return (size_t)(((uint64_t)key * 0x9E3779B97F4A7C15u) >> 32) & (index->capacity - 1);
}

void slot_index_expect(const struct slot_index *index, uint32_t key)
{
  if (index->capacity > 0)
    __builtin_prefetch(&index->entries[home_of(index, key)], 1);
}

static void place_entry(struct slot_index *index, struct slot_entry entry)
{
  size_t at = home_of(index, entry.key);
  while (index->entries[at].slot_plus_one != 0)
    at = (at + 1) & (index->capacity - 1);
  index->entries[at] = entry;
}

static enum jp_status resize_index(struct slot_index *index, size_t capacity)
{
  struct slot_index wider = {.capacity = capacity, .count = index->count};
  wider.entries = calloc(capacity, sizeof *wider.entries);
  if (wider.entries == NULL)
    return JP_NO_MEMORY;
  for (size_t i = 0; i < index->capacity; i++) {
    if (index->entries[i].slot_plus_one != 0)
      place_entry(&wider, index->entries[i]);
  }
  free(index->entries);
  *index = wider;
  return JP_OK;
}

enum jp_status slot_index_add(struct slot_index *index, uint32_t key, uint32_t slot)
{
  if ((index->count + 1) * 3 > index->capacity * 2) {
    enum jp_status status = resize_index(index, index->capacity == 0 ? SMALLEST : index->capacity * 2);
    if (status != JP_OK)
      return status;
  }
  place_entry(index, (struct slot_entry){key, slot + 1});
  index->count++;
  return JP_OK;
}

/* Linear probing without tombstones: entries behind the gap whose probe sequence crosses it move up. */
static void close_gap(struct slot_index *index, size_t gap)
{
  size_t mask = index->capacity - 1;
  for (size_t at = (gap + 1) & mask; index->entries[at].slot_plus_one != 0; at = (at + 1) & mask) {
    size_t home = home_of(index, index->entries[at].key);
    if (((at - home) & mask) >= ((at - gap) & mask)) {
      index->entries[gap] = index->entries[at];
      gap = at;
    }
  }
  index->entries[gap] = (struct slot_entry){0};
}

void slot_index_remove(struct slot_index *index, uint32_t key, uint32_t slot)
{
  size_t at = home_of(index, key);
  while (index->entries[at].key != key || index->entries[at].slot_plus_one != slot + 1) {
    assert(index->entries[at].slot_plus_one != 0);
    at = (at + 1) & (index->capacity - 1);
  }
  close_gap(index, at);
  index->count--;
  /* If there is no memory for a smaller table, the larger one stays. */
  if (index->capacity > SMALLEST && index->count * 8 < index->capacity)
    (void)resize_index(index, index->capacity / 4 < SMALLEST ? SMALLEST : index->capacity / 4);
}

uint32_t slot_index_next(const struct slot_index *index, uint32_t key, size_t *cursor)
{
  if (index->count == 0)
    return SLOT_NONE;
  size_t mask = index->capacity - 1;
  size_t at = *cursor == SIZE_MAX ? home_of(index, key) : (*cursor + 1) & mask;
  for (; index->entries[at].slot_plus_one != 0; at = (at + 1) & mask) {
    if (index->entries[at].key == key) {
      *cursor = at;
      return index->entries[at].slot_plus_one - 1;
    }
  }
  *cursor = at == 0 ? mask : at - 1;
  return SLOT_NONE;
}

uint32_t slot_index_find(const struct slot_index *index, uint32_t key)
{
  size_t cursor = SIZE_MAX;
  return slot_index_next(index, key, &cursor);
}
