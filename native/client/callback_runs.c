/* Calls from Java: which thread runs them. */
#include "base/process_limits.h"
#include "client/client_state.h"

#include <string.h>

/* A function may need some stack itself: that of Python about 4 KiB before it runs any code of the program. */
enum { NESTED_MAX = 1000, STACK_MIN = 112 * 1024 };

/* ---- who runs it ---- */

static bool is_free(const struct waiter *waiter)
{
  return waiter != NULL && waiter->runs_calls && waiter->left > 0 && waiter->call == NULL;
}

static bool is_given_by_others(const struct jp_callback_call *call, const struct waiter *waiter)
{
  pthread_t giver;
  return callback_is_given_by(call->callback, &giver) &&
         (waiter == NULL || !pthread_equal(giver, waiter->thread));
}

/* The call that it names; NULL: that is over. */
static const struct jp_callback_call *find_running(const struct jp_client *client, const char *id)
{
  const struct jp_callback_call *call = client->callbacks.running;
  while (call != NULL && (call->texts.id == NULL || strcmp(call->texts.id, id) != 0))
    call = call->next;
  return call;
}

/* The wait that the call, whose origin is told, comes from. A connection's requests are served in their order. */
static struct waiter *find_origin(const struct jp_callback_call *call)
{
  const struct jp_client *client = call->client;
  const char *origin = call->texts.origin;
  bool is_request = strcmp(origin, "request") == 0;
  const struct jp_callback_call *outer = is_request ? NULL : find_running(client, origin);
  struct waiter *waiter = is_request || outer != NULL ? client->callbacks.asking : NULL;
  while (waiter != NULL && waiter->outer != outer)
    waiter = waiter->next_asking;
  return waiter;
}

/* waiter NULL: jp_client_process. */
static bool may_run(const struct jp_callback_call *call, const struct waiter *waiter)
{
  return call->texts.origin == NULL ? !is_given_by_others(call, waiter) : find_origin(call) == waiter;
}

/* NULL: none of those that wait. The leader comes first: it is awake, or soon will be. */
static struct waiter *find_runner(const struct jp_client *client, const struct jp_callback_call *call)
{
  if (is_free(client->leader) && may_run(call, client->leader))
    return client->leader;
  struct waiter *waiter = client->sleepers;
  while (waiter != NULL && (!is_free(waiter) || !may_run(call, waiter)))
    waiter = waiter->next;
  return waiter;
}

void callback_begin_asking(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  waiter->outer = callback_outer(client);
  waiter->previous_asking = callbacks->last_asking;
  if (callbacks->asking == NULL)
    callbacks->asking = waiter;
  else
    callbacks->last_asking->next_asking = waiter;
  callbacks->last_asking = waiter;
}

void callback_end_asking(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  if (waiter->previous_asking == NULL)
    callbacks->asking = waiter->next_asking;
  else
    waiter->previous_asking->next_asking = waiter->next_asking;
  if (waiter->next_asking == NULL)
    callbacks->last_asking = waiter->previous_asking;
  else
    waiter->next_asking->previous_asking = waiter->previous_asking;
}

static void append(struct jp_callback_call **first, struct jp_callback_call **last,
                   struct jp_callback_call *call)
{
  call->next = NULL;
  if (*first == NULL)
    *first = call;
  else
    (*last)->next = call;
  *last = call;
}

/* It runs, or will not. */
static void stop_waiting(struct jp_callback_call *call)
{
  struct client_callbacks *callbacks = &call->client->callbacks;
  callbacks->waiting--;
  callbacks->waiting_size -= call->size;
}

/* To a thread that may run it, or else to whoever comes. */
static void offer(struct jp_callback_call *call)
{
  struct jp_client *client = call->client;
  if (!callback_is_event(call) && !callback_is_open(call)) {
    stop_waiting(call);
    callback_end_call(call);
    return;
  }
  struct waiter *runner = find_runner(client, call);
  if (runner != NULL) {
    runner->call = call;
    client_wake_waiter(client, runner);
    return;
  }
  append(&client->callbacks.first, &client->callbacks.last, call);
  bool is_for_loop = may_run(call, NULL);
  if (is_for_loop && call->texts.origin != NULL)
    client->has_many_processors = true; /* one that is inside such a call may stay there for long */
  if (is_for_loop && (client->processors == 0 || client->has_many_processors))
    client_wake_loop(client);
}

/* Out of those that no thread has in hand. waiter NULL: for jp_client_process. */
static struct jp_callback_call *take_waiting(struct jp_client *client, const struct waiter *waiter,
                                             uint64_t limit)
{
  struct client_callbacks *callbacks = &client->callbacks;
  struct jp_callback_call *previous = NULL;
  struct jp_callback_call *call = callbacks->first;
  while (call != NULL && (call->number > limit || !may_run(call, waiter))) {
    previous = call;
    call = call->next;
  }
  if (call == NULL)
    return NULL;
  if (previous == NULL)
    callbacks->first = call->next;
  else
    previous->next = call->next;
  if (callbacks->last == call)
    callbacks->last = previous;
  return call;
}

/* What has come before the answer, a thread runs before it goes on. */
static uint64_t limit_of(const struct waiter *waiter)
{
  return waiter->left > 0 ? UINT64_MAX : waiter->last_call;
}

