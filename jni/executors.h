#ifndef JPEER_JNI_EXECUTORS_H
#define JPEER_JNI_EXECUTORS_H
/*
 * Executors of the application, on whose threads requests can run: a toolkit's event thread, or the only
 * thread that may use an object (docs/threads.md, "Thread affinity").
 *
 * A static member names an executor. The member may have any visibility. It is looked up at each use, through
 * the application's class loader; the class may exist only after main has run. The member is, in this order
 * of preference: a method with one java.lang.Runnable parameter, a method without parameters that returns a
 * java.util.concurrent.Executor, or a field that holds one. Any other value that the method with the Runnable
 * returns is ignored.
 */
#include "base/arena.h"
#include "base/status.h"
#include "jni/jvm.h"
#include "op/outcome.h"

struct jvm_executor {
  struct text name; /* the name that requests use */
  struct text class_name;
  struct text member;
};

struct jvm_executor_call {
  const struct jvm_executor *executor;
  void (*run)(void *argument, struct jvm_thread *thread); /* must leave no exception pending */
  void *argument;
  struct arena *arena;     /* for the outcome; `run` may use it, too */
  size_t stack_frames_max; /* of jvm_limits */
};

/*
 * Lets a thread of the executor call run(argument, thread), and waits until run returns, without a time
 * limit. The executor's thread uses `thread`, the caller's struct, and opens and closes a request of its own
 * (jvm_request_begin). JP_OK: run was called once, and *outcome is as `run` has left it. Otherwise run was
 * not and will not be called, and *outcome is an error that says why: the member does not exist, the member
 * does not return an executor, the executor throws, or the executor drops the work.
 *
 * Call it between jvm_request_begin and jvm_request_end.
 */
enum jp_status jvm_executor_run(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                struct outcome *outcome);

#endif
