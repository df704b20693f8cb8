#ifndef JPEER_JNI_CALLBACKS_H
#define JPEER_JNI_CALLBACKS_H
/*
 * Callbacks: Java interfaces that a client implements (docs/internals/callbacks.md).
 *
 * A callback has a proxy, an object of a class that java.lang.reflect.Proxy has made in the loader of its interfaces.
 * jni makes proxies of OP_CALLBACK arguments, takes the calls of their methods, converts arguments and answers, and
 * lets the calling thread wait. It knows no connection and no message: for these it calls up through the table of
 * hooks, which rpc fills in (rpc/callbacks). No hook sees a JNIEnv.
 *
 * Java holds numbers alone, never pointers. A proxy's number is looked up in jni's table, and means something only
 * together with the very handler object that the table has for it. A call's number is looked up likewise, and only the
 * thread that has begun the call may use it.
 *
 * jni holds no lock of its own while it calls a hook or runs Java.
 */
#include "base/status.h"
#include "jni/members.h"

#include <stdint.h>

/* --- who gave it --- */

/*
 * The callbacks of one client, which rpc defines and jni passes to the hooks. A request that may give callbacks has them in
 * struct jvm_request.callbacks; NULL there: the client cannot be called, and an OP_CALLBACK is -32602. Counted by rpc:
 * a proxy holds them from `made` to `released`.
 */
struct rpc_callbacks;

/* A method of a proxy. Valid as long as the call. */
struct jvm_callback_method {
  struct text interface; /* that declares it: "java.util.Comparator" */
  struct text name;
  const struct text
      *parameters; /* the types of its parameters, erased: "java.lang.Object", "int", "byte[]" */
  size_t parameter_count;
  bool is_void;
};

/* What `{"ref":{"callback":ID}}` has said beside the ID, when the proxy was made. */
struct jvm_callback_given {
  int64_t id;
  bool is_oneway;
  bool borrows;
  bool sends_origin; /* calls say which request of the client the Java thread serves */
};

/* --- threads --- */

/*
 * A struct jvm_thread that belongs to no thread: what a nested worker has, with caches of its own. jni alone binds it
 * to a thread, for the time between `enter` and `leave`. Bound, it never touches the thread's interrupt flag and
 * context class loader: its `restorable` is NULL. JP_NO_MEMORY. Any thread.
 */
enum jp_status jvm_thread_create(struct jvm *jvm, struct jvm_thread **thread) JP_MUST_CHECK;
/* While it is not bound. Any thread that is attached, or may attach; NULL is fine. */
void jvm_thread_destroy(struct jvm_thread *thread);

/* True where the calling thread has less than 256 KiB of stack left. Any thread. */
bool jvm_stack_is_short(void);

/*
 * Wakes a Java thread that is parked in a call. Counted: jni holds it for the call; rpc holds it while it may wake
 * it. Any thread. On one that the JVM knows, a wake is a call of Java and the last release frees a reference: the
 * caller has no lock then. One that the JVM does not know leaves both to a thread of jni, whatever it has locked. A
 * wake that comes before the park is not lost.
 */
struct jvm_waiter;
struct jvm_waiter *jvm_waiter_hold(struct jvm_waiter *waiter); /* returns it */
void jvm_waiter_wake(struct jvm_waiter *waiter);
void jvm_waiter_release(struct jvm_waiter *waiter);
/* True where its thread will not come back: a nested request that it serves has called System.exit. Any thread. */
bool jvm_waiter_is_exiting(const struct jvm_waiter *waiter);

/* --- a call --- */

struct rpc_callback_call; /* rpc defines it, too */

/* Why a call ended without an answer, or could not begin: jpeer.peer.CallbackException. */
struct jvm_callback_failure {
  int code;       /* of JSON-RPC; -32000 where the peer itself ends it, -32603 where it is out of memory */
  char text[512]; /* UTF-8, NUL-terminated */
};

enum jvm_callback_sight {
  JVM_CALLBACK_NOTHING, /* wait, then look again */
  JVM_CALLBACK_SEND,    /* there may be room now: send again */
  JVM_CALLBACK_REQUEST, /* a nested request is here: serve */
  JVM_CALLBACK_ANSWER,  /* the answer is here: take it */
  JVM_CALLBACK_ENDED    /* it ended without one: *failure says why */
};

enum jvm_callback_sent {
  JVM_CALLBACK_SENT,
  JVM_CALLBACK_NO_ROOM, /* the client does not read: wait until a look says JVM_CALLBACK_SEND */
  JVM_CALLBACK_NOT_SENT /* and it will not be: *failure says why */
};

/* Of an error's `stack_trace`, of which there are at most JVM_CALLBACK_FRAMES_MAX. */
struct jvm_callback_frame {
  struct text class;
  struct text method;
  struct text file; /* data NULL: none */
  int32_t line;     /* below 0: none */
};

enum { JVM_CALLBACK_FRAMES_MAX = 64, JVM_CALLBACK_CAUSES_MAX = 32 };

/* What an error says of the throwable that Java gets. */
struct jvm_callback_thrown {
  uint32_t ref;                            /* the throwable; 0: none */
  struct text throwable_type;              /* data NULL: none */
  struct text message;                     /* data NULL: none */
  const struct jvm_callback_frame *frames; /* the innermost first */
  size_t frame_count;
  const struct jvm_callback_thrown *cause; /* NULL: none */
};

