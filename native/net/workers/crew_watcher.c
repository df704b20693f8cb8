/* The watcher's thread: adds members, serves what no member can serve, checks long calls, and runs the tick. */
#include "base/buffer.h"
#include "base/c_library.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/workers/crew_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  CHECK_EVERY_MS = 5,
  STARTING_CHECKS = 10, /* while the crew starts, messages that wait are looked at once in so many checks */
  EVENTS_PER_CHECK = 256,
  QUIET_CHECKS = 10,
  CHECK_CALLS_MS = 250,
  READ_AHEAD_MS = 5, /* less than the time of QUIET_CHECKS checks */
  GROUPS_MAX = 8,    /* Java members that the log's line names */
  NAME_SIZE = CREW_CALL_NAME_MAX,
  LOST_AFTER_MS = 1000 /* an interrupted thread that has not returned after this time is lost */
};

/* --- long calls --- */

static bool is_inside(const struct crew_member *member)
{
  return member->call.steps % 2 != 0;
}

/* Notes the steps of all members. Returns the sum of the steps of members that are not pinned; Sets *pinned
 * to the sum of the steps of pinned members, and *has_call to true if a member is inside the service. */
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

/* Asks the sources whose calls have lasted for READ_AHEAD_MS to read ahead. Sources that were asked before
 * are asked again only if `again` is true, or if the call's thread has waited for the client in between,
 * because such a wait ends the reading ahead. Returns the time when all sources must be asked again. */
static int64_t have_read_ahead(struct crew *crew, int64_t now_ms, bool again)
{
  if (atomic_load(&crew->read_ahead_ms) <= now_ms) {
    /* The time is cleared before the sources are asked, because a source may request the next time while it
     * is asked. */
    atomic_store(&crew->read_ahead_ms, INT64_MAX);
    again = true;
  }
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    const uint64_t waits = atomic_load_explicit(&member->waits_ended, memory_order_relaxed);
    const bool has_waited = waits != member->call.waits_ended;
    if (!is_inside(member) || now_ms - member->call.since_ms < READ_AHEAD_MS ||
        (member->call.is_read_ahead && !has_waited && !again))
      continue;
    member->call.waits_ended = waits;
    struct crew_source *source = atomic_load_explicit(&member->current, memory_order_acquire);
    if (source != NULL && source->call_ops != NULL && source->call_ops->read_ahead != NULL)
      source->call_ops->read_ahead(source, &crew->watcher);
    member->call.is_read_ahead = true;
  }
  return atomic_load(&crew->read_ahead_ms);
}

/* --- the log line about busy threads --- */

struct call_group {
  char name[NAME_SIZE];
  unsigned count;
  int64_t since_ms; /* of the oldest call */
};

struct call_report {
  struct call_group groups[GROUPS_MAX]; /* in the order of the members' places */
  unsigned group_count;
  unsigned count;  /* of all calls */
  unsigned others; /* calls of Java members that have no group */
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

/* The lock keeps the workers valid. */
static void gather_calls(struct crew *crew, struct call_report *report)
{
  const struct rpc_service *service = crew->service;
  pthread_mutex_lock(&crew->lock);
  /* whether all lost members are replaced */
  const bool are_replaced = crew->lost_serving <= crew->config.lost_max;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    const struct crew_member *member = crew->members[i];
    char name[NAME_SIZE];
    const bool is_lost = atomic_load_explicit(&member->lost, memory_order_relaxed) != CREW_NOT_LOST;
    if (!is_inside(member) || crew_is_pinned(member) || (is_lost && are_replaced) ||
        atomic_load_explicit(&member->state, memory_order_relaxed) != CREW_MEMBER_SERVING)
      continue;
    if (service->write_call_name == NULL ||
        !service->write_call_name(service->context, member->worker, name, sizeof name))
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

/* A refusal that is older than report_ms does not count. */
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

static void request_names(struct crew *crew, int64_t now_ms)
{
  const struct rpc_service *service = crew->service;
  bool is_wanted = false;
  if (service->wants_name == NULL)
    return;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!is_inside(member) || member->worker == NULL || now_ms - member->call.since_ms < CHECK_CALLS_MS)
      member->wants_name = false; /* the call that has wanted one is over */
    else if (service->wants_name(service->context, member->worker, now_ms))
      member->wants_name = true;
    is_wanted |= member->wants_name; /* again while another visitor is in the call */
  }
  if (is_wanted)
    pthread_cond_broadcast(&crew->lane_wanted);
  pthread_mutex_unlock(&crew->lock);
}

