#ifndef JPEER_JNI_CONVERT_RESULTS_H
#define JPEER_JNI_CONVERT_RESULTS_H
/*
 * What came back from Java, as an outcome (behaviour.md, "Results"). On the thread's own thread; no exception
 * may be pending on entry, none is on return.
 */
#include "jni/convert/arguments.h"

/*
 * A result of the declared type. A wrapper or String travels by value and is not kept; any other object gets
 * a ref, and a small array of primitives, wrappers or Strings its elements too. The object's local reference
 * is deleted.
 */
void result_fill(const struct jvm_request *request, uint64_t epoch, struct jvm_type *declared,
                 const jvalue *value, struct outcome *outcome);

/* The parts of it. Those that fail leave an OUTCOME_ERROR. */

/* A wrapper or a String. */
bool result_is_value_class(const struct jvm_class *class);
bool result_read_value_object(const struct jvm_request *request, const struct jvm_class *class,
                              jobject object, struct op_value *out, struct outcome *outcome);
/* An array of primitives whose length is count. */
bool result_fill_primitives(const struct jvm_request *request, const struct jvm_class *class, jobject array,
                            jsize count, struct op_value *out, struct outcome *outcome);
bool result_store(const struct jvm_request *request, uint64_t epoch, const struct jvm_class *class,
                  jobject object, uint32_t *ref, struct outcome *outcome);

/*
 * An object of an operation that wants values (by_value): arrays, collections and maps whole, with what is in
 * them; objects of any other class, and of an OP_NEW, as OP_REF; a map whose keys are not all wrappers,
 * Strings or null too. The outcome's ref is one of the refs that were given, 0 where there is none. A cycle,
 * more elements in all than array-value-max and more levels than the limit are errors
 * (jsonrpc-1.1-decisions.md, 13). Runs size, toArray, entrySet, getKey and getValue of the application's own
 * collections.
 */
void result_fill_by_value(const struct jvm_request *request, uint64_t epoch, jobject object,
                          struct outcome *outcome);

#endif
