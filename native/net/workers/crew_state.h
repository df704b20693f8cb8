#ifndef JPEER_NET_WORKERS_CREW_STATE_H
#define JPEER_NET_WORKERS_CREW_STATE_H
/* The state of the crew. Shared by crew.c (members, ready queue, turns, waits), crew_interrupts.c (the end of calls),
 * crew_polling.c (busy-polling) and crew_watcher.c (the watcher's thread). No other file includes it. */
#include "net/workers/crew.h"

#include <pthread.h>

enum { CREW_POLLED_MAX = 64 };

/* Any thread may read the phase. Only crew_start, crew_refuse_all and crew_stop change it. */
enum crew_phase {
  CREW_STARTING, /* messages wait: there are no members yet */
  CREW_SERVING,  /* messages are served */
  CREW_REFUSING, /* each message is refused */
  CREW_STOPPING  /* members leave after their turn */
};

static const uint16_t crew_phase_transitions[] = {
    [CREW_STARTING] = TO(CREW_SERVING) | TO(CREW_REFUSING) | TO(CREW_STOPPING),
    [CREW_SERVING] = TO(CREW_REFUSING) | TO(CREW_STOPPING),
    [CREW_REFUSING] = TO(CREW_STOPPING),
    [CREW_STOPPING] = 0,
};

/* States whether a member will receive the next event soon. */
enum crew_outlook {
  CREW_OUTLOOK_MOVES, /* yes: a member is idle, or a busy member has served a message */
  CREW_OUTLOOK_GROWS, /* not before a new member's thread runs, which the JVM may delay */
  CREW_OUTLOOK_STUCK  /* no, and no member can be added */
};

struct crew {
  struct crew_config config;
  const struct rpc_service *service;
  int epoll_fd;
  int wake_fd; /* edge-triggered: a write wakes one idle member */
  int stop_fd; /* level-triggered and never read: once it is readable, no member sleeps any more */
  struct crew_source wake;
  struct crew_source stop;

  _Atomic int phase; /* enum crew_phase */
  /* members that are in epoll_wait or soon will be, including members whose thread is starting */
  _Atomic unsigned idle;
  _Atomic unsigned starting; /* the idle members whose thread is starting */
  _Atomic unsigned ready;    /* length of the ready queue */
  _Atomic unsigned waiting;  /* members in crew_wait, except pinned members */
  _Atomic unsigned polling;  /* pinned members that poll at length */

  _Atomic bool watcher_sleeps; /* the watcher sleeps, or is about to; a thread that finds work wakes it */
  _Atomic bool accepts_polled; /* sources may be added to `polled`; changed under poll_lock */
  _Atomic int64_t growth_failed_ms; /* when the creation of the last thread has failed; 0: it has succeeded */

  _Atomic int64_t read_ahead_ms; /* of crew_read_ahead_at; INT64_MAX: no request */

  _Atomic uint64_t refusals[METRICS_REFUSALS]; /* of messages, so far; crew_serve alone counts */
  /* since when the watcher has found that no member will receive the next event soon; 0: one will. Written by the watcher */
  _Atomic int64_t stuck_since_ms;

  /* Used by the watcher alone. */
  enum crew_outlook outlook; /* of its last check */
  int64_t calls_checked_ms;
  int64_t call_due_ms;   /* when the next timeout of a call passes */
  int64_t reported_ms;   /* when the last line was logged; 0: never */
  int64_t refused_ms;    /* when a message was last refused as busy */
  uint64_t refused_busy; /* messages refused as busy since the last line */

  /* The only member that polls. This member is in crew_stay, polls in crew_wait, or has a turn of a source
   * that it has found by polling. NULL: no member polls. */
  struct crew_member *_Atomic poller;
  _Atomic unsigned fast_arrivals; /* how many sources with CREW_PACE_FAST were added to `polled` so far */

  /* The set of polled sources. Nobody owns a source in the set, and its client need not notify the peer. The
   * set is open (accepts_polled) only while the poller does nothing except polling and turns of pollable
   * sources. Before the poller begins other work, and when its work is slow, it closes the set: all sources
   * are removed and put to sleep. poll_lock guards the set, next_polled and polled_at; a thread that holds
   * poll_lock may lock only `lock`. */
  pthread_mutex_t poll_lock;
  _Atomic size_t polled_count;
  _Atomic unsigned fast_count; /* polled sources with CREW_PACE_FAST */
  size_t next_polled;          /* the index at which the next poll begins */
  struct {
    struct crew_source *source;
    int64_t until_ns; /* the source is put to sleep at this time; 0: it was not polled yet */
  } polled[CREW_POLLED_MAX];

