#ifndef JPEER_NET_WORKERS_CREW_H
#define JPEER_NET_WORKERS_CREW_H
/*
 * The crew: the threads that serve clients (docs/internals/crew.md). The thread that reads a request also runs it.
 *
 * A `struct crew_source` is anything that the crew serves: a connection, a listener, a ZeroMQ socket, the queue of one
 * ZeroMQ identity. A member is a thread of the crew. It gets a source from the epoll set or from the ready queue, calls
 * the source's turn function, and continues with the next source. A source gets a turn after
 *   - an event of its descriptor, which crew_watch has added to the epoll set. Each event is delivered once:
 *     the descriptor causes no further event before the next crew_watch_again;
 *   - crew_submit, which appends the source to the ready queue.
 * Each event and each submission is one turn on one thread. Two threads may still use one source at the same
 * time. For this reason a source that is both watched and submitted, or that the watcher's tick uses, needs a
 * lock and an owner of its own. A source may get a turn although it has nothing to do, so its memory must
 * remain valid until crew_destroy.
 *
 * A turn ends after CREW_TURN_MESSAGES messages or after CREW_TURN_NS (struct crew_turn counts both). At its
 * end the turn calls crew_watch_again or crew_submit, and other sources are served before its own source. If
 * no other source waits (crew_is_wanted), the member may begin the next turn at once. Each message goes
 * through crew_serve, which counts the message for the watcher. crew_serve never blocks on the watcher's own
 * thread.
 *
 * The watcher is a thread that runs no Java. While there is work, it checks the crew every 5 ms. It adds
 * members, up to threads_max, if no member is idle and either no counter has moved or all members wait for
 * their clients. Another thread, the starter, makes the threads of new members, because making a thread may
 * take long. Until a new thread runs, or if no member can be added, the watcher itself consumes events and
 * ready work, as a member whose worker is NULL. crew_serve then answers a ping, refuses a message that has
 * waited for busy_timeout_ms if no member can be added, and returns CREW_WAIT for all other messages. After
 * CREW_WAIT the source keeps the message, calls crew_submit, and tries again in its next turn. The watcher
 * also wakes an idle member if the ready queue is not empty, so a lost wake-up costs 5 ms.
 *
 * Long calls: if a message has been inside the service for 5 ms, its source reads ahead. After long_call_ms
 * the watcher checks four times a second whether the client has left. The watcher never calls the JVM,
 * because the JVM may block its caller. For this reason the thread that is reserved for `control` gives the
 * threads of long calls their names. A message has to end if its timeout has passed, if its client has left,
 * or if the client has asked for the end (crew_end_message). Threads that do nothing else interrupt such
 * messages (crew_interrupts.c), because an interrupt may never return: it runs code of the application if the
 * call is inside an interruptible channel. A member's `steps` identify the message that it serves. The
 * watcher logs the calls that are being served if threads_max members are inside Java, and a message was
 * refused or a call is older than report_ms. It logs at most one line in report_ms.
 *
 * Two more threads are reserved, one for each lane except RPC_LANE_ALL, so that `control` and `meta` requests
 * are answered while every member is inside Java. The watcher's crew_serve finds the lane of a message that
 * has to wait, and the reserved thread of the lane removes the source from the ready queue. A reserved thread
 * serves only messages of its lane. Reserved threads do not count in threads_max.
 *
 * The watcher goes to sleep after 10 checks in which a member was idle, the ready queue was empty and no
 * counter moved. It sleeps until its tick is due, or until a thread that receives an event, submits a source
 * or begins a message sees the flag watcher_sleeps. The watcher sets the flag one whole check before it
 * sleeps, so no barrier is needed.
 *
 * A source may have a member of its own (crew_pin): a thread that serves this source alone and does not count
 * in threads_max. The pinned member waits for the source by poll(2) or by busy-polling, so no call is handed
 * over between threads. Other members that get the source wake the pinned member. While the pinned member
 * serves a call, other members read the source's input, as for any source.
 *
 * Example of a transport without connections: the descriptor of the ZeroMQ socket is one source, which is
 * watched for input. The queue of each ZeroMQ identity is another source. The queue is submitted when its
 * first message arrives, and at the end of its turn if messages remain.
 */
