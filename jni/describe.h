#ifndef JPEER_JNI_DESCRIBE_H
#define JPEER_JNI_DESCRIBE_H
/* Describes an object of the session, a value, or a class (docs/metadata.md, "Looking"). */
#include "jni/members.h"
#include "op/description.h"

/*
 * Runs the Java part of an OP_DESCRIBE on the thread's own thread, between jvm_request_begin and
 * jvm_request_end. Asks the judge about toString and size; their results are left out if the judge denies the
 * call or the method throws. Asks also which methods only a supertype of the object's class allows. The
 * caller asks about all other members. False leaves an OUTCOME_ERROR in *outcome.
 */
bool jvm_describe(const struct jvm_request *request, struct op_description *description,
                  struct outcome *outcome) JP_MUST_CHECK;

/*
 * Finds the class that an operation names, as jvm_resolve does, and its members. description->only_member
 * selects members, and description->is_of_class what else is described. The class is not initialised. On the
 * thread's own thread, after the caller has asked the judge about the names. The result is valid until
 * jvm_request_end. False leaves an OUTCOME_ERROR in *outcome, or nothing if description->only_ancestors is
 * true and the class is not a supertype of the instance's class.
 */
bool jvm_describe_class(const struct jvm_request *request, struct op_description *description,
                        struct outcome *outcome) JP_MUST_CHECK;

#endif
