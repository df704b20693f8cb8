#ifndef JPEER_JNI_LOOK_H
#define JPEER_JNI_LOOK_H
/* What there is to see of an object of the session, of a value (docs/metadata.md, "Looking"), or of a class. */
#include "jni/members.h"
#include "op/look.h"

/*
 * Runs the Java part of an OP_DESCRIBE on the thread's own thread, between jvm_request_begin and jvm_request_end. The
 * judge is asked about toString and size, which are left out where it denies them or where they throw, and which
 * methods are open by a supertype of the object; what it says of the members otherwise is for the caller to ask. False
 * leaves an OUTCOME_ERROR in *outcome.
 */
bool jvm_look(const struct jvm_request *request, struct op_look *look, struct outcome *outcome) JP_MUST_CHECK;

/*
 * Finds the class that an operation names, as jvm_resolve does, and its members; look->only_member says which, and
 * look->is_of_class what else. The class is not initialised. On the thread's own thread, after the caller has asked the
 * judge about the names. What it finds stays valid until jvm_request_end. False leaves an OUTCOME_ERROR in *outcome, or
 * nothing where look->only_ancestors is true and the class is none of the instance's.
 */
bool jvm_look_class(const struct jvm_request *request, struct op_look *look,
                    struct outcome *outcome) JP_MUST_CHECK;

#endif
