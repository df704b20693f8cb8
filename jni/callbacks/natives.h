#ifndef JPEER_JNI_CALLBACKS_NATIVES_H
#define JPEER_JNI_CALLBACKS_NATIVES_H
/*
 * The native methods of the peer's classes for callbacks. Called code can reach these classes, so the methods check all
 * that they are given: a handler by its number, a wait by its number and its thread, arguments by their classes.
 */
#include "jni/runtime/machine.h"

/* Finds the ids of the classes, which are defined, and binds their native methods. False: one is missing. */
bool callback_natives_bind(JNIEnv *env, struct jvm *jvm);

/* The process's one. */
struct jvm *callback_jvm(void);

/* Of jpeer.peer.Callback. */
jobject JNICALL callback_call(JNIEnv *env, jobject handler, jlong number, jint index, jobjectArray arguments,
                              jobject waiting, jboolean is_interrupted);
jobject JNICALL callback_resume(JNIEnv *env, jobject handler, jobject waiting);
void JNICALL callback_abandon(JNIEnv *env, jobject handler, jobject waiting);
jobject JNICALL callback_run(JNIEnv *env, jobject handler, jlong number, jint index, jobjectArray arguments);

/* Of jpeer.peer.Waiting. */
void JNICALL callback_interrupted(JNIEnv *env, jobject waiting);

#endif