#include "base/spin_policy.h"
#include "base/status.h"
#include "base/transitions.h"
#include "metrics/metrics.h"
#include "net/workers/scratch.h"
#include "net/workers/wake_word.h"
#include "rpc/service.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CREW_TURN_MESSAGES = 16, CREW_TURN_NS = 200000 };

/* The error for a request that arrives, or is still running, when the server ends. */
#define CREW_SHUTTING_DOWN "the peer is shutting down"

struct crew;
struct crew_member;
struct crew_source;

/* The next step of a pinned member. */
enum crew_pinned_next {
  CREW_PINNED_TURN,  /* runs the next turn of its source */
  CREW_PINNED_WAITS, /* waits for an event or crew_wake */
  CREW_PINNED_ENDS   /* ends: the source is no longer pinned to this member */
};

/* Objects of a reclaimed source that the lost thread keeps in use until it returns. */
struct crew_retained {
  struct rpc_client
      *client; /* the thread closes the client when it returns; NULL: its turn does, after CREW_LOST */
  struct buffer message; /* the message that the thread serves */
};

/*
 * Functions of a source that the crew calls before, during and after a call. A call is the time during which
 * a message of the source is inside the service. The `steps` of a member identify the message that it serves.
 * A source without these functions is not read during a call.
 */
struct crew_call_ops {
  /* Called by the pinned member between two turns: returns what the member does next. CREW_PINNED_WAITS: the
   * member sleeps until *fd has *events (of poll(2)), or until crew_wake. *fd is -1 if there is no
   * descriptor. */
  enum crew_pinned_next (*await)(struct crew_source *source, struct crew_member *member, int *fd,
                                 short *events);
  /* Called when the member begins and ends a wait inside the service (crew_wait). begin_wait returns true if
   * the member reads the source during the wait. The three functions below are called only after begin_wait
   * has returned true. begin_wait NULL: the member does not read the source. */
  bool (*begin_wait)(struct crew_source *source, struct crew_member *member);
  void (*end_wait)(struct crew_source *source, struct crew_member *member);
  /* Receives one part of the input, without blocking. False: there was no input. */
  bool (*receive)(struct crew_source *source, struct crew_member *member);
  /* True if `receive` may find input. Called in the busy-polling loop, so it must be cheap. This function may
   * receive the input itself. */
  bool (*poll)(struct crew_source *source, struct crew_member *member);
  /* Called before the member sleeps: sets *fd, which is -1 before the call, and the *events (of poll(2)) that
   * wake the member. False: there is input, and the member must not sleep. */
  bool (*prepare_sleep)(struct crew_source *source, int *fd, short *events);
  /* Called by the watcher four times a second after a call has lasted for long_call_ms, perhaps even after
   * the end of the call. Returns true if the client has left, after closing what only the client needed.
   * had_left: the result of the previous check. */
  bool (*check_client)(struct crew_source *source, bool had_left);
  /* Called by the watcher repeatedly after a call has lasted for 5 ms, perhaps even after the end of the
   * call, and at the time of crew_read_ahead_at. From now on the thread that gets the source's event reads
   * the input, so that messages that need not wait for the turn are answered. NULL: the source has no such
   * messages. */
  void (*read_ahead)(struct crew_source *source, struct crew_member *watcher);
  /*
   * Called by the watcher if the member's message was ended and the member's thread has not returned. Answers
   * the message in the place of the thread, if the member's steps still equal `steps`. is_patient: only one
   * request of a batch was ended, and the other requests continue to wait. True: the message was answered, or
   * has no answer.
   */
  bool (*answer_ended)(struct crew_source *source, struct crew_member *member, uint64_t steps,
                       enum rpc_call_cause cause, bool is_patient);
  /*
   * Called by the watcher if the member's thread is lost. The thread is held in its call
   * (rpc_service.hold_call). Takes the source away from the member, moves the objects that the thread still
   * uses to *retained, and ends the turn. False: the member keeps the source, and the source refuses messages
   * until the thread returns. *is_later: the watcher has to try again later.
   */
  bool (*reclaim)(struct crew_source *source, struct crew_member *watcher, struct crew_member *member,
                  uint64_t steps, struct crew_retained *retained, bool *is_later);
  /* Called by the member whose turn has called crew_defer: sends what the turn has left, after the audit's lines about it are
   * written. Another thread may have sent it. */
  void (*send_deferred)(struct crew_source *source, struct crew_member *member);
};

