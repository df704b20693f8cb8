#ifndef JPEER_JNI_CALLBACKS_CALLBACK_ARGUMENTS_H
#define JPEER_JNI_CALLBACKS_CALLBACK_ARGUMENTS_H
/* What Java passes to a callback's method, as outcomes for the message. Between jvm_request_begin and
 * jvm_request_end. */
#include "jni/convert/results.h"
#include "jni/proxies/kinds.h"

/*
 * arguments: an Object[], NULL for none; primitives are boxed. The outcomes are in the request's arena; refs are told
 * in its objects. NULL: *failed is an OUTCOME_ERROR.
 */
const struct outcome *callback_arguments_make(const struct jvm_request *request,
                                              const struct callback_method *method, jobjectArray arguments,
                                              struct outcome *failed);

#endif
