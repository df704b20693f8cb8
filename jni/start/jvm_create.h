#ifndef JPEER_JNI_START_JVM_CREATE_H
#define JPEER_JNI_START_JVM_CREATE_H
/* Opens libjvm and creates the JVM on the calling thread, which becomes the Java thread "main". Call it
 * once. */
#include "jni/jvm.h"

#include <jni.h>

/*
 * exits: called by the JVM when it ends the process, on a thread that may not use Java. died: called if the
 * JVM ends the process while it is being created; *error says why. Neither function returns.
 *
 * If the JVM cannot be created, *error is the JVM's output, as one line. Otherwise the output goes to the
 * stream that the JVM chose. JP_INVALID: an option is wrong; JP_IO: the library cannot be opened;
 * JP_INTERNAL: any other failure.
 */
enum jp_status jvm_create(const struct jvm_launch *launch, void(JNICALL *exits)(jint status),
                          void (*died)(const struct jp_error *error), JavaVM **vm, JNIEnv **env,
                          struct jp_error *error) JP_MUST_CHECK;

/* Writes the output that has been collected so far to its stream. Call it if the process exits while
 * jvm_create runs. */
void jvm_create_pass_on_words(void);

/* The stack that the launch's options ask for (-Xss, -XX:ThreadStackSize), else Java's usual 1 MiB. */
size_t jvm_main_stack_size(const struct jvm_launch *launch);

#endif
