#ifndef JPEER_TESTS_UNIT_RPC_STUB_CALLBACKS_H
#define JPEER_TESTS_UNIT_RPC_STUB_CALLBACKS_H
/*
 * The part of jni/callbacks.h that rpc uses, without a JVM: proxies are numbers, a parked thread waits on a
 * condition. Any thread may call a method of a proxy, as Java would, and calls the hooks in the order of jni.
 */
#include "jni/callbacks.h"

#include <stdatomic.h>

struct stub_callbacks {
  _Atomic bool are_exiting; /* the threads of all waiters */
  bool is_stack_short;      /* of every thread */
  _Atomic uint64_t proxies; /* made so far; their numbers */
  _Atomic int waiters;      /* made and not freed */
  _Atomic int threads;      /* made and not freed */
  const struct jvm_callback_hooks *hooks;
};

extern struct stub_callbacks stub_callbacks;

/* A proxy for the ID, as the conversion of an argument makes or finds it. */
uint64_t stub_proxy_give(struct rpc_callbacks *callbacks, int64_t id);

enum stub_result { STUB_RESULT_VALUE, STUB_RESULT_ERROR, STUB_RESULT_MISFIT, STUB_RESULT_FAILURE };

/* A call of a proxy's method. */
struct stub_call {
  struct rpc_callbacks *callbacks;
  int64_t id;
  uint64_t proxy;
  bool is_oneway;
  bool borrows;
  bool is_void;
  bool sends_object;   /* an argument is an object, whose ref is sent to the client */
  int interrupt_after; /* polls that find nothing; 0: the thread is not interrupted */

  /* How the call ended. */
  enum stub_result result;
  /* the integer or text of the answer, the message of the error, or the reason of the failure */
  char text[512];
  int code;        /* of an error or a failure */
  unsigned nested; /* requests that were served */
};

/* Calls the method and waits for the answer. */
void stub_call(struct stub_call *call);

#endif
