#ifndef JPEER_NET_SHM_SHM_PROTOCOL_H
#define JPEER_NET_SHM_SHM_PROTOCOL_H
/*
 * Shared memory as the protocol of a connection (net/connection/connection_protocol.h): JSON messages in two rings
 * (ring/ring.h), and bells on the socket, which has to be a Unix socket. Begins by an Upgrade of HTTP
 * (docs/shared-memory.md).
 */
#include "net/connection/connection_protocol.h"

#include <stdatomic.h>

/* The shared memory of all connections of a server. Any thread. */
struct shm_pool {
  struct connection_upgrade upgrade; /* first: what HTTP is given */
  size_t ring_size; /* of each of the two rings of a connection; 0: there is no shared memory */
  size_t total_max; /* bytes of all connections, each counted at its full size */
  int64_t rest_ms;  /* after so long without a message, a connection gives memory back */
  _Atomic size_t total;
};

/* The pool stays as long as there are connections. ring_size: 0, or as ring_size_is_valid says. */
void shm_pool_init(struct shm_pool *pool, size_t ring_size, size_t total_max);

#endif
