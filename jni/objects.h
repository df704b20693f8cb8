#ifndef JPEER_JNI_OBJECTS_H
#define JPEER_JNI_OBJECTS_H
/*
 * The table of a session's objects. Clients know the objects by refs, which are numbers; Java arrays in
 * chunks hold the objects (docs/internals/sessions.md, "Objects are kept in Java arrays"). Each table has its
 * own lock. The lock is held for look-ups and stores, but never while Java code runs. Connections that share
 * a session can therefore use the table at the same time. Refs count up from 1, and a ref is used again only
 * after 2^31 - 1 others, so that a stale ref never names a newer object. An object has the same ref as long
 * as the table holds it. An empty table needs no Java object.
 *
 * The table counts how often each ref was sent: jvm_objects_put and jvm_objects_count_sent add one to the
 * sent count. The object is released when its sent count reaches 0, or when it is deleted.
 */
#include "base/quota.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm_objects;
struct jvm_thread;

/* Counts the tables that hold objects. */
struct jvm_objects_owner {
  /* Called before an empty table stores an object, on a thread that may use Java, without the table's lock.
   * Not JP_OK: nothing is stored, and the caller gets the error. Two threads may call it at the same time;
   * each JP_OK is followed by one `leave`. */
  enum jp_status (*enter)(void *context, struct jvm_thread *thread, struct jp_error *error);
  /* The table has become empty. Called with the table's lock held: must take no lock and call nothing. */
  void (*leave)(void *context);
};

/* The refs in the results of one message, in order. A ref that is sent several times is in the list as often.
 * If the client never receives the answer, it cannot release these refs, so the peer rolls them back. The
 * struct also has the slot that is reserved for the next result. One thread uses it. It begins with zeros. */
struct jvm_stored {
  uint32_t *refs;
  size_t count;
  size_t capacity;
  bool is_new;      /* the object that was put last had no ref before */
  bool has_slot;    /* jvm_objects_reserve: no other result can use the slot */
  bool has_entered; /* the owner's `enter` has succeeded for the table's first object */
};

void jvm_stored_fini(struct jvm_stored *stored);

/* The objects of many tables. Each table counts in one of several places, so that the threads that use different tables do
 * not share a cache line. Begins zeroed. */
enum { JVM_OBJECTS_TALLY_PLACES = 16 };
struct jvm_objects_tally {
  struct {
    _Atomic size_t count;
    char line[64 - sizeof(size_t)]; /* the rest of a cache line */
  } places[JVM_OBJECTS_TALLY_PLACES];
};

/* Any thread. */
static inline size_t jvm_objects_tally_sum(const struct jvm_objects_tally *tally)
{
  size_t sum = 0;
  for (size_t i = 0; i < JVM_OBJECTS_TALLY_PLACES; i++)
    sum += atomic_load_explicit(&tally->places[i].count, memory_order_relaxed);
  return sum;
}

enum jp_status jvm_objects_create(size_t max_objects, struct jvm_objects **objects) JP_MUST_CHECK;
/* Sets the owner, which is borrowed; NULL: the table has no owner from now on. May be called only while no
 * call uses the table. */
void jvm_objects_set_owner(struct jvm_objects *objects, const struct jvm_objects_owner *owner, void *context);
/* The objects count in this tally, too. Borrowed until jvm_objects_destroy. Only while the table is empty and no call uses
 * it. */
void jvm_objects_set_tally(struct jvm_objects *objects, struct jvm_objects_tally *tally);
/* The objects count in this quota, too, with those of other tables. Borrowed until jvm_objects_destroy, or until no quota
 * (NULL) is set; name: of its limit, for errors. Only while the table is empty and no call uses it. */
void jvm_objects_set_quota(struct jvm_objects *objects, struct quota *quota, const char *name);
/* Makes the table continue after this ref: the next new ref is greater by 1. Until then jvm_objects_last_ref
 * returns this ref. May be called only while no call uses the table. */
void jvm_objects_begin_after(struct jvm_objects *objects, uint32_t ref);
uint32_t jvm_objects_last_ref(const struct jvm_objects *objects);
/* Releases every object and frees the table. May be called only while no call uses the table. */
void jvm_objects_destroy(struct jvm_thread *thread, struct jvm_objects *objects);

size_t jvm_objects_count(const struct jvm_objects *objects);
/* True if the table has never stored an object and was never cleared. May be called only while no call uses
 * the table. */
bool jvm_objects_is_unused(const struct jvm_objects *objects);
/* JP_NOT_FOUND: the table has no object with this ref. A call that is using the object keeps it alive. */
enum jp_status jvm_objects_delete(struct jvm_thread *thread, struct jvm_objects *objects,
                                  uint32_t ref) JP_MUST_CHECK;
/* Adds one to the ref's sent count, and the ref to *stored (may be NULL). JP_NOT_FOUND: the table has no
 * object with this ref. */
enum jp_status jvm_objects_count_sent(struct jvm_objects *objects, uint32_t ref,
                                      struct jvm_stored *stored) JP_MUST_CHECK;
/* Subtracts `count` from the ref's sent count, at most down to 0. An unknown ref is ignored. */
void jvm_objects_release_sent(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              uint32_t count);
/* Subtracts one from the ref's sent count, and removes the ref once from *stored (may be NULL). */
void jvm_objects_uncount_sent(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref,
                              struct jvm_stored *stored);
/* Keeps the first `kept` refs of *stored, and takes back all further refs: subtracts one from the sent count
 * of each. */
void jvm_objects_roll_back(struct jvm_thread *thread, struct jvm_objects *objects, struct jvm_stored *stored,
                           size_t kept);
/* The same as jvm_objects_roll_back, and reserves one of the slots that become free. */
void jvm_objects_roll_back_and_reserve(struct jvm_thread *thread, struct jvm_objects *objects,
                                       struct jvm_stored *stored, size_t kept);

/*
 * Reserves a slot for one of the objects that are stored next with *stored, so that storing it cannot fail in
 * a full table. enters: also calls the owner's `enter` if the table is empty. Not JP_OK: nothing is reserved;
 * JP_LIMIT: the table is full, or the owner refuses. Each JP_OK is followed by one
 * jvm_objects_end_reservation, on the same thread.
 */
enum jp_status jvm_objects_reserve(struct jvm_thread *thread, struct jvm_objects *objects, bool enters,
                                   struct jvm_stored *stored, struct jp_error *error) JP_MUST_CHECK;
/* Cancels the reservation, if there is still one. */
void jvm_objects_end_reservation(struct jvm_objects *objects, struct jvm_stored *stored);

/* Registers a ref that was put just now, and whose object is also sent by value. If the table has more than
 * OBJECTS_VALUES_MAX registered refs, the oldest of them is deleted. Call this function only for an object
 * that is new in the table. If memory is short, the object is kept like any other. */
enum { OBJECTS_VALUES_MAX = 100 * 1000 };
void jvm_objects_bound_values(struct jvm_thread *thread, struct jvm_objects *objects, uint32_t ref);

/* Releases every object (delete_session). A call that began earlier does not store its result. */
void jvm_objects_clear(struct jvm_thread *thread, struct jvm_objects *objects);

#endif
