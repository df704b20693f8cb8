#ifndef JPEER_CLIENT_TRANSPORTS_CLIENT_TLS_H
#define JPEER_CLIENT_TRANSPORTS_CLIENT_TLS_H
/*
 * The client's side of TLS over a connected socket that does not block: TLS 1.3, or 1.2 with ephemeral keys and
 * authenticated encryption. The peer's certificate is always verified, for the host of the URL. No renegotiation,
 * compression or early data.
 *
 * One owner, one thread at a time. No function blocks or raises a signal.
 */
#include "client/transports/client_credentials.h"
#include "client/transports/client_url.h"

struct client_tls;

/* The event that must happen before the function that has set this value can continue. */
enum tls_wait {
  TLS_NEEDS_NOTHING,
  TLS_NEEDS_INPUT, /* until the socket is readable */
  TLS_NEEDS_ROOM   /* until the socket is writable */
};

/* Reads the files of the credentials. The socket remains the caller's, and must outlive *tls. JP_CLIENT_INVALID: a file
 * cannot be used. */
enum jp_client_status client_tls_create(int fd, const struct client_url *url,
                                        const struct client_credentials *credentials, struct client_tls **tls,
                                        struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Also sends close_notify, if the socket accepts it at once. NULL is fine. */
void client_tls_destroy(struct client_tls *tls);

/* Does the next part of the handshake. JP_CLIENT_OK with TLS_NEEDS_NOTHING: the handshake is complete, and
 * the certificate was verified. JP_CLIENT_REFUSED: the error says which check has failed, or why the peer has
 * refused. */
enum jp_client_status client_tls_shake_hands(struct client_tls *tls, enum tls_wait *wait,
                                             struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/*
 * Writes one record. *count is the number of bytes that were sent. If it is 0, *wait says what the call waits
 * for, and the next call must begin with the same bytes. JP_CLIENT_CLOSED, JP_CLIENT_REFUSED (the peer's
 * alert) or JP_CLIENT_PROTOCOL.
 */
enum jp_client_status client_tls_write(struct client_tls *tls, const char *bytes, size_t size, size_t *count,
                                       enum tls_wait *wait,
                                       struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* Reads at most size bytes. *count 0: *wait says what the call waits for. JP_CLIENT_CLOSED: the peer has closed the connection; client_tls_is_cut
 * says whether without close_notify. Otherwise as client_tls_write. */
enum jp_client_status client_tls_read(struct client_tls *tls, char *bytes, size_t size, size_t *count,
                                      enum tls_wait *wait,
                                      struct jp_client_error *error) JP_CLIENT_MUST_CHECK;
/* True if there may be bytes to read although the socket shows none. */
bool client_tls_has_input(const struct client_tls *tls);
/* True if the connection has ended without the peer's close_notify, so that the peer itself may not have
 * ended it. */
bool client_tls_is_cut(const struct client_tls *tls);

#endif
