#ifndef JPEER_JNI_START_STOPPING_H
#define JPEER_JNI_START_STOPPING_H
/*
 * From a signal to the end of the process.
 *
 * A thread that the JVM does not know reads the signals, so that called code cannot touch it. At the first
 * signal jvm_stopping_await returns, on a Java thread that then calls System.exit, which waits for shutdown
 * hooks as with java. A signal that comes grace_ms after the first, or later, ends the process whatever Java
 * does.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct jvm;

/*
 * The handlers of TERM, INT and HUP (docs/internals/start-and-stop.md) are set before the JVM is
 * created, so that no signal is lost; HotSpot, which sets no handler for a signal that is ignored while it
 * starts, reads that these are. A signal that the process was started with as ignored (nohup, a shell's
 * background job) stays ignored, as with java. Process-wide; call these from one thread.
 */

/* Sets a handler that makes the eventfd *descriptor readable, and hides it from HotSpot until one of the next
 * two calls. The descriptor lives as long as the process. own_hangup: HUP does not ask to stop, and is caught
 * even if it was ignored. JP_IO. */
enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error) JP_MUST_CHECK;
/* The JVM has been created: sets the handlers again, over those that agents have set, and hides them no more. */
void jvm_signals_keep(void);
/* The JVM could not be created: restores the actions before jvm_signals_catch. */
void jvm_signals_restore(void);

enum { JVM_STOPPING_STATUS = 143 }; /* the exit status if a later signal ends the process: 128 + SIGTERM */

struct jvm_stopping_config {
  int descriptor;       /* of jvm_signals_catch */
  int64_t grace_ms;     /* from the first signal on; 0: any second signal ends the process */
  void (*hangup)(void); /* for a HUP that does not ask to stop (jvm_signals_catch) */
  void (*exiting)(
      int status); /* the last thing before _exit, on a thread that may not use Java; it may hang */
};

/* Starts the thread. Once; before the JVM is created, so that a second signal ends a start that hangs. JP_LIMIT. */
enum jp_status jvm_stopping_start(const struct jvm_stopping_config *config,
                                  struct jp_error *error) JP_MUST_CHECK;

/* The JVM is up: it can be asked what it waits for. */
void jvm_stopping_set_jvm(struct jvm *jvm);

/* Returns after the first signal; false: jvm_stopping_dismiss has been called. One thread. */
bool jvm_stopping_await(void);
/* The JVM exits, whatever has asked for it: nobody needs to wait for a signal any more. */
void jvm_stopping_dismiss(void);

#endif
