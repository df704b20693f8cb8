#ifndef JPEER_CLIENT_CLIENT_REFS_H
#define JPEER_CLIENT_CLIENT_REFS_H
/*
 * The objects in the peer that a client has handles of, by their numbers. The peer lets go of an object
 * when all of its tellings are let go of, so each ref counts both: the handles that the program holds, and
 * how often answers have told it. A ref without a handle waits in the list of releases, and leaves it where
 * an answer tells it once more.
 *
 * A ref is of the epoch in which an answer told of it (docs/protocol.md, "Sessions over restarts"). When another epoch
 * begins, the refs leave the table and are stale: the new peer may use their numbers for other objects. Those with handles
 * remain until the last handle is released, which tells the peer nothing.
 *
 * It is under the client's lock. The number, the type and the first epoch of a ref are constant, and any thread reads its epoch.
 */
#include "client/messages/client_answer.h"
#include "client/messages/request_json.h"

#include <stdatomic.h>

enum { EPOCH_UNKNOWN = 0 };    /* the peer tells none */
#define EPOCH_ENDED UINT64_MAX /* of a stale ref; no peer tells it */

struct jp_ref {
  struct jp_client *client;
  _Atomic uint64_t epoch;
  uint64_t first_epoch; /* constant: in which an answer told of it */
  uint32_t number;
  uint32_t told;       /* tellings that the peer was not told to let go of */
  size_t handles;      /* 0: it is in the list of releases */
  struct jp_ref *next; /* in that list */
  struct jp_ref *previous;
  char type[];
};

struct ref_table {
  struct answer_refs refs; /* first: what answers are filled with */
  struct jp_client *client;
  struct jp_ref **places; /* open addressing */
  size_t capacity;        /* a power of two, or 0 */
  size_t count;           /* in the table */
  size_t held;            /* those with handles, stale ones included */
  _Atomic uint64_t epoch; /* written under the lock, read without it by chains */
  struct jp_ref *first_release;
  struct jp_ref *last_release;
  size_t releases;
};

void ref_table_init(struct ref_table *table, struct jp_client *client);
/* No handle may be left. */
void ref_table_fini(struct ref_table *table);
static inline uint64_t ref_table_epoch(const struct ref_table *table)
{
  return atomic_load_explicit(&table->epoch, memory_order_relaxed);
}

/* From now on answers tell of objects of that epoch. All refs are stale where it is another one. */
void ref_table_enter_epoch(struct ref_table *table, uint64_t epoch);
/* Drops one handle. */
void ref_table_release(struct ref_table *table, struct jp_ref *ref);
/* Takes at most max of those that wait to be released, oldest first, and forgets them. */
size_t ref_table_take_releases(struct ref_table *table, struct message_release *releases, size_t max);
/* The same of those with handles as well, which stay, without a telling. `from` (0 at first) keeps the
 * place. */
size_t ref_table_take_tellings(struct ref_table *table, size_t *from, struct message_release *releases,
                               size_t max);

/* 16 hexadecimal digits. EPOCH_UNKNOWN: the text is no epoch. */
uint64_t ref_epoch_parse(struct text digits);

#endif
