#include "base/clock.h"
#include "net/workers/crew_growth.h"
#include "net/workers/crew_state.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 5, EVENTS_A_LOOK = 256, QUIET_LOOKS = 10 };

struct watch {
  uint64_t steps;       /* of all members, at the last look */
  int64_t next_tick_ms; /* while there is something to do */
  int64_t due_ms;       /* while there is not */
  unsigned quiet_looks; /* one after the other */
  struct crew_looker_watch looker;
  bool stuck;    /* no member will take an event soon, and none can be added */
  bool has_call; /* a member is inside the service */
};

static struct crew_load load_of(struct crew *crew, bool has_moved)
{
  pthread_mutex_lock(&crew->lock);
  struct crew_load load = {.busy = crew_busy_size(crew),
                           .waiting = atomic_load(&crew->waiting),
                           .idle = atomic_load(&crew->idle),
                           .has_moved = has_moved};
  pthread_mutex_unlock(&crew->lock);
  return load;
}

/* False if it could add none. */
static bool add_members(struct crew *crew, unsigned wanted)
{
  unsigned added = 0;
  while (added < wanted && crew_add_member(crew))
    added++;
  return added > 0;
}

/* The flag is up for one whole look before the watcher trusts it. */
static void note_quiet(struct crew *crew, struct watch *watch, bool quiet)
{
  bool was_woken = watch->quiet_looks >= QUIET_LOOKS && !atomic_load(&crew->watcher_sleeps);
  watch->quiet_looks = quiet && !was_woken ? watch->quiet_looks + 1 : 0;
  if (watch->quiet_looks == QUIET_LOOKS)
    atomic_store(&crew->watcher_sleeps, true);
  else if (watch->quiet_looks == 0)
    atomic_store(&crew->watcher_sleeps, false);
}

static void look_at_members(struct crew *crew, struct watch *watch)
{
  int64_t now_ms = clock_now_ms();
  uint64_t steps = crew_note_calls(crew, now_ms, &watch->has_call);
  const struct crew_load load = load_of(crew, steps != watch->steps);
  bool idle = load.idle > 0;
  watch->steps = steps;
  bool has_ready = atomic_load(&crew->ready) > 0;
  bool quiet = idle && !load.has_moved && !has_ready && atomic_load(&crew->phase) == CREW_SERVING;
  note_quiet(crew, watch, quiet);
  unsigned wanted = crew_growth_wanted(&load);
  watch->stuck = wanted > 0 && (atomic_load(&crew->phase) != CREW_SERVING || !add_members(crew, wanted));
  if (idle && has_ready)
    crew_wake_one(crew);
  crew_relieve_looker(crew, &watch->looker);
  crew_look_after_calls(crew, now_ms);
}

/* Takes each source that is in the queue at the beginning once: one that must wait goes to the end. */
static void take_ready_work(struct crew *crew)
{
  unsigned count = atomic_load(&crew->ready);
  for (unsigned i = 0; i < count && atomic_load(&crew->idle) == 0; i++) {
    struct crew_source *source = crew_take_ready(crew);
    if (source == NULL)
      return;
    source->turn(source, &crew->watcher);
  }
}

static void take_events(struct crew *crew)
{
  int timeout_ms = LOOK_EVERY_MS;
  for (int i = 0; i < EVENTS_A_LOOK && atomic_load(&crew->idle) == 0; i++) {
    struct crew_source *source = crew_take_event(crew, timeout_ms);
    if (source == NULL)
      return;
    source->turn(source, &crew->watcher);
    timeout_ms = 0;
  }
}

static void pause_until_next_look(void)
{
  struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
  nanosleep(&pause, NULL);
}

static void run_tick(struct crew *crew, struct watch *watch)
{
  int64_t now = clock_now_ms();
  watch->due_ms = INT64_MAX;
  if (crew->config.tick != NULL)
    watch->due_ms = crew->config.tick(crew->config.context, &crew->watcher, now);
  watch->next_tick_ms = now + crew->config.tick_ms;
}

static void sleep_until_due(struct crew *crew, const struct watch *watch)
{
  int64_t next_look_ms = watch->has_call ? clock_now_ms() + CREW_CALLS_LOOK_MS : INT64_MAX;
  int64_t due_ms = watch->due_ms < next_look_ms ? watch->due_ms : next_look_ms;
  struct timespec at = {.tv_sec = due_ms / 1000, .tv_nsec = due_ms % 1000 * 1000000};
  int failure = 0;
  pthread_mutex_lock(&crew->sleep_lock);
  while (failure == 0 && atomic_load(&crew->watcher_sleeps)) {
    failure = due_ms == INT64_MAX ? pthread_cond_wait(&crew->sleep_ended, &crew->sleep_lock)
                                  : pthread_cond_timedwait(&crew->sleep_ended, &crew->sleep_lock, &at);
  }
  pthread_mutex_unlock(&crew->sleep_lock);
}

void *crew_watcher_main(void *argument)
{
  struct crew *crew = argument;
  pthread_setname_np(pthread_self(), "rpc-watcher");
  struct watch watch = {0};
  while (atomic_load(&crew->phase) != CREW_STOPPING) {
    look_at_members(crew, &watch);
    if (watch.stuck) {
      take_ready_work(crew);
      take_events(crew);
    } else if (watch.quiet_looks > QUIET_LOOKS) {
      run_tick(crew, &watch);
      sleep_until_due(crew, &watch);
    } else {
      pause_until_next_look();
    }
    if (watch.quiet_looks <= QUIET_LOOKS && clock_now_ms() >= watch.next_tick_ms)
      run_tick(crew, &watch);
  }
  return NULL;
}

enum crew_served crew_serve_without_java(struct crew *crew, const struct crew_message *message,
                                         struct buffer *out)
{
  const struct rpc_service *service = crew->service;
  enum rpc_served served;
  if (message->codec->serve_without_worker(service->context, message->text, out, &served))
    return crew_served_as(served);
  /* The thread of a lane always comes back, so that a message of it is never refused. */
  const enum rpc_lane lane = crew_lane_of(crew, message);
  atomic_store_explicit(&message->source->lane, lane, memory_order_relaxed);
  if (lane != RPC_LANE_ALL)
    return CREW_WAIT;
  int64_t now = clock_now_ms();
  if (*message->since_ms == 0)
    *message->since_ms = now;
  if (now - *message->since_ms < crew->config.busy_timeout_ms)
    return CREW_WAIT;
  char reason[160];
  crew->refused_busy++;
  crew->refused_ms = now;
  snprintf(reason, sizeof reason,
           "busy: every thread is inside Java (rpc-threads-max is %u) and the request has waited %lld ms",
           crew->config.threads_max, (long long)crew->config.busy_timeout_ms);
  served = message->codec->refuse(service->context, message->text, reason, out);
  return crew_served_as(served);
}
