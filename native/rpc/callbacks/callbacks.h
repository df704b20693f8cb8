#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_H
/*
 * The callbacks of one client: which objects of the client Java has, and which of their methods are being
 * called (docs/internals/callbacks.md).
 *
 * Made when the first argument {"ref":{"callback":ID}} of a client is read. Reference-counted: held by the
 * client until it is closed (even if the client's thread is lost), by each proxy that exists, and by each
 * open call. Holds the transport's duplex and, while the client or one of its calls is open, the client's
 * session. Values of the client are copied: only the thread that serves the client's messages reads its
 * struct rpc_client.
 *
 * One lock guards records, open calls and the end. It is held for look-ups only: under it, no Java runs, and
 * of other modules only jvm_waiter_hold and rpc_waits.wake are called. Threads that park in Java are woken
 * after the unlock. A caller of these functions must not hold a lock that a function of rpc_push takes.
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
 * Returns the client's callbacks, and makes them if they do not exist yet; borrowed from the client. On the
 * thread that serves the client. codec: of the client. JP_INVALID: the transport can send only answers, and
 * the text says so. JP_NO_MEMORY.
 */
enum jp_status rpc_callbacks_of(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct rpc_callbacks **callbacks,
                                struct jp_error *error) JP_MUST_CHECK;

/*
 * Adds the client to a process, whose connections share their callback IDs (docs/callbacks.md, "A process
 * with several connections"): any of them can be called from now on. On the thread that serves the client,
 * outside any callback. JP_INVALID: the client has given callbacks, or belongs to another process.
 * JP_NO_MEMORY, or a status of rpc_client_hold_session.
 */
enum jp_status rpc_process_join(struct rpc_peer *peer, struct rpc_client *client,
                                const struct rpc_codec *codec, struct text name,
                                struct jp_error *error) JP_MUST_CHECK;
/* After the client's callbacks are closed. Does nothing if the client has joined no process. */
void rpc_process_leave(struct rpc_peer *peer, struct rpc_client *client);
/* The number that `control session` returns as `client`. */
uint64_t rpc_process_client(const struct rpc_process *process);

/* rpc_service.client_gone: every open call ends, and every later call ends at once. Only the first reason
 * counts. Any thread; does not wait. */
void rpc_callbacks_client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping);
/* Holds the callbacks once more, for a second client struct that rpc_service.part_client makes. NULL is
 * fine. */
void rpc_callbacks_retain(struct rpc_callbacks *callbacks);
/* Releases it, without an end of the calls. NULL is fine. */
void rpc_callbacks_release(struct rpc_callbacks *callbacks);
/* The client is closed: ends its calls, too, and releases the client's hold. NULL is fine. */
void rpc_callbacks_close(struct rpc_callbacks *callbacks);
/* delete_session: ends every open call of the clients that use the session. Calls of proxies that exist
 * now fail from now on. All IDs are released (callback_released). Callbacks that are given later are new.
 * Any thread. */
void rpc_callbacks_end_session(struct rpc_peer *peer, const struct rpc_session *session);

/* --- given: how often each ID was read --- */

/* Counts an argument with this ID, which was read, and adds it to *given. JP_LIMIT: the client has reached
 * the limit of objects in its session. JP_NO_MEMORY. */
enum jp_status rpc_callbacks_note(struct rpc_callbacks *callbacks, int64_t id, struct rpc_given *given,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Called when the requests of the message are done: releases IDs that have no proxy and are not named by
 * another request. */
void rpc_callbacks_settle(struct rpc_callbacks *callbacks, struct rpc_given *given);
/* The same for a message of which only a part was read: counts the arguments that are not in *given, too. */
void rpc_callbacks_settle_partly(struct rpc_callbacks *callbacks, struct rpc_given *given,
                                 struct text message);
/* Counts all callbacks that a message gives, in requests or answers, because the message was not read. */
void rpc_callbacks_count_unread(struct rpc_callbacks *callbacks, struct text message);
/* The same for a client that may have given no callback yet; it then gets its callbacks as from
 * rpc_callbacks_of. */
void rpc_callbacks_count_refused(struct rpc_peer *peer, struct rpc_client *client,
                                 const struct rpc_codec *codec, struct text message);

#endif
