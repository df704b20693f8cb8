#ifndef JPEER_JNI_START_JVM_CREATE_H
#define JPEER_JNI_START_JVM_CREATE_H
/* Opens libjvm and creates the JVM on the calling thread, which becomes the Java thread "main". Call it
 * once. */
#include "jni/jvm.h"

#include <jni.h>
#include <stdbool.h>

/* What is called when something else than jvm_run ends the process, on a thread that may not use Java. */
struct jvm_create_ends {
  void(JNICALL *exits)(jint status);          /* by the JVM; must not return */
  void (*died)(const struct jp_error *error); /* by the JVM while it is being created; must not return */
  void (*exits_natively)(void); /* among the handlers of exit(3), also after jvm_create; returns */
};

/*
 * If the JVM cannot be created, *error is the JVM's output, as one line. Otherwise the output goes to the
 * stream that the JVM chose. JP_INVALID: an option is wrong; JP_IO: the library cannot be opened;
 * JP_INTERNAL: any other failure.
 */
enum jp_status jvm_create(const struct jvm_launch *launch, const struct jvm_create_ends *ends, JavaVM **vm,
                          JNIEnv **env, struct jp_error *error) JP_MUST_CHECK;

/* Writes the output that has been collected so far to its stream. Call it if the process exits. True: jvm_create
 * is running. */
bool jvm_create_pass_on_words(void);

/* The stack that the launch's options ask for (-Xss, -XX:ThreadStackSize), else Java's usual 1 MiB. */
size_t jvm_main_stack_size(const struct jvm_launch *launch);

#endif
