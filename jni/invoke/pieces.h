#ifndef JPEER_JNI_INVOKE_PIECES_H
#define JPEER_JNI_INVOKE_PIECES_H
/*
 * Elements and ranges of arrays (docs/protocol.md, "Elements and ranges"). On the thread's own thread, with no
 * exception pending on entry.
 */
#include "jni/convert/arguments.h"

/* Finds the operation's piece in the array. False: it is beyond it, and the outcome is Java's exception. */
bool piece_find(struct conversion *conversion, jobject array, jsize *from, jsize *count);

/* element: a primitive's letter, or 'L'. A write of an object may leave an ArrayStoreException pending. */
void piece_read_element(JNIEnv *env, char element, jobject array, jsize at, jvalue *out);
void piece_write_element(JNIEnv *env, char element, jobject array, jsize at, const jvalue *value);

/* A new array of the class, the array's own: a local reference. NULL: the outcome tells why. */
jobject piece_copy(struct conversion *conversion, struct jvm_class *class, jobject array, jsize from,
                   jsize count);

#endif
