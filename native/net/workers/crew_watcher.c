/* The watcher's thread: growth, work that no member takes, calls that last, and the tick. */
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/workers/crew_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  LOOK_EVERY_MS = 5,
  EVENTS_A_LOOK = 256,
  QUIET_LOOKS = 10,
  CALLS_LOOK_MS = 250,
  READ_AHEAD_MS = 5, /* less than QUIET_LOOKS take together */
  GROUPS_MAX = 8,    /* members that the log's line names */
  NAME_SIZE = CREW_CALL_NAME_MAX,
  LOST_AFTER_MS = 1000 /* a thread that was interrupted is lost then */
};

/* --- calls that last: the watcher looks after them, and the log names those that keep every thread --- */

static bool is_inside(const struct crew_member *member)
{
  return member->call.steps % 2 != 0;
}

/* Notes which members have moved. Returns the sum of their steps, and in *pinned of those that are pinned, which are not
 * in it. *has_call: one of them is inside the service. */
static uint64_t note_calls(struct crew *crew, int64_t now_ms, bool *has_call, uint64_t *pinned)
{
  uint64_t sum = 0;
  *pinned = 0;
  *has_call = false;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    uint64_t steps = atomic_load_explicit(&member->steps, memory_order_relaxed);
    if (steps != member->call.steps)
      member->call = (struct crew_call){.steps = steps, .since_ms = now_ms};
    *has_call |= is_inside(member);
    *(crew_is_pinned(member) ? pinned : &sum) += steps;
  }
  return sum;
}

/* A source that gives up reading, because its thread waits for its client, is asked again. Returns when all have to be. */
static int64_t have_read_ahead(struct crew *crew, int64_t now_ms, bool again)
{
  if (atomic_load(&crew->read_ahead_ms) <= now_ms) {
    atomic_store(&crew->read_ahead_ms,
                 INT64_MAX); /* before they are asked, which may ask for the next time */
    again = true;
  }
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!is_inside(member) || now_ms - member->call.since_ms < READ_AHEAD_MS ||
        (member->call.is_read_ahead && !again))
      continue;
    struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
    if (source != NULL && source->meanwhile != NULL && source->meanwhile->read_ahead != NULL)
      source->meanwhile->read_ahead(source, &crew->watcher);
    member->call.is_read_ahead = true;
  }
  return atomic_load(&crew->read_ahead_ms);
}

/* --- the line in the log --- */

struct call_group {
  char name[NAME_SIZE];
  unsigned count;
  int64_t since_ms; /* of the oldest */
};

struct call_report {
  struct call_group groups[GROUPS_MAX]; /* in the order of the members' places */
  unsigned group_count;
  unsigned count;  /* of all calls */
  unsigned others; /* of members that have no group */
  unsigned left;   /* calls whose client has left */
  int64_t since_ms;
};

static void add_call(struct call_report *report, const char *name, const struct crew_call *call)
{
  struct call_group *group = report->groups;
  const struct call_group *end = group + report->group_count;
  report->count++;
  report->left += call->has_left;
  if (call->since_ms < report->since_ms)
    report->since_ms = call->since_ms;
  while (group < end && strcmp(group->name, name) != 0)
    group++;
  if (group == end && report->group_count == GROUPS_MAX) {
    report->others++;
    return;
  }
  if (group == end) {
    *group = (struct call_group){.since_ms = call->since_ms};
    memcpy(group->name, name, strlen(name) + 1);
    report->group_count++;
  }
  group->count++;
  if (call->since_ms < group->since_ms)
    group->since_ms = call->since_ms;
}

/* The lock keeps the workers. */
static void gather_calls(struct crew *crew, struct call_report *report)
{
  const struct rpc_service *service = crew->service;
  pthread_mutex_lock(&crew->lock);
  const bool are_replaced = crew->lost_serving <= crew->config.lost_max; /* those that are lost */
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    const struct crew_member *member = crew->members[i];
    char name[NAME_SIZE];
    const bool is_lost = atomic_load_explicit(&member->lost, memory_order_relaxed) != CREW_NOT_LOST;
    if (!is_inside(member) || crew_is_pinned(member) || (is_lost && are_replaced) ||
        atomic_load_explicit(&member->state, memory_order_relaxed) != CREW_MEMBER_SERVING)
      continue;
    if (service->tell_call == NULL ||
        !service->tell_call(service->context, member->worker, name, sizeof name))
      snprintf(name, sizeof name, "other requests");
    add_call(report, name, &member->call);
  }
  pthread_mutex_unlock(&crew->lock);
}

