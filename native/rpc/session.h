#ifndef JPEER_RPC_SESSION_H
#define JPEER_RPC_SESSION_H
/*
 * Sessions: who owns which objects, and for how long (docs/protocol.md, "Sessions and refs").
 *
 * A session without a key belongs to the client that holds it, and ends when that client releases it. A
 * session with a key (a `peer-id`, or a ZeroMQ routing id) is shared by all clients that name the key. When
 * its last holder releases it, the session remains for the TTL if it has objects, and ends at once otherwise.
 * A session that got its key from rpc_session_share ends at once in any case.
 *
 * A session counts against the limits while it has objects. Holding a session without objects is free, and
 * fails only for lack of memory. Storing its first object fails if a limit is reached: sessions-per-address
 * for the address of its maker, the limit of its principal, or sessions-max in all. If a passing session can
 * end to make room, it ends, and the object is stored. A passing session is one that only one message has
 * used: an HTTP request, or a ZeroMQ message that names a session. The oldest passing session ends first.
 *
 * A new session of a key continues the numbers of the last session of that key, so that a ref of an ended
 * session never names an object of a later session.
 *
 * Each name of a session (its key, or the serial of a client without a key) has an epoch, a keyed hash under
 * a random key of the process. The epoch is the same before the session's first object and after its last
 * object. In another process the epoch differs, so that a client can see that its refs are not valid there.
 *
 * Up to a million keys, the time of an operation does not depend on the number of sessions. With more keys
 * the chains of the index become longer.
 *
 * Any thread. There is one lock, and no thread holds it while it runs Java. Only a thread that may use Java
 * destroys a table of objects: the thread that releases the session, or the sweeper.
 */
#include "base/status.h"
#include "base/text.h"
#include "base/uuid.h"
#include "jni/jvm.h"
#include "jni/objects.h"
#include "op/session_key.h"
#include "principal/principal.h"
#include "rpc/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_sessions;
struct rpc_session;

struct rpc_session_limits {
  size_t sessions_max;
  size_t per_address_max; /* how many of sessions_max one client address may have; 0: all of them */
  size_t max_objects;     /* a session */
  /* the refs of the first session of a name begin at random between these two; 0 means 1 */
  uint32_t first_ref_min;
  uint32_t first_ref_max;
  int64_t ttl_ms;
};

/* Who makes a session. */
struct rpc_session_maker {
  struct rpc_address address;  /* the address for which the session counts */
  bool is_passing;             /* made by one message, and possibly never used again */
  uint64_t message;            /* the number of the message that made the session, if that message may acquire
                                * the session again; otherwise 0 */
  struct principal *principal; /* the principal of the session, which holds it. NULL: owner */
};

/* JP_NO_MEMORY; JP_INTERNAL: OpenSSL has no keyed hash. */
enum jp_status rpc_sessions_create(const struct rpc_session_limits *limits,
                                   struct rpc_sessions **sessions) JP_MUST_CHECK;
/* No thread may hold a session any more. The objects of sessions that were not swept remain until the JVM
 * ends. */
void rpc_sessions_destroy(struct rpc_sessions *sessions);
size_t rpc_sessions_count(struct rpc_sessions *sessions); /* of sessions with objects */

/* The objects of all sessions together. */
size_t rpc_sessions_count_refs(const struct rpc_sessions *sessions);

/* The number of sessions with objects of one client address. */
size_t rpc_sessions_count_of(struct rpc_sessions *sessions, const struct rpc_address *address);

/* The epoch of a session, by its key or, if the key is empty, by its serial. 0: OpenSSL has failed; no epoch is 0. */
uint64_t rpc_sessions_epoch(struct rpc_sessions *sessions, const struct op_session_key *key);
uint64_t rpc_session_epoch(const struct rpc_session *session); /* as long as it is held */

/* Holds the session of the key, and makes the session if it does not exist. An empty key, or NULL: always
 * makes a session. An existing session is no longer passing, unless the message that has made it acquires it
 * again. JP_NO_MEMORY, JP_INTERNAL. Release it with rpc_session_release. */
enum jp_status rpc_session_acquire(struct rpc_sessions *sessions, const struct op_session_key *key,
                                   const struct rpc_session_maker *maker, struct rpc_session **session,
                                   struct jp_error *error) JP_MUST_CHECK;
/* Holds the session of the key, which is then no longer passing. NULL: no session has the key. */
struct rpc_session *rpc_session_find(struct rpc_sessions *sessions, const struct op_session_key *key);
/* Adds a holder to a session that the caller holds. */
void rpc_session_retain(struct rpc_sessions *sessions, struct rpc_session *session);
/* thread NULL: the calling thread may not use Java. now_ms: clock_now_ms(). */
void rpc_session_release(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread, int64_t now_ms);
/* May be called in place of rpc_session_release for a session without a key that never had an object. The
 * caller then keeps the memory of the session for another client (rpc_session_resume). False: release the
 * session instead. */
bool rpc_session_set_aside(const struct rpc_session *session) JP_MUST_CHECK;
/* May be called in place of rpc_session_acquire. Turns a session that was set aside into a new session
 * without a key. */
void rpc_session_resume(struct rpc_session *session, const struct rpc_session_maker *maker);
/* Frees a session that was set aside; NULL is fine. thread: as for rpc_session_release. With a thread,
 * sessions is not used, and may be NULL or destroyed. */
void rpc_session_discard(struct rpc_sessions *sessions, struct rpc_session *session,
                         struct jvm_thread *thread);
/* Gives a session without a key a new `peer-id`, by which it is found from now on. */
void rpc_session_keep(struct rpc_sessions *sessions, struct rpc_session *session, struct uuid *peer_id);
/* The `peer-id` of a session that the caller holds. A session without a key gets a new key, and still ends
 * with its last holder. False: its key is a routing id. */
bool rpc_session_share(struct rpc_sessions *sessions, struct rpc_session *session,
                       struct uuid *peer_id) JP_MUST_CHECK;

/* as long as the session is held */
struct jvm_objects *rpc_session_objects(const struct rpc_session *session);
/* Adds the calls of a client that is about to release the session. The caller holds the session. */
void rpc_session_add_calls(struct rpc_session *session, uint64_t calls);
uint64_t rpc_session_calls(const struct rpc_session *session);
/* For delete_session: drops every object. The session no longer counts against the limits, and ends with its
 * last holder. */
void rpc_session_clear(struct rpc_session *session, struct jvm_thread *thread);

/* Ends the idle sessions whose principal no longer exists. Held sessions of such principals end with their
 * last holder. Any thread. */
void rpc_sessions_end_gone(struct rpc_sessions *sessions);

/* Ends the sessions whose TTL is over, and destroys the tables that were left to the sweeper. Returns the
 * time of the next expiry, or INT64_MAX. */
int64_t rpc_sessions_sweep(struct rpc_sessions *sessions, struct jvm_thread *thread, int64_t now_ms);
/* Starts the sweeper, a thread that sweeps when a session expires or a table is left to it. Call once. */
enum jp_status rpc_sessions_start(struct rpc_sessions *sessions, struct jvm *jvm,
                                  struct jp_error *error) JP_MUST_CHECK;
/* Asks the sweeper to end every session without a holder, and then to end itself. False: the sweeper still
 * runs after wait_ms, and the sessions must not be destroyed. */
bool rpc_sessions_stop(struct rpc_sessions *sessions, int64_t wait_ms) JP_MUST_CHECK;

#endif
