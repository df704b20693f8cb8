#ifndef JPEER_NET_CONNECTION_CONNECTION_H
#define JPEER_NET_CONNECTION_CONNECTION_H
/*
 * A TCP connection, whose bytes a protocol reads and writes (net/connection/protocol.h).
 *
 * Owner: a turn owns the connection from connection_acquire to the end of the turn; between turns nobody does
 * and it is armed in the crew's set, or stands in the ready queue. All of it but what is marked otherwise
 * belongs to the owner. While the owner's thread is inside the service (in_call), the watcher may, under the
 * lock, send what lies in the output, or seize the connection: the owner then finds `seized`, drops its
 * answer and ends it.
 *
 * Input: what a connection has collected and not yet served counts against one bound for all
 * (net/admission/input_budget.h). Above three quarters of it, one that has no licence pauses: it is armed for
 * no input, and the watcher submits it when it may go on. Its deadlines hold all the while.
 *
 * Memory: a connection is a place in its table's chunks, which stay until the table goes, so that a late
 * event finds a valid source. It owns buffers only while there is something in them.
 */
#include "net/admission/input_budget.h"
#include "net/connection/protocol.h"
#include "net/workers/crew.h"

#include <pthread.h>
#include <stdalign.h>

struct connection_table;

struct connection_limits {
  size_t message_max;
  size_t send_buffer_max;
  size_t header_max;
  size_t connections_max;
  int64_t header_timeout_ms;
  int64_t body_timeout_ms;
  int64_t idle_timeout_ms;
};

enum connection_state {
  CONNECTION_FREE,  /* no connection in this place */
  CONNECTION_ARMED, /* nobody's: waits for an event, or in the ready queue */
  CONNECTION_OWNED
};

enum { CONNECTION_PROTOCOL_STATE = 320 }; /* bytes */

struct connection {
  struct crew_source source; /* first: a source is its connection */
  struct connection_table *table;
  const struct connection_limits *limits; /* the table's */
  struct connection *next_free;           /* likewise */

  pthread_mutex_t lock; /* guards state, in_call, seized; and fd and out during in_call */
  enum connection_state state;
  struct rpc_worker *in_call; /* the worker whose thread is inside the service for this connection */
  bool seized;
  bool is_paused; /* guarded by the lock, too: it waits for the watcher */
  struct input_licence licence;
  _Atomic size_t counted;       /* bytes of input in the budget; the owner writes it */
  _Atomic int64_t *deadline_ms; /* when the watcher looks at it, in the table; INT64_MAX: never */

  int fd;
  bool is_lingering;     /* all is said: input is dropped until the client closes, or for a short while */
  bool at_end;           /* the client sends no more */
  bool is_broken;        /* the connection failed: nothing can be sent or read */
  bool is_drained;       /* the last read took all that was there */
  bool has_said_all;     /* our side is shut */
  bool has_message;      /* a whole message is in `message` */
  bool has_sent;         /* the client took something in this turn */
  int64_t since_ms;      /* see crew_message */
  int64_t began_ms;      /* when the head, the body or the message under way began; 0: none */
  int64_t stalled_ms;    /* since when the client takes nothing; 0: nothing waits for it */
  int64_t linger_end_ms; /* while it is lingering */

  struct buffer in;
  size_t in_used; /* of the input: what was taken */
  struct buffer message;
  struct buffer out;
  size_t out_sent;

  struct rpc_client *client;
  struct rpc_address address;       /* the client's */
  struct connection_stream *stream; /* an answer that is still being made */

  /* The protocol's, which keeps them right. */
  const struct connection_protocol *protocol;
  bool is_midway; /* it has taken the beginning of a message, but not the end */
  size_t held;    /* bytes of input that lie in what it has borrowed */
  alignas(max_align_t) unsigned char protocol_state[CONNECTION_PROTOCOL_STATE];
};

/* --- connection.c: the owner's side --- */

void connection_turn(struct crew_source *source, struct crew_member *member);
/* Takes a connection that nobody has; under its lock. */
void connection_own(struct connection *connection);
/* Takes the connection; false where somebody has it, or where there is none. */
bool connection_acquire(struct connection *connection);
/* Ends a turn: sends, gives buffers back, arms the connection or closes it. STEP_SERVED: there may be more to
 * do at once. */
void connection_finish(struct connection *connection, struct crew_member *member, enum step last);
/* On the watcher's thread, by the owner: the deadline has passed. */
void connection_expire(struct connection *connection, struct crew_member *watcher);
/* On the watcher's thread, by the owner: what it has collected is dropped, its client gets an error, and it
 * ends. */
void connection_cut(struct connection *connection, struct crew_member *watcher);
/* On the watcher's thread, by the owner, when the crew refuses all: answers what has come, and ends it. */
void connection_say_goodbye(struct connection *connection, struct crew_member *watcher);
/* On the watcher's thread, under the lock, while the owner is inside the service: answers in the owner's
 * place. The owner then finds the connection seized. */
void connection_seize(struct connection *connection, struct crew_member *watcher);
/* Sends what can be sent now. */
void connection_flush(struct connection *connection);
static inline size_t connection_unsent(const struct connection *connection)
{
  return connection->out.len - connection->out_sent;
}

/* --- for protocols --- */

/* The connection speaks this protocol from now on. */
void connection_speak(struct connection *connection, const struct connection_protocol *protocol);
static inline struct text connection_input(const struct connection *connection)
{
  if (connection->in.len == connection->in_used)
    return TEXT("");
  return text_slice(buffer_text(&connection->in), connection->in_used, connection->in.len);
}
/* True where a message, or a part of one, is on its way in. */
static inline bool connection_has_begun(const struct connection *connection)
{
  return connection->is_midway || connection->in.len > connection->in_used;
}
const struct rpc_service *connection_service(const struct connection *connection);
/* Serves the message in hand; *answer is the member's. False: the connection was seized meanwhile. */
bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream);
/* What its messages are: JSON-RPC, as all that WebSocket and HTTP carry. */
const struct rpc_codec *connection_codec(const struct connection *connection);
/* True: *kept names the session that stays (rpc/service.h). */
bool connection_close_client(struct connection *connection, struct crew_member *member, struct uuid *kept);

/* --- connection_stream.c --- */

struct connection_stream {
  struct rpc_stream rpc;
  struct buffer tail;
};

/* Takes the stream, whose head was written; false when memory is short (it is closed then). */
bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream);
/* Makes and sends more of it until it ends or the client is slow. STEP_SERVED or STEP_ENDS at the end. */
enum step connection_pump(struct connection *connection, struct crew_member *member);
void connection_end_stream(struct connection *connection);

#endif
