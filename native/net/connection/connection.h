#ifndef JPEER_NET_CONNECTION_CONNECTION_H
#define JPEER_NET_CONNECTION_CONNECTION_H
/*
 * A connection over TCP or a Unix socket (docs/internals/connection.md). A protocol reads and writes its bytes
 * (net/connection/connection_protocol.h).
 *
 * Owner: the thread of a turn owns the connection during the turn. Between turns nobody owns the connection;
 * it is armed in the crew's epoll set or is in the ready queue. All fields belong to the owner, except as
 * their comments say. "In call" means that the owner's thread is inside the service (base/in_call.h). In call
 * the watcher may visit the connection under the lock, as a visitor: it sends output, seizes the connection,
 * or closes the descriptor because the client has left. The owner then finds CONNECTION_SEIZED, or no
 * descriptor, drops its answer and ends the connection. If the client has sent callbacks, or if the request
 * lasts long, the connection is also read in call, and any thread may send on it
 * (net/connection/connection_duplex.h).
 *
 * Input: the bytes that a connection has received and not yet served count in the bound on all input
 * (net/admission/input_budget.h). If the input exceeds three quarters of the bound, each connection without a
 * licence pauses: it is not armed for input, and the watcher submits it when it may continue. The deadlines
 * of a paused connection still apply.
 *
 * Memory: a connection is a place in a chunk of its table. Chunks are freed only with the table, so that a
 * late event still finds a valid source. A connection owns a buffer only while the buffer has content.
 */
#include "base/in_call.h"
#include "base/transitions.h"
#include "net/admission/input_budget.h"
#include "net/connection/connection_protocol.h"
#include "net/monitor/monitor.h"
#include "net/tls/tls_stream.h"
#include "net/workers/crew.h"
#include "principal/principals.h"

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
  bool finishes_left;                    /* a request is not ended when its client leaves */
  struct principals *principals;         /* borrowed; NULL: all clients are owner */
  struct wrong_evidence *wrong_evidence; /* borrowed; NULL if principals is */
  struct net_monitor *monitor;           /* borrowed; NULL: nobody counts (tests) */
  _Atomic uint64_t *numbers;             /* borrowed: of connections so far, in all tables */
};

/*
 * A connection has three states, which are independent of each other.
 *
 * `state`: who owns the connection. Under the lock.
 *   | state  | meaning                                         | what ends it                                         |
 *   | FREE   | the place has no connection, no descriptor      | connection_table_accept, for a new client            |
 *   | ARMED  | nobody owns it; an event, or the ready queue,   | connection_own: a turn, the watcher at a deadline or |
 *   |        | brings a turn. is_deferred: its output is sent  | at the end; finish_turn, if it may not be read       |
 *   |        | by the member of the last turn, or the watcher  |                                                      |
 *   | PAUSED | as ARMED; counts in table->paused; the          | connection_own: the watcher submits it when there is |
 *   |        | descriptor is not armed for input               | room, or ends it                                     |
 *   | OWNED  | one thread owns all fields; in_call says        | finish_turn at the end of the turn; close_now        |
 *   |        | whether the thread is inside the service        |                                                      |
 *
 * `output`: how the peer's side of the stream ends. Belongs to the output side (net/connection/connection_duplex.h):
 * the owner writes it; in call, and while nobody owns the connection, the thread that holds the lock writes it.
 *   | OPEN     | answers are written                           | begin_linger, after the final output was written     |
 *   | LINGERS  | `out` has the final output; input is dropped  | begin_linger, when all was sent                      |
 *   | SHUT     | the socket is shut down for writing           | the owner, at the client's end or at linger_end_ms   |
 *   | BROKEN   | nothing can be sent or read                   | the owner closes the connection; an ARMED connection |
 *   |          |                                               | gets an owner by its next event or its deadline      |
 *
 * `input`: whether the next read may receive input. Belongs to the input side: the owner writes it; in call, the thread
 * that has the reading role writes it.
 *   | OPEN    | the socket may have input                      | a read that empties the socket, or finds the end     |
 *   | DRAINED | the last read has emptied the socket           | connection_note_input, before the next read          |
 *   | ENDED   | the client sends no more                       | nobody; a carrier may still have input               |
 */
