#ifndef JPEER_JNI_START_SIGNALS_H
#define JPEER_JNI_START_SIGNALS_H
/*
 * TERM, INT and HUP (docs/architecture.md, "Start and stop"). The peer's handlers are set before the JVM is
 * created, so that no signal is lost; HotSpot, which sets no handler for a signal that is ignored while it
 * starts, reads that these are. A signal that the process was started with as ignored (nohup, a shell's
 * background job) stays ignored, as with java. Process-wide; call these from one thread.
 */
#include "base/status.h"

#include <stdbool.h>

/* The requests of signals. */
enum { JVM_SIGNALS_STOP = 1, JVM_SIGNALS_HANGUP = 2 };

/* Sets a handler that makes the eventfd *descriptor readable, and hides it from HotSpot until one of the next
 * two calls. The descriptor lives as long as the process. own_hangup: HUP does not ask to stop, and is caught
 * even if it was ignored. JP_IO. */
enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error) JP_MUST_CHECK;
/* The JVM has been created: sets the handlers again, over those that agents have set, and hides them no more. */
void jvm_signals_keep(void);
/* The JVM could not be created: restores the actions before jvm_signals_catch. */
void jvm_signals_restore(void);
/* The set of requests since the last call. Any thread. */
unsigned jvm_signals_take(void);

#endif
