#ifndef JPEER_TESTS_EXAMPLES_H
#define JPEER_TESTS_EXAMPLES_H
/*
 * The service that the specifications' examples call (subtract, sum, get_data and so on), served through
 * native/jsonrpc as the peer's own is, with no JVM: what is between a socket and a handler is the real thing.
 * Any thread.
 */
#include "rpc/service.h"

/* As rpc_service.serve. only_safe: it came by HTTP GET. */
enum rpc_served examples_serve(struct text message, bool only_safe, struct buffer *out);

#endif