/* The watcher's notes on the message that a member serves. Used by the watcher only. */
struct crew_call {
  uint64_t steps;   /* the member's steps at the last check */
  int64_t since_ms; /* the time at which the watcher first saw these steps */
  bool has_left;    /* the client has left */
  bool is_read_ahead;
  uint64_t waits_ended; /* the member's waits_ended when its source was last asked to read ahead */
};

/* A thread is lost if it has not returned from a call one second after the call was ended. When the thread
 * returns, it is no longer lost. */
enum crew_lost {
  CREW_NOT_LOST,
  CREW_LOST_OWNER,    /* the source waits for the thread */
  CREW_LOST_RECLAIMED /* the source was reclaimed, and other members serve it */
};

/* Who holds a member's thread in the call that is ended (rpc_service.hold_call). Under the crew's lock. */
enum crew_hold {
  CREW_HELD_BY_NONE,        /* no thread holds the call */
  CREW_HELD_BY_INTERRUPTER, /* the interrupter holds the call until its interrupt has returned */
  CREW_HELD_BY_BOTH, /* the watcher uses the interrupter's hold; the interrupter waits for the watcher */
  CREW_HELD_BY_WATCHER
};

enum { CREW_CALL_NAME_MAX = 160 };

/* The last interrupt of a member's thread. Under the crew's lock. */
struct crew_ended {
  char name[CREW_CALL_NAME_MAX]; /* of the call */
  enum rpc_call_cause cause;     /* RPC_CALL_RETURNS: the thread was not interrupted */
  bool is_any;                   /* of struct rpc_call_end */
  uint32_t call;                 /* of struct rpc_call_end */
  bool is_answered;              /* the watcher has answered the message */
  uint64_t steps; /* identify the message; if the member's steps differ, the message was served */
  int64_t at_ms;
};

/* A request to end a member's message, or to end one call of the message. */
struct crew_end {
  struct rpc_call_end call; /* cause RPC_CALL_RETURNS: no request */
  uint64_t steps;           /* identify the message; if the member's steps differ, the message was served */
};

/*
 * The state of a place for a member. The lock guards all changes, except that the thread itself changes to
 * and from WAITING without the lock. A reserved thread has only the first three states. The watcher has no
 * state.
 *   | state    | meaning                                        | what ends it                                        |
 *   | FREE     | no thread; worker is NULL                      | crew_add_member, start_reserved                     |
 *   | STARTING | the thread is being started; worker is NULL    | the thread, once it runs; the thread that starts    |
 *   |          |                                                | it, on failure                                      |
 *   | SERVING  | the thread has a worker; it is idle or has a   | the thread: crew_wait, or the end of its loop       |
 *   |          | turn                                           |                                                     |
 *   | WAITING  | the thread is inside the service, in crew_wait | the thread, when the wait is over                   |
 */
enum crew_member_state {
  CREW_MEMBER_FREE,     /* no thread: the place can be used */
  CREW_MEMBER_STARTING, /* its thread does not run yet */
  CREW_MEMBER_SERVING,  /* its thread is idle, or has a turn */
  CREW_MEMBER_WAITING   /* its thread waits for its client, in crew_wait */
};

static const uint16_t crew_member_transitions[] = {
    [CREW_MEMBER_FREE] = TO(CREW_MEMBER_STARTING),
    [CREW_MEMBER_STARTING] = TO(CREW_MEMBER_SERVING) | TO(CREW_MEMBER_FREE),
    [CREW_MEMBER_SERVING] = TO(CREW_MEMBER_WAITING) | TO(CREW_MEMBER_FREE),
    [CREW_MEMBER_WAITING] = TO(CREW_MEMBER_SERVING),
};

/*
 * How long the messages took that a member has served, from their arrival (crew_message.arrived_ns) to the end of the service.
 * The end is the next read of the clock that the turn makes anyway (crew_turn_is_over), and at most CREW_UNRECORDED_MAX quick
 * messages share a read: their answers leave together, too. Written by the member's thread; the buckets are read by any.
 */
enum { CREW_UNRECORDED_MAX = 16 };
struct crew_latency {
  unsigned unrecorded;                      /* messages served since the last read of the clock */
  int64_t arrived_ns[CREW_UNRECORDED_MAX];  /* of these */
  _Atomic uint64_t counts[METRICS_BUCKETS]; /* so far */
  _Atomic uint64_t sum_ns;
};

