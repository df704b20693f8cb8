#ifndef JPEER_NET_WORKERS_CREW_H
#define JPEER_NET_WORKERS_CREW_H
/*
 * The threads that serve. The thread that reads a request runs it: a member takes one event from the one
 * epoll set, or one source from the ready queue, owns it for a turn, gives it back, and takes the next.
 *
 * A `struct crew_source` is anything that the crew serves: a connection, a listener, a ZeroMQ socket, the
 * queue of one ZeroMQ identity. A source reaches a thread in two ways:
 *   - its descriptor was added with crew_watch and became ready (one-shot: it stays silent until the next
 *     crew_watch), or
 *   - somebody called crew_submit, which puts it into the ready queue, first in, first out.
 * Its turn function then runs on that thread. The crew gives each event and each submission to one thread
 * only. It does not promise that no other thread is in the source: a source that may be both watched and
 * submitted, or that the watcher's tick may touch, has its own lock and owner. A source may get a turn that
 * it no longer wants, so its memory stays valid until crew_destroy.
 *
 * A turn serves at most CREW_TURN_MESSAGES messages or CREW_TURN_NS (struct crew_turn counts). It ends with
 * crew_watch or crew_submit, which put the source behind the others. If no others wait (crew_is_wanted), it
 * may go on as the next turn, and no other thread has to wake. Each message goes through crew_serve, which
 * counts for the watcher and never blocks on the watcher's own thread.
 *
 * The watcher is a thread that runs no Java. While there is work it looks every 5 ms: if no member is idle,
 * and no counter has moved or all wait for their clients, it adds members, a quarter of those that there are at once,
 * up to threads_max. If it can add none, it takes events and ready work itself, with a member whose worker is
 * NULL. crew_serve then answers a ping, refuses a message that has waited for busy_timeout_ms, and returns
 * CREW_WAIT for all others: the source keeps the message, calls crew_submit, and comes by again with the next
 * tick or, sooner, on a member. The watcher also wakes an idle member if ready work has been left lying, so a
 * lost wake-up costs 5 ms and nothing else.
 *
 * While a message has been inside the service for 5 ms, its source reads ahead. One that has been there for
 * long_call_ms is looked after, four times a second: its source closes what a client that has left holds, and the
 * thread that is reserved for control names the member's thread, because the JVM may keep who does that
 * waiting. Calls are ended (crew_end_message) where their timeouts have passed, or their clients say so, by threads that do
 * nothing else (crew_interrupts.c): an interrupt runs code of the application where the call is inside an interruptible
 * channel, and may never return. What is to be ended is a message: the member's steps tell one from the next. Where all of threads_max are inside Java, and a caller was refused or a call is older than report_ms,
 * the log gets a line with the members that are served, at most one in report_ms.
 *
 * Two more threads are reserved, one for each lane but RPC_LANE_ALL: `control` and `meta` are answered while every
 * member is inside Java. The watcher's crew_serve finds the lane of a message that has to wait, and the reserved thread
 * takes its source out of the ready queue. It serves messages of its lane alone, and is none of threads_max.
 *
 * The watcher sleeps until its tick is due after 10 looks in which a member was idle, no work was ready and
 * no counter moved. The next thread that takes an event, submits a source or begins a message sees a flag and
 * wakes it. The flag is up for one whole look before the watcher trusts it, so that it needs no barrier.
 *
 * A source may have a member of its own (crew_pin): a thread beside threads_max that serves this source alone, and waits
 * for it alone, by poll or by busy-polling, so that no call is handed over from one thread to another. All other members
 * that get the source hand it on. While a call of that thread lasts, the crew reads the input, as it does for any source.
 *
 * ZeroMQ shows how a transport without connections joins: the descriptor of its socket is one source, which
 * is watched for input. The queue of each identity is another: it is submitted when its first message comes,
 * and by its own turn if that ends with messages left.
 */
