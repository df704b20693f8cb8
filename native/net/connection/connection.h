#ifndef JPEER_NET_CONNECTION_CONNECTION_H
#define JPEER_NET_CONNECTION_CONNECTION_H
/*
 * A connection over TCP or a Unix socket, whose bytes a protocol reads and writes (net/connection/connection_protocol.h).
 *
 * Owner: a turn owns the connection from connection_turn to its end. Between turns nobody owns
 * it, and it is armed in the crew's epoll set or is in the ready queue. All fields belong to the owner unless
 * they say otherwise. While the owner's thread is inside the service (base/in_call.h), the watcher may
 * visit the connection: it sends the output, or seizes the connection, or closes it because its client has left. The
 * owner then finds `seized`, or no descriptor, drops its answer and ends the connection. A connection whose client has
 * given callbacks, or whose request lasts, is read during that time, too, and any thread may send
 * (net/connection/connection_duplex.h).
 *
 * Input: bytes that a connection has collected and not yet served count against a bound on the input of all
 * (net/admission/input_budget.h). Above three quarters of it, a connection without a licence pauses: it is
 * armed for no input, and the watcher submits it when it may go on. Its deadlines still hold.
 *
 * Memory: a connection is a place in a chunk of its table. Chunks stay until the table ends, so that a late
 * event finds a valid source. A connection owns buffers only while there is something in them.
 */
#include "base/in_call.h"
#include "base/transitions.h"
#include "net/admission/input_budget.h"
#include "net/connection/connection_protocol.h"
#include "net/workers/crew.h"

#include <pthread.h>
#include <stdalign.h>

struct connection_duplex;
struct connection_stream;
struct connection_table;

struct connection_limits {
  size_t message_max;
  size_t send_buffer_max;
  size_t header_max;
  size_t connections_max;
  int64_t header_timeout_ms;
  int64_t body_timeout_ms;
  int64_t idle_timeout_ms;
  bool finishes_left; /* what a client runs that leaves goes on */
};

/*
 * A connection has three states, which are independent of each other.
 *
 * `state`: who has it. Under the lock.
 *   | state  | what holds                                      | who leaves it, on what                               |
 *   | FREE   | the place has no connection, no descriptor      | connection_table_accept, for a new client            |
 *   | ARMED  | nobody owns it, and a turn will come            | connection_own: a turn, the watcher at a deadline or |
 *   |        |                                                 | at the end; finish_turn, where it may not be read    |
 *   | PAUSED | as ARMED; counts in table->paused; no input may | connection_own: the watcher submits it when there is |
 *   |        | come                                            | room, or ends it                                     |
 *   | OWNED  | one thread has all fields; in_call says whether | finish_turn at the end of the turn; close_now        |
 *   |        | it is inside the service                        |                                                      |
 *
 * `output`: how its side of the stream ends. Of the output side (net/connection/connection_duplex.h): the owner writes
 * it; in call, and while nobody owns the connection, the thread that holds the lock.
 *   | OPEN     | answers are written                           | begin_linger, after the last words were written      |
 *   | LINGERS  | `out` has the last words; input is dropped    | begin_linger, when all was sent                      |
 *   | SAID_ALL | the socket is shut down for writing           | the client's end, or linger_end_ms: it is closed     |
 *   | BROKEN   | nothing can be sent or read                   | the owner closes the connection; one that is ARMED   |
 *   |          |                                               | has an owner with its next event, or at its deadline |
 *
 * `input`: whether the next read may receive something. Of the input side: the owner writes it; in call, the thread
 * that has the reading role.
 *   | OPEN    | the socket may have input                      | a read that empties the socket, or finds the end     |
 *   | DRAINED | the last read left nothing                     | connection_note_input, before the next try to read   |
 *   | ENDED   | the client sends no more                       | nobody; a carrier may still have input               |
 */
enum connection_state {
  CONNECTION_FREE,   /* no connection in this place */
  CONNECTION_ARMED,  /* nobody owns it: it waits for an event, or is in the ready queue */
  CONNECTION_PAUSED, /* nobody owns it: it waits until the watcher submits it */
  CONNECTION_OWNED   /* a turn, or the watcher, has it */
};

static const uint16_t connection_transitions[] = {
    [CONNECTION_FREE] = TO(CONNECTION_ARMED),
    [CONNECTION_ARMED] = TO(CONNECTION_OWNED) | TO(CONNECTION_PAUSED),
    [CONNECTION_PAUSED] = TO(CONNECTION_OWNED),
    [CONNECTION_OWNED] = TO(CONNECTION_ARMED) | TO(CONNECTION_FREE),
};

