#ifndef JPEER_JNI_RUNTIME_MACHINE_H
#define JPEER_JNI_RUNTIME_MACHINE_H
/*
 * The definitions of struct jvm and struct jvm_thread. Only jni/ and its tests include this header; the rest
 * of the peer includes jni/jvm.h, which does not include <jni.h>.
 */
#include "base/transitions.h"
#include "jni/jvm.h"
#include "jni/runtime/known.h"

#include <jni.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stdint.h>

struct jvm_class;
struct jvm_classes;        /* the process's table of class ids; of jni/types */
struct member_cache;       /* of jni/resolve */
struct fill_cache;         /* of jni/convert */
struct found_classes;      /* of jni/loaders */
struct jvm_callback_hooks; /* of jni/callbacks.h */

/* The ids of the classes of jpeer.peer that implement callbacks. Classes are global references. */
struct jvm_callback_ids {
  jclass callback_class;
  jmethodID make; /* static */
  jfieldID proxy;
  jfieldID proxy_number;
  jclass kind_class;
  jmethodID make_kind;        /* static */
  jmethodID function_of;      /* static */
  jmethodID function_name_of; /* static */
  jfieldID methods;
  jfieldID results;
  jfieldID sent;
  jclass exception_class;
  jmethodID new_exception;
  jclass waiting_class;
  jmethodID wake;
  jfieldID number;
  jfieldID nanos;
  jfieldID is_interrupted;
  jclass released_class;
};

/* Classes of jpeer.peer that read rows for jpeer.columns (jni/fetch/columns.c) and write those of jpeer.rows
 * (jni/fetch/rows.c), and their members. */
struct jvm_columns_ids {
  jclass column_class;
  jclass step_class;
  jclass path_class;
  jclass bad_columns_class;
  jclass rows_class;
  jclass object_rows_class;
  jclass result_set_rows_class;
  jclass pages_class;
  jclass sent_class;
  jclass statement_rows_class;
  jclass sink_class;
  jmethodID pages_open;
  jmethodID pages_new;
  jmethodID pages_begin;
  jmethodID pages_end;
  jmethodID pages_take;
  jmethodID pages_sizes;
  jmethodID pages_cut;
  jmethodID pages_finish;
  jmethodID sent_new;
  jmethodID sink_new;
  jmethodID sink_write;
  jfieldID pages_columns;
  jfieldID pages_rows;
  jfieldID pages_is_done;
  jfieldID column_name;
  jfieldID column_is_nullable;
  jfieldID column_scale;
  jfieldID column_has_nulls;
  jfieldID column_nulls;
  jfieldID column_numbers;
  jfieldID column_objects;
  jfieldID column_offsets;
  jfieldID column_bytes;
  jfieldID sink_counts;
  jfieldID sink_failure;
  jfieldID sink_place;
};

/* One per process. Written before hooks.started and never afterwards, except `classes` with
 * `known_class_name`, and `has_stopped`. */
struct jvm {
  JavaVM *vm;
  jvmtiEnv *jvmti; /* any thread may use it */
  /* The JVM has stopped, but the process still runs: any call into the JVM would block for ever. */
  atomic_bool has_stopped;
  struct jvm_known known;
  _Atomic size_t assembled; /* bytes of the pieces of unfinished objects (jvm_objects_assemble) */
  jobject class_loader;     /* global: the application's (ClassLoader.getSystemClassLoader) */
  /* Classes of jpeer.peer: global references. */
  jclass thread_class;
  jclass start_class;
  jclass bulk_copy_class;
  jmethodID bulk_copy_add;
  jmethodID bulk_copy_no_keys;
  jmethodID bulk_copy_put;
  jmethodID bulk_copy_set;
  jclass cursor_class;
  jmethodID cursor_new;
  jmethodID cursor_begin;
  jmethodID cursor_end;
  jmethodID cursor_source;
  jmethodID cursor_open;
  jmethodID cursor_take;
  jfieldID cursor_given;
  jclass traces_class;
  jmethodID traces_describe;
  jclass packages_class;
  jmethodID packages_has;
  jclass task_class;
  jmethodID task_new;
  struct jvm_callback_ids callback;
  struct jvm_columns_ids columns;
  const struct jvm_callback_hooks *callback_hooks; /* NULL: no client can be called */
  jmethodID thread_new;
  jfieldID thread_is_changed;

  /* The thread groups of the peer's threads (jni/runtime/peer_threads.c). */
  jobject application_group; /* global */
  jobject attach_group; /* global: for threads that are attached for a while; NULL: use application_group */
  jmethodID group_new_root; /* NULL if groups do not list their threads (JDK 19 and later) */
  jfieldID thread_group;    /* Thread.group; set only with group_new_root */

  /* Created on first use by jni/types, under its own lock; never freed. */
  struct jvm_classes *classes;
  /* Set together with `classes`: the name of an object's class from that table. This is faster than asking
   * the JVM. data NULL: the class is not in the table. */
  struct text (*known_class_name)(struct jvm_thread *thread, jobject object);
};

