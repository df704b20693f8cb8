#ifndef JPEER_NET_CONNECTION_CONNECTION_PROTOCOL_H
#define JPEER_NET_CONNECTION_CONNECTION_PROTOCOL_H
/*
 * The functions of a protocol. The connections, the connection table and the watcher use a protocol only
 * through its table of functions. Each protocol has a folder (net/http, net/websocket, net/shm) and fills in
 * one such table. net/server.c chooses the protocol of a new connection, and a protocol may replace itself by
 * another protocol (connection_speak).
 *
 * The connection's owner calls the functions, except as their comments say. A protocol keeps its state in
 * connection->protocol_state, and reads its input from connection_input.
 */
#include "base/status.h"
#include "op/operation.h"
#include "rpc/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct crew_member;

/* How a step of a protocol ended. */
enum step {
  STEP_AGAIN,       /* there was progress: call the next step */
  STEP_SERVED,      /* a message was served, and counts in the turn */
  STEP_NEEDS_INPUT, /* more bytes are needed */
  STEP_WAITS,       /* no member is free for the message */
  STEP_PAUSES,      /* the connection must not be read for now */
  STEP_BLOCKED,     /* the client must read its answers first */
  STEP_DELAYS,      /* nothing is read or written until the protocol's deadline, which calls `expire` */
  STEP_ENDS,        /* nothing more will be written: send the output, then linger and close */
  STEP_DROPS,       /* close at once */
  STEP_LOST         /* the connection was reclaimed: the member must not use it any more */
};

/*
 * A carrier transports the bytes of a connection in place of the socket. In that case the socket only shows
 * notifications and the client's end. Input on the socket means that the carrier may have input or room. The
 * owner calls the functions, except as their comments say.
 */
struct connection_carrier {
  /* Checks for input. True: there is new input. `step` consumes only input that this call has found. The
   * protocol's `borrow` consumes the notifications of the socket, and notes the end of the client. */
  bool (*receive)(struct connection *connection);
  /* True if `step` has not consumed all input that `receive` has found. Called under the lock, while nobody
   * reads. */
  bool (*has_unconsumed)(const struct connection *connection);
  /* Writes as many bytes of `out` as there is room for, and updates out_sent and has_sent. Publishes all
   * written bytes to the client, so that `unpublished` becomes 0. Called by the owner, or by the watcher as a
   * visitor. */
  void (*flush)(struct connection *connection);
  /* Called before a connection that is not polled is armed, while nobody owns the connection. Asks the client
   * to notify the peer of input (for_input) and of room for unsent output (for_room). False: there is input
   * or room already, and the client was not asked. */
  bool (*sleep)(struct connection *connection, bool for_input, bool for_room);
  /* crew_poll_ops.poll and exchange_processors. `sleep` implements crew_poll_ops.sleep, too. */
  bool (*poll)(struct connection *connection);
  int (*exchange_processors)(struct connection *connection, int processor);
  /* Called by the watcher as the owner, if the connection was idle until its deadline. True: the carrier has
   * released memory, and the connection remains open. */
  bool (*release_idle)(struct connection *connection);
  /* Called when the connection ends. */
  void (*close)(struct connection *connection);
};

/* Why a connection is not served. */
enum connection_refusal {
  CONNECTION_NO_ROOM,     /* there are too many connections */
  CONNECTION_NOT_ADMITTED /* its user may not use the peer */
};

struct connection_protocol {
  enum op_channel channel; /* the channel of the protocol's clients */
  bool waits_for_rest;     /* clients send the rest of a message at once, so a thread may poll for it */
  const struct connection_carrier *carrier; /* NULL: the socket carries the bytes */

  /* Begins the protocol. connection->protocol_state is all zero. After an accept it is called by the listener's thread,
   * under the connection's lock; header_timeout_ms then limits the time to the first turn. */
  void (*begin)(struct connection *connection);
  /* Borrows the objects that the thread keeps for the protocol (scratch_take_object in net/workers/scratch.h) for a
   * turn. False: no memory. NULL: no objects. */
  bool (*borrow)(struct connection *connection, struct crew_member *member);
  /* Returns the objects at the end of the turn, if they hold no input. NULL: no objects. */
  void (*return_objects)(struct connection *connection, struct crew_member *member);
  /* Frees the objects with the input that they hold. NULL: no objects. */
  void (*discard)(struct connection *connection);

