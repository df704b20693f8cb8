#ifndef JPEER_JNI_START_SIGNALS_H
#define JPEER_JNI_START_SIGNALS_H
/*
 * TERM, INT and HUP (design.md, "Start and stop"). HotSpot leaves a signal alone that is ignored while it
 * starts; so they are, and get the peer's own handler afterwards. One that the process was started with as
 * ignored (nohup, a shell's background job) stays so, as java does. Process-wide; called from one thread.
 */
#include "base/status.h"

#include <stdbool.h>

/* What signals ask for. */
enum { JVM_SIGNALS_STOP = 1, JVM_SIGNALS_HANGUP = 2 };

/* Ignores them. */
void jvm_signals_ignore(void);
/* Gives them back what they had before jvm_signals_ignore. */
void jvm_signals_restore(void);
/* Gives them a handler that makes the eventfd *descriptor readable. The descriptor lives as long as the
 * process. own_hangup: HUP asks for something else than to stop, and is caught also where it was ignored.
 * JP_IO. */
enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error) JP_MUST_CHECK;
/* What they have asked for since the last call: a set. Any thread. */
unsigned jvm_signals_take(void);

#endif
