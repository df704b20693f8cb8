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
#include "rpc/codec.h"

#include <stdatomic.h>

/* A connection on which both sides may speak at any time: the transport's. */
struct rpc_duplex;
/* The callbacks of a client: the service's. A client has the same from its first callback on. */
struct rpc_callbacks;

enum { RPC_EPOCH_LENGTH = 16 };

/* What a handshake, or an answer over HTTP, says of the session behind it. */
struct rpc_told_session {
  bool is_new; /* the session has got a `peer-id`, by which it is found from now on */
  struct uuid peer_id;
  char epoch[RPC_EPOCH_LENGTH + 1]; /* of the session's name; "": nothing is said */
};

enum rpc_push_kind {
  RPC_PUSH_CALL, /* a callback that is answered: until rpc_push.settle the client is read at any time */
  RPC_PUSH_EVENT, /* a oneway callback: may wait a little for more of them, where the worker's own request makes it */
  RPC_PUSH_ANSWER, /* to a nested request */
  RPC_PUSH_NOTICE  /* callback_released */
};

enum rpc_pushed {
  RPC_PUSHED,
  RPC_PUSH_NO_ROOM, /* the client does not read now: rpc_service.has_room follows. Never of an answer */
  RPC_PUSH_TOO_LONG, /* it is longer than there may ever be room for (send-buffer-max); of an answer: than there is now */
  RPC_PUSH_CLOSED /* the connection has ended, or is about to */
};

/*
 * What a transport gives with a client that it can write to at any time. Any thread, unless a function says otherwise.
 * None blocks for a client, and none calls the service. They take locks of the transport: the caller holds none of its
 * own that rpc_service.take and the functions behind it want.
 */
struct rpc_push {
  /* Gives the client a thread of this name, on which all its messages are served from the next one on, until `unpin` or
   * the client's end; the thread that it has had before ends. JP_LIMIT: there are too many, or there is no thread. On the
   * thread that serves a message of the client, inside serve, for both. */
  enum jp_status (*pin)(void *connection, const char *name, struct jp_error *error);
  void (*unpin)(void *connection);
  /* The client gives its first callback. On the thread that serves a message of it, inside serve; `connection` is that
   * of rpc_client_info, `callbacks` are valid until client_close. Held until `close`. NULL: memory is short. */
  struct rpc_duplex *(*open)(void *connection, struct rpc_callbacks *callbacks);
  /*
   * Sends a whole message, behind the answers that are ready. worker: the crew member's whose thread calls this; NULL:
   * another thread. Messages of one thread keep their order, and those that it sends while it serves a request come
   * before the answer to that. Each RPC_PUSHED of an RPC_PUSH_CALL is followed by one settle, with the same worker. An
   * answer of 16 KiB or less always finds room, or the connection is ended.
   */
  enum rpc_pushed (*send)(struct rpc_duplex *duplex, struct rpc_worker *worker, enum rpc_push_kind kind,
                          struct text message);
  /* The call has ended, however. */
  void (*settle)(struct rpc_duplex *duplex, struct rpc_worker *worker);
  /* How long an RPC_PUSH_ANSWER may be now; at least 1. */
  size_t (*reply_max)(struct rpc_duplex *duplex);
  /* The last use of it. */
  void (*close)(struct rpc_duplex *duplex);
};

struct rpc_client_info {
  enum op_channel channel;
  struct text peer_id;    /* the `peer-id` that the client gave in its header, as written; data NULL: none */
  struct text routing_id; /* ZeroMQ: the identity's bytes; else data NULL */
  struct text epoch;      /* that the client's message is meant for, as written; data NULL: it does not say */
  struct rpc_address address; /* what is bounded for each address counts for it */
  bool only_safe;             /* HTTP GET: nothing but safe procedures may run */
  /* On whose thread the client is opened: what it keeps for clients may be used. NULL: of no worker. */
  struct rpc_worker *worker;
  const struct rpc_push *push; /* NULL: the client gets answers alone */
  void *connection;            /* for push->open */
};

enum rpc_taken {
  RPC_ORDINARY, /* serve it, or keep it until the request before it is served */
  RPC_TAKEN     /* an answer, or a nested request: nothing is left to do but to send what take has written */
};

