/*
 * Ends calls that last too long: chooses the threads to be interrupted, and runs the threads that interrupt
 * them. docs/internals/ended-calls.md explains why an interrupt hits no other request.
 *
 * An interrupter is a thread that only interrupts other threads. If the interrupted thread is inside an
 * interruptible channel, Thread.interrupt closes that channel. Closing runs code of the application, which
 * may block or never return. In that case the interrupter remains blocked, and the watcher adds another
 * interrupter as soon as calls must be ended and all interrupters are blocked. There are never more
 * interrupters than members, because each blocked interrupter holds another member's thread.
 */
#include "base/clock.h"
#include "base/log.h"
#include "net/workers/crew_state.h"

#include <stdio.h>
#include <stdlib.h>

/* The data of an interrupter's thread. The thread frees the data. */
struct crew_interrupter {
  struct crew *crew;
  struct crew_interrupter *next;
  struct rpc_worker *worker; /* NULL: the interrupter's thread does not run yet */
};

/* ---- messages and calls to be ended ---- */

static void drop_end(struct crew_member *member)
{
  member->end = (struct crew_end){0};
  member->crew->ends--;
}

/* The end of a whole message is not replaced by the end of one of its calls. */
void crew_want_end(struct crew_member *member, const struct crew_end *end)
{
  struct crew *crew = member->crew;
  assert(mutex_is_locked(&crew->lock));
  const bool is_wanted = member->end.call.cause != RPC_CALL_RETURNS;
  if (!is_wanted || member->end.steps != end->steps || !member->end.call.is_any)
    member->end = *end;
  crew->ends += !is_wanted;
  pthread_cond_signal(&crew->end_wanted);
}

bool crew_end_message(struct crew *crew, const struct rpc_worker *worker, enum rpc_call_cause cause)
{
  bool is_served = false;
  pthread_mutex_lock(&crew->lock);
  for (unsigned i = 0; i < atomic_load(&crew->place_count); i++) {
    struct crew_member *member = crew->members[i];
    const struct crew_end end = {{.cause = cause, .is_any = true}, atomic_load(&member->steps)};
    if (member->worker != worker || end.steps % 2 == 0)
      continue;
    is_served = true;
    crew_want_end(member, &end);
  }
  pthread_mutex_unlock(&crew->lock);
  crew_wake_watcher(crew);
  return is_served;
}

bool crew_end_call(void *thread, const struct rpc_call_end *call)
{
  struct crew_member *member = thread;
  struct crew *crew = member->crew;
  pthread_mutex_lock(&crew->lock);
  const struct crew_end end = {*call, atomic_load_explicit(&member->steps, memory_order_relaxed)};
  const bool is_served = end.steps % 2 != 0;
  if (is_served)
    crew_want_end(member, &end);
  pthread_mutex_unlock(&crew->lock);
  crew_wake_watcher(crew);
  return is_served;
}

/* ---- one call ---- */

static void note_ended(struct crew_member *member, const struct crew_end *end, const char *name)
{
  struct crew_ended *before = &member->ended;
  if (before->steps == end->steps && (end->call.is_any || before->is_any || before->call == end->call.call)) {
    before->is_any |= end->call.is_any;
    return;
  }
  member->ended = (struct crew_ended){.cause = end->call.cause,
                                      .is_any = end->call.is_any,
                                      .call = end->call.call,
                                      .steps = end->steps,
                                      .at_ms = clock_now_ms()};
  snprintf(member->ended.name, sizeof member->ended.name, "%s", name);
}

/*
 * False: the message is over, the call has not begun, or another thread visits the call. If the message is
 * not over, the watcher requests the end again. The lock is released during the interrupt, because the held
 * call keeps the worker valid. member->ended is written before the interrupt, because the interrupt may never
 * return. If it does not return, the watcher answers the message, and uses this hold to declare the thread
 * lost.
 */
static bool end_call(struct crew *crew, struct rpc_worker *own, struct crew_member *member)
{
  const struct rpc_service *service = crew->service;
  struct crew_end end = member->end;
  struct rpc_worker *held = member->worker;
  char name[CREW_CALL_NAME_MAX] = "a call";
  const bool is_over =
      held == NULL || atomic_load_explicit(&member->steps, memory_order_relaxed) != end.steps;
  if (is_over)
    drop_end(member);
  if (is_over || member->hold != CREW_HELD_BY_NONE || !service->hold_call(service->context, held))
    return false;
  drop_end(member);
  /* The held call keeps the message from ending from now on, but the message may have ended before the
   * hold. */
  if (atomic_load_explicit(&member->steps, memory_order_relaxed) == end.steps &&
      service->end_call(service->context, held, &end.call, name, sizeof name)) {
    if (end.call.is_any || end.call.level == 0)
      note_ended(member, &end, name);
    member->hold = CREW_HELD_BY_INTERRUPTER;
    pthread_mutex_unlock(&crew->lock);
    crew_wake_watcher(crew);
    service->interrupt_call(service->context, own, held);
    pthread_mutex_lock(&crew->lock);
    while (member->hold == CREW_HELD_BY_BOTH)
      pthread_cond_wait(&crew->retained, &crew->lock);
    member->hold = CREW_HELD_BY_NONE;
    crew->interrupts++;
  }
  service->release_call(service->context, held);
  return true;
}

