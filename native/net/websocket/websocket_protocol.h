#ifndef JPEER_NET_WEBSOCKET_WEBSOCKET_PROTOCOL_H
#define JPEER_NET_WEBSOCKET_WEBSOCKET_PROTOCOL_H
/*
 * WebSocket as the protocol of a connection (net/connection/connection_protocol.h), after the handshake, which HTTP
 * reads. The client must be open before the connection speaks it.
 */
#include "net/connection/connection_protocol.h"

extern const struct connection_protocol websocket_protocol;

#endif
