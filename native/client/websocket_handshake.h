#ifndef JPEER_CLIENT_WEBSOCKET_HANDSHAKE_H
#define JPEER_CLIENT_WEBSOCKET_HANDSHAKE_H
/* A client's opening handshake (RFC 6455, 4.1). No sockets here. Any thread. */
#include "client/transport.h"

enum { WEBSOCKET_KEY_LENGTH = 24 };

/* Makes a key, 16 random bytes as base64, NUL-terminated. False: no memory. */
bool websocket_make_key(char key[WEBSOCKET_KEY_LENGTH + 1]);
/* peer_id absent: none. */
void websocket_write_request(const struct client_url *url, struct text peer_id, const char *key,
                             struct buffer *out);

/*
 * Looks for the head of the response in what has come. *length is that of the head; 0: it is not whole. *epoch is the
 * session's, borrowed; absent: the peer tells none.
 * JP_CLIENT_REFUSED: the peer answers with another status, and error has what it said. JP_CLIENT_PROTOCOL:
 * it is no such response.
 */
enum jp_client_status websocket_read_response(struct text came, const char *key, size_t *length,
                                              struct text *epoch,
                                              struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
