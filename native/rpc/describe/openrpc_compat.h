#ifndef JPEER_RPC_DESCRIBE_OPENRPC_COMPAT_H
#define JPEER_RPC_DESCRIBE_OPENRPC_COMPAT_H
/*
 * Leaves what a peer with --compat pal serves in the parts of the documents (openrpc_parts.json), which say themselves
 * under "compat" what that changes. For openrpc.c alone.
 */
#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* False: no memory. */
bool openrpc_parts_restrict(json_t *parts) JP_MUST_CHECK;

#endif
