#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
/* What the files of this folder share about callbacks and their calls. Not for others. */
#include "base/transitions.h"
#include "judge/judge.h"
#include "rpc/callbacks/callback_form.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/callbacks/nested_workers.h"
#include "rpc/peer_state.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is known of an object that the client has given. */
struct callback_record {
  struct callback_record *next; /* in its bucket */
  int64_t id;
  struct rpc_callbacks *giver; /* that has given it last; NULL: it is closed */
  uint64_t epoch;              /* of struct rpc_process, when it was made */
  uint64_t given;              /* arguments that were read since it was made */
  uint64_t proxy;              /* the number of the last proxy that jni has made of it; 0: Java has none */
  uint64_t *older;             /* the numbers of others that Java has, in their order */
  size_t older_count;
  size_t older_capacity;
  size_t in_hand; /* arguments of messages that are being served, and open calls */
};

/* The records by their IDs. Begins as zero. */
struct callback_records {
  struct callback_record **buckets;
  size_t bucket_count; /* a power of two */
  size_t count;
  uint64_t seed; /* clients choose the IDs; they must not choose the buckets */
};

/*
 * Who sends the releases. Under the callbacks' lock; callbacks.c has the transitions.
 *
 * | state             | what holds                                        | who leaves it, on what                    |
 * | RELEASES_WAIT     | nobody sends; they wait for a thread, or for room | callbacks_send_releases                   |
 * | RELEASES_LEAVE    | a thread sends them, those that are added during  | that thread; rpc_callbacks_has_room       |
 * |                   | that included                                     |                                           |
 * | RELEASES_GOT_ROOM | likewise; room was made since it has begun to     | that thread: the next message, or the end |
 * |                   | send the last message                             |                                           |
 */
enum callback_releases_state {
  RELEASES_WAIT,    /* no thread sends the releases */
  RELEASES_LEAVE,   /* a thread sends the releases */
  RELEASES_GOT_ROOM /* a thread sends the releases, and room was made during that */
};

/* The IDs that are to be released, and were not told to the client yet. */
struct callback_releases {
  struct callback_release *items;
  size_t count;
  size_t capacity;
  enum callback_releases_state state;
};

/*
 * The state of a client's callbacks. Under their lock; callbacks.c has the transitions. callbacks_are_closed is true in
 * the last two, in which the session is held only as long as calls are open.
 *
 * | state                        | what holds                                         | who leaves it, on what        |
 * | RPC_CALLBACKS_OPEN           | calls may begin                                    | whoever sees the connection's |
 * |                              |                                                    | end; the watcher, after the   |
 * |                              |                                                    | grace time of a stop          |
 * | RPC_CALLBACKS_CLIENT_GONE    | no answer can come: calls end                      | rpc_callbacks_close           |
 * | RPC_CALLBACKS_STOPPED        | the grace time of a stop is over: calls end        | rpc_callbacks_close           |
 * | RPC_CALLBACKS_CLOSED         | as RPC_CALLBACKS_CLIENT_GONE; the client is closed | nobody                        |
 * | RPC_CALLBACKS_STOPPED_CLOSED | as RPC_CALLBACKS_STOPPED; the client is closed     | nobody                        |
 */
enum rpc_callbacks_state {
  RPC_CALLBACKS_OPEN,          /* calls may begin */
  RPC_CALLBACKS_CLIENT_GONE,   /* no answer can come */
  RPC_CALLBACKS_STOPPED,       /* the grace time of a stop is over */
  RPC_CALLBACKS_CLOSED,        /* no answer can come, and the client is closed */
  RPC_CALLBACKS_STOPPED_CLOSED /* the grace time of a stop is over, and the client is closed */
};

/*
 * The objects that a process of a client's has given, over any of its connections. A connection that belongs to no process
 * is one of its own. Counted: each struct rpc_callbacks holds it, and so does each client that has joined it.
 */
struct rpc_process {
  _Atomic size_t holders;
  uint64_t client; /* the number that `control session` tells. Constant */

