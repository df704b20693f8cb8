#ifndef JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
#define JPEER_NET_CONNECTION_CONNECTION_DUPLEX_H
/*
 * The duplex of a connection: the connection is read in call, and any thread may send
 * (docs/internals/callbacks.md, "Who reads"). It implements struct rpc_duplex of rpc/service.h. A connection
 * has a duplex from its client's first callback on. A connection without callbacks has a duplex while its
 * input is read ahead: during a long request, and afterwards until the messages that were read during the
 * request have been served. All other connections have no duplex (connection->duplex is NULL).
 *
 * In call: the owner's thread is inside the service (base/in_call.h). An open call: a call of Java code to the client,
 * a callback, that the client has not answered yet.
 *
 * Sides: each field of a connection is on one of two sides.
 *   - Input side: in, in_used, message, has_message, is_midway, held, protocol_state, input, began_ms,
 *     counted. In call these fields belong to the thread that has the reading role. `reader` says who has the
 *     role, and changes under the lock.
 *   - Output side: out, out_sent, unpublished, output, has_sent, stalled_ms. In call these fields belong to
 *     the thread that holds the connection's lock.
 * Outside a call both sides belong to the owner. In call the message that is being served is in `served`, and
 * the next message is collected in `message`.
 *
 * Reading in call: while calls are open, some thread has to read their answers. While the owner's thread
 * waits for an answer, it reads. Otherwise the thread that gets the next event reads. If no call is open,
 * input is read ahead as soon as the request has lasted for a while (crew_call_ops.read_ahead).
 *   | reader        | meaning                                     | what ends it                                    |
 *   | NOBODY        | outside a call; or in call without reading  | a thread that sends, or the watcher, arms it;   |
 *   |               | ahead, and no call is open except those of  | the owner: recall_input                         |
 *   |               | the owner's thread, which runs a nested     |                                                 |
 *   |               | request and reads when it waits again       |                                                 |
 *   | ARMED         | the descriptor is armed for input           | the member (or the watcher) that gets the       |
 *   |               |                                             | event; the owner                                |
 *   | ARMED_TO_SEND | the descriptor is armed, so that a member   | as ARMED; a thread that needs the input read    |
 *   |               | sends the events that are held back         |                                                 |
 *   | MEMBER        | a member reads, for one turn                | that thread: release_role; the owner recalls    |
 *   |               |                                             | the role                                        |
 *   | RECALLED      | as MEMBER, and the owner waits for its end  | that thread: release_role                       |
 *   | OWNER         | the owner has both sides again, in call; it | the owner: it waits in a callback, or the call  |
 *   |               | waits while `upcalls` is not 0              | ends                                            |
 *   | WAITER        | the owner's thread reads while it waits in  | the owner: end_waiting                          |
 *   |               | a callback, perhaps of another client       |                                                 |
 *   |               | (crew_wait)                                 |                                                 |
 * Input that is in the buffers already causes no event, so a connection with such input is submitted instead
 * of armed. Two threads arm a connection that nobody reads: another thread that sends, and the owner's thread
 * when it ends a wait while other threads have open calls. The owner's thread also arms it for the events
 * that it holds back, because it may remain in Java for a long time. If the owner's thread calls the client
 * before a member gets that event, the member was woken in vain. At most VAIN_MEMBERS_MAX members are woken
 * in vain between two checks of the watcher, which also sends held-back events.
 *
 * Queue: messages that cannot be served yet wait in order: at most DUPLEX_QUEUE_MAX messages with at most
 * message_max bytes in all. While calls are open, a message that exceeds these limits is refused at once. If
 * little is left of the bound on all input, a message above INPUT_SMALL is refused, too. While calls are
 * open, the owner also reads all input into the queue before it serves the next message, so that no answer
 * waits for a request. If no call is open, messages are never refused: reading ahead stops at
 * DUPLEX_QUEUE_MAX messages or message_max bytes, or at INPUT_SMALL if little is left of the bound on all
 * input. It also stops while the client does not read its answers. Queued messages count in the bound on all
 * input.
 *
 * Sending: in call, or while nobody owns the connection, a message is appended to `out` under the lock, and sent as far
 * as the socket accepts it. While the owner is not in call, the message waits in `pushed`, which the owner appends to
 * `out` between two messages and at the end of its turn. A streamed answer is not interrupted.
 *
 * Locks: a thread that holds both has acquired duplex->lock before connection->lock. duplex->lock only keeps
 * `connection` valid for threads that send. The owner sets `connection` to NULL before the connection is
 * closed.
 */
