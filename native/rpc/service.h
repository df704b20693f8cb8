#ifndef JPEER_RPC_SERVICE_H
#define JPEER_RPC_SERVICE_H
/*
 * The service: the part of the peer that transports use. It starts threads that serve, opens and closes
 * clients, and has the codecs of their messages. It is a table of functions, so that the transports can be
 * run, tested and measured with a service that has no JVM. rpc/peer.h makes the service of the peer.
 */
#include "base/uuid.h"
#include "op/operation.h"
#include "principal/principal.h"
#include "rpc/address.h"
#include "rpc/codec.h"

#include <stdatomic.h>

/* A connection on which both sides may send at any time: owned by the transport. */
struct rpc_duplex;
/* The callbacks of a client: owned by the service. A client keeps the same struct from its first callback
 * on. */
struct rpc_callbacks;
struct metrics_figures;

enum { RPC_EPOCH_LENGTH = 16 };

/* The facts about the session in the answer to a handshake or in an answer over HTTP. */
struct rpc_session_info {
  bool is_new; /* the session has got a new `peer-id`, by which it is found from now on */
  struct uuid peer_id;
  char epoch[RPC_EPOCH_LENGTH + 1]; /* of the session's name; "": unknown */
};

enum rpc_push_kind {
  /* a callback with an answer: the transport may read the client at any time until rpc_push.settle */
  RPC_PUSH_CALL,
  /* a oneway callback. If the worker's own request makes the callback, the transport may delay it a little,
   * to send it together with others */
  RPC_PUSH_EVENT,
  RPC_PUSH_ANSWER, /* to a nested request */
  RPC_PUSH_NOTICE  /* callback_released */
};

enum rpc_pushed {
  RPC_PUSHED,
  /* the client does not read at present. The transport calls rpc_service.has_room when there is room. Never
   * returned for an answer */
  RPC_PUSH_NO_ROOM,
  /* the message is longer than the send buffer (send-buffer-max); an answer is longer than the free room in
   * the buffer */
  RPC_PUSH_TOO_LONG,
  RPC_PUSH_CLOSED /* the connection has ended, or is about to end */
};

/*
 * Functions of a transport for a client to which it can write at any time. Any thread, unless a comment says
 * otherwise. No function waits for the client, and no function calls the service. The functions acquire locks
 * of the transport. For this reason the caller must not hold a lock that rpc_service.receive, or a function
 * called by it, acquires.
 */
struct rpc_push {
  /* Gives the client a thread of this name, on which all its messages are served from the next message on,
   * until `unpin` or the client's end; its earlier thread ends. JP_LIMIT: there are too many such threads, or
   * no thread could be made. Call pin and unpin on the thread that serves a message of the client, inside
   * serve. */
  enum jp_status (*pin)(void *connection, const char *name, struct jp_error *error);
  void (*unpin)(void *connection);
  /* Called when the client gives its first callback, on the thread that serves that message, inside serve.
   * connection: the value of rpc_client_info.connection. callbacks: valid until client_close. The result is
   * held until `close`. NULL: memory is short. */
  struct rpc_duplex *(*open)(void *connection, struct rpc_callbacks *callbacks);
  /*
   * Sends a whole message, after the answers that are ready. worker: of the calling thread; NULL: the thread
   * is not a crew member. Messages of one thread keep their order. Messages that a thread sends while it
   * serves a request precede the answer to that request. After each RPC_PUSHED for an RPC_PUSH_CALL, the
   * caller calls settle once, with the same worker. An answer of at most 16 KiB always finds room; if there
   * is no room, the connection is ended.
   */
  enum rpc_pushed (*send)(struct rpc_duplex *duplex, struct rpc_worker *worker, enum rpc_push_kind kind,
                          struct text message);
  /* Called when an RPC_PUSH_CALL has ended, for any reason. */
  void (*settle)(struct rpc_duplex *duplex, struct rpc_worker *worker);
  /* The length that an RPC_PUSH_ANSWER may have now; at least 1. */
  size_t (*reply_max)(struct rpc_duplex *duplex);
  /* Releases the duplex. The caller must not use it afterwards. */
  void (*close)(struct rpc_duplex *duplex);
};

