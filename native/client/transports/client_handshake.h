#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_HANDSHAKE_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_HANDSHAKE_H
/*
 * The opening handshakes of a client over a connected stream: HTTP Upgrades (RFC 9110, 7.8). They block until
 * the deadline. One thread.
 */
#include "client/transports/client_stream.h"
#include "client/transports/transport.h"
#include "ring/region.h"

enum { WEBSOCKET_KEY_LENGTH = 24, UPGRADE_RESPONSE_MAX = 16 * 1024 };

/*
 * Upgrades to a WebSocket (RFC 6455, 4.1). Sends the options' peer_id and credentials. On success the
 * transport has the session's epoch, and the stream has the bytes that follow the response.
 * JP_CLIENT_REFUSED: the peer answers with another status; the error contains its text, without the token.
 * JP_CLIENT_PROTOCOL: not a valid response. JP_CLIENT_NO_TOKEN.
 */
enum jp_client_status websocket_shake_hands(struct client_stream *stream, const struct client_url *url,
                                            const struct transport_options *options, int64_t deadline_ns,
                                            struct client_transport *transport,
                                            struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/*
 * For tests with a key from RFC 6455: searches the input for the head of the response. *length is the length
 * of the head; 0: the head is incomplete. *epoch is the epoch of the session, borrowed; absent: the peer sent
 * no epoch.
 */
enum jp_client_status websocket_read_response(struct text input, const char *key, size_t *length,
                                              struct text *epoch,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

enum shm_refusal {
  SHM_NOT_REFUSED,
  SHM_UNAVAILABLE, /* the peer has no shared memory now, or this process cannot map it */
  SHM_REFUSED      /* the peer refuses it for another reason */
};

/*
 * Upgrades to shared memory (docs/shared-memory.md), whose descriptor arrives with the response. On success
 * the memory is mapped (the caller unmaps it) and the transport has the session's epoch. Otherwise *refusal
 * says whether another transport may work; SHM_NOT_REFUSED: the connection failed (JP_CLIENT_REFUSED), the
 * response is not valid (JP_CLIENT_PROTOCOL), or there is no token (JP_CLIENT_NO_TOKEN).
 */
enum jp_client_status shm_shake_hands(struct client_stream *stream, const struct client_url *url,
                                      const struct transport_options *options, int64_t deadline_ns,
                                      struct ring_region *region, struct client_transport *transport,
                                      enum shm_refusal *refusal,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
