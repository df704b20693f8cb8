#ifndef JPEER_JNI_INTERNAL_SIGNALS_H
#define JPEER_JNI_INTERNAL_SIGNALS_H
/*
 * TERM, INT and HUP (design.md, "Start and stop"). HotSpot leaves a signal alone that is ignored while it
 * starts; so they are, and get the peer's own handler afterwards. One that the process was started with as
 * ignored (nohup, a shell's background job) stays so, as java does. Process-wide; called from one thread.
 */
#include "base/status.h"

/* Ignores them. */
void jvm_signals_ignore(void);
/* Gives them back what they had before jvm_signals_ignore. */
void jvm_signals_restore(void);
/* Gives them a handler that makes the eventfd *descriptor readable. The descriptor lives as long as the
 * process. JP_IO. */
enum jp_status jvm_signals_catch(int *descriptor, struct jp_error *error) JP_MUST_CHECK;

#endif