#include "base/spin_policy.h"
#include "base/status.h"
#include "base/transitions.h"
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

/* What a pinned member does next. */
enum crew_pinned_next {
  CREW_PINNED_TURN,  /* the next turn of its source */
  CREW_PINNED_WAITS, /* it waits for one */
  CREW_PINNED_ENDS   /* the source is not pinned to it any more */
};

/* What a member that has lost its source uses of it, until it comes back. */
struct crew_parted {
  struct rpc_client *client; /* it closes it then */
  struct buffer message;     /* the one that it serves */
};

/*
 * The part of a source that a member calls while it waits inside the service, in the source's turn (crew_wait). A source
 * with NULL is not read meanwhile.
 */
struct crew_meanwhile {
  /* What the member that the source is pinned to does between two turns. CREW_PINNED_WAITS: it sleeps until *fd, which is
   * -1 for none, has *events (of poll), or until crew_wake. */
  enum crew_pinned_next (*await)(struct crew_source *source, struct crew_member *member, int *fd,
                                 short *events);
  /* The member begins to wait, or ends it. begin: true where it reads the source meanwhile; the other functions for a wait
   * are called only then. */
  bool (*begin)(struct crew_source *source, struct crew_member *member);
  void (*end)(struct crew_source *source, struct crew_member *member);
  /* Takes one part of the input, without waiting. False: there was none. */
  bool (*take)(struct crew_source *source, struct crew_member *member);
  /* True if there may be a part to take. As cheap as it can be: the member calls it while it waits awake. It may take the
   * part itself. */
  bool (*look)(struct crew_source *source, struct crew_member *member);
  /* The member is about to sleep until *fd, which is -1, has *events (of poll). False: there is input, and it must not
   * sleep. */
  bool (*sleep)(struct crew_source *source, int *fd, short *events);
  /* A turn of the source has been inside the service for long, and may still be. Looks whether its client has left, and
   * closes what nobody needs then; true: it has left, as the look before may have said. The watcher's thread, again and
   * again. */
  bool (*look_after)(struct crew_source *source, bool had_left);
  /* A turn of the source has been inside the service for a while, and may still be. Has the input read from now on by
   * whoever gets its event, so that what need not wait for the turn is answered. The watcher's thread, again and again, and
   * at the time of crew_read_ahead_at. NULL: nothing can be answered. */
  void (*read_ahead)(struct crew_source *source, struct crew_member *watcher);
  /*
   * The message that the member serves was ended, and its thread has not come back: answers it in the thread's place,
   * where the member's steps are still these. is_patient: the requests of a batch wait on, because only one of them was
   * ended. True: it is answered, or has no answer. The watcher's thread.
   */
  bool (*answer_ended)(struct crew_source *source, struct crew_member *member, uint64_t steps,
                       enum rpc_call_cause cause, bool is_patient);
  /*
   * The member's thread, which is held in its call (rpc_service.hold_call), is lost: takes the source away from it. What it
   * uses of the source goes to *parted, and the watcher ends its turn in its place. False: the source stays its own, and
   * refuses what comes until the thread is back. *is_later: it may be tried again. The watcher's thread.
   */
  bool (*part)(struct crew_source *source, struct crew_member *watcher, struct crew_member *member,
               uint64_t steps, struct crew_parted *parted, bool *is_later);
};

/* What the watcher knows of the message that a member serves. Its own. */
struct crew_call {
  uint64_t steps;   /* of the member, when it last looked */
  int64_t since_ms; /* when it first saw them */
  bool has_left;    /* the client */
  bool is_read_ahead;
};

/* Whether a member's thread has not come back from a call for a second after that was ended. The thread leaves the state. */
enum crew_lost {
  CREW_NOT_LOST,
  CREW_LOST_OWNER, /* its source waits for it */
  CREW_LOST_PARTED /* its source is another's */
};

