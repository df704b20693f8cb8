#ifndef JPEER_NET_HTTP_HTTP_PROTOCOL_H
#define JPEER_NET_HTTP_HTTP_PROTOCOL_H
/*
 * HTTP as the protocol of a connection (net/connection/connection_protocol.h): reads requests, has them served, and
 * writes the responses. After a handshake the protocol of the connection is WebSocket or shared memory.
 */
#include "net/connection/connection_protocol.h"
#include "net/http/http_route.h"

struct http_protocol {
  struct connection_protocol protocol; /* first: the protocol of a connection that speaks HTTP */
  struct http_site site;
  const struct connection_protocol *websocket;
  struct connection_upgrade *shm;
};

/* websocket, shm, and the texts and origins of site are borrowed, and must outlive all connections. shm: NULL if the
 * site's clients cannot use shared memory. */
void http_protocol_init(struct http_protocol *http, const struct http_site *site,
                        const struct connection_protocol *websocket, struct connection_upgrade *shm);

#endif
