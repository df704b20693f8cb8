#ifndef JPEER_JNI_LOADERS_MAIN_LOADER_H
#define JPEER_JNI_LOADERS_MAIN_LOADER_H
/*
 * The context class loader of the thread that runs main: programs in one jar of many jars, and application
 * servers, set it to the loader of their classes. While main runs it is the one of now, afterwards the one that
 * main left. It is not kept alive.
 */
#include "jni/runtime/machine.h"

/* On the thread "main", before it serves. JP_NO_MEMORY. */
enum jp_status main_loader_open(struct jvm_thread *thread, struct jp_error *error) JP_MUST_CHECK;
/* main has returned. On its thread, which is still attached; no exception is pending. */
void main_loader_settle(struct jvm *jvm, JNIEnv *env);

/* Its number (jni/loaders/loaders.h). 0: it has none, or one that adds nothing to the application's loader. Any
 * thread that may use Java. */
uint32_t main_loader_number(struct jvm_thread *thread);

#endif
