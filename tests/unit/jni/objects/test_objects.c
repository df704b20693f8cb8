#include "tests/unit/jni/objects/tables.h"

#include <pthread.h>

/* Stores a new object and deletes the local reference. */
static enum jp_status put_new(struct jvm_objects *objects, uint32_t *ref, struct jp_error *error)
{
  jobject object = new_object();
  enum jp_status status =
      jvm_objects_put(the_thread, objects, object, 0, jvm_objects_epoch(objects), NULL, ref, error);
  (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  return status;
}

UNIT_TEST(unknown_refs_are_not_found)
{
  static const uint32_t refs[] = {0, 1, 2, 1024, INT32_MAX, UINT32_MAX};
  struct jvm_objects *objects = new_table(10);
  for (size_t i = 0; i < COUNT_OF(refs); i++) {
    assert_null(jvm_objects_get(the_thread, objects, refs[i], NULL));
    assert_int_equal(jvm_objects_delete(the_thread, objects, refs[i]), JP_NOT_FOUND);
  }
  jvm_objects_destroy(the_thread, objects);
  jvm_objects_destroy(the_thread, NULL);
}

UNIT_TEST(an_error_names_the_limit_and_keeps_the_objects)
{
  struct jvm_objects *objects = new_table(2);
  struct jp_error error;
  uint32_t first;
  uint32_t ref;
  assert_int_equal(put_new(objects, &first, &error), JP_OK);
  assert_int_equal(put_new(objects, &ref, &error), JP_OK);
  assert_int_equal(put_new(objects, &ref, &error), JP_LIMIT);
  assert_non_null(strstr(error.text, "session-max-objects"));
  jobject held = jvm_objects_get(the_thread, objects, first, NULL);
  assert_non_null(held);
  /* Storing an object that is held already needs no slot. */
  assert_int_equal(
      jvm_objects_put(the_thread, objects, held, 0, jvm_objects_epoch(objects), NULL, &ref, &error), JP_OK);
  assert_int_equal(ref, first);
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_OK);
  assert_int_equal(put_new(objects, &ref, &error), JP_OK);
  assert_int_equal(jvm_objects_count(objects), 2);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(the_same_object_keeps_its_ref)
{
  struct jvm_objects *objects = new_table(100);
  struct jp_error error;
  jobject object = new_object();
  uint32_t first;
  uint32_t again;
  uint32_t class_id = 0;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, NULL, &first, &error), JP_OK);
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, NULL, &again, &error), JP_OK);
  assert_int_equal(first, again);
  assert_int_equal(jvm_objects_count(objects), 1);
  jobject held = jvm_objects_get(the_thread, objects, first, &class_id);
  assert_true((*the_thread->env)->IsSameObject(the_thread->env, held, object));
  assert_int_equal(class_id, 77);
  /* A deleted ref is not used again. */
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_OK);
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_NOT_FOUND);
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, NULL, &again, &error), JP_OK);
  assert_int_not_equal(first, again);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(a_call_from_before_a_clear_stores_nothing)
{
  struct jvm_objects *objects = new_table(100);
  uint64_t epoch = jvm_objects_epoch(objects);
  uint32_t ref;
  assert_int_equal(put_new(objects, &ref, NULL), JP_OK);
  jvm_objects_clear(the_thread, objects);
  assert_null(jvm_objects_get(the_thread, objects, ref, NULL));
  jobject object = new_object();
  struct jp_error error;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 0, epoch, NULL, &ref, &error), JP_CLOSED);
  assert_int_equal(jvm_objects_count(objects), 0);
  uint32_t next;
  assert_int_equal(put_new(objects, &next, NULL), JP_OK);
  assert_int_equal(next, 2);
  jvm_objects_destroy(the_thread, objects);
}

