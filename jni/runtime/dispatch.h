#ifndef JPEER_JNI_RUNTIME_DISPATCH_H
#define JPEER_JNI_RUNTIME_DISPATCH_H
/*
 * JNI functions that exist once for each type, selected by the type's letter: Z B C S I J F D, 'L' for a
 * reference, and 'V' for calls. These functions do not check for exceptions; the caller does. For a
 * reference, out->l is a local reference.
 */
#include <jni.h>

void dispatch_call(JNIEnv *env, char result, jobject on, jmethodID id, const jvalue *arguments, jvalue *out);
/* Runs exactly this method, even if the object's class overrides it. */
void dispatch_call_nonvirtual(JNIEnv *env, char result, jobject on, jclass class, jmethodID id,
                              const jvalue *arguments, jvalue *out);
void dispatch_call_static(JNIEnv *env, char result, jclass on, jmethodID id, const jvalue *arguments,
                          jvalue *out);

void dispatch_get(JNIEnv *env, char type, jobject on, jfieldID id, jvalue *out);
void dispatch_get_static(JNIEnv *env, char type, jclass on, jfieldID id, jvalue *out);
void dispatch_put(JNIEnv *env, char type, jobject on, jfieldID id, const jvalue *value);
void dispatch_put_static(JNIEnv *env, char type, jclass on, jfieldID id, const jvalue *value);

/* Arrays of primitives; from: pointer to the first of count elements. */
jobject dispatch_new_array(JNIEnv *env, char element, jsize count);
void dispatch_set_region(JNIEnv *env, char element, jobject array, jsize count, const void *data);
void dispatch_set_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, const void *data);
void dispatch_get_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, void *data);

#endif
