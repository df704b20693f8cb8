#include "tests/unit/unit.h"

#include "base/clock.h"
#include "jni/internal/object_table.h"
#include "jni/internal/strings.h"
#include "jni/internal/throwables.h"
#include "tests/unit/jni/with_jvm.h"

#include <pthread.h>

static struct jvm *the_jvm;
static struct jvm_thread *the_thread;

static jobject new_object(struct jvm_thread *thread)
{
  jobject object = (*thread->env)->AllocObject(thread->env, thread->jvm->known.class_object);
  assert_false(throwable_take(thread, NULL));
  return object;
}

static struct jvm_objects *new_table(size_t max)
{
  struct jvm_objects *objects;
  assert_int_equal(jvm_objects_create(max, &objects), JP_OK);
  return objects;
}

/* Puts a new object and drops the local reference. */
static enum jp_status put_new(struct jvm_objects *objects, uint32_t *ref, struct jp_error *error)
{
  jobject object = new_object(the_thread);
  enum jp_status status =
      jvm_objects_put(the_thread, objects, object, 0, jvm_objects_epoch(objects), ref, error);
  (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  return status;
}

static void unknown_refs_are_not_found(void **state)
{
  (void)state;
  static const uint32_t refs[] = {0, 1, 2, 1024, INT32_MAX, UINT32_MAX};
  struct jvm_objects *objects = new_table(10);
  for (size_t i = 0; i < COUNT_OF(refs); i++) {
    assert_null(jvm_objects_get(the_thread, objects, refs[i], NULL));
    assert_int_equal(jvm_objects_delete(the_thread, objects, refs[i]), JP_NOT_FOUND);
  }
  jvm_objects_destroy(the_thread, objects);
  jvm_objects_destroy(the_thread, NULL);
}

static void the_limit_is_named_and_leaves_the_rest(void **state)
{
  (void)state;
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
  /* What is held already needs no more room. */
  assert_int_equal(jvm_objects_put(the_thread, objects, held, 0, jvm_objects_epoch(objects), &ref, &error),
                   JP_OK);
  assert_int_equal(ref, first);
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_OK);
  assert_int_equal(put_new(objects, &ref, &error), JP_OK);
  assert_int_equal(jvm_objects_count(objects), 2);
  jvm_objects_destroy(the_thread, objects);
}

static void the_same_object_keeps_its_ref(void **state)
{
  (void)state;
  struct jvm_objects *objects = new_table(100);
  struct jp_error error;
  jobject object = new_object(the_thread);
  uint32_t first;
  uint32_t again;
  uint32_t class_id = 0;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, &first, &error), JP_OK);
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, &again, &error), JP_OK);
  assert_int_equal(first, again);
  assert_int_equal(jvm_objects_count(objects), 1);
  jobject held = jvm_objects_get(the_thread, objects, first, &class_id);
  assert_true((*the_thread->env)->IsSameObject(the_thread->env, held, object));
  assert_int_equal(class_id, 77);
  /* A ref that was given back is not given again. */
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_OK);
  assert_int_equal(jvm_objects_delete(the_thread, objects, first), JP_NOT_FOUND);
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 77, 0, &again, &error), JP_OK);
  assert_int_not_equal(first, again);
  jvm_objects_destroy(the_thread, objects);
}

static void a_call_from_before_a_clear_stores_nothing(void **state)
{
  (void)state;
  struct jvm_objects *objects = new_table(100);
  uint64_t epoch = jvm_objects_epoch(objects);
  uint32_t ref;
  assert_int_equal(put_new(objects, &ref, NULL), JP_OK);
  jvm_objects_clear(the_thread, objects);
  assert_null(jvm_objects_get(the_thread, objects, ref, NULL));
  jobject object = new_object(the_thread);
  struct jp_error error;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 0, epoch, &ref, &error), JP_CLOSED);
  assert_int_equal(jvm_objects_count(objects), 0);
  uint32_t next;
  assert_int_equal(put_new(objects, &next, NULL), JP_OK);
  assert_int_equal(next, 2);
  jvm_objects_destroy(the_thread, objects);
}