enum connection_state {
  CONNECTION_FREE,   /* the place has no connection */
  CONNECTION_ARMED,  /* no thread owns the connection: it waits for an event, or is in the ready queue */
  CONNECTION_PAUSED, /* no thread owns the connection: it waits until the watcher submits it */
  CONNECTION_OWNED   /* the thread of a turn, or the watcher, owns the connection */
};

static const uint16_t connection_transitions[] = {
    [CONNECTION_FREE] = TO(CONNECTION_ARMED),
    [CONNECTION_ARMED] = TO(CONNECTION_OWNED) | TO(CONNECTION_PAUSED),
    [CONNECTION_PAUSED] = TO(CONNECTION_OWNED),
    [CONNECTION_OWNED] = TO(CONNECTION_ARMED) | TO(CONNECTION_FREE),
};

enum connection_output {
  CONNECTION_OUTPUT_OPEN, /* answers are written */
  CONNECTION_OUTPUT_LINGERS, /* nothing more is written; input is dropped until the client ends, or until a time */
  CONNECTION_OUTPUT_SHUT,  /* the connection lingers, all output was sent, and the peer's side is shut down */
  CONNECTION_OUTPUT_BROKEN /* the connection failed: nothing can be sent or read */
};

static const uint16_t connection_output_transitions[] = {
    [CONNECTION_OUTPUT_OPEN] = TO(CONNECTION_OUTPUT_LINGERS) | TO(CONNECTION_OUTPUT_BROKEN),
    [CONNECTION_OUTPUT_LINGERS] = TO(CONNECTION_OUTPUT_SHUT) | TO(CONNECTION_OUTPUT_BROKEN),
    [CONNECTION_OUTPUT_SHUT] = TO(CONNECTION_OUTPUT_BROKEN),
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
 * Who answers the message that is being served.
 *   | state      | meaning                                                  | what ends it                         |
 *   | OWN_ANSWER | the owner answers it                                     | a visitor, in call                   |
 *   | ANSWERED   | a visitor has answered it: the owner drops its answer    | connection_serve; a visitor          |
 *   | SEIZED     | as ANSWERED, and nothing more is written or served       | the end of the connection            |
 */
enum connection_answerer {
  CONNECTION_OWN_ANSWER, /* the owner answers the message */
  CONNECTION_ANSWERED,   /* a visitor has answered the message: the owner drops its answer */
  CONNECTION_SEIZED      /* a visitor has answered the message, and nothing more is written or served */
};

static const uint16_t connection_answerer_transitions[] = {
    [CONNECTION_OWN_ANSWER] = TO(CONNECTION_OWN_ANSWER) | TO(CONNECTION_ANSWERED) | TO(CONNECTION_SEIZED),
    [CONNECTION_ANSWERED] = TO(CONNECTION_OWN_ANSWER) | TO(CONNECTION_SEIZED),
    [CONNECTION_SEIZED] = 0,
};

enum {
  CONNECTION_PROTOCOL_STATE = 320, /* bytes */
  CONNECTION_FLUSH_SOON = 1        /* a deadline in the past: the next tick of the watcher sends the output */
};

/* The principal of the connection (net/connection/connection_principal.h). Written by the owner. Constant for
 * a connection of WebSocket or shared memory. */
struct connection_principal {
  struct principal *principal; /* held, and the connection is counted there; NULL: the client is `owner`, or
                                * has not shown evidence yet */
  struct principal_proof proof;
  bool has_token;
  uint8_t token[PRINCIPAL_DIGEST]; /* the hash of the token, to judge it again after a reload */
  /* The generation of the principals from before the evidence was last judged. During a call the watcher writes
   * it, under the lock. */
  uint64_t generation;
};

struct connection {
  struct crew_source source; /* must be the first member, so that a source can be cast to its connection */
  struct connection_table *table;
  const struct connection_limits *limits; /* the table's */
  struct connection *next_free;           /* in the table's list of free places */

  pthread_mutex_t lock; /* guards state; in call also guards fd and out */
  enum connection_state state;
  in_call_word in_call;
  /* the worker of the thread in call; the owner writes it before it enters the service */
  struct rpc_worker *worker;
  /* who answers the message that is being served; in call, under the lock */
  enum connection_answerer answerer;
  /* For a pinned connection, under the lock, while nobody owns the connection: */
  bool is_due;            /* the pinned member has to begin a turn at once */
  uint32_t pinned_events; /* the events that the pinned member waits for; 0: none */
  bool awaits_event;      /* the descriptor is armed in the epoll set; under the lock */
  struct input_licence licence;
  _Atomic size_t counted; /* bytes of input in the budget; written by the thread that has the input side */
  /* points to the time in the table when the watcher checks the connection; INT64_MAX: never */
  _Atomic int64_t *deadline_ms;

  int fd;                           /* -1: closed; in call: the client has left */
  enum metrics_transport transport; /* by which it counts; METRICS_TRANSPORTS: it does not count yet */
  struct tls_stream
      *tls; /* encrypts between the buffers and the socket; used by the thread that may use fd; NULL: no
             * TLS */
  int64_t probed_ms; /* when the watcher last wrote a probe; 0: never. Used by the watcher alone */
  enum connection_output output;
  /* Written by the thread that has the input side; also read under the lock. */
  _Atomic enum connection_input input;
  bool has_message;    /* a whole message is in `message` */
  bool is_too_long;    /* only the beginning of the message is in `message` (net/connection/long_message.h) */
  bool has_sent;       /* bytes were sent in this turn */
  bool is_midway;      /* the protocol is inside a message, or HTTP has read a head that it has not served */
  int64_t since_ms;    /* crew_message.since_ms */
  int64_t received_ns; /* when it last received input (clock_now_ns) */
  int64_t began_ms;    /* when the current head, body or message began; 0: none */
  int64_t stalled_ms;  /* since when the client has received nothing; 0: no output waits */
  int64_t linger_end_ms; /* while the output lingers */

  struct buffer in;
  size_t in_used; /* bytes of `in` that the protocol has consumed */
  struct buffer message;
  struct buffer out;
  size_t out_sent;
  /* The number of bytes that were written to the carrier, but that the client sees only after the next flush.
   * With TLS, 1 means that bytes of TLS itself wait for room in the socket. */
  size_t unpublished;
  /* The last line of the audit that must be in the file before the output leaves. */
  _Atomic uint64_t audited;
  bool may_defer;         /* the turn ends without sending, if nothing else is to be done (crew_may_defer) */
  uint8_t quick_turns;    /* in a row, until it counts as quick (crew_source.is_quick) */
  bool is_deferred;       /* nobody owns the connection, and its output is still to be sent; under the lock */
  int64_t after_defer_ms; /* its deadline afterwards */

  struct rpc_client *client;
  struct rpc_address address; /* the client's */
  uint64_t number;            /* unique in the life of the table; for the audit */
  struct connection_principal principal;
  struct connection_stream *stream; /* an answer that is still being made; NULL: none */
  /* Exists from the client's first callback on, and while input is read ahead. The owner writes it; in call,
   * the thread that holds the lock writes it. NULL: the connection is not read in call. */
  struct connection_duplex *_Atomic duplex;

  /* Written by the protocol. */
  const struct connection_protocol *protocol;
  size_t held; /* bytes of input in the objects that the protocol has borrowed */
  alignas(max_align_t) unsigned char protocol_state[CONNECTION_PROTOCOL_STATE];
};

/* --- states --- */

/* Under the lock. */
static inline void connection_set_state(struct connection *connection, enum connection_state to)
{
  assert(mutex_is_locked(&connection->lock));
  ASSERT_TRANSITION(connection_transitions, connection->state, to);
  connection->state = to;
}
/* True if a turn may begin. Under the lock. */
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
/* Called by the owner outside a call, or by a visitor in call, under the lock. */
static inline void connection_set_answerer(struct connection *connection, enum connection_answerer to)
{
  ASSERT_TRANSITION(connection_answerer_transitions, connection->answerer, to);
  connection->answerer = to;
}
/* In call, under the lock. */
static inline bool connection_is_seized(const struct connection *connection)
{
  return connection->answerer == CONNECTION_SEIZED;
}
static inline bool connection_lingers(const struct connection *connection)
{
  return connection->output == CONNECTION_OUTPUT_LINGERS || connection->output == CONNECTION_OUTPUT_SHUT;
}
static inline enum connection_input connection_input_state(const struct connection *connection)
{
  return atomic_load_explicit(&connection->input, memory_order_relaxed);
}
static inline bool connection_is_at_end(const struct connection *connection)
{
  return connection_input_state(connection) == CONNECTION_INPUT_ENDED;
}
/* Called by the thread that has the input side. The input must not have ended. */
static inline void connection_set_input(struct connection *connection, enum connection_input to)
{
  ASSERT_TRANSITION(connection_input_transitions, connection_input_state(connection), to);
  atomic_store_explicit(&connection->input, to, memory_order_relaxed);
}
/* The same as connection_set_input, but does nothing if the input has ended. */
static inline void connection_note_input(struct connection *connection, enum connection_input to)
{
  if (!connection_is_at_end(connection))
    connection_set_input(connection, to);
}

/* --- the owner, and the watcher --- */

void connection_turn(struct crew_source *source, struct crew_member *member);
/* crew_call_ops.await */
enum crew_pinned_next connection_await(struct crew_source *source, struct crew_member *member, int *fd,
                                       short *events);
/* rpc_push.pin and unpin */
enum jp_status connection_pin(void *connection, const char *name, struct jp_error *error);
void connection_unpin(void *connection);
/* Makes the caller the owner of a connection that nobody owns. The caller holds the lock. */
void connection_own(struct connection *connection);
/* Handles a deadline that has passed. Called by the watcher as the owner. */
void connection_expire(struct connection *connection, struct crew_member *watcher);
/* Drops the input, sends the client an error and ends the connection. Called by the watcher as the owner. */
void connection_cut(struct connection *connection, struct crew_member *watcher);
/* Ends the connection of a client whose principal no longer exists or no longer accepts it. Called by the
 * watcher as the owner. */
void connection_expel(struct connection *connection, struct crew_member *watcher);
/* The same as connection_expel, while the owner is in call. The client then counts as one that has left.
 * Called by a visitor, under the lock. */
void connection_expel_in_call(struct connection *connection);
/* Answers the messages that were received, and ends the connection. Called by the watcher as the owner, after
 * crew_refuse_all. */
void connection_close_gracefully(struct connection *connection, struct crew_member *watcher);
/* Answers the message in the place of the owner, who is in call and finds the connection seized when the call
 * ends. Called by the watcher as a visitor. */
void connection_seize(struct connection *connection, struct crew_member *watcher);
/* crew_call_ops.send_deferred */
void connection_send_deferred(struct crew_source *source, struct crew_member *member);
/* The same, called by the watcher, under the lock, of a connection that nobody owns. True: the connection must get a turn. */
bool connection_send_deferred_late(struct connection *connection);
/* crew_call_ops.answer_ended */
bool connection_answer_ended(struct crew_source *source, struct crew_member *member, uint64_t steps,
                             enum rpc_call_cause cause, bool is_patient);
/* crew_call_ops.reclaim */
bool connection_reclaim(struct crew_source *source, struct crew_member *watcher, struct crew_member *member,
                        uint64_t steps, struct crew_retained *retained, bool *is_later);
/*
 * crew_call_ops.check_client, for a connection that has been in call for long. True: the client has left.
 * When the result is true for the first time (!had_left), this function ends the message
 * (connection_end_left). As soon as there is no unread input that has to be served, it closes the descriptor
 * and the carrier.
 *
 * A client that has shut down its own side of the socket may still read its answer, so it has not left. On
 * TCP a client that has only stopped sending cannot be distinguished from a client that has closed the
 * socket, until bytes are sent to it.
 */
bool connection_check_client(struct crew_source *source, bool had_left);
/* Called when the client has left. Ends the message that is being served, unless the message has
 * notifications only. Called while the owner is in call, by a thread that keeps the owner in the call. ids: a
 * buffer for the ids of the message. *has_ids: the buffer has the ids already. */
void connection_end_left(const struct connection *connection, struct buffer *ids, bool *has_ids);
static inline bool connection_has_left(const struct connection *connection)
{
  return connection->fd < 0;
}
/* Settles the audit's lines about the output. False: they will be in the file later, and the output waits for them. */
bool connection_settle_audit(struct connection *connection);
/* True if the output waits for the audit. */
bool connection_waits_for_audit(const struct connection *connection);
/* Sends as many bytes as the socket or the carrier accepts now, and publishes them. */
void connection_flush(struct connection *connection);
static inline size_t connection_unsent(const struct connection *connection)
{
  return connection->out.len - connection->out_sent;
}
/* True if the client has not received all output. */
static inline bool connection_needs_flush(const struct connection *connection)
{
  return connection_unsent(connection) > 0 || connection->unpublished > 0;
}

/* --- for connection_duplex.c --- */

/* Arms the descriptor for an event. The caller holds the lock. */
enum jp_status connection_watch(struct connection *connection, uint32_t events) JP_MUST_CHECK;
/* Reads input into `in`, or lets the carrier do so. True: there are new bytes. */
bool connection_receive(struct connection *connection);
/* While more bytes than this are unsent, no messages are read, because the client does not read its answers. */
size_t connection_unsent_mark(const struct connection *connection);
/* True if the connection must not read on, because of the bound on all input. */
bool connection_must_pause(struct connection *connection);
void connection_count_input(struct connection *connection);
/* Shuts down both directions of the socket. The caller holds the lock or is the owner. */
void connection_shut_down(struct connection *connection);
/* The message that is being served. The caller holds the lock. */
struct text connection_served_message(const struct connection *connection);

/* --- for protocols --- */

/* Changes the protocol of the connection. */
void connection_speak(struct connection *connection, const struct connection_protocol *protocol);
static inline struct text connection_input(const struct connection *connection)
{
  if (connection->in.len == connection->in_used)
    return TEXT("");
  return text_slice(buffer_text(&connection->in), connection->in_used, connection->in.len);
}
/* True if a part of the next message was received. */
static inline bool connection_has_begun(const struct connection *connection)
{
  return connection->is_midway || connection->in.len > connection->in_used;
}
const struct rpc_service *connection_service(const struct connection *connection);
/* The client's certificate, valid as long as the connection; NULL: the client has none, or the connection has
 * no TLS. Called by the owner, or by a thread that holds the lock while the owner is in call or nobody owns
 * the connection. */
static inline const struct tls_certificate *connection_certificate(const struct connection *connection)
{
  return connection->tls != NULL ? tls_stream_certificate(connection->tls) : NULL;
}
/* Serves `message`; *answer is the member's buffer. False: the connection was seized or reclaimed during the call, or
 * the client has left. CREW_ANSWERED: a visitor has written the answer. */
bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream);
/* Writes the error for a message that is longer than message_max, and of which only the beginning was kept. */
void connection_reject_too_long(const struct connection *connection, struct text beginning,
                                struct buffer *answer);
/* Clears `message` after it was served. */
void connection_drop_message(struct connection *connection);
/* The codec of the connection's messages. This is JSON-RPC, as for all messages of WebSocket and HTTP. */
const struct rpc_codec *connection_codec(const struct connection *connection);
/* Fills in *session with the facts about the client's session that the answer to a handshake contains;
 * returns session. */
const struct rpc_session_info *connection_describe_session(const struct connection *connection,
                                                           struct rpc_session_info *session);
/* Closes the client, if it is open. *session is filled in by rpc_service.client_close, for the answer that
 * follows. session NULL: no answer follows. */
void connection_close_client(struct connection *connection, struct crew_member *member,
                             struct rpc_session_info *session);

/* Called after the beginning of the answer was written. Takes the stream, even on failure. False: no
 * memory. */
bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream);
/* Serves `message`, which was a frame, and writes the answer. is_whole false: this is the first part of an answer,
 * which the protocol's write_part continues. */
enum step connection_serve_frame(struct connection *connection, struct crew_member *member,
                                 void (*write_answer)(struct connection *connection, struct text answer,
                                                      bool is_whole));
/* Closes and frees the stream, if the connection has a stream. */
void connection_end_stream(struct connection *connection);

#endif
