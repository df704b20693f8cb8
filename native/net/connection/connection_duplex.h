#ifndef JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
#define JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
/*
 * A connection has a duplex from its client's first callback on: it is read while its request is inside Java, and any
 * thread may send (docs/architecture.md, "Callbacks"). The struct rpc_duplex of rpc/service.h is this one. A connection without
 * callbacks has one while its request lasts, and until what was read during that time is served; before and afterwards it
 * has none (connection->duplex is NULL), and nothing here touches it.
 *
 * Sides: the fields of a connection are of two sides. The input: in, in_used, message, has_message, is_midway, held,
 * protocol_state, input, began_ms, counted. The output: out, out_sent, unshown, output, has_sent, stalled_ms. The owner
 * of the turn has both. While its thread is inside the service (in call: base/in_call.h)
 *   - the output belongs to the thread that holds the connection's lock,
 *   - the input belongs to the thread that has the reading role, `reader`, which changes under the lock.
 * The message that is served lies in `in_hand` meanwhile; `message` collects the next one.
 *
 * Roles, in call. Somebody reads while a call is open that may be answered: by the wait of the owner's own thread, or
 * else by an event. While none is, input is read ahead, once the request being served lasts for a while: the watcher sees
 * to that (crew_meanwhile.read_ahead).
 *   DUPLEX_NOBODY  no call is open, or only those of the owner's thread, which runs a nested request and looks when it waits
 *                  again; and nothing is read ahead
 *   DUPLEX_ARMED   the member (or the watcher) that gets the event takes the role
 *   DUPLEX_MEMBER  a thread reads, and gives the role back soon; an owner that comes back waits for that
 *   DUPLEX_WAITER  the owner's thread waits in a callback, of whatever connection, and reads (crew_wait)
 * Input that was read already brings no event: a thread that would arm a connection with such input submits it
 * instead. A send from another thread arms a connection that nobody reads, and so does the owner's thread when it stops
 * waiting while others have calls open.
 *
 * Queue: ordinary messages that come while they cannot be served wait in order, DUPLEX_QUEUE_MAX of them and message_max
 * bytes at most; beyond, and above INPUT_SMALL where the bound on all input is short, each is refused at once. They count
 * in that bound. While calls are open the owner, too, takes all input into the queue before it serves the next message,
 * so that no answer stays behind one that has to wait. What is read ahead while none is open is never refused: at
 * DUPLEX_QUEUE_MAX messages or 64 KiB, and where the client leaves its answers, no more is read.
 *
 * Sending: in call, or while nobody owns the connection, a message is appended to `out` under the lock, and sent as far as
 * the client takes it. While somebody owns it and is not in call, it waits in `pushed`, which the owner appends to `out`
 * between two messages and before it gives the connection up. An answer that is streamed is not interrupted.
 *
 * Locks: duplex->lock, then connection->lock. duplex->lock only keeps `connection` valid for threads that send. The owner
 * sets it to NULL before the connection is closed.
 */
#include "net/connection/connection.h"

enum { DUPLEX_QUEUE_MAX = 1000 };

enum duplex_reader { DUPLEX_NOBODY, DUPLEX_ARMED, DUPLEX_MEMBER, DUPLEX_WAITER };

struct duplex_message {
  struct duplex_message *next;
  struct buffer text;
};

struct connection_duplex {
  pthread_mutex_t lock; /* guards connection */
  struct connection *connection;
  struct rpc_callbacks *_Atomic callbacks; /* NULL: none was given; set under the connection's lock */
  _Atomic unsigned holders;                /* the connection, and those that have opened it */

  /* Under the connection's lock: */
  enum duplex_reader reader;
  pthread_cond_t given_back;  /* a DUPLEX_MEMBER or an upcall has ended */
  _Atomic size_t open_calls;  /* that were sent and are not settled; the owner reads it without the lock */
  size_t own_calls;           /* those of them that the owner's thread has sent in this call */
  int64_t flushed_ns;         /* when events of the own thread last left at once */
  size_t left;                /* bytes that the last attempt by a send left; 0 where they were sent since */
  bool awaits_member;         /* armed for one that sends the events that are held back */
  int64_t reading_ms;         /* when the connection has to end, not counting output that the client leaves */
  struct crew_member *waiter; /* where the reader is a DUPLEX_WAITER */
  struct buffer pushed;       /* framed */
  unsigned upcalls;           /* of the watcher: the owner that comes back waits for their end */
  uint32_t armed_events;      /* those of the end of the last turn; 0: it was submitted */
  _Atomic bool is_wanted;     /* the owner waits for given_back; read without the lock */
  _Atomic bool wants_room;    /* a send found none; read without the lock */
  _Atomic bool has_pushed;    /* there is something in `pushed`; the owner reads it without the lock */
  bool is_closed;             /* nothing more is sent */
  _Atomic bool reads_ahead;   /* in this call; who reads asks without the lock */

