#ifndef JPEER_JNI_LOOK_H
#define JPEER_JNI_LOOK_H
/* What there is to see of an object of the session, or of a value (docs/protocol.md, "Looking"). */
#include "jni/members.h"
#include "op/look.h"

/*
 * Runs the Java part of an OP_DESCRIBE on the thread's own thread, between jvm_request_begin and jvm_request_end. The
 * guard is asked about toString and size, which are left out where it denies them or where they throw; what it says of
 * the members is for the caller to ask. False leaves an OUTCOME_ERROR in *outcome.
 */
bool jvm_look(const struct jvm_request *request, struct op_look *look, struct outcome *outcome) JP_MUST_CHECK;

#endif
