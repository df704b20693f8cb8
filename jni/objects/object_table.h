#ifndef JPEER_JNI_OBJECTS_OBJECT_TABLE_H
#define JPEER_JNI_OBJECTS_OBJECT_TABLE_H
/*
 * The side of jni/objects/objects.h that deals in Java references. Any thread that may use Java; no exception
 * may be pending on entry, none is on return.
 */
#include "jni/objects/objects.h"
#include "jni/runtime/machine.h"

#include <stdint.h>

/* Changes with each jvm_objects_clear. Read when a request begins, given back with what it stores. */
uint64_t jvm_objects_epoch(struct jvm_objects *objects);

/*
 * The object's ref: the one that it has, or a new one, which is also added to *stored (NULL: nobody wants to
 * know). class_id is kept beside it. JP_LIMIT: the table holds as many as it may (the text names
 * session-max-objects), or its owner said no. JP_NO_MEMORY: C's or Java's memory is short.
 * JP_CLOSED: the table was cleared since `epoch`, and nothing was stored. object must not be NULL.
 */
enum jp_status jvm_objects_put(struct jvm_thread *thread, struct jvm_objects *objects, jobject object,
                               uint32_t class_id, uint64_t epoch, struct jvm_stored *stored, uint32_t *ref,
                               struct jp_error *error) JP_MUST_CHECK;

/* A local reference, NULL: no such object. *class_id (may be NULL) is what was put beside it. */
jobject jvm_objects_get(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        uint32_t *class_id);

#endif
