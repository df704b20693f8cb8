#include "tests/unit/unit.h"

#include "jni/loaders/name_index.h"

enum { NAMES = 20000, LOADERS = 50, FOUND_MAX = 8 };

/* Names with two loaders each, and hashes in a narrow range. */
static uint32_t hash_of(uint32_t i)
{
  return i % 5 == 0 ? UINT32_MAX - i / 7 : i * 3;
}

static uint32_t loader_of(uint32_t i, uint32_t which)
{
  return 1 + (i + which * 7) % LOADERS;
}

static void fill_index(struct name_index *index)
{
  for (uint32_t i = 0; i < NAMES; i++)
    for (uint32_t which = 0; which < 2; which++)
      assert_true(name_index_add(index, hash_of(i), loader_of(i, which)));
}

static bool has_loader(const struct name_index *index, uint32_t hash, uint32_t loader)
{
  uint32_t found[LOADERS];
  size_t count = name_index_find(index, hash, found, LOADERS);
  for (size_t i = 0; i < count; i++) {
    assert_true(i == 0 || found[i] > found[i - 1]);
    if (found[i] == loader)
      return true;
  }
  return false;
}

UNIT_TEST(every_name_is_found)
{
  struct name_index index = {0};
  uint32_t found[FOUND_MAX];
  assert_int_equal(name_index_find(&index, 1, found, FOUND_MAX), 0);
  fill_index(&index);
  for (uint32_t i = 0; i < NAMES; i++)
    for (uint32_t which = 0; which < 2; which++)
      assert_true(has_loader(&index, hash_of(i), loader_of(i, which)));
  assert_int_equal(name_index_find(&index, 3 * NAMES + 1, found, FOUND_MAX), 0);
  assert_in_range(index.capacity, 2 * NAMES, 4 * NAMES);
  name_index_fini(&index);
}

UNIT_TEST(the_greatest_loader_numbers_are_found)
{
  struct name_index index = {0};
  const uint32_t added[] = {9, 2, 7, 2, 30, 4, 9, 11};
  for (size_t i = 0; i < COUNT_OF(added); i++)
    assert_true(name_index_add(&index, 77, added[i]));
  uint32_t found[FOUND_MAX];
  assert_int_equal(name_index_find(&index, 77, found, FOUND_MAX), 6);
  assert_int_equal(found[0], 2);
  assert_int_equal(found[5], 30);
  assert_int_equal(name_index_find(&index, 77, found, 3), 3);
  assert_int_equal(found[0], 9);
  assert_int_equal(found[1], 11);
  assert_int_equal(found[2], 30);
  name_index_fini(&index);
}

UNIT_TEST(removed_loaders_leave_the_others)
{
  struct name_index index = {0};
  uint32_t dead[LOADERS];
  size_t dead_count = 0;
  fill_index(&index);
  for (uint32_t loader = 1; loader <= LOADERS; loader++)
    if (loader % 3 != 0)
      dead[dead_count++] = loader;
  name_index_drop(&index, dead, dead_count);
  size_t left = 0;
  for (uint32_t i = 0; i < NAMES; i++)
    for (uint32_t which = 0; which < 2; which++) {
      uint32_t loader = loader_of(i, which);
      left += loader % 3 == 0;
      assert_true(has_loader(&index, hash_of(i), loader) == (loader % 3 == 0));
    }
  assert_int_equal(index.count, left);
  name_index_fini(&index);
}

UNIT_TEST(an_empty_index_is_small_again)
{
  struct name_index index = {0};
  uint32_t all[LOADERS];
  for (uint32_t i = 0; i < LOADERS; i++)
    all[i] = i + 1;
  fill_index(&index);
  name_index_drop(&index, all, LOADERS);
  assert_int_equal(index.count, 0);
  assert_int_equal(index.capacity, 1024);
  fill_index(&index);
  assert_true(has_loader(&index, hash_of(5), loader_of(5, 0)));
  name_index_fini(&index);
}

UNIT_MAIN
