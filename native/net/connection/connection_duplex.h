#ifndef JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
#define JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
/*
 * A connection has a duplex from its client's first callback on: it is read while its request is inside Java, and any
 * thread may send (docs/internals/callbacks.md, "Who reads"). The struct rpc_duplex of rpc/service.h is this one. A connection
 * without callbacks has one while its request lasts, and until what was read during that time is served; before and
 * afterwards it has none (connection->duplex is NULL), and nothing here touches it.
 *
 * Sides: the fields of a connection are of two sides. The input: in, in_used, message, has_message, is_midway, held,
 * protocol_state, input, began_ms, counted. The output: out, out_sent, unshown, output, has_sent, stalled_ms. The owner
 * of the turn has both. While its thread is inside the service (in call: base/in_call.h)
 *   - the output belongs to the thread that holds the connection's lock,
 *   - the input belongs to the thread that has the reading role, `reader`, which changes under the lock.
 * The message that is served lies in `in_hand` meanwhile; `message` collects the next one.
 *
 * Roles, in call. Somebody reads while a call is open that may be answered: by the wait of the owner's own thread, or
 * else by an event. While none is, input is read ahead, once the request being served lasts for a while: the watcher
 * sees to that (crew_meanwhile.read_ahead).
 *   | reader        | what holds                                  | who leaves it, on what                          |
 *   | NOBODY        | the owner has its turn; in call: no call is | a thread that sends, or the watcher, arms it;   |
 *   |               | open, or only those of its own thread,      | the owner: take_input_back                      |
 *   |               | which runs a nested request and reads when  |                                                 |
 *   |               | it waits again; and nothing is read ahead   |                                                 |
 *   | ARMED         | an event is asked for                       | the member (or the watcher) that gets it; the   |
 *   |               |                                             | owner                                           |
 *   | ARMED_TO_SEND | as ARMED, for the events that are held back | as ARMED; a thread that wants input read        |
 *   | MEMBER        | a thread reads, and soon ends that          | that thread: give_role_back; the owner recalls  |
 *   |               |                                             | it                                              |
 *   | RECALLED      | as MEMBER; the owner waits for its end      | that thread: give_role_back                     |
 *   | OWNER         | the owner has all again, in call, and waits | the owner: it waits in a callback, or the call  |
 *   |               | while `upcalls` is not 0                    | ends                                            |
 *   | WAITER        | the owner's thread waits in a callback, of  | the owner: end_waiting                          |
 *   |               | whatever connection, and reads (crew_wait)  |                                                 |
 * Input that was read already brings no event: a thread that would arm a connection with such input submits it
 * instead. A send from another thread arms a connection that nobody reads, and so does the owner's thread when it stops
 * waiting while others have calls open. The owner's own thread arms it for the events that it holds back, because it
 * may stay in Java. Where it calls the client before the member has come, the member was woken in vain. The thread
 * wakes VAIN_MEMBERS_MAX of these at most between two visits of the watcher, which sends the events, too.
 *
 * Queue: ordinary messages that come while they cannot be served wait in order, DUPLEX_QUEUE_MAX of them and message_max
 * bytes at most; beyond, and above INPUT_SMALL where the bound on all input is short, each is refused at once. They count
 * in that bound. While calls are open the owner, too, takes all input into the queue before it serves the next message,
 * so that no answer stays behind one that has to wait. What is read ahead while none is open is never refused: at
 * DUPLEX_QUEUE_MAX messages or message_max bytes, at INPUT_SMALL where the bound on all input is short, and where the
 * client leaves its answers, no more is read.
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

/* Who has the reading role. Under the connection's lock; the threads MEMBER and WAITER ask without it. */
enum duplex_reader {
  DUPLEX_NOBODY,        /* the owner has all, or nobody reads in call */
  DUPLEX_ARMED,         /* the thread that gets the next event of the socket */
  DUPLEX_ARMED_TO_SEND, /* the same, where that event was asked for so that held-back messages are sent */
  DUPLEX_MEMBER,        /* a member, or the watcher, that has got the event */
  DUPLEX_RECALLED,      /* the same, while the owner waits for its end */
  DUPLEX_OWNER,         /* the owner again, in call */
  DUPLEX_WAITER         /* the owner's thread, which waits in a callback */
};

