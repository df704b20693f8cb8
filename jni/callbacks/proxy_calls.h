#ifndef JPEER_JNI_CALLBACKS_PROXY_CALLS_H
#define JPEER_JNI_CALLBACKS_PROXY_CALLS_H
/* Calls of proxies' methods, through the native methods of the peer's callback classes. */
#include "jni/runtime/machine.h"

/* Finds the ids of the classes and binds their native methods. The classes must be defined already. False:
 * one is missing. */
bool callback_natives_bind(JNIEnv *env, struct jvm *jvm);

#endif
