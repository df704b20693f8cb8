#ifndef JPEER_TESTS_UNIT_JNI_OBJECTS_TABLES_H
#define JPEER_TESTS_UNIT_JNI_OBJECTS_TABLES_H
/* Tables of objects, objects to store, and an owner that counts. */
#include "tests/unit/jni/with_jvm.h"
#include "tests/unit/unit.h"

#include "jni/objects/object_table.h"
#include "jni/runtime/throwables.h"

static inline jobject new_object(void)
{
  jobject object = (*the_thread->env)->AllocObject(the_thread->env, the_jvm->known.class_object);
  assert_false(throwable_take(the_thread, NULL));
  return object;
}

static inline struct jvm_objects *new_table(size_t max)
{
  struct jvm_objects *objects;
  assert_int_equal(jvm_objects_create(max, &objects), JP_OK);
  return objects;
}

static inline bool is_held(struct jvm_objects *objects, uint32_t ref)
{
  jobject object = jvm_objects_get(the_thread, objects, ref, NULL);
  (*the_thread->env)->DeleteLocalRef(the_thread->env, object);
  return object != NULL;
}

struct owner {
  _Atomic int inside; /* number of `enter` without a `leave` */
  _Atomic int asked;
  enum jp_status answer;
};

static enum jp_status owner_enter(void *context, struct jvm_thread *thread, struct jp_error *error)
{
  struct owner *owner = context;
  assert_non_null(thread);
  owner->asked++;
  if (owner->answer != JP_OK)
    return jp_fail(error, owner->answer, "no more tables");
  owner->inside++;
  return JP_OK;
}

static void owner_leave(void *context)
{
  struct owner *owner = context;
  owner->inside--;
}

static const struct jvm_objects_owner OWNER
    __attribute__((unused)) = {.enter = owner_enter, .leave = owner_leave};

#endif