/* A table is unused if its refs would begin at 1 and no client can know a ref. */
UNIT_TEST(a_table_is_unused_until_it_has_held_something)
{
  struct jvm_objects *objects = new_table(100);
  uint32_t ref;
  assert_true(jvm_objects_is_unused(objects));
  assert_int_equal(put_new(objects, &ref, NULL), JP_OK);
  assert_false(jvm_objects_is_unused(objects));
  assert_int_equal(jvm_objects_delete(the_thread, objects, ref), JP_OK);
  assert_false(jvm_objects_is_unused(objects));
  jvm_objects_destroy(the_thread, objects);
  objects = new_table(100);
  jvm_objects_clear(the_thread, objects);
  assert_false(jvm_objects_is_unused(objects));
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(many_come_and_go)
{
  enum { MANY = 20000 }; /* more than the small chunks of the table hold */
  static uint32_t refs[MANY];
  struct jvm_objects *objects = new_table(MANY);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < MANY; i++) {
      if (refs[i] == 0)
        assert_int_equal(put_new(objects, &refs[i], NULL), JP_OK);
    }
    for (size_t i = 0; i < MANY; i++) {
      if (i % (size_t)(round + 2) == 0)
        continue;
      assert_int_equal(jvm_objects_delete(the_thread, objects, refs[i]), JP_OK);
      refs[i] = 0;
    }
    for (size_t i = 0; i < MANY; i++) {
      jobject held = refs[i] == 0 ? NULL : jvm_objects_get(the_thread, objects, refs[i], NULL);
      assert_int_equal(held != NULL, refs[i] != 0);
      uint32_t same = refs[i];
      if (held != NULL)
        assert_int_equal(jvm_objects_put(the_thread, objects, held, 0, 0, NULL, &same, NULL), JP_OK);
      assert_int_equal(same, refs[i]);
      (*the_thread->env)->DeleteLocalRef(the_thread->env, held);
    }
  }
  jvm_objects_destroy(the_thread, objects);
}

/* First only the table holds the object, and then nothing holds the object. A weak reference shows when the
 * object is collected. */
UNIT_TEST(objects_live_as_long_as_they_are_held)
{
  JNIEnv *env = the_thread->env;
  struct jvm_objects *objects = new_table(10);
  jobject object = new_object();
  jweak weak = (*env)->NewWeakGlobalRef(env, object);
  uint32_t ref;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 0, 0, NULL, &ref, NULL), JP_OK);
  (*env)->DeleteLocalRef(env, object);
  jvm_gc(the_thread);
  assert_false((*env)->IsSameObject(env, weak, NULL));
  assert_int_equal(jvm_objects_delete(the_thread, objects, ref), JP_OK);
  jvm_gc(the_thread);
  assert_true((*env)->IsSameObject(env, weak, NULL));
  (*env)->DeleteWeakGlobalRef(env, weak);
  jvm_objects_destroy(the_thread, objects);
}

/* If the cost of one object grew with their number, ctest's timeout would end this test. */
UNIT_TEST(a_million_can_be_held)
{
  enum { MILLION = 1000000 };
  struct jvm_objects *objects = new_table(MILLION);
  uint32_t ref;
  for (int i = 0; i < MILLION; i++) {
    if (put_new(objects, &ref, NULL) != JP_OK)
      fail();
  }
  assert_int_equal(jvm_objects_count(objects), MILLION);
  jvm_objects_destroy(the_thread, objects);
}

/* ---- the owner of tables ---- */

UNIT_TEST(the_owner_is_asked_only_before_the_first_object)
{
  struct owner owner = {.answer = JP_OK};
  struct jvm_objects *objects = new_table(2);
  struct jp_error error;
  uint32_t refs[2];
  uint32_t ref;
  jvm_objects_set_owner(objects, &OWNER, &owner);
  for (int round = 1; round <= 3; round++) {
    assert_int_equal(put_new(objects, &refs[0], NULL), JP_OK);
    assert_int_equal(put_new(objects, &refs[1], NULL), JP_OK);
    assert_int_equal(put_new(objects, &ref, &error), JP_LIMIT);
    assert_int_equal(owner.asked, round);
    assert_int_equal(jvm_objects_delete(the_thread, objects, refs[0]), JP_OK);
    assert_int_equal(owner.inside, 1);
    if (round == 2)
      jvm_objects_clear(the_thread, objects);
    else
      assert_int_equal(jvm_objects_delete(the_thread, objects, refs[1]), JP_OK);
    assert_int_equal(owner.inside, 0);
  }
  owner.answer = JP_LIMIT;
  assert_int_equal(put_new(objects, &ref, &error), JP_LIMIT);
  assert_string_equal(error.text, "no more tables");
  assert_int_equal(jvm_objects_count(objects), 0);
  owner.answer = JP_OK;
  assert_int_equal(put_new(objects, &ref, NULL), JP_OK);
  assert_int_equal(ref, 7);
  jvm_objects_destroy(the_thread, objects);
  assert_int_equal(owner.inside, 0);
}

