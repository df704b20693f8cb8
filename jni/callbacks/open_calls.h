#ifndef JPEER_JNI_CALLBACKS_OPEN_CALLS_H
#define JPEER_JNI_CALLBACKS_OPEN_CALLS_H
/*
 * Open calls by number. The number is in the Java object that waits (jpeer.peer.Waiting), and means something only
 * together with that. Any Java thread.
 */
#include "jni/proxies/proxies.h"

struct open_call {
  uint64_t number; /* from 1; never given again */
  struct jvm *jvm;
  struct callback_proxy *proxy; /* held */
  const struct callback_method *method;
  struct rpc_callback_call *hooked; /* of the hooks */
  struct jvm_waiter *waiter;        /* of a thread that parks; else NULL */
  struct jvm_thread *own;           /* of a thread that waits in C; only compared by others */
  jobject waiting;                  /* global: the Java object of a thread that parks; else NULL */
  jobject java_thread;              /* global: of a thread that parks, which alone may go on; else NULL */
  bool wants_room;                  /* the message did not leave yet */

  /* Of open_calls.c. */
  bool is_parked;
  unsigned holders;
  struct open_call *next;
};

/* Gives the call its number, and lists it. It has one holder, the caller, besides the list. */
void open_calls_add(struct open_call *call);
/* Takes it out of the list, which lets go of it; the caller still holds it. */
void open_calls_remove(struct open_call *call);
void open_call_release(JNIEnv *env, struct open_call *call);

/* Holds the call that this very object waits for; NULL: there is none. Of a thread that waits in C the number is enough:
 * its call can only be woken, and the thread looks then what there is. */
struct open_call *open_calls_find(JNIEnv *env, uint64_t number, jobject waiting);

/* The call's thread goes back to Java and parks there. */
void open_call_park(struct open_call *call);
/* It is back: takes the call that its thread has parked, which is then held. NULL: it is not parked, or was begun by
 * another thread. */
struct open_call *open_calls_unpark(JNIEnv *env, const struct jvm *jvm, jobject waiting);

#endif
