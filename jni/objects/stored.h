#ifndef JPEER_JNI_OBJECTS_STORED_H
#define JPEER_JNI_OBJECTS_STORED_H
/* What jni/objects writes into a struct jvm_stored, which may be NULL. On the thread of its message. */
#include "jni/objects.h"

/* Room for one more ref. False: memory is short. */
bool stored_make_room(struct jvm_stored *stored) JP_MUST_CHECK;
/* stored_make_room has made room. */
void stored_note(struct jvm_stored *stored, uint32_t ref);
/* Drops the last note of this ref, if there is one; the very last note takes its place. */
void stored_drop(struct jvm_stored *stored, uint32_t ref);

static inline bool stored_has_slot(const struct jvm_stored *stored)
{
  return stored != NULL && stored->has_slot;
}

#endif
