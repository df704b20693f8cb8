#include "base/hash_index.h"

#include "tests/unit/unit.h"

enum { HASHES = 20000 };

/* Compares the index with a plain array. The hashes share places: a few repeat, and some differ by powers of
 * two. */
static uint32_t hash_of(uint32_t i)
{
  return i % 3 == 0 ? i / 3 % 50 : i << (i % 13);
}

static uint32_t find_first(const struct hash_index *index, uint32_t hash)
{
  size_t cursor = SIZE_MAX;
  return hash_index_next(index, hash, &cursor);
}

static bool has_pair(const struct hash_index *index, uint32_t hash, uint32_t number)
{
  size_t cursor = SIZE_MAX;
  uint32_t found;
  while ((found = hash_index_next(index, hash, &cursor)) != HASH_INDEX_NONE) {
    if (found == number)
      return true;
  }
  return false;
}

UNIT_TEST(keeps_every_pair)
{
  struct hash_index index = {0};
  for (uint32_t i = 0; i < HASHES; i++)
    assert_int_equal(hash_index_add(&index, hash_of(i), i), JP_OK);
  for (uint32_t i = 0; i < HASHES; i++)
    assert_true(has_pair(&index, hash_of(i), i));
  for (uint32_t i = 0; i < HASHES; i += 2)
    hash_index_remove(&index, hash_of(i), i);
  assert_int_equal(index.count, HASHES / 2);
  for (uint32_t i = 0; i < HASHES; i++)
    assert_int_equal(has_pair(&index, hash_of(i), i), i % 2);
  hash_index_fini(&index);
}

UNIT_TEST(frees_memory)
{
  struct hash_index index = {0};
  for (uint32_t i = 0; i < HASHES; i++)
    assert_int_equal(hash_index_add(&index, i, i), JP_OK);
  for (uint32_t i = 1; i < HASHES; i++)
    hash_index_remove(&index, i, i);
  assert_true(index.capacity <= 64);
  assert_int_equal(find_first(&index, 0), 0);
  assert_int_equal(find_first(&index, 1), HASH_INDEX_NONE);
  hash_index_fini(&index);
}

UNIT_TEST(an_empty_buffer_has_nothing)
{
  struct hash_index index = {0};
  assert_int_equal(find_first(&index, 0), HASH_INDEX_NONE);
  hash_index_fini(&index);
}

UNIT_MAIN
