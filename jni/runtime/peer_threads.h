#ifndef JPEER_JNI_RUNTIME_PEER_THREADS_H
#define JPEER_JNI_RUNTIME_PEER_THREADS_H
/*
 * Makes Java threads of the peer's own class. jvm_spawn also starts them.
 *
 * The application's code can reach these threads and their class, and must not be able to start their work.
 * For this reason the work is not stored in Java: it waits in a list in C, and only the thread for which it
 * was made can begin it, once.
 */
#include "jni/runtime/machine.h"

/* Finds the thread groups for the peer's threads, and stores them in jvm. Call it on the application's thread
 * "main". JP_JAVA or JP_NO_MEMORY end the start. */
enum jp_status jvm_thread_groups_open(struct jvm *jvm, struct jvm_thread *thread,
                                      struct jp_error *error) JP_MUST_CHECK;

/* The native method of jpeer.peer.PeerThread. Returns at once on a thread that has no work. */
void JNICALL jvm_thread_serve(JNIEnv *env, jclass class);

/* The struct of the calling thread, if jvm_spawn or jvm_thread_make has made that thread; else NULL. */
struct jvm_thread *jvm_thread_own(void);

struct jvm_work;

/*
 * Makes a thread that calls run(argument, thread). Returns a local reference; NULL: *error says why. The new
 * thread frees *work when it runs; if the thread is never started, jvm_work_withdraw frees it. `thread` is
 * the caller's.
 */
jobject jvm_thread_make(struct jvm_thread *thread, const char *name,
                        void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                        struct jvm_work **work, struct jp_error *error);
/* Frees work that was not begun by a thread. False: a thread has begun the work, and owns it. */
bool jvm_work_withdraw(JNIEnv *env, struct jvm_work *work);

/* True if java_thread, a global reference, or a thread that runs work for it, is inside Runtime.exit or halt:
 * then java_thread will not return (jvm_thread_is_exiting). its_env: the JNIEnv of java_thread. Any
 * thread. */
bool jvm_thread_is_doing_exit(struct jvm *jvm, jobject java_thread, const JNIEnv *its_env);

/* The attachment of a calling thread that the JVM may not know. */
struct jvm_attachment {
  JNIEnv *env;
  bool is_new;
};

/* False: the JVM refuses to attach this thread. */
bool jvm_attach(struct jvm *jvm, struct jvm_attachment *attachment);
void jvm_detach(struct jvm *jvm, const struct jvm_attachment *attachment);

#endif
