#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
/* What the files of this folder share about callbacks and their calls. Not for others. */
#include "rpc/authorize.h"
#include "rpc/callbacks/callback_form.h"
#include "rpc/callbacks/callback_records.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/callbacks/nested_workers.h"
#include "rpc/peer_state.h"

#include <pthread.h>
#include <stdatomic.h>

/* The IDs that are to be released, and were not told to the client yet. */
struct callback_releases {
  int64_t *ids;
  uint64_t *given;
  size_t count;
  size_t capacity;
  bool is_sending; /* a thread sends them, those that are added meanwhile included */
  bool has_room;   /* since that thread has begun to send the last message */
};

struct rpc_callbacks {
  _Atomic size_t holders;
  struct rpc_peer *peer;
  const struct rpc_codec *codec;
  const struct rpc_push *push;
  struct rpc_duplex *duplex;

  /* Copies of the client's; constant. */
  enum op_channel channel;
  struct rpc_session_key key;
  struct rpc_session_maker maker;
  struct rpc_session *session; /* held while is_client_open or calls_open > 0 */

  /* Of the peer's list, under its lock: */
  struct rpc_callbacks *next;
  struct rpc_callbacks *before;
  uint64_t cleared; /* the clearing that has seen it last */

  pthread_mutex_t lock; /* guards all below */
  enum rpc_callbacks_end end;
  bool is_client_open;
  uint64_t epoch; /* counts delete_session */
  struct callback_records records;
  struct rpc_callback_call *calls; /* the newest first */
  size_t calls_open;
  uint64_t last_number; /* of a call that expects an answer; 0: there was none */
  size_t kept;          /* nested requests that wait, and answers that nobody has read */
  size_t kept_bytes;
  uint64_t answers; /* that were kept for their calls, so far */
  size_t waiting;   /* threads, until answers were read: callback_order.c */
  pthread_cond_t was_read;
  bool has_dropped; /* an answer; a line in the log says so */
  bool has_misfit;  /* in an answer, likewise */
  struct callback_releases releases;
};

/* A nested request that waits for its thread. */
struct callback_message {
  struct callback_message *next;
  struct rpc_callbacks *callbacks; /* of an open call of the thread */
  uint64_t number;                 /* of that call */
  uint64_t answers;                /* that the client had sent before it */
  struct buffer text;
};

/*
 * A thread that has calls open. It belongs to its outermost one, and is found by the others on the same thread through
 * a thread-local variable: that is set while C of ours is on the stack, in which Java may run, and put back before that
 * returns. A virtual thread with frames of C is pinned, so that the variable is its own; without such frames it has
 * none, and nothing survives its park but the call itself.
 *
 * The requests that are nested in any of its calls come into one inbox: a thread that waits in an inner call, also of
 * another connection, serves those of the outer ones.
 */
struct callback_thread {
  pthread_mutex_t lock; /* guards the inbox and `innermost`; behind the callbacks' lock */
  struct callback_message *first;
  struct callback_message **last;
  _Atomic size_t count;                  /* of the inbox; changed under the lock */
  struct rpc_callback_call *innermost;   /* in which it waits, if it does */
  size_t depth;                          /* calls that are open; the thread's own */
  const struct callback_message *served; /* the innermost nested request in hand; likewise. NULL: none */
};

/* How long a call is still waited for, and why it ended. */
enum callback_ending {
  CALLBACK_GOES_ON,
  CALLBACK_CLIENT_GONE,
  CALLBACK_STOPPED,
  CALLBACK_SESSION_DELETED,
  CALLBACK_TIMED_OUT,
  CALLBACK_ANSWER_TOO_LONG,
  CALLBACK_ANSWER_FAULTY /* it cannot be read as one */
};

struct rpc_callback_call {
  struct rpc_callbacks *callbacks; /* held */
  struct callback_thread *thread;
  struct callback_thread own_thread; /* of an outermost call */
  struct rpc_callback_call *outer;   /* on the same thread; NULL: it is the outermost */
  uint64_t number;                   /* 0: it is a notification */
  int64_t id;
  uint64_t epoch;
  bool borrows;
  bool tells_origin;
  const struct jvm_callback_method *method; /* jni's, as long as the call */
  struct jvm_waiter *waiter;                /* held; NULL: worker waits */
  struct rpc_worker *worker;                /* of the crew, whose thread this is; NULL: another thread */
  int64_t deadline_ms;                      /* INT64_MAX: none, or an event that has found room so far */

  /* Under the callbacks' lock: */
  struct rpc_callback_call *next;
  struct rpc_callback_call **link;
  enum callback_ending ending;
  bool was_woken; /* of its ending */
  bool expects;   /* an answer: its message was sent */
  bool has_answer;
  struct buffer answer;   /* of CALLBACK_ANSWER_FAULTY: what is wrong with it */
  uint64_t answer_number; /* of rpc_callbacks.answers */
  int64_t answered_ms;    /* clock_coarse_ms */
  bool wants_room;        /* until it is sent */
  bool may_send;          /* since room was wanted */

  bool has_thread;       /* counted in the peer's callback_threads */
  _Atomic bool has_news; /* since its thread has looked: set by callback_call_wake */

