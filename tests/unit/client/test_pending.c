#include "client/pending.h"

#include "tests/unit/unit.h"

#include <stdlib.h>

static void add(struct pending_table *table, uint64_t id)
{
  assert_true(pending_table_add(table, &(struct pending){.id = id, .kind = PENDING_ABANDONED}));
}

UNIT_TEST(test_add_find_remove)
{
  struct pending_table table;
  assert_true(pending_table_init(&table));
  assert_null(pending_table_find(&table, 1));
  add(&table, 1);
  add(&table, 2);
  assert_int_equal(table.count, 2);
  assert_int_equal(pending_table_find(&table, 2)->id, 2);
  pending_table_remove(&table, pending_table_find(&table, 1));
  assert_null(pending_table_find(&table, 1));
  assert_non_null(pending_table_find(&table, 2));
  pending_table_clear(&table);
  assert_int_equal(table.count, 0);
  assert_null(pending_table_find(&table, 2));
  pending_table_fini(&table);
}

/* Ids that were abandoned long ago share places with new ones. */
UNIT_TEST(test_ids_that_meet)
{
  struct pending_table table;
  assert_true(pending_table_init(&table));
  size_t capacity = table.capacity;
  for (uint64_t i = 1; i <= 5; i++) {
    add(&table, i * capacity - 1);
    add(&table, i * capacity);
  }
  assert_int_equal(table.capacity, capacity);
  pending_table_remove(&table, pending_table_find(&table, capacity - 1));
  pending_table_remove(&table, pending_table_find(&table, 3 * capacity));
  for (uint64_t i = 1; i <= 5; i++) {
    assert_int_equal(pending_table_find(&table, i * capacity - 1) != NULL, i != 1);
    assert_int_equal(pending_table_find(&table, i * capacity) != NULL, i != 3);
  }
  pending_table_fini(&table);
}

/* Against a plain array. */
UNIT_TEST(test_random_changes)
{
  enum { IDS = 3000, STEPS = 200000 };
  static bool is_there[IDS + 1];
  struct pending_table table;
  size_t count = 0;
  srand(1);
  assert_true(pending_table_init(&table));
  for (int step = 0; step < STEPS; step++) {
    uint64_t id = 1 + (uint64_t)rand() % IDS;
    struct pending *found = pending_table_find(&table, id * 64);
    assert_int_equal(found != NULL, is_there[id]);
    if (found != NULL)
      pending_table_remove(&table, found);
    else
      add(&table, id * 64);
    count += is_there[id] ? (size_t)-1 : 1;
    is_there[id] = !is_there[id];
    assert_int_equal(table.count, count);
  }
  pending_table_fini(&table);
}

UNIT_MAIN
