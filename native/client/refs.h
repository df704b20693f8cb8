#ifndef JPEER_CLIENT_REFS_H
#define JPEER_CLIENT_REFS_H
/*
 * The objects in the peer that a client has handles of, by their numbers. The peer lets go of an object
 * when all of its tellings are let go of, so each ref counts both: the handles that the program holds, and
 * how often answers have told it. A ref without a handle waits in the list of releases, and leaves it where
 * an answer tells it once more.
 *
 * It is under the client's lock. What is constant of a ref (its number, its type) any thread reads.
 */
#include "client/messages/answer.h"
#include "client/messages/encode.h"

struct jp_ref {
  struct jp_client *client;
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
  size_t count;
  size_t held; /* those with handles */
  struct jp_ref *first_release;
  struct jp_ref *last_release;
  size_t releases;
};

void ref_table_init(struct ref_table *table, struct jp_client *client);
/* No handle may be left. */
void ref_table_fini(struct ref_table *table);
/* Drops one handle. */
void ref_table_release(struct ref_table *table, struct jp_ref *ref);
/* Takes at most max of those that wait to be released, oldest first, and forgets them. */
size_t ref_table_take_releases(struct ref_table *table, struct message_release *releases, size_t max);
/* The same of those with handles as well, which stay, without a telling. `from` (0 at first) keeps the
 * place. */
size_t ref_table_take_tellings(struct ref_table *table, size_t *from, struct message_release *releases,
                               size_t max);

#endif
