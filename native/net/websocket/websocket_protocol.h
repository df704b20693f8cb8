#ifndef JPEER_NET_WEBSOCKET_WEBSOCKET_PROTOCOL_H
#define JPEER_NET_WEBSOCKET_WEBSOCKET_PROTOCOL_H
/*
 * WebSocket as the protocol of a connection (net/connection/connection_protocol.h), after the handshake, which is
 * handled by HTTP. The client must be open before the connection changes to this protocol.
 */
#include "net/connection/connection_protocol.h"

extern const struct connection_protocol websocket_protocol;

#endif