  /* The thread's own: */
  bool is_sent;
  struct buffer message;                   /* that found no room */
  struct jvm_stored stored;                /* what its arguments tell */
  bool was_read;                           /* its answer, as a whole */
  struct rpc_given given;                  /* in its answer */
  struct callback_thread *previous_thread; /* between enter and leave */
  struct nested_worker *nested;            /* likewise */
  struct rpc_authorizer authorizer;        /* likewise */
  struct jvm_guard guard;                  /* likewise */
};

static inline struct rpc_callbacks *callbacks_hold(struct rpc_callbacks *callbacks)
{
  atomic_fetch_add_explicit(&callbacks->holders, 1, memory_order_relaxed);
  return callbacks;
}

void callbacks_release(struct rpc_callbacks *callbacks);
/* The hold of the callbacks on their session, when neither the client nor a call is open any more. Without the lock. */
void callbacks_release_session(struct rpc_callbacks *callbacks);

/* callback_releases.c. Under the lock: the ID is released, and the record goes, where nothing holds it. */
void callbacks_settle_record(struct rpc_callbacks *callbacks, struct callback_record *record);
/* Under the lock: adds an ID without a record. */
void callbacks_add_release(struct rpc_callbacks *callbacks, int64_t id, uint64_t given);
/* Without the lock: sends the client its releases, as many as it reads. */
void callbacks_send_releases(struct rpc_callbacks *callbacks);

/* Why a call throws. callback_calls.c. */
void callback_fail(struct jvm_callback_failure *failure, const char *format, ...) JP_PRINTF(2, 3);
void callback_tell_ending(const struct rpc_callback_call *call, enum callback_ending ending,
                          struct jvm_callback_failure *failure);

/* The hooks of these names: callback_calls.c, */
enum jp_status callback_call_open(struct rpc_callbacks *callbacks, const struct jvm_callback_given *given,
                                  uint64_t number, const struct jvm_callback_method *method,
                                  struct jvm_waiter *waiter, struct rpc_callback_call **call,
                                  struct jvm_callback_failure *failure);
enum jvm_callback_sight callback_call_look(struct rpc_callback_call *call,
                                           struct jvm_callback_failure *failure);
void callback_call_wait(struct rpc_callback_call *call);
int64_t callback_call_nanoseconds_left(struct rpc_callback_call *call);
void callback_call_close(struct rpc_callback_call *call);
/* and callback_stretch.c. */
enum jp_status callback_call_enter(struct rpc_callback_call *call, struct jvm_request *request);
void callback_call_leave(struct rpc_callback_call *call);
enum jvm_callback_sent callback_call_send(struct rpc_callback_call *call, const struct outcome *arguments,
                                          size_t count, struct jvm_callback_failure *failure);
enum jp_status callback_call_take_answer(struct rpc_callback_call *call, const struct jvm_request *request,
                                         struct jvm_callback_answer *answer, struct outcome *outcome);

/* callback_calls.c. From now on the client has callback-timeout. */
void callback_call_set_deadline(struct rpc_callback_call *call);
/* Under the lock: the open call of this number; NULL: there is none. */
struct rpc_callback_call *callbacks_find_call(const struct rpc_callbacks *callbacks, uint64_t number);
/* Under the lock: wakes a thread of the crew. A thread that parks in Java is the caller's to wake after the unlock: its
 * waiter is returned, and held; NULL: there is none. */
struct jvm_waiter *callback_call_wake(struct rpc_callback_call *call) JP_MUST_CHECK;
/* Without it: wakes and releases a waiter; NULL is fine. */
void callback_waiter_wake(struct jvm_waiter *waiter);
/* Without it: wakes every call that has ended and was not woken. */
void callbacks_wake_ended(struct rpc_callbacks *callbacks);

/* callback_nested.c. The inbox takes the message, whatever call of the thread it is for. Wakes the thread as
 * callback_call_wake does. */
struct jvm_waiter *callback_inbox_add(struct callback_thread *thread,
                                      struct callback_message *message) JP_MUST_CHECK;
/* The first message, which is the caller's then; NULL: there is none. */
struct callback_message *callback_inbox_take(struct callback_thread *thread);
/* Under the callbacks' lock: the call's thread is to serve its inbox next, because that has a message, and the
 * call no answer that came before it. A message behind the answer is of an outer call, and that serves it. */
bool callback_inbox_has_turn(const struct rpc_callback_call *call);
void callback_message_free(struct callback_message *message);
/* The messages of a call that has ended: they are answered with an error. */
void callback_inbox_refuse(struct callback_thread *thread, struct rpc_callbacks *callbacks, uint64_t number);
/* Serves and frees one message, on the thread of the call. */
void callback_nested_serve(struct rpc_callback_call *call, struct callback_message *message);

/* callback_hooks.c. A line in the log, for the first answer of a connection that does not fit. */
void callback_log_misfit(struct rpc_callback_call *call, struct text reason);
/* True where the thread of this worker is exiting. The worker may have ended meanwhile: it is looked for. */
bool callback_worker_is_exiting(struct rpc_peer *peer, const struct rpc_worker *worker);

/* callback_threads.c. The thread in hand, as inner calls find it; NULL: no call is open on it. Setting it returns the
 * one before. */
struct callback_thread *callback_thread_now(void);
struct callback_thread *callback_thread_set(struct callback_thread *thread);
/* The crew member's worker whose thread this is; NULL: another thread. */
struct rpc_worker *callback_thread_worker(void);
void callback_thread_set_worker(struct rpc_worker *worker);

#endif