/* What end_call is to end. */
struct rpc_call_end {
  enum rpc_call_cause cause; /* RPC_CALL_RETURNS: nothing */
  bool is_any;               /* whatever call the thread is in, and all that is left of its message */
  uint32_t call;             /* else that of this number */
  uint32_t level; /* and so deep in callbacks: 0 for the message's own call; of both, find_deadline */
};

/* How the thread of a worker waits inside the service for what a client sends. */
struct rpc_waits {
  void *thread;
  /*
   * Returns when is_over(state) is true, or at deadline_ms (clock_now_ms; INT64_MAX: never). Meanwhile the
   * transport reads the client whose message the thread serves, if that has a duplex, and hands messages to `take`.
   * is_over is asked at the beginning, after each part of the input and after each wake. On the worker's own thread,
   * in serve; the caller holds no lock.
   */
  void (*wait)(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms);
  /* Lets the wait ask is_over again; one that comes before the wait is not lost. Any thread, with any lock held:
   * it takes none. */
  void (*wake)(void *thread);
  /* Ends the call of the thread, as end_call and interrupt_call do, soon after. False: the thread serves no message. Any
   * thread; waits for nobody, and takes locks of the transport. */
  bool (*end)(void *thread, const struct rpc_call_end *end);
  /* When the message that the thread serves was received (clock_now_ns); 0: unknown. The transport writes it before serve. */
  _Atomic int64_t arrived_ns;
};

struct rpc_service {
  void *context;
  /* By enum rpc_codec_id, NULL where the service lacks one: the transport chooses the codec of its message. Their
   * functions get the context above. */
  const struct rpc_codec *const *codecs;

  /* Starts a crew member's thread; run is called on it with its worker. */
  enum jp_status (*spawn)(void *context, const char *name,
                          void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                          struct jp_error *error);
  /* Says how the worker's thread waits; on that thread, before it serves. Borrowed as long as the worker. waits NULL: the
   * thread waits no more, and when this returns nobody wakes it. set_waits NULL: the service never waits for a client. */
  void (*set_waits)(void *context, struct rpc_worker *worker, const struct rpc_waits *waits);
  /* The worker's thread serves one client alone: what a call changes of the thread stays for the next one. On that
   * thread, before it serves. NULL: nothing is undone anyway. */
  void (*keep_changes)(void *context, struct rpc_worker *worker);
  /* True where the worker's thread will never come back from the call that it is in (System.exit). Any
   * thread. */
  bool (*is_exiting)(void *context, struct rpc_worker *worker);

  /* --- calls that last: each NULL where the service tells nothing of them --- */

  /*
   * Writes the name of the member of Java that the worker's thread serves, CLASS.MEMBER, for the log: escaped, cut to
   * size, which is at least 1. False: it serves none. Any thread, while the worker lives; waits for nobody.
   */
  bool (*tell_call)(void *context, struct rpc_worker *worker, char *name, size_t size);
  /* True, once for each call, where the worker's thread has been in one call of a member for long, and is to get a name
   * for it. One thread, four times a second or more; waits for nobody. */
  bool (*wants_name)(void *context, struct rpc_worker *worker, int64_t now_ms);
  /* Holds the worker's thread at the end of its call. False: it is in none. Any thread, while the worker lives; waits for
   * nobody. name_call or release_call follows, on the same thread. */
  bool (*hold_call)(void *context, struct rpc_worker *worker);
  /* Gives the thread of `held` a name for its call, until the end of that, and lets it go. own: the calling thread's
   * worker, whose JVM may keep it waiting. */
  void (*name_call)(void *context, struct rpc_worker *own, struct rpc_worker *held);
  /*
   * When the call that the worker's thread is in, or one that is nested in it, has to be ended, and in *end which; INT64_MAX:
   * never, it is ended already, or there is none. since_ms: when the thread was first seen to serve its message, for one of
   * which rpc_waits.arrived_ns is unknown. One thread, again and again; waits for nobody.
   */
  int64_t (*find_deadline)(void *context, struct rpc_worker *worker, int64_t since_ms,
                           struct rpc_call_end *end);
  /* Between hold_call and release_call: ends the call that is held, where it is the one that is meant, so that its request
   * is answered with an error. name: as of tell_call; size 0: it is not wanted. False: another call is meant. Waits for
   * nobody. */
  bool (*end_call)(void *context, struct rpc_worker *held, const struct rpc_call_end *end, char *name,
                   size_t size);
  /* After end_call: interrupts the thread of the call, once, unless that waits for the end of a nested request. Code of the
   * application may run in it, and it may never return. own: the calling thread's worker. */
  void (*interrupt_call)(void *context, struct rpc_worker *own, struct rpc_worker *held);
  /* Between hold_call and release_call, of a call that was ended: when its thread was interrupted (clock_now_ms). now_ms: the
   * interrupt waits for the end of a nested request; 0: the thread is not interrupted. */
  int64_t (*find_interrupt)(void *context, struct rpc_worker *held, int64_t now_ms);
  void (*release_call)(void *context, struct rpc_worker *held);

