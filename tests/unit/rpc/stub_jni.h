#ifndef JPEER_TESTS_UNIT_RPC_STUB_JNI_H
#define JPEER_TESTS_UNIT_RPC_STUB_JNI_H
/*
 * The part of jni that rpc uses, without a JVM: a table of members that the test sets, sessions' objects as
 * plain numbers, threads as plain threads. Metadata is a text that the test sets.
 *
 * Not thread-safe except for the counters: tests that use threads change the table before they start them.
 */
#include "jni/describe.h"
#include "jni/executors.h"
#include "jni/fetch.h"
#include "jni/thread_names.h"
#include "rpc/meta/meta.h"

#include <stdatomic.h>

struct stub_member {
  const char *type;   /* as in the request */
  const char *member; /* "<init>" for a constructor */
  enum op_member_kind kind;
  unsigned modifiers;
  struct outcome outcome; /* the result; a ref of 1 stands for a new object, also of an error */
  uint64_t verdicts[JUDGE_WORDS];
  char whole_number; /* letter of the result of a whole-number call; 0: it is none */
  bool is_unfit;     /* such a call does not fit, when it is run */
  bool adds;         /* the outcome's integer is the sum of its arguments, which have to be ints */
  bool has_receiver; /* the operation's instance has to be an object of the session */
  bool was_resolved; /* behaves as if the thread had cached the member */
};

struct stub_jni {
  struct stub_member *members;
  size_t member_count;
  unsigned resolved; /* calls that were resolved, not cached, or with a verdict that was not kept */
  unsigned invoked;
  unsigned whole_numbers;         /* whole-number calls that were run */
  const struct outcome *thrown;   /* by a whole-number call */
  uint64_t serial;                /* of the cache of members */
  _Atomic unsigned collected;     /* calls of jvm_gc */
  void (*while_collecting)(void); /* called by jvm_gc in place of Java; NULL: nothing */
  void (*while_counting)(void);   /* called by jvm_objects_count; NULL: nothing */
  _Atomic bool are_exiting;       /* the threads of workers */
  _Atomic int frames;             /* begun and not ended */
  _Atomic int tables;             /* made and not destroyed */
  _Atomic int foreign_ends;       /* tables that were destroyed by a thread of jvm_spawn */
  const char *meta;               /* the body; NULL: opening it fails */
  size_t meta_step;               /* bytes a read; 0: as many as asked for */
  bool meta_breaks;               /* reading fails after the first piece */
  int bodies;                     /* opened and not closed */
  unsigned missed;                /* refs that were to be released and did not exist */
  char given_name[256];           /* the last name that a thread was given; guarded by the lock of its call */
  _Atomic int names_given;        /* names that were given and not removed */
  _Atomic bool is_interrupted;    /* the flag of all threads */
  _Atomic unsigned interrupts;    /* calls of jvm_thread_interrupt */
};

extern struct stub_jni stub;

/* The thread and the machine that the stubs accept: never dereferenced. */
struct jvm_thread *stub_thread(void);
struct jvm *stub_jvm(void);
/* The same as jvm_objects_put with a new object. The ref of the object is then the last ref. */
enum jp_status stub_put(struct jvm_objects *objects, struct jvm_stored *stored,
                        struct jp_error *error) JP_MUST_CHECK;
/* Resets everything; the tables that are left are freed. */
void stub_reset(struct stub_member *members, size_t count);
/* Waits for the threads of jvm_spawn. */
void stub_join_threads(void);

#endif
