#ifndef JPEER_JNI_THREAD_NAMES_H
#define JPEER_JNI_THREAD_NAMES_H
/*
 * Names that the peer gives its own Java threads for a while: what Thread.getName and thread dumps show. Thread.setName
 * takes the monitor of the thread, which any code can hold, so the field itself is compared and set: a name that
 * Java code gives at the same time is never lost.
 */
#include "jni/jvm.h"

/* All zero: none. */
struct jvm_given_name {
  void *name;   /* global references: what was given, */
  void *before; /* and what the thread had; NULL with it */
};

/*
 * Gives `thread` the name, where its name is `own` (ASCII); else, and where the JVM lacks memory or what this needs,
 * *given stays empty. by: of the calling thread. `thread` is of another thread, which
 * must not end during the call.
 */
void jvm_thread_give_name(struct jvm_thread *by, const struct jvm_thread *thread, const char *own,
                          const char *name, struct jvm_given_name *given);
/* The thread has again the name that it had, unless Java code has given it another one. On that thread, without an
 * exception pending; empties *given. */
void jvm_thread_take_name_back(struct jvm_thread *thread, struct jvm_given_name *given);

#endif
