/* Sent counts of refs, and the objects that they keep. */
#include "tests/unit/jni/objects/tables.h"

#include <pthread.h>

static uint32_t tell(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                     struct jvm_stored *stored)
{
  uint32_t ref;
  assert_int_equal(
      jvm_objects_put(thread, objects, object, 0, jvm_objects_epoch(objects), stored, &ref, NULL), JP_OK);
  return ref;
}

static void forget(struct jvm_objects *objects, uint32_t ref, uint32_t count)
{
  jvm_objects_forget(the_thread, objects, ref, count);
}

/* ---- releasing ---- */

UNIT_TEST(an_object_goes_with_its_last_telling)
{
  struct jvm_objects *objects = new_table(10);
  jobject object = new_object();
  uint32_t ref = tell(the_thread, objects, object, NULL);
  assert_int_equal(tell(the_thread, objects, object, NULL), ref);
  assert_int_equal(jvm_objects_tell(objects, ref, NULL), JP_OK);
  forget(objects, ref, 2);
  assert_true(is_held(objects, ref));
  forget(objects, ref, 1);
  assert_false(is_held(objects, ref));
  assert_int_equal(jvm_objects_tell(objects, ref, NULL), JP_NOT_FOUND);
  forget(objects, ref, 1); /* has no effect */
  /* A new ref begins with a sent count of 1, whatever an earlier ref of the object had. */
  uint32_t next = tell(the_thread, objects, object, NULL);
  assert_int_not_equal(next, ref);
  forget(objects, ref, UINT32_MAX);
  assert_true(is_held(objects, next));
  forget(objects, next, 1);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(more_than_are_left_are_all)
{
  static const uint32_t counts[] = {3, 1000, (uint32_t)INT32_MAX + 1, UINT32_MAX};
  struct jvm_objects *objects = new_table(10);
  for (size_t i = 0; i < COUNT_OF(counts); i++) {
    jobject object = new_object();
    uint32_t ref = tell(the_thread, objects, object, NULL);
    tell(the_thread, objects, object, NULL);
    forget(objects, ref, counts[i]);
    assert_int_equal(jvm_objects_count(objects), 0);
  }
  jvm_objects_destroy(the_thread, objects);
}

/* The true count is unknown, so the object is kept rather than lost. */
UNIT_TEST(a_full_count_ends_with_all_of_it_alone)
{
  assert_int_equal(tellings_add(TOLD_MAX - 2), TOLD_MAX - 1);
  assert_int_equal(tellings_remove(TOLD_MAX - 1, 1), TOLD_MAX - 2);
  assert_int_equal(tellings_add(TOLD_MAX - 1), TOLD_MAX);
  assert_int_equal(tellings_add(TOLD_MAX), TOLD_MAX);
  assert_int_equal(tellings_remove(TOLD_MAX, 1), TOLD_MAX);
  assert_int_equal(tellings_remove(TOLD_MAX, UINT32_MAX - 1), TOLD_MAX);
  assert_int_equal(tellings_remove(TOLD_MAX, UINT32_MAX), 0);
}

/* ---- rolling back ---- */

UNIT_TEST(what_was_told_is_taken_back_as_often)
{
  enum { MANY = 100, EACH = 3 };
  struct jvm_objects *objects = new_table(1000);
  struct jvm_stored stored = {0};
  jobject held = new_object();
  uint32_t first = tell(the_thread, objects, held, NULL);
  for (size_t i = 0; i < MANY; i++) {
    assert_int_equal(tell(the_thread, objects, held, &stored), first);
    assert_false(stored.is_new);
    jobject object = new_object();
    tell(the_thread, objects, object, &stored);
    assert_true(stored.is_new);
    tell(the_thread, objects, object, &stored);
    assert_false(stored.is_new);
    (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  }
  assert_int_equal(stored.count, EACH * MANY);
  jvm_objects_take_back(the_thread, objects, &stored, EACH * MANY - 1);
  assert_int_equal(jvm_objects_count(objects), 1 + MANY); /* the last object was sent twice */
  jvm_objects_take_back(the_thread, objects, &stored, (size_t)EACH * (MANY - 10));
  assert_int_equal(jvm_objects_count(objects), 1 + MANY - 10);
  assert_int_equal(jvm_objects_delete(the_thread, objects, stored.refs[1]), JP_OK);
  jvm_objects_take_back(the_thread, objects, &stored, 0);
  assert_int_equal(jvm_objects_count(objects), 1);
  forget(objects, first, 1);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(one_telling_alone_can_be_taken_back)
{
  struct jvm_objects *objects = new_table(10);
  struct jvm_stored stored = {0};
  jobject two[] = {new_object(), new_object()};
  uint32_t held = tell(the_thread, objects, two[0], NULL);
  tell(the_thread, objects, two[0], &stored);
  uint32_t other = tell(the_thread, objects, two[1], &stored);
  assert_int_equal(jvm_objects_tell(objects, other, &stored), JP_OK);
  jvm_objects_untell(the_thread, objects, held, &stored);
  assert_int_equal(stored.count, 2);
  assert_int_equal(stored.refs[0], other);
  assert_int_equal(stored.refs[1], other);
  assert_true(is_held(objects, held));
  jvm_objects_untell(the_thread, objects, held, &stored); /* is not in `stored` */
  assert_false(is_held(objects, held));
  assert_int_equal(stored.count, 2);
  jvm_objects_untell(the_thread, objects, other, NULL);
  assert_true(is_held(objects, other));
  jvm_objects_take_back(the_thread, objects, &stored, 0);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, objects);
}

/* A list with one object a million times. The refs take four bytes each, with room for as many again. */
UNIT_TEST(a_million_tellings_of_one_object)
{
  enum { MILLION = 1000000 };
  struct jvm_objects *objects = new_table(10);
  struct jvm_stored stored = {0};
  jobject object = new_object();
  for (int i = 0; i < MILLION; i++)
    tell(the_thread, objects, object, &stored);
  assert_int_equal(stored.count, MILLION);
  assert_in_range(stored.capacity, MILLION, 2 * MILLION);
  jvm_objects_take_back(the_thread, objects, &stored, 1);
  assert_int_equal(jvm_objects_count(objects), 1);
  jvm_objects_take_back(the_thread, objects, &stored, 0);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, objects);
}

/* ---- several threads ---- */

struct meeting {
  struct jvm_objects *objects;
  jobject object; /* global */
  pthread_barrier_t met;
};

static void be_told(void *argument, struct jvm_thread *thread)
{
  struct meeting *meeting = argument;
  tell(thread, meeting->objects, meeting->object, NULL);
  pthread_barrier_wait(&meeting->met);
}

UNIT_TEST(what_another_thread_was_told_is_not_taken_back)
{
  struct meeting meeting = {.objects = new_table(10)};
  struct jvm_stored stored = {0};
  struct jp_error error;
  meeting.object = (*the_thread->env)->NewGlobalRef(the_thread->env, new_object());
  pthread_barrier_init(&meeting.met, NULL, 2);
  tell(the_thread, meeting.objects, new_object(), &stored);
  uint32_t ref = tell(the_thread, meeting.objects, meeting.object, &stored);
  assert_int_equal(jvm_spawn(the_jvm, "other", be_told, &meeting, &error), JP_OK);
  pthread_barrier_wait(&meeting.met);
  pthread_barrier_destroy(&meeting.met);
  jvm_objects_take_back(the_thread, meeting.objects, &stored, 0);
  assert_int_equal(jvm_objects_count(meeting.objects), 1);
  forget(meeting.objects, ref, 1);
  assert_int_equal(jvm_objects_count(meeting.objects), 0);
  (*the_thread->env)->DeleteGlobalRef(the_thread->env, meeting.object);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, meeting.objects);
}