static const uint16_t duplex_reader_transitions[] = {
    [DUPLEX_NOBODY] = TO(DUPLEX_ARMED) | TO(DUPLEX_ARMED_TO_SEND) | TO(DUPLEX_OWNER),
    [DUPLEX_ARMED] = TO(DUPLEX_ARMED) | TO(DUPLEX_ARMED_TO_SEND) | TO(DUPLEX_MEMBER) | TO(DUPLEX_OWNER),
    [DUPLEX_ARMED_TO_SEND] = TO(DUPLEX_ARMED) | TO(DUPLEX_MEMBER) | TO(DUPLEX_OWNER),
    [DUPLEX_MEMBER] = TO(DUPLEX_NOBODY) | TO(DUPLEX_RECALLED),
    [DUPLEX_RECALLED] = TO(DUPLEX_OWNER),
    [DUPLEX_OWNER] = TO(DUPLEX_NOBODY) | TO(DUPLEX_WAITER),
    [DUPLEX_WAITER] = TO(DUPLEX_NOBODY),
};

/* What the last part of the input was. The thread that has the input writes it; others ask without a lock. */
enum collected {
  COLLECTED_SOME, /* something was received: there may be more */
  COLLECTED_ALL,  /* nothing was received: the buffers have no whole message, and only an event brings more */
  COLLECTED_BLOCKED, /* the client must read first; from here on duplex_needs_try */
  COLLECTED_FULL,    /* no more may be read ahead */
  COLLECTED_END, /* nothing more is read: last_step is due when the queue is served; from here on duplex_has_ended */
  COLLECTED_CUT /* the same, because all input together has reached its bound */
};

static const uint16_t collected_transitions[] = {
    [COLLECTED_SOME] = TO(COLLECTED_SOME) | TO(COLLECTED_ALL) | TO(COLLECTED_BLOCKED) | TO(COLLECTED_FULL) |
                       TO(COLLECTED_END) | TO(COLLECTED_CUT),
    [COLLECTED_ALL] = TO(COLLECTED_SOME) | TO(COLLECTED_ALL) | TO(COLLECTED_BLOCKED) | TO(COLLECTED_FULL) |
                      TO(COLLECTED_END) | TO(COLLECTED_CUT),
    [COLLECTED_BLOCKED] = TO(COLLECTED_SOME) | TO(COLLECTED_ALL) | TO(COLLECTED_BLOCKED) |
                          TO(COLLECTED_FULL) | TO(COLLECTED_END) | TO(COLLECTED_CUT),
    [COLLECTED_FULL] = TO(COLLECTED_SOME) | TO(COLLECTED_ALL) | TO(COLLECTED_BLOCKED) | TO(COLLECTED_FULL) |
                       TO(COLLECTED_END) | TO(COLLECTED_CUT),
    [COLLECTED_END] = 0,
    [COLLECTED_CUT] = 0,
};

/* The message that the owner serves next, or serves. The owner's; in call it stays as it is. */
enum duplex_message_state {
  DUPLEX_MESSAGE_NEW,     /* there is none, or it was not shown to the service */
  DUPLEX_MESSAGE_OFFERED, /* it was shown to the service, which has not consumed it: it is to be served */
  DUPLEX_MESSAGE_SERVED   /* it is being served, and is in `in_hand` */
};

static const uint16_t duplex_message_transitions[] = {
    [DUPLEX_MESSAGE_NEW] = TO(DUPLEX_MESSAGE_OFFERED) | TO(DUPLEX_MESSAGE_SERVED),
    [DUPLEX_MESSAGE_OFFERED] = TO(DUPLEX_MESSAGE_NEW) | TO(DUPLEX_MESSAGE_SERVED),
    [DUPLEX_MESSAGE_SERVED] = TO(DUPLEX_MESSAGE_NEW),
};

struct duplex_message {
  struct duplex_message *next;
  struct buffer text;
  struct buffer ids; /* of its requests (rpc_codec.list_ids), once somebody has asked for them */
  bool has_ids;
  bool is_too_long;   /* as connection->is_too_long */
  int64_t arrived_ns; /* as connection->received_ns, after its end */
  int64_t expires_ms; /* when it is answered without having run (clock_now_ms); INT64_MAX: never */
};

struct connection_duplex {
  pthread_mutex_t lock; /* guards connection */
  struct connection *connection;
  struct rpc_callbacks *_Atomic callbacks; /* NULL: none was given; set under the connection's lock */
  _Atomic unsigned holders;                /* the connection, and those that have opened it */

  /* Under the connection's lock: */
  _Atomic enum duplex_reader reader;
  pthread_cond_t given_back; /* a DUPLEX_RECALLED or an upcall has ended */
  _Atomic size_t open_calls; /* that were sent and are not settled; the owner reads it without the lock */
  size_t own_calls;          /* those of them that the owner's thread has sent in this call */
  int64_t flushed_ns;        /* when events of the own thread last left at once */
  unsigned vain_members; /* since the watcher's last look: woken to read or send, and the owner was first */
  size_t left;           /* bytes that the last attempt by a send left; 0 where they were sent since */
  int64_t reading_ms;    /* when the connection has to end, not counting output that the client leaves */
  struct crew_member *waiter; /* where the reader is a DUPLEX_WAITER */
  struct buffer pushed;       /* framed */
  unsigned upcalls;           /* of the watcher: the owner that comes back waits for their end */
  uint32_t armed_events;      /* those of the end of the last turn; 0: it was submitted */
  _Atomic bool wants_room;    /* a send found none; read without the lock */
  _Atomic bool has_pushed;    /* there is something in `pushed`; the owner reads it without the lock */
  bool is_closed;             /* no message is sent beside the answers; the input may still go on */
  _Atomic bool reads_ahead;   /* in this call; who reads asks without the lock */
  _Atomic bool refuses;       /* likewise: requests are refused, because the owner's thread is lost */

