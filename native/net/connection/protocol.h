#ifndef JPEER_NET_CONNECTION_PROTOCOL_H
#define JPEER_NET_CONNECTION_PROTOCOL_H
/*
 * A protocol of TCP connections as a table of functions. Connections, their table and the watcher know a
 * protocol by this table alone. Each protocol has a folder (net/http, net/websocket) and fills in one table;
 * net/server.c says which one a new connection speaks, and a protocol may change it for another
 * (connection_speak).
 *
 * The functions are called by the connection's owner, unless they say otherwise. A protocol keeps its state in
 * connection->protocol_state, and takes its input from connection_input.
 */
#include "op/operation.h"
#include "rpc/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct crew_member;

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

struct connection_protocol {
  enum op_channel channel; /* of its clients */
  /* Who sends the beginning of a message sends the rest at once, so that a thread may wait for it. */
  bool waits_for_rest;

  /* The connection speaks this protocol from now on. Its protocol_state is all zero. */
  void (*begin)(struct connection *connection);
  /* Takes for a turn what the thread keeps for the protocol; false: no memory. NULL: it needs nothing. */
  bool (*borrow)(struct connection *connection, struct crew_member *member);
  /* At the end of the turn: gives it back where no input is left in it. NULL with borrow. */
  void (*give_back)(struct connection *connection, struct crew_member *member);
  /* Frees what it has borrowed, whatever is left in it. NULL with borrow. */
  void (*discard)(struct connection *connection);

  /* Takes the next bit of the input, or serves the message in hand. */
  enum step (*step)(struct connection *connection, struct crew_member *member);
  /* When a connection that waits for input is closed; INT64_MAX: never. has_begun: a message has. */
  int64_t (*deadline)(struct connection *connection, bool has_begun, int64_t now_ms);
  /* Bytes that the message under way still needs; SIZE_MAX: not known. The watcher, under the connection's
   * lock, while nobody owns it. */
  size_t (*bytes_left)(const struct connection *connection);

  /* Writes the next part of an answer whose beginning the protocol has written. STEP_ENDS after the last
   * one: the connection must end with it. */
  enum step (*write_part)(struct connection *connection, struct text part, bool is_last);
  /* The client must not take what it has of such an answer for all of it: how to end the connection. */
  enum step (*abandon_answer)(struct connection *connection);

  /* The four below write the last words of a connection, which then ends. */

  /* The deadline has passed. */
  void (*expire)(struct connection *connection);
  /* Its message has to be dropped because of `reason`; answer may be used to write it. */
  void (*cut)(struct connection *connection, const char *reason, struct buffer *answer);
  /* The server ends, and no message is under way that would still be served. is_quiet: nothing was written in
   * this turn. How to end the connection. */
  enum step (*say_goodbye)(struct connection *connection, bool is_quiet);
  /* The answer to the message in hand, from the watcher in the owner's place (connection_seize). */
  void (*write_last_reply)(struct connection *connection, enum rpc_served served, struct text reply);

  /* What a client gets that is one too many, for which there is no connection. NULL: nothing. Any thread. */
  void (*turn_away)(struct buffer *out, const char *reason);
};

#endif
