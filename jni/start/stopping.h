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

#include <stdint.h>

struct jvm;

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

/* Returns after the first signal. One thread. */
void jvm_stopping_await(void);

#endif
