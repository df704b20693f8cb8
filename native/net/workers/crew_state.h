#ifndef JPEER_NET_WORKERS_CREW_STATE_H
#define JPEER_NET_WORKERS_CREW_STATE_H
/* What crew.c (members, queue) and watcher.c (growth, and work that no member takes) share. No other file
 * includes it. */
#include "net/workers/crew.h"

#include <pthread.h>

enum crew_phase { CREW_SERVING, CREW_REFUSING, CREW_STOPPING };

struct crew {
  struct crew_config config;
  const struct rpc_service *service;
  int epoll_fd;
  int wake_fd; /* edge-triggered: a write wakes one idle member */
  int stop_fd; /* level-triggered, never read: wakes all, for good */
  struct crew_source wake;
  struct crew_source stop;

  _Atomic int phase;      /* enum crew_phase */
  _Atomic unsigned idle;  /* members in epoll_wait, or about to be, and those whose thread is starting */
  _Atomic unsigned ready; /* length of the ready queue */

  _Atomic bool watcher_sleeps; /* or is about to; a thread that finds work wakes it */

  atomic_flag stays; /* a member is in crew_stay */

  pthread_mutex_t lock;   /* guards all below, and `taken` and `worker` of the members */
  pthread_cond_t changed; /* a member left */
  unsigned size;
  struct crew_source *first_ready;
  struct crew_source *last_ready;
  bool watcher_runs;
  pthread_t watcher_thread;

  pthread_mutex_t sleep_lock; /* of the watcher's sleep; no other is taken under it */
  pthread_cond_t sleep_ended;

  bool growth_failed; /* used by crew_start, then by the watcher */
  struct crew_member watcher;
  struct crew_member *members; /* threads_max places */
};

/* Starts one more member; false if there is no place or no thread for it. */
bool crew_add_member(struct crew *crew);
void crew_wake_one(struct crew *crew);
void crew_wake_watcher(struct crew *crew);
/* Called before or after everything that the watcher may have to deal with. */
static inline void crew_rouse_watcher(struct crew *crew)
{
  if (atomic_load_explicit(&crew->watcher_sleeps, memory_order_relaxed))
    crew_wake_watcher(crew);
}
/* The first of the ready queue, or NULL. */
struct crew_source *crew_take_ready(struct crew *crew);
/* The source of the next event; NULL after timeout_ms without one. */
struct crew_source *crew_take_event(struct crew *crew, int timeout_ms);

void *crew_watcher_main(void *crew);
/* crew_serve without a worker. */
enum crew_served crew_serve_without_java(struct crew *crew, const struct crew_message *message,
                                         struct buffer *out);

#endif