/* The work that a member prefers if both events and ready work exist. A member goes through the choices in a
 * cycle. */
enum crew_choice {
  CREW_CHOICE_POLLED_FIRST, /* a polled source with input, else an event of epoll, else ready work */
  CREW_CHOICE_READY,        /* ready work */
  CREW_CHOICE_EPOLL_FIRST,  /* an event of epoll, else a polled source with input, else ready work */
  CREW_CHOICE_READY_AGAIN,  /* ready work */
  CREW_CHOICES
};

enum { CREW_DEFERRED_MAX = 8 };

/* A thread that serves: a member of the crew, or the watcher. Every turn gets its member, which is valid for
 * that turn. */
struct crew_member {
  struct crew *crew;
  struct rpc_worker *worker; /* NULL: the member is the watcher, which must not use Java */
  enum rpc_lane lane;        /* RPC_LANE_ALL: serves any message */
  struct scratch scratch;    /* buffers that the turn may borrow */
  bool has_served;           /* the service has received the current message */
  bool has_found;            /* busy-polling has found this turn's source: no event was received for it */

  /* The only source of a pinned member; NULL: the member serves all sources. Other threads may read it. */
  struct crew_source *_Atomic pinned;
  _Atomic bool is_admitted; /* crew_admit was called: the pinned member may begin */

  /* Used by the crew alone. */
  unsigned number; /* of the place */
  struct crew_member *next_unstarted;
  struct crew_source *held; /* the source of an event that crew_is_wanted has received: served next */
  struct crew_source *last; /* the source of the previous turn; only compared, never dereferenced */
  struct crew_source *deferred[CREW_DEFERRED_MAX]; /* by crew_defer */
  unsigned deferred_count;
  unsigned lone_turns; /* turns without a backlog that could have deferred their answers */
  /* The source of this turn. Stored with release: the watcher reads the source's own fields, which another member may
   * have written. */
  struct crew_source *_Atomic current;
  struct crew_source *found; /* a polled source that has work: served next */
  int64_t clock_ns; /* the last read of the clock: the begin of the current work, or of the last poll */
  bool was_slow;    /* its last work for a pollable source was slow */
  bool has_backlog; /* after the last turn that has deferred its answers, another event waited */
  bool wants_name;  /* the thread shall get a name for its current call; under the crew's lock */
  int64_t events_checked_ns;    /* when the poller last checked whether others wait for its processor */
  struct spin_policy spin;      /* of crew_stay, for sockets */
  struct spin_policy poll_spin; /* of crew_stay, for pollable sources */
  struct spin_policy turn_spin; /* of crew_stay, for short polls in turns with other pinned members */
  struct spin_policy wait_spin; /* of crew_wait */
  struct rpc_waits waits;
  _Atomic int wait_fd;    /* an eventfd, from the first wait to the end of the thread; else -1 */
  wake_word waking;       /* of crew_wait */
  _Atomic uint64_t steps; /* odd while a message is inside the service */
  _Atomic enum crew_member_state state;
  enum crew_hold hold; /* under the crew's lock */
  struct crew_call call;
  _Atomic uint64_t waits_ended; /* the number of waits (crew_wait) that have ended; written by the thread */
  struct crew_end end;          /* under the crew's lock */
  struct crew_ended ended;
  /* Set under the crew's lock, while the thread is held in its call. The thread reads it after the call. */
  _Atomic enum crew_lost lost;
  struct crew_retained retained; /* CREW_LOST_RECLAIMED */
  enum crew_choice choice;       /* the last choice */
  struct crew_latency latency;
};

/*
 * Functions of a pollable source. A source is pollable if a member can poll it without a system call, and if
 * its client can see whether the source is polled. The client of a polled source need not notify the peer.
 * The crew may poll a pollable source between its turns (crew_add_polled).
 */
struct crew_poll_ops {
  /* True if there is work. Called while nobody owns the source. Must not lock anything. */
  bool (*poll)(struct crew_source *source);
  /* Asks the client to notify the peer from now on. False: there is work, and the client was not asked.
   * Called while nobody owns the source. Must not lock anything. */
  bool (*sleep)(struct crew_source *source);
  /* Publishes to the client on which processor the source is polled. Returns the client's processor, or -1 if
   * the client has published none. Called in a turn of the source. */
  int (*exchange_processors)(struct crew_source *source, int processor);
};

