#ifndef JPEER_JNI_CONVERT_RESULTS_H
#define JPEER_JNI_CONVERT_RESULTS_H
/*
 * Makes an outcome of what Java returned (docs/protocol.md, "Results"). Call these on the thread's own
 * thread. No exception is pending on entry or on return. epoch: of the session's objects when the request
 * began.
 */
#include "jni/convert/arguments.h"

/*
 * For a result of the declared type. A wrapper or String travels by value and is not kept. Any other object
 * gets a ref, and a small array of primitives, wrappers or Strings also travels by value. Deletes the
 * object's local reference.
 */
void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome);

/* Its parts. Those that fail leave an OUTCOME_ERROR. */

/* True for the wrappers and String. */
bool result_is_value_class(const struct jvm_class *class);
bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out, struct outcome *outcome);
/* Reads an array of count primitives. */
bool result_fill_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out, struct outcome *outcome);
bool result_store(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                  jobject object, uint32_t *ref, struct outcome *outcome);

/* The contents of a collection or map beside its ref (collection_values), where they have a JSON text: no object is
 * kept for them, and there is no error. */
void result_fill_collection(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct outcome *outcome);

/*
 * For an operation that asks for values (by_value). Arrays, collections and maps travel whole, with their
 * contents. An OP_REF stands for an object of any other class, for the new object of an OP_NEW, and for a map
 * with a key that is no wrapper, String or null. The outcome's ref is one of these refs, or 0. It is an error
 * if the result has a cycle, more elements in all than array-value-max, or more levels than the limit
 * (docs/jsonrpc-1.1.md, "Every MUST and SHOULD", 13). Runs size, toArray, entrySet, getKey and getValue of
 * the application's own collections.
 */
void result_fill_by_value(const struct jvm_request *request, uint64_t epoch, jobject object,
                          struct outcome *outcome);

#endif
