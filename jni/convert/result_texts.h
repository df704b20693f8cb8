#ifndef JPEER_JNI_CONVERT_RESULT_TEXTS_H
#define JPEER_JNI_CONVERT_RESULT_TEXTS_H
/*
 * The text of an object that has one: what an argument of its class may be given as (docs/protocol.md, "Values that
 * have a text"). Runs no code of an application. Call it on the thread's own thread; no exception is pending on entry
 * or on return.
 */
#include "jni/convert/results.h"

/* Whether objects of the class have one. With --compat pal none have but a BigInteger, where the request asks for it. */
bool result_has_text(const struct jvm_request *request, const struct jvm_class *class);

/*
 * Of an object whose class has a text: *out becomes an OP_TEXT; for an Optional the value or text of what is in it, or
 * OP_NULL where nothing is. False: this object has none, as a number with too many digits, an Optional of something
 * else, or a Class that the caller may not name.
 */
bool result_read_text(const struct jvm_request *request, const struct jvm_class *class, jobject object,
                      struct op_value *out);

#endif