static void write_line(const struct crew *crew, const struct call_report *report, int64_t now_ms)
{
  struct buffer line;
  buffer_init(&line);
  buffer_printf(&line, "%u calls are in Java, as many as rpc-threads-max allows:", report->count);
  for (unsigned i = 0; i < report->group_count; i++) {
    const struct call_group *group = &report->groups[i];
    buffer_printf(&line, "%s %s %u, oldest %" PRId64 " s", i == 0 ? "" : ";", group->name, group->count,
                  (now_ms - group->since_ms) / 1000);
  }
  if (report->others > 0)
    buffer_printf(&line, "; of other members %u", report->others);
  buffer_printf(&line, "; clients gone: %u", report->left);
  if (crew->refused_busy > 0)
    buffer_printf(&line, "; requests refused as busy: %" PRIu64, crew->refused_busy);
  log_warn("%.*s", TEXT_ARGS(buffer_text(&line)));
  buffer_fini(&line);
}

static int64_t find_oldest(struct crew *crew)
{
  int64_t since_ms = INT64_MAX;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    const struct crew_member *member = crew->members[i];
    if (is_inside(member) && member->call.since_ms < since_ms)
      since_ms = member->call.since_ms;
  }
  return since_ms;
}

/* A refusal counts as long as the next line would be about it. */
static bool may_report(struct crew *crew, int64_t now_ms)
{
  int64_t report_ms = crew->config.report_ms;
  if (now_ms - crew->refused_ms >= report_ms)
    crew->refused_busy = 0;
  if (crew->reported_ms != 0 && now_ms - crew->reported_ms < report_ms)
    return false;
  return crew->refused_busy > 0 || find_oldest(crew) <= now_ms - report_ms;
}

static void report_calls(struct crew *crew, int64_t now_ms)
{
  struct call_report report = {.since_ms = INT64_MAX};
  if (!may_report(crew, now_ms))
    return;
  gather_calls(crew, &report);
  bool is_old = report.count > 0 && report.since_ms <= now_ms - crew->config.report_ms;
  if (report.count < crew->config.threads_max || (crew->refused_busy == 0 && !is_old))
    return;
  write_line(crew, &report, now_ms);
  crew->reported_ms = now_ms;
  crew->refused_busy = 0;
}

static void look_for_names(struct crew *crew, int64_t now_ms)
{
  const struct rpc_service *service = crew->service;
  bool is_wanted = false;
  if (service->wants_name == NULL)
    return;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (is_inside(member) && member->worker != NULL && !crew_is_pinned(member) &&
        service->wants_name(service->context, member->worker, now_ms))
      is_wanted = member->wants_name = true;
  }
  if (is_wanted)
    pthread_cond_broadcast(&crew->lane_wanted);
  pthread_mutex_unlock(&crew->lock);
}

/* --- messages that were ended, and whose threads do not come back --- */

enum { ANSWERED_AFTER_MS = 10 /* so long a thread that was interrupted has to answer for itself */ };

/* False: the thread has come back, or it is tried again. The lock keeps the worker until its call is held, and the call
 * then. */
