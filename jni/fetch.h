#ifndef JPEER_JNI_FETCH_H
#define JPEER_JNI_FETCH_H
/*
 * Objects a piece at a time: the next elements of one that the session holds, and one that the client builds
 * (docs/pieces.md).
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

/*
 * Runs an OP_ASSEMBLE, likewise: adds a piece to an array of primitives, a String, a List or a Map that is being built, or
 * begins one. The piece is made and judged as an argument is. *outcome becomes a map with the `ref`. The first use of the
 * object ends its building (jni/objects.h, jvm_objects_get).
 */
void jvm_assemble(const struct jvm_request *request, struct outcome *outcome);

#endif