/* Who holds a member's thread in the call that is ended (rpc_service.hold_call), under the crew's lock. */
enum crew_hold {
  CREW_HELD_BY_NONE,        /* of these */
  CREW_HELD_BY_INTERRUPTER, /* which interrupts the thread, for as long as that takes */
  CREW_HELD_BY_BOTH,        /* the watcher uses the interrupter's hold, which waits for it */
  CREW_HELD_BY_WATCHER
};

enum { CREW_CALL_NAME_MAX = 160 };

/* What was interrupted of a member, under the crew's lock. */
struct crew_ended {
  char name[CREW_CALL_NAME_MAX]; /* of the call */
  enum rpc_call_cause cause;     /* RPC_CALL_RETURNS: nothing */
  bool is_any;                   /* of struct rpc_call_end */
  uint32_t call;                 /* likewise */
  bool is_answered;              /* by the watcher */
  uint64_t steps;                /* of the message; with other steps it is over */
  int64_t at_ms;
};

/* The message, or the call, of a member that is to be ended. */
struct crew_end {
  struct rpc_call_end call; /* cause RPC_CALL_RETURNS: none is */
  uint64_t steps;           /* of the member, while it serves the message; with other steps it is over */
};

/*
 * Whether a place has a thread, and what that does. The lock guards all changes except those to and from WAITING, which
 * are the thread's own; others read those without it. A reserved thread has the first three states alone, the watcher
 * none.
 *   | state    | what holds                                     | who leaves it, on what                              |
 *   | FREE     | no thread; worker is NULL                      | crew_add_member, start_reserved                     |
 *   | STARTING | the thread was asked for; worker is NULL       | the thread, once it runs; the thread that has asked |
 *   |          |                                                | for it, if it cannot be started                     |
 *   | SERVING  | it has a worker, and is idle or has a turn     | the thread: crew_wait, or the end of its loop       |
 *   | WAITING  | it is inside the service, in crew_wait         | the thread, when the wait is over                   |
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

/* What a member serves next where there are both ready work and events: in this order, and from the beginning again. */
enum crew_choice {
  CREW_CHOICE_POLLED_FIRST, /* a source that is polled and has input, else an event of epoll, else ready work */
  CREW_CHOICE_READY,        /* ready work */
  CREW_CHOICE_EPOLL_FIRST, /* an event of epoll, else a source that is polled and has input, else ready work */
  CREW_CHOICE_READY_AGAIN, /* ready work */
  CREW_CHOICES
};

/* A thread that serves: a member of the crew, or the watcher. Passed to every turn; valid for that turn. */
struct crew_member {
  struct crew *crew;
  struct rpc_worker *worker; /* NULL: the watcher's thread, which may not use Java */
  enum rpc_lane lane;        /* RPC_LANE_ALL: it serves any message */
  struct scratch scratch;    /* buffers that the turn may borrow */
  bool has_served;           /* the message in hand was given to the service */
  bool has_found;            /* this turn's source was found by a look: no event was taken for it */

  /* The source that the member is for; NULL: it is for all. Other threads may read it. */
  struct crew_source *_Atomic pinned;
  _Atomic bool is_admitted; /* the source is pinned to it: it may begin */

  /* The crew's own. */
  unsigned number;                     /* of its place */
  struct crew_source *held;            /* an event that crew_is_wanted came upon: served next */
  struct crew_source *last;            /* the source of the turn before; only compared */
  struct crew_source *_Atomic current; /* the source of this turn; the watcher reads it, too */
  struct crew_source *found;           /* an awake source that a look has found work in: served next */
  struct spin_policy spin;             /* of crew_stay */
  int64_t looked_ns;            /* the last reading of the clock in crew_polling.c: its work has begun then */
  bool was_slow;                /* its last work for a source with a lookout took long */
  bool wants_name;              /* for the call that its thread is in; under the crew's lock */
  int64_t asked_ns;             /* when a looker last asked whether others wait for its processor */
  struct spin_policy look_spin; /* of crew_stay, for sources with a lookout */
  struct spin_policy wait_spin; /* of crew_wait */
  struct rpc_waits waits;
  _Atomic int wait_fd;    /* an eventfd, from the first wait to the thread's end; else -1 */
  wake_word waking;       /* of crew_wait */
  _Atomic uint64_t steps; /* odd while a message is inside the service */
  _Atomic enum crew_member_state state;
  enum crew_hold hold; /* under the crew's lock */
  struct crew_call call;
  struct crew_end end; /* under the crew's lock */
  struct crew_ended ended;
  _Atomic enum crew_lost
      lost; /* under the crew's lock, while the thread is held in its call; the thread reads it then */
  struct crew_parted parted; /* CREW_LOST_PARTED */
  enum crew_choice choice;   /* the last one */
};

