#ifndef JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
#define JPEER_RPC_CALLBACKS_CALLBACKS_STATE_H
/* State of callbacks and their calls that the files of this folder share. Private to them. */
#include "base/transitions.h"
#include "judge/judge.h"
#include "rpc/callbacks/callback_form.h"
#include "rpc/callbacks/callbacks.h"
#include "rpc/callbacks/nested_workers.h"
#include "rpc/peer_state.h"

#include <pthread.h>
#include <stdatomic.h>

/* An object that the client has given. */
struct callback_record {
  struct callback_record *next; /* in its bucket */
  int64_t id;
  /* the connection that has given the object last; NULL: that connection is closed */
  struct rpc_callbacks *giver;
  uint64_t epoch; /* rpc_process.epoch when the record was made */
  uint64_t given; /* arguments with this ID that were read since the record was made */
  /* the number of the last proxy that jni has made of the object; 0: Java has no proxy */
  uint64_t proxy;
  uint64_t *older; /* the numbers of the older proxies that Java still has, in ascending order */
  size_t older_count;
  size_t older_capacity;
  size_t in_flight; /* arguments of messages that are being served, and open calls */
};

/* A hash table of the records by their IDs. An empty table is all zero. */
struct callback_records {
  struct callback_record **buckets;
  size_t bucket_count; /* a power of two */
  size_t count;
  uint64_t seed; /* clients choose the IDs, but must not be able to choose the buckets */
};

/*
 * Whether a thread sends the releases. Under the callbacks' lock; callbacks.c has the transitions.
 *
 * | state             | meaning                                           | what ends it                              |
 * | RELEASES_WAIT     | releases wait for a thread that sends, or room    | callbacks_send_releases                   |
 * | RELEASES_LEAVE    | a thread sends releases, including those that are | that thread; rpc_callbacks_has_room       |
 * |                   | added during that time                            |                                           |
 * | RELEASES_GOT_ROOM | as LEAVE; room was made since the thread began to | that thread: the next message, or the end |
 * |                   | send the last message                             |                                           |
 */
enum callback_releases_state {
  RELEASES_WAIT,    /* no thread sends the releases */
  RELEASES_LEAVE,   /* a thread sends the releases */
  RELEASES_GOT_ROOM /* a thread sends the releases, and room was made during that time */
};

/* The IDs whose release was not yet sent to the client. */
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
 * | state                        | meaning                                            | what ends it                  |
 * | RPC_CALLBACKS_OPEN           | calls may begin                                    | whoever sees the connection's |
 * |                              |                                                    | end; the watcher, after the   |
 * |                              |                                                    | grace time of a stop          |
 * | RPC_CALLBACKS_CLIENT_GONE    | no answer can come: calls end                      | rpc_callbacks_close           |
 * | RPC_CALLBACKS_STOPPED        | the grace time of a stop is over: calls end        | rpc_callbacks_close           |
 * | RPC_CALLBACKS_CLOSED         | as RPC_CALLBACKS_CLIENT_GONE; the client is closed | nothing                       |
 * | RPC_CALLBACKS_STOPPED_CLOSED | as RPC_CALLBACKS_STOPPED; the client is closed     | nothing                       |
 */
enum rpc_callbacks_state {
  RPC_CALLBACKS_OPEN,          /* calls may begin */
  RPC_CALLBACKS_CLIENT_GONE,   /* no answer can be received */
  RPC_CALLBACKS_STOPPED,       /* the grace time of a stop is over */
  RPC_CALLBACKS_CLOSED,        /* no answer can be received, and the client is closed */
  RPC_CALLBACKS_STOPPED_CLOSED /* the grace time of a stop is over, and the client is closed */
};

/*
 * The objects that one client process has given, over any of its connections. A connection that has joined no
 * process has a struct of its own. Reference-counted: each struct rpc_callbacks of the process and each
 * client that has joined the process holds it.
 */
struct rpc_process {
  _Atomic size_t holders;
  uint64_t client; /* the number that `control session` returns. Constant */

  /* For processes that clients join, under the lock of the peer's list: */
  struct rpc_process *next;
  const struct rpc_session *session; /* of the members; each of them holds it */
  struct rpc_address
      /* the address of the first member. All other members belong to the same user of a Unix socket, or use
       * TCP if the first member uses TCP */
      from;
  struct text name;
  size_t joined; /* clients */

