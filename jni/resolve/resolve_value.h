#ifndef JPEER_JNI_RESOLVE_RESOLVE_VALUE_H
#define JPEER_JNI_RESOLVE_RESOLVE_VALUE_H
/* A value that becomes what a type holds, by the rules of a put. On the thread's own thread. */
#include "jni/members.h"
#include "jni/types/element_types.h"

/*
 * Converts the one argument of the request's operation, which is an OP_PUT, and asks the guard about the types that it
 * names. elements: what is declared of a collection's elements; NULL: nothing. beside: a class whose loader is asked
 * first; may be NULL. An object is a local reference of the request's frame. False leaves an OUTCOME_ERROR.
 */
bool resolve_value(const struct jvm_request *request, struct jvm_type *type,
                   const struct element_types *elements, const struct jvm_class *beside, jvalue *out,
                   struct outcome *outcome);

#endif
