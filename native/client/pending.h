#ifndef JPEER_CLIENT_PENDING_H
#define JPEER_CLIENT_PENDING_H
/*
 * The requests that have no answer yet, by their ids: a hash table with open addressing. Ids count up, so
 * that a new one nearly always finds its place free. It is under the client's lock.
 */
#include "client/messages/answer.h"

#include <stdint.h>

struct waiter;

enum pending_kind {
  PENDING_WAITED,    /* a thread waits */
  PENDING_COMPLETED, /* a completion is to be called */
  PENDING_ABANDONED  /* nobody wants the answer any more; its refs are let go of */
};

struct pending {
  uint64_t id;       /* 0: the place is free */
  uint64_t first_id; /* of the requests of its message */
  enum pending_kind kind;
  enum answer_form form;
  union {
    struct {
      struct waiter *waiter;
      size_t index; /* among the waiter's answers */
    } waited;
    struct {
      jp_client_completion *function;
      void *context;
      int64_t deadline_ns; /* INT64_MAX: none */
    } completed;
  } as;
};

struct pending_table {
  struct pending *places;
  size_t capacity; /* a power of two */
  size_t count;
  size_t displaced; /* requests that are not at the place of their id */
};

/* False: no memory. */
bool pending_table_init(struct pending_table *table);
void pending_table_fini(struct pending_table *table);
/* Adds a request whose id is not there. False: no memory. */
bool pending_table_add(struct pending_table *table, const struct pending *request);
/* Borrowed until the next change of the table; NULL: there is none. */
struct pending *pending_table_find(const struct pending_table *table, uint64_t id);
/* That with the least id: the first of the message that was sent first. Looks at all places. */
struct pending *pending_table_find_oldest(const struct pending_table *table);
void pending_table_remove(struct pending_table *table, struct pending *request);
void pending_table_clear(struct pending_table *table);

#endif
