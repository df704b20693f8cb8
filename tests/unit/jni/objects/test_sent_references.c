/* Sent counts of refs, and the objects that they keep. */
#include "tests/unit/jni/objects/tables.h"

#include <pthread.h>

static uint32_t send_ref(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                         struct jvm_stored *stored)
{
  uint32_t ref;
  assert_int_equal(
      jvm_objects_put(thread, objects, object, 0, jvm_objects_epoch(objects), stored, &ref, NULL), JP_OK);
  return ref;
}

static void release_sent(struct jvm_objects *objects, uint32_t ref, uint32_t count)
{
  jvm_objects_release_sent(the_thread, objects, ref, count);
}

/* ---- releasing ---- */

UNIT_TEST(an_object_is_released_with_its_last_sent_reference)
{
  struct jvm_objects *objects = new_table(10);
  jobject object = new_object();
  uint32_t ref = send_ref(the_thread, objects, object, NULL);
  assert_int_equal(send_ref(the_thread, objects, object, NULL), ref);
  assert_int_equal(jvm_objects_count_sent(objects, ref, NULL), JP_OK);
  release_sent(objects, ref, 2);
  assert_true(is_held(objects, ref));
  release_sent(objects, ref, 1);
  assert_false(is_held(objects, ref));
  assert_int_equal(jvm_objects_count_sent(objects, ref, NULL), JP_NOT_FOUND);
  release_sent(objects, ref, 1); /* has no effect */
  /* A new ref begins with a sent count of 1, even if an earlier ref of the object had another count. */
  uint32_t next = send_ref(the_thread, objects, object, NULL);
  assert_int_not_equal(next, ref);
  release_sent(objects, ref, UINT32_MAX);
  assert_true(is_held(objects, next));
  release_sent(objects, next, 1);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(releasing_more_than_was_sent_releases_all)
{
  static const uint32_t counts[] = {3, 1000, (uint32_t)INT32_MAX + 1, UINT32_MAX};
  struct jvm_objects *objects = new_table(10);
  for (size_t i = 0; i < COUNT_OF(counts); i++) {
    jobject object = new_object();
    uint32_t ref = send_ref(the_thread, objects, object, NULL);
    send_ref(the_thread, objects, object, NULL);
    release_sent(objects, ref, counts[i]);
    assert_int_equal(jvm_objects_count(objects), 0);
  }
  jvm_objects_destroy(the_thread, objects);
}

/* The true count is unknown, so the object is kept rather than lost. */
UNIT_TEST(a_full_count_ends_only_when_all_is_released)
{
  assert_int_equal(sent_count_add(SENT_COUNT_MAX - 2), SENT_COUNT_MAX - 1);
  assert_int_equal(sent_count_remove(SENT_COUNT_MAX - 1, 1), SENT_COUNT_MAX - 2);
  assert_int_equal(sent_count_add(SENT_COUNT_MAX - 1), SENT_COUNT_MAX);
  assert_int_equal(sent_count_add(SENT_COUNT_MAX), SENT_COUNT_MAX);
  assert_int_equal(sent_count_remove(SENT_COUNT_MAX, 1), SENT_COUNT_MAX);
  assert_int_equal(sent_count_remove(SENT_COUNT_MAX, UINT32_MAX - 1), SENT_COUNT_MAX);
  assert_int_equal(sent_count_remove(SENT_COUNT_MAX, UINT32_MAX), 0);
}

/* ---- rolling back ---- */

UNIT_TEST(a_roll_back_undoes_each_sent_reference)
{
  enum { MANY = 100, EACH = 3 };
  struct jvm_objects *objects = new_table(1000);
  struct jvm_stored stored = {0};
  jobject held = new_object();
  uint32_t first = send_ref(the_thread, objects, held, NULL);
  for (size_t i = 0; i < MANY; i++) {
    assert_int_equal(send_ref(the_thread, objects, held, &stored), first);
    assert_false(stored.is_new);
    jobject object = new_object();
    send_ref(the_thread, objects, object, &stored);
    assert_true(stored.is_new);
    send_ref(the_thread, objects, object, &stored);
    assert_false(stored.is_new);
    (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  }
  assert_int_equal(stored.count, EACH * MANY);
  jvm_objects_roll_back(the_thread, objects, &stored, EACH * MANY - 1);
  assert_int_equal(jvm_objects_count(objects), 1 + MANY); /* the last object was sent twice */
  jvm_objects_roll_back(the_thread, objects, &stored, (size_t)EACH * (MANY - 10));
  assert_int_equal(jvm_objects_count(objects), 1 + MANY - 10);
  assert_int_equal(jvm_objects_delete(the_thread, objects, stored.refs[1]), JP_OK);
  jvm_objects_roll_back(the_thread, objects, &stored, 0);
  assert_int_equal(jvm_objects_count(objects), 1);
  release_sent(objects, first, 1);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, objects);
}

UNIT_TEST(one_sent_reference_can_be_uncounted)
{
  struct jvm_objects *objects = new_table(10);
  struct jvm_stored stored = {0};
  jobject two[] = {new_object(), new_object()};
  uint32_t held = send_ref(the_thread, objects, two[0], NULL);
  send_ref(the_thread, objects, two[0], &stored);
  uint32_t other = send_ref(the_thread, objects, two[1], &stored);
  assert_int_equal(jvm_objects_count_sent(objects, other, &stored), JP_OK);
  jvm_objects_uncount_sent(the_thread, objects, held, &stored);
  assert_int_equal(stored.count, 2);
  assert_int_equal(stored.refs[0], other);
  assert_int_equal(stored.refs[1], other);
  assert_true(is_held(objects, held));
  jvm_objects_uncount_sent(the_thread, objects, held, &stored); /* is not in `stored` */
  assert_false(is_held(objects, held));
  assert_int_equal(stored.count, 2);
  jvm_objects_uncount_sent(the_thread, objects, other, NULL);
  assert_true(is_held(objects, other));
  jvm_objects_roll_back(the_thread, objects, &stored, 0);
  assert_int_equal(jvm_objects_count(objects), 0);
  jvm_stored_fini(&stored);
  jvm_objects_destroy(the_thread, objects);
}

/* A list with one object a million times. The refs take four bytes each, with room for as many again. */
UNIT_TEST(an_object_can_be_sent_a_million_times)
{
  enum { MILLION = 1000000 };
  struct jvm_objects *objects = new_table(10);
  struct jvm_stored stored = {0};
  jobject object = new_object();
  for (int i = 0; i < MILLION; i++)
    send_ref(the_thread, objects, object, &stored);
  assert_int_equal(stored.count, MILLION);
  assert_in_range(stored.capacity, MILLION, 2 * MILLION);
  jvm_objects_roll_back(the_thread, objects, &stored, 1);
  assert_int_equal(jvm_objects_count(objects), 1);
  jvm_objects_roll_back(the_thread, objects, &stored, 0);
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

static void send_and_meet(void *argument, struct jvm_thread *thread)
{
  struct meeting *meeting = argument;
  send_ref(thread, meeting->objects, meeting->object, NULL);
  pthread_barrier_wait(&meeting->met);
}

UNIT_TEST(a_roll_back_keeps_references_of_other_threads)
{
  struct meeting meeting = {.objects = new_table(10)};
  struct jvm_stored stored = {0};
  struct jp_error error;
  meeting.object = (*the_thread->env)->NewGlobalRef(the_thread->env, new_object());
  pthread_barrier_init(&meeting.met, NULL, 2);
  send_ref(the_thread, meeting.objects, new_object(), &stored);
  uint32_t ref = send_ref(the_thread, meeting.objects, meeting.object, &stored);
  assert_int_equal(jvm_spawn(the_jvm, "other", send_and_meet, &meeting, &error), JP_OK);
  pthread_barrier_wait(&meeting.met);
  pthread_barrier_destroy(&meeting.met);
  jvm_objects_roll_back(the_thread, meeting.objects, &stored, 0);
  assert_int_equal(jvm_objects_count(meeting.objects), 1);
  release_sent(meeting.objects, ref, 1);
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

/* One round: an answer sends the object three times. Then the answer is lost, or its client releases the
 * refs. */
static void share_once(struct sharing *sharing, struct jvm_thread *thread, int round,
                       struct jvm_stored *stored)
{
  uint32_t ref = send_ref(thread, sharing->objects, sharing->common, stored);
  sharing->faults += send_ref(thread, sharing->objects, sharing->common, stored) != ref;
  sharing->faults += jvm_objects_count_sent(sharing->objects, ref, stored) != JP_OK;
  jobject held = jvm_objects_get(thread, sharing->objects, ref, NULL);
  sharing->faults += !(*thread->env)->IsSameObject(thread->env, held, sharing->common);
  (*thread->env)->DeleteLocalRef(thread->env, held);
  if (round % 2 == 0) {
    jvm_objects_roll_back(thread, sharing->objects, stored, 0);
    return;
  }
  stored->count = 0;
  jvm_objects_release_sent(thread, sharing->objects, ref, 1);
  jvm_objects_release_sent(thread, sharing->objects, ref, 2);
}

static void share(void *argument, struct jvm_thread *thread)
{
  struct sharing *sharing = argument;
  struct jvm_stored stored = {0};
  pthread_barrier_wait(&sharing->begin);
  for (int i = 0; i < ROUNDS; i++) {
    share_once(sharing, thread, i, &stored);
    if (i % (ROUNDS / KEPT) == ROUNDS / KEPT - 1) {
      send_ref(thread, sharing->objects, sharing->common, NULL);
      sharing->kept++;
    }
  }
  jvm_stored_fini(&stored);
  pthread_barrier_wait(&sharing->end);
}

/* However the threads interleave, the count is exact: the object has only the sent references that were
 * kept. */
UNIT_TEST(threads_send_and_release_one_object)
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
  uint32_t ref = send_ref(the_thread, sharing.objects, sharing.common, NULL);
  release_sent(sharing.objects, ref, SHARERS * KEPT);
  assert_int_equal(jvm_objects_count(sharing.objects), 1);
  release_sent(sharing.objects, ref, 1);
  assert_int_equal(jvm_objects_count(sharing.objects), 0);
  (*the_thread->env)->DeleteGlobalRef(the_thread->env, sharing.common);
  jvm_objects_destroy(the_thread, sharing.objects);
}

JVM_MAIN(NULL, NULL)