  /* Of the input side: */
  enum step last_step;
  struct buffer in_hand;   /* the message that is served */
  struct buffer collected; /* the beginning of the next message, while `message` is one of the queue */
  struct duplex_message *first_queued;
  struct duplex_message *last_queued;
  size_t queued;
  size_t queued_bytes;
  struct buffer replies;    /* pongs and refusals, framed, on their way to `out` */
  struct buffer last_words; /* a close frame, which follows the answers */
  bool is_in_hand;
  bool is_offered;      /* the message that is to be served was shown to the service */
  bool has_ended;       /* nothing more is read: last_step is due when the queue is served */
  bool is_blocked;      /* the client must read first */
  bool is_exhausted;    /* what lies in its buffers is no whole message: only an event brings more */
  _Atomic bool is_full; /* as much was read ahead as may be; a thread that sends asks, too */
  bool has_unsent;      /* output was left when it was last sent */
  bool is_cut;          /* because all input together has reached its bound */

  /* The thread's that has the role DUPLEX_WAITER alone: */
  bool is_waiting; /* it has */
  bool has_slept;  /* events may have been asked for since a thread of the owner has last looked */
};

/* rpc_push, of connections whose protocol can collect. */
extern const struct rpc_push connection_push;
/* For a member of the crew that waits inside the service of a connection (crew_wait). */
extern const struct crew_meanwhile connection_meanwhile;

/* --- the owner --- */

/* True while it must read its input, also where it pauses or waits for room. */
static inline bool connection_duplex_is_urgent(const struct connection *connection)
{
  return connection->duplex != NULL && atomic_load(&connection->duplex->open_calls) > 0;
}
/* Before each step: appends pushed messages, and takes all input while calls are open. */
void connection_duplex_catch_up(struct connection *connection, struct crew_member *member);
/* The end of the input is due: writes the last words. False: it is not. */
bool connection_duplex_end_turn(struct connection *connection, struct crew_member *member, enum step *last);
/* True where it has more to do without new input. */
bool connection_duplex_has_more(const struct connection *connection);
/* Around a message that is served. begin: under the lock, inside the service; the call is shared from then on. end: under
 * the lock, before the owner leaves it, and waits for a thread that reads; was_served: else the message is put back to
 * wait. */
void connection_duplex_begin_call(struct connection *connection);
void connection_duplex_end_call(struct connection *connection, bool was_served);

/* When the owner gives the connection up: appends and sends pushed messages. */
void connection_duplex_settle_output(struct connection *connection);
/* The same under the lock, once more. reading_ms: as in the struct. */
void connection_duplex_before_arming(struct connection *connection, int64_t reading_ms);
/* True where it needs another turn at once, to tell of room. Under the lock. */
bool connection_duplex_must_tell(const struct connection *connection);
/* True where an owner that waits for the client to read must read on. */
bool connection_duplex_reads_on(const struct connection *connection);
/* Only `out` is still sent, and calls end. Without the lock. */
void connection_duplex_close(struct connection *connection);
/* True where the client has given no callback, and all that was read ahead is served: it can be detached. */
bool connection_duplex_is_over(const struct connection *connection);
/* The connection lets go of it, and drops what is queued. */
void connection_duplex_detach(struct connection *connection);

/* --- others --- */

/* An event for a connection that somebody owns: reads it, if that is wanted. Without the lock. */
void connection_duplex_read(struct connection *connection, struct crew_member *member);
/* The watcher's look at a connection in call, under the lock: sends. Returns when it has to look again. */
int64_t connection_duplex_look(struct connection *connection);
/* The watcher's calls of the service: begin under the lock, end without it. */
void connection_duplex_begin_upcall(struct connection *connection);
void connection_duplex_end_upcall(struct connection *connection);

/* True if the connection may be closed in call: no thread uses its descriptor, and no message waits. Under the lock. */
bool connection_duplex_may_close(const struct connection_duplex *duplex);

#endif
