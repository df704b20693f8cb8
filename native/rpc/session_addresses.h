#ifndef JPEER_RPC_SESSION_ADDRESSES_H
#define JPEER_RPC_SESSION_ADDRESSES_H
/*
 * Counts the sessions with objects of each client address, and keeps the passing ones, which may end to make
 * room. Only for rpc/session*.c.
 *
 * An address has an entry while a session points to it. Entries are found, made and released under the
 * caller's lock; whoever holds an entry may count without the lock.
 */
#include "base/status.h"
#include "rpc/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_address;
struct rpc_session;

/* Sessions that nobody holds; the one that has been idle for longest is the first. */
struct session_queue {
  struct rpc_session *first;
  struct rpc_session *last;
};

struct session_addresses {
  struct session_address **buckets;
  size_t bucket_count; /* a power of two */
};

/* bucket_count: a power of two. */
enum jp_status session_addresses_init(struct session_addresses *addresses, size_t bucket_count) JP_MUST_CHECK;
void session_addresses_fini(struct session_addresses *addresses);

/* Holds the entry of the address until session_address_release, and makes it if there is none. The caller
 * chooses the hash. NULL: no memory. */
struct session_address *session_address_hold(struct session_addresses *addresses,
                                             const struct rpc_address *address, uint64_t hash);
void session_address_release(struct session_addresses *addresses, struct session_address *address);

/* How many sessions are counted for the address. Under the caller's lock. */
size_t session_addresses_count(struct session_addresses *addresses, const struct rpc_address *address,
                               uint64_t hash);

/* The address's passing sessions (rpc/session.h). Used under the caller's lock. */
struct session_queue *session_address_passing(struct session_address *address);

/* Counts one more session; false if there are `most` already. Any thread. */
bool session_address_count_up(struct session_address *address, size_t most) JP_MUST_CHECK;
void session_address_count_down(struct session_address *address);

#endif
