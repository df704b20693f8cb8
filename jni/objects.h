#ifndef JPEER_JNI_OBJECTS_H
#define JPEER_JNI_OBJECTS_H
/*
 * The objects that a session holds: refs on the client's side, Java objects in chunked Java arrays on this
 * side (docs/internals/sessions.md, "Objects are kept in Java arrays").
 *
 * A table has a lock of its own, which is held for look-ups and stores and never while Java code runs. So
 * connections that share a session may use it at the same time. Refs count up from 1, and a ref is given
 * again only after 2^31 - 1 others, so that a stale ref never names a newer object. An object keeps its ref
 * as long as it is held. An empty table needs no Java object.
 *
 * The table counts how often each ref was told: once for each jvm_objects_put and jvm_objects_tell that was not taken
 * back. An object goes when no telling of it is left, or is deleted.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm_objects;
struct jvm_thread;

/* Counts the tables that hold objects. */
struct jvm_objects_owner {
  /* An empty table is about to get an object. Called on a thread that may use Java, without the table's lock.
   * Not JP_OK: nothing is stored, and the caller gets the error. Two threads may both ask; each JP_OK is
   * followed by one leave. */
  enum jp_status (*enter)(void *context, struct jvm_thread *thread, struct jp_error *error);
  /* The table has become empty. Called with the table's lock held: takes no lock and calls nothing. */
  void (*leave)(void *context);
};

/* The refs that the results of one message tell, each as often as they do, in order: a client that never gets the
 * answer could not let go of them. Also what is reserved for the next result. Used by one thread; begins zeroed. */
struct jvm_stored {
  uint32_t *refs;
  size_t count;
  size_t capacity;
  bool is_new;      /* nobody had been told of the object that was put last */
  bool has_slot;    /* jvm_objects_reserve: no other result takes it */
  bool has_entered; /* and the owner has said yes to the table's first object */
};

void jvm_stored_fini(struct jvm_stored *stored);

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects) JP_MUST_CHECK;
/* While nobody uses the table. Borrows the owner; NULL: nobody is told any more. */
void jvm_objects_set_owner(struct jvm_objects *objects, const struct jvm_objects_owner *owner, void *context);
/* The next refs follow this one, which jvm_objects_last_ref returns. While nobody uses the table. */
void jvm_objects_begin_after(struct jvm_objects *objects, uint32_t ref);
uint32_t jvm_objects_last_ref(const struct jvm_objects *objects);
/* Drops every object and frees the table, which no call may be using. */
void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects);

size_t jvm_objects_count(const struct jvm_objects *objects);
/* True where nothing was ever stored or cleared, as in a new table. While nobody uses it. */
bool jvm_objects_is_unused(const struct jvm_objects *objects);
/* JP_NOT_FOUND: no such object. A call that is using the object keeps it alive. */
enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects,
                                  uint32_t ref) JP_MUST_CHECK;
/* Counts another telling of the ref, which is noted in *stored (may be NULL). JP_NOT_FOUND: no such object. */
enum jp_status jvm_objects_tell(struct jvm_objects *objects, uint32_t ref,
                                struct jvm_stored *stored) JP_MUST_CHECK;
/* Lets go of `count` tellings of the ref, 1 at least; where there are fewer, of all. An unknown ref has none. */
void jvm_objects_forget(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref, uint32_t count);
/* Takes one telling of the ref back, and its note in *stored (may be NULL). */
void jvm_objects_untell(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                        struct jvm_stored *stored);
/* Takes back the last tellings of *stored, down to `kept` of them. */
void jvm_objects_take_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept);
/* As jvm_objects_take_back, and reserves one of the slots again that become free. */
void jvm_objects_renew(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                       size_t kept);

/*
 * Reserves a slot for one of the objects that are stored next with *stored, so that it cannot fail for want of room.
 * enters: asks the table's owner, too, where the table has no object yet. Not JP_OK: nothing is reserved; JP_LIMIT: the
 * table is full, or its owner refuses. Each JP_OK is followed by one jvm_objects_release, on the same thread.
 */
enum jp_status jvm_objects_reserve(struct jvm_thread *thread, struct jvm_objects *objects, bool enters,
                                   struct jvm_stored *stored, struct jp_error *error) JP_MUST_CHECK;
/* Gives back what is still reserved; harmless where nothing is. */
void jvm_objects_release(struct jvm_objects *objects, struct jvm_stored *stored);

/* The ref, which was put just now, is of a value that travels as such, too: where the table has more than
 * OBJECTS_VALUES_MAX of these, the oldest is deleted. One that was not new then is not counted again. Where memory is short
 * it stays like any other object. */
enum { OBJECTS_VALUES_MAX = 100 * 1000 };
void jvm_objects_bound_values(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref);

/* Drops every object (delete_session). A call that began before it drops its result. */
void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects);

#endif