static bool lose_member(struct crew *crew, struct crew_member *member, const struct crew_ended *ended,
                        int64_t now_ms)
{
  const struct rpc_service *service = crew->service;
  pthread_mutex_lock(&crew->lock);
  struct rpc_worker *worker = member->worker;
  bool is_waiting = atomic_load_explicit(&member->state, memory_order_relaxed) != CREW_MEMBER_SERVING;
  bool is_held = worker != NULL && !is_waiting && service->note_lost != NULL && crew_begin_part(member);
  int64_t interrupted_ms = 0;
  if (is_held && member->hold == CREW_HELD_BY_WATCHER)
    interrupted_ms = service->find_interrupt(service->context, worker, now_ms);
  if (interrupted_ms > now_ms - LOST_AFTER_MS) { /* it came late, or is still to come */
    member->ended.at_ms = interrupted_ms;
    crew_end_part(member);
    is_held = false;
  }
  pthread_mutex_unlock(&crew->lock);
  if (!is_held)
    return false;
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
  bool is_it = atomic_load_explicit(&member->steps, memory_order_relaxed) == ended->steps;
  bool is_parted = false;
  if (is_it && source->meanwhile != NULL && source->meanwhile->part != NULL) {
    bool is_later = false;
    is_parted =
        source->meanwhile->part(source, &crew->watcher, member, ended->steps, &member->parted, &is_later);
    is_it = !is_later;
  }
  unsigned count = 0;
  if (is_it)
    service->note_lost(service->context, worker, true);
  pthread_mutex_lock(&crew->lock);
  if (is_it) {
    atomic_store(&member->lost, is_parted ? CREW_LOST_PARTED : CREW_LOST_OWNER);
    count = atomic_fetch_add(&crew->lost, 1) + 1;
    crew->lost_serving += !crew_is_pinned(member);
    if (is_parted)
      atomic_store_explicit(&member->current, &crew->wake, memory_order_relaxed);
  }
  crew_end_part(member);
  pthread_mutex_unlock(&crew->lock);
  if (is_it)
    log_warn(
        "%s has lasted %" PRId64 " ms, was interrupted %" PRId64 " ms ago and does not return: its thread "
        "is lost, one of %u (lost-threads-max is %u)",
        ended->name, now_ms - member->call.since_ms, now_ms - ended->at_ms, count, crew->config.lost_max);
  return is_it;
}

/* Answers the member's message in the place of its thread. False: it is tried again. */
static bool answer_in_place(struct crew *crew, struct crew_member *member, const struct crew_ended *ended,
                            int64_t now_ms)
{
  const struct crew_end rest = {{.cause = ended->cause, .is_any = true}, ended->steps};
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
  const bool is_patient = !ended->is_any && now_ms < ended->at_ms + LOST_AFTER_MS;
  if (now_ms < ended->at_ms + ANSWERED_AFTER_MS ||
      !source->meanwhile->answer_ended(source, member, ended->steps, ended->cause, is_patient))
    return false;
  pthread_mutex_lock(&crew->lock);
  member->ended.is_answered |= member->ended.steps == ended->steps;
  if (!ended->is_any) /* what is left of a batch does not run */
    crew_want_end(member, &rest);
  pthread_mutex_unlock(&crew->lock);
  return true;
}

/* A thread is not lost before its message is answered, where that can be: the connection that goes on without the thread
 * would never answer. Returns when the next step is due. */
static int64_t answer_ended(struct crew *crew, int64_t now_ms)
{
  int64_t due_ms = INT64_MAX;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    pthread_mutex_lock(&crew->lock);
    const bool is_ended = member->ended.cause != RPC_CALL_RETURNS &&
                          member->ended.steps == member->call.steps &&
                          atomic_load_explicit(&member->lost, memory_order_relaxed) == CREW_NOT_LOST;
    const bool is_in_it = is_ended && crew_is_still_ended(member);
    const struct crew_ended ended = member->ended;
    pthread_mutex_unlock(&crew->lock);
    if (is_ended && !is_in_it)
      due_ms = now_ms + LOOK_EVERY_MS;
    if (!is_in_it)
      continue;
    const struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
    const bool has_answer =
        source != NULL && source->meanwhile != NULL && source->meanwhile->answer_ended != NULL;
    const bool is_answered =
        ended.is_answered || !has_answer || answer_in_place(crew, member, &ended, now_ms);
    const int64_t at_ms = ended.at_ms + (is_answered ? LOST_AFTER_MS : ANSWERED_AFTER_MS);
    if (is_answered && now_ms >= at_ms && lose_member(crew, member, &ended, now_ms))
      continue;
    const int64_t next_ms = at_ms > now_ms ? at_ms : now_ms + LOOK_EVERY_MS;
    due_ms = next_ms < due_ms ? next_ms : due_ms;
  }
  return due_ms;
}

/* Has the calls ended whose timeouts have passed. Returns when the next one will have. A call of a batch that begins while
 * its message lasts is found by the next look alone. */
static int64_t look_for_timeouts(struct crew *crew, int64_t now_ms)
{
  const struct rpc_service *service = crew->service;
  int64_t due_ms = INT64_MAX;
  if (service->find_deadline == NULL || now_ms - find_oldest(crew) < READ_AHEAD_MS)
    return INT64_MAX;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    struct crew_end end = {{.cause = RPC_CALL_TIMED_OUT}, member->call.steps};
    if (!is_inside(member) || member->worker == NULL || now_ms - member->call.since_ms < READ_AHEAD_MS)
      continue;
    int64_t at_ms =
        service->find_deadline(service->context, member->worker, member->call.since_ms, &end.call);
    if (at_ms > now_ms)
      due_ms = at_ms < due_ms ? at_ms : due_ms;
    else
      crew_want_end(member, &end);
  }
  pthread_mutex_unlock(&crew->lock);
  return due_ms;
}