enum connection_output {
  CONNECTION_OUTPUT_OPEN,     /* answers are written */
  CONNECTION_OUTPUT_LINGERS,  /* nothing more is written: input is dropped until the client ends, or a time */
  CONNECTION_OUTPUT_SAID_ALL, /* it lingers, all was sent, and our side is shut down */
  CONNECTION_OUTPUT_BROKEN    /* the connection failed: nothing can be sent or read */
};

static const uint16_t connection_output_transitions[] = {
    [CONNECTION_OUTPUT_OPEN] = TO(CONNECTION_OUTPUT_LINGERS) | TO(CONNECTION_OUTPUT_BROKEN),
    [CONNECTION_OUTPUT_LINGERS] = TO(CONNECTION_OUTPUT_SAID_ALL) | TO(CONNECTION_OUTPUT_BROKEN),
    [CONNECTION_OUTPUT_SAID_ALL] = TO(CONNECTION_OUTPUT_BROKEN),
    [CONNECTION_OUTPUT_BROKEN] = TO(CONNECTION_OUTPUT_BROKEN),
};

enum connection_input {
  CONNECTION_INPUT_OPEN,    /* the socket may have input */
  CONNECTION_INPUT_DRAINED, /* the last read emptied the socket */
  CONNECTION_INPUT_ENDED    /* the client sends no more */
};

static const uint16_t connection_input_transitions[] = {
    [CONNECTION_INPUT_OPEN] =
        TO(CONNECTION_INPUT_OPEN) | TO(CONNECTION_INPUT_DRAINED) | TO(CONNECTION_INPUT_ENDED),
    [CONNECTION_INPUT_DRAINED] =
        TO(CONNECTION_INPUT_DRAINED) | TO(CONNECTION_INPUT_OPEN) | TO(CONNECTION_INPUT_ENDED),
    [CONNECTION_INPUT_ENDED] = 0,
};

/*
 * Who answers the message that is served.
 *   | OWN_ANSWER | the owner                                                | a visitor, in call                   |
 *   | ANSWERED   | a visitor has: the owner drops its answer                | connection_serve; a visitor          |
 *   | SEIZED     | a visitor has, and nothing more is written or served     | the end of the connection            |
 */
enum connection_answerer { CONNECTION_OWN_ANSWER, CONNECTION_ANSWERED, CONNECTION_SEIZED };

enum {
  CONNECTION_PROTOCOL_STATE = 320, /* bytes */
  CONNECTION_FLUSH_SOON = 1        /* a deadline that has always passed: the next tick sends the output */
};

struct connection {
  struct crew_source source; /* first: a source is its connection */
  struct connection_table *table;
  const struct connection_limits *limits; /* the table's */
  struct connection *next_free;           /* in the table's list of free places */

  pthread_mutex_t lock; /* guards state; and fd and out while the owner is in call */
  enum connection_state state;
  in_call_word in_call;
  struct rpc_worker *worker;         /* whose thread is in call; the owner writes it before it goes in */
  enum connection_answerer answerer; /* of the message that is served; in call, under the lock */
  /* Of one that is pinned, under the lock, while nobody owns it: */
  bool is_due;            /* its member has a turn at once */
  uint32_t pinned_events; /* what its member waits for; 0: nothing */
  bool awaits_event;      /* under the lock: an event of the descriptor is still to come, whoever has it */
  struct input_licence licence;
  _Atomic size_t counted;       /* bytes of input in the budget; who has the input writes it */
  _Atomic int64_t *deadline_ms; /* when the watcher looks at it, in the table; INT64_MAX: never */

  int fd;            /* -1: closed, in call because the client has left */
  int64_t probed_ms; /* the watcher's: when it last wrote a probe; 0: never */
  enum connection_output output;
  _Atomic enum connection_input input; /* read under the lock, too, while who has the input writes it */
  bool has_message;                    /* a whole message is in `message` */
  bool is_too_long;    /* that message: its beginning alone is in `message` (net/connection/long_message.h) */
  bool has_sent;       /* the client took something in this turn */
  bool is_midway;      /* the protocol is inside a message, or HTTP has read a head that it has not served */
  int64_t since_ms;    /* see crew_message */
  int64_t received_ns; /* when it last got input (clock_now_ns) */
  int64_t began_ms;    /* when the head, the body or the message under way began; 0: none */
  int64_t stalled_ms;  /* since when the client takes nothing; 0: nothing waits for it */
  int64_t linger_end_ms; /* while it is lingering */

