#ifndef JPEER_NET_SHM_SHM_PROTOCOL_H
#define JPEER_NET_SHM_SHM_PROTOCOL_H
/*
 * Shared memory as the protocol of a connection (net/connection/connection_protocol.h): JSON messages are in
 * two rings (ring/ring.h), and notifications are sent by the socket, which has to be a Unix socket. The
 * protocol begins with an HTTP Upgrade (docs/shared-memory.md).
 */
#include "net/connection/connection_protocol.h"

#include <stdatomic.h>

/* The shared memory of all connections of a server. Any thread. */
struct shm_pool {
  struct connection_upgrade upgrade; /* the first member; HTTP uses it to begin this protocol */
  size_t ring_size;     /* of each of the two rings of a connection; 0: shared memory is switched off */
  size_t total_max;     /* limit of `total` */
  int64_t idle_ms;      /* a connection that gets no message for this time releases memory */
  _Atomic size_t total; /* bytes of the regions of all connections, each counted at its full size */
};

/* The pool must outlive all connections. ring_size: 0, or valid for ring_size_is_valid. */
void shm_pool_init(struct shm_pool *pool, size_t ring_size, size_t total_max);

#endif