enum { SHARERS = 4, ROUNDS = 20000, KEPT = 100 };

struct sharing {
  struct jvm_objects *objects;
  jobject common; /* global */
  pthread_barrier_t begin;
  pthread_barrier_t end;
  _Atomic int faults;
  _Atomic int kept;
};

/* One round: a message sends the object three times; then its answer is lost, or its client releases the
 * refs. */
static void share_once(struct sharing *sharing, struct jvm_thread *thread, int round,
                       struct jvm_stored *stored)
{
  uint32_t ref = tell(thread, sharing->objects, sharing->common, stored);
  sharing->faults += tell(thread, sharing->objects, sharing->common, stored) != ref;
  sharing->faults += jvm_objects_tell(sharing->objects, ref, stored) != JP_OK;
  jobject held = jvm_objects_get(thread, sharing->objects, ref, NULL);
  sharing->faults += !(*thread->env)->IsSameObject(thread->env, held, sharing->common);
  (*thread->env)->DeleteLocalRef(thread->env, held);
  if (round % 2 == 0) {
    jvm_objects_take_back(thread, sharing->objects, stored, 0);
    return;
  }
  stored->count = 0;
  jvm_objects_forget(thread, sharing->objects, ref, 1);
  jvm_objects_forget(thread, sharing->objects, ref, 2);
}

static void share(void *argument, struct jvm_thread *thread)
{
  struct sharing *sharing = argument;
  struct jvm_stored stored = {0};
  pthread_barrier_wait(&sharing->begin);
  for (int i = 0; i < ROUNDS; i++) {
    share_once(sharing, thread, i, &stored);
    if (i % (ROUNDS / KEPT) == ROUNDS / KEPT - 1) {
      tell(thread, sharing->objects, sharing->common, NULL);
      sharing->kept++;
    }
  }
  jvm_stored_fini(&stored);
  pthread_barrier_wait(&sharing->end);
}

/* However the threads interleave, the count is exact: the object has only the sent references that were
 * kept. */
UNIT_TEST(threads_tell_and_forget_one_object)
{
  struct sharing sharing = {.objects = new_table(100)};
  struct jp_error error;
  sharing.common = (*the_thread->env)->NewGlobalRef(the_thread->env, new_object());
  pthread_barrier_init(&sharing.begin, NULL, SHARERS);
  pthread_barrier_init(&sharing.end, NULL, SHARERS + 1);
  for (int i = 0; i < SHARERS; i++)
    assert_int_equal(jvm_spawn(the_jvm, "sharer", share, &sharing, &error), JP_OK);
  pthread_barrier_wait(&sharing.end);
  pthread_barrier_destroy(&sharing.end);
  pthread_barrier_destroy(&sharing.begin);
  assert_int_equal(sharing.faults, 0);
  assert_int_equal(sharing.kept, SHARERS * KEPT);
  uint32_t ref = tell(the_thread, sharing.objects, sharing.common, NULL);
  forget(sharing.objects, ref, SHARERS * KEPT);
  assert_int_equal(jvm_objects_count(sharing.objects), 1);
  forget(sharing.objects, ref, 1);
  assert_int_equal(jvm_objects_count(sharing.objects), 0);
  (*the_thread->env)->DeleteGlobalRef(the_thread->env, sharing.common);
  jvm_objects_destroy(the_thread, sharing.objects);
}

JVM_MAIN(NULL, NULL)