  /* guards the fields below, and the fields of struct rpc_callbacks whose comments say so */
  pthread_mutex_t lock;
  uint64_t epoch;   /* count of delete_session */
  uint64_t cleared; /* the number of the last rpc_callbacks_end_session that has cleared the records */
  struct callback_records records;
  struct rpc_callbacks *members; /* connections that are not closed */
  size_t open;                   /* count of members in RPC_CALLBACKS_OPEN */
  size_t unsent;                 /* count of the members' releases */
  uint64_t rounds;               /* calls of callbacks_send_releases so far; each visits a member once */
};

struct rpc_callbacks {
  _Atomic size_t holders;
  struct rpc_process *process; /* held */
  struct rpc_peer *peer;
  const struct rpc_codec *codec;
  const struct rpc_push *push;
  struct rpc_duplex *duplex;

  /* Copies of the client's values; constant. */
  enum op_channel channel;
  struct op_session_key key;
  struct principal_proof proof; /* the proof of the client's principal, which is maker.principal, and is
                                 * held */
  struct rpc_session_maker maker;
  struct rpc_session *session; /* held until callbacks_are_closed, and while calls_open > 0 */

  /* In the peer's list, under its lock: */
  struct rpc_callbacks *next;
  struct rpc_callbacks *before;
  uint64_t cleared; /* the number of the last rpc_callbacks_end_session that has visited it */

  /* Under the lock of the process: */
  enum rpc_callbacks_state state;
  struct rpc_callbacks *next_member;
  uint64_t round;                  /* the last round in which callbacks_send_releases has visited it */
  struct rpc_callback_call *calls; /* the newest first */
  size_t calls_open;
  uint64_t last_number; /* of the last call that expects an answer; 0: there was none */
  size_t kept;          /* nested requests that wait, and answers that were not read yet */
  size_t kept_bytes;
  uint64_t answers; /* answers that were kept for their calls, so far */
  size_t waiting;   /* threads in rpc_callbacks_await_answers */
  pthread_cond_t was_read;
  bool has_dropped; /* an answer was dropped, and this was logged */
  bool has_misfit;  /* an answer did not fit, and this was logged */
  struct callback_releases releases;
};

/*
 * A thread that has open calls. The struct belongs to the outermost call of the thread. Inner calls on the
 * same thread find the struct through a thread-local variable. Our C functions set the variable, and restore
 * it before they return; Java may run inside these functions. A virtual thread with C frames is pinned to its
 * carrier thread, so that no other virtual thread sees the variable. While a thread without such C frames is
 * parked, the variable is not set, and the struct is found only through its call.
 *
 * The requests that are nested in any call of the thread share one inbox. While the thread waits in an inner
 * call, even a call of another connection, it also serves the requests that are nested in the outer calls.
 */
struct callback_thread {
  pthread_mutex_t lock; /* guards the inbox, `innermost` and `served`; taken after the callbacks' lock */
  struct callback_message *first;
  struct callback_message **last;
  _Atomic size_t count;                /* of the inbox; changed under the lock */
  struct rpc_callback_call *innermost; /* the call in which it waits, if any */
  size_t depth;                        /* count of its open calls; used by the thread only */
  /* The innermost nested request that is being served; NULL: none. Only the thread changes it, so the thread
   * reads it without the lock. */
  struct callback_message *served;
};

/* Why a call has ended, or cannot begin. */
enum callback_ending {
  CALLBACK_GOES_ON, /* it has not */
  CALLBACK_CLIENT_GONE,
  CALLBACK_STOPPED,
  CALLBACK_SESSION_DELETED,
  CALLBACK_TIMED_OUT,
  CALLBACK_ANSWER_TOO_LONG,
  CALLBACK_NO_MEMORY,    /* no memory for the answer */
  CALLBACK_ANSWER_FAULTY /* the answer is malformed */
};

