#include "rpc/callbacks/callback_records.h"

#include "tests/unit/unit.h"

static void test_records_are_found_by_their_id(void **state)
{
  struct callback_records records = {.count = 0};
  (void)state;
  assert_null(callback_records_find(&records, 7));
  struct callback_record *seven = callback_records_make(&records, 7);
  assert_non_null(seven);
  assert_int_equal(seven->id, 7);
  assert_int_equal(seven->given + seven->in_hand + seven->proxy, 0);
  assert_ptr_equal(callback_records_make(&records, 7), seven);
  struct callback_record *largest = callback_records_make(&records, INT64_MAX);
  assert_ptr_equal(callback_records_find(&records, INT64_MAX), largest);
  assert_int_equal(records.count, 2);
  callback_records_remove(&records, seven);
  assert_null(callback_records_find(&records, 7));
  assert_ptr_equal(callback_records_find(&records, INT64_MAX), largest);
  callback_records_fini(&records);
  assert_int_equal(records.count, 0);
}

/* More than there are buckets at first, and IDs that differ in their upper bits alone. */
static void test_many_records(void **state)
{
  enum { RECORDS = 5000 };
  struct callback_records records = {.count = 0};
  (void)state;
  for (int64_t i = 1; i <= RECORDS; i++)
    callback_records_make(&records, i << 40)->given = (uint64_t)i;
  assert_int_equal(records.count, RECORDS);
  for (int64_t i = 1; i <= RECORDS; i += 2)
    callback_records_remove(&records, callback_records_find(&records, i << 40));
  assert_int_equal(records.count, RECORDS / 2);
  for (int64_t i = 1; i <= RECORDS; i++) {
    const struct callback_record *record = callback_records_find(&records, i << 40);
    assert_int_equal(record == NULL, i % 2);
    if (record != NULL)
      assert_int_equal(record->given, i);
  }
  callback_records_fini(&records);
}

static void add_given(void *context, const struct callback_record *record)
{
  *(uint64_t *)context += record->given;
}

static void test_clearing_shows_each(void **state)
{
  struct callback_records records = {.count = 0};
  uint64_t sum = 0;
  (void)state;
  callback_records_clear(&records, add_given, &sum);
  for (int64_t i = 1; i <= 20; i++)
    callback_records_make(&records, i)->given = (uint64_t)i;
  callback_records_clear(&records, add_given, &sum);
  assert_int_equal(sum, 210);
  assert_int_equal(records.count, 0);
  assert_null(callback_records_find(&records, 3));
  assert_non_null(callback_records_make(&records, 3));
  callback_records_fini(&records);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_records_are_found_by_their_id),
      cmocka_unit_test(test_many_records),
      cmocka_unit_test(test_clearing_shows_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
