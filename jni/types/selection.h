#ifndef JPEER_JNI_TYPES_SELECTION_H
#define JPEER_JNI_TYPES_SELECTION_H
/*
 * Selection: which method runs when an instance method is called on an object of a class (JVMS 5.4.5, 5.4.6),
 * and which other classes declare the same member. A policy judges these together with the class that the
 * caller named. The tables of members (jni/types/member_table.h) have the answer, so no class is initialised.
 * Call these functions on the thread's own thread.
 */
#include "base/arena.h"
#include "jni/members.h"
#include "jni/types/member_table.h"
#include "judge/judge.h"

/*
 * Fills *holders, in the arena, with the class whose method runs, the classes whose methods a bridge may
 * call, and every class and interface between `runtime` and the method's owner that redeclares the member.
 * Each class is in the list once; the owner is not. The method must be an instance method. `runtime` must be
 * the class of an object that the caller holds, and the owner one of its supertypes. False: an exception is
 * pending (a class cannot be linked), or no exception is pending (memory is short).
 */
bool selection_find(struct jvm_thread *thread, struct arena *arena, struct jvm_method *method,
                    struct jvm_class *runtime, struct judged_holder **holders, size_t *count);

/* An instance method, the class that the caller named, and the object's class. */
struct jvm_lineage {
  struct jvm_thread *thread;
  struct arena *arena;
  struct jvm_method *method;
  struct jvm_class *named;   /* the class that the caller names; it need not be one of the object's */
  struct jvm_class *runtime; /* the object's class */
};

/*
 * Finds the nearest supertype of the object that the judge allows, that declares the member's method publicly
 * with the same parameter types, and whose method runs the same code for the object. *found is the member
 * with this supertype as its named class; it is valid as long as the lineage's arena, and its verdicts are
 * NULL. False: the class has no supertype with this name, the member is not a public instance method, the
 * object is not of the named class, or a rule or a preset denies the method on a class of the lineage
 * (judge_spares).
 */
bool selection_find_supertype(const struct jvm_lineage *lineage, const struct judge *judge,
                              const struct judged_member *member, struct judged_member *found);

/* True if the policy names the member's method idempotent on a class or interface of the object that declares it
 * publicly with the same parameter types, and whose method runs the same code for the object. */
bool selection_is_idempotent(const struct jvm_lineage *lineage, const struct judge *judge,
                             const struct judged_member *member);

#endif