/* Has the input of calls that last for a while read. Looks after those that last for long, and writes the log's line
 * where it is due: once in CALLS_LOOK_MS. */
static void look_after_calls(struct crew *crew, int64_t now_ms)
{
  bool is_due = now_ms - crew->calls_looked_ms >= CALLS_LOOK_MS;
  const int64_t read_due_ms = have_read_ahead(crew, now_ms, is_due);
  crew->call_due_ms = look_for_timeouts(crew, now_ms);
  if (read_due_ms < crew->call_due_ms)
    crew->call_due_ms = read_due_ms;
  if (crew_look_at_interrupters(crew)) /* tries again calls that could not be held */
    crew->call_due_ms = now_ms + LOOK_EVERY_MS;
  int64_t answer_due_ms = find_oldest(crew) == INT64_MAX ? INT64_MAX : answer_ended(crew, now_ms);
  if (answer_due_ms < crew->call_due_ms)
    crew->call_due_ms = answer_due_ms;
  if (!is_due)
    return;
  crew->calls_looked_ms = now_ms;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!is_inside(member) || now_ms - member->call.since_ms < crew->config.long_call_ms)
      continue;
    /* The member may have gone on to another source: that is looked at then, which does no harm. */
    struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
    if (source != NULL && source->meanwhile != NULL && source->meanwhile->look_after != NULL)
      member->call.has_left = source->meanwhile->look_after(source, member->call.has_left);
  }
  if (find_oldest(crew) != INT64_MAX)
    look_for_names(crew, now_ms);
  report_calls(crew, now_ms);
}

/* --- the watcher --- */

struct watch {
  uint64_t steps;       /* of the members that serve all, at the last look */
  uint64_t pinned;      /* of the others */
  int64_t next_tick_ms; /* while there is something to do */
  int64_t due_ms;       /* while there is not */
  unsigned quiet_looks; /* one after the other */
  struct crew_looker_watch looker;
  bool stuck;    /* no member will take an event soon, and none can be added */
  bool has_call; /* a member is inside the service */
};

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

/* Adds members, the more of them the more there are, unless one will take the next event soon: because it is idle, or
 * because a busy one has moved since the last look. Where all wait for their clients none will, however much they have
 * done since then. */
static void look_at_members(struct crew *crew, struct watch *watch)
{
  int64_t now_ms = clock_now_ms();
  uint64_t pinned;
  uint64_t steps = note_calls(crew, now_ms, &watch->has_call, &pinned);
  bool has_moved = steps != watch->steps; /* a pinned member takes no events, however much it moves */
  bool have_pinned_moved = pinned != watch->pinned;
  watch->steps = steps;
  watch->pinned = pinned;
  pthread_mutex_lock(&crew->lock);
  unsigned busy = crew_busy_size(crew);
  unsigned waiting = atomic_load(&crew->waiting);
  bool is_idle = atomic_load(&crew->idle) > 0;
  pthread_mutex_unlock(&crew->lock);
  bool has_ready = atomic_load(&crew->ready) > 0;
  bool is_serving = atomic_load(&crew->phase) == CREW_SERVING;
  note_quiet(crew, watch, is_idle && !has_moved && !have_pinned_moved && !has_ready && is_serving);
  bool will_move = is_idle || (has_moved && busy > 0);
  watch->stuck = !will_move && (!is_serving || !add_members(crew, 1 + (busy + waiting) / 4));
  if (is_idle && has_ready)
    crew_wake_one(crew);
  crew_relieve_looker(crew, &watch->looker);
  look_after_calls(crew, now_ms);
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
  int64_t next_look_ms = watch->has_call ? clock_now_ms() + CALLS_LOOK_MS : INT64_MAX;
  if (crew->call_due_ms < next_look_ms)
    next_look_ms = crew->call_due_ms;
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
      nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_MS * 1000000L}, NULL);
    }
    if (watch.quiet_looks <= QUIET_LOOKS && clock_now_ms() >= watch.next_tick_ms)
      run_tick(crew, &watch);
  }
  return NULL;
}
