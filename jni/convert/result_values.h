#ifndef JPEER_JNI_CONVERT_RESULT_VALUES_H
#define JPEER_JNI_CONVERT_RESULT_VALUES_H
/* Results by value. Threads and exceptions as in jni/convert/results.h. */
#include "jni/members.h"
#include "jni/types/classes.h"

/* Adds the contents of a collection or map to its ref (collection_values), if JSON can represent them. Stores
 * no objects, and does not fail. */
void result_fill_collection(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct outcome *outcome);

/*
 * For an operation that asks for values (by_value). Arrays, collections and maps are sent with their
 * contents. An object that has a text is sent as this text. All other objects are sent as an OP_REF, and so
 * are the new object of an OP_NEW, a map with a key that is not a wrapper, String or null, and (unless
 * compat_pal) a map with the key "ref". outcome->ref is one of these refs, or 0. The result is one OP_REF
 * with the class and the length (with compat_pal an error) if it has a cycle, more elements in all than
 * array-value-max, or more levels than the limit (docs/jsonrpc-1.1.md, "Every MUST and SHOULD", 13), or if
 * reading it throws. Runs size, toArray, entrySet, getKey and getValue of the application's own collections.
 */
void result_fill_by_value(const struct jvm_request *request, uint64_t epoch, jobject object,
                          struct outcome *outcome);

/*
 * Adds the elements of an array of objects to its ref (element_values): values and texts as they are, and an
 * OP_REF for each other object, which is stored. False: the array has too many elements, or not all could be
 * stored; in that case no element is stored.
 */
bool result_read_elements(const struct jvm_request *request, uint64_t epoch, jobjectArray array,
                          struct op_value *out);

#endif
