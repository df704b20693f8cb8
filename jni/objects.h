#ifndef JPEER_JNI_OBJECTS_H
#define JPEER_JNI_OBJECTS_H
/*
 * The objects that a session holds: ObjectRef numbers on one side, Java objects in chunked Java arrays on the
 * other (design.md: "Objects live in Java arrays of the session").
 *
 * A table has a lock of its own, held for look-ups and stores, never while Java code runs; so connections
 * that share a session may use it at the same time. Refs count up from 1 within a table and are not given
 * again while 2^31 - 1 others have not been: a stale ref never names a newer object. The same object has the
 * same ref for as long as it is held. An empty table costs no Java object.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm_objects;
struct jvm_thread;

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects) JP_MUST_CHECK;
/* Drops every object at once and frees the table. No call may be using it. */
void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects);

size_t jvm_objects_count(struct jvm_objects *objects);
/* True where nothing was ever stored or cleared: the table is as good as a new one. While nobody uses it. */
bool jvm_objects_is_unused(const struct jvm_objects *objects);
/* JP_NOT_FOUND: no such object. The object stays alive for a call that is using it. */
enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects,
                                  uint32_t ref) JP_MUST_CHECK;
/* delete_session: drops every object; a call that is running and began before drops its result. */
void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects);

#endif
