#ifndef JPEER_JNI_CONVERT_JUDGEMENT_H
#define JPEER_JNI_CONVERT_JUDGEMENT_H
/*
 * Asks the judge about a member of an object, with the supertypes of the object's class (docs/policy.md, "A
 * supertype in place of the class"), and about the members that an operation runs without naming them, as
 * jpeer.fetch runs `next`. On the thread's own thread. A function with `denied` sets it to an OUTCOME_ERROR
 * unless it returns JP_OK or true.
 */
#include "jni/members.h"
#include "jni/types/classes.h"
#include "jni/types/selection.h"
#include "judge/judge.h"

/* The same as judge_member, with a lineage. lineage: for an instance method that is called on an object;
 * NULL: supertypes do not count. */
enum jp_status jvm_judge_member(const struct jvm_request *request, enum op_kind operation,
                                const struct judged_member *member, const struct jvm_lineage *lineage,
                                struct outcome *denied) JP_MUST_CHECK;

/* The same as judge_allows, with a lineage. */
bool jvm_judge_allows(const struct judge *judge, enum op_kind operation, const struct judged_member *member,
                      const struct jvm_lineage *lineage);

/* For an operation that is limited to idempotent members: JP_OK if the policy names the member idempotent, on
 * its named class or on a class or interface from which the same code would be called. lineage: as in
 * jvm_judge_member. */
enum jp_status jvm_judge_idempotent(const struct jvm_request *request, const struct judged_member *member,
                                    const struct jvm_lineage *lineage, struct outcome *denied) JP_MUST_CHECK;
/* The same for a field or an element that is written: it is named without a wildcard. */
enum jp_status jvm_judge_idempotent_write(const struct jvm_request *request,
                                          const struct judged_member *member,
                                          struct outcome *denied) JP_MUST_CHECK;

/* ---- members that are not named by an operation ---- */

/* The name and descriptor of a method or field, as in class files. */
struct named_method {
  const char *name;
  const char *descriptor;
};

/* Asks the judge about calling the method, declared by `declaring`, on an object of the class. The class is
 * the named class. An operation that is limited to idempotent members needs a member that is named so. */
bool jvm_judge_call(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                    struct named_method named, struct outcome *denied);

/* The same for reading the field of this name, which `declaring` declares. */
bool jvm_judge_field(const struct jvm_request *request, struct jvm_class *class, jclass declaring,
                     struct named_method named, struct outcome *denied);

/* Asks the judge about reading elements of an array of the class. */
bool jvm_judge_elements(const struct jvm_request *request, const struct jvm_class *class,
                        struct outcome *denied);

/* Asks the judge about filling an object of the class `runtime`: a collection (is_list) by its add, or a map
 * by its put. named: the class that the caller has named. */
bool jvm_judge_filling(const struct jvm_request *request, struct jvm_class *named, struct jvm_class *runtime,
                       bool is_list, struct outcome *denied);

/* The members that read a result by value. */
enum judged_reading {
  READING_COLLECTION, /* iterator (jpeer.fetch calls it), and size and toArray (they run) */
  READING_ITERATOR,   /* hasNext and next */
  READING_MAP,        /* entrySet */
  READING_ENTRY,      /* getKey and getValue */
  READING_ARRAY,      /* elements */
  READING_COLLECTION_SIZE,
  READING_MAP_SIZE,
  READINGS
};

/*
 * True if the answer may contain what these members return for an object of the class. The class must have
 * these members. For the JDK's own classes they need no rule, but a rule or preset may deny them
 * (docs/policy.md, "Results by value"). The thread caches the verdict while the judge's stamp is the same.
 * Writes no line to the log, and raises nothing.
 */
bool jvm_judge_reading(const struct jvm_request *request, struct jvm_class *class,
                       enum judged_reading reading);

#endif
