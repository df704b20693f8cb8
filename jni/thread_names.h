#ifndef JPEER_JNI_THREAD_NAMES_H
#define JPEER_JNI_THREAD_NAMES_H
/*
 * Names that the peer gives its own Java threads for a while, for Thread.getName and thread dumps.
 * Thread.setName would need the monitor of the thread, which any code can hold for any time. For this reason
 * the peer sets the field of the name itself. It compares and sets the field in one step, so that a name that
 * Java code sets at the same time is never lost.
 */
#include "jni/jvm.h"

/* All zero: none. */
struct jvm_given_name {
  void *name;   /* global: the name that was given */
  void *before; /* global: the thread's name before; NULL if `name` is */
};

/*
 * Gives `thread` the name, if its present name is `own` (ASCII). Otherwise, or if the JVM lacks memory or the
 * field, *given remains empty. by: the calling thread. `thread` belongs to another thread, and that thread
 * must not end during the call.
 */
void jvm_thread_give_name(struct jvm_thread *by, const struct jvm_thread *thread, const char *own,
                          const char *name, struct jvm_given_name *given);
/* Restores the thread's name, unless Java code has set another name. On that thread, with no exception
 * pending; empties *given. */
void jvm_thread_restore_name(struct jvm_thread *thread, struct jvm_given_name *given);

#endif
