/* Calls that last: the watcher looks after them, and the log names those that keep every thread. */
#include "base/log.h"
#include "net/workers/crew_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  READ_AHEAD_MS = 30, /* less than the watcher's looks before it sleeps take together */
  GROUPS_MAX = 8,     /* members that the log's line names */
  NAME_SIZE = 160,
  LINE_SIZE = 1900 /* below what a line of the log has room for */
};

static bool is_inside(const struct crew_member *member)
{
  return member->call.steps % 2 != 0;
}

uint64_t crew_note_calls(struct crew *crew, int64_t now_ms, bool *has_call)
{
  uint64_t sum = 0;
  *has_call = false;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    uint64_t steps = atomic_load_explicit(&member->steps, memory_order_relaxed);
    if (steps != member->call.steps)
      member->call = (struct crew_call){.steps = steps, .since_ms = now_ms};
    *has_call |= is_inside(member);
    sum += steps;
  }
  return sum;
}

static bool is_long(const struct crew *crew, const struct crew_member *member, int64_t now_ms)
{
  return is_inside(member) && now_ms - member->call.since_ms >= crew->config.long_call_ms;
}

/* The member may have gone on to another source: that is looked at then, which does no harm. */
static void look_for_client(struct crew_member *member)
{
  struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
  if (source != NULL && source->meanwhile != NULL && source->meanwhile->look_after != NULL)
    member->call.has_left = source->meanwhile->look_after(source);
}

/* A source that gives up reading, because its thread waits for its client, is asked again. */
static void have_read_ahead(struct crew *crew, int64_t now_ms, bool again)
{
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    if (!is_inside(member) || now_ms - member->call.since_ms < READ_AHEAD_MS ||
        (member->call.is_read_ahead && !again))
      continue;
    struct crew_source *source = atomic_load_explicit(&member->current, memory_order_relaxed);
    if (source != NULL && source->meanwhile != NULL && source->meanwhile->read_ahead != NULL)
      source->meanwhile->read_ahead(source);
    member->call.is_read_ahead = true;
  }
}

/* --- the line in the log --- */

struct group {
  char name[NAME_SIZE];
  unsigned count;
  int64_t since_ms; /* of the oldest */
};

struct report {
  struct group groups[GROUPS_MAX]; /* in the order of the members' places */
  unsigned group_count;
  unsigned count;  /* of all calls */
  unsigned others; /* of members that have no group */
  unsigned left;   /* calls whose client has left */
  int64_t since_ms;
};

static void add_call(struct report *report, const char *name, const struct crew_call *call)
{
  struct group *group = report->groups;
  const struct group *end = group + report->group_count;
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
    *group = (struct group){.since_ms = call->since_ms};
    memcpy(group->name, name, strlen(name) + 1);
    report->group_count++;
  }
  group->count++;
  if (call->since_ms < group->since_ms)
    group->since_ms = call->since_ms;
}

/* The lock keeps the workers. */
static void gather_calls(struct crew *crew, struct report *report)
{
  const struct rpc_service *service = crew->service;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    const struct crew_member *member = crew->members[i];
    char name[NAME_SIZE];
    if (!is_inside(member) || member->worker == NULL ||
        atomic_load_explicit(&member->is_waiting, memory_order_relaxed))
      continue;
    if (service->tell_call == NULL ||
        !service->tell_call(service->context, member->worker, name, sizeof name))
      snprintf(name, sizeof name, "other requests");
    add_call(report, name, &member->call);
  }
  pthread_mutex_unlock(&crew->lock);
}

static size_t append(char *line, size_t length, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static size_t append(char *line, size_t length, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  int added = vsnprintf(line + length, LINE_SIZE - length, format, args);
  va_end(args);
  return added < 0 || (size_t)added >= LINE_SIZE - length ? LINE_SIZE - 1 : length + (size_t)added;
}

static void write_line(const struct crew *crew, const struct report *report, int64_t now_ms)
{
  char line[LINE_SIZE];
  size_t length = append(line, 0, "%u calls are in Java, as many as rpc-threads-max allows:", report->count);
  for (unsigned i = 0; i < report->group_count; i++) {
    const struct group *group = &report->groups[i];
    length = append(line, length, "%s %s %u, oldest %" PRId64 " s", i == 0 ? "" : ";", group->name,
                    group->count, (now_ms - group->since_ms) / 1000);
  }
  if (report->others > 0)
    length = append(line, length, "; of other members %u", report->others);
  length = append(line, length, "; clients gone: %u", report->left);
  if (crew->refused_busy > 0)
    append(line, length, "; requests refused as busy: %" PRIu64, crew->refused_busy);
  log_warn("%s", line);
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
  struct report report = {.since_ms = INT64_MAX};
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
    if (is_inside(member) && member->worker != NULL &&
        service->wants_name(service->context, member->worker, now_ms))
      is_wanted = member->wants_name = true;
  }
  if (is_wanted)
    pthread_cond_broadcast(&crew->lane_wanted);
  pthread_mutex_unlock(&crew->lock);
}

void crew_look_after_calls(struct crew *crew, int64_t now_ms)
{
  bool is_due = now_ms - crew->calls_looked_ms >= CREW_CALLS_LOOK_MS;
  have_read_ahead(crew, now_ms, is_due);
  if (!is_due)
    return;
  crew->calls_looked_ms = now_ms;
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    if (is_long(crew, crew->members[i], now_ms))
      look_for_client(crew->members[i]);
  }
  if (find_oldest(crew) != INT64_MAX)
    look_for_names(crew, now_ms);
  report_calls(crew, now_ms);
}