  /* Of one that clients join, under the lock of the peer's list: */
  struct rpc_process *next;
  const struct rpc_session *session; /* theirs; each of them holds it */
  bool is_local;                     /* they come over Unix sockets */
  struct text name;
  size_t joined; /* clients */

  pthread_mutex_t lock; /* guards all below, and what struct rpc_callbacks says */
  uint64_t epoch;       /* counts delete_session */
  uint64_t cleared;     /* the clearing that has cleared the records last */
  struct callback_records records;
  struct rpc_callbacks *members; /* those that are not closed */
  size_t open;                   /* of these, in RPC_CALLBACKS_OPEN */
  size_t unsent;                 /* releases of the members */
  uint64_t rounds;               /* of callbacks_send_releases, so far: each sees a member once */
};

struct rpc_callbacks {
  _Atomic size_t holders;
  struct rpc_process *process; /* held */
  struct rpc_peer *peer;
  const struct rpc_codec *codec;
  const struct rpc_push *push;
  struct rpc_duplex *duplex;

  /* Copies of the client's; constant. */
  enum op_channel channel;
  struct op_session_key key;
  struct rpc_session_maker maker;
  struct rpc_session *session; /* held until callbacks_are_closed, and while calls_open > 0 */

  /* Of the peer's list, under its lock: */
  struct rpc_callbacks *next;
  struct rpc_callbacks *before;
  uint64_t cleared; /* the clearing that has seen it last */

  /* Under the lock of the process: */
  enum rpc_callbacks_state state;
  struct rpc_callbacks *next_member;
  uint64_t round;                  /* that has seen it last */
  struct rpc_callback_call *calls; /* the newest first */
  size_t calls_open;
  uint64_t last_number; /* of a call that expects an answer; 0: there was none */
  size_t kept;          /* nested requests that wait, and answers that nobody has read */
  size_t kept_bytes;
  uint64_t answers; /* that were kept for their calls, so far */
  size_t waiting;   /* threads in rpc_callbacks_await_answers */
  pthread_cond_t was_read;
  bool has_dropped; /* an answer was dropped, and a line in the log says so: the only one */
  bool has_misfit;  /* an answer did not fit, likewise */
  struct callback_releases releases;
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

/* Why a call has ended, or cannot begin. */
enum callback_ending {
  CALLBACK_GOES_ON, /* it has not */
  CALLBACK_CLIENT_GONE,
  CALLBACK_STOPPED,
  CALLBACK_SESSION_DELETED,
  CALLBACK_TIMED_OUT,
  CALLBACK_ANSWER_TOO_LONG,
  CALLBACK_NO_MEMORY,    /* for the answer */
  CALLBACK_ANSWER_FAULTY /* it cannot be read as one */
};

/*
 * What a call waits for. Under the callbacks' lock. callback_call_has_ended is true from RPC_CALL_ENDING on, and call->ending
 * is CALLBACK_GOES_ON before that only.
 *
 * | state             | what holds                                             | who leaves it, on what               |
 * | RPC_CALL_UNSENT   | it is written, or is an event that has found room      | its thread sends it; its end         |
 * | RPC_CALL_EXPECTS  | its message is being sent, was sent, or waits for      | room, an answer, its end; a send     |
 * |                   | room; an answer may come                               | that fails                           |
 * | RPC_CALL_HAS_ROOM | likewise; room was made since, so that it may be sent  | its thread sends it; an answer; its  |
 * |                   |                                                        | end                                  |
 * | RPC_CALL_ANSWERED | call->answer is the answer, which its thread reads     | nobody                               |
 * | RPC_CALL_ENDING   | call->ending says why; its thread is still to be woken | callbacks_wake_ended                 |
 * | RPC_CALL_ENDED    | likewise, and its thread knows, or was woken           | nobody                               |
 *
 * Its thread closes it in each of the last three states, and where its message cannot be sent.
 */
enum rpc_call_state {
  RPC_CALL_UNSENT,   /* the call expects nothing */
  RPC_CALL_EXPECTS,  /* the call expects room for its message, or an answer */
  RPC_CALL_HAS_ROOM, /* the call expects the same, and room was made: its message may be sent */
  RPC_CALL_ANSWERED, /* the answer was received */
  RPC_CALL_ENDING,   /* the call has ended without an answer; its thread is still to be woken */
  RPC_CALL_ENDED     /* the call has ended without an answer, and its thread knows or was woken */
};

static const uint16_t rpc_call_transitions[] = {
    [RPC_CALL_UNSENT] = TO(RPC_CALL_EXPECTS) | TO(RPC_CALL_ENDING),
    [RPC_CALL_EXPECTS] = TO(RPC_CALL_UNSENT) | TO(RPC_CALL_HAS_ROOM) | TO(RPC_CALL_ANSWERED) |
                         TO(RPC_CALL_ENDING) | TO(RPC_CALL_ENDED),
    [RPC_CALL_HAS_ROOM] = TO(RPC_CALL_UNSENT) | TO(RPC_CALL_EXPECTS) | TO(RPC_CALL_ANSWERED) |
                          TO(RPC_CALL_ENDING) | TO(RPC_CALL_ENDED),
    [RPC_CALL_ANSWERED] = 0,
    [RPC_CALL_ENDING] = TO(RPC_CALL_ENDED),
    [RPC_CALL_ENDED] = 0,
};

struct callback_message; /* a nested request: callback_incoming.c */

/* One method of a client's object that Java has called (callback_call.c). On the heap, and in the list of its
 * callbacks, from open to close, under the number N of "cb-N". Its own thread alone uses its members, except those that
 * the lock of the callbacks guards. */
struct rpc_callback_call {
  struct rpc_callbacks *callbacks; /* held */
  struct callback_thread *thread;
  struct callback_thread own_thread; /* of an outermost call */
  struct rpc_callback_call *outer;   /* on the same thread; NULL: it is the outermost */
  uint64_t number;                   /* 0: it is a notification */
  int64_t id;
  uint64_t epoch;
  bool borrows;
  bool sends_origin;
  const struct jvm_callback_method *method; /* jni's, as long as the call */
  struct jvm_waiter *waiter;                /* held; NULL: worker waits */
  struct rpc_worker *worker;                /* of the crew, whose thread this is; NULL: another thread */
  int64_t deadline_ms;                      /* INT64_MAX: none, or an event that has found room so far */