/* --- ended messages whose threads have not returned --- */

enum { ANSWERED_AFTER_MS = 10 /* how long an interrupted thread has to answer the message itself */ };

/* Marks the member's thread as lost. False: the thread has returned, or the watcher has to try again. The
 * worker remains valid: first the lock keeps it, then its held call. */
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
  if (interrupted_ms > now_ms - LOST_AFTER_MS) { /* the interrupt was sent late, or was not sent yet */
    member->ended.at_ms = interrupted_ms;
    crew_end_part(member);
    is_held = false;
  }
  pthread_mutex_unlock(&crew->lock);
  if (!is_held)
    return false;
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_acquire);
  bool is_lost = atomic_load_explicit(&member->steps, memory_order_relaxed) == ended->steps;
  bool is_reclaimed = false;
  if (is_lost && source->call_ops != NULL && source->call_ops->reclaim != NULL) {
    bool is_later = false;
    is_reclaimed =
        source->call_ops->reclaim(source, &crew->watcher, member, ended->steps, &member->retained, &is_later);
    is_lost = !is_later;
  }
  unsigned count = 0;
  if (is_lost) {
    service->note_lost(service->context, worker, true);
    member->call.has_left |= ended->cause == RPC_CALL_LEFT; /* a reclaimed source is not asked again */
  }
  pthread_mutex_lock(&crew->lock);
  if (is_lost) {
    atomic_store(&member->lost, is_reclaimed ? CREW_LOST_RECLAIMED : CREW_LOST_OWNER);
    count = atomic_fetch_add(&crew->lost, 1) + 1;
    crew->lost_serving += !crew_is_pinned(member);
    if (is_reclaimed)
      atomic_store_explicit(&member->current, &crew->wake, memory_order_release);
  }
  crew_end_part(member);
  pthread_mutex_unlock(&crew->lock);
  if (is_lost)
    log_warn(
        "%s has lasted %" PRId64 " ms, was interrupted %" PRId64 " ms ago and does not return: its thread "
        "is lost, one of %u (lost-threads-max is %u)",
        ended->name, now_ms - member->call.since_ms, now_ms - ended->at_ms, count, crew->config.lost_max);
  return is_lost;
}

/* Answers the member's message in the place of its thread. False: the watcher has to try again. */
static bool answer_for_owner(struct crew *crew, struct crew_member *member, const struct crew_ended *ended,
                             int64_t now_ms)
{
  const struct crew_end rest = {{.cause = ended->cause, .is_any = true}, ended->steps};
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_acquire);
  const bool is_patient =
      now_ms < ended->at_ms + LOST_AFTER_MS; /* a batch may have answers already: until this time, they are
                                              * not dropped */
  if (now_ms < ended->at_ms + ANSWERED_AFTER_MS ||
      !source->call_ops->answer_ended(source, member, ended->steps, ended->cause, is_patient))
    return false;
  pthread_mutex_lock(&crew->lock);
  member->ended.is_answered |= member->ended.steps == ended->steps;
  if (!ended->is_any) /* the remaining requests of a batch do not run */
    crew_want_end(member, &rest);
  pthread_mutex_unlock(&crew->lock);
  return true;
}

/* If possible, a message is answered before its thread is declared lost, because a connection that continues
 * without the thread would never answer the message. Returns when the next step is due. */
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
      due_ms = now_ms + CHECK_EVERY_MS;
    if (!is_in_it)
      continue;
    const struct crew_source *source = atomic_load_explicit(&member->current, memory_order_acquire);
    const bool has_answer =
        source != NULL && source->call_ops != NULL && source->call_ops->answer_ended != NULL;
    const bool is_answered =
        ended.is_answered || !has_answer || answer_for_owner(crew, member, &ended, now_ms);
    const int64_t at_ms = ended.at_ms + (is_answered ? LOST_AFTER_MS : ANSWERED_AFTER_MS);
    if (is_answered && now_ms >= at_ms && lose_member(crew, member, &ended, now_ms))
      continue;
    const int64_t next_ms = at_ms > now_ms ? at_ms : now_ms + CHECK_EVERY_MS;
    due_ms = next_ms < due_ms ? next_ms : due_ms;
  }
  return due_ms;
}

/* Requests the end of calls whose timeouts have passed, and of nested calls that were cancelled. Returns when
 * the next timeout passes. A call of a batch that begins later is found only by the next check. */