  /* Of the input side: */
  _Atomic enum collected input;
  enum step last_step; /* once the input has ended */
  enum duplex_message_state message;
  struct buffer in_hand; /* the message that is served */
  int64_t
      arrived_ns; /* of the message that is served next, or is served, where it has waited in the queue; else 0 */
  struct buffer ids; /* as in duplex_message, of the message that is served */
  bool has_ids;
  struct buffer collected; /* the beginning of the next message, while `message` is one of the queue */
  struct duplex_message *first_queued;
  struct duplex_message *last_queued;
  size_t queued;
  size_t queued_bytes;
  _Atomic int64_t expires_ms; /* no later than the first of the queue's; read without the role */
  struct buffer replies;      /* pongs and refusals, framed, on their way to `out` */
  struct buffer last_words;   /* a close frame, which follows the answers */
  bool has_unsent;            /* output was left when it was last sent, as the input side has seen it */

  /* The thread's that has the role DUPLEX_WAITER alone: */
  bool has_slept; /* events may have been asked for since a thread of the owner has last looked */
};

/* rpc_push, of connections whose protocol can collect. */
extern const struct rpc_push connection_push;
/* For a member of the crew that waits inside the service of a connection (crew_wait). */
extern const struct crew_meanwhile connection_meanwhile;

/* --- its states --- */

static inline enum duplex_reader duplex_reader(const struct connection_duplex *duplex)
{
  return atomic_load_explicit(&duplex->reader, memory_order_relaxed);
}
/* Of the connection's duplex. Under the connection's lock. */
static inline void duplex_set_reader(struct connection *connection, enum duplex_reader to)
{
  struct connection_duplex *duplex = connection->duplex;
  assert(mutex_is_locked(&connection->lock));
  ASSERT_TRANSITION(duplex_reader_transitions, duplex_reader(duplex), to);
  atomic_store_explicit(&duplex->reader, to, memory_order_relaxed);
}
/* True where the thread that gets the next event is the reader. Under the lock. */
static inline bool duplex_is_armed(const struct connection_duplex *duplex)
{
  const enum duplex_reader reader = duplex_reader(duplex);
  return reader == DUPLEX_ARMED || reader == DUPLEX_ARMED_TO_SEND;
}
/* True where an event is asked for, or nobody reads: a thread that holds the lock may have the connection read. */
static inline bool duplex_is_unread(const struct connection_duplex *duplex)
{
  return duplex_reader(duplex) == DUPLEX_NOBODY || duplex_is_armed(duplex);
}
/* Who has the input. */
static inline void duplex_set_input(struct connection_duplex *duplex, enum collected to)
{
  ASSERT_TRANSITION(collected_transitions, atomic_load_explicit(&duplex->input, memory_order_relaxed), to);
  atomic_store_explicit(&duplex->input, to, memory_order_relaxed);
}
static inline enum collected duplex_input(const struct connection_duplex *duplex)
{
  return atomic_load_explicit(&duplex->input, memory_order_relaxed);
}
/* True where the next part may be due although nothing was received: only connection_collect can tell. */
static inline bool duplex_needs_try(const struct connection_duplex *duplex)
{
  return duplex_input(duplex) >= COLLECTED_BLOCKED;
}
static inline bool duplex_has_ended(const struct connection_duplex *duplex)
{
  return duplex_input(duplex) >= COLLECTED_END;
}
static inline void duplex_set_message(struct connection_duplex *duplex, enum duplex_message_state to)
{
  ASSERT_TRANSITION(duplex_message_transitions, duplex->message, to);
  duplex->message = to;
}

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

/* True where the owner can lose the connection: no thread reads it. Under the lock. */
bool connection_duplex_may_part(const struct connection_duplex *duplex);
/* The owner's thread is lost, and nobody can serve in its place: what waits, and what comes, is refused until the end of the
 * call. True: connection_duplex_read is due. Under the lock. */
bool connection_duplex_refuse_input(struct connection_duplex *duplex);

/* True if the connection may be closed in call: no thread uses its descriptor, and no message waits. Under the lock. */
bool connection_duplex_may_close(const struct connection_duplex *duplex);

#endif
