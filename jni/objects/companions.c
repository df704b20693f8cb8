/* Objects that are kept beside others, and let go with them. */
#include "jni/objects/table_state.h"

/* With the lock held. Gives the ref's companion, which becomes the offered one where it has none yet. *slots: of the
 * array that is missing for that; 0: none is. */
static jobject take_companion(JNIEnv *env, struct jvm_objects *objects, uint32_t ref, jobject offered,
                              jobjectArray *spare, uint32_t *slots)
{
  *slots = 0;
  uint32_t number = slot_index_find(&objects->by_ref, ref);
  if (number == SLOT_NONE)
    return NULL;
  struct chunk *chunk = objects->chunks[number / CHUNK_SPAN];
  jsize place = (jsize)(number % CHUNK_SPAN);
  if (chunk->companions == NULL && *spare == NULL) {
    *slots = chunk->slot_count;
    return NULL;
  }
  if (chunk->companions == NULL) {
    chunk->companions = *spare;
    *spare = NULL;
  }
  jobject companion = (*env)->GetObjectArrayElement(env, chunk->companions, place);
  if (companion != NULL)
    return companion;
  (*env)->SetObjectArrayElement(env, chunk->companions, place, offered);
  (*env)->ExceptionClear(env);
  return (*env)->NewLocalRef(env, offered);
}

jobject jvm_objects_companion(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              jobject offered)
{
  jobject companion = NULL;
  jobjectArray spare = NULL;
  uint32_t slots = 0;
  do {
    if (slots > 0 && (spare = object_table_make_array(thread, slots)) == NULL)
      return NULL;
    pthread_mutex_lock(&objects->lock);
    companion = take_companion(thread->env, objects, ref, offered, &spare, &slots);
    pthread_mutex_unlock(&objects->lock);
  } while (companion == NULL && slots > 0);
  if (spare != NULL)
    (*thread->env)->DeleteGlobalRef(thread->env, spare);
  return companion;
}
