#ifndef JPEER_RPC_DESCRIBE_OPENRPC_SIMPLIFY_H
#define JPEER_RPC_DESCRIBE_OPENRPC_SIMPLIFY_H
/*
 * Rewrites the schemas of openrpc_parts.json for documents whose names are identifiers, which generators of typed
 * clients read. They mean the same (docs/descriptions.md, "Generators"). For openrpc.c, at start.
 */
#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * Only components that are objects with properties, none of them `class`, stay; others are written in place of their references. A schema has
 * one type: a list of types becomes an anyOf. An optional property has the default null. False where memory is short;
 * parts is then half changed.
 */
bool openrpc_parts_simplify(json_t *parts) JP_MUST_CHECK;

#endif