static int64_t end_timed_out_calls(struct crew *crew, int64_t now_ms)
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
    if (at_ms <= now_ms) {
      crew_want_end(member, &end);
      at_ms = now_ms + CHECK_EVERY_MS; /* try again, because the request has no effect while another thread
                                        * visits the call */
    }
    due_ms = at_ms < due_ms ? at_ms : due_ms;
  }
  pthread_mutex_unlock(&crew->lock);
  return due_ms;
}

/* Asks the sources of long calls to read ahead, and ends calls. Once in CHECK_CALLS_MS, checks the clients of
 * calls that have lasted for long_call_ms, and writes the log's line if it is due. */
static void check_calls(struct crew *crew, int64_t now_ms)
{
  bool is_due = now_ms - crew->calls_checked_ms >= CHECK_CALLS_MS;
  const int64_t read_due_ms = have_read_ahead(crew, now_ms, is_due);
  crew->call_due_ms = end_timed_out_calls(crew, now_ms);
  if (read_due_ms < crew->call_due_ms)
    crew->call_due_ms = read_due_ms;
  if (crew_look_at_interrupters(crew)) /* calls that could not be held are tried again */
    crew->call_due_ms = now_ms + CHECK_EVERY_MS;
  int64_t answer_due_ms = find_oldest(crew) == INT64_MAX ? INT64_MAX : answer_ended(crew, now_ms);
  if (answer_due_ms < crew->call_due_ms)
    crew->call_due_ms = answer_due_ms;
  if (!is_due)
    return;
  crew->calls_checked_ms = now_ms;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!is_inside(member) || now_ms - member->call.since_ms < crew->config.long_call_ms)
      continue;
    /* The member may have begun a turn of another source in the meantime. In that case the client of the
     * other source is checked, which does no harm. */
    struct crew_source *source = atomic_load_explicit(&member->current, memory_order_acquire);
    if (source != NULL && source->call_ops != NULL && source->call_ops->check_client != NULL)
      member->call.has_left = source->call_ops->check_client(source, member->call.has_left);
  }
  if (find_oldest(crew) != INT64_MAX)
    request_names(crew, now_ms);
  report_calls(crew, now_ms);
}

/* --- the watcher --- */

struct watch {
  uint64_t steps;        /* the sum of the steps of members that are not pinned, at the last check */
  uint64_t pinned;       /* the sum of the steps of pinned members */
  int64_t next_tick_ms;  /* when the tick is due, if there is work */
  int64_t due_ms;        /* when the tick is due, if there is no work */
  unsigned quiet_checks; /* consecutive checks without work */
  int64_t moved_ms;      /* the last check that found work */
  int64_t trim_ms;       /* free memory is not returned to the system before this time */
  bool has_worked;       /* since it was returned last */
  unsigned checks;       /* while the crew starts */
  struct crew_poller_watch poller;
  bool has_call; /* a member is inside the service */
};

/* True if a member whose thread runs is idle. */
static bool has_idle_member(struct crew *crew)
{
  return atomic_load(&crew->idle) > atomic_load(&crew->starting);
}

/* False: no member could be added. */
static bool add_members(struct crew *crew, unsigned wanted)
{
  unsigned added = 0;
  while (added < wanted && crew_add_member(crew))
    added++;
  return added > 0;
}

/* Sets watcher_sleeps one whole check before the watcher sleeps (net/workers/crew.h). */
static void note_quiet(struct crew *crew, struct watch *watch, bool quiet)
{
  bool was_woken = watch->quiet_checks >= QUIET_CHECKS && !atomic_load(&crew->watcher_sleeps);
  watch->quiet_checks = quiet && !was_woken ? watch->quiet_checks + 1 : 0;
  if (watch->quiet_checks == QUIET_CHECKS)
    atomic_store(&crew->watcher_sleeps, true);
  else if (watch->quiet_checks == 0)
    atomic_store(&crew->watcher_sleeps, false);
}

/* Adds members, unless one will receive the next event soon: because it is idle or starts, or because a busy
 * member has moved since the last check. If all members wait for their clients, no member will receive the
 * event, even if some members have moved. The number of added members grows with the size of the crew. */
