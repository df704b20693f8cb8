/* Slots that are reserved for results. */
#include "tests/unit/jni/objects/tables.h"

struct bench {
  struct jvm_objects *objects;
  struct jvm_stored stored;
  struct owner owner;
  struct jp_error error;
};

static struct bench *create(size_t max)
{
  struct bench *bench = test_calloc(1, sizeof *bench);
  bench->objects = new_table(max);
  jvm_objects_set_owner(bench->objects, &OWNER, &bench->owner);
  return bench;
}

static void destroy(struct bench *bench)
{
  jvm_objects_destroy(the_thread, bench->objects);
  assert_int_equal(bench->owner.inside, 0);
  jvm_stored_fini(&bench->stored);
  test_free(bench);
}

/* Stores a new object; stored NULL: the caller has no reservation. */
static enum jp_status put_new(struct bench *bench, struct jvm_stored *stored)
{
  uint32_t ref;
  jobject object = new_object();
  enum jp_status status = jvm_objects_put(the_thread, bench->objects, object, 0,
                                          jvm_objects_epoch(bench->objects), stored, &ref, &bench->error);
  (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  return status;
}

static enum jp_status reserve(struct bench *bench, bool enters)
{
  return jvm_objects_reserve(the_thread, bench->objects, enters, &bench->stored, &bench->error);
}

UNIT_TEST(no_other_object_uses_a_reserved_slot)
{
  struct bench *bench = create(2);
  assert_int_equal(put_new(bench, NULL), JP_OK);
  assert_int_equal(reserve(bench, false), JP_OK);
  assert_int_equal(put_new(bench, NULL), JP_LIMIT);
  assert_string_equal(bench->error.text, "session-max-objects: the session holds 1 objects already");
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  assert_int_equal(put_new(bench, &bench->stored), JP_LIMIT); /* only one slot was reserved */
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(jvm_objects_count(bench->objects), 2);
  destroy(bench);
}

UNIT_TEST(a_full_table_reserves_no_slot)
{
  struct bench *bench = create(1);
  struct jvm_stored other = {0};
  assert_int_equal(reserve(bench, false), JP_OK);
  assert_int_equal(jvm_objects_reserve(the_thread, bench->objects, false, &other, &bench->error), JP_LIMIT);
  jvm_objects_end_reservation(bench->objects, &other);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  jvm_objects_end_reservation(bench->objects, &bench->stored); /* no slot is reserved any more */
  assert_int_equal(put_new(bench, NULL), JP_OK);
  assert_int_equal(reserve(bench, false), JP_LIMIT);
  destroy(bench);
}

UNIT_TEST(an_object_in_the_table_needs_no_slot)
{
  struct bench *bench = create(2);
  uint32_t ref;
  uint32_t again;
  jobject object = new_object();
  uint64_t epoch = jvm_objects_epoch(bench->objects);
  assert_int_equal(jvm_objects_put(the_thread, bench->objects, object, 0, epoch, NULL, &ref, NULL), JP_OK);
  assert_int_equal(reserve(bench, false), JP_OK);
  assert_int_equal(
      jvm_objects_put(the_thread, bench->objects, object, 0, epoch, &bench->stored, &again, NULL), JP_OK);
  assert_int_equal(again, ref);
  assert_true(bench->stored.has_slot);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(put_new(bench, NULL), JP_OK);
  destroy(bench);
}

UNIT_TEST(a_reservation_asks_the_owner)
{
  struct bench *bench = create(5);
  bench->owner.answer = JP_LIMIT;
  assert_int_equal(reserve(bench, true), JP_LIMIT);
  assert_string_equal(bench->error.text, "no more tables");
  assert_int_equal(reserve(bench, false), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  bench->owner = (struct owner){.answer = JP_OK};
  assert_int_equal(reserve(bench, true), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.inside, 0);
  assert_int_equal(reserve(bench, true), JP_OK);
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.asked, 2); /* the object does not enter again */
  assert_int_equal(bench->owner.inside, 1);
  assert_int_equal(reserve(bench, true), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.asked, 2); /* not if there is an object either */
  assert_true(jvm_objects_count(bench->objects) == 1);
  destroy(bench);
}

UNIT_TEST(a_table_with_only_reservations_is_unused)
{
  struct bench *bench = create(5);
  assert_int_equal(reserve(bench, true), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_true(jvm_objects_is_unused(bench->objects));
  destroy(bench);
}

/* A list's elements fill the table, and are replaced by the list itself. */
UNIT_TEST(a_roll_back_leaves_a_reserved_slot)
{
  struct bench *bench = create(2);
  assert_int_equal(reserve(bench, true), JP_OK);
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  assert_int_equal(put_new(bench, &bench->stored), JP_LIMIT);
  jvm_objects_roll_back_and_reserve(the_thread, bench->objects, &bench->stored, 0);
  assert_int_equal(jvm_objects_count(bench->objects), 0);
  bench->owner.answer = JP_LIMIT; /* the owner is not asked again */
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.asked, 1);
  assert_int_equal(bench->owner.inside, 1);
  destroy(bench);
}

UNIT_TEST(an_unused_reservation_after_a_roll_back_is_cancelled)
{
  struct bench *bench = create(1);
  assert_int_equal(put_new(bench, &bench->stored), JP_OK);
  jvm_objects_roll_back_and_reserve(the_thread, bench->objects, &bench->stored, 0);
  assert_int_equal(bench->owner.inside, 1);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.inside, 0);
  assert_int_equal(put_new(bench, NULL), JP_OK);
  destroy(bench);
}

UNIT_TEST(a_deleted_session_keeps_the_count)
{
  struct bench *bench = create(1);
  assert_int_equal(reserve(bench, true), JP_OK);
  jvm_objects_clear(the_thread, bench->objects);
  assert_int_equal(put_new(bench, NULL), JP_LIMIT);
  jvm_objects_end_reservation(bench->objects, &bench->stored);
  assert_int_equal(bench->owner.inside, 0);
  assert_int_equal(put_new(bench, NULL), JP_OK);
  destroy(bench);
}

JVM_MAIN(NULL, NULL)
