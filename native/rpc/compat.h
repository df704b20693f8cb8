#ifndef JPEER_RPC_COMPAT_H
#define JPEER_RPC_COMPAT_H
/*
 * How --compat pal changes a request or its outcome (docs/compat.md). json_outcome.c writes the values of
 * that form. Pure, any thread.
 */
#include "op/operation.h"
#include "op/outcome.h"

/* True if the operation's type names one of the withheld classes or an array of such a class, even if the
 * type is malformed otherwise. *class_name: the class, borrowed from the type. */
bool rpc_compat_withholds(const struct operation *operation, struct text *class_name);

/* Rewords an OUTCOME_ERROR to the words of the Java implementation: a denial has its throwable, and the value
 * of a put that does not convert is Java's exception. */
void rpc_compat_reword(struct outcome *outcome);

#endif
