#ifndef JPEER_NET_CONNECTION_CONNECTION_TABLE_H
#define JPEER_NET_CONNECTION_CONNECTION_TABLE_H
/*
 * All connections of a server: their memory, their number, their deadlines, and their end.
 *
 * A connection is in a place of a chunk. Chunks are freed only by connection_table_fini, so that a source
 * remains valid for the crew (net/workers/crew.h). Any thread may accept and release connections; only the
 * watcher calls the tick.
 */
#include "base/array.h"
#include "net/connection/connection.h"

struct connection_chunk;

struct connection_table {
  struct crew *crew;
  struct connection_limits limits;
  struct input_budget *input; /* borrowed */
  _Atomic size_t paused;      /* connections */
  _Atomic bool is_draining;
  _Atomic int64_t grace_end_ms;

  pthread_mutex_t lock; /* guards the fields below */
  struct connection_chunk **chunks;
  size_t chunk_count;
  struct connection *free_places; /* chained by next_free */
  size_t open;
  size_t seized; /* open connections that are seized */

  /* Used by the watcher alone. */
  uint64_t checked;    /* the generation of the principals for which all connections were checked */
  struct array claims; /* of struct input_claim, to grant licences */
};

/* The crew and the budget are borrowed. */
enum jp_status connection_table_init(struct connection_table *table, struct crew *crew,
                                     const struct connection_limits *limits, struct input_budget *input,
                                     struct jp_error *error) JP_MUST_CHECK;
/* Called after the end of the crew. Closes the remaining connections. */
void connection_table_fini(struct connection_table *table);

/* Takes fd. Serves it as a connection, or closes it if there are too many connections. protocol: the
 * connection's first protocol, borrowed. address: the address of the client. credentials: for TLS, borrowed
 * for the call; NULL: no TLS. */
void connection_table_accept(struct connection_table *table, int fd,
                             const struct connection_protocol *protocol, const struct rpc_address *address,
                             struct tls_credentials *credentials);
/* Frees the place of a closed connection. */
void connection_table_release(struct connection_table *table, struct connection *connection);
/* The place with this index, which must exist. Valid until connection_table_fini. */
struct connection *connection_table_place(struct connection_table *table, size_t index);
/* Handles deadlines that have passed, ends connections after connection_table_drain, and grants licences for
 * input. Returns the next deadline: INT64_MAX if there is none, now_ms if the tick has to be called again
 * soon. */
int64_t connection_table_tick(struct connection_table *table, struct crew_member *watcher, int64_t now_ms);

/* Ends all connections. Requests that are being served have until grace_end_ms, and are then answered with an error. */
void connection_table_drain(struct connection_table *table, int64_t grace_end_ms);
/* True if the only connections left are seized connections whose calls have not returned. */
bool connection_table_is_drained(struct connection_table *table);

#endif