/* How soon after the previous answer the last message of a pollable source was received. */
enum crew_pace {
  CREW_PACE_SLOW,   /* late: the source is not polled, and its client has to notify the peer */
  CREW_PACE_STEADY, /* soon enough that it may be polled while the poller has other work */
  CREW_PACE_FAST    /* so soon that a member polls for the next message */
};

struct crew_source {
  void (*turn)(struct crew_source *source, struct crew_member *member);
  const struct crew_call_ops *call_ops; /* NULL: none */
  /* NULL: the source is not pollable. Its owner may change it. */
  const struct crew_poll_ops *_Atomic poll_ops;
  /* the only member that serves it; NULL: any member. Changed under the source's own lock */
  struct crew_member *_Atomic pinned;

  /* Used by the crew only, under the crew's lock. */
  struct crew_source *next_ready;
  bool is_ready;
  /* The lane of the message that waits. The source's owner writes the lane before crew_submit, perhaps while
   * the previous owner submits the source. */
  _Atomic enum rpc_lane lane;
  _Atomic bool is_polled;
  size_t polled_at; /* its index among the polled sources */

  /* Its last turns were short, so that deferred answers of others may wait for its next turn. Written by its owner. */
  _Atomic bool is_quick;

  /* For a pollable source. Used by the crew only, on the thread of the source's owner. */
  int64_t answered_ns; /* when crew_stay was called last */
  enum crew_pace pace; /* measured after each message */
};

static inline const struct crew_poll_ops *crew_poll_ops_of(struct crew_source *source)
{
  return atomic_load_explicit(&source->poll_ops, memory_order_relaxed);
}

struct crew_config {
  unsigned threads;     /* at least 1 */
  unsigned threads_max; /* at least threads */
  unsigned lost_max;    /* lost threads that are replaced, in addition to threads_max */
  unsigned pinned_max;  /* pinned members, in addition to threads_max */
  /* The number of pinned members that may busy-poll for a long time at once. Others poll only for a few
   * yields. 0: no pinned member polls. */
  unsigned pinned_polling;
  int64_t linger_ms;       /* how long a member above `threads` stays idle before it leaves */
  int64_t busy_timeout_ms; /* net/server.h */
  /* Handles deadlines and the shutdown. Called on the watcher's thread, about every tick_ms while there is
   * work. `watcher` has no worker. Returns when it must be called again even without work (clock_now_ms;
   * INT64_MAX: never). */
  int64_t (*tick)(void *context, struct crew_member *watcher, int64_t now_ms);
  void *context;
  int64_t tick_ms;
  int64_t long_call_ms; /* the client of a call that has lasted this long is checked; 0: 1 s */
  int64_t report_ms;    /* the log gets at most one line about busy threads in this time; 0: a minute */
  int64_t poll_ns;      /* how long a member polls pollable sources before it sleeps; 0: it does not poll */
  /* True: the crew assumes that a client without a published processor runs on another processor, and first
   * polls without yields. */
  bool may_pause;
};

/* Creates a crew without threads. Sources can be watched and submitted before crew_start. Caller frees with
 * crew_destroy. */
enum jp_status crew_create(const struct crew_config *config, struct crew **crew,
                           struct jp_error *error) JP_MUST_CHECK;
/* Starts the watcher alone, which serves sources as a member without a worker: crew_serve lets all messages wait
 * (CREW_WAIT). For the time in which the JVM starts. May be left out. The service is borrowed until crew_destroy. */
enum jp_status crew_begin(struct crew *crew, const struct rpc_service *service,
                          struct jp_error *error) JP_MUST_CHECK;
/* Starts `threads` members, and the watcher if crew_begin has not. The service is borrowed until crew_destroy. */
enum jp_status crew_start(struct crew *crew, const struct rpc_service *service,
                          struct jp_error *error) JP_MUST_CHECK;
/* From now on crew_serve refuses every message (CREW_SHUTTING_DOWN). Any thread. */
void crew_refuse_all(struct crew *crew);
/*
 * Ends the watcher and asks the members to leave after their turn. Waits for the members until deadline_ms
 * (clock_now_ms), except for members whose thread is exiting the JVM. False: some members are still inside
 * Java, and crew_destroy keeps the memory that they use. Called once, by a thread that is not a member.
 */
bool crew_stop(struct crew *crew, int64_t deadline_ms);
void crew_destroy(struct crew *crew);

