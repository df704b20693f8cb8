#ifndef JPEER_NET_WEBSOCKET_WEBSOCKET_H
#define JPEER_NET_WEBSOCKET_WEBSOCKET_H
/*
 * WebSocket as the protocol of a connection (net/connection/protocol.h), from behind the handshake, which is
 * HTTP's. Whoever makes a connection speak it has opened the client before.
 */
#include "net/connection/protocol.h"

extern const struct connection_protocol websocket_protocol;

#endif