/*
 * The state of a call, by the next event for which it waits. Under the callbacks' lock.
 * callback_call_has_ended is true from RPC_CALL_ENDING on, and call->ending is CALLBACK_GOES_ON in the states
 * before RPC_CALL_ENDING only.
 *
 * | state             | meaning                                                | what ends it                         |
 * | RPC_CALL_UNSENT   | its message is being written; or it is an event, and   | its thread sends it; its end         |
 * |                   | its message has found room                             |                                      |
 * | RPC_CALL_EXPECTS  | its message is being sent, was sent, or waits for      | room, an answer, its end; a send     |
 * |                   | room; an answer may come                               | that fails                           |
 * | RPC_CALL_HAS_ROOM | as EXPECTS; room was made, so the message may be sent  | its thread sends it; an answer; its  |
 * |                   |                                                        | end                                  |
 * | RPC_CALL_ANSWERED | call->answer is the answer, which its thread reads     | nothing                              |
 * | RPC_CALL_ENDING   | call->ending says why; its thread is still to be woken | callbacks_wake_ended                 |
 * | RPC_CALL_ENDED    | as ENDING, and its thread knows this, or was woken     | nothing                              |
 *
 * Its thread closes the call in each of the last three states, or if its message cannot be sent.
 */
enum rpc_call_state {
  RPC_CALL_UNSENT,   /* the call waits for nothing */
  RPC_CALL_EXPECTS,  /* the call waits for room for its message, or for an answer */
  RPC_CALL_HAS_ROOM, /* the call waits for an answer, and room was made, so its message may be sent */
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

/* A call of one method of a client's object by Java (callback_call.c). From open to close the call is on the
 * heap, and in the list of its callbacks under the number N of "cb-N". Only the call's own thread uses its
 * members, except the members that the lock of the callbacks guards. */
struct rpc_callback_call {
  struct rpc_callbacks *callbacks; /* held */
  struct callback_thread *thread;
  struct callback_thread own_thread; /* used by an outermost call */
  struct rpc_callback_call *outer;   /* on the same thread; NULL: this call is the outermost */
  uint64_t number;                   /* 0: a notification */
  int64_t id;
  uint64_t epoch;
  bool borrows;
  bool sends_origin;
  const struct jvm_callback_method *method; /* owned by jni, as long as the call */
  struct jvm_waiter *waiter;                /* held; NULL: the worker waits */
  struct rpc_worker *worker;                /* the crew member whose thread this is; NULL: another thread */
  /* INT64_MAX: no deadline. An event has a deadline only after its message has found no room */
  int64_t deadline_ms;

  /* Under the callbacks' lock: */
  struct rpc_callback_call *next;
  struct rpc_callback_call **link;
  enum rpc_call_state state;
  enum callback_ending ending; /* set by callback_call_end only */
  /* the answer, or a description of its fault if `ending` is CALLBACK_ANSWER_FAULTY */
  struct buffer answer;
  uint64_t answer_number; /* of rpc_callbacks.answers */
  int64_t answered_ms;    /* clock_coarse_ms */

  bool has_thread; /* counted in the peer's callback_threads, from open to close. Constant in between */
  /* something has happened since the call's thread has last polled; callback_call_wake sets this */
  _Atomic bool has_news;

