#ifndef JPEER_RPC_DESCRIBE_OPENRPC_PARTS_H
#define JPEER_RPC_DESCRIBE_OPENRPC_PARTS_H
/* openrpc_parts.json, carried in the library: what the table of procedures does not say of them, which is the
 * schemas of their params and results, and examples. Only for openrpc.c and its tests. */
#include <stddef.h>

extern const char openrpc_parts[];
extern const size_t openrpc_parts_length;

#endif
