#ifndef JPEER_JNI_CALLBACKS_WAITING_THREADS_H
#define JPEER_JNI_CALLBACKS_WAITING_THREADS_H
/* Threads that wait in Java, and how other threads wake them (jni/callbacks.h). */
#include "jni/callbacks.h"
#include "jni/runtime/machine.h"

/* Makes the waiter of a jpeer.peer.Waiting and the calling thread, and references both. The caller holds it.
 * NULL: memory is short; no exception is pending. */
struct jvm_waiter *jvm_waiter_create(struct jvm *jvm, JNIEnv *env, jobject waiting, jobject java_thread);

/* Starts the waking thread, which works for threads that the JVM does not know. Once. */
enum jp_status jvm_waiters_start(struct jvm *jvm, struct jp_error *error) JP_MUST_CHECK;
/* Ends the waking thread before the JVM ends. Threads that the JVM does not know do the work themselves from
 * then on. */
void jvm_waiters_stop(void);

#endif
