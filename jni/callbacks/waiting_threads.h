#ifndef JPEER_JNI_CALLBACKS_WAITING_THREADS_H
#define JPEER_JNI_CALLBACKS_WAITING_THREADS_H
/* Who waits in Java, and how others wake it (jni/callbacks.h). */
#include "jni/callbacks.h"
#include "jni/runtime/machine.h"

/* For a jpeer.peer.Waiting and the calling thread, which it refers to. Held by the caller. NULL: memory is short; no
 * exception is pending. */
struct jvm_waiter *jvm_waiter_create(struct jvm *jvm, JNIEnv *env, jobject waiting, jobject java_thread);

/* Starts the thread that wakes for threads which the JVM does not know. Once. */
enum jp_status jvm_waiters_start(struct jvm *jvm, struct jp_error *error) JP_MUST_CHECK;
/* Lets it end, as the JVM is about to: it waits in native code. Threads that the JVM does not know then do its work
 * themselves. */
void jvm_waiters_stop(void);

#endif
