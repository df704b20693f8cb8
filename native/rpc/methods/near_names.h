#ifndef JPEER_RPC_METHODS_NEAR_NAMES_H
#define JPEER_RPC_METHODS_NEAR_NAMES_H
/*
 * What may have been meant by a request that no overload of a member takes (docs/protocol.md, "Errors"). The methods are
 * those that the caller may use. Only failures come here. Any thread.
 */
#include "op/outcome.h"
#include "rpc/methods/java_methods.h"
#include "json/reader.h"

/* The hint for an error about the names of params, an object: ` ("lst": did you mean "list"?)`, in the arena. "" where no
 * name is near to that of a parameter which is not given. */
struct text java_methods_near_param(const struct java_method *methods, size_t count, struct json_value params,
                                    struct arena *arena);

/* Suggests the full names of overloads that are near to a name whose suffix is none of theirs. */
void java_methods_suggest_overloads(const struct java_method *methods, size_t count, struct text written,
                                    struct text suffix, struct arena *arena, struct outcome *outcome);

#endif
