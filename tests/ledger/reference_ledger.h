#ifndef JPEER_TESTS_LEDGER_REFERENCE_LEDGER_H
#define JPEER_TESTS_LEDGER_REFERENCE_LEDGER_H
/*
 * Counts the references that this program's own code makes. Local references are compared with the capacity
 * of their frame, as requested by PushLocalFrame and EnsureLocalCapacity, and 16 outside of a request's
 * frames. -Xcheck:jni counts too, but each JVM allows other excesses; this count is the same on all JVMs. In
 * some JVMs, EnsureLocalCapacity makes room for more references in addition to the references in the frame;
 * in others, its argument is the total. The second, stricter meaning counts here. For each global or weak
 * reference the ledger knows which request made it.
 *
 * Only JNI calls from the executable itself are counted: JDK code below a call has its own frames. References
 * that JVMTI makes are not counted, and local references outside of any frame are counted only within a
 * request.
 *
 * Each breach is a line on stderr that begins with "reference ledger: ", and names the request. Any thread.
 */
#include "base/text.h"

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>

/* Puts the counting functions into the JVM's JNI table (JVMTI SetJNIFunctionTable). Once. False: the JVM
 * refused. */
bool reference_ledger_start(JNIEnv *env);

/* Begins a request on the calling thread, which is attached. ends_with_client: references that the request
 * makes and that no cache keeps must be deleted when the client is gone. */
void reference_ledger_begin(struct text request, bool ends_with_client);
/* Ends the request. Breaches are local references that are left, a frame that is left (except one empty
 * frame), and a pending exception. */
void reference_ledger_end(void);

/*
 * Global and weak references of requests that still exist belong to caches, which do not grow when the same
 * request is repeated. For this reason it is a breach if one place in the code has made such references in
 * two requests of the same text. For references to classes or loaders it is a breach only if both refer to
 * the same class or loader. only_of_clients: checks only requests that end with their client. Call it after
 * the serving threads have ended.
 */
void reference_ledger_check_globals(JNIEnv *env, bool only_of_clients);

/* Breaches so far, of every kind. */
size_t reference_ledger_breaches(void);
/* The most frames that were open at once on the calling thread since its last reference_ledger_reset. */
size_t reference_ledger_depth(void);
void reference_ledger_reset(void);

#endif