struct rpc_client_info {
  enum op_channel channel;
  struct text peer_id;    /* the `peer-id` in the client's header, as written; data NULL: none */
  struct text routing_id; /* ZeroMQ: the identity's bytes; else data NULL */
  /* the epoch that the client's message names, as written; data NULL: it names no epoch */
  struct text epoch;
  struct rpc_address address;   /* limits for each address count for this address */
  struct principal *principal;  /* the principal of the client, which holds it. NULL: owner */
  struct principal_proof proof; /* how the service knows the principal */
  bool only_safe;               /* HTTP GET: only safe procedures may run */
  /* The worker of the thread that opens the client, whose cache of clients may be used. NULL: the thread is
   * not a crew member. */
  struct rpc_worker *worker;
  const struct rpc_push *push; /* NULL: the client receives only answers */
  void *connection;            /* for push->open */
  uint64_t connection_number;  /* for the audit; 0: it comes over no connection */
};

enum rpc_received {
  RPC_ORDINARY, /* the caller serves the message, or keeps it until the request before it was served */
  RPC_CONSUMED  /* the message was an answer or a nested request; the caller only has to send *answer */
};

/* A request that is nested in a callback. */
enum rpc_nested_state {
  RPC_NESTED_RUNS, /* the thread of the callback serves the request */
  RPC_NESTED_WAITS /* the thread does something else first */
};

/* The call or calls that end_call has to end. */
struct rpc_call_end {
  enum rpc_call_cause cause; /* RPC_CALL_RETURNS: nothing */
  bool is_any;    /* true: ends any call of the thread, and the rest of its message; end_call sets `call` */
  uint32_t call;  /* else the call of this number (find_deadline), */
  uint32_t level; /* the depth of callbacks at which the call runs; 0: the message's own call */
};

/* The functions by which the thread of a worker waits, inside the service, for input of a client. */
struct rpc_waits {
  void *thread;
  /*
   * Returns when is_over(state) is true, or at deadline_ms (clock_now_ms; INT64_MAX: never). During that time
   * the transport reads the client whose message the thread serves, if the client has a duplex, and hands
   * messages to `receive`. is_over is called at the beginning, after each part of the input and after each
   * wake. On the worker's own thread, in serve; the caller holds no lock.
   */
  void (*wait)(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms);
  /* Makes `wait` call is_over again. A wake that precedes the wait is not lost. Any thread, with any lock
   * held, because this function acquires no lock. */
  void (*wake)(void *thread);
  /* Requests the end of the thread's call: soon afterwards the transport calls end_call and interrupt_call.
   * False: the thread serves no message. Any thread. Does not wait. Acquires locks of the transport. */
  bool (*end)(void *thread, const struct rpc_call_end *end);
  /* When the message that the thread serves was received (clock_now_ns); 0: unknown. The transport writes it before serve. */
  _Atomic int64_t arrived_ns;
};

struct rpc_service {
  void *context;
  /* The codecs, by enum rpc_codec_id; NULL for a codec that the service lacks. The transport chooses the
   * codec of each message. The functions of the codecs get the context above. */
  const struct rpc_codec *const *codecs;

  /* Starts a crew member's thread; run is called on it with its worker. */
  enum jp_status (*spawn)(void *context, const char *name,
                          void (*run)(void *argument, struct rpc_worker *worker), void *argument,
                          struct jp_error *error);
  /* Sets how the worker's thread waits. Called on that thread, before it serves. *waits is borrowed as long
   * as the worker exists. waits NULL: the thread does not wait any more, and after this function has returned
   * no thread wakes it. set_waits NULL: the service never waits for a client. */
  void (*set_waits)(void *context, struct rpc_worker *worker, const struct rpc_waits *waits);
  /* Called on the worker's thread, before it serves, if it serves only one client. From then on, changes that
   * a call makes to the thread remain for the next call. NULL: the service never undoes changes of the
   * thread. */
  void (*keep_changes)(void *context, struct rpc_worker *worker);
  /* True if the worker's thread will never return from its call (System.exit). Any thread. */
  bool (*is_exiting)(void *context, struct rpc_worker *worker);