/* An answer, decoded. */
struct jvm_callback_answer {
  bool is_error;
  struct op_value value; /* else; an OP_NULL for null */
  /* Of an error: */
  int code;
  struct jvm_callback_thrown thrown;
};

struct jvm_callback_hooks {
  /* --- giving: on the thread of the request that gives it --- */

  /* The highest number below `below` of a proxy of the ID: with UINT64_MAX the one that was made last; 0: there is none. It
   * may have been collected since. */
  uint64_t (*find)(struct rpc_callbacks *callbacks, int64_t id, uint64_t below);
  /*
   * A proxy was made for the ID, of which `newest` was made last before (0: none), as `find` has said. *is_taken: the number is
   * the ID's now, and holds the callbacks until `released`. Else another one was quicker: the caller looks at that one, and
   * forgets its own without `released`. JP_NO_MEMORY: nothing is taken.
   */
  enum jp_status (*made)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number, uint64_t newest,
                         bool *is_taken);
  /* Java holds the proxy no longer. Once for each that `made` has taken. Any Java thread, the Cleaner's among them:
   * returns soon, and waits for no client. */
  void (*released)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);
  /* The number of the client whose object the proxy is (rpc_client.number); 0: the proxy stands for the ID no more,
   * or the client cannot be called any more. Any
   * Java thread; returns soon. */
  uint64_t (*owner)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);

  /*
   * --- a call: on the thread that calls, in this order: open; enter, arguments made, leave; send; then look, and wait
   * or what it says; close. Only close is due in any case, once open has said yes. Between two of them a thread that
   * is no crew member returns to Java and parks there, so that nothing of it stays in C but the call.
   */

  /* True on a thread that can use `wait`: a crew member's. All others park. Called before open. */
  bool (*waits)(void);
  /* Begins a call. waiter: of a thread that parks in Java; NULL: of one that waits by `wait`. Not JP_OK: the connection
   * has ended, callbacks-max or callback-depth is reached, the stack is short: *failure says so. */
  enum jp_status (*open)(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                         uint64_t number, const struct jvm_callback_method *method, struct jvm_waiter *waiter,
                         struct rpc_callback_call **call, struct jvm_callback_failure *failure);
  /*
   * Lends a nested worker for a stretch of C on this thread: *request becomes what the conversions need, with a thread
   * that is not bound yet, the client's own objects, and a judge by the policy that is in force. What the arguments
   * tell is noted for the call (stored), whatever worker was lent. JP_NO_MEMORY: nothing is lent.
   */
  enum jp_status (*enter)(struct rpc_callback_call *call, struct jvm_request *request);
  void (*leave)(struct rpc_callback_call *call);
  /* Writes and sends the message, once: arguments (as result_fill makes them; NULL from the second time on) are not
   * needed afterwards. Within enter and leave where it is given arguments. JVM_CALLBACK_SENT of a oneway method is its
   * end: close follows. */
  enum jvm_callback_sent (*send)(struct rpc_callback_call *call, const struct outcome *arguments,
                                 size_t count, struct jvm_callback_failure *failure);
  /* What the call is to do next; never blocks. Nested requests come before the answer, as they were sent. The time that
   * callback-timeout allows is over: JVM_CALLBACK_ENDED. */
  enum jvm_callback_sight (*look)(struct rpc_callback_call *call, struct jvm_callback_failure *failure);
  /* For a thread without a waiter: returns when a look may say something new, or when it was woken (`interrupted`). */
  void (*wait)(struct rpc_callback_call *call);
  /* How long it may park; INT64_MAX: for ever. */
  int64_t (*nanoseconds_left)(struct rpc_callback_call *call);
  /* Serves one nested request, and sends its answer. Without enter; the thread is bound by jvm_thread_run. */
  void (*serve)(struct rpc_callback_call *call);
  /* Decodes the answer into the request's arena, within enter and leave. Not JP_OK: an OUTCOME_ERROR that becomes the
   * text of a CallbackException. */
  enum jp_status (*take_answer)(struct rpc_callback_call *call, const struct jvm_request *request,
                                struct jvm_callback_answer *answer, struct outcome *outcome);
  /* The answer's value does not become what the method returns: a line in the log, once a connection. */
  void (*log_misfit)(struct rpc_callback_call *call, struct text reason);
  /* Ends the call, which is freed. What was told with `borrow` is taken back: on a thread bound by jvm_thread_run. */
  void (*close)(struct rpc_callback_call *call);

  /* Somebody has interrupted the thread of this jvm_thread, which may be waiting in `wait`: that returns. Any Java
   * thread; the other may have ended just now: it is only compared. */
  void (*interrupted)(struct jvm_thread *thread);
};

/* Before any request is served; borrowed for good. Starts jni's thread for waking. */
enum jp_status jvm_callbacks_start(struct jvm *jvm, const struct jvm_callback_hooks *hooks,
                                   struct jp_error *error) JP_MUST_CHECK;

/*
 * Runs run(argument) with a jvm_thread of no thread bound to the calling one, which jni has called a hook on; no frame
 * of references is open, neither before nor after. For serve and close, whose work is rpc's.
 */
void jvm_thread_run(struct jvm_thread *thread, void (*run)(void *argument), void *argument);

#endif
