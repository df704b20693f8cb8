#ifndef JPEER_JNI_CALLBACKS_ANSWERS_H
#define JPEER_JNI_CALLBACKS_ANSWERS_H
/* What a client's answer becomes in Java. Between jvm_request_begin and jvm_request_end, with no exception pending. */
#include "jni/proxies/kinds.h"

/* What Java gets of a call. */
struct callback_result {
  jobject value;  /* local; NULL for null and for nothing */
  bool is_thrown; /* value is to be thrown */
};

/* Converts what the method returns. False: *failed is an OUTCOME_ERROR that says why it cannot. */
bool callback_answer_return(const struct jvm_request *request, const struct callback_method *method,
                            struct op_value *value, struct callback_result *result, struct outcome *failed);

/* What the client has thrown: the session's throwable, a new one, or a CallbackException. */
void callback_answer_throw(const struct jvm_request *request, const struct jvm_callback_answer *answer,
                           struct callback_result *result);

/* A jpeer.peer.CallbackException or, where memory is short, what Java throws in its place. message data NULL: none. */
struct callback_result callback_exception(struct jvm_thread *thread, int code, struct text message);

/* In a wrapper, for the handler's caller. NULL: an exception is pending. */
jobject callback_box(const struct jvm *jvm, JNIEnv *env, char letter, const jvalue *value);

#endif
