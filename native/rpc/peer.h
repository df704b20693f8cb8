#ifndef JPEER_RPC_PEER_H
#define JPEER_RPC_PEER_H
/*
 * The peer: sessions, policy, metadata and codecs in front of a JVM. The peer is made before the JVM starts,
 * so that configuration errors are found first. It gets the JVM when the JVM has started. The peer owns
 * neither the JVM nor the policy.
 */
#include "jni/executors.h"
#include "jni/jvm.h"
#include "jni/members.h"
#include "policy/policy_source.h"
#include "rpc/service.h"

struct catalog;
struct rpc_peer;

/* The classes that no client may use with --compat pal: for policy_config.withheld. */
#define RPC_COMPAT_WITHHELD "io.quasient.pal.**"

/* The limits of callbacks. A value in parentheses is the default of `jpeer run`. */
struct rpc_callback_limits {
  size_t calls_max;   /* the most open calls of a connection (1,000) */
  size_t depth_max;   /* the most open calls of a thread (64) */
  size_t threads_max; /* the most threads of the peer that wait in calls (256); 0: any number */
  int64_t timeout_ms; /* the longest wait of each call; 0: no limit */
};

/* The limits of the peer. A value in parentheses is the default of `jpeer run`. */
struct rpc_limits {
  size_t max_depth;           /* the most levels of a message (128) */
  size_t max_batch;           /* the most requests in a batch (1,000) */
  size_t session_max_objects; /* the most objects of a session (4,000,000) */
  uint32_t first_ref_min;     /* as in struct rpc_session_limits */
  uint32_t first_ref_max;
  size_t values_max;           /* the most values in one request (1,000,000) */
  size_t sessions_max;         /* the most sessions (100,000) */
  size_t sessions_per_address; /* the most sessions of one client address (10,000); 0: all of them */
  int64_t session_ttl_ms;      /* how long an unused session is kept (600,000) */
  size_t message_max;          /* the most bytes of a message (16 MiB) */
  /* the limit of the transports; the peer only shows this field and the next */
  size_t connections_max;
  size_t threads_max;      /* the most calls that run at a time */
  int64_t call_timeout_ms; /* the longest time of a call of a member; 0: no limit */
  struct rpc_callback_limits callbacks;
  struct jvm_limits java;
};

struct rpc_peer_config {
  struct uuid uuid;
  const char *name;
  const char *version; /* the version of the peer that descriptions show */
  /* borrowed; a message is served under the policy in force when it is received */
  struct policy_source *policies;
  struct catalog *catalog; /* borrowed; NULL: metadata is not served (tests) */
  struct rpc_limits limits;
  bool compat_pal;                      /* docs/compat.md */
  const struct jvm_executor *executors; /* borrowed: the thread affinities that requests may name */
  size_t executor_count;
};

enum jp_status rpc_peer_create(const struct rpc_peer_config *config, struct rpc_peer **peer,
                               struct jp_error *error) JP_MUST_CHECK;
/* The addresses that the peer's descriptions show ("http://127.0.0.1:4711/rpc", ...): NULL-terminated,
 * borrowed for as long as the peer. Call before rpc_peer_attach. */
void rpc_peer_set_addresses(struct rpc_peer *peer, const char *const *addresses);
/* Called from hooks.started; service.spawn works afterwards. Starts the codecs, and the thread that ends
 * idle sessions. */
enum jp_status rpc_peer_attach(struct rpc_peer *peer, struct jvm *jvm, struct jp_error *error) JP_MUST_CHECK;
const struct rpc_service *rpc_peer_service(struct rpc_peer *peer); /* borrowed, as long as the peer */
/* Call it after the principals were loaded again: ends the sessions of principals that no longer exist. Any
 * thread. */
void rpc_peer_principals_changed(struct rpc_peer *peer);
/* Called from hooks.drain, after all transports have stopped serving: ends the sessions while Java may
 * still be used. False if their thread did not end in time. May be repeated. */
bool rpc_peer_detach(struct rpc_peer *peer);
void rpc_peer_destroy(struct rpc_peer *peer);

#endif
