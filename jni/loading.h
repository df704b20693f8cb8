#ifndef JPEER_JNI_LOADING_H
#define JPEER_JNI_LOADING_H
/*
 * Whether a class can be named that the application's class loader does not find
 * (docs/internals/resolution.md, "A name goes to a class"). These functions load no class. On the thread's
 * own thread, between jvm_request_begin and jvm_request_end, with no exception pending on entry or on return.
 */
#include "base/arena.h"
#include "base/text.h"
#include "jni/jvm.h"

/* True if the context class loader of main finds the class file (ClassLoader.getResource). Runs that loader's
 * code. */
bool jvm_main_loader_finds(struct jvm_thread *thread, struct text class_name);

/* True if exactly one loader has loaded a class of this name. Runs no code of loaders. */
bool jvm_class_is_loaded_once(struct jvm_thread *thread, struct text class_name);

#endif
