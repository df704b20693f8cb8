#ifndef JPEER_RPC_SESSION_STATE_H
#define JPEER_RPC_SESSION_STATE_H
/*
 * Shared by session.c (holding), session_index.c (finding) and session_sweeper.c (ending). Everything is used
 * under sessions->lock, except where a comment says otherwise.
 */
#include "base/keyed_hash.h"
#include "rpc/session.h"
#include "rpc/session_addresses.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SESSION_SEED_BYTES = 8, SESSION_LAST_REFS = 1 << 16 };

/* The queues of a session that nobody holds: one of rpc_sessions and, if it is_passing, its address's. */
enum session_line { LINE_OF_ALL, LINE_OF_ADDRESS, SESSION_LINES };

struct rpc_session {
  struct rpc_session *next; /* in its bucket, or among the dead */
  struct {
    struct rpc_session *before;
    struct rpc_session *after;
  } lines[SESSION_LINES];
  struct rpc_sessions *sessions;
  struct jvm_objects *objects;
  _Atomic uint64_t calls;                    /* of clients that have released it; used without the lock */
  _Atomic(struct session_address *) address; /* held; NULL before the first object */
  struct rpc_session_maker maker;
  bool is_passing; /* only the message that made it has used it */
  bool is_idle;
  bool ends_with_holders; /* although it has a key */
  unsigned holders;
  int64_t idle_since;
  uint64_t epoch; /* of the name that it had when clients were first told of it; 0: OpenSSL failed */
  uint64_t hash;
  size_t key_length; /* 0: no key */
  uint8_t key[];
};

struct rpc_sessions {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct rpc_session_limits limits;
  _Atomic size_t count;         /* of sessions with objects; used without the lock */
  struct rpc_session **buckets; /* by key */
  size_t bucket_count;          /* a power of two */
  uint32_t *last_refs;          /* SESSION_LAST_REFS: see session_index_last_ref */
  struct session_addresses addresses;
  struct session_queue idle;
  struct session_queue passing; /* idle ones that are passing */
  struct rpc_session *dead;     /* ended; the sweeper destroys them */
  bool stopping;
  bool sweeper_runs;
  int64_t sweeper_wakes;            /* when it looks next, or has last looked; INT64_MAX: when it is told */
  struct keyed_hash *epochs;        /* used without the lock */
  uint8_t seed[SESSION_SEED_BYTES]; /* callers choose the keys; they must not choose the buckets */
};

/* --- session_index.c --- */

enum jp_status session_index_init(struct rpc_sessions *sessions) JP_MUST_CHECK;
/* Frees the sessions that are still in it. */
void session_index_fini(struct rpc_sessions *sessions);
/* Without the lock. */
uint64_t session_index_hash(const struct rpc_sessions *sessions, const uint8_t *bytes, size_t length);
struct rpc_session *session_index_find(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                       uint64_t hash);
/* Gives the session the key; its memory has room for it. */
void session_index_add(struct rpc_sessions *sessions, struct rpc_session *session,
                       const struct rpc_session_key *key, uint64_t hash);
void session_index_remove(struct rpc_sessions *sessions, struct rpc_session *session);
/*
 * At least the last ref of every session that has ended under a key of this hash; 0: none has. The next session of
 * the key begins after it, so that no ref that a client still has names another object. Keys that share a place
 * share the number, and only skip refs.
 */
uint32_t session_index_last_ref(const struct rpc_sessions *sessions, uint64_t hash);

/* What is made of a session's name, its key or without one the key's serial, under the key of the process. */
struct session_mark {
  uint64_t epoch;
  uint32_t first_ref; /* where the refs of the first session of the name begin */
};

/* Without the lock. JP_INTERNAL: OpenSSL fails. */
enum jp_status session_mark_make(const struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                 struct session_mark *mark) JP_MUST_CHECK;

/* --- session_sweeper.c --- */

/* When the session that nobody holds will have been kept for the TTL; INT64_MAX: never. */
int64_t session_expiry(const struct rpc_sessions *sessions, const struct rpc_session *idle);

/* --- session.c --- */

/* Takes a session that nobody holds out of the index, the queues and the counts. The caller destroys it. */
void session_end(struct rpc_sessions *sessions, struct rpc_session *session);
/* Without the lock, on a thread that may use Java. */
void session_destroy(struct rpc_session *session, struct jvm_thread *thread);

#endif
