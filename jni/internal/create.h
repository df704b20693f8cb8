#ifndef JPEER_JNI_INTERNAL_CREATE_H
#define JPEER_JNI_INTERNAL_CREATE_H
/* Opens libjvm and makes the JVM, on the calling thread, which becomes the Java thread "main". Once. */
#include "jni/jvm.h"

#include <jni.h>

/*
 * on_exit is the JVM's exit hook: it is called on a thread that may not use Java and must not return. What
 * the JVM says while it is made goes into *error, as one line, where it cannot be made, else to where the JVM
 * wanted it. JP_INVALID: an option; JP_IO: the library; JP_INTERNAL: anything else.
 */
enum jp_status jvm_create(const struct jvm_launch *launch, void(JNICALL *on_exit)(jint status), JavaVM **vm,
                          JNIEnv **env, struct jp_error *error) JP_MUST_CHECK;

/* The stack that the launch's options ask for (-Xss, -XX:ThreadStackSize), else Java's usual 1 MiB. */
size_t jvm_main_stack_size(const struct jvm_launch *launch);

#endif
