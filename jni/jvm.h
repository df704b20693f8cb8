#ifndef JPEER_JNI_JVM_H
#define JPEER_JNI_JVM_H
/*
 * The JVM inside the process: finding libjvm, starting, running main, threads, and the one way out.
 * This header knows no <jni.h>, so that the rest of the peer can use it. One JVM a process, once.
 */
#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jvm;        /* the machine: process-wide, valid from hooks.started to the end of the process */
struct jvm_thread; /* a thread that may use Java: its JNIEnv and its caches; used on that thread alone */

struct jvm_home {
  char libjvm[PATH_MAX];    /* the library itself */
  char java_home[PATH_MAX]; /* the JDK or JRE that it belongs to: holds lib/, conf/ and release */
  int feature_version;      /* 17, 21, 25: from the release file; 0 where that says nothing */
};

/*
 * Finds libjvm: at `requested` (--jvm: the library, or a Java home), else JAVA_HOME, else `java` on PATH
 * (links followed), else the usual folders. JP_NOT_FOUND: the text lists every place that was looked at. Only
 * reads the file system.
 */
enum jp_status jvm_locate(const char *requested, struct jvm_home *home, struct jp_error *error) JP_MUST_CHECK;

struct jvm_launch {
  const struct jvm_home *home;
  const char *class_path; /* without wildcards; NULL: "." as java does, none with main_module. With jar: not
                             used */
  const char *const *options; /* -J options, as a JVM takes them ("-Xmx1g") */
  size_t option_count;
  const char *main_class;  /* NULL with jar, main_module or as_service; binary name, '/' taken as '.' */
  const char *jar;         /* -jar: its manifest names the main class */
  const char *main_module; /* -m: MODULE, whose descriptor names the main class, or MODULE/CLASS */
  const char *const *args; /* main's arguments: bytes in the locale's encoding, as java takes them */
  size_t arg_count;
  bool as_service;  /* no main: runs until a signal or System.exit */
  int64_t grace_ms; /* how long after the first signal others do nothing; 0: the second ends the process */
};

struct jvm_hooks {
  void *context;
  /* The JVM is up, the main class is found (loaded, not initialised), main has not run. Called on the Java
   * thread "main". An error ends the start: jvm_run reports nothing itself and returns 1. */
  enum jp_status (*started)(void *context, struct jvm *jvm, struct jp_error *error);
  /* The way out has begun (SIGTERM, SIGINT, System.exit, or the last non-daemon thread has ended): called
   * once, on a Java thread of the peer's shutdown hook. Java may still be used; when it returns, the JVM goes
   * on ending. */
  void (*drain)(void *context);
  /* The JVM ended the process while it was being made (memory that cannot be had, an agent that does not
   * load): *error says why, in one line. exiting follows, with status 1. */
  void (*died)(void *context, const struct jp_error *error);
  /* The last thing before _exit, on a thread that may not use Java: flush what needs it. Where a signal ends
   * the process, nobody waits for it for long. */
  void (*exiting)(void *context, int status);
  /* SIGHUP has come, at any time from `started` on. Returns soon, on a thread that may not use Java. NULL:
   * SIGHUP stops the JVM as SIGTERM does. */
  void (*hangup)(void *context);
};

/*
 * Starts the JVM on a thread of its own and runs the application. Returns the process's exit status when the
 * JVM could not be started (1; *error says why, in one line; JP_NOT_FOUND: there is no such main class) or
 * was ended by DestroyJavaVM; where the application or a signal ends the JVM through System.exit, the process
 * ends inside, with that status. Call once, from main's thread, before any other thread of the process has
 * touched signals.
 *
 * Signals (design.md, "Start and stop"): TERM, INT and HUP are ignored while the JVM is made. After that HUP
 * calls hooks.hangup, where there is one. Of the others, and of HUP where there is none, the
 * first lets a thread of the peer call System.exit(0), which waits for the application's shutdown hooks; one
 * that comes grace_ms later, or more, ends the process with 143 and a line in the log that names the hook
 * that was waited for. QUIT stays the JVM's (thread dump). An uncaught exception in main is printed as java
 * prints it; the status is then 1.
 */
int jvm_run(const struct jvm_launch *launch, const struct jvm_hooks *hooks, struct jp_error *error);

/*
 * Starts a daemon Java thread (a class of the peer, loaded by the application's class loader, so that the
 * context class loader and the caller class of called code are right; stack 1 MiB) whose native method runs
 * run(argument, thread). The struct jvm_thread is valid until run returns. JP_LIMIT or JP_JAVA when no thread
 * can be made. Callable from any thread, attached or not.
 */
enum jp_status jvm_spawn(struct jvm *jvm, const char *name,
                         void (*run)(void *argument, struct jvm_thread *thread), void *argument,
                         struct jp_error *error) JP_MUST_CHECK;

/* True where the thread stands inside Runtime.exit or halt, or the JVM has stopped, so that it never comes
 * back. Callable from any thread, attached or not, while `thread` is valid. */
bool jvm_thread_is_exiting(struct jvm *jvm, const struct jvm_thread *thread);

/* System.gc(). */
void jvm_gc(struct jvm_thread *thread);

#endif