/* Whether its numbers would begin at 1 and nobody could have seen it. */
static void a_table_is_unused_until_it_has_held_something(void **state)
{
  (void)state;
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

static void many_come_and_go(void **state)
{
  (void)state;
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
        assert_int_equal(jvm_objects_put(the_thread, objects, held, 0, 0, &same, NULL), JP_OK);
      assert_int_equal(same, refs[i]);
      (*the_thread->env)->DeleteLocalRef(the_thread->env, held);
    }
  }
  jvm_objects_destroy(the_thread, objects);
}

/* Only the table holds the object, then nothing: a weak reference tells. */
static void objects_live_as_long_as_they_are_held(void **state)
{
  (void)state;
  JNIEnv *env = the_thread->env;
  struct jvm_objects *objects = new_table(10);
  jobject object = new_object(the_thread);
  jweak weak = (*env)->NewWeakGlobalRef(env, object);
  uint32_t ref;
  assert_int_equal(jvm_objects_put(the_thread, objects, object, 0, 0, &ref, NULL), JP_OK);
  (*env)->DeleteLocalRef(env, object);
  jvm_gc(the_thread);
  assert_false((*env)->IsSameObject(env, weak, NULL));
  assert_int_equal(jvm_objects_delete(the_thread, objects, ref), JP_OK);
  jvm_gc(the_thread);
  assert_true((*env)->IsSameObject(env, weak, NULL));
  (*env)->DeleteWeakGlobalRef(env, weak);
  jvm_objects_destroy(the_thread, objects);
}

/* Were the cost of one to grow with their number, ctest's timeout would say so; the figures are for the
 * reader. */
static void a_million_can_be_held(void **state)
{
  (void)state;
  enum { MILLION = 1000000, PART = 100000 };
  struct jvm_objects *objects = new_table(MILLION);
  int64_t slowest = 0;
  int64_t first = 0;
  for (int part = 0; part < MILLION / PART; part++) {
    int64_t start = clock_now_ns();
    uint32_t ref;
    for (int i = 0; i < PART; i++) {
      if (put_new(objects, &ref, NULL) != JP_OK)
        fail();
    }
    int64_t taken = clock_now_ns() - start;
    if (part == 0)
      first = taken;
    if (taken > slowest)
      slowest = taken;
  }
  print_message("%d objects: first part %lld ns each, slowest part %lld ns each\n", MILLION,
                (long long)first / PART, (long long)slowest / PART);
  assert_int_equal(jvm_objects_count(objects), MILLION);
  jvm_objects_destroy(the_thread, objects);
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
    *faults += jvm_objects_put(thread, sharing->objects, object, 0, 0, &ref, NULL) != JP_OK;
    *faults += jvm_objects_put(thread, sharing->objects, sharing->common, 0, 0, &common, NULL) != JP_OK;
    jobject held = jvm_objects_get(thread, sharing->objects, ref, NULL);
    *faults += !(*thread->env)->IsSameObject(thread->env, held, object);
    *faults += jvm_objects_delete(thread, sharing->objects, ref) != JP_OK;
    (*thread->env)->DeleteLocalRef(thread->env, held);
    (*thread->env)->DeleteLocalRef(thread->env, object);
  }
  pthread_barrier_wait(&sharing->end);
}

static void threads_share_a_table(void **state)
{
  (void)state;
  struct sharing sharing = {.objects = new_table(100)};
  struct sharer sharers[SHARERS];
  sharing.common = (*the_thread->env)->NewGlobalRef(the_thread->env, new_object(the_thread));
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
  (*the_thread->env)->DeleteGlobalRef(the_thread->env, sharing.common);
  jvm_objects_destroy(the_thread, sharing.objects);
}

static int run_all(struct jvm *jvm, struct jvm_thread *thread)
{
  the_jvm = jvm;
  the_thread = thread;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unknown_refs_are_not_found),
      cmocka_unit_test(the_limit_is_named_and_leaves_the_rest),
      cmocka_unit_test(the_same_object_keeps_its_ref),
      cmocka_unit_test(a_call_from_before_a_clear_stores_nothing),
      cmocka_unit_test(objects_live_as_long_as_they_are_held),
      cmocka_unit_test(a_table_is_unused_until_it_has_held_something),
      cmocka_unit_test(many_come_and_go),
      cmocka_unit_test(threads_share_a_table),
      cmocka_unit_test(a_million_can_be_held),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
  return with_jvm(run_all);
}