/*
 * How members look at a source whose client can be told whether somebody looks, and that can be looked at without a
 * system call. Such a source may be awake between its turns (crew_keep_awake).
 */
struct crew_lookout {
  /* True if there is work. Called while the source is awake: nobody owns it, and no lock may be taken. */
  bool (*look)(struct crew_source *source);
  /* Tells the client that nobody looks any more. False: there is work, and the client was told nothing. Called as
   * `look` is. */
  bool (*sleep)(struct crew_source *source);
  /* Tells the client on which processor it is looked for; returns the one that the client has named, -1: none. In a
   * turn of the source. */
  int (*meet)(struct crew_source *source, int processor);
};

/* How soon the last message of a source with a lookout was received after the answer before. */
enum crew_pace {
  CREW_PACE_SLOW,   /* late: the source is not polled, and its client has to notify the peer */
  CREW_PACE_STEADY, /* soon enough that it may be polled while the poller has other work */
  CREW_PACE_FAST    /* so soon that a member polls for the next message */
};

struct crew_source {
  void (*turn)(struct crew_source *source, struct crew_member *member);
  const struct crew_meanwhile *meanwhile;     /* NULL: it has none */
  const struct crew_lookout *_Atomic lookout; /* NULL: it has none; its owner may change it */
  struct crew_member *_Atomic pinned; /* its own member; NULL: any. Changed under the source's own lock */

  /* The crew's own, under its lock. */
  struct crew_source *next_ready;
  bool is_ready;
  _Atomic enum rpc_lane
      lane; /* of the message that it waits with; its owner writes it before crew_submit, perhaps
                               * while the owner before submits it */
  _Atomic bool is_awake;
  size_t awake_at; /* its place among those that are awake */

  /* The crew's own, of a source with a lookout. They belong to the owner. */
  int64_t answered_ns; /* when crew_stay was called last */
  enum crew_pace pace; /* measured anew after each message */
};

static inline const struct crew_lookout *crew_lookout_of(struct crew_source *source)
{
  return atomic_load_explicit(&source->lookout, memory_order_relaxed);
}

struct crew_config {
  unsigned threads;        /* at least 1 */
  unsigned threads_max;    /* at least threads */
  unsigned lost_max;       /* members that are lost and have others in their place, beside threads_max */
  unsigned pinned_max;     /* members that are pinned to a source, beside threads_max */
  unsigned pinned_polling; /* so many of them may poll at the same time */
  int64_t linger_ms;       /* how long a member above `threads` stays idle before it leaves */
  int64_t busy_timeout_ms; /* net/server.h */
  /* Sees to deadlines and the shutdown. Called on the watcher's thread, about every tick_ms while there is
   * work; its member has no worker. Returns the time by which it must be called again even if nothing happens
   * (clock_now_ms; INT64_MAX: never). */
  int64_t (*tick)(void *context, struct crew_member *watcher, int64_t now_ms);
  void *context;
  int64_t tick_ms;
  int64_t long_call_ms; /* a call that lasts so long is looked after; 0: 1 s */
  int64_t report_ms;    /* at most one line about calls that keep every thread in this time; 0: a minute */
  int64_t look_ns; /* how long a member looks at sources with a lookout before it sleeps; 0: not at all */
  bool
      may_pause; /* a client that has named no processor is on another one: the member does not yield at first */
};