  /* Consumes the next part of the input, and serves the message if this part completes the message. Moves the
   * bytes of a message to `message`, whose length counts in the bound on all input. */
  enum step (*step)(struct connection *connection, struct crew_member *member);
  /*
   * The same as `step`, but does not serve the message. STEP_SERVED with has_message: a whole message is in
   * `message`. Writes a pong or a close frame to `out`. Called by the thread that has the input side
   * (net/connection/connection_duplex.h). NULL: connections of the protocol are never read in call, and the
   * peer sends answers only.
   */
  enum step (*collect)(struct connection *connection, struct crew_member *member, struct buffer *out);
  /* Appends a whole message to out. Any thread. NULL if collect is NULL. */
  void (*write_message)(struct buffer *out, struct text message);
  /* When a connection that waits for input has to end; INT64_MAX: never. has_begun: a part of a message was
   * received. */
  int64_t (*deadline)(struct connection *connection, bool has_begun, int64_t now_ms);
  /* Returns the number of bytes of the message that were not received yet; SIZE_MAX: unknown. Called by the
   * watcher under the connection's lock, while nobody owns the connection. */
  size_t (*bytes_left)(const struct connection *connection);

  /* Writes the next part of a streamed answer. STEP_ENDS: this was the last part, and the connection must end
   * now. */
  enum step (*write_part)(struct connection *connection, struct text part, bool is_last);
  /* Ends a streamed answer so that the client sees that it is incomplete; returns how to end the connection. */
  enum step (*abandon_answer)(struct connection *connection);

  /* The functions expire, expel, cut, close_gracefully and write_last_reply write the final output of a
   * connection. The connection then ends. */

  /* Called when the deadline has passed. */
  void (*expire)(struct connection *connection);
  /* Called if the client's principal, or the client's evidence, is no longer listed. Also called by the
   * watcher as a visitor, in call. NULL: each request shows its own evidence. */
  void (*expel)(struct connection *connection);
  /* Drops the message for this reason. answer: a buffer that the function may use. */
  void (*cut)(struct connection *connection, const char *reason, struct buffer *answer);
  /* Called when the server ends and no message is left to serve. is_quiet: nothing was written in this turn.
   * Returns how to end the connection. */
  enum step (*close_gracefully)(struct connection *connection, bool is_quiet);
  /* Called while the connection lingers. Consumes the input. True: the client has confirmed the end of the
   * connection, and sends nothing more. NULL: clients confirm the end by closing the socket. */
  bool (*is_end_confirmed)(struct connection *connection, struct crew_member *member);
  /* Called by the watcher as a visitor, in call, when the client of a TCP connection has sent a FIN: the
   * client has either closed the socket, or shut down its own side and waits for an answer. Writes bytes that
   * a client ignores if it still reads. If the client has closed the socket, its system answers these bytes
   * with a reset. False: nothing may be written now. NULL: the protocol has no such bytes. */
  bool (*write_probe)(struct connection *connection);
  /* True if the client waits for no answer to this unread input, so that the input may be dropped with the
   * connection. NULL: all input must be served. Called by the watcher as a visitor. */
  bool (*is_ignorable)(struct text input);
  /* Writes the answer to `message` in the place of the owner (connection_answer_ended). connection_serve then
   * returns CREW_ANSWERED to the owner. NULL if the protocol has write_message. Called by the watcher as a
   * visitor. */
  void (*write_ended_reply)(struct connection *connection, enum rpc_served served, struct text reply);
  /* Writes the answer to `message` in the place of the owner (connection_seize). Called by the watcher as a
   * visitor. */
  void (*write_last_reply)(struct connection *connection, enum rpc_served served, struct text reply);

  /* Writes an error for a client whose connection is not served. NULL: the connection is closed without a
   * response. Any thread. */
  void (*write_refusal)(struct buffer *out, enum connection_refusal refusal, const char *reason);
};

/* A protocol that begins with a request of HTTP, and that sends more than bytes at its begin: shared memory
 * sends a descriptor. */
struct connection_upgrade {
  enum op_channel channel; /* the channel of the client, which is opened before `begin` */
  /* Answers the request and changes the protocol of the connection. The request's head was read, and all
   * answers to earlier requests were sent. On failure nothing has changed, and the error's text is for the
   * client. Called by the owner. */
  enum jp_status (*begin)(struct connection_upgrade *upgrade, struct connection *connection,
                          struct jp_error *error);
};

#endif
