#ifndef JPEER_JNI_TYPES_SELECTION_H
#define JPEER_JNI_TYPES_SELECTION_H
/*
 * Which method runs where an instance method is called on an object of a class (JVMS 5.4.5, 5.4.6), and
 * which other classes declare the same member: what a policy has to judge beside the class that was named.
 * Found in the tables of members (jni/types/member_table.h), so that nothing is initialised. On the
 * thread's own thread.
 */
#include "base/arena.h"
#include "jni/members.h"
#include "jni/types/member_table.h"

/*
 * Fills *holders, in the arena, with the class whose method runs, the classes that a bridge method hands the
 * call on to, and every class or interface of runtime's that is below the method's owner and declares the
 * same member; each once, the owner itself left out. The method is an instance method, and runtime (of an
 * object that is at hand) has its owner. False: with an exception pending where Java threw (a class that
 * cannot be linked), without one where memory is short.
 */
bool selection_find(struct jvm_thread *thread, struct arena *arena, struct jvm_method *method,
                    struct jvm_class *runtime, struct jvm_holder **holders, size_t *count);

#endif
