#ifndef JPEER_JNI_EXECUTORS_H
#define JPEER_JNI_EXECUTORS_H
/*
 * Executors of the application, on whose threads requests can run: a toolkit's event thread, or a thread that
 * alone may use an object (docs/threads.md, "Thread affinity").
 *
 * An executor is named by a static member, which is looked up at each use, by any visibility, through the
 * application's class loader: main may have to run before it exists. In this order it is a method that takes
 * one java.lang.Runnable, a method without parameters that gives a java.util.concurrent.Executor, or a field
 * that holds one. What such a method returns beside that means nothing.
 */
#include "base/arena.h"
#include "base/status.h"
#include "jni/jvm.h"
#include "op/outcome.h"

struct jvm_executor {
  struct text name; /* that requests know it by */
  struct text class_name;
  struct text member;
};

struct jvm_executor_call {
  const struct jvm_executor *executor;
  void (*run)(void *argument, struct jvm_thread *thread); /* leaves no exception pending */
  void *argument;
  struct arena *arena;     /* of the outcome; `run` may use it, too */
  size_t stack_frames_max; /* of jvm_limits */
};

/*
 * Lets a thread of the executor call run(argument, thread), and waits for that, however long it takes. That
 * thread uses everything of `thread`, the caller's, and opens and closes a request of its own
 * (jvm_request_begin). JP_OK: it was called, once, and *outcome is as `run` has left it. Otherwise it was not
 * and will not be called, and *outcome is an error that says why: there is no such member, it gives no
 * executor, the executor throws, or it drops the work.
 *
 * Call it within a request.
 */
enum jp_status jvm_executor_run(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                struct outcome *outcome);

#endif
