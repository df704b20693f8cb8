#include "jni/executors.h"

#include "jni/executors/executor_lookup.h"
#include "jni/runtime/dispatch.h"
#include "jni/runtime/tasks.h"
#include "jni/runtime/throwables.h"

/* Gives the task to the executor. Returns what that threw: a local reference; NULL: nothing. From here on the
 * executor's thread may use the caller's struct jvm_thread. */
static jthrowable submit(JNIEnv *env, const struct jvm_known *known, const struct executor_entry *entry,
                         jobject object)
{
  const jvalue arguments[] = {{.l = object}};
  jvalue result = {.l = NULL};
  if (entry->executor != NULL) {
    (*env)->CallVoidMethodA(env, entry->executor, known->method_executor_execute, arguments);
  } else {
    dispatch_call_static(env, entry->result, entry->class, entry->method, arguments, &result);
    if (entry->result == 'L')
      (*env)->DeleteLocalRef(env, result.l);
  }
  return throwable_catch(env);
}

static enum jp_status await(const struct jvm_executor_call *call, struct jvm_task *task,
                            struct outcome *outcome)
{
  switch (jvm_task_await(task)) {
  case JVM_TASK_DONE:
    return JP_OK;
  case JVM_TASK_DROPPED:
    return executor_fail(call, outcome, "the executor let go of the request without running it");
  case JVM_TASK_CRAMPED:
    break;
  }
  return executor_fail(call, outcome, "less than %d KiB of stack are left on the executor's thread",
                       JVM_TASK_STACK_MIN / 1024);
}

static enum jp_status run_task(struct jvm_thread *thread, const struct jvm_executor_call *call,
                               const struct executor_entry *entry, struct outcome *outcome)
{
  JNIEnv *env = thread->env; /* thread->env is not this thread's while `thread` is lent */
  const struct jvm_known *known = &thread->jvm->known;
  struct jvm_task *task;
  jobject object;
  struct jp_error error;
  if (jvm_task_create(thread, call->run, call->argument, &task, &object, &error) != JP_OK)
    return executor_fail(call, outcome, "%s", error.text);
  jthrowable thrown = submit(env, known, entry, object);
  (*env)->DeleteLocalRef(env, object);
  enum jp_status status;
  if (thrown != NULL && jvm_task_withdraw(task)) {
    status = executor_fail_thrown(thread, call, thrown, "the executor threw", outcome);
  } else {
    /* It throws although it runs the task: the task's own outcome is the request's. */
    (*env)->DeleteLocalRef(env, thrown);
    status = await(call, task, outcome);
  }
  jvm_task_release(env, task);
  return status;
}

enum jp_status jvm_executor_run(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                struct outcome *outcome)
{
  struct executor_entry entry;
  enum jp_status status = executor_find(thread, call, &entry, outcome);
  if (status != JP_OK)
    return status;
  status = run_task(thread, call, &entry, outcome);
  (*thread->env)->DeleteLocalRef(thread->env, entry.executor);
  return status;
}
