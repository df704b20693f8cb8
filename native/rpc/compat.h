#ifndef JPEER_RPC_COMPAT_H
#define JPEER_RPC_COMPAT_H
/*
 * The changes of --compat pal to a request or its outcome (docs/compat.md); json_outcome.c writes the values
 * in the form of --compat pal. Pure, any thread.
 */
#include "op/operation.h"
#include "op/outcome.h"

/* True if the operation's type names one of the withheld classes or an array of such a class, even if the
 * type is malformed otherwise. *class_name: the class, borrowed from the type. */
bool rpc_compat_withholds(const struct operation *operation, struct text *class_name);

/* Gives an OUTCOME_ERROR the words of the Java implementation: a denial gets the throwable of that
 * implementation, and a put with a value that does not convert gets Java's exception. */
void rpc_compat_reword(struct outcome *outcome);

#endif