const struct rpc_service *crew_service(const struct crew *crew);

/* --- what an operator sees; any thread --- */

/* True if messages are served: not while the crew starts or stops, and not if for busy_timeout_ms no member was idle and none
 * has served a message. */
bool crew_is_healthy(struct crew *crew);
/* Between crew_begin and the end of crew_start: messages have to wait. */
bool crew_is_starting(const struct crew *crew);
/* After crew_refuse_all or crew_stop, even if the crew has never served: each message is refused. */
bool crew_is_ending(const struct crew *crew);
/* Sets the figures of threads and latencies, and adds the messages that crew_serve has refused. */
void crew_collect(struct crew *crew, struct metrics_figures *figures);

/*
 * Adds fd to the epoll set (crew_watch), or arms it again (crew_watch_again), for one event. events is
 * EPOLLIN, EPOLLOUT or both. If the descriptor is ready now, its event is queued after the events that wait
 * already. Closing fd removes it from the set. JP_IO. Any thread.
 */
enum jp_status crew_watch(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                          struct jp_error *error) JP_MUST_CHECK;
enum jp_status crew_watch_again(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                                struct jp_error *error) JP_MUST_CHECK;
/* Appends the source to the ready queue, unless it is there already, and wakes an idle member. Any thread. */
void crew_submit(struct crew *crew, struct crew_source *source);
/* Requests that the sources of long messages also read ahead at this time (clock_now_ms). If several times
 * were requested, they read ahead once, at the earliest time. Any thread. */
void crew_read_ahead_at(struct crew *crew, int64_t at_ms);
/* Wakes the watcher, because the tick may be due earlier than at the time that it has returned. Any
 * thread. */
void crew_wake_watcher(struct crew *crew);

/*
 * Starts a member for this source alone, with a thread of this name. The member serves nothing before
 * crew_admit. The caller sets source->pinned under the source's lock, and then calls crew_admit. The member
 * leaves as soon as source->pinned is another member or NULL. The thread that changes source->pinned holds
 * the source's lock, and calls crew_wake for the previous member. JP_LIMIT: there are pinned_max pinned
 * members already, or no thread can be started. Any thread that may use Java.
 */
enum jp_status crew_pin(struct crew *crew, struct crew_source *source, const char *name,
                        struct crew_member **member, struct jp_error *error) JP_MUST_CHECK;
void crew_admit(struct crew_member *member);

/* The member's turn continues as a turn of this source. Called in a turn. */
void crew_pass_turn(struct crew_member *member, struct crew_source *source);

/* Records the messages that the member has served since the last record, as ended at now_ns. On the member's thread. */
void crew_record_latency(struct crew_member *member, int64_t now_ns);
static inline bool crew_has_unrecorded(const struct crew_member *member)
{
  return member->latency.unrecorded > 0;
}

struct crew_turn {
  struct crew_member *member;
  int messages;
  int next_clock_read; /* the message after which the clock is read again */
  int64_t clock_ns;    /* the last read */
  int64_t ends_ns;     /* the turn ends at this time, even if it has served only a few messages */
  bool may_defer;      /* the turn ends with crew_defer, or with crew_release_event */
};

void crew_turn_begin(struct crew_turn *turn, struct crew_member *member);
/* Counts a message; true if the turn must end after it. While messages are quick, the clock is read only once
 * for several messages. For this reason a turn may exceed its time by the duration of these messages. */
bool crew_turn_is_over(struct crew_turn *turn);
/* Begins the next turn, if no other source waits. True if the time of the previous turn was over. In that
 * case the caller must send that turn's answers now. */
bool crew_turn_renew(struct crew_turn *turn);
/*
 * True if the member has to end its turn, because other sources wait or because the crew stops serving.
 * False: the source may begin another turn at once. Call this function when a turn is over. If the result is
 * true, the turn must end, because the member may have received an event of another source, which it must
 * serve next.
 */
bool crew_is_wanted(struct crew_member *member, const struct crew_turn *turn);

/*
 * With an audit, the answers of several turns share a write to its file: true if the turn may end without sending, and call
 * crew_defer. This is so while no member is idle and events wait; the member then serves some of their sources first, if these
 * are quick, and calls send_deferred afterwards. If a call lasts nevertheless, the watcher has to send what was deferred.
 */
