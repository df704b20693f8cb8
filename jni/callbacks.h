#ifndef JPEER_JNI_CALLBACKS_H
#define JPEER_JNI_CALLBACKS_H
/*
 * Callbacks: Java interfaces that a client implements (docs/internals/callbacks.md).
 *
 * A callback has a proxy, an object of a class that java.lang.reflect.Proxy makes in the loader of its
 * interfaces. jni makes proxies for OP_CALLBACK arguments, receives the calls of their methods, converts
 * arguments and answers, and lets the calling thread wait. jni knows neither connections nor messages. To
 * send and receive, it calls the functions in a table of hooks, which rpc fills in (rpc/callbacks). No hook
 * receives a JNIEnv.
 *
 * Java holds only numbers, never pointers. jni looks a proxy's number up in its table and accepts it only
 * from the handler object that the table has for this number. A call's number is looked up in the same way,
 * and only the thread that began the call may use it.
 *
 * jni holds no lock of its own while it calls a hook or runs Java.
 */
#include "base/status.h"
#include "jni/members.h"

#include <stdint.h>

/* --- the client of a callback --- */

/*
 * The callbacks of one client, which rpc defines and jni passes to the hooks. The pointer
 * jvm_request.callbacks leads to the callbacks of the request's client. If it is NULL, the client cannot be
 * called, and an OP_CALLBACK is an error, -32602. Reference-counted by rpc: a proxy holds a reference from
 * `made` to `released`.
 */
struct rpc_callbacks;

/* A method of a proxy. Valid until the call ends. */
struct jvm_callback_method {
  struct text interface; /* the interface that declares the method: "java.util.Comparator" */
  struct text name;
  const struct text *parameters; /* the erased types of its parameters: "java.lang.Object", "int", "byte[]" */
  size_t parameter_count;
  bool is_void;
};

/* The options that the argument `{"ref":{"callback":ID}}` had, in addition to the ID, when the proxy was
 * made. */
struct jvm_callback_given {
  int64_t id;
  bool is_oneway;
  bool borrows;
  bool sends_origin; /* each call names the client's request that the Java thread is serving */
};

/* --- threads --- */

/*
 * Makes a struct jvm_thread that belongs to no thread. A nested worker has a jvm_thread with its own caches.
 * Only jni binds this jvm_thread to a thread, from `enter` to `leave`. While bound, it never changes the
 * thread's interrupt flag and context class loader: its `restorable` is NULL. JP_NO_MEMORY. Any thread.
 */
enum jp_status jvm_thread_create(struct jvm *jvm, struct jvm_thread **thread) JP_MUST_CHECK;
/* May be called only while *thread is not bound. Any thread that is attached or may attach; NULL is fine. */
void jvm_thread_destroy(struct jvm_thread *thread);

/* True if the calling thread has less than 256 KiB of stack left. Any thread. */
bool jvm_stack_is_short(void);

/*
 * Wakes a Java thread that is parked in a call. Reference-counted: jni holds a reference for the call, and
 * rpc holds one while it may wake the thread. Any thread. On a thread that the JVM knows, waking calls Java
 * and the last release frees a Java reference, so the caller must hold no lock. On a thread that the JVM does
 * not know, a thread of jni does both, so the caller may hold locks. A wake that comes before the park is not
 * lost.
 */
struct jvm_waiter;
struct jvm_waiter *jvm_waiter_hold(struct jvm_waiter *waiter); /* returns `waiter` */
void jvm_waiter_wake(struct jvm_waiter *waiter);
void jvm_waiter_release(struct jvm_waiter *waiter);
/* True if the waiting thread will not return: a nested request that it is serving has called System.exit. Any
 * thread. */
bool jvm_waiter_is_exiting(const struct jvm_waiter *waiter);

/* --- a call --- */

struct rpc_callback_call; /* defined by rpc */

/* Why a call ended without an answer, or could not begin. Java gets it as a jpeer.peer.CallbackException. */
struct jvm_callback_failure {
  /* a JSON-RPC error code; -32000 if the peer itself ends the call, -32603 if the peer is out of memory */
  int code;
  char text[512]; /* UTF-8, NUL-terminated */
};

enum jvm_callback_event {
  JVM_CALLBACK_NOTHING, /* nothing happened: wait, then poll again */
  JVM_CALLBACK_SEND,    /* the client may have room now: send again */
  JVM_CALLBACK_REQUEST, /* a nested request has arrived: serve it */
  JVM_CALLBACK_ANSWER,  /* the answer has arrived: read it */
  JVM_CALLBACK_ENDED    /* the call ended without an answer; *failure says why */
};

enum jvm_callback_sent {
  JVM_CALLBACK_SENT,
  JVM_CALLBACK_NO_ROOM, /* the client does not read: wait until a poll returns JVM_CALLBACK_SEND */
  JVM_CALLBACK_NOT_SENT /* the call cannot be sent; *failure says why */
};

/* A frame of an error's `stack_trace`. There are at most JVM_CALLBACK_FRAMES_MAX. */
struct jvm_callback_frame {
  struct text class;
  struct text method;
  struct text file; /* data NULL: none */
  int32_t line;     /* below 0: none */
};

enum { JVM_CALLBACK_FRAMES_MAX = 64, JVM_CALLBACK_CAUSES_MAX = 32 };

/* The throwable that an error answer describes, for Java. */
struct jvm_callback_thrown {
  uint32_t ref;                            /* of the throwable; 0: none */
  struct text throwable_type;              /* data NULL: none */
  struct text message;                     /* data NULL: none */
  const struct jvm_callback_frame *frames; /* innermost first */
  size_t frame_count;
  const struct jvm_callback_thrown *cause; /* NULL: none */
};

