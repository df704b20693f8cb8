#ifndef JPEER_JNI_CALLBACKS_THROWN_ANSWERS_H
#define JPEER_JNI_CALLBACKS_THROWN_ANSWERS_H
/* Makes the throwables of error answers to callbacks. Called on the thread of the call, with no exception
 * pending. */
#include "jni/callbacks.h"
#include "jni/runtime/machine.h"

/* A jpeer.peer.CallbackException or, if memory is short, the exception that making it has thrown. A local
 * reference. message data NULL: none. */
jobject callback_exception_make(struct jvm_thread *thread, int code, struct text message);

/* The throwable of an error answer: an object of the session, a new throwable, or a CallbackException, with
 * the frames and causes of the answer. A local reference. Called while the request's frame of references is
 * open. */
jobject callback_throwable_make(const struct jvm_request *request, const struct jvm_callback_answer *answer);

#endif
