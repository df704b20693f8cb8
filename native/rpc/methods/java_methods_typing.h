#ifndef JPEER_RPC_METHODS_JAVA_METHODS_TYPING_H
#define JPEER_RPC_METHODS_JAVA_METHODS_TYPING_H
/*
 * Applies a parameter's generic signature to the elements of lists and maps: a bare 5 in a List<Long> becomes
 * a Long, a text in a Set<Color> a Color. Pure; any thread.
 */
#include "base/arena.h"
#include "base/status.h"
#include "op/value.h"

/* Declares types for elements that have none, at every level. type is a parameter's signature or descriptor.
 * False where memory is short. */
bool java_value_type_elements(struct text type, struct arena *arena, struct op_value *value) JP_MUST_CHECK;

#endif
