#ifndef JPEER_JNI_CONVERT_JUDGEMENT_H
#define JPEER_JNI_CONVERT_JUDGEMENT_H
/*
 * What the judge says about a member of an object, with the supertypes of the object's class (docs/policy.md, "A supertype
 * in place of the class"), and about the members that an operation runs without naming them, as jpeer.fetch runs `next`.
 * On the thread's own thread. A function with `denied` leaves an OUTCOME_ERROR there, unless it returns JP_OK or true.
 */
#include "jni/members.h"
#include "jni/types/classes.h"
#include "jni/types/selection.h"
#include "judge/judge.h"

/* As judge_member. lineage: of an instance method that an object is asked to run; NULL: no supertype is asked for. */
enum jp_status jvm_judge_member(const struct jvm_request *request, enum op_kind operation,
                                const struct judged_member *member, const struct jvm_lineage *lineage,
                                struct outcome *denied) JP_MUST_CHECK;

/* As judge_allows, with such a lineage. */
bool jvm_judge_allows(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                      const struct jvm_lineage *lineage);

/* ---- members that no operation names ---- */

/* A method, as class files write it. */
struct named_method {
  const char *name;
  const char *descriptor;
};

/* Asks the judge about a call of the method that `declaring` has, on an object of the class, by that class itself. */
bool jvm_judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                    struct named_method named, struct outcome *denied);

/* Asks the judge about a read of elements of an array of the class. */
bool jvm_judge_elements(const struct jvm_request *request, const struct jvm_class *class,
                        struct outcome *denied);

/* Asks the judge about filling an object of the class `runtime`: a collection (is_list), which is filled by its add, or a
 * map, by its put. named: the class that the caller has named. */
bool jvm_judge_filling(const struct jvm_request *request, struct jvm_class *named, struct jvm_class *runtime,
                       bool is_list, struct outcome *denied);

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
 * the thread while the judge's stamp is the same. Writes no line to the log, and raises nothing.
 */
bool jvm_judge_reading(const struct jvm_request *request, struct jvm_class *class,
                       enum judged_reading reading);

#endif
