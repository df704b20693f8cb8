#ifndef JPEER_JNI_START_SIGNALS_H
#define JPEER_JNI_START_SIGNALS_H
/*
 * TERM, INT and HUP (docs/architecture.md, "Start and stop"). HotSpot sets no handler for a signal that is
 * ignored while it starts. So they are ignored then, and get the peer's handler afterwards. A signal that the
 * process was started with as ignored (nohup, a shell's background job) stays ignored, as with java.
 * Process-wide; call these from one thread.
 */
#include "base/status.h"

#include <stdbool.h>

/* The requests of signals. */
enum { JVM_SIGNALS_STOP = 1, JVM_SIGNALS_HANGUP = 2 };

/* Ignores the three signals. */
void jvm_signals_ignore(void);
/* Restores their actions before jvm_signals_ignore. */
void jvm_signals_restore(void);
/* Sets a handler that makes the eventfd *descriptor readable. The descriptor lives as long as the process.
 * own_hangup: HUP does not ask to stop, and is caught even if it was ignored. JP_IO. */
enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error) JP_MUST_CHECK;
/* The set of requests since the last call. Any thread. */
unsigned jvm_signals_take(void);

#endif