/*
 * The first frame of local references of a thread, either of its own thread or of the thread that has
 * borrowed it.
 *
 * | state           | meaning                                          | what ends it                                 |
 * | JVM_FRAME_NONE  | no frame is open                                 | jvm_request_begin                            |
 * | JVM_FRAME_USED  | the request being served may have references     | jvm_request_end, and what else drops frames; |
 * |                 | in it                                            | a call that leaves no reference              |
 * | JVM_FRAME_EMPTY | the request being served has left no reference   | jvm_request_begin, for the next request; a   |
 * |                 | in it, so jvm_request_end keeps it open          | result that has references                   |
 */
enum jvm_frame {
  JVM_FRAME_NONE, /* no frame of local references is open */
  JVM_FRAME_USED, /* a frame is open, in which the request being served may have references */
  JVM_FRAME_EMPTY /* a frame is open for the next request, without references */
};

static const uint16_t jvm_frame_transitions[] = {
    [JVM_FRAME_NONE] = TO(JVM_FRAME_NONE) | TO(JVM_FRAME_USED),
    [JVM_FRAME_USED] = TO(JVM_FRAME_USED) | TO(JVM_FRAME_EMPTY) | TO(JVM_FRAME_NONE),
    [JVM_FRAME_EMPTY] = TO(JVM_FRAME_EMPTY) | TO(JVM_FRAME_USED) | TO(JVM_FRAME_NONE),
};

/* The data that the peer keeps for one Java thread. Created on that thread and used only there, except
 * java_thread, and while it is lent (jvm_thread_lend). Freed when the thread's run returns. */
struct jvm_thread {
  JNIEnv *env;     /* of the thread that uses this struct at the moment */
  JNIEnv *own_env; /* of the thread for which it was created; constant */
  struct jvm *jvm;
  jvmtiEnv *jvmti;
  jobject java_thread; /* global; other threads may pass it to JVMTI */
  /* java_thread, borrowed: its interrupt flag and class loader are restored between requests. NULL: never
   * touch them */
  jobject restorable;

  enum jvm_frame frame;
  unsigned
      more_frames; /* further frames that a request with many references has opened inside the first frame */

  uint16_t *units; /* jvm_thread_units: scratch buffer for converting strings */
  size_t unit_capacity;

  /* The throwable that throwable_to_outcome has described last, for a request that asks for its ref. */
  struct {
    bool is_wanted; /* `described` and `object` are set only if this is true */
    jobject object; /* global; NULL: none yet */
    const struct outcome_throwable *described;
  } thrown;

  struct jvm_class *last_class; /* the permanent class that was looked up last; NULL: none yet */

  /* Caches of the folders above. Each folder creates its own on first use and sets the function that frees
   * it. The function is called on this thread when the thread ends, while Java is still usable. */
  struct member_cache *member_cache;
  void (*member_cache_destroy)(struct jvm_thread *thread);
  struct fill_cache *fill_cache;
  void (*fill_cache_destroy)(struct jvm_thread *thread);
  struct reading_cache *reading_cache;
  void (*reading_cache_destroy)(struct jvm_thread *thread);
  struct found_classes *found_classes;
  void (*found_classes_destroy)(struct jvm_thread *thread);
};

static inline void jvm_thread_set_frame(struct jvm_thread *thread, enum jvm_frame to)
{
  ASSERT_TRANSITION(jvm_frame_transitions, thread->frame, to);
  thread->frame = to;
}

/* Fills *thread for the calling thread, which is attached with env. Takes ownership of java_thread, a global
 * reference. */
void jvm_thread_init(struct jvm_thread *thread, struct jvm *jvm, JNIEnv *env, jobject java_thread);
/* Call it on the thread itself, while Java is still usable. */
void jvm_thread_fini(struct jvm_thread *thread);

/* The members of a struct jvm_thread that jvm_thread_lend replaces and jvm_thread_return restores. */
struct jvm_thread_place {
  JNIEnv *env;
  jobject restorable;
  enum jvm_frame frame;
  unsigned more_frames;
};

/* Lets the calling thread use *thread; env is the calling thread's. Its own thread must wait during that
 * time. The borrower ends this with jvm_thread_return, after it has closed its frames. */
struct jvm_thread_place jvm_thread_lend(struct jvm_thread *thread, JNIEnv *env);
void jvm_thread_return(struct jvm_thread *thread, const struct jvm_thread_place *place);

/* Closes every frame of local references that requests have opened on this thread. Returns `kept` (may be
 * NULL) as a local reference of the caller's frame. */
jobject jvm_thread_drop_frames_except(struct jvm_thread *thread, jobject kept);

/*
 * Opens another frame for the request being served, with room for count local references (at most 65,536,
 * HotSpot's limit). jvm_request_end closes it. False: the JVM's memory is short; no exception is pending.
 */
bool jvm_request_add_frame(struct jvm_thread *thread, size_t count);

/* A buffer for count UTF-16 units, valid until the next call or jvm_request_end; NULL if memory is short. */
uint16_t *jvm_thread_units(struct jvm_thread *thread, size_t count);

#endif
