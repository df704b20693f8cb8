#ifndef JPEER_RPC_DESCRIBE_OPENRPC_PARTS_H
#define JPEER_RPC_DESCRIBE_OPENRPC_PARTS_H
/* openrpc_parts.json, embedded in the library: the schemas of params and results, and the examples. The table
 * of procedures has neither. Used only by openrpc.c and its tests. */
#include <stddef.h>

extern const char openrpc_parts[];
extern const size_t openrpc_parts_length;

#endif
