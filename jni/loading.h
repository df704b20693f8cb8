#ifndef JPEER_JNI_LOADING_H
#define JPEER_JNI_LOADING_H
/*
 * Whether a class can be named that the application's class loader does not find (docs/internals/resolution.md, "A name goes
 * to a class"). No class is loaded for the answer. On the thread's own thread, between jvm_request_begin and jvm_request_end,
 * with no exception pending on entry or on return.
 */
#include "base/arena.h"
#include "base/text.h"
#include "jni/jvm.h"

/* True where the context class loader of main has the class's file (ClassLoader.getResource). Runs that loader's code. */
bool jvm_main_loader_finds(struct jvm_thread *thread, struct text class_name);

/* True where one loader, and no other, has loaded a class of this name. Runs no code of loaders. */
bool jvm_class_is_loaded_once(struct jvm_thread *thread, struct text class_name);

#endif
