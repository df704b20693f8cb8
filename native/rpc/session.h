#ifndef JPEER_RPC_SESSION_H
#define JPEER_RPC_SESSION_H
/*
 * Sessions: whose objects are whose, and for how long (behaviour.md, "Control"; design.md, "What makes it
 * safe").
 *
 * A session without a key belongs to the one client that holds it and ends when that one lets go. A session
 * with a key (a `peer-id` of a principal, or a ZeroMQ routing id) is shared by all who give the key; when
 * nobody holds it, it stays for the TTL if it has objects, and ends at once if it has none. While there is no
 * authentication, every client is the same principal.
 *
 * A session counts while it has objects: holding one that has none is free, and fails for nothing but memory.
 * The first object of one fails where its maker's address has sessions-per-address already, or where there
 * are sessions-max, and none of these can end for it. Those that can are the passing ones, which one message
 * alone has used: an HTTP request, or a ZeroMQ message that names a session itself. The oldest goes first.
 *
 * A new session of a key goes on with refs where the last one of that key ended, so that no ref of an ended
 * session names an object of a later one.
 *
 * Each operation takes the same time however many sessions there are (those with more than a million keys
 * aside, whose chains grow).
 *
 * Any thread; one lock, never held while Java runs. Tables of objects are destroyed by threads that may use
 * Java: the releasing one where it is one, else the sweeper.
 */
#include "base/status.h"
#include "base/text.h"
#include "base/uuid.h"
#include "jni/jvm.h"
#include "jni/objects/objects.h"
#include "rpc/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_sessions;
struct rpc_session;

enum { RPC_ROUTING_ID_MAX = 255, RPC_SESSION_NAME_MAX = 2 * RPC_ROUTING_ID_MAX + 16 };

struct rpc_session_key {
  uint64_t serial; /* tells those without a key apart in the log; no part of the key; 0: none */
  size_t length;   /* 0: no key */
  uint8_t bytes[1 + RPC_ROUTING_ID_MAX];
};

void rpc_session_key_peer_id(struct rpc_session_key *key, const struct uuid *peer_id);
/* False where the id is empty or longer than ZeroMQ makes them. */
bool rpc_session_key_routing_id(struct rpc_session_key *key, struct text routing_id) JP_MUST_CHECK;
/* For the log: a UUID, "zmq:" and the routing id in hexadecimal, or where there is no key "#" and the serial
 * ("" where there is none). */
void rpc_session_key_describe(const struct rpc_session_key *key, char out[RPC_SESSION_NAME_MAX]);

struct rpc_session_limits {
  size_t sessions_max;
  size_t per_address_max; /* of sessions_max, for each client address; 0: all of them */
  size_t max_objects;     /* a session */
  int64_t ttl_ms;
};

/* Who makes a session. */
struct rpc_session_maker {
  struct rpc_address address; /* the session counts for it */
  bool is_passing;            /* one message: no connection and no socket, and maybe nobody who comes back */
  uint64_t message; /* tells that message from others where it may acquire the session again; or 0 */
};

enum jp_status rpc_sessions_create(const struct rpc_session_limits *limits,
                                   struct rpc_sessions **sessions) JP_MUST_CHECK;
/* No session may be held any more. Objects of sessions that were not swept are left to the JVM's end. */
void rpc_sessions_destroy(struct rpc_sessions *sessions);
size_t rpc_sessions_count(struct rpc_sessions *sessions); /* those that have objects */

/* Holds the session of the key, made where there is none; key NULL or empty: a new one. One that is there is
 * passing no more, but for the same message of its maker. JP_NO_MEMORY. Released with rpc_session_release. */
enum jp_status rpc_session_acquire(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                   const struct rpc_session_maker *maker, struct rpc_session **session,
                                   struct jp_error *error) JP_MUST_CHECK;
/* Holds the session of the key where there is one, which is passing no more; else NULL. */
struct rpc_session *rpc_session_find(struct rpc_sessions *sessions, const struct rpc_session_key *key);
/* thread NULL: from a thread that may not use Java. now_ms: clock_now_ms(). */
void rpc_session_release(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread, int64_t now_ms);
/* Instead of releasing: the memory of a session without a key that has held nothing is the caller's, for
 * another client (rpc_session_resume). False: it has to be released. */
bool rpc_session_set_aside(const struct rpc_session *session) JP_MUST_CHECK;
/* Instead of acquiring: makes a session that was set aside a new one without a key. */
void rpc_session_resume(struct rpc_session *session, const struct rpc_session_maker *maker);
/* Frees one that was set aside; NULL: nothing. thread as for rpc_session_release; where there is one,
 * sessions is not looked at, and may be NULL or gone. */
void rpc_session_discard(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread);
/* Gives a session without a key a `peer-id` of its own, by which it can be found from now on. */
void rpc_session_keep(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id);

struct jvm_objects *rpc_session_objects(const struct rpc_session *session); /* as long as it is held */
/* delete_session: drops every object; the session counts no more, and ends when nobody holds it. */
void rpc_session_clear(struct rpc_session *session, struct jvm_thread *thread);

/* Ends the sessions whose TTL is over and destroys tables that were handed over. Gives the time of the next
 * expiry, or INT64_MAX. */
int64_t rpc_sessions_sweep(struct rpc_sessions *sessions, struct jvm_thread *thread, int64_t now_ms);
/* Starts the sweeper: a thread that sweeps when a session expires or a table is handed over. Once. */
enum jp_status rpc_sessions_start(struct rpc_sessions *sessions, struct jvm *jvm,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Lets the sweeper end every session that nobody holds, and go. False where it is still there after wait_ms:
 * then the sessions must not be destroyed. */
bool rpc_sessions_stop(struct rpc_sessions *sessions, int64_t wait_ms) JP_MUST_CHECK;

#endif
