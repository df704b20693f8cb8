#ifndef JPEER_JNI_RUNTIME_THREAD_GROUPS_H
#define JPEER_JNI_RUNTIME_THREAD_GROUPS_H
/*
 * Keeps the peer's threads out of the lists of Java's thread groups.
 *
 * In JDK 17 and 18 a ThreadGroup lists its threads and the groups below it. suspend, stop, interrupt and
 * enumerate walk these lists, getParent leads from any group to the root, and starting a thread takes its
 * group's monitor, which any code can hold. On these versions each thread of the peer is made in a group of
 * its own without a parent, so that no walk finds it. While the thread runs, getThreadGroup() returns the
 * application's group ("main"), where threads that called code makes belong. Java has no public way to do
 * either; a private constructor and a private field of the JDK do it. Where they are missing, the thread is
 * in "main".
 *
 * From JDK 19 on, groups list nothing, and suspend and stop only throw. The threads are in "main", and
 * PeerThread.interrupt refuses the interrupt of a group.
 */
#include "jni/runtime/machine.h"

/* Fills the fields of jvm. Call it on the application's thread "main". JP_JAVA or JP_NO_MEMORY end the
 * start. */
enum jp_status jvm_thread_groups_open(struct jvm *jvm, struct jvm_thread *thread,
                                      struct jp_error *error) JP_MUST_CHECK;

/* The group to make a thread of the peer in: a local reference, NULL with an exception pending. */
jobject jvm_thread_group_new(struct jvm_thread *thread);

/* Call it on a new thread of the peer, before any called code runs: lets getThreadGroup() return the
 * application's group. */
void jvm_thread_group_show(struct jvm_thread *thread);
/* Call it on the same thread when its work is done, so that its end touches no group. */
void jvm_thread_group_hide(struct jvm_thread *thread);

#endif
