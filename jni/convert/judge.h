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
bool judge_elements(const struct jvm_request *request, const struct jvm_class *class, struct outcome *denied);

/* What a result by value is read with. */
enum judged_reading {
  READING_COLLECTION, /* iterator, which jpeer.fetch calls, and size and toArray, which run */
  READING_ITERATOR,   /* hasNext and next */
  READING_MAP,        /* entrySet */
  READING_ENTRY,      /* getKey and getValue */
  READING_ARRAY,      /* elements */
  READING_COLLECTION_SIZE,
  READING_MAP_SIZE,
  READINGS
};

/*
 * Whether the answer may have what these members tell of an object of the class, which has them. Of a class of the JDK's
 * own they need no rule, and are denied where a rule or a preset names them (docs/policy.md, "Results by value"). Kept for
 * the thread while the guard's stamp is the same. Writes no line to the log, and raises nothing.
 */
bool judge_reading(const struct jvm_request *request, struct jvm_class *class, enum judged_reading reading);

#endif
