#ifndef JPEER_JNI_CONVERT_JUDGE_H
#define JPEER_JNI_CONVERT_JUDGE_H
/*
 * For operations that stand for calls of members which no caller has named, as jpeer.fetch stands for `next`: what the
 * guard says about such a call. On the thread's own thread.
 */
#include "jni/members.h"
#include "jni/types/classes.h"

struct judged_member {
  const char *name;
  const char *descriptor;
};

/* Asks the guard about a call of the member that `declaring` has, on an object of the class, by that class itself.
 * False leaves an OUTCOME_ERROR in *denied. */
bool judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                struct judged_member member, struct outcome *denied);

/* Asks it about a read of elements of an array of the class. */
bool judge_range(const struct jvm_request *request, const struct jvm_class *class, size_t from, size_t count,
                 struct outcome *denied);

#endif
