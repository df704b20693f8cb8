#ifndef JPEER_RPC_SESSION_ADDRESSES_H
#define JPEER_RPC_SESSION_ADDRESSES_H
/*
 * How many sessions with objects each client address has, and which of them can end for others. Of
 * rpc/session*.c alone.
 *
 * An address has an entry as long as a session points to it. Entries are found, made and let go of under the
 * caller's lock; an entry that is held may be counted by any thread, without it.
 */
#include "base/status.h"
#include "rpc/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_address;
struct rpc_session;

/* Sessions that nobody holds, the longest idle first. */
struct session_queue {
  struct rpc_session *first;
  struct rpc_session *last;
};

struct session_addresses {
  struct session_address **buckets;
  size_t bucket_count; /* a power of two */
};

/* bucket_count: a power of two. Memory is used as addresses come. */
enum jp_status session_addresses_init(struct session_addresses *addresses, size_t bucket_count) JP_MUST_CHECK;
void session_addresses_fini(struct session_addresses *addresses);

/* The entry of the address, whose hash the caller chooses, made where there is none; held until
 * session_address_release. NULL: no memory. */
struct session_address *session_address_hold(struct session_addresses *addresses,
                                             const struct rpc_address *address, uint64_t hash);
void session_address_release(struct session_addresses *addresses, struct session_address *address);

/* The address's passing sessions (rpc/session.h): used under the caller's lock. */
struct session_queue *session_address_passing(struct session_address *address);

/* Counts one more; false where there are `most` already. Any thread. */
bool session_address_count_up(struct session_address *address, size_t most) JP_MUST_CHECK;
void session_address_count_down(struct session_address *address);

#endif