/* A decoded answer. */
struct jvm_callback_answer {
  bool is_error;
  struct op_value value; /* if !is_error; an OP_NULL for null */
  /* If is_error: */
  int code;
  struct jvm_callback_thrown thrown;
};

struct jvm_callback_hooks {
  /* --- making proxies: on the thread of the request that contains the callback --- */

  /* Returns the highest number below `below` that belongs to a proxy of this ID. With UINT64_MAX it finds the
   * newest proxy. 0: there is no such proxy. The proxy may have been collected since. */
  uint64_t (*find)(struct rpc_callbacks *callbacks, int64_t id, uint64_t below);
  /*
   * Registers the number of a new proxy for the ID. newest: the number that `find` returned for the ID before
   * (0: none). *is_taken: the number was registered, and the proxy holds a reference to the callbacks until
   * `released`. If it is false, another thread has registered a proxy first: the caller uses that proxy and
   * drops its own without calling `released`. JP_NO_MEMORY: the number is not registered.
   */
  enum jp_status (*made)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number, uint64_t newest,
                         bool *is_taken);
  /* Java no longer references the proxy. Called once for each proxy that `made` has registered. Any Java
   * thread, including the Cleaner's: must return soon and never waits for a client. */
  void (*released)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);
  /* The number of the client that implements the proxy (rpc_client.number). 0: the proxy no longer belongs to
   * the ID, or the client can no longer be called. Any Java thread; returns soon. */
  uint64_t (*owner)(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);

  /*
   * --- a call: on the calling thread, in this order: open; enter, make arguments, leave; send; then poll and
   * follow its result, or wait; close. After a successful open, only close is mandatory. A thread that is not
   * a crew member returns to Java and parks there between two of these hooks, so that no C frame remains on
   * its stack while it waits.
   */

  /* True if the calling thread is a member of the crew, which uses `wait`. All other threads park. Called
   * before open. */
  bool (*waits)(void);
  /* Begins a call. waiter: the waiter of a thread that parks in Java; NULL: the thread waits by `wait`. Not
   * JP_OK: *failure says why: the connection has ended, callbacks-max or callback-depth is reached, or the
   * stack is short. */
  enum jp_status (*open)(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                         uint64_t number, const struct jvm_callback_method *method, struct jvm_waiter *waiter,
                         struct rpc_callback_call **call, struct jvm_callback_failure *failure);
  /*
   * Lends a nested worker to this thread until `leave`. Sets the members of *request that conversions need: a
   * jvm_thread that is not bound yet, the client's own objects, and a judge with the current policy.
   * References in the arguments are recorded with the call, in `stored`, not with the worker. JP_NO_MEMORY:
   * no worker is lent.
   */
  enum jp_status (*enter)(struct rpc_callback_call *call, struct jvm_request *request);
  void (*leave)(struct rpc_callback_call *call);
  /* Sends the message, which the first call of this hook writes. arguments: the arguments in the form that
   * result_fill makes. Only the first call of this hook needs them, and must be made between enter and leave;
   * later calls pass NULL. If the method is oneway, JVM_CALLBACK_SENT ends the call, and close follows. */
  enum jvm_callback_sent (*send)(struct rpc_callback_call *call, const struct outcome *arguments,
                                 size_t count, struct jvm_callback_failure *failure);
  /* Returns what the call has to do next; never blocks. Nested requests come before the answer, in the order
   * in which the client sent them. JVM_CALLBACK_ENDED once callback-timeout has passed. */
  enum jvm_callback_event (*poll)(struct rpc_callback_call *call, struct jvm_callback_failure *failure);
  /* For a thread without a waiter: returns when `poll` may return another event, or when `interrupted` wakes
   * the thread. */
  void (*wait)(struct rpc_callback_call *call);
  /* How long the thread may park; INT64_MAX: for ever. */
  int64_t (*nanoseconds_left)(struct rpc_callback_call *call);
  /* Serves one nested request and sends its answer. The hook binds the calling thread by jvm_thread_run, so
   * it must not be called between enter and leave. */
  void (*serve)(struct rpc_callback_call *call);
  /* Decodes the answer into the request's arena, between enter and leave. Not JP_OK: *outcome is an
   * OUTCOME_ERROR whose text becomes the text of a CallbackException. */
  enum jp_status (*take_answer)(struct rpc_callback_call *call, const struct jvm_request *request,
                                struct jvm_callback_answer *answer, struct outcome *outcome);
  /* Logs that the answer's value cannot become the method's return type; one line for each connection. */
  void (*log_misfit)(struct rpc_callback_call *call, struct text reason);
  /* Ends and frees the call. References that were sent with `borrow` are released. The hook binds the calling
   * thread by jvm_thread_run. */
  void (*close)(struct rpc_callback_call *call);

  /* Called when the thread of this jvm_thread was interrupted and may be waiting in `wait`. `wait` then
   * returns. Called by any Java thread. The owner of `thread` may have ended already, so the pointer is only
   * compared, never read. */
  void (*interrupted)(struct jvm_thread *thread);
};

/* Call it before any request is served. Borrows the hooks for ever. Starts jni's thread that wakes
 * waiters. */
enum jp_status jvm_callbacks_start(struct jvm *jvm, const struct jvm_callback_hooks *hooks,
                                   struct jp_error *error) JP_MUST_CHECK;

/*
 * Runs run(argument) with `thread`, which has no thread of its own, bound to the calling thread. May be
 * called only inside a hook that jni has called; no frame of references is open before or afterwards. `serve`
 * and `close` use this for rpc's work.
 */
void jvm_thread_run(struct jvm_thread *thread, void (*run)(void *argument), void *argument);

#endif
