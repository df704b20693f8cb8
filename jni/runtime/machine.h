#ifndef JPEER_JNI_RUNTIME_MACHINE_H
#define JPEER_JNI_RUNTIME_MACHINE_H
/*
 * What stands behind struct jvm and struct jvm_thread. For jni/ and its tests alone: everybody else sees
 * jni/jvm.h, which knows no <jni.h>.
 */
#include "jni/jvm.h"
#include "jni/runtime/known.h"

#include <jni.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stdint.h>

struct jvm_class;
struct jvm_classes;  /* process-wide table of class ids: of the member look-up */
struct member_cache; /* of jni/resolve */
struct fill_cache;   /* of jni/convert */

/* One a process, written before hooks.started and not after, but for `classes` and `has_stopped`. */
struct jvm {
  JavaVM *vm;
  jvmtiEnv *jvmti; /* any thread may use it */
  /* The JVM has stopped for good, but the process goes on: whoever asked it anything now would wait for ever.
   */
  atomic_bool has_stopped;
  struct jvm_known known;
  jobject class_loader; /* global: the application's (ClassLoader.getSystemClassLoader) */
  /* global: classes of jpeer.peer */
  jclass thread_class;
  jclass start_class;
  jclass bulk_copy_class;
  jmethodID bulk_copy_add;
  jmethodID bulk_copy_put;
  jmethodID bulk_copy_set;
  jclass traces_class;
  jmethodID traces_tell;
  jmethodID thread_new;
  jfieldID thread_is_changed;

  /* Of jni/runtime/thread_groups.h. */
  jobject application_group; /* global */
  jobject attach_group;      /* global: of threads that are attached for a while; NULL: the application's */
  jmethodID group_new_root;  /* NULL: groups list no threads here */
  jfieldID thread_group;     /* Thread.group, with group_new_root alone */

  /* Owned by the member look-up, which makes it on first use under a lock of its own; never freed. */
  struct jvm_classes *classes;
};

/* A Java thread's state: made on it, used on it alone (but for java_thread), gone when its run returns. */
struct jvm_thread {
  JNIEnv *env;
  struct jvm *jvm;
  jvmtiEnv *jvmti;
  jobject java_thread; /* global; JVMTI may be asked about it from other threads */
  uint32_t number;     /* of this thread alone, from 1 */

  bool has_frame;       /* of local references; kept for the next request where this one left it empty */
  bool frame_is_empty;  /* said of the request in hand, by jvm_invoke */
  unsigned more_frames; /* inside that one, of a request that holds many references; then it is not empty */

  uint16_t *units; /* jvm_thread_units: scratch for strings on their way across */
  size_t unit_capacity;

  struct jvm_class *last_class; /* a permanent one that was asked for last; NULL: none yet */

  /* What rooms above keep for the thread. Each makes its own on first use and sets the function that frees
   * it, which is called on this thread, with Java still usable, when the thread ends. */
  struct member_cache *member_cache;
  void (*member_cache_destroy)(struct jvm_thread *thread);
  struct fill_cache *fill_cache;
  void (*fill_cache_destroy)(struct jvm_thread *thread);
};

/* Fills *thread for the calling thread, which is attached with env. Takes java_thread, a global reference. */
void jvm_thread_init(struct jvm_thread *thread, struct jvm *jvm, JNIEnv *env, jobject java_thread);
/* With Java still usable on this thread. */
void jvm_thread_fini(struct jvm_thread *thread);

/* Drops every frame of local references that requests have opened. */
void jvm_thread_drop_frames(struct jvm_thread *thread);

/*
 * Another frame for the request in hand, with room for count local references (at most 65,536, HotSpot's limit
 * of a frame); jvm_request_end drops it. False: the JVM has no room, and no exception is pending.
 */
bool jvm_request_add_frame(struct jvm_thread *thread, size_t count);

/* Room for count UTF-16 units, valid until the next call or jvm_request_end; NULL when memory is short. */
uint16_t *jvm_thread_units(struct jvm_thread *thread, size_t count);
/* Gives back a large room. */
void jvm_thread_trim_units(struct jvm_thread *thread);

#endif
