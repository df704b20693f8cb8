#ifndef JPEER_JNI_CALLBACKS_PROXY_CALLS_H
#define JPEER_JNI_CALLBACKS_PROXY_CALLS_H
/* Calls of proxies' methods, which come from the native methods of the peer's classes for callbacks. */
#include "jni/runtime/machine.h"

/* Finds the ids of the classes, which are defined, and binds their native methods. False: one is missing. */
bool callback_natives_bind(JNIEnv *env, struct jvm *jvm);

#endif
