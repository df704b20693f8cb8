#ifndef JPEER_NET_CONNECTION_CONNECTION_PROTOCOL_H
#define JPEER_NET_CONNECTION_CONNECTION_PROTOCOL_H
/*
 * A protocol of connections as a table of functions. Connections, their table and the watcher know a
 * protocol by this table alone. Each protocol has a folder (net/http, net/websocket, net/shm) and fills in one table;
 * net/server.c says which one a new connection speaks, and a protocol may change it for another
 * (connection_speak).
 *
 * The functions are called by the connection's owner, unless they say otherwise. A protocol keeps its state
 * in connection->protocol_state, and takes its input from connection_input.
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
  STEP_AGAIN,       /* something was done: go on */
  STEP_SERVED,      /* a message was served: it counts for the turn */
  STEP_NEEDS_INPUT, /* more bytes are needed */
  STEP_WAITS,       /* no member is free for the message */
  STEP_PAUSES,      /* the connection must not be read from now */
  STEP_BLOCKED,     /* the client must read first */
  STEP_ENDS,        /* nothing more will be written: send the rest, then linger and close */
  STEP_DROPS,       /* close at once */
  STEP_LOST         /* the member has lost the connection, and does not touch it any more */
};

/*
 * A carrier takes the place of the socket for the bytes of a connection. The socket then only brings bells and the
 * client's end: input there means that the connection has to be looked at. The owner calls the functions, unless
 * they say otherwise.
 */
struct connection_carrier {
  /* Looks for input; true if something new has come. Until it is called, `step` takes nothing that has come since. What
   * the socket brings, bells or the end, is heard by the protocol's `borrow`, which ends the input. */
  bool (*receive)(struct connection *connection);
  /* True if some of the input that `receive` has found is not taken yet. Under the lock, while nobody reads. */
  bool (*has_untaken)(const struct connection *connection);
  /* Sends as much of `out` as there is room for, and adds it to out_sent and has_sent. Shows the client all that the
   * carrier has, so that nothing is `unshown`. The owner, or the watcher as a visitor. */
  void (*flush)(struct connection *connection);
  /* The connection will be armed: says to the client that nobody looks for input, or for room for unsent output.
   * False: there is some already, and nothing was said. Nobody owns the connection. */
  bool (*sleep)(struct connection *connection, bool for_input, bool for_room);
  /* crew_lookout.look and meet. `sleep` serves for crew_lookout.sleep, too. */
  bool (*look)(struct connection *connection);
  int (*meet)(struct connection *connection, int processor);
  /* The connection was idle until its deadline; true: it gives memory back then, and goes on. The watcher, as the
   * owner. */
  bool (*rest)(struct connection *connection);
  /* The connection ends. */
  void (*close)(struct connection *connection);
};

struct connection_protocol {
  enum op_channel channel; /* of its clients */
  bool waits_for_rest;     /* clients send the rest of a message at once, so that a thread may wait for it */
  const struct connection_carrier *carrier; /* NULL: the socket carries the bytes */

  /* The connection speaks this protocol from now on. Its protocol_state is all zero. After an accept: the listener's
   * thread, under the connection's lock; header_timeout_ms then bounds the time to the first turn. */
  void (*begin)(struct connection *connection);
  /* Takes the objects that the thread keeps for the protocol (scratch_take_object, with a constant of enum
   * scratch_object of net/workers/scratch.h), for a turn. False: no memory. NULL: none. */
  bool (*borrow)(struct connection *connection, struct crew_member *member);
  /* At the end of the turn: returns them if no input is left in them. NULL: there are none. */
  void (*give_back)(struct connection *connection, struct crew_member *member);
  /* Frees them, with any input that is left in them. NULL: there are none. */
  void (*discard)(struct connection *connection);

  /* Takes the next part of the input, and serves the message if that completes it. Moves what is there of a message
   * into `message`, whose length the bound on the input of all counts. */
  enum step (*step)(struct connection *connection, struct crew_member *member);
  /*
   * The same without serving. STEP_SERVED with has_message: a whole message is in `message`. A pong or a close
   * frame goes to `out`. Called by the thread that has the input (net/connection/connection_duplex.h). NULL: clients
   * are only answered.
   */
  enum step (*collect)(struct connection *connection, struct crew_member *member, struct buffer *out);
  /* Appends a whole message to out. Any thread. NULL where collect is NULL. */
  void (*write_message)(struct buffer *out, struct text message);
  /* When a connection that waits for input has to end; INT64_MAX: never. has_begun: a message has. */
  int64_t (*deadline)(struct connection *connection, bool has_begun, int64_t now_ms);
  /* Bytes that are still to come of the message; SIZE_MAX: not known. The watcher, under the connection's
   * lock, while nobody owns it. */
  size_t (*bytes_left)(const struct connection *connection);

  /* Writes the next part of an answer that the protocol has begun. STEP_ENDS: it was the last one, and the
   * connection must end with it. */
  enum step (*write_part)(struct connection *connection, struct text part, bool is_last);
  /* Ends such an answer so that the client does not take it for whole; returns how to end the connection. */
  enum step (*abandon_answer)(struct connection *connection);

  /* expire, cut, say_goodbye and write_last_reply write the last words of a connection, which then ends. */

  /* The deadline has passed. */
  void (*expire)(struct connection *connection);
  /* The message has to be dropped for this reason. answer: a buffer to use. */
  void (*cut)(struct connection *connection, const char *reason, struct buffer *answer);
  /* The server ends, and no message is left to serve. is_quiet: nothing was written in this turn. Returns how
   * to end the connection. */
  enum step (*say_goodbye)(struct connection *connection, bool is_quiet);
  /* The connection lingers: takes what is in its input. True: the client has confirmed the end and sends nothing more.
   * NULL: clients confirm it by closing. */
  bool (*is_answered)(struct connection *connection, struct crew_member *member);
  /* The client has ended its side of a TCP connection, and waits for an answer or has closed: nothing else shows which.
   * Writes bytes that mean nothing to a client which still reads; one that has closed resets the connection. In call, the
   * watcher as a visitor. False: nothing may be written. NULL: there are no such bytes. */
  bool (*write_probe)(struct connection *connection);
  /* True if the client waits for no answer to this unread input, so that it may be dropped with the connection. The
   * watcher as a visitor. NULL: all input is to be served. */
  bool (*is_farewell)(struct text input);
  /* The answer to `message`, from the watcher in the owner's place (connection_answer_ended): what the owner comes back
   * to with CREW_ANSWERED. NULL where there is write_message. */
  void (*write_ended_reply)(struct connection *connection, enum rpc_served served, struct text reply);
  /* The answer to `message`, from the watcher in the owner's place (connection_seize). */
  void (*write_last_reply)(struct connection *connection, enum rpc_served served, struct text reply);

  /* Tells a client that there are too many connections. NULL: says nothing. Any thread. */
  void (*turn_away)(struct buffer *out, const char *reason);
};

/* A protocol that needs more than the bytes of a connection, and is begun on request. */
struct connection_upgrade {
  enum op_channel channel; /* of the client, which is open by then */
  /* Answers the request, whose head was read and before which all is answered and sent; the connection speaks the
   * protocol from then on. If it fails, nothing has happened; the text is for the client. The owner. */
  enum jp_status (*begin)(struct connection_upgrade *upgrade, struct connection *connection,
                          struct jp_error *error);
};

#endif
