#ifndef JPEER_CLIENT_ZEROMQ_ZEROMQ_ENDPOINT_H
#define JPEER_CLIENT_ZEROMQ_ZEROMQ_ENDPOINT_H
/* Where libzmq is to connect to. Any thread. */
#include "client/transport.h"

#include <stdint.h>

enum { ZEROMQ_ENDPOINT_MAX = 256 };

/*
 * The URL as libzmq takes it: a numeric address, or a path. It is connected to once, and closed again:
 * libzmq tries for the first address of a name alone, and does not say why it fails. JP_CLIENT_REFUSED: the
 * text has the reason, and the URL.
 */
enum jp_client_status zeromq_endpoint_find(const struct client_url *url, int64_t deadline_ns,
                                           char endpoint[ZEROMQ_ENDPOINT_MAX],
                                           struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
