#ifndef JPEER_CLIENT_TRANSPORTS_H
#define JPEER_CLIENT_TRANSPORTS_H
/* The kinds of transports that there are. The table in url.c says which URL each is for. */
#include "client/transport.h"

extern const struct transport_kind transport_websocket; /* websocket.c */
extern const struct transport_kind transport_http;      /* http.c */
extern const struct transport_kind transport_zeromq;    /* zeromq/zeromq.c; with JPEER_CLIENT_ZEROMQ */
extern const struct transport_kind transport_shm;       /* shm/shm.c */

#endif
