#ifndef JPEER_JNI_START_STOPPING_H
#define JPEER_JNI_START_STOPPING_H
/*
 * From a signal to the end of the process.
 *
 * A thread that the JVM does not know reads the signals, so that application code cannot disturb it. At the
 * first signal jvm_stopping_await returns on a Java thread. This thread then calls System.exit, which waits
 * for shutdown hooks, as with java. A signal that arrives grace_ms after the first, or later, ends the
 * process, even if Java prevents the end.
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct jvm;
struct jvm_thread;

/*
 * The handlers of TERM, INT and HUP (docs/internals/start-and-stop.md) are set before the JVM is created, so
 * that no signal is lost. While HotSpot starts, these signals look ignored to it. For this reason HotSpot
 * sets no handlers of its own for them. A signal that was already ignored when the process started (nohup, a
 * shell's background job) remains ignored, as with java. Process-wide; call these functions from one thread.
 */

/* Sets a handler that makes the eventfd *descriptor readable, and hides the handler from HotSpot until one of
 * the next two calls. The descriptor is never closed. own_hangup: HUP does not ask to stop, and is caught
 * even if it was ignored. JP_IO. Also catches ABRT
 * unless it is ignored or handled: a line in the log says who has sent it, and it ends the process as usual. */
enum jp_status jvm_signals_catch(bool own_hangup, int *descriptor, struct jp_error *error) JP_MUST_CHECK;
/* Call it after the JVM was created. Sets the handlers again, in place of handlers that agents have set, and
 * no longer hides them. */
void jvm_signals_keep(void);
/* Call it if the JVM could not be created: restores the actions from before jvm_signals_catch. */
void jvm_signals_restore(void);

enum { JVM_STOPPING_STATUS = 143 }; /* the exit status if a later signal ends the process: 128 + SIGTERM */

struct jvm_stopping_config {
  int descriptor;              /* of jvm_signals_catch */
  int64_t grace_ms;            /* counted from the first signal; 0: any second signal ends the process */
  void (*hangup)(void);        /* for a HUP that does not ask to stop (jvm_signals_catch) */
  void (*exiting)(int status); /* called last before _exit, on a thread that may not use Java; it may hang */
};

/* Starts the thread. Once, before the JVM is created, so that a second signal ends a start that hangs.
 * JP_LIMIT. */
enum jp_status jvm_stopping_start(const struct jvm_stopping_config *config,
                                  struct jp_error *error) JP_MUST_CHECK;

/* Call it when the JVM is up: the report can then name the hook that the JVM waits for. */
void jvm_stopping_set_jvm(struct jvm *jvm);

/* Returns after the first signal; false: jvm_stopping_dismiss has been called. One thread. */
bool jvm_stopping_await(void);
/* Logs why the process ends: the first signal and its sender, the code that called System.exit, or the end of
 * the application's last thread. A signal that the process sent itself is not logged here, because its sender
 * logs it. Call it on the thread of a shutdown hook. */
void jvm_stopping_log_cause(struct jvm_thread *thread);
/* Call it when the JVM exits, for whatever reason: jvm_stopping_await returns, because no thread needs to
 * wait for a signal any more. */
void jvm_stopping_dismiss(void);

#endif
