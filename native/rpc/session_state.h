#ifndef JPEER_RPC_SESSION_STATE_H
#define JPEER_RPC_SESSION_STATE_H
/*
 * What session.c (who holds what), session_index.c (who finds what) and session_sweeper.c (when it ends)
 * share. All of it is used under sessions->lock, but for what a comment says.
 */
#include "rpc/session.h"
#include "rpc/session_addresses.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SESSION_SEED_BYTES = 8, SESSION_LAST_REFS = 1 << 16 };

/* The queues that a session which nobody holds stands in: one of rpc_sessions, and where it is_passing, its
 * address's. */
enum session_line { LINE_OF_ALL, LINE_OF_ADDRESS, SESSION_LINES };

struct rpc_session {
  struct rpc_session *next; /* of its bucket, or of the dead */
  struct {
    struct rpc_session *before;
    struct rpc_session *after;
  } lines[SESSION_LINES];
  struct rpc_sessions *sessions;
  struct jvm_objects *objects;
  _Atomic(struct session_address *) address; /* held; NULL before the first object */
  struct rpc_session_maker maker;
  bool is_passing; /* its maker is, and no other message has used it since */
  bool is_idle;
  unsigned holders;
  int64_t idle_since;
  uint64_t hash;
  size_t key_length; /* 0: no key */
  uint8_t key[];
};

struct rpc_sessions {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct rpc_session_limits limits;
  _Atomic size_t count;         /* of those with objects; without the lock */
  struct rpc_session **buckets; /* by key */
  size_t bucket_count;          /* a power of two */
  uint32_t *last_refs;          /* SESSION_LAST_REFS: see session_index_last_ref */
  struct session_addresses addresses;
  struct session_queue idle;
  struct session_queue passing; /* those that is_passing is true of */
  struct rpc_session *dead;     /* ended; their tables wait for a thread that may use Java */
  bool stopping;
  bool sweeper_runs;
  uint8_t seed[SESSION_SEED_BYTES]; /* callers choose keys: they must not be able to choose their buckets */
};

/* --- session_index.c --- */

enum jp_status session_index_init(struct rpc_sessions *sessions) JP_MUST_CHECK;
/* Frees the sessions that are still in it. */
void session_index_fini(struct rpc_sessions *sessions);
/* Without the lock. */
uint64_t session_index_hash(const struct rpc_sessions *sessions, const uint8_t *bytes, size_t length);
struct rpc_session *session_index_find(struct rpc_sessions *sessions, const struct rpc_session_key *key,
                                       uint64_t hash);
/* Gives the session the key, which it has room for. */
void session_index_add(struct rpc_sessions *sessions, struct rpc_session *session,
                       const struct rpc_session_key *key, uint64_t hash);
void session_index_remove(struct rpc_sessions *sessions, struct rpc_session *session);
/*
 * A ref that is at least the last one of every session that has ended under a key of this hash: the next
 * session of the same key goes on behind it, so that no ref that its client still believes in names another
 * object. Keys that share a place share the number; it costs them nothing but smaller refs.
 */
uint32_t session_index_last_ref(const struct rpc_sessions *sessions, uint64_t hash);

/* --- session.c --- */

/* Nobody finds the session any more, and it counts no more; the caller destroys it. Nobody holds it. */
void session_end(struct rpc_sessions *sessions, struct rpc_session *session);
/* Without the lock, on a thread that may use Java. */
void session_destroy(struct rpc_session *session, struct jvm_thread *thread);

#endif
