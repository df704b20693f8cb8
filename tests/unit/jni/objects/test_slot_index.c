#include "tests/unit/unit.h"

#include "jni/objects/slot_index.h"

enum { KEYS = 20000 };

/* Keys that share homes (a few repeat, some differ by powers of two), against a plain array. */
static uint32_t key_of(uint32_t i)
{
  return i % 3 == 0 ? i / 3 % 50 : i << (i % 13);
}

static bool has_pair(const struct slot_index *index, uint32_t key, uint32_t slot)
{
  size_t cursor = SIZE_MAX;
  uint32_t found;
  while ((found = slot_index_next(index, key, &cursor)) != SLOT_NONE) {
    if (found == slot)
      return true;
  }
  return false;
}

UNIT_TEST(keeps_every_pair)
{
  struct slot_index index = {0};
  for (uint32_t i = 0; i < KEYS; i++)
    assert_int_equal(slot_index_add(&index, key_of(i), i), JP_OK);
  for (uint32_t i = 0; i < KEYS; i++)
    assert_true(has_pair(&index, key_of(i), i));
  for (uint32_t i = 0; i < KEYS; i += 2)
    slot_index_remove(&index, key_of(i), i);
  assert_int_equal(index.count, KEYS / 2);
  for (uint32_t i = 0; i < KEYS; i++)
    assert_int_equal(has_pair(&index, key_of(i), i), i % 2);
  slot_index_fini(&index);
}

UNIT_TEST(gives_memory_back)
{
  struct slot_index index = {0};
  for (uint32_t i = 0; i < KEYS; i++)
    assert_int_equal(slot_index_add(&index, i, i), JP_OK);
  for (uint32_t i = 1; i < KEYS; i++)
    slot_index_remove(&index, i, i);
  assert_true(index.capacity <= 64);
  assert_int_equal(slot_index_find(&index, 0), 0);
  assert_int_equal(slot_index_find(&index, 1), SLOT_NONE);
  slot_index_fini(&index);
}

UNIT_TEST(an_empty_one_has_nothing)
{
  struct slot_index index = {0};
  assert_int_equal(slot_index_find(&index, 0), SLOT_NONE);
  slot_index_fini(&index);
}

UNIT_MAIN
