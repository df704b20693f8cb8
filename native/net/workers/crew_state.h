#ifndef JPEER_NET_WORKERS_CREW_STATE_H
#define JPEER_NET_WORKERS_CREW_STATE_H
/* Shared by crew.c (members, the ready queue, turns, waits), crew_polling.c (members that poll for messages of clients)
 * and crew_watcher.c (the watcher's thread). No other file includes it. */
#include "net/workers/crew.h"

#include <pthread.h>

enum { CREW_AWAKE_MAX = 64 };

/* Any thread reads the phase; crew_refuse_all and crew_stop change it. */
enum crew_phase {
  CREW_SERVING,  /* messages are served */
  CREW_REFUSING, /* each message is refused */
  CREW_STOPPING  /* members leave after their turn */
};

static const uint16_t crew_phase_transitions[] = {
    [CREW_SERVING] = TO(CREW_REFUSING) | TO(CREW_STOPPING),
    [CREW_REFUSING] = TO(CREW_STOPPING),
    [CREW_STOPPING] = 0,
};

struct crew {
  struct crew_config config;
  const struct rpc_service *service;
  int epoll_fd;
  int wake_fd; /* edge-triggered: a write wakes one idle member */
  int stop_fd; /* level-triggered, never read: wakes all, for good */
  struct crew_source wake;
  struct crew_source stop;

  _Atomic int phase;        /* enum crew_phase */
  _Atomic unsigned idle;    /* members in epoll_wait, or about to be, and those whose thread is starting */
  _Atomic unsigned ready;   /* length of the ready queue */
  _Atomic unsigned waiting; /* members in crew_wait, except those that are pinned */
  _Atomic unsigned polling; /* pinned members that poll */

  _Atomic bool watcher_sleeps; /* or is about to; a thread that finds work wakes it */
  _Atomic bool takes_awake;    /* sources may become awake; changed under look_lock */
  int64_t growth_failed_ms;    /* 0: a thread could be made last. Used by crew_start, then by the watcher */

  /* The watcher's. */
  int64_t calls_looked_ms;
  int64_t call_due_ms;   /* when the next timeout of a call passes */
  int64_t reported_ms;   /* 0: never */
  int64_t refused_ms;    /* when a message was last refused as busy */
  uint64_t refused_busy; /* messages, since the last line */

  /* The one member that looks: it is in crew_stay, or waits awake, or has a turn of a source that it found by
   * looking. NULL: none. */
  struct crew_member *_Atomic looker;
  _Atomic unsigned awake_arrivals; /* how many brisk sources have become awake so far */

  /* The sources that are awake: their clients were told that somebody looks at them. Some are there only while the
   * looker does nothing but look and have turns of such sources; before it takes anything else, and when a turn
   * takes long, all are put to sleep. Nobody owns a source that is among them. */
  pthread_mutex_t look_lock; /* guards them, awake_next and awake_at; no other but `lock` is taken under it */
  _Atomic size_t awake_count;
  _Atomic unsigned awake_brisk; /* how many of them are brisk */
  size_t awake_next;            /* where the next look begins */
  struct {
    struct crew_source *source;
    int64_t until_ns; /* it is put to sleep then; 0: nobody has looked at it yet */
  } awake[CREW_AWAKE_MAX];

  pthread_mutex_t
      lock; /* guards all below; of each member `worker`, and `state` except to and from WAITING */
  pthread_cond_t changed; /* a member left */
  pthread_cond_t
      lane_wanted; /* a source with a lane was submitted, a call is to be ended, or the crew stops */
  unsigned ends;   /* members with an `end` */
  struct crew_source *first_ready;
  struct crew_source *last_ready;
  _Atomic unsigned lost; /* members that are lost; changed under the lock */
  unsigned lost_serving; /* those of them that serve all */
  unsigned size;         /* of the members that serve all */
  unsigned pinned;       /* of those that are pinned */
  bool watcher_runs;
  pthread_t watcher_thread;

  pthread_mutex_t sleep_lock; /* of the watcher's sleep; no other is taken under it */
  pthread_cond_t sleep_ended;

  struct crew_member watcher;
  struct crew_member reserved[RPC_LANES]; /* by lane; that of RPC_LANE_ALL is not used */
  struct crew_member **members;           /* room for all that there may be; NULL: no place was made yet */
  _Atomic unsigned place_count;           /* made so far; a place stays */
};

static inline bool crew_is_pinned(const struct crew_member *member)
{
  return atomic_load_explicit(&member->pinned, memory_order_relaxed) != NULL;
}

/* Members that serve all, are not waiting for their clients, and are not lost with another one in their place. Under the
 * lock. */
static inline unsigned crew_busy_size(struct crew *crew)
{
  unsigned waiting = atomic_load_explicit(&crew->waiting, memory_order_relaxed);
  unsigned counted = waiting < CREW_WAITING_MAX ? waiting : CREW_WAITING_MAX;
  counted += crew->lost_serving < crew->config.lost_max ? crew->lost_serving : crew->config.lost_max;
  return crew->size > counted ? crew->size - counted : 0;
}

/* --- crew_polling.c --- */

/* Calls look with context for a while, as wait_spin says, until it finds something; returns its last result. False
 * at once where no thread can be spared for that. source: what the member waits for the input of; one with a lookout is
 * looked at as crew_stay does. The member is not the looker before and after. */
bool crew_look_awake(struct crew_member *member, struct crew_source *source, bool (*look)(void *context),
                     void *context);
/* Puts the sources that are awake to sleep if the member is the looker, which it is no longer then. */
void crew_stop_looking(struct crew_member *member);
/* Looks at them once if the member is the looker; true if one has work, which is then member->found. */
bool crew_find_awake(struct crew_member *member);

struct crew_looker_watch {
  struct crew_member *looker;
  uint64_t steps;
};

/* The watcher's look at the looker: one that has not moved since the last look is inside a long call, and nobody looks.
 */
void crew_relieve_looker(struct crew *crew, struct crew_looker_watch *watch);

/* --- crew.c --- */

/* Starts one more member; false if there is no place or no thread for it. */
bool crew_add_member(struct crew *crew);
void crew_wake_one(struct crew *crew);
/* Has the member's message, or a call of it, ended (crew_end). Under the lock. */
void crew_want_end(struct crew_member *member, const struct crew_end *end);
/* The first of the ready queue, or NULL. */
struct crew_source *crew_take_ready(struct crew *crew);
/* The source of the next event; NULL after timeout_ms without one. */
struct crew_source *crew_take_event(struct crew *crew, int timeout_ms);

/* --- crew_watcher.c --- */

void *crew_watcher_main(void *crew);

#endif
