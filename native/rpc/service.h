#ifndef JPEER_RPC_SERVICE_H
#define JPEER_RPC_SERVICE_H
/*
 * What a transport sees of the peer: threads that serve, clients that come and go, and the codecs of their
 * messages. A table of functions, so that the transports can be run, tested and measured over a service with
 * no JVM behind it. rpc/peer.h makes the real one.
 */
#include "base/uuid.h"
#include "op/operation.h"
#include "rpc/address.h"
#include "rpc/codecs.h"

struct rpc_client_info {
  enum op_channel channel;
  struct text peer_id;    /* the `peer-id` that the client gave in its header, as written; data NULL: none */
  struct text routing_id; /* ZeroMQ: the identity's bytes; else data NULL */
  struct rpc_address address; /* what is bounded for each address counts for it */
  bool only_safe;             /* HTTP GET: nothing but safe procedures may run */
  /* On whose thread the client is opened: what it keeps for clients may be used. NULL: of no worker. */
  struct rpc_worker *worker;
};

struct rpc_service {
  void *context;
  /* By enum rpc_codec_id, NULL where the service lacks one: the transport chooses whose message it has. Their functions get the context above.
   */
  const struct rpc_codec *const *codecs;

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

  /* The answer of the worker's last message, which was this client's, will not reach it: drops the objects
   * that it told of. On the worker's thread, before it serves again. NULL: there is nothing to drop. */
  void (*take_back)(void *context, struct rpc_worker *worker, struct rpc_client *client);
};

#endif