bool crew_may_defer(struct crew_member *member);
/* Called at the end of the turn. */
void crew_defer(struct crew_member *member, struct crew_source *source);
/* If the member has received an event of another source, others serve it: the audit is going to be written, which may hang. */
void crew_release_event(struct crew_member *member);

/*
 * Busy-polls for the next message of a source that has just been answered. Calls has_work in a loop until the
 * result is true, but only for a limited time (base/spin_policy.h). Returns the last result. This way a
 * thread need not sleep and wake for each message of a client that waits for each answer. One member at a
 * time does this, the poller. The poller polls a socket only if it has served the source in the previous turn
 * and another member is idle, and it yields after each poll. After polls in vain it polls less and less
 * often. A pollable source is polled only if its last message arrived soon after the previous answer.
 */
bool crew_stay(struct crew_member *member, struct crew_source *source,
               bool (*has_work)(struct crew_source *source));

/*
 * Called at the end of a turn, for a pollable source without work. True: the poller polls the source from now
 * on, so that the client need not notify the peer. The source's descriptor is armed in either case. False for
 * a client whose calls are far apart. Called by the source's owner, or by a thread that holds the source's
 * lock.
 */
bool crew_add_polled(struct crew *crew, struct crew_source *source);
/* Called before a turn of a pollable source: the source has an owner from now on, and is not polled any
 * more. */
void crew_remove_polled(struct crew *crew, struct crew_source *source);

struct crew_message {
  const struct rpc_codec *codec; /* of this message */
  struct rpc_client *client;
  struct crew_source *source; /* keeps the message if it has to wait */
  struct text text;
  size_t reply_max; /* rpc_codec.serve */
  /* since when the message has waited for a member; 0: it has not waited. Kept by the source */
  int64_t *since_ms;
  int64_t arrived_ns; /* when the message was received (clock_now_ns); 0: unknown */
};

enum crew_served {
  CREW_REPLY,
  CREW_NO_REPLY,
  CREW_STREAM,
  CREW_FAILED,   /* RPC_FAILED: a reply, and a reason for HTTP's status */
  CREW_NOT_SAFE, /* RPC_NOT_SAFE: as CREW_FAILED */
  CREW_LOST, /* the member's thread was lost and has returned; its source was reclaimed (crew_call_ops.reclaim) */
  CREW_ANSWERED, /* connection_serve alone: the watcher has answered the message for the owner */
  CREW_WAIT      /* no member can serve it yet: keep the message, call crew_submit for the source, and end the
                  * turn */
};

/* True if there is an answer to send at once. */
static inline bool crew_has_replied(enum crew_served served)
{
  return served == CREW_REPLY || served == CREW_FAILED || served == CREW_NOT_SAFE;
}

enum crew_served crew_served_as(enum rpc_served served);

/*
 * Serves one message. out, stream and the results except CREW_WAIT are the same as for rpc_codec.serve.
 * Blocks while Java runs, so the caller must hold no lock. A message that has waited for busy_timeout_ms is
 * refused, and so is each message after crew_refuse_all.
 */
enum crew_served crew_serve(struct crew_member *member, const struct crew_message *message,
                            struct buffer *out, struct rpc_stream *stream);

/* True if the member is reserved for another lane than the message's: crew_serve would return CREW_WAIT. */
bool crew_leaves_to_others(const struct crew_member *member, const struct crew_message *message);

/* Called if the client never gets the answer to the member's message. The service then releases the objects
 * that it has stored for that answer (rpc_service.release_unsent). */
void crew_drop_answer(struct crew_member *member, struct rpc_client *client);

/*
 * Ends the message that the worker's thread serves: an interrupter interrupts that thread as soon as it is in
 * a call. False: no message is being served. Does not block. The calling thread must keep the worker from
 * beginning its next message.
 */
bool crew_end_message(struct crew *crew, const struct rpc_worker *worker, enum rpc_call_cause cause);

/* rpc_waits.end */
bool crew_end_call(void *thread, const struct rpc_call_end *call);

/*
 * rpc_waits.wait and wake; `thread` is the member. A waiting member does not count in threads_max, so the watcher may
 * add another member. At most CREW_WAITING_MAX members are counted as waiting; further members count as busy.
 * When a member ends its wait, the crew may be one member too large for a while.
 */
enum { CREW_WAITING_MAX = 4096 };
void crew_wait(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms);
void crew_wake(void *thread);

#endif