  /* Used by its thread only: */
  /* the call's message was sent. An event whose message was sent remains in RPC_CALL_UNSENT. A call that is
   * not an event may be answered before this field is set */
  bool is_sent;
  struct buffer message;    /* the message, if it has found no room */
  struct jvm_stored stored; /* the refs that the arguments of the call name */
  int64_t begun_ns;         /* clock_now_ns */
  bool has_thrown;          /* the answer is an error */
  bool was_read;            /* the whole answer was read; belongs to RPC_CALL_ANSWERED, but needs no lock */
  struct rpc_given given;   /* the callbacks that the answer gives */
  struct callback_thread *previous_thread; /* between enter and leave */
  struct nested_worker *nested;            /* between enter and leave */
  struct judge judge;                      /* between enter and leave */
};

/* ---- callback_incoming.c ---- */

/* Fills a client struct of its own for a nested request, because the client struct of the outer requests may be in use.
 * Borrows from the callbacks. */
void callbacks_fill_client(struct rpc_callbacks *callbacks, struct rpc_client *client);

/* ---- callbacks.c ---- */

static inline struct rpc_callbacks *callbacks_hold(struct rpc_callbacks *callbacks)
{
  atomic_fetch_add_explicit(&callbacks->holders, 1, memory_order_relaxed);
  return callbacks;
}

/* For assertions: true if some thread holds the lock. */
static inline bool callbacks_are_locked(struct rpc_callbacks *callbacks)
{
  return pthread_mutex_trylock(&callbacks->process->lock) != 0;
}

/* Called with the lock held: finds a member of the process on which calls may begin, `preferred` if
 * possible. NULL: none. */
struct rpc_callbacks *callbacks_find_open(const struct rpc_process *process, struct rpc_callbacks *preferred);

/* Called with the lock held. */
static inline bool callbacks_are_closed(const struct rpc_callbacks *callbacks)
{
  return callbacks->state >= RPC_CALLBACKS_CLOSED;
}

void callbacks_release(struct rpc_callbacks *callbacks);
/* Releases the hold of the callbacks on their session, after the client and its last call are closed.
 * Called without the lock. */
void callbacks_release_session(struct rpc_callbacks *callbacks);

/* Called with the lock held. NULL: no record. */
struct callback_record *callbacks_find_record(const struct callback_records *records, int64_t id);
/* Called with the lock held. True if the record has a proxy with this number; the record may be NULL. */
bool callbacks_has_proxy(const struct callback_record *record, uint64_t number);
/* Called with the lock held: releases the ID and removes the record if nothing holds it. */
void callbacks_settle_record(struct rpc_callbacks *callbacks, struct callback_record *record);
/* Called without the lock: sends the members of the process their releases, as far as there is room. */
void callbacks_send_releases(struct rpc_callbacks *callbacks);
/* The same as callbacks_send_releases, when there is room again. Also notifies a thread that is sending the
 * releases. */
void callbacks_resume_releases(struct rpc_callbacks *callbacks);

/* These functions are the hooks `find`, `made`, `owner` and `released`. */
uint64_t callbacks_find_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t below);
enum jp_status callbacks_note_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number,
                                    uint64_t newest, bool *is_taken) JP_MUST_CHECK;
uint64_t callbacks_find_owner(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);
void callbacks_release_proxy(struct rpc_callbacks *callbacks, int64_t id, uint64_t number);

/* ---- callback_call.c ---- */

/* The callback_thread of the calling thread, for inner calls; NULL: no call is open on this thread. Setting a
 * value returns the previous value. */
struct callback_thread *callback_thread_now(void);
struct callback_thread *callback_thread_set(struct callback_thread *thread);

/* Called with the lock held: wakes the call's thread, if the thread belongs to the crew. If the thread parks
 * in Java, returns its waiter, held, and the caller wakes the waiter after the unlock; otherwise returns
 * NULL. */
struct jvm_waiter *callback_call_wake(struct rpc_callback_call *call) JP_MUST_CHECK;
/* Called without the lock: wakes and releases a waiter; NULL is fine. */
void callback_waiter_wake(struct jvm_waiter *waiter);
/* Sets the state. Called with the lock held. To end a call, use callback_call_end instead; only the change
 * from RPC_CALL_ENDING to RPC_CALL_ENDED is made by this function. */
static inline void callback_call_set_state(struct rpc_callback_call *call, enum rpc_call_state to)
{
  assert(callbacks_are_locked(call->callbacks));
  ASSERT_TRANSITION(rpc_call_transitions, call->state, to);
  assert((to >= RPC_CALL_ENDING) == (call->ending != CALLBACK_GOES_ON));
  call->state = to;
}

/* Called with the lock held: ends the call without an answer. to: RPC_CALL_ENDING, or RPC_CALL_ENDED if
 * its thread is the caller or is woken by the caller. */
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

/* Called without the lock: wakes every call that has ended and was not woken. */
void callbacks_wake_ended(struct rpc_callbacks *callbacks);

/* ---- callback_incoming.c ---- */

/* Called with the lock held. True if the call's thread has to serve its inbox next, because the inbox has a
 * message that was received before the call's answer. A message that was received after the answer belongs to
 * an outer call, which serves it later. */
bool callback_inbox_has_turn(const struct rpc_callback_call *call);
/* Answers each nested message of the ended call `number` with an error. */
void callback_inbox_refuse(struct callback_thread *thread, struct rpc_callbacks *callbacks, uint64_t number);
/* The hook serve: serves the first message of the inbox, on the thread of the call. */
void callback_call_serve(struct rpc_callback_call *call);

#endif