#include "net/connection/connection.h"

enum { DUPLEX_QUEUE_MAX = 1000 };

/* Which thread has the reading role, that is, may read the input. It is changed under the connection's lock.
 * The thread that is DUPLEX_MEMBER or DUPLEX_WAITER may check it without the lock. */
enum duplex_reader {
  DUPLEX_NOBODY,        /* outside a call the owner has the role; in call no thread has it */
  DUPLEX_ARMED,         /* the thread that gets the next event of the socket will have the role */
  DUPLEX_ARMED_TO_SEND, /* as DUPLEX_ARMED; the socket was armed to send held-back events */
  DUPLEX_MEMBER,        /* the member, or the watcher, that has got the event has the role */
  DUPLEX_RECALLED,      /* as DUPLEX_MEMBER; the owner waits for the end of that thread's turn */
  DUPLEX_OWNER,         /* the owner has the role in call */
  DUPLEX_WAITER         /* the owner's thread has the role while it waits in a callback */
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

/* The result of the last read. Written by the thread that has the input side; other threads read it without a
 * lock. The constants are in this order, because duplex_needs_try is true from COLLECTED_BLOCKED on, and
 * duplex_has_ended is true from COLLECTED_END on. */
enum collected {
  COLLECTED_SOME, /* input was received: there may be more */
  COLLECTED_ALL, /* no input was received: the buffers have no whole message, and only an event brings more */
  COLLECTED_BLOCKED, /* the client must read its answers first */
  COLLECTED_FULL,    /* no more may be read ahead */
  COLLECTED_END,     /* nothing more is read; last_step follows when the queue has been served */
  COLLECTED_CUT      /* nothing more is read, because all input together has reached its bound */
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

/* States whether input is read in call while the client has no open calls. After the call the state is
 * DUPLEX_AHEAD_WAITS again. */
enum duplex_ahead {
  DUPLEX_AHEAD_WAITS,  /* the input waits for the end of the call */
  DUPLEX_AHEAD_READS,  /* the input is read, and requests are queued */
  DUPLEX_AHEAD_REFUSES /* the input is read, and requests are refused, because the owner's thread is lost */
};

static const uint16_t duplex_ahead_transitions[] = {
    [DUPLEX_AHEAD_WAITS] = TO(DUPLEX_AHEAD_WAITS) | TO(DUPLEX_AHEAD_READS) | TO(DUPLEX_AHEAD_REFUSES),
    [DUPLEX_AHEAD_READS] = TO(DUPLEX_AHEAD_WAITS) | TO(DUPLEX_AHEAD_READS) | TO(DUPLEX_AHEAD_REFUSES),
    [DUPLEX_AHEAD_REFUSES] = TO(DUPLEX_AHEAD_WAITS) | TO(DUPLEX_AHEAD_REFUSES),
};

/* The state of the message that the owner serves, or serves next. Written by the owner, outside a call. */
enum duplex_message_state {
  DUPLEX_MESSAGE_NEW,     /* there is no message, or the service has not seen it */
  DUPLEX_MESSAGE_OFFERED, /* the service has seen the message and not consumed it, so it has to be served */
  DUPLEX_MESSAGE_SERVED   /* the message is being served, and is in `served` */
};

static const uint16_t duplex_message_transitions[] = {
    [DUPLEX_MESSAGE_NEW] = TO(DUPLEX_MESSAGE_OFFERED) | TO(DUPLEX_MESSAGE_SERVED),
    [DUPLEX_MESSAGE_OFFERED] = TO(DUPLEX_MESSAGE_NEW) | TO(DUPLEX_MESSAGE_SERVED),
    [DUPLEX_MESSAGE_SERVED] = TO(DUPLEX_MESSAGE_NEW),
};

struct duplex_message {
  struct duplex_message *next;
  struct buffer text;
  struct buffer ids; /* the ids of its requests (rpc_codec.list_ids); listed when they are first needed */
  bool has_ids;
  bool is_too_long;   /* as connection->is_too_long */
  int64_t arrived_ns; /* connection->received_ns when the end of the message was received */
  int64_t expires_ms; /* the time (clock_now_ms) from which the message is answered without running;
                       * INT64_MAX: never */
};

struct connection_duplex {
  pthread_mutex_t lock; /* guards connection */
  struct connection *connection;
  struct rpc_callbacks
      *_Atomic callbacks;   /* NULL: the client has sent no callback; set under the connection's lock */
  _Atomic unsigned holders; /* number of holders: the connection, and `callbacks` */

