#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_H
/*
 * The callbacks of one client: which objects of the client Java has, and which of their methods are being called
 * (docs/internals/callbacks.md).
 *
 * Made with the first argument {"ref":{"callback":ID}} that is read; a client without has none. Counted: the client
 * holds it until it is closed, each living proxy and each open call do. It holds the transport's duplex and, while the
 * client or a call of its is open, the client's session. What it keeps of the client is a copy: a struct rpc_client is
 * never looked at by another thread than that which serves its messages.
 *
 * One lock guards records, open calls and the end. It is held for look-ups alone: nothing of jni but jvm_waiter_hold,
 * nothing of the transport but rpc_waits.wake, and no Java runs under it. Threads that park in Java are woken after the
 * unlock. Whoever calls in holds no lock that a function of rpc_push takes.
 */
#include "jni/callbacks.h"
#include "rpc/callbacks/given.h"
#include "rpc/codec.h"
#include "rpc/service.h"
#include "rpc/session.h"

struct rpc_peer;
struct rpc_process;

/* The clients of a peer that have callbacks. */
struct rpc_callbacks_list;

enum jp_status rpc_callbacks_list_create(struct rpc_callbacks_list **list) JP_MUST_CHECK;
/* When every client is closed. NULL is fine. */
void rpc_callbacks_list_destroy(struct rpc_callbacks_list *list);

/*
 * Makes the client's callbacks, or gives those that it has; borrowed from the client. On the thread that serves the
 * client, whose codec it is. JP_INVALID: the transport cannot send what answers no request, and the text says so.
 * JP_NO_MEMORY.
 */
enum jp_status rpc_callbacks_of(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct rpc_callbacks **callbacks,
                                struct jp_error *error) JP_MUST_CHECK;

/*
 * The connections of one process of a client's (docs/callbacks.md, "A process with several connections"): their callback IDs
 * are the process's, and any of them can be called from now on. On the thread that serves the client, outside any callback.
 * JP_INVALID: it has given callbacks, or belongs to another process. JP_NO_MEMORY, or what rpc_client_hold_session gives.
 */
enum jp_status rpc_process_join(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct text name,
                                struct jp_error *error) JP_MUST_CHECK;
/* When its callbacks are closed. Nothing where it has joined none. */
void rpc_process_leave(struct rpc_peer *peer, struct rpc_client *client);
/* The number that `control session` tells as `client`. */
uint64_t rpc_process_client(const struct rpc_process *process);

/* rpc_service.client_gone: every open call ends, and later ones do at once. The first end stays. Any thread; blocks for
 * nothing. */
void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
/* The client is closed: ends them, too, and lets go of the client's hold. NULL is fine. */
void rpc_callbacks_close(struct rpc_callbacks *callbacks);
/* delete_session: every open call of the clients that use the session ends, and so does each later call of a proxy that
 * was given before. All IDs are released (callback_released). What is given from now on is new. Any thread. */
void rpc_callbacks_end_session(struct rpc_peer *peer, const struct rpc_session *session);

/* --- given: how often each ID was read --- */

/* An argument with this ID was read: counts it, and notes it in *given. JP_LIMIT: the client has given so many objects
 * as it may have in its session. JP_NO_MEMORY. */
enum jp_status rpc_callbacks_note(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given *given,
                                  struct jp_error *error) JP_MUST_CHECK;
/* The requests in hand are done: IDs that no proxy has and no other request names are released. */
void rpc_callbacks_settle(struct rpc_callbacks *callbacks, struct rpc_given *given);
/* The same for a message that was read in part: counts what it gives beside *given, too. */
void rpc_callbacks_settle_partly(struct rpc_callbacks *callbacks, struct rpc_given *given,
                                 struct text message);
/* Counts all that a message gives, be it requests or answers: nobody has read it. */
void rpc_callbacks_count_unread(struct rpc_callbacks *callbacks, struct text message);
/* The same for a client that may have given nothing yet, and then gets its callbacks as rpc_callbacks_of gives them. */
void rpc_callbacks_count_refused(struct rpc_peer *peer, struct rpc_client *client,
                                 const struct rpc_codec *codec, struct text message);

#endif