UNIT_TEST(tables_share_a_quota_that_their_objects_leave)
{
  struct quota quota = {.max = 2};
  struct jvm_objects *tables[] = {new_table(9), new_table(9)};
  struct jp_error error;
  uint32_t refs[2];
  uint32_t ref;
  for (int i = 0; i < 2; i++) {
    jvm_objects_set_quota(tables[i], &quota, "limits.objects");
    assert_int_equal(put_new(tables[i], &refs[i], NULL), JP_OK);
  }
  assert_int_equal(put_new(tables[0], &ref, &error), JP_LIMIT);
  assert_string_equal(error.text,
                      "limits.objects: the sessions of the principal hold 2 objects together already");
  assert_int_equal(jvm_objects_delete(the_thread, tables[1], refs[1]), JP_OK);
  assert_int_equal(put_new(tables[0], &ref, &error), JP_OK);
  jvm_objects_clear(the_thread, tables[0]);
  assert_int_equal(atomic_load(&quota.count), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(put_new(tables[1], &ref, NULL), JP_OK);
  for (int i = 0; i < 2; i++)
    jvm_objects_destroy(the_thread, tables[i]);
  assert_int_equal(atomic_load(&quota.count), 0);
}

/* Nothing was stored, so the table does not count. */
UNIT_TEST(the_owner_is_left_again_if_the_first_object_is_not_stored)
{
  struct owner owner = {.answer = JP_OK};
  struct jvm_objects *objects = new_table(2);
  uint64_t epoch = jvm_objects_epoch(objects);
  jvm_objects_set_owner(objects, &OWNER, &owner);
  jvm_objects_clear(the_thread, objects);
  uint32_t ref;
  assert_int_equal(jvm_objects_put(the_thread, objects, new_object(), 0, epoch, NULL, &ref, NULL), JP_CLOSED);
  assert_int_equal(owner.inside, 0);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(a_companion_stays_as_long_as_the_ref)
{
  JNIEnv *env = the_thread->env;
  struct jvm_objects *objects = new_table(10);
  uint32_t ref;
  uint32_t next;
  assert_int_equal(put_new(objects, &ref, NULL), JP_OK);
  jobject first = new_object();
  jobject second = new_object();
  assert_null(jvm_objects_companion(the_thread, objects, ref + 1, first));
  assert_true((*env)->IsSameObject(env, jvm_objects_companion(the_thread, objects, ref, first), first));
  assert_true((*env)->IsSameObject(env, jvm_objects_companion(the_thread, objects, ref, second), first));
  /* The next object has the same slot, and no companion. */
  assert_int_equal(jvm_objects_delete(the_thread, objects, ref), JP_OK);
  assert_null(jvm_objects_companion(the_thread, objects, ref, first));
  assert_int_equal(put_new(objects, &next, NULL), JP_OK);
  assert_true((*env)->IsSameObject(env, jvm_objects_companion(the_thread, objects, next, second), second));
  jvm_objects_clear(the_thread, objects);
  assert_null(jvm_objects_companion(the_thread, objects, next, first));
  jvm_objects_destroy(the_thread, objects);
}

/* The bytes of one of many tables with an object. Includes memory that the JVM's compiler allocates or frees
 * at the same time. */
static long measure_tables(void)
{
  enum { TABLES = 1000 };
  static struct jvm_objects *tables[TABLES];
  uint32_t ref;
  size_t before = unit_allocated();
  for (size_t i = 0; i < TABLES; i++) {
    tables[i] = new_table(1000);
    assert_int_equal(put_new(tables[i], &ref, NULL), JP_OK);
  }
  size_t after = unit_allocated();
  for (size_t i = 0; i < TABLES; i++)
    jvm_objects_destroy(the_thread, tables[i]);
  return ((long)after - (long)before) / TABLES;
}

/* 100,000 tables must fit into a small machine: C's part of a table with one object is below 1 KiB. */
UNIT_TEST(a_table_with_one_object_is_small)
{
  enum { ROUNDS = 20 };
  long each = measure_tables();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their allocators need more memory */
  for (int i = 1; i < ROUNDS && (each < 1 || each > 1023); i++)
    each = measure_tables();
  assert_in_range(each, 1, 1023);
#endif
  print_message("%ld bytes of a table with an object\n", each);
}

/* ---- several threads on one table ---- */

enum { SHARERS = 4, SHARED_ROUNDS = 5000 };

struct sharing {
  struct jvm_objects *objects;
  jobject common; /* global */
  pthread_barrier_t begin;
  pthread_barrier_t end;
  int faults[SHARERS];
};

struct sharer {
  struct sharing *sharing;
  int number;
};

static void share(void *argument, struct jvm_thread *thread)
{
  struct sharer *sharer = argument;
  struct sharing *sharing = sharer->sharing;
  int *faults = &sharing->faults[sharer->number];
  pthread_barrier_wait(&sharing->begin);
  for (int i = 0; i < SHARED_ROUNDS; i++) {
    jobject object = (*thread->env)->AllocObject(thread->env, thread->jvm->known.class_object);
    uint32_t ref = 0;
    uint32_t common = 0;
    *faults += jvm_objects_put(thread, sharing->objects, object, 0, 0, NULL, &ref, NULL) != JP_OK;
    *faults += jvm_objects_put(thread, sharing->objects, sharing->common, 0, 0, NULL, &common, NULL) != JP_OK;
    jobject held = jvm_objects_get(thread, sharing->objects, ref, NULL);
    *faults += !(*thread->env)->IsSameObject(thread->env, held, object);
    *faults += jvm_objects_delete(thread, sharing->objects, ref) != JP_OK;
    (*thread->env)->DeleteLocalRef(thread->env, held);
    (*thread->env)->DeleteLocalRef(thread->env, object);
  }
  pthread_barrier_wait(&sharing->end);
}

UNIT_TEST(threads_share_a_table)
{
  struct sharing sharing = {.objects = new_table(100)};
  struct owner owner = {.answer = JP_OK};
  struct sharer sharers[SHARERS];
  jvm_objects_set_owner(sharing.objects, &OWNER, &owner);
  sharing.common = (*the_thread->env)->NewGlobalRef(the_thread->env, new_object());
  pthread_barrier_init(&sharing.begin, NULL, SHARERS);
  pthread_barrier_init(&sharing.end, NULL, SHARERS + 1);
  struct jp_error error;
  for (int i = 0; i < SHARERS; i++) {
    sharers[i] = (struct sharer){&sharing, i};
    assert_int_equal(jvm_spawn(the_jvm, "sharer", share, &sharers[i], &error), JP_OK);
  }
  pthread_barrier_wait(&sharing.end);
  pthread_barrier_destroy(&sharing.begin);
  pthread_barrier_destroy(&sharing.end);
  for (int i = 0; i < SHARERS; i++)
    assert_int_equal(sharing.faults[i], 0);
  assert_int_equal(jvm_objects_count(sharing.objects), 1);
  assert_int_equal(owner.inside, 1);
  (*the_thread->env)->DeleteGlobalRef(the_thread->env, sharing.common);
  jvm_objects_destroy(the_thread, sharing.objects);
}

UNIT_TEST(too_many_values_delete_the_oldest)
{
  struct jvm_objects *objects = new_table(OBJECTS_VALUES_MAX + 100);
  struct jp_error error;
  uint32_t other;
  uint32_t refs[20];
  uint32_t ref;
  assert_int_equal(put_new(objects, &other, &error), JP_OK);
  for (int i = 0; i < OBJECTS_VALUES_MAX; i++) {
    assert_int_equal(put_new(objects, &ref, &error), JP_OK);
    jvm_objects_bound_values(the_thread, objects, ref);
    if (i < 20)
      refs[i] = ref;
  }
  assert_true(is_held(objects, refs[0]));
  assert_int_equal(jvm_objects_delete(the_thread, objects, refs[1]), JP_OK);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(put_new(objects, &ref, &error), JP_OK);
    jvm_objects_bound_values(the_thread, objects, ref);
    assert_true(is_held(objects, ref));
  }
  for (int i = 0; i < 20; i++)
    assert_int_equal(is_held(objects, refs[i]), i >= 10);
  assert_true(is_held(objects, other)); /* not sent by value */
  assert_int_equal(jvm_objects_count(objects), OBJECTS_VALUES_MAX + 1);
  jvm_objects_clear(the_thread, objects);
  assert_int_equal(put_new(objects, &ref, &error), JP_OK);
  jvm_objects_bound_values(the_thread, objects, ref);
  assert_true(is_held(objects, ref));
  jvm_objects_destroy(the_thread, objects);
}

JVM_MAIN(NULL, NULL)
