#ifndef JPEER_JNI_CONVERT_RESULTS_H
#define JPEER_JNI_CONVERT_RESULTS_H
/*
 * Makes an outcome from Java's result (docs/protocol.md, "Results"). Call these functions on the thread's own
 * thread. No exception is pending on entry or on return. epoch: of the session's objects when the request
 * began.
 */
#include "jni/convert/arguments.h"

/*
 * For a result of the declared type. A wrapper or String travels by value and is not stored. Any other object
 * gets a ref; a small array of primitives, wrappers or Strings, and an object that has a text, also travel by
 * value. A result that is too large for the answer has only a ref. Moves the object's local reference to
 * request->result, or deletes it.
 */
void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome);

/* Parts of result_fill. */

/* True for the wrappers and String. */
bool result_is_value_class(const struct jvm_class *class);
/* False: memory is short, or a String is longer than the answer may be. */
bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out);
/* True if the request wants arrays of this primitive type in base64. */
bool result_is_base64(const struct jvm_request *request, char letter);
/* Reads an array of count primitives. False in the same cases as result_read_value_object. */
bool result_read_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out);
/* Reads count elements from `from` on, without a limit. False: memory is short. */
bool result_read_range(const struct jvm_request *request, char letter, jobject array, jsize from, jsize count,
                       struct op_value *out);
/* The text of a boolean, a number, a character or a String. data NULL: memory is short. */
struct text result_write_scalar(const struct jvm_request *request, const struct op_value *value);

/* True if objects of the class have a text: the text that an argument of the class can be given as
 * (docs/values.md, "Values that have a text"). With --compat pal only a BigInteger has a text, if the request
 * asks for it. */
bool result_has_text(const struct jvm_request *request, const struct jvm_class *class);

/*
 * Reads the text of an object whose class defines a text, without running code of an application. *out
 * becomes an OP_TEXT; for an Optional, the value or text of its content, or OP_NULL if it is empty. False:
 * this object has no text; examples are a number with too many digits, an Optional of another object, or a
 * Class that the caller may not name.
 */
bool result_read_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                      struct op_value *out);

/* How many elements may travel by value. */
size_t result_elements_max(const struct jvm_request *request);
/* How many bytes the answer may have; SIZE_MAX: any number. */
size_t result_bytes_max(const struct jvm_request *request);
/* False leaves an OUTCOME_ERROR. */
bool result_store(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                  jobject object, uint32_t *ref, struct outcome *outcome);

/* The identity of the callback whose proxy the object is, in the request's arena; NULL: the object is not a
 * proxy, or memory is short. */
const struct op_callback_identity *result_find_callback(const struct jvm_request *request,
                                                        const struct jvm_class *class, jobject object);

/* The length of an array or a String, or the size of a collection or map. False: the object has no size, or
 * size() throws. */
bool result_find_length(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                        size_t *length);

/*
 * Reads an element of an answer whose elements have their types (element_types): null, booleans, Strings and
 * finite numbers as they are, an OP_TYPED_TEXT if the text represents the value completely, and an OP_REF
 * with the class for any other object, which is stored. The ref of an enum constant, a Class or an Optional
 * is sent with the text. False leaves an OUTCOME_ERROR in *failed.
 */
bool result_read_typed(const struct jvm_request *request, uint64_t epoch, jobject object,
                       struct op_value *out, struct outcome *failed) JP_MUST_CHECK;

/* Makes the outcome only the ref of the object, in the form of the operation. The result's refs beyond the
 * first `kept` are rolled back. */
void result_fill_ref(const struct jvm_request *request, uint64_t epoch, jobject object, bool by_value,
                     size_t kept, struct outcome *outcome);

#endif
