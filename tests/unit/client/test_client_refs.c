#include "client/client_refs.h"

#include "tests/unit/unit.h"

static struct jp_ref *receive_ref(struct ref_table *table, uint32_t number)
{
  struct jp_ref *ref = table->refs.receive(&table->refs, number, TEXT("java.util.ArrayList"));
  assert_non_null(ref);
  assert_int_equal(ref->number, number);
  return ref;
}

UNIT_TEST(test_counts)
{
  struct ref_table table;
  struct message_release release;
  ref_table_init(&table, NULL);
  struct jp_ref *ref = receive_ref(&table, 42);
  assert_string_equal(ref->type, "java.util.ArrayList");
  assert_ptr_equal(receive_ref(&table, 42), ref);
  assert_int_equal(table.held, 1);
  ref_table_release(&table, ref);
  assert_int_equal(ref_table_pop_releases(&table, &release, 1), 0);
  ref_table_release(&table, ref);
  assert_int_equal(table.held, 0);
  assert_int_equal(table.releases, 1);
  assert_int_equal(ref_table_pop_releases(&table, &release, 1), 1);
  assert_int_equal(release.ref, 42);
  assert_int_equal(release.sent_count, 2);
  assert_int_equal(table.count, 0);
  ref_table_fini(&table);
}

/* A ref in the list of releases that is sent again leaves the list. */
UNIT_TEST(test_a_ref_that_is_sent_again_is_not_released)
{
  struct ref_table table;
  struct message_release releases[8];
  ref_table_init(&table, NULL);
  for (uint32_t number = 1; number <= 3; number++)
    ref_table_release(&table, receive_ref(&table, number));
  struct jp_ref *ref = receive_ref(&table, 2);
  assert_int_equal(table.held, 1);
  assert_int_equal(ref_table_pop_releases(&table, releases, 8), 2);
  assert_int_equal(releases[0].ref, 1);
  assert_int_equal(releases[1].ref, 3);
  ref_table_release(&table, ref);
  assert_int_equal(ref_table_pop_releases(&table, releases, 8), 1);
  assert_int_equal(releases[0].sent_count, 2);
  ref_table_fini(&table);
}

UNIT_TEST(test_all_sent_references)
{
  enum { REFS = 100, AT_ONCE = 7 };
  struct ref_table table;
  struct jp_ref *refs[REFS];
  struct message_release releases[AT_ONCE];
  bool seen[REFS + 1] = {false};
  ref_table_init(&table, NULL);
  for (uint32_t i = 0; i < REFS; i++)
    refs[i] = receive_ref(&table, i + 1);
  ref_table_release(&table, refs[0]);
  size_t from = 0;
  size_t count;
  size_t all = 0;
  while ((count = ref_table_pop_sent_counts(&table, &from, releases, AT_ONCE)) > 0) {
    all += count;
    for (size_t i = 0; i < count; i++) {
      assert_false(seen[releases[i].ref]);
      seen[releases[i].ref] = true;
    }
  }
  assert_int_equal(all, REFS);
  for (uint32_t i = 1; i < REFS; i++)
    ref_table_release(&table, refs[i]);
  assert_int_equal(ref_table_pop_releases(&table, releases, AT_ONCE), 0);
  assert_int_equal(table.count, 0);
  ref_table_fini(&table);
}

UNIT_TEST(test_many)
{
  enum { REFS = 20000 };
  struct ref_table table;
  struct jp_ref **refs = test_malloc(REFS * sizeof(struct jp_ref *));
  struct message_release release;
  ref_table_init(&table, NULL);
  for (uint32_t i = 0; i < REFS; i++)
    refs[i] = receive_ref(&table, i * 8);
  for (uint32_t i = 0; i < REFS; i += 2)
    ref_table_release(&table, refs[i]);
  for (uint32_t i = 0; i < REFS; i += 2) {
    assert_int_equal(ref_table_pop_releases(&table, &release, 1), 1);
    assert_int_equal(release.ref, i * 8);
  }
  for (uint32_t i = 1; i < REFS; i += 2) {
    assert_ptr_equal(receive_ref(&table, i * 8), refs[i]);
    ref_table_release(&table, refs[i]);
  }
  assert_int_equal(table.held, REFS / 2);
  for (uint32_t i = 1; i < REFS; i += 2)
    ref_table_release(&table, refs[i]);
  test_free(refs);
  ref_table_fini(&table);
}

/* In another epoch the same numbers belong to other objects. */
UNIT_TEST(another_epoch_makes_other_refs)
{
  struct ref_table table;
  struct message_release releases[8];
  ref_table_init(&table, NULL);
  ref_table_enter_epoch(&table, 5);
  struct jp_ref *old = receive_ref(&table, 1);
  ref_table_release(&table, receive_ref(&table, 2)); /* is in the list of releases */
  ref_table_enter_epoch(&table, 5);
  assert_ptr_equal(receive_ref(&table, 1), old);
  assert_int_equal(old->epoch, 5);
  ref_table_enter_epoch(&table, 6);
  assert_int_equal(old->epoch, EPOCH_ENDED);
  assert_int_equal(jp_ref_epoch(old), 5);
  assert_int_equal(table.releases, 0);
  assert_int_equal(table.held, 1);
  struct jp_ref *made = receive_ref(&table, 1);
  assert_ptr_not_equal(made, old);
  assert_int_equal(made->epoch, 6);
  assert_int_equal(table.held, 2);
  ref_table_release(&table, old);
  assert_int_equal(table.held, 2);
  ref_table_release(&table, old);
  assert_int_equal(table.held, 1);
  assert_int_equal(ref_table_pop_releases(&table, releases, 8), 0);
  ref_table_enter_epoch(&table, 5); /* an earlier peer, as with a proxy before two peers */
  struct jp_ref *again = receive_ref(&table, 1);
  ref_table_release(&table, made);
  assert_int_equal(ref_table_pop_releases(&table, releases, 8), 0);
  ref_table_release(&table, again);
  assert_int_equal(ref_table_pop_releases(&table, releases, 8), 1);
  assert_int_equal(releases[0].sent_count, 1);
  ref_table_fini(&table);
}

UNIT_TEST(reads_epochs)
{
  assert_int_equal(ref_epoch_parse(TEXT("00000000000000a9")), 0xa9);
  assert_int_equal(ref_epoch_parse(TEXT("fedcba9876543210")), 0xfedcba9876543210);
  static const char *const wrong[] = {"",
                                      "1",
                                      "0000000000000000",
                                      "ffffffffffffffff",
                                      "00000000000000g0",
                                      "FEDCBA9876543210",
                                      "00000000000000a90"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    assert_int_equal(ref_epoch_parse(text_of(wrong[i])), EPOCH_UNKNOWN);
  assert_int_equal(ref_epoch_parse(TEXT_ABSENT), EPOCH_UNKNOWN);
}

UNIT_MAIN