  struct buffer in;
  size_t in_used; /* bytes of it that the protocol has taken */
  struct buffer message;
  struct buffer out;
  size_t out_sent;
  size_t unshown; /* bytes that the carrier has and the client does not see before the next flush */

  struct rpc_client *client;
  struct rpc_address address;       /* the client's */
  struct connection_stream *stream; /* an answer of which a part is still to be made; NULL: none */
  /* From the client's first callback on; before that, while input is read ahead. The owner writes it; in call, whoever
   * holds the lock. NULL: the client is not read in call. */
  struct connection_duplex *_Atomic duplex;

  /* Written by the protocol. */
  const struct connection_protocol *protocol;
  size_t held; /* bytes of input that lie in objects that it has borrowed */
  alignas(max_align_t) unsigned char protocol_state[CONNECTION_PROTOCOL_STATE];
};

/* --- its states --- */

/* Under the lock. */
static inline void connection_set_state(struct connection *connection, enum connection_state to)
{
  assert(mutex_is_locked(&connection->lock));
  ASSERT_TRANSITION(connection_transitions, connection->state, to);
  connection->state = to;
}
/* True where a turn may begin. Under the lock. */
static inline bool connection_is_unowned(const struct connection *connection)
{
  return connection->state == CONNECTION_ARMED || connection->state == CONNECTION_PAUSED;
}
static inline void connection_set_output(struct connection *connection, enum connection_output to)
{
  ASSERT_TRANSITION(connection_output_transitions, connection->output, to);
  connection->output = to;
}
static inline void connection_break(struct connection *connection)
{
  connection_set_output(connection, CONNECTION_OUTPUT_BROKEN);
}
static inline bool connection_is_broken(const struct connection *connection)
{
  return connection->output == CONNECTION_OUTPUT_BROKEN;
}
/* Under the lock in call. */
static inline bool connection_is_seized(const struct connection *connection)
{
  return connection->answerer == CONNECTION_SEIZED;
}
static inline bool connection_lingers(const struct connection *connection)
{
  return connection->output == CONNECTION_OUTPUT_LINGERS || connection->output == CONNECTION_OUTPUT_SAID_ALL;
}
static inline enum connection_input connection_input_state(const struct connection *connection)
{
  return atomic_load_explicit(&connection->input, memory_order_relaxed);
}
static inline bool connection_is_at_end(const struct connection *connection)
{
  return connection_input_state(connection) == CONNECTION_INPUT_ENDED;
}
/* Who has the input, unless it has ended. */
static inline void connection_set_input(struct connection *connection, enum connection_input to)
{
  ASSERT_TRANSITION(connection_input_transitions, connection_input_state(connection), to);
  atomic_store_explicit(&connection->input, to, memory_order_relaxed);
}
/* The same, where the input may have ended: the end stays. */
static inline void connection_note_input(struct connection *connection, enum connection_input to)
{
  if (!connection_is_at_end(connection))
    connection_set_input(connection, to);
}

/* --- the owner, and the watcher --- */

void connection_turn(struct crew_source *source, struct crew_member *member);
/* crew_meanwhile.await */
enum crew_pinned_next connection_await(struct crew_source *source, struct crew_member *member, int *fd,
                                       short *events);
/* rpc_push.pin and unpin */
enum jp_status connection_pin(void *connection, const char *name, struct jp_error *error);
void connection_unpin(void *connection);
/* Takes a connection that nobody owns. Under its lock. */
void connection_own(struct connection *connection);
/* The deadline has passed. The watcher, as the owner. */
void connection_expire(struct connection *connection, struct crew_member *watcher);
/* Drops the input, sends the client an error and ends the connection. The watcher, as the owner. */
void connection_cut(struct connection *connection, struct crew_member *watcher);
/* Answers the messages that have come, and ends the connection. The watcher, as the owner, once the crew
 * refuses all. */
void connection_say_goodbye(struct connection *connection, struct crew_member *watcher);
/* Answers in the place of the owner, who is inside the service and finds the connection seized when it comes
 * back. The watcher, as a visitor. */