  /* Under the callbacks' lock: */
  struct rpc_callback_call *next;
  struct rpc_callback_call **link;
  enum rpc_call_state state;
  enum callback_ending ending; /* set by callback_call_end alone */
  struct buffer answer;        /* of CALLBACK_ANSWER_FAULTY: what is wrong with it */
  uint64_t answer_number;      /* of rpc_callbacks.answers */
  int64_t answered_ms;         /* clock_coarse_ms */

  bool has_thread;       /* counted in the peer's callback_threads, from open to close. Constant in between */
  _Atomic bool has_news; /* since its thread has looked: set by callback_call_wake */

  /* The thread's own: */
  bool is_sent; /* its message has left: in RPC_CALL_UNSENT of an event; its answer may come before */
  struct buffer message;    /* that found no room */
  struct jvm_stored stored; /* what its arguments tell */
  bool was_read;            /* its answer, as a whole; a part of RPC_CALL_ANSWERED that needs no lock */
  struct rpc_given given;   /* in its answer */
  struct callback_thread *previous_thread; /* between enter and leave */
  struct nested_worker *nested;            /* likewise */
  struct judge judge;                      /* likewise */
};

/* ---- callbacks.c ---- */

static inline struct rpc_callbacks *callbacks_hold(struct rpc_callbacks *callbacks)
{
  atomic_fetch_add_explicit(&callbacks->holders, 1, memory_order_relaxed);
  return callbacks;
}

/* For assertions: some thread has the lock. */
static inline bool callbacks_are_locked(struct rpc_callbacks *callbacks)
{
  return pthread_mutex_trylock(&callbacks->process->lock) != 0;
}

/* Under the lock: a member of the process that calls may begin on, `preferred` where that is one. NULL: there is none. */
struct rpc_callbacks *callbacks_find_open(const struct rpc_process *process, struct rpc_callbacks *preferred);

/* Under the lock. */
static inline bool callbacks_are_closed(const struct rpc_callbacks *callbacks)
{
  return callbacks->state >= RPC_CALLBACKS_CLOSED;
}

void callbacks_release(struct rpc_callbacks *callbacks);
/* The hold of the callbacks on their session, when neither the client nor a call is open any more. Without the lock. */
void callbacks_release_session(struct rpc_callbacks *callbacks);

/* Under the lock. NULL: there is none. */
struct callback_record *callbacks_find_record(const struct callback_records *records, int64_t id);
/* Under the lock: whether the number is that of a proxy of the record, which may be NULL. */
bool callbacks_has_proxy(const struct callback_record *record, uint64_t number);
/* Under the lock: the ID is released, and the record goes, where nothing holds it. */
void callbacks_settle_record(struct rpc_callbacks *callbacks, struct callback_record *record);
/* Without the lock: sends the members of the process their releases, as many as they read. */
void callbacks_send_releases(struct rpc_callbacks *callbacks);
/* Likewise, and for a thread that sends them: there is room again. */
void callbacks_resume_releases(struct rpc_callbacks *callbacks);

/* The hooks find, made, owner and released. */
uint64_t callbacks_find_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t below);
enum jp_status callbacks_note_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number,
                                    uint64_t newest, bool *is_taken) JP_MUST_CHECK;
