#ifndef JPEER_CLIENT_CLIENT_OPEN_H
#define JPEER_CLIENT_CLIENT_OPEN_H
/* Opens clients for the library itself. Any thread. */
#include "jpeer/client.h"

#include <stdbool.h>

/* The same as jp_client_open. memory_is_optional: if the peer of a shm: URL offers no shared memory, the
 * client connects by WebSocket over the same socket. */
enum jp_client_status client_open(const char *url, const struct jp_client_config *config,
                                  bool memory_is_optional, struct jp_client **client,
                                  struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
