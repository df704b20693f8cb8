#ifndef JPEER_CLIENT_CLIENT_REFS_H
#define JPEER_CLIENT_CLIENT_REFS_H
/*
 * The table of a client's refs, by number. A ref is an object in the peer for which the client has handles.
 * The peer keeps the object until the client has released all references to it that the peer has sent. For
 * this reason each ref has two counts: the number of handles that the program holds, and the number of
 * references that answers have contained. A ref without handles is in the list of releases. If an answer
 * contains the ref again, the ref leaves the list.
 *
 * A ref belongs to the epoch in which an answer contained it (docs/protocol.md, "Sessions over restarts").
 * When another epoch begins, all refs leave the table and are stale, because the new peer may use their
 * numbers for other objects. A stale ref exists until its last handle is released, and its release is not
 * sent to the peer.
 *
 * Under the client's lock. The number, the type and the first epoch of a ref are constant; any thread may
 * read its epoch.
 */
#include "client/messages/client_answer.h"
#include "client/messages/request_json.h"

#include <stdatomic.h>

enum { EPOCH_UNKNOWN = 0 };    /* the peer names no epoch */
#define EPOCH_ENDED UINT64_MAX /* of a stale ref; no peer has this epoch */

struct jp_ref {
  struct jp_client *client;
  _Atomic uint64_t epoch;
  uint64_t first_epoch; /* constant: the epoch in which an answer contained it */
  uint32_t number;
  uint32_t sent_count; /* references that the peer sent and the client has not released */
  size_t handles;      /* 0: the ref is in the list of releases */
  struct jp_ref *next; /* in the list of releases */
  struct jp_ref *previous;
  char type[];
};

struct ref_table {
  struct answer_refs refs; /* must be the first member, because it is cast back to this table */
  struct jp_client *client;
  struct jp_ref **places; /* open addressing */
  size_t capacity;        /* a power of two, or 0 */
  size_t count;           /* refs in the table */
  size_t held;            /* refs with handles, including stale refs */
  _Atomic uint64_t epoch; /* written under the lock; chains read it without the lock */
  struct jp_ref *first_release;
  struct jp_ref *last_release;
  size_t releases;
};

void ref_table_init(struct ref_table *table, struct jp_client *client);
/* All handles must have been released. */
void ref_table_fini(struct ref_table *table);
static inline uint64_t ref_table_epoch(const struct ref_table *table)
{
  return atomic_load_explicit(&table->epoch, memory_order_relaxed);
}

/* From now on answers contain refs of this epoch. If it differs from the last epoch, all refs become
 * stale. */
void ref_table_enter_epoch(struct ref_table *table, uint64_t epoch);
/* All refs become stale: another peer begins, and it names no epoch. */
void ref_table_leave_peer(struct ref_table *table);
/* Drops one handle. */
void ref_table_release(struct ref_table *table, struct jp_ref *ref);
/* Removes at most `max` refs from the list of releases, oldest first, and from the table. Returns how many
 * were written to `releases`. */
size_t ref_table_pop_releases(struct ref_table *table, struct message_release *releases, size_t max);
/* The same as ref_table_pop_releases, for all refs of the table. Refs with handles remain in the table, with
 * a sent count of 0. *from must be 0 at the first call; each call sets it to the place where the next call
 * continues. */
size_t ref_table_pop_sent_counts(struct ref_table *table, size_t *from, struct message_release *releases,
                                 size_t max);

/* Parses 16 hexadecimal digits. EPOCH_UNKNOWN: the text is not an epoch. */
uint64_t ref_epoch_parse(struct text digits);

#endif
