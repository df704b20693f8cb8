#include "base/array.h"

#include "tests/unit/unit.h"

#include <stdlib.h>

UNIT_TEST(keeps_items_while_it_grows_and_shrinks)
{
  enum { ITEMS = 10000 };
  struct array array;
  array_init(&array, sizeof(uint32_t));
  for (uint32_t i = 0; i < ITEMS; i += 1 + i % 3) {
    uint32_t *added = array_add(&array, 1 + i % 3);
    assert_non_null(added);
    for (uint32_t more = 0; more <= i % 3; more++)
      added[more] = i + more;
  }
  assert_true(array.count >= ITEMS && array.capacity >= array.count);
  array_shrink(&array);
  assert_int_equal(array.capacity, array.count);
  for (uint32_t i = 0; i < array.count; i++)
    assert_int_equal(((const uint32_t *)array.items)[i], i);
  array_fini(&array);
  assert_int_equal(array.count, 0);
}

UNIT_TEST(returns_a_place_even_if_nothing_is_added)
{
  struct array array;
  array_init(&array, 8);
  array_shrink(&array);
  assert_non_null(array_add(&array, 0));
  assert_int_equal(array.count, 0);
  array_fini(&array);
}

UNIT_TEST(refuses_more_than_memory_has)
{
  struct array array;
  array_init(&array, 16);
  assert_non_null(array_add(&array, 1));
  assert_null(array_add(&array, SIZE_MAX));
  assert_null(array_add(&array, SIZE_MAX - 1));
  assert_int_equal(array.count, 1);
  assert_non_null(array_add(&array, 1));
  array_fini(&array);
}

UNIT_TEST(grows_a_list_with_the_type_of_its_items)
{
  enum { ITEMS = 10000 };
  uint32_t *items = NULL;
  size_t capacity = 0;
  size_t moves = 0;
  for (uint32_t i = 0; i < ITEMS; i++) {
    size_t before = capacity;
    uint32_t *grown = array_grow(items, i, &capacity, sizeof *items);
    assert_non_null(grown);
    assert_true(capacity > i && (capacity == before) == (i < before));
    moves += capacity != before;
    items = grown;
    items[i] = i;
  }
  for (uint32_t i = 0; i < ITEMS; i++)
    assert_int_equal(items[i], i);
  assert_in_range(moves, 2, 20);
  size_t full = capacity;
  assert_null(array_grow(items, full, &capacity, SIZE_MAX / 2));
  assert_int_equal(capacity, full); /* the items are unchanged */
  assert_int_equal(items[ITEMS - 1], ITEMS - 1);
  free(items);
}

UNIT_MAIN
