#ifndef JPEER_JNI_RESOLVE_NAMED_CLASS_H
#define JPEER_JNI_RESOLVE_NAMED_CLASS_H
/* The class that an operation names, without a member of it. */
#include "jni/members.h"

struct jvm_class;

/*
 * Finds the class as jvm_resolve does: by the loader that the operation names, above the class of its instance, or
 * wherever names are looked for; with only_ancestors nowhere but above the class of its instance. The caller has asked
 * the guard about the names. The class stays loaded until jvm_request_end. *receiver_class is the instance's; NULL:
 * there is none. NULL leaves an OUTCOME_ERROR in *outcome, or nothing where only_ancestors are looked at.
 */
struct jvm_class *resolve_named_class(const struct jvm_request *request, bool only_ancestors,
                                      struct jvm_class **receiver_class, struct outcome *outcome);

#endif
