#ifndef JPEER_JNI_EXECUTORS_EXECUTOR_LOOKUP_H
#define JPEER_JNI_EXECUTORS_EXECUTOR_LOOKUP_H
/* Finds what jni/executors.h says an executor is. For this folder alone. */
#include "jni/executors.h"

#include <jni.h>

/* How work is given to an executor. */
struct executor_entry {
  jobject executor; /* local: its execute is called. NULL: a static method that takes a Runnable is called */
  jclass class;     /* borrowed */
  jmethodID method;
  char result; /* of that static method: the letter of its type */
};

/* Anything but JP_OK leaves an OUTCOME_ERROR in *outcome. Runs the initialiser of the class, and the method
 * that gives the executor. */
enum jp_status executor_find(struct jvm_thread *thread, const struct jvm_executor_call *call,
                             struct executor_entry *entry, struct outcome *outcome) JP_MUST_CHECK;

/* Makes *outcome an error that names the executor. Returns JP_INVALID. */
enum jp_status executor_fail(const struct jvm_executor_call *call, struct outcome *outcome,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for a throwable, whose local reference it deletes. what: "its class cannot be loaded". Returns
 * JP_JAVA. */
enum jp_status executor_fail_thrown(struct jvm_thread *thread, const struct jvm_executor_call *call,
                                    jthrowable thrown, const char *what, struct outcome *outcome);

#endif