void connection_seize(struct connection *connection, struct crew_member *watcher);
/* crew_meanwhile.answer_ended */
bool connection_answer_ended(struct crew_source *source, struct crew_member *member, uint64_t steps,
                             enum rpc_call_cause cause, bool is_patient);
/* crew_meanwhile.part */
bool connection_part(struct crew_source *source, struct crew_member *watcher, struct crew_member *member,
                     uint64_t steps, struct crew_parted *parted, bool *is_later);
/*
 * The watcher's look at a connection that has been in call for long. Closes its descriptor, and what its carrier has,
 * where the client has left and has sent nothing that is still to be served; true: it has left. A client that has only
 * ended its own side of a Unix socket may still read: its answer is sent. So does one of TCP, where both look the
 * same until the other side's system is sent something. had_left: the look before has said so; else the call of a client
 * that has left is ended (connection_end_left).
 */
bool connection_look_after(struct crew_source *source, bool had_left);
/* The client has left: ends the message that is served, except notifications. In call, a thread that keeps the owner there;
 * ids: a buffer for the message's. */
void connection_end_left(const struct connection *connection, struct buffer *ids, bool *has_ids);
static inline bool connection_has_left(const struct connection *connection)
{
  return connection->fd < 0;
}
/* Sends as much as the socket or the carrier takes now, and shows it. */
void connection_flush(struct connection *connection);
static inline size_t connection_unsent(const struct connection *connection)
{
  return connection->out.len - connection->out_sent;
}
/* True if there is something that a flush may bring to the client. */
static inline bool connection_holds_back(const struct connection *connection)
{
  return connection_unsent(connection) > 0 || connection->unshown > 0;
}

/* --- for connection_duplex.c --- */

/* Asks for an event of its descriptor. Under the lock. */
enum jp_status connection_watch(struct connection *connection, uint32_t events) JP_MUST_CHECK;
/* True if something new came: bytes, or the end. */
bool connection_receive(struct connection *connection);
/* With more than this unsent, the client is not read from until it takes its answers. */
size_t connection_unsent_mark(const struct connection *connection);
/* True if the bound on all input lets it read no further. */
bool connection_must_pause(struct connection *connection);
void connection_count_input(struct connection *connection);
/* Nothing passes its socket any more. Under the lock, or the owner. */
void connection_shut_down(struct connection *connection);
/* The message that is being served. Under the lock. */
struct text connection_message_in_hand(const struct connection *connection);

/* --- for protocols --- */

/* The connection speaks this protocol from now on. */
void connection_speak(struct connection *connection, const struct connection_protocol *protocol);
static inline struct text connection_input(const struct connection *connection)
{
  if (connection->in.len == connection->in_used)
    return TEXT("");
  return text_slice(buffer_text(&connection->in), connection->in_used, connection->in.len);
}
/* True if a message has begun to arrive and is not served yet. */
static inline bool connection_has_begun(const struct connection *connection)
{
  return connection->is_midway || connection->in.len > connection->in_used;
}
const struct rpc_service *connection_service(const struct connection *connection);
/* Serves `message`; *answer is the member's buffer. False: the connection was seized meanwhile. CREW_ANSWERED: there is
 * nothing left to write. */
bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream);
/* Answers a message of which the beginning is known: it is longer than message_max. */
void connection_reject_too_long(const struct connection *connection, struct buffer *answer);
/* The message was served, and is not needed any more. */
void connection_drop_message(struct connection *connection);
/* The codec of its messages: JSON-RPC, as for all messages of WebSocket and HTTP. */
const struct rpc_codec *connection_codec(const struct connection *connection);
/* What the answer to a handshake says of the client's session, in *told; returns that. */
const struct rpc_told_session *connection_tell_session(const struct connection *connection,
                                                       struct rpc_told_session *told);
/* told: of rpc_service.client_close; NULL: no answer follows. */
void connection_close_client(struct connection *connection, struct crew_member *member,
                             struct rpc_told_session *told);

/* Takes the stream, after the beginning of the answer was written. False: no memory; the stream is closed. */
bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream);
/* Serves `message`, which came as a frame, and writes the answer. is_whole false: the first part of one, which write_part
 * of the protocol continues. */
enum step connection_serve_frame(struct connection *connection, struct crew_member *member,
                                 void (*write_answer)(struct connection *connection, struct text answer,
                                                      bool is_whole));
/* Frees the stream and closes what it reads from. */
void connection_end_stream(struct connection *connection);

#endif