  /* Guards the fields below, each member's `worker`, and each change of a member's `state` except to and from
   * WAITING. */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a member has left */
  /* A source with a lane was submitted, a thread shall get a name, or the crew stops. */
  pthread_cond_t lane_wanted;
  pthread_cond_t end_wanted; /* a call has to be ended, or the crew stops */
  pthread_cond_t retained;   /* the watcher no longer uses an interrupter's hold of a call (crew_end_part) */
  unsigned ends;             /* members with a message or call that has to be ended (crew_member.end) */
  unsigned interrupters_idle;
  struct crew_interrupter *interrupters; /* threads that end calls */
  uint64_t interrupts;                   /* so far */
  uint64_t interrupts_seen;              /* by the watcher's last check */
  struct crew_source *first_ready;
  struct crew_source *last_ready;
  _Atomic unsigned lost; /* lost members; changed under the lock */
  unsigned lost_serving; /* lost members that are not pinned */
  unsigned size;         /* members that serve all sources */
  unsigned pinned;       /* pinned members */
  bool watcher_runs;
  bool starter_runs;
  bool wants_interrupter; /* the starter has to make an interrupter */
  pthread_t watcher_thread;
  /* The starter makes threads for the watcher, because the JVM may block the thread that makes a thread. */
  pthread_t starter_thread;
  pthread_cond_t start_wanted;         /* the starter has to make a thread, or the crew stops */
  struct crew_member *first_unstarted; /* members whose threads the starter has to make */
  struct crew_member **last_unstarted; /* the link to which the next entry is appended */

  pthread_mutex_t sleep_lock; /* of the watcher's sleep; nothing else is locked under it */
  pthread_cond_t sleep_ended;

  struct crew_member watcher;
  struct crew_member reserved[RPC_LANES]; /* by lane; RPC_LANE_ALL is not used */
  /* one entry for each possible place; NULL: the place was not made yet */
  struct crew_member **members;
  _Atomic unsigned place_count; /* places made so far; a place is never freed before crew_destroy */
};

static inline bool crew_is_pinned(const struct crew_member *member)
{
  return atomic_load_explicit(&member->pinned, memory_order_relaxed) != NULL;
}

/* The number of members that count in threads_max: the members that serve all sources, except members that
 * wait for their clients and lost members that may be replaced. The caller holds the lock. */
static inline unsigned crew_busy_size(struct crew *crew)
{
  unsigned waiting = atomic_load_explicit(&crew->waiting, memory_order_relaxed);
  unsigned counted = waiting < CREW_WAITING_MAX ? waiting : CREW_WAITING_MAX;
  counted += crew->lost_serving < crew->config.lost_max ? crew->lost_serving : crew->config.lost_max;
  return crew->size > counted ? crew->size - counted : 0;
}

/* --- crew_polling.c --- */

/* Calls has_work(context) in a loop, until the result is true or the time that wait_spin allows is over.
 * Returns the last result. Returns false at once if another member polls, or if the crew needs this thread.
 * source: the source for whose input the member waits; it determines how the loop pauses. The member must not
 * be the poller before the call, and is not the poller after it. */
bool crew_poll_while_waiting(struct crew_member *member, struct crew_source *source,
                             bool (*has_work)(void *context), void *context);
/* If the member is the poller, puts the polled sources to sleep, and ends the member's role as poller. */
void crew_stop_polling(struct crew_member *member);
/* If the member is the poller, polls each polled source once. True: a source has work, and member->found is
 * that source. */
bool crew_find_polled(struct crew_member *member);

struct crew_poller_watch {
  struct crew_member *poller;
  uint64_t steps;
};

/* Called by the watcher. If the poller has not moved since the watcher's last check, it is inside a long
 * call: ends the poller's role, and puts the polled sources to sleep. */
void crew_relieve_poller(struct crew *crew, struct crew_poller_watch *watch);

/* --- crew.c --- */

/* Asks the starter to make one more member. False: all places are used, or a thread could not be created a
 * short time ago. */
bool crew_add_member(struct crew *crew);
void crew_wake_one(struct crew *crew);
/* Removes the first source of the ready queue. NULL: the queue is empty. */
struct crew_source *crew_pop_ready(struct crew *crew);
/* Receives the next event and returns its source. NULL: no event within timeout_ms. */
struct crew_source *crew_receive_event(struct crew *crew, int timeout_ms);
/* Keeps an event for after the turn of the member. */
void crew_hold_event(struct crew_member *member);

/* --- crew_interrupts.c --- */

/* Requests the end of the member's message, or of a call of that message (crew_end). The caller holds the
 * lock. */
void crew_want_end(struct crew_member *member, const struct crew_end *end);
enum jp_status crew_add_interrupter(struct crew *crew, struct jp_error *error) JP_MUST_CHECK;
/* Called by the watcher. If calls have to be ended, and all interrupters are inside an interrupt, asks the
 * starter for another interrupter. True: calls have to be ended. */
bool crew_look_at_interrupters(struct crew *crew);
/* True while the thread of an interrupter may still return from Java. The caller holds the lock. */
bool crew_has_returning_interrupter(struct crew *crew);
/* True: the member's thread is still in the call that was ended. False: the thread may be in no call, or is
 * in another call of the batch. If it is in another call, this function clears member->ended. The caller
 * holds the lock. */
bool crew_is_still_ended(struct crew_member *member);
/* Between a call of crew_begin_part and a call of crew_end_part the watcher holds the member's thread in its
 * call, even if an interrupter holds the call already. False: the thread is in no call, or a thread other
 * than an interrupter holds the call. The caller of each function holds the lock. */
bool crew_begin_part(struct crew_member *member);
void crew_end_part(struct crew_member *member);

/* --- crew_watcher.c --- */

void *crew_watcher_main(void *crew);

#endif
