#ifndef JPEER_JNI_OBJECTS_OBJECT_TABLE_H
#define JPEER_JNI_OBJECTS_OBJECT_TABLE_H
/*
 * The functions of a session's objects that take and return Java references. Any thread that may use Java. No
 * exception is pending on entry or on return.
 */
#include "jni/members.h"
#include "jni/objects.h"
#include "jni/runtime/machine.h"

#include <stdint.h>

/* Changes with each jvm_objects_clear. A request reads it at its beginning and passes it to
 * jvm_objects_put. */
uint64_t jvm_objects_epoch(struct jvm_objects *objects);

/*
 * Stores the object and its class_id. *ref is the object's present ref or a new one; it is told once more, which is
 * noted in *stored (may be NULL). JP_LIMIT: the table is full (the text names session-max-objects), or its owner
 * refuses. JP_NO_MEMORY: C's or Java's memory is short. JP_CLOSED: the table was cleared after `epoch`;
 * nothing is stored. object must not be NULL.
 */
enum jp_status jvm_objects_put(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                               uint32_t class_id, uint64_t epoch, struct jvm_stored *stored, uint32_t *ref,
                               struct jp_error *error) JP_MUST_CHECK;

/* A local reference, NULL: no such object. *class_id (may be NULL) is what was put beside it. One that is being built is
 * whole from then on; NULL also where Java has no memory to join its pieces. */
jobject jvm_objects_get(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        uint32_t *class_id);
/* Makes *outcome the error of a ref for which jvm_objects_get has given NULL. JP_NOT_FOUND or JP_NO_MEMORY. */
enum jp_status jvm_objects_fail_get(const struct jvm_request *request, uint32_t ref, struct outcome *outcome);

/*
 * Objects that clients build of pieces (jpeer.assemble). `letter`: an ArrayList holds the pieces, arrays of primitives of
 * this kind, or Strings ('T'), and the first jvm_objects_get joins them; 0: pieces were added to the object itself.
 */
struct jvm_assembly {
  char letter;
  uint32_t class_id; /* of the whole */
};
/* The object, whose ref was made just now, is one that is being built. JP_LIMIT: with `bytes` more, the pieces of all
 * clients have more than bytes_max. JP_NO_MEMORY. */
enum jp_status jvm_objects_assemble(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                    const struct jvm_assembly *assembly, size_t bytes,
                                    size_t bytes_max) JP_MUST_CHECK;
/* What holds the pieces, a local reference, whose monitor the caller has entered while it counts and adds a piece. NULL:
 * *status is JP_NOT_FOUND, or JP_CLOSED where the object is not being built. */
jobject jvm_objects_assembly(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                             struct jvm_assembly *assembly, enum jp_status *status);
/* JP_CLOSED: it is whole. JP_LIMIT: as above. */
enum jp_status jvm_objects_count_piece(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                       size_t bytes, size_t bytes_max) JP_MUST_CHECK;

/*
 * The companion of the object with this ref: kept beside it, and let go with it. An object that has none gets the
 * one that is offered. A local reference; NULL: no such object, or Java's memory is short.
 */
jobject jvm_objects_companion(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              jobject offered);

/* How often answers have told a ref. At TOLD_MAX nobody knows how many there are, and the object stays until all are let
 * go. */
#define TOLD_MAX UINT32_MAX
static inline uint32_t tellings_add(uint32_t told)
{
  return told < TOLD_MAX ? told + 1 : told;
}
/* 0: none is left. */
static inline uint32_t tellings_remove(uint32_t told, uint32_t count)
{
  return count >= told ? 0 : told < TOLD_MAX ? told - count : told;
}

#endif
