#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_H
/*
 * The callbacks of one client: the objects of the client that Java has, and the calls of their methods that
 * are open (docs/internals/callbacks.md).
 *
 * The struct is made when the first argument {"ref":{"callback":ID}} of a client is read. It is
 * reference-counted. The client holds it until the client is closed, even if the client's thread is lost.
 * Each existing proxy and each open call holds it, too. The struct holds the transport's duplex. While the
 * client or one of its calls is open, the struct also holds the client's session. Values of the client are
 * copied: only the thread that serves the client's messages reads its struct rpc_client.
 *
 * One lock guards the records, the open calls and the state. The lock is held for look-ups only. A thread
 * that holds the lock runs no Java. Of other modules' functions it calls only jvm_waiter_hold and
 * rpc_waits.wake. Threads that park in Java are woken after the unlock. A caller of these functions must not
 * hold a lock that a function of rpc_push takes.
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
/* Called when every client is closed. NULL is fine. */
void rpc_callbacks_list_destroy(struct rpc_callbacks_list *list);

/*
 * Returns the client's callbacks, and makes them if they do not exist yet. Borrowed from the client. Called
 * on the thread that serves the client. codec: the client's codec. JP_INVALID: the transport can send only
 * answers, and the text says so. JP_NO_MEMORY.
 */
enum jp_status rpc_callbacks_of(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct rpc_callbacks **callbacks,
                                struct jp_error *error) JP_MUST_CHECK;

/*
 * Adds the client to a process, whose connections share their callback IDs (docs/callbacks.md, "A process
 * with several connections"): From now on, the objects of the process can be called over any of its
 * connections. Called on the thread that serves the client, outside any callback. JP_INVALID: the client has
 * given callbacks, or belongs to another process. JP_NO_MEMORY, or a status of rpc_client_hold_session.
 */
enum jp_status rpc_process_join(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct text name,
                                struct jp_error *error) JP_MUST_CHECK;
/* Called after the client's callbacks are closed. Does nothing if the client has joined no process. */
void rpc_process_leave(struct rpc_peer *peer, struct rpc_client *client);
/* The number that `control session` returns as `client`. */
uint64_t rpc_process_client(const struct rpc_process *process);

/* rpc_service.client_gone: ends every open call; every later call ends at once. If this function is called
 * again, the first reason remains. Any thread; does not wait. */
void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
/* Adds a hold on the callbacks, for the second client struct that rpc_service.part_client makes. NULL is
 * fine. */
void rpc_callbacks_retain(struct rpc_callbacks *callbacks);
/* Releases that hold, and does not end the calls. NULL is fine. */
void rpc_callbacks_release(struct rpc_callbacks *callbacks);
/* Called when the client is closed: ends its calls, and releases the client's hold. NULL is fine. */
void rpc_callbacks_close(struct rpc_callbacks *callbacks);
/* Called by delete_session: ends every open call of the clients that use the session, and releases all IDs
 * (callback_released). From now on, calls of the proxies that exist now fail. A callback that a client gives
 * later counts as a new callback, even with the same ID. Any thread. */
void rpc_callbacks_end_session(struct rpc_peer *peer, const struct rpc_session *session);

/* --- given: how often each ID was read --- */

/* Counts an argument with this ID that was read, and adds the ID to *given. JP_LIMIT: the client has reached
 * the limit of objects in its session. JP_NO_MEMORY. */
enum jp_status rpc_callbacks_note(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given *given,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Called when the requests of the message are done: releases the IDs that have no proxy and that no other
 * request names. */
void rpc_callbacks_settle(struct rpc_callbacks *callbacks, struct rpc_given *given);
/* The same as rpc_callbacks_settle, for a message of which only a part was read: also counts the arguments
 * that are not in *given. */
void rpc_callbacks_settle_partly(struct rpc_callbacks *callbacks, struct rpc_given *given,
                                 struct text message);
/* Counts all callbacks that the requests or answers of a message give. For a message that was not read. */
void rpc_callbacks_count_unread(struct rpc_callbacks *callbacks, struct text message);
/* The same as rpc_callbacks_count_unread, for a client that may have given no callback yet. If the client has
 * no callbacks, makes them as rpc_callbacks_of does. */
void rpc_callbacks_count_refused(struct rpc_peer *peer, struct rpc_client *client,
                                 const struct rpc_codec *codec, struct text message);

#endif