/* No thread yet: sources can be watched and submitted before crew_start. */
enum jp_status crew_create(const struct crew_config *config, struct crew **crew,
                           struct jp_error *error) JP_MUST_CHECK;
/* Starts the watcher and `threads` members. The service is borrowed until crew_destroy. */
enum jp_status crew_start(struct crew *crew, const struct rpc_service *service,
                          struct jp_error *error) JP_MUST_CHECK;
/* From here on crew_serve refuses every message (CREW_SHUTTING_DOWN). Any thread. */
void crew_refuse_all(struct crew *crew);
/*
 * Ends the watcher and asks the members to leave after their turn. Waits for them until deadline_ms
 * (clock_now_ms), but not for those whose thread is exiting the JVM. False: some are still inside Java, and
 * crew_destroy leaves the memory that they use. Called once, by a thread that is not a member.
 */
bool crew_stop(struct crew *crew, int64_t deadline_ms);
void crew_destroy(struct crew *crew);

const struct rpc_service *crew_service(const struct crew *crew);

/*
 * Adds fd to the set, or arms it again, for one event. events is EPOLLIN, EPOLLOUT or both; a descriptor that
 * is ready now is delivered at once, behind those that wait already. Closing fd takes it out. JP_IO. Any
 * thread.
 */
enum jp_status crew_watch(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                          struct jp_error *error) JP_MUST_CHECK;
enum jp_status crew_watch_again(struct crew *crew, struct crew_source *source, int fd, uint32_t events,
                                struct jp_error *error) JP_MUST_CHECK;
/* Puts source at the end of the ready queue and wakes an idle member. Does nothing if it is in the queue
 * already. Any thread. */
void crew_submit(struct crew *crew, struct crew_source *source);
/* The sources of messages that last are asked to read ahead at this time (clock_now_ms), too: once, for the earliest of all
 * that were asked for since. Any thread. */
void crew_read_ahead_at(struct crew *crew, int64_t at_ms);
/* The tick may be wanted earlier than it has said. Any thread. */
void crew_rouse(struct crew *crew);

/*
 * Starts a member for this source alone, with a thread of this name. It serves nothing before crew_admit, which the
 * caller calls under the source's lock, where it has pinned the source to the member, and leaves as soon as its source is
 * pinned to it no longer: who changes that holds the source's lock, and calls crew_wake under it. JP_LIMIT: there are
 * pinned_max, or there is no thread. Any thread that may use Java.
 */
enum jp_status crew_pin(struct crew *crew, struct crew_source *source, const char *name,
                        struct crew_member **member, struct jp_error *error) JP_MUST_CHECK;
void crew_admit(struct crew_member *member);

struct crew_turn {
  int messages;
  int next_look; /* the message after which the clock is read again */
  int64_t looked_ns;
  int64_t ends_ns; /* its time is over then, whatever it has served */
};

void crew_turn_begin(struct crew_turn *turn);
/* Counts a message; true when the turn must end after it. While messages are quick, the clock is read after some of
 * them alone: a turn may be that many messages longer than its time. */
bool crew_turn_is_over(struct crew_turn *turn);
/* Begins the next turn, if nobody waits for the end of this one. True if the time of this one was over: its
 * answers must not wait any longer. */
bool crew_turn_renew(struct crew_turn *turn);
/*
 * True if the member has to end its turn because others wait, or because the crew stops serving. False: its
 * source may begin another turn at once. Call it when a turn is over, and end the turn if it is true: the
 * member may then hold an event, which it serves next.
 */
bool crew_is_wanted(struct crew_member *member, const struct crew_turn *turn);

