/* How often answers have told each ref, and what becomes of an object that nobody was told of. */
#include "jni/objects/stored.h"
#include "jni/objects/table_state.h"

/* With the lock held. */
static void let_go(JNIEnv *env, struct jvm_objects *objects, uint32_t ref, uint32_t count)
{
  uint32_t number = slot_index_find(&objects->by_ref, ref);
  if (number == SLOT_NONE)
    return;
  struct slot *slot = object_table_slot(objects, number);
  if (count >= slot->told)
    object_table_release_slot(env, objects, number);
  else if (slot->told < TOLD_MAX)
    slot->told -= count;
}

void jvm_objects_forget(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, uint32_t count)
{
  pthread_mutex_lock(&objects->lock);
  size_t before = jvm_objects_count(objects);
  let_go(thread->env, objects, ref, count);
  if (before > 0 && jvm_objects_count(objects) == 0)
    object_table_tell_owner(objects);
  pthread_mutex_unlock(&objects->lock);
}

void jvm_objects_untell(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        struct jvm_stored *stored)
{
  stored_drop(stored, ref);
  jvm_objects_forget(thread, objects, ref, 1);
}

enum jp_status jvm_objects_tell(struct jvm_objects *objects, uint32_t ref, struct jvm_stored *stored)
{
  if (!stored_make_room(stored))
    return JP_NO_MEMORY;
  pthread_mutex_lock(&objects->lock);
  uint32_t number = slot_index_find(&objects->by_ref, ref);
  if (number != SLOT_NONE) {
    object_table_tell(object_table_slot(objects, number));
    stored_note(stored, ref);
  }
  pthread_mutex_unlock(&objects->lock);
  return number == SLOT_NONE ? JP_NOT_FOUND : JP_OK;
}

bool object_table_take_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                            size_t kept)
{
  size_t before = jvm_objects_count(objects);
  while (stored->count > kept)
    let_go(thread->env, objects, stored->refs[--stored->count], 1);
  return before > 0 && jvm_objects_count(objects) == 0;
}

void jvm_objects_take_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept)
{
  pthread_mutex_lock(&objects->lock);
  if (object_table_take_back(thread, objects, stored, kept))
    object_table_tell_owner(objects);
  pthread_mutex_unlock(&objects->lock);
}
