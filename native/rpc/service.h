#ifndef JPEER_RPC_SERVICE_H
#define JPEER_RPC_SERVICE_H
/*
 * What a transport sees of the peer: messages in, answers out, clients that come and go. A table of
 * functions, so that the transports can be run, tested and measured over a service with no JVM behind it.
 * rpc/peer.h makes the real one.
 */
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"
#include "base/uuid.h"
#include "op/operation.h"
#include "op/outcome.h"
#include "rpc/address.h"

struct rpc_worker; /* what a crew member needs to serve: made by the service, used on its own thread only */
struct rpc_client; /* who is asking: a connection, an HTTP request, a message of a ZeroMQ identity */

struct rpc_client_info {
  enum op_channel channel;
  struct text peer_id;    /* the `peer-id` that the client gave in its header, as written; data NULL: none */
  struct text routing_id; /* ZeroMQ: the identity's bytes; else data NULL */
  struct rpc_address address; /* what is bounded for each address counts for it */
  bool only_safe;             /* HTTP GET: nothing but safe procedures may run */
  /* On whose thread the client is opened: what it keeps for clients may be used. NULL: of no worker. */
  struct rpc_worker *worker;
};

enum rpc_served {
  RPC_REPLY,    /* an answer was appended */
  RPC_NO_REPLY, /* notifications only */
  RPC_STREAM,   /* the answer's head was appended; the stream gives the rest */
  RPC_FAILED,   /* an answer of JSON-RPC 1.1 that is an error was appended: HTTP says 500 (draft, 7.1) */
  RPC_NOT_SAFE  /* the same, because the procedure is not for HTTP GET: HTTP says 405 (draft, 6.3.2) */
};

/* The rest of an answer. The transport reads body to JP_CLOSED and then appends tail; it closes body in any
 * case. */
struct rpc_stream {
  struct outcome_body body;
  struct text
      tail; /* in the worker's memory: valid until its next serve; a transport that goes on later copies it */
};

/* Why something is no message: JSON-RPC's own numbers, for rpc_service.reject. */
enum rpc_rejection {
  RPC_UNREADABLE_MESSAGE = -32700,
  RPC_INVALID_MESSAGE = -32600,
  RPC_OVERLOADED = -32000 /* it was not read to its end: there is too much of others */
};

struct rpc_service {
  void *context;

  /* Starts a crew member's thread; run is called on it with its worker. */
  enum jp_status (*spawn)(void *context, const char *name,
                          void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                          struct jp_error *error);
  /* True where the worker's thread will never come back from the call that it is in (System.exit). Any
   * thread. */
  bool (*is_exiting)(void *context, struct rpc_worker *worker);

  /*
   * Opens a client. JP_INVALID: peer_id is no UUID. JP_LIMIT: a limit, named in the text. Any thread. Cheap:
   * a session is made with its first request, or here where a WebSocket names it.
   */
  enum jp_status (*client_open)(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                                struct jp_error *error);
  /*
   * Ends a client, when no serve is using it. A session that is only the connection's is dropped with all its
   * objects; one with a `peer-id` or a routing id stays for its TTL where it has objects. For HTTP without a
   * `peer-id`: true, and *kept is the new session's name, where the request left objects. worker NULL: from a
   * thread that may not use Java; the objects are dropped soon after, by another.
   */
  bool (*client_close)(void *context, struct rpc_worker *worker, struct rpc_client *client,
                       struct uuid *kept);

  /*
   * Serves one message (a request, a notification or a batch) and appends the answer to out. may_stream: the
   * transport can send an answer whose length is not known. reply_max: an answer that would be longer is an
   * error instead (0: no bound); it bounds what is held in memory, not what is streamed. stream is filled for
   * RPC_STREAM.
   */
  enum rpc_served (*serve)(void *context, struct rpc_worker *worker, struct rpc_client *client,
                           struct text message, struct buffer *out, bool may_stream, size_t reply_max,
                           struct rpc_stream *stream);
  /* The answer of the worker's last serve, which was to this client, will not reach it: drops the objects
   * that it told of. On the worker's thread, before it serves again. NULL: there is nothing to drop. */
  void (*take_back)(void *context, struct rpc_worker *worker, struct rpc_client *client);
  /* Answers the message where it can be without Java: true for a single ping. Any thread, no worker. */
  bool (*serve_ping)(void *context, struct text message, struct buffer *out, enum rpc_served *served);
  /* Answers every request of the message with -32000 and this text ("busy: ...", "the peer is shutting
   * down"). Any thread, no worker. */
  enum rpc_served (*refuse)(void *context, struct text message, const char *reason, struct buffer *out);
  /* The service's own description as JSON, for GET /openrpc.json; borrowed, as long as the service. NULL:
   * there is none. Any thread. */
  struct text (*document)(void *context);
  /* What the service is and how it is called, as plain text for people: appended, for GET /help. NULL:
   * nothing is said. Any thread. */
  void (*write_help)(void *context, struct buffer *out);
  /* An answer to what could not even be read as a message (a rpc_rejection with this text). beginning: what
   * there is of the message, whose id is kept; else that is null. Any thread. */
  void (*reject)(void *context, int code, struct text beginning, const char *reason, struct buffer *out);
  /* True where the message is a request of JSON-RPC 1.1, whose rules on headers are stricter than ours. Any
   * thread. NULL: there is no 1.1. */
  bool (*is_1_1)(void *context, struct text message);
};

#endif
