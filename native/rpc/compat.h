#ifndef JPEER_RPC_COMPAT_H
#define JPEER_RPC_COMPAT_H
/*
 * What --compat pal makes of a request or of its outcome (docs/compat.md). json_outcome.c writes the
 * values of that form. Pure, any thread.
 */
#include "op/operation.h"
#include "op/outcome.h"

/* True where the operation's type names one of these classes, or arrays of it, whatever else is wrong with
 * it. *class_name: the class, borrowed from the type. */
bool rpc_compat_withholds(const struct operation *operation, struct text *class_name);

/* Puts an OUTCOME_ERROR into the terms of the Java implementation: a denial has its throwable, and the value
 * of a put that does not convert is Java's exception. */
void rpc_compat_reword(struct outcome *outcome);

#endif
