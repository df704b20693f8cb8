#ifndef JPEER_TESTS_UNIT_JNI_REFERENCE_LEDGER_H
#define JPEER_TESTS_UNIT_JNI_REFERENCE_LEDGER_H
/*
 * Counts the local references that this program's own code makes in each of its frames, and holds them
 * against what PushLocalFrame and EnsureLocalCapacity were asked for. -Xcheck:jni counts too, but each JVM
 * leniently in its own way; this count is the same on all of them. JVMs differ in whether EnsureLocalCapacity
 * asks for more beside what the frame holds or for so many in all: the second, stricter reading counts here.
 *
 * Counted are the JNI calls of one thread that come from the executable itself: JDK code that runs below a
 * call has frames of its own. References that JVMTI makes, and those outside of any frame, are not seen.
 */
#include <jni.h>
#include <stdbool.h>
#include <stddef.h>

/* Puts the counting functions into the JVM's JNI table (JVMTI SetJNIFunctionTable); on the thread to count.
 * False: the JVM refused. */
bool reference_ledger_start(JNIEnv *env);

/* How often a frame came to hold more than was asked for; each was told on stderr. */
size_t reference_ledger_overruns(void);
/* The most references that one frame has held, and the most frames that were open at once, since the last
 * reference_ledger_reset. */
size_t reference_ledger_most(void);
size_t reference_ledger_depth(void);
void reference_ledger_reset(void);

#endif
