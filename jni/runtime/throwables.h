#ifndef JPEER_JNI_RUNTIME_THROWABLES_H
#define JPEER_JNI_RUNTIME_THROWABLES_H
/*
 * Java exceptions. Every JNI call that can raise one is followed by:
 *
 *   if (throwable_take(thread, error))
 *     goto out;
 *
 * Describing a throwable runs its own getMessage and getCause. Whatever these methods do (throw, overflow the
 * stack, run out of memory, return ever new causes), the description ends, and no exception is pending
 * afterwards. Call these functions on the thread's own thread.
 */
#include "base/arena.h"
#include "jni/runtime/machine.h"
#include "op/outcome.h"

#include <stdbool.h>

/* True if an exception was pending: it is cleared, and *error (may be NULL) is JP_JAVA with "type:
 * message". */
bool throwable_take(struct jvm_thread *thread, struct jp_error *error);

/* True if an exception was pending: it is cleared, and *outcome is a FAILURE_SERVER that describes it, in the
 * arena. frames_max: how many Java frames to list, innermost first; the peer's own frames are left out. */
bool throwable_take_outcome(struct jvm_thread *thread, struct arena *arena, size_t frames_max,
                            struct outcome *outcome);

/* Clears the pending exception and returns it: a local reference; NULL: none was pending. For callers that
 * check its class before they describe it. */
jthrowable throwable_catch(JNIEnv *env);

/* Describes a throwable: at most 65,536 UTF-16 units of its message, at most 32 causes. NULL: C's memory is
 * short. */
struct outcome_throwable *throwable_describe(struct jvm_thread *thread, jthrowable throwable,
                                             struct arena *arena, size_t frames_max);

/* Makes the outcome for a throwable, as throwable_take_outcome does. */
void throwable_to_outcome(struct jvm_thread *thread, jthrowable throwable, struct arena *arena,
                          size_t frames_max, struct outcome *outcome);

#endif
