#ifndef JPEER_RPC_MEMBERS_JAVA_METHODS_TYPING_H
#define JPEER_RPC_MEMBERS_JAVA_METHODS_TYPING_H
/*
 * What a generic signature says about the elements of a list or map: a bare 5 in a List<Long> is a Long, a
 * text in a Set<Color> a Color. Pure; any thread.
 */
#include "base/arena.h"
#include "base/status.h"
#include "op/value.h"

/* Declares the types of the elements that declare none, at every level. type is a parameter's signature or
 * descriptor. False where memory is short. */
bool java_value_type_elements(struct text type, struct arena *arena, struct op_value *value) JP_MUST_CHECK;

#endif
