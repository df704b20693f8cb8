#ifndef JPEER_JNI_FETCH_COLUMNS_H
#define JPEER_JNI_FETCH_COLUMNS_H
/* The classes of jpeer.peer that read rows for jvm_columns (jni/fetch.h). */
#include "jni/runtime/machine.h"

/* Binds their members and native methods, when the JVM starts. False: an exception is pending. */
bool columns_natives_bind(JNIEnv *env, struct jvm *jvm);

#endif