  /* Under the connection's lock: */
  _Atomic enum duplex_reader reader;
  pthread_cond_t released;   /* a DUPLEX_RECALLED or an upcall has ended */
  _Atomic size_t open_calls; /* also read without the lock by the owner */
  size_t own_calls;          /* open calls that the owner's thread has sent in this call */
  int64_t flushed_ns;        /* when an event of the owner's thread was last sent at once */
  unsigned vain_members;     /* members woken in vain to read or send, since the watcher's last check */
  size_t left;               /* the number of bytes that were unsent after the last flush of a send, and still
                              * are unsent */
  /* the deadline of the connection without regard to unsent output */
  int64_t reading_ms;
  struct crew_member *waiter; /* if the reader is a DUPLEX_WAITER */
  struct buffer pushed;       /* framed messages */
  /* calls of the service that the watcher is making; the owner waits for their end */
  unsigned upcalls;
  uint32_t armed_events;   /* the events at the end of the last turn; 0: the connection was submitted */
  _Atomic bool wants_room; /* a send was refused for lack of room; also read without the lock */
  _Atomic bool has_pushed; /* `pushed` is not empty; also read without the lock by the owner */
  bool is_closed;          /* only answers are sent; input may still be read */
  _Atomic enum duplex_ahead ahead; /* changed under the lock; also read without the lock by the reader */

  /* Of the input side: */
  _Atomic enum collected input;
  enum step last_step; /* how to end the connection, once the input has ended */
  enum duplex_message_state message;
  struct buffer served; /* the message that is being served */
  int64_t
      arrived_ns; /* arrival of the message that is served, or is served next, if it was queued; otherwise 0 */
  struct buffer ids; /* as in duplex_message, of the message that is being served */
  bool has_ids;
  struct buffer collected; /* the beginning of the next message, while `message` is from the queue */
  struct duplex_message *first_queued;
  struct duplex_message *last_queued;
  size_t queued;
  size_t queued_bytes;
  _Atomic int64_t expires_ms; /* a time that is not after the first timeout of the queue; other threads may
                               * read it */
  struct buffer replies;      /* framed pongs and refusals, to be appended to `out` */
  struct buffer final_frames; /* a close frame, which follows the answers */
  /* output remained unsent at the last flush by the thread that has the input side */
  bool has_unsent;