  /* --- calls that last; a function is NULL if the service does not support it --- */

  /*
   * Writes the name of the Java member that the worker's thread serves, CLASS.MEMBER, for the log: escaped,
   * and cut to size, which is at least 1. False: the thread serves no call. Any thread, while the worker
   * lives; does not wait.
   */
  bool (*write_call_name)(void *context, struct rpc_worker *worker, char *name, size_t size);
  /* True if the worker's thread has been in one call of a member for long and should get a name for this
   * call. Returns true once for each call. Called by one thread, at least four times a second. Does not
   * wait. */
  bool (*wants_name)(void *context, struct rpc_worker *worker, int64_t now_ms);
  /* Keeps the worker's thread from leaving its call. False: the thread is in no call. Any thread, while the
   * worker lives; does not wait. The thread that holds the call later calls name_call or release_call. */
  bool (*hold_call)(void *context, struct rpc_worker *worker);
  /* Names the thread of `held` after its call until the call ends, and ends the hold. own: the calling
   * thread's worker, which may wait for the JVM. */
  void (*name_call)(void *context, struct rpc_worker *own, struct rpc_worker *held);
  /*
   * Returns the time at which the call of the worker's thread, or a call that is nested in it, has to be
   * ended, and sets *end to that call. INT64_MAX: the call need not be ended or is ended already, or the
   * thread is in no call. since_ms: when the thread was first seen to serve its message, if
   * rpc_waits.arrived_ns is unknown. Called by one thread, repeatedly. Does not wait.
   */
  int64_t (*find_deadline)(void *context, struct rpc_worker *worker, int64_t since_ms,
                           struct rpc_call_end *end);
  /* Called between hold_call and release_call. Ends the held call if `end` means that call, so that its
   * request is answered with an error. name: gets the text of write_call_name; size 0: not wanted. False:
   * `end` means another call, or the call is a notification of a client that has left. Does not wait. */
  bool (*end_call)(void *context, struct rpc_worker *held, struct rpc_call_end *end, char *name, size_t size);
  /* Called after end_call. Interrupts the thread of the call once, unless the thread waits for the end of a
   * nested request. The interrupt may run code of the application, and may never return. own: the worker of
   * the calling thread. */
  void (*interrupt_call)(void *context, struct rpc_worker *own, struct rpc_worker *held);
  /* Called between hold_call and release_call, for a call that was ended. Returns when its thread was
   * interrupted (clock_now_ms), now_ms if the interrupt waits for the end of a nested request, or 0 if the
   * thread is not interrupted. */
  int64_t (*find_interrupt)(void *context, struct rpc_worker *held, int64_t now_ms);
  void (*release_call)(void *context, struct rpc_worker *held);

  /* --- lost threads, which do not return from a call that was ended --- */

  /* is_lost true: called when the worker's thread, which hold_call holds, becomes lost. is_lost false: called
   * by that thread when it has returned from the call. */
  void (*note_lost)(void *context, struct rpc_worker *worker, bool is_lost);
  /* Counts the lost threads that serve clients of this client's address. Any thread. */
  size_t (*count_lost)(void *context, const struct rpc_client *client);
  /* Makes a client with the session of `client`, whose thread is held and lost. The thread keeps `client`
   * and closes it; the new client replaces it. NULL: not possible, or memory is short. Any thread. */
  struct rpc_client *(*part_client)(void *context, struct rpc_client *client);