/*
 * For a source that has just answered and has nothing to do: calls look for a while
 * (base/spin_policy.h) until it says that the client has sent more, and returns its last result. So
 * no thread has to sleep and wake for a client that waits for each answer. The thread yields between two
 * looks. Only one member at a time stays, with the source that it served before, and only while another
 * member is idle. After looks that found nothing it stays less and less often, and with a source that has a lookout
 * only if the message that it has just answered had come soon after the answer before.
 */
bool crew_stay(struct crew_member *member, struct crew_source *source,
               bool (*look)(struct crew_source *source));

/*
 * At the end of a turn, for a source with a lookout that has nothing to do: true if a member looks at it from now on, so
 * that it need not ask its client to ring. Its descriptor is armed in either case. A client that lets much time pass
 * between its calls is not looked at. Any thread: the source's owner, or one that holds its lock.
 */
bool crew_keep_awake(struct crew *crew, struct crew_source *source);
/* The source has an owner from now on and is not looked at any more. Before a turn of a source with a lookout. */
void crew_take_awake(struct crew *crew, struct crew_source *source);

struct crew_message {
  const struct rpc_codec *codec; /* whose message it is */
  struct rpc_client *client;
  struct crew_source *source; /* that keeps the message if it has to wait */
  struct text text;
  size_t reply_max;   /* rpc_codec.serve */
  int64_t *since_ms;  /* when the message first came while no member was free; 0 before. Kept by the source */
  int64_t arrived_ns; /* when it was received (clock_now_ns); 0: unknown */
};

enum crew_served {
  CREW_REPLY,
  CREW_NO_REPLY,
  CREW_STREAM,
  CREW_FAILED,   /* RPC_FAILED: a reply, and a reason for HTTP's status */
  CREW_NOT_SAFE, /* RPC_NOT_SAFE: as CREW_FAILED */
  CREW_LOST, /* the member was lost, and has come back: its source is another's now (crew_meanwhile.part) */
  CREW_ANSWERED, /* connection_serve alone: the watcher has answered in the owner's place */
  CREW_WAIT      /* no member for it yet: keep the message, crew_submit the source, end the turn */
};

/* True if there is an answer to send at once. */
static inline bool crew_has_replied(enum crew_served served)
{
  return served == CREW_REPLY || served == CREW_FAILED || served == CREW_NOT_SAFE;
}

enum crew_served crew_served_as(enum rpc_served served);

/*
 * Serves one message: out, stream and the results but CREW_WAIT are those of rpc_codec.serve. Blocks while
 * Java runs, so the caller holds no lock. After busy_timeout_ms, and once the crew refuses all, the answer is
 * an error.
 */
enum crew_served crew_serve(struct crew_member *member, const struct crew_message *message,
                            struct buffer *out, struct rpc_stream *stream);

/* True if the member is reserved for messages of another lane: crew_serve would return CREW_WAIT. */
bool crew_leaves_to_others(const struct crew_member *member, const struct crew_message *message);

/* The client will never get the answer to the member's message: the service drops the objects that it has stored for it
 * (rpc_service.take_back). */
void crew_take_back(struct crew_member *member, struct rpc_client *client);

/*
 * Ends the message that the worker's thread serves: an interrupter interrupts that thread as soon as it is in a call. False: the message has been served. Any thread that keeps the worker from its next message; waits
 * for nobody.
 */
bool crew_end_message(struct crew *crew, const struct rpc_worker *worker, enum rpc_call_cause cause);

/* rpc_waits.end */
bool crew_end_call(void *thread, const struct rpc_call_end *call);

/*
 * rpc_waits.wait and wake: `thread` is the member. A member that waits is none of threads_max: the watcher may add
 * another one in its place, as long as no more than CREW_WAITING_MAX wait; those beyond count as busy. One that comes
 * back may be one too many for a while.
 */
enum { CREW_WAITING_MAX = 4096 };
void crew_wait(void *thread, bool (*is_over)(void *state), void *state, int64_t deadline_ms);
void crew_wake(void *thread);

#endif