  /* Used by the thread that is the DUPLEX_WAITER: */
  bool has_slept; /* the descriptor may have been armed since the owner's thread has last read input */
};

/* rpc_push, for connections whose protocol can collect. */
extern const struct rpc_push connection_push;
extern const struct crew_call_ops connection_call_ops;

/* --- states --- */

static inline enum duplex_reader duplex_reader(const struct connection_duplex *duplex)
{
  return atomic_load_explicit(&duplex->reader, memory_order_relaxed);
}
/* Under the connection's lock. */
static inline void duplex_set_reader(struct connection *connection, enum duplex_reader to)
{
  struct connection_duplex *duplex = connection->duplex;
  assert(mutex_is_locked(&connection->lock));
  ASSERT_TRANSITION(duplex_reader_transitions, duplex_reader(duplex), to);
  atomic_store_explicit(&duplex->reader, to, memory_order_relaxed);
}
/* True if the thread that gets the next event becomes the reader. The caller holds the lock. */
static inline bool duplex_is_armed(const struct connection_duplex *duplex)
{
  const enum duplex_reader reader = duplex_reader(duplex);
  return reader == DUPLEX_ARMED || reader == DUPLEX_ARMED_TO_SEND;
}
/* True if no thread reads now. The caller holds the lock. */
static inline bool duplex_is_unread(const struct connection_duplex *duplex)
{
  return duplex_reader(duplex) == DUPLEX_NOBODY || duplex_is_armed(duplex);
}
/* Called by the thread that has the input side. */
static inline void duplex_set_input(struct connection_duplex *duplex, enum collected to)
{
  ASSERT_TRANSITION(collected_transitions, atomic_load_explicit(&duplex->input, memory_order_relaxed), to);
  atomic_store_explicit(&duplex->input, to, memory_order_relaxed);
}
static inline enum collected duplex_input(const struct connection_duplex *duplex)
{
  return atomic_load_explicit(&duplex->input, memory_order_relaxed);
}
/* Under the lock. */
static inline void duplex_set_ahead(struct connection_duplex *duplex, enum duplex_ahead to)
{
  ASSERT_TRANSITION(duplex_ahead_transitions, atomic_load_explicit(&duplex->ahead, memory_order_relaxed), to);
  atomic_store(&duplex->ahead, to);
}
static inline enum duplex_ahead duplex_ahead(const struct connection_duplex *duplex)
{
  return atomic_load_explicit(&duplex->ahead, memory_order_relaxed);
}
/* True if connection_collect must be called even if no new input has arrived. */
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

/* True if the input must be read, because of open calls, even if the connection pauses or waits for room. */
static inline bool connection_duplex_is_urgent(const struct connection *connection)
{
  return connection->duplex != NULL && atomic_load(&connection->duplex->open_calls) > 0;
}
/* Called before each step. Appends pushed messages to `out` and, while calls are open, reads all input into
 * the queue. */
void connection_duplex_catch_up(struct connection *connection, struct crew_member *member);
/* If the input has ended, appends the final frames to `out`, and sets *last. False: the input has not
 * ended. */
bool connection_duplex_end_turn(struct connection *connection, struct crew_member *member, enum step *last);
/* True if the owner has more to do without new input. */
bool connection_duplex_has_more(const struct connection *connection);
/* Called under the lock before and after a message is served. connection_duplex_begin_call is called in call,
 * and marks the call as shared. connection_duplex_end_call is called before the owner leaves the call, and
 * waits for a thread that reads. was_served false: the message is moved to the front of the queue. */
void connection_duplex_begin_call(struct connection *connection);
void connection_duplex_end_call(struct connection *connection, bool was_served);

/* Called at the end of a turn. Appends and sends pushed messages. */
void connection_duplex_settle_output(struct connection *connection);
/* Called under the lock, after connection_duplex_settle_output, to append and send messages that were pushed
 * since then. reading_ms: see struct connection_duplex. */
void connection_duplex_before_arming(struct connection *connection, int64_t reading_ms);
/* True if another turn is needed at once, because a send was refused and there is room now. The caller holds
 * the lock. */
bool connection_duplex_must_report_room(const struct connection *connection);
/* True if a connection that waits for room in its output must be read on. */
bool connection_duplex_reads_on(const struct connection *connection);
/* Ends open calls. From now on only `out` is sent. The caller does not hold the lock. */
void connection_duplex_close(struct connection *connection);
/* True if the duplex can be detached: the client has sent no callback, and all messages that were read ahead have been
 * served. */
bool connection_duplex_is_over(const struct connection *connection);
/* Releases the duplex, and drops the queued messages. */
void connection_duplex_detach(struct connection *connection);

/* --- other threads --- */

/* Handles an event of a connection that has an owner. Reads the connection if `reader` is ARMED. The caller
 * does not hold the lock. */
void connection_duplex_read(struct connection *connection, struct crew_member *member);
/* Sends the output of a connection in call. Returns the time of the next check. Called by the watcher under
 * the lock. */
int64_t connection_duplex_check(struct connection *connection);
/* The watcher calls connection_duplex_begin_upcall under the lock, and afterwards
 * connection_duplex_end_upcall without the lock. The latter makes the watcher's calls of the service. */
void connection_duplex_begin_upcall(struct connection *connection);
void connection_duplex_end_upcall(struct connection *connection);

/* True if the connection can be reclaimed from its owner, because no thread reads it. The caller holds the
 * lock. */
bool connection_duplex_may_be_reclaimed(const struct connection_duplex *duplex);
/* Called if the owner's thread is lost and the connection cannot be reclaimed. Waiting and new messages are
 * then refused until the end of the call. True: the caller has to call connection_duplex_read. The caller
 * holds the lock. */
bool connection_duplex_refuse_input(struct connection_duplex *duplex);

/* True if the connection may be closed in call, because no thread uses its descriptor and no message waits.
 * The caller holds the lock. */
bool connection_duplex_may_close(const struct connection_duplex *duplex);

#endif