static void check_members(struct crew *crew, struct watch *watch)
{
  int64_t now_ms = clock_now_ms();
  uint64_t pinned;
  uint64_t steps = note_calls(crew, now_ms, &watch->has_call, &pinned);
  bool has_moved = steps != watch->steps; /* without pinned members, which receive no events */
  bool have_pinned_moved = pinned != watch->pinned;
  watch->steps = steps;
  watch->pinned = pinned;
  if (has_moved || have_pinned_moved) {
    watch->moved_ms = now_ms;
    watch->has_worked = true;
  }
  pthread_mutex_lock(&crew->lock);
  unsigned busy = crew_busy_size(crew);
  unsigned waiting = atomic_load(&crew->waiting);
  bool is_idle = atomic_load(&crew->idle) > 0;
  bool has_idle = has_idle_member(crew);
  pthread_mutex_unlock(&crew->lock);
  bool has_ready = atomic_load(&crew->ready) > 0;
  bool is_serving = atomic_load(&crew->phase) == CREW_SERVING;
  note_quiet(crew, watch, has_idle && !has_moved && !have_pinned_moved && !has_ready && is_serving);
  bool will_move = has_idle || (has_moved && busy > 0);
  crew->outlook = will_move ? CREW_OUTLOOK_MOVES : CREW_OUTLOOK_GROWS;
  if (!will_move && !is_idle && (!is_serving || !add_members(crew, 1 + (busy + waiting) / 4)))
    crew->outlook = CREW_OUTLOOK_STUCK;
  if (crew->outlook == CREW_OUTLOOK_MOVES || !is_serving)
    atomic_store_explicit(&crew->stuck_since_ms, 0, memory_order_relaxed);
  else if (atomic_load_explicit(&crew->stuck_since_ms, memory_order_relaxed) == 0)
    atomic_store_explicit(&crew->stuck_since_ms, now_ms, memory_order_relaxed);
  if (is_idle && has_ready)
    crew_wake_one(crew);
  crew_relieve_poller(crew, &watch->poller);
  check_calls(crew, now_ms);
}

/* Serves each source once that is in the queue at the begin. A source that has to wait appends itself again. While the crew
 * starts, all have to wait, and the JVM needs the processor. */
static void serve_ready_work(struct crew *crew, struct watch *watch)
{
  if (crew_is_starting(crew) && ++watch->checks % STARTING_CHECKS != 0)
    return;
  unsigned count = atomic_load(&crew->ready);
  for (unsigned i = 0; i < count && !has_idle_member(crew); i++) {
    struct crew_source *source = crew_pop_ready(crew);
    if (source == NULL)
      return;
    source->turn(source, &crew->watcher);
  }
}

static void serve_events(struct crew *crew, int timeout_ms)
{
  for (int i = 0; i < EVENTS_PER_CHECK && !has_idle_member(crew); i++) {
    struct crew_source *source = crew_receive_event(crew, timeout_ms);
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

/* Returns freed memory to the system when the crew has had no work for a second: after an hour of mixed load
 * this can be 120 MB. c_library_return_memory locks the arenas for milliseconds, so it is not called while there is
 * work. */
static void return_free_memory(struct watch *watch)
{
  enum { IDLE_MS = 1000, TRIM_EVERY_MS = 10 * 1000 };
  int64_t now_ms = clock_now_ms();
  if (!watch->has_worked || now_ms < watch->moved_ms + IDLE_MS || now_ms < watch->trim_ms)
    return;
  c_library_return_memory();
  watch->trim_ms = now_ms + TRIM_EVERY_MS;
  watch->has_worked = false;
}

static void sleep_until_due(struct crew *crew, const struct watch *watch)
{
  int64_t next_check_ms = watch->has_call ? clock_now_ms() + CHECK_CALLS_MS : INT64_MAX;
  if (crew->call_due_ms < next_check_ms)
    next_check_ms = crew->call_due_ms;
  int64_t due_ms = watch->due_ms < next_check_ms ? watch->due_ms : next_check_ms;
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
    check_members(crew, &watch);
    if (crew->outlook != CREW_OUTLOOK_MOVES) { /* messages of a lane do not wait for a member */
      serve_ready_work(crew, &watch);
      serve_events(crew, crew->outlook == CREW_OUTLOOK_STUCK ? CHECK_EVERY_MS : 0);
    }
    if (crew->outlook == CREW_OUTLOOK_STUCK) {
      /* has waited for events */
    } else if (watch.quiet_checks > QUIET_CHECKS) {
      run_tick(crew, &watch);
      return_free_memory(&watch);
      sleep_until_due(crew, &watch);
    } else {
      nanosleep(&(struct timespec){.tv_nsec = CHECK_EVERY_MS * 1000000L}, NULL);
    }
    if (watch.quiet_checks <= QUIET_CHECKS && clock_now_ms() >= watch.next_tick_ms)
      run_tick(crew, &watch);
  }
  return NULL;
}
