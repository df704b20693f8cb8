#ifndef JPEER_JNI_OBJECTS_OBJECTS_H
#define JPEER_JNI_OBJECTS_OBJECTS_H
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

/* Who counts the tables that hold something. */
struct jvm_objects_owner {
  /* A table without objects is about to get one. On a thread that may use Java, without the table's lock. Not
   * JP_OK: nothing is stored, and the error is the caller's. Threads that meet may ask more often than
   * needed: each yes is followed by one leave. */
  enum jp_status (*enter)(void *context, struct jvm_thread *thread, struct jp_error *error);
  /* It has none any more. With the table's lock held: must take no lock and call nothing. */
  void (*leave)(void *context);
};

/* Refs that the results of one message have made, in the order of their making: a client that never gets the
 * answer cannot let go of them. One thread's; zeroed at first. */
struct jvm_stored {
  uint32_t *refs;
  size_t count;
  size_t capacity;
};

void jvm_stored_fini(struct jvm_stored *stored);

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects) JP_MUST_CHECK;
/* While nobody uses the table. The owner is borrowed; NULL: none, and who was it hears nothing more. */
void jvm_objects_set_owner(struct jvm_objects *objects, const struct jvm_objects_owner *owner, void *context);
/* Refs go on behind that one; jvm_objects_last_ref gives the last. While nobody uses the table. */
void jvm_objects_begin_after(struct jvm_objects *objects, uint32_t ref);
uint32_t jvm_objects_last_ref(const struct jvm_objects *objects);
/* Drops every object at once and frees the table. No call may be using it. */
void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects);

size_t jvm_objects_count(const struct jvm_objects *objects);
/* True where nothing was ever stored or cleared: the table is as good as a new one. While nobody uses it. */
bool jvm_objects_is_unused(const struct jvm_objects *objects);
/* JP_NOT_FOUND: no such object. The object stays alive for a call that is using it. */
enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects,
                                  uint32_t ref) JP_MUST_CHECK;
/* Drops the last of the refs of *stored, down to `kept` of them, and what they stand for: but not an object
 * that another thread's message has been given since. On the thread that stored them. */
void jvm_objects_take_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept);
/* delete_session: drops every object; a call that is running and began before drops its result. */
void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects);

#endif
