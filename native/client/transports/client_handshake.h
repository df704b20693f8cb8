#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_HANDSHAKE_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_HANDSHAKE_H
/*
 * The opening handshakes of a client over a stream that is connected: HTTP Upgrades (RFC 9110, 7.8). They block until the
 * deadline. One thread.
 */
#include "client/transports/client_stream.h"
#include "client/transports/transport.h"
#include "ring/region.h"

enum { WEBSOCKET_KEY_LENGTH = 24, UPGRADE_RESPONSE_MAX = 16 * 1024 };

/*
 * To a WebSocket (RFC 6455, 4.1). peer_id absent: none. JP_CLIENT_OK: the transport has the session's epoch, and the stream
 * what came behind the response. JP_CLIENT_REFUSED: the peer answers with another status, and error has what it said.
 * JP_CLIENT_PROTOCOL: what came is no such response.
 */
enum jp_client_status websocket_shake_hands(struct client_stream *stream, const struct client_url *url,
                                            struct text peer_id, int64_t deadline_ns,
                                            struct client_transport *transport,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * For tests, whose key is one of RFC 6455: looks for the head of the response in what has come. *length is that of the head;
 * 0: it is not whole. *epoch is the session's, borrowed; absent: the peer tells none.
 */
enum jp_client_status websocket_read_response(struct text came, const char *key, size_t *length,
                                              struct text *epoch,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

enum shm_refusal {
  SHM_NOT_REFUSED,
  SHM_UNAVAILABLE, /* the peer has no shared memory now, or this process cannot map it */
  SHM_REFUSED      /* the peer refuses it for another reason */
};

/*
 * To shared memory (docs/shared-memory.md), whose descriptor comes with the response. JP_CLIENT_OK: the memory is
 * mapped, and the caller unmaps it; the transport has the session's epoch.
 * Otherwise *refusal says whether another transport may do. SHM_NOT_REFUSED: the connection failed, or what
 * came is no such response (JP_CLIENT_REFUSED, JP_CLIENT_PROTOCOL).
 */
enum jp_client_status shm_shake_hands(struct client_stream *stream, const struct client_url *url,
                                      struct text peer_id, int64_t deadline_ns, struct ring_region *region,
                                      struct client_transport *transport, enum shm_refusal *refusal,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
