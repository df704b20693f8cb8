#ifndef JPEER_CLIENT_CLIENT_OPEN_H
#define JPEER_CLIENT_CLIENT_OPEN_H
/* Opens clients for the library itself. Any thread. */
#include "jpeer/client.h"

#include <stdbool.h>

/* Copies the configuration of a program. The program may have been built with an earlier version of
 * jpeer/client.h, in which the struct was shorter. JP_CLIENT_INVALID: no version has a struct of this size.
 * JP_CLIENT_UNSUPPORTED: a later version has it. */
enum jp_client_status client_copy_config(const struct jp_client_config *given,
                                         struct jp_client_config *config,
                                         struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

/* As jp_client_open. memory_is_optional: if the peer of a shm: URL offers no shared memory, for any reason,
 * the connection is a WebSocket over the same socket. */
enum jp_client_status client_open(const char *url, const struct jp_client_config *config,
                                  bool memory_is_optional, struct jp_client **client,
                                  struct jp_client_error *error) JP_CLIENT_MUST_CHECK;

#endif
