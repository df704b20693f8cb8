#ifndef JPEER_JNI_FETCH_H
#define JPEER_JNI_FETCH_H
/*
 * The next elements of an object of the session, a piece at a time (docs/protocol.md, "Elements and pieces").
 */
#include "jni/members.h"

/*
 * Runs an OP_FETCH on the thread's own thread, between jvm_request_begin and jvm_request_end. The judge is asked about
 * each member that it stands for, on the class of the object whose member it is. *outcome becomes a map: `elements`,
 * `done` and, where there may be more, the `ref` that takes the next call.
 *
 * What was taken from an iterator and is not in the outcome waits beside it in the session for the next call.
 */
void jvm_fetch(const struct jvm_request *request, struct outcome *outcome);

#endif