  /*
   * Opens a client. JP_INVALID: peer_id is not a UUID. JP_LIMIT: a limit was reached, which the error's text
   * names. Any thread. This function is cheap: it makes a session only if a WebSocket names one. Otherwise
   * the first request makes the session.
   */
  enum jp_status (*client_open)(void *context, const struct rpc_client_info *info, struct rpc_client **client,
                                struct jp_error *error);
  /*
   * Closes a client, while no serve uses it. A session that no other client can name is dropped with all its
   * objects. A session with a `peer-id` or a routing id remains for its TTL if it has objects. If a request
   * over HTTP without a session's name has left objects, their session gets a new name and remains for its
   * TTL, too. *info becomes the facts about the session for the answer; info NULL: no answer is sent. worker
   * NULL: the calling thread may not use Java, and another thread drops the objects soon afterwards.
   */
  void (*client_close)(void *context, struct rpc_worker *worker, struct rpc_client *client,
                       struct rpc_session_info *info);
  /* Sets *info to the facts about the session for the answer to a handshake, for a client that has just been
   * opened. describe_session NULL: the answer has no such facts. */
  void (*describe_session)(void *context, struct rpc_client *client, struct rpc_session_info *info);

  /* Called if the answer to the worker's last message will not reach the client. Drops the objects that the
   * answer has named. Called on the worker's thread, before it serves again. NULL: the service has no
   * objects. */
  void (*release_unsent)(void *context, struct rpc_worker *worker, struct rpc_client *client);

  /* Fills in the figures that the service knows, for GET /metrics. Waits for 15 ms at the most, also while
   * every thread is inside Java. Any thread, even before the first spawn. NULL: the service has none. */
  void (*collect)(void *context, struct metrics_figures *figures);

  /* --- clients with a push; NULL if the service opens no duplex. The caller holds no lock --- */

  /*
   * Receives a whole message of a client that has a duplex, before the message is read otherwise, even while
   * a request of the client is being served. Any thread, but only one thread at a time for each client. This
   * function needs no worker and runs no Java. The caller keeps *message, but after RPC_CONSUMED its memory
   * may have been moved away. *answer is empty at the call, and gets the errors of nested requests that no
   * thread will serve. `refused` need not be called for these requests.
   */
  enum rpc_received (*receive)(void *context, struct rpc_callbacks *callbacks, struct buffer *message,
                               struct buffer *answer);
  /*
   * Receives the beginning of a message that is too long. RPC_CONSUMED: a call is open. *is_answer true: the
   * message was the answer to a call, and that call has ended. *is_answer false: the transport answers the
   * message at once.
   */
  enum rpc_received (*receive_beginning)(void *context, struct rpc_callbacks *callbacks,
                                         struct text beginning, bool *is_answer);
  /*
   * For `control cancel`: ends a message of the client that is nested in a callback, has a request with this
   * id (in the form of rpc_codec.list_ids), and is in this state. A message that waits is answered by
   * rpc_push.send. A message that runs is only marked: find_deadline then names it, and the caller ensures
   * that find_deadline is called soon. False: no message can be ended. The rules for threads are those of
   * `receive`.
   */
  bool (*cancel_nested)(void *context, struct rpc_callbacks *callbacks, struct text id,
                        enum rpc_nested_state which);
  /* Called when the client sends nothing more. Ends its open calls; later calls then end at once. Any thread,
   * while the client is open; may be repeated. client_close does the same. */
  void (*client_gone)(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
  /* True if all threads that wait in the open calls of the client are exiting (is_exiting): the answers
   * are not needed. Any thread, while the client is open. */
  bool (*are_exiting)(void *context, struct rpc_callbacks *callbacks);
  /* Called when a send that found no room may find room now. Any thread, while the client is open. */
  void (*has_room)(void *context, struct rpc_callbacks *callbacks);
  /* Called when an unread message of a client that has a push was answered with an error from `refuse`. The
   * callbacks that the message gives count as read, even if the client has given no callback before. */
  void (*refused)(void *context, struct rpc_client *client, struct text message);
};

#endif
