#ifndef JPEER_JNI_OBJECTS_OBJECT_TABLE_H
#define JPEER_JNI_OBJECTS_OBJECT_TABLE_H
/*
 * The functions of a session's objects that accept and return Java references. Any thread that may use Java.
 * No exception is pending on entry or on return.
 */
#include "jni/members.h"
#include "jni/objects.h"
#include "jni/runtime/machine.h"

#include <stdint.h>

/* Changes with each jvm_objects_clear. A request reads the epoch when it begins and passes it to
 * jvm_objects_put. */
uint64_t jvm_objects_epoch(struct jvm_objects *objects);

/*
 * Stores the object and its class_id. *ref is the object's present ref or a new ref. Adds one to the ref's
 * sent count, and the ref to *stored (may be NULL). JP_LIMIT: the table is full (the error's text names
 * session-max-objects), or its owner refuses. JP_NO_MEMORY: C's or Java's memory is short. JP_CLOSED: the
 * table was cleared after `epoch`; nothing is stored. object must not be NULL.
 */
enum jp_status jvm_objects_put(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                               uint32_t class_id, uint64_t epoch, struct jvm_stored *stored, uint32_t *ref,
                               struct jp_error *error) JP_MUST_CHECK;

/* A local reference; NULL: the table has no object with this ref. *class_id (may be NULL) is what
 * jvm_objects_put was given. The call uses an object that was built from pieces. NULL also if Java has no
 * memory to join the pieces. */
jobject jvm_objects_get(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        uint32_t *class_id);
/* Makes *outcome the error for a ref for which jvm_objects_get has returned NULL. JP_NOT_FOUND or
 * JP_NO_MEMORY. */
enum jp_status jvm_objects_fail_get(const struct jvm_request *request, uint32_t ref, struct outcome *outcome);

/*
 * Objects that clients build from pieces (jpeer.assemble). Such an object accepts pieces until a request
 * opens it (jvm_objects_open), and its bytes are counted until a request uses it (jvm_objects_use). letter: a
 * primitive's, for an array, or 'T' for a String: an ArrayList holds the pieces, which are arrays or Strings,
 * and opening the object joins them. 0: a List or Map, to which each piece is added at once.
 */
struct jvm_assembly {
  char letter;
  uint32_t class_id; /* of the complete object */
};
/* Marks an object that was stored just now as incomplete: its pieces are still arriving. JP_LIMIT: with
 * `bytes` more, the pieces of all clients would exceed bytes_max. JP_NO_MEMORY. */
enum jp_status jvm_objects_assemble(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                    const struct jvm_assembly *assembly, size_t bytes,
                                    size_t bytes_max) JP_MUST_CHECK;
/* Returns the holder of the pieces, a local reference. The caller enters its monitor before counting and
 * adding a piece. NULL: *status is JP_NOT_FOUND, or JP_CLOSED if the object is complete. */
jobject jvm_objects_assembly(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                             struct jvm_assembly *assembly, enum jp_status *status);
/* JP_CLOSED: the object is complete. JP_LIMIT: as above. */
enum jp_status jvm_objects_count_piece(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                                       size_t bytes, size_t bytes_max) JP_MUST_CHECK;
/* The same as jvm_objects_get, for an object that will be used only if the request is accepted. *is_unused:
 * the object was built of pieces, and jvm_objects_use was not called yet. */
jobject jvm_objects_open(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                         uint32_t *class_id, bool *is_unused);
/* Uses an object that was opened. True: the object was built of pieces, and this is its first use; *named is
 * then the result of jvm_objects_named, and the caller must call jvm_objects_end_use. */
bool jvm_objects_use(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, jobject *named);
/* is_used: false if the use has failed; in that case the next use counts as the first. */
void jvm_objects_end_use(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, bool is_used);
/* The objects that the pieces of an unused object named by ref: the keys of an IdentityHashMap, a local
 * reference. An object without a companion gets `offered` (may be NULL) as its companion. NULL: the object
 * has no companion, the object was used, or Java's memory is short. */
jobject jvm_objects_named(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                          jobject offered);

/*
 * Returns the companion of the object with this ref: a second Java object that is kept and released with the
 * object. An object without a companion gets `offered`. A local reference; NULL: the table has no object with
 * this ref, or Java's memory is short.
 */
jobject jvm_objects_companion(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              jobject offered);

/* How often answers have sent a ref. At SENT_COUNT_MAX the true count is unknown, and only a release of all
 * removes the object. */
#define SENT_COUNT_MAX UINT32_MAX
static inline uint32_t sent_count_add(uint32_t sent_count)
{
  return sent_count < SENT_COUNT_MAX ? sent_count + 1 : sent_count;
}
/* 0: no sent reference remains. */
static inline uint32_t sent_count_remove(uint32_t sent_count, uint32_t count)
{
  return count >= sent_count ? 0 : sent_count < SENT_COUNT_MAX ? sent_count - count : sent_count;
}

#endif
