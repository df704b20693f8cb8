#include "base/clock.h"
#include "net/crew_state.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 5, EVENTS_A_LOOK = 256 };

struct watch {
  uint64_t steps; /* of all members, at the last look */
  int64_t next_tick_ms;
  bool stuck; /* no member will take an event soon, and none can be added */
};

static uint64_t count_steps(struct crew *crew)
{
  uint64_t steps = 0;
  for (unsigned i = 0; i < crew->config.threads_max; i++)
    steps += atomic_load_explicit(&crew->members[i].steps, memory_order_relaxed);
  return steps;
}

/* 1 + n/4 more; false when there was none. */
static bool grow(struct crew *crew)
{
  unsigned wanted = 1 + crew_size(crew) / 4;
  unsigned added = 0;
  while (added < wanted && crew_add_member(crew))
    added++;
  return added > 0;
}

static void look_at_members(struct crew *crew, struct watch *watch)
{
  uint64_t steps = count_steps(crew);
  bool idle = atomic_load(&crew->idle) > 0;
  bool moved = steps != watch->steps;
  watch->steps = steps;
  watch->stuck = !idle && !moved && (atomic_load(&crew->phase) != CREW_SERVING || !grow(crew));
  if (idle && atomic_load(&crew->ready) > 0)
    crew_wake_one(crew);
}

/* What stands in the queue at the beginning, once each: a source that must wait comes back behind. */
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

void *crew_watcher_main(void *argument)
{
  struct crew *crew = argument;
  struct watch watch = {0};
  while (atomic_load(&crew->phase) != CREW_STOPPING) {
    look_at_members(crew, &watch);
    if (watch.stuck) {
      take_ready_work(crew);
      take_events(crew);
    } else {
      pause_until_next_look();
    }
    int64_t now = clock_now_ms();
    if (crew->config.tick != NULL && now >= watch.next_tick_ms) {
      crew->config.tick(crew->config.context, &crew->watcher, now);
      watch.next_tick_ms = now + crew->config.tick_ms;
    }
  }
  return NULL;
}

enum crew_served crew_serve_without_java(struct crew *crew, const struct crew_message *message,
                                         struct buffer *out)
{
  const struct rpc_service *service = crew->service;
  enum rpc_served served;
  if (service->serve_ping(service->context, message->text, out, &served))
    return crew_served_as(served);
  int64_t now = clock_now_ms();
  if (*message->since_ms == 0)
    *message->since_ms = now;
  if (now - *message->since_ms < crew->config.busy_timeout_ms)
    return CREW_WAIT;
  char reason[160];
  snprintf(reason, sizeof reason,
           "busy: every thread is inside Java (rpc-threads-max is %u) and the request has waited %lld ms",
           crew->config.threads_max, (long long)crew->config.busy_timeout_ms);
  served = service->refuse(service->context, message->text, reason, out);
  return crew_served_as(served);
}
