#ifndef JPEER_JNI_RUNTIME_THROWABLES_H
#define JPEER_JNI_RUNTIME_THROWABLES_H
/*
 * The one way to look at a Java exception. After every JNI call that can raise one:
 *
 *   if (throwable_take(thread, error))
 *     goto out;
 *
 * Describing a throwable runs its own getMessage and getCause. Whatever these do (throw, overflow the stack,
 * run out of memory, answer with themselves or with ever new causes), the description ends and no exception
 * is pending afterwards. On the thread's own thread.
 */
#include "base/arena.h"
#include "jni/runtime/machine.h"
#include "op/outcome.h"

#include <stdbool.h>

/* True where an exception is pending: it is cleared, and *error (may be NULL) is JP_JAVA with "type:
 * message".
 */
bool throwable_take(struct jvm_thread *thread, struct jp_error *error);

/* True where an exception is pending: it is cleared, and *outcome is a FAILURE_SERVER that tells of it, in
 * the arena. frames_max: Java frames to tell of, the innermost; the peer's own are left out. */
bool throwable_take_outcome(struct jvm_thread *thread, struct arena *arena, size_t frames_max,
                            struct outcome *outcome);

/* The pending exception, cleared, as a local reference; NULL where there is none. For callers that must know
 * what was thrown before they describe it. */
jthrowable throwable_catch(JNIEnv *env);

/* Describes a throwable, its message cut at 65,536 UTF-16 units and its causes at 32. Never NULL but when C's
 * memory is short. */
struct outcome_throwable *throwable_describe(struct jvm_thread *thread, jthrowable throwable,
                                             struct arena *arena, size_t frames_max);

/* The outcome for a throwable: what throwable_take_outcome gives. */
void throwable_to_outcome(struct jvm_thread *thread, jthrowable throwable, struct arena *arena,
                          size_t frames_max, struct outcome *outcome);

#endif
