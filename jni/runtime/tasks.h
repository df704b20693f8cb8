#ifndef JPEER_JNI_RUNTIME_TASKS_H
#define JPEER_JNI_RUNTIME_TASKS_H
/*
 * Tasks: work that any Java thread may do in place of a thread of the peer, which lends it all that a struct
 * jvm_thread keeps and waits.
 *
 * A task has a Java object, a Runnable. Called code can reach that object. The work therefore never passes
 * through Java: it waits in a list in C, and the first thread that runs the object takes it, once. An object
 * that is run again, or after its task was withdrawn, finds nothing.
 */
#include "jni/runtime/machine.h"

/* The native method of jpeer.peer.Task. Returns at once for an object that no waiting task has. */
void JNICALL jvm_task_serve(JNIEnv *env, jobject object);

struct jvm_task;

/*
 * Makes a task that will run run(argument, thread) on the thread that runs its object. `thread` is the
 * caller's, who does not use it from here until jvm_task_withdraw has returned true or jvm_task_await has
 * returned. *object is a local reference. Released with jvm_task_release. JP_NO_MEMORY or JP_JAVA: *error
 * says why.
 */
enum jp_status jvm_task_create(struct jvm_thread *thread,
                               void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                               struct jvm_task **task, jobject *object, struct jp_error *error) JP_MUST_CHECK;

/* True: no thread has begun the task, and none will. */
bool jvm_task_withdraw(struct jvm_task *task) JP_MUST_CHECK;

enum jvm_task_end {
  JVM_TASK_DONE,
  JVM_TASK_DROPPED, /* nothing in Java holds the object any more, and it was never run */
  JVM_TASK_CRAMPED  /* the thread that took the task has too little stack left; it was not run */
};

enum { JVM_TASK_STACK_MIN = 256 * 1024 };

/* Waits for the end of the task, on the thread that has made it and no longer holds a reference to its object. */
enum jvm_task_end jvm_task_await(struct jvm_task *task) JP_MUST_CHECK;

/* env: of the calling thread. */
void jvm_task_release(JNIEnv *env, struct jvm_task *task);

/* Any thread: the last task that the thread with this env has made and waits for; NULL: there is none. Released with
 * jvm_task_release. */
struct jvm_task *jvm_task_of(const JNIEnv *waiting);
/* The Java thread that has taken the task: borrowed from it; NULL: none yet. *env: its own, else NULL. */
jobject jvm_task_taker(struct jvm_task *task, JNIEnv **env);

#endif
