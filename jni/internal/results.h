#ifndef JPEER_JNI_INTERNAL_RESULTS_H
#define JPEER_JNI_INTERNAL_RESULTS_H
/*
 * What came back from Java, as an outcome (behaviour.md, "Results"). On the thread's own thread; no exception
 * may be pending on entry, none is on return.
 */
#include "jni/internal/records.h"

/*
 * A result of the declared type. A wrapper or String travels by value and is not kept; any other object gets
 * a ref, and a small array of primitives, wrappers or Strings its elements too. The object's local reference
 * is deleted.
 */
void result_fill(const struct jvm_request *request, const struct jvm_records *records,
                 struct java_type *declared, const jvalue *value, struct outcome *outcome);

#endif
