#ifndef JPEER_JNI_INTERNAL_PEER_THREADS_H
#define JPEER_JNI_INTERNAL_PEER_THREADS_H
/* Java threads of the peer's own class, before they run. jvm_spawn is this and Thread.start(). */
#include "jni/internal/machine.h"

/* The native of jpeer.peer.PeerThread. */
void JNICALL jvm_thread_serve(JNIEnv *env, jclass class, jlong work);

struct jvm_work;

/*
 * Makes a thread that will run run(argument, thread): a local reference, NULL with *error. *work is freed by
 * the thread when it runs; where it is never started, jvm_work_destroy frees it. thread: the caller's.
 */
jobject jvm_thread_make(struct jvm_thread *thread, const char *name,
                        void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                        struct jvm_work **work, struct jp_error *error);
void jvm_work_destroy(JNIEnv *env, struct jvm_work *work);

#endif