bool callback_has_waiting(const struct jp_client *client)
{
  const struct jp_callback_call *call = client->callbacks.first;
  while (call != NULL && !may_run(call, NULL))
    call = call->next;
  return call != NULL;
}

void callback_calls_pass_on(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  struct jp_callback_call *call = callbacks->first;
  if (waiter->call != NULL) {
    waiter->call->next = call;
    call = waiter->call;
    waiter->call = NULL;
  }
  callbacks->first = NULL;
  while (call != NULL) {
    struct jp_callback_call *next = call->next;
    offer(call);
    call = next;
  }
}

/* ---- coming in ---- */

void callback_arrive(struct jp_callback_call *call)
{
  struct client_callbacks *callbacks = &call->client->callbacks;
  struct jp_callback *callback = call->callback;
  callbacks->waiting++;
  callbacks->waiting_size += call->size;
  call->number = ++callbacks->last_number;
  if (callback_is_event(call) && callback->has_event) {
    append(&callback->first_event, &callback->last_event, call);
    return;
  }
  callback->has_event |= callback_is_event(call);
  offer(call);
}

/* ---- running ---- */

/* One event after the other; the next one stays with the thread where it may. */
static void end_event(struct jp_client *client, struct jp_callback *callback, struct waiter *waiter)
{
  struct jp_callback_call *next;
  callback->has_event = false;
  while ((next = callback->first_event) != NULL && !callback->has_event) {
    callback->first_event = next->next;
    if (client->callbacks.is_closing) {
      stop_waiting(next);
      callback_end_call(next);
      continue;
    }
    callback->has_event = true;
    if (waiter != NULL && next->number <= limit_of(waiter) && may_run(next, waiter))
      waiter->call = next;
    else
      offer(next);
  }
}

static size_t count_nested(const struct jp_client *client)
{
  size_t count = 0;
  for (const struct jp_callback_call *call = client->callbacks.running; call != NULL; call = call->next)
    count += pthread_equal(call->thread, pthread_self()) != 0;
  return count;
}

static void call_function(struct jp_callback_call *call)
{
  struct jp_client *client = call->client;
  struct jp_callback *callback = call->callback;
  call->thread = pthread_self();
  call->is_running = true;
  call->next = client->callbacks.running;
  client->callbacks.running = call;
  client_unlock(client);
  callback->function(callback->context, call);
  client_lock(client);
  struct jp_callback_call **at = &client->callbacks.running;
  while (*at != call)
    at = &(*at)->next;
  *at = call->next;
  call->is_running = false;
  if (!call->is_kept)
    callback_refuse(call, CALLBACK_FAILED, "the client's function has not answered");
}

static void run(struct jp_callback_call *call, struct waiter *waiter)
{
  struct jp_client *client = call->client;
  struct jp_callback *callback = call->callback;
  bool was_event = callback_is_event(call);
  stop_waiting(call);
  if (client->callbacks.is_closing || (!was_event && !callback_is_open(call)))
    callback_refuse(call, CALLBACK_FAILED, "the client closes");
  else if (count_nested(client) > 0 && stack_left() < STACK_MIN)
    callback_refuse(call, CALLBACK_FAILED,
                    "the stack of the client's thread has no room for one more function");
  else if (!was_event && count_nested(client) >= NESTED_MAX)
    callback_refuse(call, CALLBACK_FAILED, "the client runs 1000 functions inside one another");
  else
    call_function(call);
  callback->users++; /* an event's callback outlives it here */
  if (call->is_answered)
    callback_end_call(call);
  if (was_event)
    end_event(client, callback, waiter);
  callback_drop_user(callback);
  if (client->transport != NULL && client->ended.status == JP_CLIENT_OK)
    client_flush(client);
}

bool callback_run_one(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  if (!waiter->runs_calls || (waiter->call == NULL && callbacks->first == NULL && callbacks->ended == NULL))
    return false;
  if (callbacks->ended != NULL) {
    client_hand_on_lead(client);
    callbacks_report_ended(client);
    return true;
  }
  struct jp_callback_call *call =
      waiter->call != NULL ? waiter->call : take_waiting(client, waiter, limit_of(waiter));
  waiter->call = NULL;
  if (call == NULL)
    return false;
  client_hand_on_lead(client);
  run(call, waiter);
  return true;
}

void callback_run_waiting(struct jp_client *client)
{
  const uint64_t limit = client->callbacks.last_number;
  struct jp_callback_call *call;
  while ((call = take_waiting(client, NULL, limit)) != NULL) {
    if (client->has_many_processors && callback_has_waiting(client))
      client_wake_loop(client);
    run(call, NULL);
  }
}

void callback_calls_end(struct jp_client *client, bool is_closing)
{
  struct client_callbacks *callbacks = &client->callbacks;
  struct jp_callback_call *call = callbacks->first;
  callbacks->is_closing |= is_closing;
  callbacks->first = NULL;
  while (call != NULL) {
    struct jp_callback_call *next = call->next;
    if (is_closing)
      run(call, NULL); /* which refuses it */
    else
      offer(call);
    call = next;
  }
}
