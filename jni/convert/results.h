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
 * gets a ref; a small array of primitives, wrappers or Strings, and an object that has a text, also travels by
 * value. What is too large for the answer has a ref alone. Gives the object's local reference to
 * request->result, or deletes it.
 */
void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome);

/* Its parts. */

/* True for the wrappers and String. */
bool result_is_value_class(const struct jvm_class *class);
/* False: memory is short, or a String is longer than the answer may be. */
bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out);
/* Whether the request wants arrays of primitives of this letter in base64. */
bool result_is_base64(const struct jvm_request *request, char letter);
/* Reads an array of count primitives; false as before. */
bool result_read_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out);
/* Those from `from` on, whatever their number. False: memory is short. */
bool result_read_range(const struct jvm_request *request, char letter, jobject array, jsize from, jsize count,
                       struct op_value *out);
/* How many elements may travel by value. */
size_t result_elements_max(const struct jvm_request *request);
/* How many bytes the answer may have; SIZE_MAX: any number. */
size_t result_bytes_max(const struct jvm_request *request);
/* False leaves an OUTCOME_ERROR. */
bool result_store(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                  jobject object, uint32_t *ref, struct outcome *outcome);

/* The length of an array or a String, or the size that a collection or map gives. False: it has none, or size throws. */
bool result_find_length(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                        size_t *length);

/*
 * The elements of an array of objects beside its ref (element_values): values and texts as they are, an OP_REF for each
 * other object, which is stored. False: there are too many, or not all could be stored; none is then.
 */
bool result_read_elements(const struct jvm_request *request, uint64_t epoch, jobjectArray array,
                          struct op_value *out);

/*
 * An element of an answer whose elements tell their types (element_types): null, booleans, Strings and finite numbers as
 * they are, an OP_TYPED_TEXT for what its text tells wholly, and an OP_REF with its class for any other object, which is
 * stored; that of an enum constant, a Class or an Optional has its text beside. False leaves an OUTCOME_ERROR in
 * *failed.
 */
bool result_read_typed(const struct jvm_request *request, uint64_t epoch, jobject object,
                       struct op_value *out, struct outcome *failed) JP_MUST_CHECK;

/* The contents of a collection or map beside its ref (collection_values), where they have a JSON text: no object is
 * kept for them, and there is no error. */
void result_fill_collection(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                            struct outcome *outcome);

/*
 * For an operation that asks for values (by_value). Arrays, collections and maps travel whole, with their
 * contents, and objects that have a text as that text. An OP_REF stands for an object of any other class, for
 * the new object of an OP_NEW, and for a map with a key that is no wrapper, String or null, or that is "ref"
 * (unless compat_pal). The outcome's ref is
 * one of these refs, or 0. If the result has a cycle, more elements in all than array-value-max, or more levels
 * than the limit (docs/jsonrpc-1.1.md, "Every MUST and SHOULD", 13), or if reading it throws, it is one OP_REF
 * with the class and the length; with compat_pal an error. Runs size, toArray, entrySet, getKey and getValue of
 * the application's own collections.
 */
void result_fill_by_value(const struct jvm_request *request, uint64_t epoch, jobject object,
                          struct outcome *outcome);

/* *outcome becomes the ref alone of the object, in the form of the operation; what is stored of the result beyond
 * `kept` refs is taken back. */
void result_fill_ref(const struct jvm_request *request, uint64_t epoch, jobject object, bool by_value,
                     size_t kept, struct outcome *outcome);

#endif
