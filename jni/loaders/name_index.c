#include "jni/loaders/name_index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

void name_index_fini(struct name_index *index)
{
  free(index->entries);
  *index = (struct name_index){0};
}

bool name_index_is_full(const struct name_index *index)
{
  return index->count >= index->capacity / 4 * 3;
}

static void put_entry(struct name_index *index, struct name_index_entry entry)
{
  size_t at = entry.hash & (index->capacity - 1);
  while (index->entries[at].loader != 0)
    at = (at + 1) & (index->capacity - 1);
  index->entries[at] = entry;
  index->count++;
}

/* Moves all entries into a table of another size. */
static bool resize_table(struct name_index *index, size_t capacity)
{
  struct name_index made = {.entries = calloc(capacity, sizeof *made.entries), .capacity = capacity};
  if (made.entries == NULL)
    return false;
  for (size_t i = 0; i < index->capacity; i++)
    if (index->entries[i].loader != 0)
      put_entry(&made, index->entries[i]);
  free(index->entries);
  *index = made;
  return true;
}

bool name_index_add(struct name_index *index, uint32_t hash, uint32_t loader)
{
  /* If memory is short, the last quarter of the table is used, too; one slot is always free. */
  if (name_index_is_full(index) &&
      !resize_table(index, index->capacity == 0 ? FIRST_CAPACITY : index->capacity * 2) &&
      index->count + 1 >= index->capacity)
    return false;
  put_entry(index, (struct name_index_entry){hash, loader});
  return true;
}

/* Inserts the number into an ascending list; a full list drops its least number. */
static size_t insert_loader(uint32_t *loaders, size_t count, size_t max, uint32_t loader)
{
  size_t at = count;
  while (at > 0 && loaders[at - 1] > loader)
    at--;
  if (at > 0 && loaders[at - 1] == loader)
    return count;
  if (count < max) {
    memmove(loaders + at + 1, loaders + at, (count - at) * sizeof *loaders);
    loaders[at] = loader;
    return count + 1;
  }
  if (at > 0) {
    memmove(loaders, loaders + 1, (at - 1) * sizeof *loaders);
    loaders[at - 1] = loader;
  }
  return count;
}

size_t name_index_find(const struct name_index *index, uint32_t hash, uint32_t *loaders, size_t max)
{
  size_t count = 0;
  if (index->capacity == 0)
    return 0;
  size_t at = hash & (index->capacity - 1);
  for (; index->entries[at].loader != 0; at = (at + 1) & (index->capacity - 1))
    if (index->entries[at].hash == hash)
      count = insert_loader(loaders, count, max, index->entries[at].loader);
  return count;
}

static int compare_numbers(const void *left, const void *right)
{
  const uint32_t *a = left;
  const uint32_t *b = right;
  return (*a > *b) - (*a < *b);
}

/* Entries follow the slot of their hash without a gap, so the entries after a removed entry move up. */
static void remove_entry(struct name_index *index, size_t at)
{
  size_t mask = index->capacity - 1;
  for (size_t next = (at + 1) & mask; index->entries[next].loader != 0; next = (next + 1) & mask) {
    size_t home = index->entries[next].hash & mask;
    if (((next - home) & mask) < ((next - at) & mask))
      continue; /* its own slot is after the gap */
    index->entries[at] = index->entries[next];
    at = next;
  }
  index->entries[at] = (struct name_index_entry){0};
  index->count--;
}

void name_index_drop(struct name_index *index, const uint32_t *loaders, size_t count)
{
  for (size_t at = 0; at < index->capacity;) {
    const uint32_t *loader = &index->entries[at].loader;
    if (*loader != 0 && bsearch(loader, loaders, count, sizeof *loaders, compare_numbers) != NULL)
      remove_entry(index, at); /* another entry may have moved here */
    else
      at++;
  }
  size_t capacity = FIRST_CAPACITY;
  while (index->count > capacity / 2)
    capacity *= 2;
  if (capacity > index->capacity || capacity < index->capacity / 2)
    (void)resize_table(index, capacity); /* if memory is short, the table keeps its size */
}
