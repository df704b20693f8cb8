#ifndef JPEER_JNI_JVM_H
#define JPEER_JNI_JVM_H
/*
 * The JVM inside the process: finding libjvm, starting it, running main, threads, and stopping. This header
 * does not include <jni.h>, so that the rest of the peer can include it. A process starts one JVM, once.
 */
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm;        /* process-wide, valid from hooks.started to the end of the process */
struct jvm_thread; /* a thread that may use Java: its JNIEnv and its caches; used only on that thread */

struct jvm_home {
  char libjvm[PATH_MAX];    /* the path of the library */
  char java_home[PATH_MAX]; /* the JDK or JRE that it belongs to: holds lib/, conf/ and release */
  int feature_version;      /* 17, 21, 25, from the release file; 0: unknown */
};

/*
 * Finds libjvm: at `requested` (--jvm: the library or a Java home), else JAVA_HOME, else `java` on PATH
 * (links followed), else the usual folders. Reads the file system, and starts nothing. JP_NOT_FOUND: the text
 * lists every place that was searched.
 */
enum jp_status jvm_locate(const char *requested, struct jvm_home *home, struct jp_error *error) JP_MUST_CHECK;

struct jvm_launch {
  const struct jvm_home *home;
  const char *class_path;     /* without wildcards; NULL: ".", or none with main_module; ignored with jar */
  const char *const *options; /* -J options, as a JVM accepts them ("-Xmx1g") */
  size_t option_count;
  const char *main_class;  /* NULL with jar, main_module or as_service; a binary name, '/' is read as '.' */
  const char *jar;         /* -jar: the jar's manifest names the main class */
  const char *main_module; /* -m: MODULE (its descriptor names the main class) or MODULE/CLASS */
  const char *const *args; /* main's arguments: bytes in the locale's encoding, as for java */
  size_t arg_count;
  bool as_service;  /* runs no main; the JVM runs until a signal or System.exit */
  int64_t grace_ms; /* time after the first signal during which further signals are ignored */
};

/* The stages that the application reaches, in this order. With as_service there are no stages. */
enum jvm_stage {
  JVM_MAIN_INITIALISED, /* the static initialisers of the main class have run, but not main */
  JVM_MAIN_RETURNED,    /* main has returned without an exception */
};

struct jvm_hooks {
  void *context;
  /* The JVM is up; the main class is loaded, but not initialised, and main has not run. Called on the Java
   * thread "main". An error ends the start: jvm_run returns 1 with this error. */
  enum jp_status (*started)(void *context, struct jvm *jvm, struct jp_error *error);
  /* Called on the Java thread "main" after `started`, possibly while `drain` runs. An error ends the process
   * like one of `started`. NULL: not called. */
  enum jp_status (*reached)(void *context, enum jvm_stage stage, struct jp_error *error);
  /* The JVM has begun to end. Called once, before `drain`, on the same thread, possibly while `started` or
   * `reached` run: whatever they wait for should end now. NULL: not called. */
  void (*stopping)(void *context);
  /* The JVM has begun to end (SIGTERM, SIGINT, System.exit, or the end of the last non-daemon thread). Called
   * once, by the peer's shutdown hook. The calling thread is a Java thread and may use Java. The JVM
   * continues to end when the hook returns. */
  void (*drain)(void *context);
  /* The JVM ended the process while it was being created (too little memory, an agent that does not load, or an
   * option that asks for help): *error says why, in one line. `exiting` follows. */
  void (*died)(void *context, const struct jp_error *error);
  /* Called last before _exit, on a thread that may not use Java, to flush buffers. If a signal ends the
   * process, the hook has one second. status: NULL if native code has called exit(3), whose handlers do not get the
   * status. */
  void (*exiting)(void *context, const int *status);
  /* SIGHUP has arrived, at any time after the call of jvm_run. Called on a thread that may not use Java; must
   * return soon. NULL: SIGHUP stops the JVM like SIGTERM. */
  void (*hangup)(void *context);
};

/*
 * Starts the JVM on a thread of its own and runs the application. Returns the process's exit status if the
 * JVM could not be started (1; *error says why, in one line; JP_NOT_FOUND: the main class does not exist) or
 * was ended by DestroyJavaVM. If the application or a signal ends the JVM through System.exit, the process
 * ends with that status, and jvm_run does not return. Call it once, from main's thread, before any other
 * thread changes signal masks or handlers.
 *
 * Signals (docs/internals/start-and-stop.md): HUP calls hooks.hangup, if it is set. The first of TERM and INT
 * (and of HUP, if hooks.hangup is not set) lets a thread of the peer call System.exit(0) as soon as the JVM
 * is up; System.exit waits for the application's shutdown hooks. A signal that arrives at least grace_ms
 * later ends the process with 143, and a line in the log names the hook that was still running. QUIT still
 * gives the JVM's thread dump. An uncaught exception in main is printed as java prints it; the status is then
 * 1.
 */
int jvm_run(const struct jvm_launch *launch, const struct jvm_hooks *hooks, struct jp_error *error);

/*
 * Starts a daemon Java thread whose native method runs run(argument, thread). The thread's class is the
 * peer's, loaded by the application's class loader, so that application code finds the right context class
 * loader and caller class. The stack has 1.5 MiB. The struct jvm_thread is valid until run returns. JP_LIMIT
 * or JP_JAVA: the thread cannot be made. Any thread may call this, attached or not.
 */
enum jp_status jvm_spawn(struct jvm *jvm, const char *name,
                         void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                         struct jp_error *error) JP_MUST_CHECK;

/* True if the thread is inside Runtime.exit or halt, or the JVM has stopped: the thread never returns from
 * Java. Any thread may call this, attached or not, while `thread` is valid. */
bool jvm_thread_is_exiting(struct jvm *jvm, const struct jvm_thread *thread);

/* Call it on the thread itself. From then on, the changes that a request makes to the thread (its interrupt
 * flag and its context class loader) are kept for the next request. */
void jvm_thread_keep_changes(struct jvm_thread *thread);

/* Calls Thread.interrupt() for `thread`, which belongs to another thread; that thread must not end during the
 * call. by: the jvm_thread of the calling thread, without an exception pending. The interrupt may run code of
 * the application, for example an interruptible channel's. */
void jvm_thread_interrupt(struct jvm_thread *by, const struct jvm_thread *thread);
/* The frames of `thread`, in the form of StackTraceElement.toString: the innermost first, at most max,
 * without frames of the peer's own class. `thread` is the calling thread, or another thread that must not end
 * during the call. The texts of the frames are in the arena. Returns the number of frames. by: as for
 * jvm_thread_interrupt. The JVM may keep the calling thread waiting. */
size_t jvm_thread_trace(struct jvm_thread *by, const struct jvm_thread *thread, struct arena *arena,
                        struct text *frames, size_t max);
/* Thread.interrupted(), on the thread itself: the flag is clear afterwards. True: it was set. */
bool jvm_thread_clear_interrupt(struct jvm_thread *thread);

/* System.gc(). */
void jvm_gc(struct jvm_thread *thread);

#endif
