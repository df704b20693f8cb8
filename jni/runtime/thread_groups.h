#ifndef JPEER_JNI_RUNTIME_THREAD_GROUPS_H
#define JPEER_JNI_RUNTIME_THREAD_GROUPS_H
/*
 * Keeps the peer's threads out of the lists of Java's thread groups.
 *
 * In JDK 17 and 18 each ThreadGroup lists its threads and the groups below it. suspend, stop, interrupt and
 * enumerate walk these lists, getParent leads from any group to the root, and starting a thread takes its
 * group's monitor, which any code can hold. There each thread of the peer is made in a group of its own that
 * has no parent, so that no walk finds it. While it runs, getThreadGroup() tells of the application's group
 * ("main"): threads that called code makes belong there. Java has no public way to do either, so a private
 * constructor and a private field of the JDK are used; where they are missing, the thread is in "main".
 *
 * From JDK 19 on, groups list nothing, and suspend and stop only throw. The threads are in "main"; of what a
 * group can still do, PeerThread.interrupt refuses its interrupt.
 */
#include "jni/runtime/machine.h"

/* Fills the fields of jvm. On the application's thread "main". JP_JAVA or JP_NO_MEMORY end the start. */
enum jp_status jvm_thread_groups_open(struct jvm *jvm, struct jvm_thread *thread,
                                      struct jp_error *error) JP_MUST_CHECK;

/* The group to make a thread of the peer in: a local reference, NULL with an exception pending. */
jobject jvm_thread_group_new(struct jvm_thread *thread);

/* On a thread of the peer: lets getThreadGroup() tell of the application's group, before called code asks. */
void jvm_thread_group_show(struct jvm_thread *thread);
/* The same thread, when it has nothing more to do: its end then touches no group. */
void jvm_thread_group_hide(struct jvm_thread *thread);

#endif
