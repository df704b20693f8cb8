#ifndef JPEER_JNI_CALLBACKS_THROWN_ANSWERS_H
#define JPEER_JNI_CALLBACKS_THROWN_ANSWERS_H
/* Answers to callbacks that are errors: the throwables that Java gets. On the thread of the call, with no exception pending. */
#include "jni/callbacks.h"
#include "jni/runtime/machine.h"

/* A jpeer.peer.CallbackException or, where memory is short, what Java throws in its place: a local reference. message data
 * NULL: none. */
jobject callback_exception_make(struct jvm_thread *thread, int code, struct text message);

/* What the client has thrown: the session's throwable, a new one, or a CallbackException, with the frames and the cause that
 * the answer tells. A local reference. Within the request's frame of references. */
jobject callback_throwable_make(const struct jvm_request *request, const struct jvm_callback_answer *answer);

#endif
