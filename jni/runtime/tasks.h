#ifndef JPEER_JNI_RUNTIME_TASKS_H
#define JPEER_JNI_RUNTIME_TASKS_H
/*
 * Tasks: work that any Java thread may do in place of a thread of the peer. The peer's thread lends its
 * struct jvm_thread and waits.
 *
 * A task has a Java object, a Runnable. Application code can reach that object. For this reason the work
 * never passes through Java: it waits in a list in C, and the first thread that runs the object takes it,
 * once. Running the object again, or after its task was withdrawn, does nothing.
 */
#include "jni/runtime/machine.h"

/* The native method of jpeer.peer.Task. Returns at once if no task waits for this object. */
void JNICALL jvm_task_serve(JNIEnv *env, jobject object);

struct jvm_task;

/*
 * Makes a task that will run run(argument, thread) on the thread that runs its object. `thread` belongs to
 * the caller. The caller must not use it until jvm_task_withdraw has returned true or jvm_task_await has
 * returned. *object is a local reference. Release the task with jvm_task_release. JP_NO_MEMORY or JP_JAVA:
 * *error says why.
 */
enum jp_status jvm_task_create(struct jvm_thread *thread,
                               void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                               struct jvm_task **task, jobject *object, struct jp_error *error) JP_MUST_CHECK;

/* True: no thread has begun the task, and no thread will begin it. */
bool jvm_task_withdraw(struct jvm_task *task) JP_MUST_CHECK;

enum jvm_task_end {
  JVM_TASK_DONE,
  JVM_TASK_DROPPED, /* no code can reach the object any more, and it was never run */
  JVM_TASK_CRAMPED  /* the thread that took the task has too little stack left; the task was not run */
};

enum { JVM_TASK_STACK_MIN = 256 * 1024 };

/* Waits for the end of the task, on the thread that made it. The caller must hold no reference to the task's
 * object. */
enum jvm_task_end jvm_task_await(struct jvm_task *task) JP_MUST_CHECK;

/* env: the calling thread's. */
void jvm_task_release(JNIEnv *env, struct jvm_task *task);

/* Returns the last task that the thread with this env has made and waits for; NULL: none. Release it with
 * jvm_task_release. Any thread. */
struct jvm_task *jvm_task_of(const JNIEnv *waiting);
/* The Java thread that runs the task, borrowed from the task; NULL: none yet. *env: that thread's, else
 * NULL. */
jobject jvm_task_taker(struct jvm_task *task, JNIEnv **env);

#endif