  /* --- threads that are lost: they do not come back from a call that was ended --- */

  /* The worker's thread, which hold_call holds, is lost while it serves its message; or it has come back: then it calls this
   * itself. */
  void (*note_lost)(void *context, struct rpc_worker *worker, bool is_lost);
  /* How many of those serve clients with the address of this one. Any thread. */
  size_t (*count_lost)(void *context, const struct rpc_client *client);
  /* Makes a client with the session of `client`, whose thread is held and lost: `client` is left to that thread, which
   * closes it, and the new one goes on in its place. NULL: that cannot be, or memory is short. Any thread. */
  struct rpc_client *(*part_client)(void *context, struct rpc_client *client);

  /*
   * Opens a client. JP_INVALID: peer_id is no UUID. JP_LIMIT: a limit, named in the text. Any thread. Cheap:
   * a session is made with its first request, or here where a WebSocket names it.
   */
  enum jp_status (*client_open)(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                                struct jp_error *error);
  /*
   * Ends a client, when no serve is using it. A session that is only the connection's is dropped with all its
   * objects; one with a `peer-id` or a routing id stays for its TTL where it has objects, and so does one without
   * either where a request over HTTP has left objects: then its name is new. told (may be NULL: nobody will hear it):
   * what the answer says. worker NULL: from a thread that may not use Java; the objects are dropped soon after, by
   * another.
   */
  void (*client_close)(void *context, struct rpc_worker *worker, struct rpc_client *client,
                       struct rpc_told_session *told);
  /* What the answer to a handshake says, for a client that has just been opened. NULL: nothing. */
  void (*client_tell)(void *context, struct rpc_client *client, struct rpc_told_session *told);

  /* The answer of the worker's last message, which was this client's, will not reach it: drops the objects
   * that it told of. On the worker's thread, before it serves again. NULL: there is nothing to drop. */
  void (*take_back)(void *context, struct rpc_worker *worker, struct rpc_client *client);

  /* --- clients with a push; NULL where none opens a duplex. The caller holds no lock --- */

  /*
   * A whole message of a client that has a duplex, before anything else is made of it; also while a request of the
   * client is being served. Any thread, one at a time for a client; no worker is needed, and Java does not run in it.
   * *message stays the caller's; RPC_TAKEN may have taken its memory. *answer comes empty, and gets the errors of
   * nested requests that no thread will serve, which need not be told to `refused`.
   */
  enum rpc_taken (*take)(void *context, struct rpc_callbacks *callbacks, struct buffer *message,
                         struct buffer *answer);
  /*
   * The same for a message that is too long, of which the beginning is known. RPC_TAKEN: a call is open. *is_answer: the
   * message was the answer to one, which has ended; else the transport answers the message at once.
   */
  enum rpc_taken (*take_beginning)(void *context, struct rpc_callbacks *callbacks, struct text beginning,
                                   bool *is_answer);
  /* The client sends nothing more: its open calls end, and later ones do at once. Any thread, while the client is open;
   * may be repeated. client_close means it, too. */
  void (*client_gone)(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
  /* True where all threads that wait in the open calls of the client are exiting, as is_exiting says: nobody needs the
   * answers. Any thread, while the client is open. */
  bool (*are_exiting)(void *context, struct rpc_callbacks *callbacks);
  /* A send that had no room may find some now. Likewise. */
  void (*has_room)(void *context, struct rpc_callbacks *callbacks);
  /* A client that has a push sent this message, and it was answered with an error that `refuse` has made, unread: the
   * callbacks that it gives count as read. As `take`, also for a client that has given none before. */
  void (*refused)(void *context, struct rpc_client *client, struct text message);
};

#endif