uint64_t callbacks_find_owner(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);
void callbacks_release_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);

/* ---- callback_call.c ---- */

/* The thread in hand, as inner calls find it; NULL: no call is open on it. Setting it returns the one before. */
struct callback_thread *callback_thread_now(void);
struct callback_thread *callback_thread_set(struct callback_thread *thread);

/* Under the lock: wakes a thread of the crew. A thread that parks in Java is the caller's to wake after the unlock: its
 * waiter is returned, and held; NULL: there is none. */
struct jvm_waiter *callback_call_wake(struct rpc_callback_call *call) JP_MUST_CHECK;
/* Without it: wakes and releases a waiter; NULL is fine. */
void callback_waiter_wake(struct jvm_waiter *waiter);
/* Under the lock. Not to end a call, except from RPC_CALL_ENDING to RPC_CALL_ENDED. */
static inline void callback_call_set_state(struct rpc_callback_call *call, enum rpc_call_state to)
{
  assert(callbacks_are_locked(call->callbacks));
  ASSERT_TRANSITION(rpc_call_transitions, call->state, to);
  assert((to >= RPC_CALL_ENDING) == (call->ending != CALLBACK_GOES_ON));
  call->state = to;
}

/* Under the lock: the call ends without an answer. to: RPC_CALL_ENDING, or RPC_CALL_ENDED where its thread is the caller
 * or is woken by the caller. */
static inline void callback_call_end(struct rpc_callback_call *call, enum rpc_call_state to,
                                     enum callback_ending ending)
{
  call->ending = ending;
  callback_call_set_state(call, to);
}

static inline bool callback_call_has_ended(const struct rpc_callback_call *call)
{
  return call->state >= RPC_CALL_ENDING;
}

/* Without it: wakes every call that has ended and was not woken. */
void callbacks_wake_ended(struct rpc_callbacks *callbacks);

/* ---- callback_incoming.c ---- */

/* Under the callbacks' lock: the call's thread is to serve its inbox next, because that has a message, and the
 * call no answer that came before it. A message after the answer is of an outer call, and that serves it. */
bool callback_inbox_has_turn(const struct rpc_callback_call *call);
/* The messages of a call that has ended: they are answered with an error. */
void callback_inbox_refuse(struct callback_thread *thread, struct rpc_callbacks *callbacks, uint64_t number);
/* The hook serve: serves the first message of the inbox, on the thread of the call. */
void callback_call_serve(struct rpc_callback_call *call);

#endif
