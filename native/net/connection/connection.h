#ifndef JPEER_NET_CONNECTION_CONNECTION_H
#define JPEER_NET_CONNECTION_CONNECTION_H
/*
 * A TCP connection that speaks HTTP or, after a handshake, WebSocket.
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
#include "net/http/http_parser.h"
#include "net/http/http_request.h"
#include "net/websocket/ws_frames.h"
#include "net/workers/crew.h"

#include <pthread.h>

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

enum connection_protocol {
  PROTOCOL_HTTP,
  PROTOCOL_WEBSOCKET,
  PROTOCOL_LINGER /* all is said: input is dropped until the client closes, or for a short while */
};

enum http_stage { HTTP_STAGE_HEAD, HTTP_STAGE_BODY };

struct connection {
  struct crew_source source; /* first: a source is its connection */
  struct connection_table *table;
  struct connection *next_free; /* the table's */

  pthread_mutex_t lock; /* guards state, in_call, seized; and fd and out during in_call */
  enum connection_state state;
  struct rpc_worker *in_call; /* the worker whose thread is inside the service for this connection */
  bool seized;
  bool is_paused; /* guarded by the lock, too: it waits for the watcher */
  struct input_licence licence;
  _Atomic size_t counted;       /* bytes of input in the budget; the owner writes it */
  _Atomic int64_t *deadline_ms; /* when the watcher looks at it, in the table; INT64_MAX: never */

  int fd;
  uint8_t protocol;      /* enum connection_protocol */
  bool at_end;           /* the client sends no more */
  bool is_broken;        /* the connection failed: nothing can be sent or read */
  bool is_drained;       /* the last read took all that was there */
  bool has_said_all;     /* our side is shut */
  bool has_message;      /* a whole message is in `message` */
  bool has_sent;         /* the client took something in this turn */
  int64_t since_ms;      /* see crew_message */
  int64_t began_ms;      /* when the head, the body or the message under way began; 0: none */
  int64_t stalled_ms;    /* since when the client takes nothing; 0: nothing waits for it */
  int64_t linger_end_ms; /* PROTOCOL_LINGER */

  struct buffer in;
  size_t in_used; /* of the input: what was taken */
  struct buffer message;
  struct buffer out;
  size_t out_sent;

  struct rpc_client *client;
  struct connection_stream *stream; /* an answer that is still being made */

  /* HTTP */
  uint8_t http_stage; /* enum http_stage */
  struct http_manner manner;
  struct http_parser parser;
  size_t scanned;
  bool is_get;       /* the message in hand came by GET */
  bool refuses_json; /* its Accept leaves application/json out */
  bool has_peer_id;
  struct uuid peer_id;
  struct rpc_address address; /* the client's */

  /* WebSocket */
  struct ws_reader reader;
  struct ws_decoder *decoder;
};

/* What a step of a protocol came to. */
enum step {
  STEP_AGAIN,       /* something was done: go on */
  STEP_SERVED,      /* a message was served: it counts for the turn */
  STEP_NEEDS_INPUT, /* nothing can be done with the bytes that are there */
  STEP_WAITS,       /* no member for the message */
  STEP_PAUSES,      /* it must not be read from now */
  STEP_BLOCKED,     /* the client must take what is there first */
  STEP_ENDS,        /* all is said: send what is left, then linger and close */
  STEP_DROPS        /* close at once */
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
static inline struct text connection_input(const struct connection *connection)
{
  if (connection->in.len == connection->in_used)
    return TEXT("");
  return text_slice(buffer_text(&connection->in), connection->in_used, connection->in.len);
}
/* Serves the message in hand; *answer is the member's. False: the connection was seized meanwhile. */
bool connection_serve(struct connection *connection, struct crew_member *member, struct buffer *answer,
                      enum crew_served *served, struct rpc_stream *stream);
/* Opens the client where there is none yet; what is wrong goes to error. worker may be NULL. */
enum jp_status connection_open_client(struct connection *connection, struct rpc_worker *worker,
                                      enum op_channel channel, struct jp_error *error) JP_MUST_CHECK;
/* True: *kept names the session that stays (rpc/service.h). */
bool connection_close_client(struct connection *connection, struct crew_member *member, struct uuid *kept);

/* --- connection_stream.c --- */

struct connection_stream {
  struct rpc_stream rpc;
  struct buffer tail;
};

/* Takes the stream, whose head was written; false when memory is short (it is closed then). */
bool connection_begin_stream(struct connection *connection, const struct rpc_stream *stream);
/* Makes and sends more of it until it ends or the client is slow. STEP_AGAIN at the end. */
enum step connection_pump(struct connection *connection, struct crew_member *member);
void connection_end_stream(struct connection *connection);

/* --- http.c --- */

void http_begin(struct connection *connection);
enum step http_step(struct connection *connection, struct crew_member *member);
void http_write_part(struct connection *connection, struct text part, bool is_last);
/* 408, where a request has begun. */
void http_expire(struct connection *connection);
/* 503, with an error of JSON-RPC where a body has begun. answer is used for it. */
void http_cut(struct connection *connection, const char *reason, struct buffer *answer);
/* A whole answer to the message in hand; served says which status it gets. */
void http_write_reply(struct connection *connection, enum crew_served served, struct text reply,
                      const struct uuid *kept);

/* --- websocket.c --- */

void websocket_begin(struct connection *connection);
/* False: no memory for a decoder. */
bool websocket_borrow(struct connection *connection, struct crew_member *member);
void websocket_give_back(struct connection *connection, struct crew_member *member);
enum step websocket_step(struct connection *connection, struct crew_member *member);
void websocket_write_text(struct connection *connection, struct text reply);
void websocket_write_part(struct connection *connection, struct text part, bool is_last);
void websocket_close(struct connection *connection, uint16_t code, const char *reason);

#endif
