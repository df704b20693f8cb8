#ifndef JPEER_JNI_START_MAIN_CLASS_H
#define JPEER_JNI_START_MAIN_CLASS_H
/* The application's main class, on the thread "main". */
#include "jni/runtime/machine.h"

#include <stdbool.h>

/* The method main, of a class that java would run. */
struct jvm_main {
  jclass class; /* local; NULL as_service */
  bool takes_arguments;
  bool is_static;
  jmethodID method; /* after jvm_main_initialise */
};

/*
 * Loads the class without initialising it. JP_NOT_FOUND or JP_INVALID: one line describes the fault of the
 * class or the jar.
 */
enum jp_status jvm_main_find(struct jvm_thread *thread, const struct jvm_launch *launch,
                             struct jvm_main *found, struct jp_error *error) JP_MUST_CHECK;

/* main's arguments as String[]: a local reference. */
enum jp_status jvm_main_args(struct jvm_thread *thread, const struct jvm_launch *launch, jobjectArray *args,
                             struct jp_error *error) JP_MUST_CHECK;

/* Initialises the class. False: an exception is pending. */
bool jvm_main_initialise(JNIEnv *env, struct jvm_main *found);

/* Runs main of an initialised class. False: an exception is pending. */
bool jvm_main_run(JNIEnv *env, const struct jvm_main *found, jobjectArray args);

#endif
