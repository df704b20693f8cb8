#ifndef JPEER_CLIENT_SHM_SHM_HANDSHAKE_H
#define JPEER_CLIENT_SHM_SHM_HANDSHAKE_H
/*
 * A client's opening handshake for shared memory (docs/protocol.md, "Shared memory"): an HTTP Upgrade over a
 * unix socket, whose response brings the memory's descriptor. Blocks. One thread.
 */
#include "client/stream.h"
#include "client/transport.h"
#include "ring/region.h"

enum shm_refusal {
  SHM_NOT_REFUSED,
  SHM_UNAVAILABLE, /* the peer has no shared memory now, or this process cannot map it */
  SHM_REFUSED      /* the peer refuses it for another reason */
};

/*
 * Asks over a stream that is connected. JP_CLIENT_OK: the memory is mapped, and the caller unmaps it; the transport has
 * the session's epoch.
 * Otherwise *refusal says whether another transport may do. SHM_NOT_REFUSED: the connection failed, or what
 * came is no such response (JP_CLIENT_REFUSED, JP_CLIENT_PROTOCOL).
 */
enum jp_client_status shm_shake_hands(struct client_stream *stream, const struct client_url *url,
                                      struct text peer_id, int64_t deadline_ns, struct ring_region *region,
                                      struct client_transport *transport, enum shm_refusal *refusal,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* ---- for tests: the parts of it ---- */

/* Descriptors that came with bytes: the first is kept, others are closed. */
struct shm_descriptors {
  int fd; /* owned; -1: none */
  unsigned count;
  bool is_cut; /* there were more than could be taken */
};

/* Receives bytes behind `in`, and descriptors, close-on-exec. JP_CLIENT_CLOSED: the other side has closed. */
enum jp_client_status shm_receive(int socket, struct buffer *in, struct shm_descriptors *descriptors,
                                  struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
