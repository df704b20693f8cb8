#ifndef JPEER_JNI_RUNTIME_DISPATCH_H
#define JPEER_JNI_RUNTIME_DISPATCH_H
/*
 * JNI's functions that come once a type, chosen by the type's letter: Z B C S I J F D, 'L' for a reference,
 * and for calls 'V'. Thin: the caller looks for exceptions. Of a reference, out->l is a local one.
 */
#include <jni.h>

void dispatch_call(JNIEnv *env, char result, jobject on, jmethodID id, const jvalue *arguments, jvalue *out);
/* Runs this very method, whatever the object's class has in its place. */
void dispatch_call_nonvirtual(JNIEnv *env, char result, jobject on, jclass class, jmethodID id,
                              const jvalue *arguments, jvalue *out);
void dispatch_call_static(JNIEnv *env, char result, jclass on, jmethodID id, const jvalue *arguments,
                          jvalue *out);

void dispatch_get(JNIEnv *env, char type, jobject on, jfieldID id, jvalue *out);
void dispatch_get_static(JNIEnv *env, char type, jclass on, jfieldID id, jvalue *out);
void dispatch_put(JNIEnv *env, char type, jobject on, jfieldID id, const jvalue *value);
void dispatch_put_static(JNIEnv *env, char type, jclass on, jfieldID id, const jvalue *value);

/* Arrays of primitives; from: the first of count elements. */
jobject dispatch_new_array(JNIEnv *env, char element, jsize count);
void dispatch_set_region(JNIEnv *env, char element, jobject array, jsize count, const void *data);
void dispatch_set_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, const void *data);
void dispatch_get_range(JNIEnv *env, char element, jobject array, jsize from, jsize count, void *data);

#endif