bool crew_is_still_ended(struct crew_member *member)
{
  const struct rpc_service *service = member->crew->service;
  const struct crew_ended *ended = &member->ended;
  struct rpc_call_end end = {.cause = ended->cause, .call = ended->call};
  const bool ends_message =
      ended->is_any && ended->cause != RPC_CALL_LEFT; /* no later call of the message runs */
  if (ends_message || member->hold != CREW_HELD_BY_NONE)
    return true;
  if (member->worker == NULL || !service->hold_call(service->context, member->worker))
    return false;
  const bool is_same = service->end_call(service->context, member->worker, &end, NULL, 0);
  service->release_call(service->context, member->worker);
  if (!is_same)
    member->ended = (struct crew_ended){0};
  return is_same;
}

bool crew_begin_part(struct crew_member *member)
{
  const struct rpc_service *service = member->crew->service;
  if (member->hold == CREW_HELD_BY_INTERRUPTER)
    member->hold = CREW_HELD_BY_BOTH;
  else if (service->hold_call(service->context, member->worker))
    member->hold = CREW_HELD_BY_WATCHER;
  else
    return false;
  return true;
}

void crew_end_part(struct crew_member *member)
{
  struct crew *crew = member->crew;
  if (member->hold == CREW_HELD_BY_BOTH) {
    member->hold = CREW_HELD_BY_INTERRUPTER;
    pthread_cond_broadcast(&crew->retained);
    return;
  }
  member->hold = CREW_HELD_BY_NONE;
  crew->service->release_call(crew->service->context, member->worker);
}

/* ---- the threads ---- */

static bool end_one_call(struct crew *crew, struct rpc_worker *own)
{
  bool has_ended = false;
  for (unsigned i = 0; crew->ends > 0 && !has_ended && i < atomic_load(&crew->place_count); i++) {
    if (crew->members[i]->end.call.cause != RPC_CALL_RETURNS)
      has_ended = end_call(crew, own, crew->members[i]);
  }
  return has_ended;
}

static void unlink_interrupter(struct crew *crew, const struct crew_interrupter *interrupter)
{
  struct crew_interrupter **link = &crew->interrupters;
  while (*link != interrupter)
    link = &(*link)->next;
  *link = interrupter->next;
  pthread_cond_broadcast(&crew->changed);
}

/* The interrupter ends if another interrupter is idle already. */
static void run_interrupter(void *argument, struct rpc_worker *worker)
{
  struct crew_interrupter *interrupter = argument;
  struct crew *crew = interrupter->crew;
  pthread_mutex_lock(&crew->lock);
  interrupter->worker = worker;
  while (atomic_load(&crew->phase) != CREW_STOPPING) {
    if (end_one_call(crew, worker))
      continue;
    if (crew->interrupters_idle > 0)
      break;
    crew->interrupters_idle++;
    pthread_cond_wait(&crew->end_wanted, &crew->lock);
    crew->interrupters_idle--;
  }
  unlink_interrupter(crew, interrupter);
  pthread_mutex_unlock(&crew->lock);
  free(interrupter);
}

enum jp_status crew_add_interrupter(struct crew *crew, struct jp_error *error)
{
  struct crew_interrupter *made = calloc(1, sizeof *made);
  if (made == NULL)
    return jp_fail_memory(error, NULL);
  made->crew = crew;
  pthread_mutex_lock(&crew->lock);
  made->next = crew->interrupters;
  crew->interrupters = made;
  pthread_mutex_unlock(&crew->lock);
  enum jp_status status =
      crew->service->spawn(crew->service->context, "rpc-interrupt", run_interrupter, made, error);
  if (status == JP_OK)
    return JP_OK;
  pthread_mutex_lock(&crew->lock);
  unlink_interrupter(crew, made);
  pthread_mutex_unlock(&crew->lock);
  free(made);
  return status;
}

/* True if the thread of an interrupter has not begun yet: it will end a call when it begins. The caller holds
 * the lock. */
static bool has_starting(const struct crew *crew)
{
  const struct crew_interrupter *interrupter = crew->interrupters;
  while (interrupter != NULL && interrupter->worker != NULL)
    interrupter = interrupter->next;
  return interrupter != NULL;
}

bool crew_look_at_interrupters(struct crew *crew)
{
  pthread_mutex_lock(&crew->lock);
  const bool is_wanted = crew->ends > 0;
  const bool are_stuck = is_wanted && crew->interrupters_idle == 0 && !has_starting(crew) &&
                         crew->interrupts == crew->interrupts_seen && crew->service->interrupt_call != NULL;
  crew->interrupts_seen = crew->interrupts;
  if (is_wanted)
    pthread_cond_signal(&crew->end_wanted);
  if (are_stuck) {
    crew->wants_interrupter = true;
    pthread_cond_signal(&crew->start_wanted);
  }
  pthread_mutex_unlock(&crew->lock);
  return is_wanted;
}

bool crew_has_returning_interrupter(struct crew *crew)
{
  const struct rpc_service *service = crew->service;
  for (const struct crew_interrupter *one = crew->interrupters; one != NULL; one = one->next) {
    if (!(one->worker != NULL && service->is_exiting(service->context, one->worker)))
      return true;
  }
  return false;
}
