/*
 * The objects of the program that Java can have (docs/internals/client-library.md, "Callbacks in the client library"): who
 * keeps each, and the calls that Java makes, with the thread that runs each.
 *
 * The client's lock guards all of it, except the constant members of a callback, those members of a call that belong to
 * the thread which runs it, and what the lock of a group guards (client/callback_group.h).
 */
#include "base/array.h"
#include "base/process_limits.h"
#include "base/transitions.h"
#include "client/callback_group.h"
#include "client/client_state.h"

#include <stdlib.h>
#include <string.h>

enum { FREE_CALLS_MAX = 512 };

/* Codes of refusals: of a call to a callback that is not there, and of a failure that the message did not cause. */
enum { UNKNOWN = -32602, CALLBACK_FAILED = -32000 };

/* A function may need some stack itself: that of Python about 4 KiB before it runs any code of the program. */
enum { NESTED_MAX = 1000, STACK_MIN = 112 * 1024 };

/*
 * A call from Java. Under the client's lock.
 *
 * | state         | what holds                                                       | who leaves it, on what    |
 * | CALL_WAITING  | a thread has it next, or it is in a list                         | the thread that runs or   |
 * |               |                                                                  | refuses it                |
 * | CALL_RUNNING  | the function runs on call->thread                                | the function: it answers, |
 * |               |                                                                  | defers or returns         |
 * | CALL_DEFERRED | the function runs; the call may be answered after it             | the function: it returns; |
 * |               |                                                                  | an answer                 |
 * | CALL_ANSWERED | the function runs; the call is answered, or cannot be any more   | the function: it returns  |
 * | CALL_OPEN     | the function has returned; the program is to answer              | the program's answer      |
 * | CALL_OVER     | neither runs nor can be answered: whoever brings it here ends it | nobody                    |
 */
enum call_state {
  CALL_WAITING,  /* the call waits for a thread that runs it */
  CALL_RUNNING,  /* the function runs, and has not answered */
  CALL_DEFERRED, /* the function runs; the call may be answered after it */
  CALL_ANSWERED, /* the function runs; the call is answered, or cannot be answered any more */
  CALL_OPEN,     /* the function has returned, and the call is to be answered */
  CALL_OVER      /* the function does not run; the call is answered, or cannot be answered any more */
};

static const uint16_t call_transitions[] = {
    [CALL_WAITING] = TO(CALL_RUNNING) | TO(CALL_OVER),
    [CALL_RUNNING] = TO(CALL_DEFERRED) | TO(CALL_ANSWERED),
    [CALL_DEFERRED] = TO(CALL_ANSWERED) | TO(CALL_OPEN),
    [CALL_ANSWERED] = TO(CALL_OVER),
    [CALL_OPEN] = TO(CALL_OVER),
    [CALL_OVER] = 0,
};

struct jp_callback_call {
  struct jp_client *client;     /* it is a holder */
  struct jp_callback *callback; /* NULL: its id names none any more */
  struct arena arena;
  struct text id; /* the JSON; data NULL: an event. In the arena, as the texts are */
  struct callback_texts texts;
  struct jp_answer **args; /* each is a holder */
  size_t arg_count;
  uint64_t connection; /* that it came on */
  uint64_t number;     /* calls are numbered as they are read */
  size_t size;         /* of its message */
  enum call_state state;
  pthread_t thread; /* that runs it */
  struct jp_callback_call *next;
};

static void set_call_state(struct jp_callback_call *call, enum call_state to)
{
  assert(client_is_locked(call->client));
  ASSERT_TRANSITION(call_transitions, call->state, to);
  call->state = to;
}

static bool is_event(const struct jp_callback_call *call)
{
  return call->id.data == NULL;
}

/* ---- who keeps them ---- */

static void destroy(struct jp_callback *callback)
{
  buffer_fini(&callback->interfaces);
  buffer_fini(&callback->facts);
  free(callback);
}

static void lock_group(const struct jp_client *client)
{
  pthread_mutex_lock(&client->callbacks.group->lock);
}

static void unlock_group(const struct jp_client *client)
{
  pthread_mutex_unlock(&client->callbacks.group->lock);
}

/* Under the group's lock as well. One that has ended is reported by this client, whoever has created it. */
static void end_unused(struct jp_client *client, struct jp_callback *callback)
{
  if (callback->state == CALLBACK_HELD || callback->given > 0 || callback->users > 0 || callback->giving > 0)
    return;
  callback_group_remove(client->callbacks.group, callback);
  callback_set_state(callback, CALLBACK_ENDED);
  if (callback->released == NULL && callback->client == client) {
    destroy(callback);
    client->holders--;
    return;
  }
  callback->next = client->callbacks.ended;
  client->callbacks.ended = callback;
}

static void add_user(struct jp_client *client, struct jp_callback *callback)
{
  lock_group(client);
  callback->users++;
  unlock_group(client);
}

static void drop_user(struct jp_client *client, struct jp_callback *callback)
{
  lock_group(client);
  callback->users--;
  end_unused(client, callback);
  unlock_group(client);
}

void callbacks_begin_connection(struct jp_client *client)
{
  lock_group(client);
  callback_group_connect(client->callbacks.group);
  unlock_group(client);
}

/* Java's hold on the callbacks of a process ends with the last of its connections. */
void callbacks_end_connection(struct jp_client *client)
{
  struct callback_group *group = client->callbacks.group;
  client->callbacks.is_refused = false;
  lock_group(client);
  bool is_last = --group->connections == 0;
  if (is_last)
    group->number = 0;
  for (size_t i = 0; is_last && i < group->capacity; i++) {
    for (struct jp_callback *callback = group->places[i]; callback != NULL;) {
      struct jp_callback *next = callback->next;
      callback->given = 0;
      end_unused(client, callback);
      callback = next;
    }
  }
  unlock_group(client);
}

void callbacks_report_ended(struct jp_client *client)
{
  struct jp_callback *callback;
  while ((callback = client->callbacks.ended) != NULL) {
    client->callbacks.ended = callback->next;
    struct jp_client *creator = callback->client;
    client_unlock(client);
    if (callback->released != NULL)
      callback->released(callback->context);
    destroy(callback);
    client_lock(creator);
    if (creator == client) {
      client->holders--;
      continue;
    }
    client_leave(creator);
    client_lock(client);
  }
}

/* ---- lists ---- */

static struct message_callback form_of(const struct jp_callback *callback)
{
  return (struct message_callback){
      .id = callback->id,
      .interfaces = callback->interfaces.len > 0 ? buffer_text(&callback->interfaces) : TEXT_ABSENT,
      .facts = callback->facts.len > 0 ? buffer_text(&callback->facts) : TEXT("")};
}

/* Arguments promise not to change the callback that they give; that it was given is noted all the same. */
static struct jp_callback *callback_of(const struct jp_callback *callback)
{
  return (struct jp_callback *)callback;
}

static enum jp_client_status fail_foreign(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_INVALID, "a callback is of another client");
}

static enum jp_client_status fail_memory(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a callback");
}

static bool has_callbacks(const struct jp_client *client)
{
  return client->url_kind->has_callbacks && !client->options.binary && !client->callbacks.is_refused;
}

/* Without the lock. */
static enum jp_client_status check_support(struct jp_client *client, struct jp_client_error *error)
{
  client_lock(client);
  bool is_supported = has_callbacks(client);
  bool is_refused = client->callbacks.is_refused;
  client_unlock(client);
  if (is_supported)
    return JP_CLIENT_OK;
  if (is_refused)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "the peer does not let the connection into its process");
  return client_fail(error, JP_CLIENT_UNSUPPORTED,
                     "a callback needs a connection over WebSocket or shared memory");
}

static bool add_to_list(struct callback_list *list, struct jp_callback *callback)
{
  struct jp_callback **items =
      array_grow(list->items, list->count, &list->capacity, sizeof(struct jp_callback *));
  if (items == NULL)
    return false;
  list->items = items;
  items[list->count++] = callback;
  return true;
}

static void fini_list(struct callback_list *list)
{
  free(list->items);
  *list = (struct callback_list){0};
}

enum jp_client_status callback_list_keep(struct callback_list *list, struct jp_client *client,
                                         const struct jp_callback *callback, struct message_callback *form,
                                         struct jp_client_error *error)
{
  struct jp_callback *kept = callback_of(callback);
  enum jp_client_status status = client_check_process(client, error);
  if (status == JP_CLIENT_OK)
    status = check_support(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (kept->client->callbacks.group != client->callbacks.group)
    return fail_foreign(error);
  if (!add_to_list(list, kept))
    return fail_memory(error);
  add_user(client, kept);
  *form = form_of(kept);
  return JP_CLIENT_OK;
}

void callback_list_drop(struct callback_list *list)
{
  struct jp_client *client = list->count == 0 ? NULL : list->items[0]->client;
  if (client != NULL && !fork_guard_is_child(&client->fork_guard)) {
    client_lock(client);
    client->holders++;
    for (size_t i = 0; i < list->count; i++)
      drop_user(client, list->items[i]);
    callbacks_report_ended(client);
    client_leave(client);
  }
  fini_list(list);
}

/* ---- messages that give them ---- */

static enum jp_client_status give(struct message_callbacks *callbacks, const struct jp_callback *callback,
                                  struct message_callback *form, struct jp_client_error *error)
{
  struct callback_giver *giver = (struct callback_giver *)callbacks;
  if (callback->client->callbacks.group != giver->client->callbacks.group)
    return fail_foreign(error);
  if (!add_to_list(&giver->list, callback_of(callback)))
    return fail_memory(error);
  *form = form_of(callback);
  return JP_CLIENT_OK;
}

struct message_callbacks *callbacks_begin_message(struct jp_client *client)
{
  client->callbacks.giver.list.count = 0;
  return has_callbacks(client) ? &client->callbacks.giver.callbacks : NULL;
}

bool callbacks_give(struct jp_client *client, struct jp_callback *callback)
{
  return add_to_list(&client->callbacks.giver.list, callback);
}

void callbacks_end_message(struct jp_client *client, struct waiter *waiter)
{
  struct callback_list *list = &client->callbacks.giver.list;
  if (list->count == 0)
    return;
  lock_group(client);
  for (size_t i = 0; i < list->count; i++) {
    struct jp_callback *callback = list->items[i];
    callback->given++;
    if (waiter == NULL)
      continue;
    callback->has_many_givers |= callback->giving > 0 && !pthread_equal(callback->giver, waiter->thread);
    callback->giver = waiter->thread;
    callback->giving++;
  }
  unlock_group(client);
  if (waiter == NULL)
    return;
  waiter->gives = *list;
  *list = (struct callback_list){0};
}

/* ---- created and released ---- */

static enum jp_client_status check_config(const struct jp_callback_config *config,
                                          struct jp_client_error *error)
{
  if (config->size < sizeof *config)
    return client_fail(error, JP_CLIENT_INVALID, "size of jp_callback_config is not set");
  if (config->size > sizeof *config)
    return client_fail(error, JP_CLIENT_UNSUPPORTED,
                       "jp_callback_config is of a later version than the library");
  if (config->function == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "a callback has no function");
  return JP_CLIENT_OK;
}

static enum jp_client_status add(struct jp_client *client, struct jp_callback *callback,
                                 struct jp_client_error *error)
{
  enum jp_client_status status = JP_CLIENT_OK;
  client_lock(client);
  lock_group(client);
  if (client_is_closed(client))
    status = client_fail(error, JP_CLIENT_CLOSED, "the client was closed");
  else if (!callback_group_add(client->callbacks.group, callback))
    status = fail_memory(error);
  else
    client->holders++;
  unlock_group(client);
  client_unlock(client);
  return status;
}

enum jp_client_status jp_callback_create(struct jp_client *client, const struct jp_callback_config *config,
                                         struct jp_callback **callback, struct jp_client_error *error)
{
  *callback = NULL;
  enum jp_client_status status = client_check_process(client, error);
  if (status == JP_CLIENT_OK)
    status = check_config(config, error);
  if (status == JP_CLIENT_OK)
    status = check_support(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (config->oneway && client->callbacks.group->name != NULL)
    return client_fail(error, JP_CLIENT_UNSUPPORTED,
                       "events may come over any connection of a process, in no order: not oneway");
  struct jp_callback *made = calloc(1, sizeof *made);
  if (made == NULL)
    return fail_memory(error);
  *made = (struct jp_callback){.client = client,
                               .group = client->callbacks.group,
                               .function = config->function,
                               .released = config->released,
                               .context = config->context,
                               .holds = 1,
                               .is_borrowed = config->borrow};
  status = callback_write_form(config, &made->interfaces, &made->facts, error);
  if (status == JP_CLIENT_OK)
    status = add(client, made, error);
  if (status != JP_CLIENT_OK) {
    destroy(made);
    return status;
  }
  *callback = made;
  return JP_CLIENT_OK;
}

/* Under the group's lock. False: it has ended. */
static bool hold_callback(struct jp_callback *callback)
{
  if (callback->state == CALLBACK_ENDED)
    return false;
  if (callback->holds++ == 0)
    callback_set_state(callback, CALLBACK_HELD);
  return true;
}

bool jp_callback_keep(struct jp_callback *callback)
{
  struct jp_client *client = callback->client;
  if (fork_guard_is_child(&client->fork_guard))
    return false;
  lock_group(client);
  bool is_there = hold_callback(callback);
  unlock_group(client);
  return is_there;
}

void jp_callback_release(struct jp_callback *callback)
{
  if (callback == NULL || fork_guard_is_child(&callback->client->fork_guard))
    return;
  struct jp_client *client = callback->client;
  client_lock(client);
  client->holders++;
  lock_group(client);
  if (callback->state == CALLBACK_HELD && --callback->holds == 0) {
    callback_set_state(callback, CALLBACK_RELEASED);
    end_unused(client, callback);
  }
  unlock_group(client);
  callbacks_report_ended(client);
  client_leave(client);
}

/* ---- one call ---- */

/* Or cannot be any more. */
static bool is_answered(const struct jp_callback_call *call)
{
  return call->state == CALL_ANSWERED || call->state == CALL_OVER;
}

static void note_answered(struct jp_callback_call *call)
{
  if (!is_answered(call))
    set_call_state(call,
                   call->state == CALL_RUNNING || call->state == CALL_DEFERRED ? CALL_ANSWERED : CALL_OVER);
}

static bool is_open(const struct jp_callback_call *call)
{
  const struct jp_client *client = call->client;
  return !is_event(call) && !is_answered(call) && call->connection == client->connection &&
         client_is_open(client);
}

static struct jp_callback_call *create_call(struct jp_client *client)
{
  struct client_callbacks *callbacks = &client->callbacks;
  struct jp_callback_call *call = callbacks->free_calls;
  struct arena arena;
  if (call != NULL) {
    callbacks->free_calls = call->next;
    callbacks->free_count--;
    arena = call->arena;
  } else {
    call = malloc(sizeof *call);
    arena_init_small(&arena);
  }
  if (call == NULL)
    return NULL;
  *call = (struct jp_callback_call){.client = client, .arena = arena, .connection = client->connection};
  client->holders++;
  return call;
}

static void destroy_call(struct jp_callback_call *call)
{
  arena_fini(&call->arena);
  free(call);
}

static void end_call(struct jp_callback_call *call)
{
  struct jp_client *client = call->client;
  struct client_callbacks *callbacks = &client->callbacks;
  if (call->state != CALL_OVER)
    set_call_state(call, CALL_OVER);
  for (size_t i = 0; i < call->arg_count; i++) {
    call->args[i]->next = client->dropped;
    client->dropped = call->args[i];
  }
  if (call->callback != NULL)
    drop_user(client, call->callback);
  client->holders--;
  if (callbacks->free_count == FREE_CALLS_MAX) {
    destroy_call(call);
    return;
  }
  arena_reset(&call->arena);
  call->next = callbacks->free_calls;
  callbacks->free_calls = call;
  callbacks->free_count++;
}

/* ---- answers ---- */

static const struct jp_callback_call *find_outer(const struct jp_client *client)
{
  const struct jp_callback_call *call = client->callbacks.running;
  while (call != NULL && !(pthread_equal(call->thread, pthread_self()) && is_open(call)))
    call = call->next;
  return call;
}

struct text callback_within(const struct jp_client *client)
{
  const struct jp_callback_call *call = find_outer(client);
  return call == NULL ? TEXT_ABSENT : text_of(call->texts.id);
}

/* The call is open. failure NULL: value is the result. */
static enum jp_client_status write_answer(struct jp_callback_call *call, const struct jp_argument *value,
                                          const struct callback_failure *failure,
                                          struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  client_write_releases(client, text_of(call->texts.id));
  struct message_callbacks *callbacks = callbacks_begin_message(client);
  struct buffer *out = client_begin_message(client);
  enum jp_client_status status =
      failure != NULL ? callback_write_failure(call->id, failure, out, error)
                      : callback_write_result(call->id, value, callbacks, &client->named, out, error);
  if (status != JP_CLIENT_OK) {
    client->kind->take_back(client->transport);
    return status;
  }
  client_end_message(client, false);
  callbacks_end_message(client, NULL);
  note_answered(call);
  return JP_CLIENT_OK;
}

/* Where not even that can be written, Java waits until its own time is over. */
static void refuse(struct jp_callback_call *call, int code, const char *why)
{
  const struct callback_failure failure = {.code = code, .thrown = {.message = why}};
  if (is_open(call))
    (void)!write_answer(call, NULL, &failure, NULL);
  note_answered(call);
}

/* ---- who runs it ---- */

static bool is_free(const struct waiter *waiter)
{
  return waiter != NULL && waiter->runs_calls && waiter->left > 0 && waiter->call == NULL;
}

static bool is_given_by_others(const struct jp_callback_call *call, const struct waiter *waiter)
{
  const struct jp_callback *callback = call->callback;
  lock_group(call->client);
  bool has_one_giver = callback->giving > 0 && !callback->has_many_givers;
  bool is_anothers = has_one_giver && (waiter == NULL || !pthread_equal(callback->giver, waiter->thread));
  unlock_group(call->client);
  return is_anothers;
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
  waiter->outer = find_outer(client);
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

/* Its function runs now, or never. */
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
  if (!is_event(call) && !is_open(call)) {
    stop_waiting(call);
    end_call(call);
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
    client_need_processors(client); /* one that is inside such a call may stay there for long */
  if (is_for_loop && (client->processors == 0 || client->processed_by == PROCESSED_BY_MANY))
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

static void pass_on(struct jp_client *client, struct waiter *waiter)
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
      end_call(next);
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
  set_call_state(call, CALL_RUNNING);
  call->next = client->callbacks.running;
  client->callbacks.running = call;
  client_unlock(client);
  callback->function(callback->context, call);
  client_lock(client);
  struct jp_callback_call **at = &client->callbacks.running;
  while (*at != call)
    at = &(*at)->next;
  *at = call->next;
  if (call->state == CALL_RUNNING)
    refuse(call, CALLBACK_FAILED, "the client's function has not answered");
  set_call_state(call, call->state == CALL_DEFERRED ? CALL_OPEN : CALL_OVER);
}

static void run(struct jp_callback_call *call, struct waiter *waiter)
{
  struct jp_client *client = call->client;
  struct jp_callback *callback = call->callback;
  bool was_event = is_event(call);
  stop_waiting(call);
  if (client->callbacks.is_closing || (!was_event && !is_open(call)))
    refuse(call, CALLBACK_FAILED, "the client closes");
  else if (count_nested(client) > 0 && stack_left() < STACK_MIN)
    refuse(call, CALLBACK_FAILED, "the stack of the client's thread has no room for one more function");
  else if (!was_event && count_nested(client) >= NESTED_MAX)
    refuse(call, CALLBACK_FAILED, "the client runs 1000 functions inside one another");
  else
    call_function(call);
  add_user(client, callback); /* an event's callback outlives it here */
  if (call->state == CALL_OVER)
    end_call(call);
  if (was_event)
    end_event(client, callback, waiter);
  drop_user(client, callback);
  if (client_is_open(client))
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
    if (client->processed_by == PROCESSED_BY_MANY && callback_has_waiting(client))
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

/* ---- a wait that is over ---- */

void callbacks_end_wait(struct jp_client *client, struct waiter *waiter)
{
  if (waiter->gives.count > 0) {
    lock_group(client);
    for (size_t i = 0; i < waiter->gives.count; i++) {
      struct jp_callback *callback = waiter->gives.items[i];
      callback->giving--;
      callback->has_many_givers &= callback->giving > 0;
      end_unused(client, callback);
    }
    unlock_group(client);
  }
  fini_list(&waiter->gives);
  pass_on(client, waiter);
}

/* ---- coming in ---- */

static void arrive(struct jp_callback_call *call)
{
  struct client_callbacks *callbacks = &call->client->callbacks;
  struct jp_callback *callback = call->callback;
  callbacks->waiting++;
  callbacks->waiting_size += call->size;
  call->number = ++callbacks->last_number;
  if (is_event(call) && callback->has_event) {
    append(&callback->first_event, &callback->last_event, call);
    return;
  }
  callback->has_event |= is_event(call);
  offer(call);
}

/* False: no memory. */
static bool take_answers(struct jp_callback_call *call, size_t count)
{
  call->args = arena_alloc(&call->arena, count * sizeof(struct jp_answer *));
  for (; call->args != NULL && call->arg_count < count; call->arg_count++) {
    struct jp_answer *answer = client_take_answer(call->client);
    if (answer == NULL)
      return false;
    call->client->holders++;
    call->args[call->arg_count] = answer;
  }
  return call->args != NULL;
}

/* The peer lets go of what it has told for a callback that borrows, as soon as it is answered. */
static void forget_tellings(const struct jp_callback_call *call)
{
  for (size_t i = 0; i < call->arg_count; i++) {
    if (call->args[i]->ref != NULL)
      call->args[i]->ref->told--;
  }
}

static enum jp_client_status fill_call(struct jp_callback_call *call, const struct callback_call *read,
                                       struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  bool good = callback_keep_texts(read, &call->arena, &call->texts) && take_answers(call, read->arg_count);
  if (good && read->id.data != NULL)
    call->id = arena_text(&call->arena, read->id);
  if (!good || (read->id.data != NULL && call->id.data == NULL))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a call from Java");
  lock_group(client);
  call->callback = callback_group_find(client->callbacks.group, read->callback);
  if (call->callback != NULL)
    call->callback->users++;
  unlock_group(client);
  enum jp_client_status status = callback_fill_arguments(read, call->args, &client->refs.refs, error);
  if (status == JP_CLIENT_OK && call->callback != NULL && call->callback->is_borrowed)
    forget_tellings(call);
  return status;
}

static enum jp_client_status check_room(const struct jp_callback_call *call, struct jp_client_error *error)
{
  const struct jp_client *client = call->client;
  const struct client_callbacks *callbacks = &client->callbacks;
  if (callbacks->waiting >= client->pending_max)
    return client_fail(error, JP_CLIENT_LIMIT,
                       "%zu calls from Java wait to be run: pending_max allows no more", callbacks->waiting);
  if (callbacks->waiting > 0 && callbacks->waiting_size + call->size > client->options.message_max)
    return client_fail(error, JP_CLIENT_LIMIT,
                       "calls from Java that wait to be run have %zu bytes: message_max allows no more",
                       callbacks->waiting_size);
  return JP_CLIENT_OK;
}

static struct jp_client *client_of(struct callback_reader *reader)
{
  return ((struct callback_listener *)reader)->client;
}

static enum jp_client_status take_call(struct callback_reader *reader, const struct callback_call *read,
                                       struct jp_client_error *error)
{
  struct jp_client *client = client_of(reader);
  lock_group(client);
  bool never_was = read->callback > client->callbacks.group->last_id;
  unlock_group(client);
  if (never_was)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer calls callback %lld, which never was",
                       (long long)read->callback);
  struct jp_callback_call *call = create_call(client);
  if (call == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a call from Java");
  call->size = sizeof *call + read->args.span.len;
  enum jp_client_status status = fill_call(call, read, error);
  if (status == JP_CLIENT_OK)
    status = check_room(call, error);
  if (status == JP_CLIENT_OK && call->callback != NULL && !client->callbacks.is_closing) {
    arrive(call);
    return JP_CLIENT_OK;
  }
  if (status == JP_CLIENT_OK)
    refuse(call, UNKNOWN, call->callback == NULL ? "the callback has ended" : "the client closes");
  end_call(call);
  return status;
}

static enum jp_client_status take_release(struct callback_reader *reader, int64_t id, uint64_t given,
                                          struct jp_client_error *error)
{
  struct jp_client *client = client_of(reader);
  lock_group(client);
  struct jp_callback *callback = callback_group_find(client->callbacks.group, id);
  bool has_it = callback != NULL && given <= callback->given;
  if (has_it) {
    callback->given -= given;
    end_unused(client, callback);
  }
  unlock_group(client);
  return has_it ? JP_CLIENT_OK
                : client_fail(error, JP_CLIENT_PROTOCOL,
                              "the peer releases callback %lld, which it does not have", (long long)id);
}

enum jp_client_status callback_take_message(struct jp_client *client, struct json_value message,
                                            struct jp_client_error *error)
{
  return callback_read_json(message, &client->callbacks.listener.reader, error);
}

/* ---- for the function ---- */

const char *jp_callback_interface(const struct jp_callback_call *call)
{
  return call->texts.interface;
}

const char *jp_callback_method(const struct jp_callback_call *call)
{
  return call->texts.method;
}

size_t jp_callback_argument_count(const struct jp_callback_call *call)
{
  return call->arg_count;
}

const struct jp_answer *jp_callback_argument_at(const struct jp_callback_call *call, size_t index)
{
  return index < call->arg_count ? call->args[index] : NULL;
}

const char *jp_callback_parameter_type(const struct jp_callback_call *call, size_t index)
{
  return index < call->arg_count ? call->texts.parameters[index] : NULL;
}

struct jp_client *jp_callback_client(const struct jp_callback_call *call)
{
  return call->client;
}

const char *jp_callback_id(const struct jp_callback_call *call)
{
  return call->texts.id;
}

void jp_callback_answer_later(struct jp_callback_call *call)
{
  if (fork_guard_is_child(&call->client->fork_guard))
    return;
  client_lock(call->client);
  if (call->state == CALL_RUNNING)
    set_call_state(call, CALL_DEFERRED);
  client_unlock(call->client);
}

static enum jp_client_status fail_closed(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_CLOSED, "the connection that the call came on has ended");
}

/* Who has no wait to go back to waits here until the answer has left. */
static enum jp_client_status send_answer(struct jp_callback_call *call, struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  client_flush(client);
  if (client_is_open(client) && call->state == CALL_OVER)
    (void)!client_await_room(client, INT64_MAX, NULL); /* it fails where the connection ends */
  return client_is_open(client) ? JP_CLIENT_OK : fail_closed(error);
}

static enum jp_client_status answer_once(struct jp_callback_call *call, const struct jp_argument *value,
                                         const struct callback_failure *failure,
                                         struct jp_client_error *error)
{
  if (is_answered(call))
    return client_fail(error, JP_CLIENT_INVALID, "the call is answered already");
  if (!is_event(call) && is_open(call)) {
    enum jp_client_status status = write_answer(call, value, failure, error);
    return status == JP_CLIENT_OK ? send_answer(call, error) : status;
  }
  note_answered(call);
  return is_event(call) ? JP_CLIENT_OK : fail_closed(error);
}

static enum jp_client_status answer(struct jp_callback_call *call, const struct jp_argument *value,
                                    const struct callback_failure *failure, struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  bool was_answered = is_answered(call);
  status = answer_once(call, value, failure, error);
  if (!was_answered && call->state == CALL_OVER)
    end_call(call);
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

enum jp_client_status jp_callback_return(struct jp_callback_call *call, const struct jp_argument *value,
                                         struct jp_client_error *error)
{
  return answer(call, value, NULL, error);
}

/* An object that the peer does not hold any more is refused. */
static enum jp_client_status throw_to_java(struct jp_callback_call *call, const struct jp_thrown *thrown,
                                           struct jp_client_error *error)
{
  const struct callback_failure failure = {.code = CALLBACK_FAILED, .thrown = *thrown};
  for (const struct jp_thrown *each = thrown; each != NULL; each = each->cause) {
    if (each->object != NULL && !message_may_name(each->object, ref_table_epoch(&call->client->refs)))
      return message_fail_stale(each->object, error);
  }
  return answer(call, NULL, &failure, error);
}

enum jp_client_status jp_callback_throw(struct jp_callback_call *call, const char *throwable_type,
                                        const char *message, struct jp_client_error *error)
{
  const struct jp_thrown thrown = {.type = throwable_type, .message = message};
  return throw_to_java(call, &thrown, error);
}

enum jp_client_status jp_callback_throw_object(struct jp_callback_call *call, const struct jp_ref *throwable,
                                               struct jp_client_error *error)
{
  const struct jp_thrown thrown = {.object = throwable};
  if (throwable == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "the throwable is NULL");
  return throw_to_java(call, &thrown, error);
}

enum jp_client_status jp_callback_throw_as(struct jp_callback_call *call, const struct jp_thrown *thrown,
                                           struct jp_client_error *error)
{
  if (thrown == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "the throwable is NULL");
  size_t causes = 0; /* which may be in a circle */
  for (const struct jp_thrown *each = thrown; each != NULL; each = each->cause, causes++) {
    if (causes > JP_THROWN_CAUSES_MAX)
      return client_fail(error, JP_CLIENT_INVALID, "a throwable has more than %d causes",
                         (int)JP_THROWN_CAUSES_MAX);
    if (each->size < sizeof *each)
      return client_fail(error, JP_CLIENT_INVALID, "size of jp_thrown is not set");
    if (each->size > sizeof *each)
      return client_fail(error, JP_CLIENT_UNSUPPORTED, "jp_thrown is of a later version than the library");
    if (each->frame_count > JP_THROWN_FRAMES_MAX)
      return client_fail(error, JP_CLIENT_INVALID, "a throwable has more than %d frames",
                         (int)JP_THROWN_FRAMES_MAX);
  }
  return throw_to_java(call, thrown, error);
}

/* ---- the callbacks of a client ---- */

bool callbacks_enter_process(struct jp_client *client, const char *process)
{
  client->callbacks.group = callback_group_enter(process);
  return client->callbacks.group != NULL;
}

void callbacks_init(struct jp_client *client)
{
  client->callbacks.giver = (struct callback_giver){.callbacks = {give}, .client = client};
  client->callbacks.listener =
      (struct callback_listener){.reader = {.called = take_call, .released = take_release}, .client = client};
}

void callbacks_fini(struct jp_client *client)
{
  struct jp_callback_call *call;
  while ((call = client->callbacks.free_calls) != NULL) {
    client->callbacks.free_calls = call->next;
    destroy_call(call);
  }
  fini_list(&client->callbacks.giver.list);
  callback_group_leave(client->callbacks.group);
}

/* ---- an object that comes back ---- */

void callbacks_learn_number(struct jp_client *client, uint64_t number)
{
  lock_group(client);
  client->callbacks.group->number = number;
  unlock_group(client);
}

void callbacks_refuse(struct jp_client *client)
{
  client->callbacks.is_refused = true;
}

static struct jp_callback *hold_own(const struct jp_answer *answer, int64_t id, uint64_t number)
{
  const struct jp_client *client = answer->owner;
  if (id == 0 || number == 0 || client == NULL || fork_guard_is_child(&client->fork_guard))
    return NULL;
  lock_group(client);
  struct callback_group *group = client->callbacks.group;
  struct jp_callback *found = number == group->number ? callback_group_find(group, id) : NULL;
  bool is_there = found != NULL && hold_callback(found);
  unlock_group(client);
  return is_there ? found : NULL;
}

struct jp_callback *jp_answer_keep_callback(const struct jp_answer *answer)
{
  return answer == NULL ? NULL : hold_own(answer, answer->callback_id, answer->callback_client);
}

struct jp_callback *jp_answer_keep_callback_in(const struct jp_answer *answer, struct jp_json value)
{
  int64_t id;
  int64_t number;
  struct jp_json told = jp_json_member(value, "callback");
  bool is_told = answer != NULL && told.kind == JP_JSON_OBJECT &&
                 jp_json_integer(jp_json_member(told, "id"), &id) &&
                 jp_json_integer(jp_json_member(told, "client"), &number);
  return is_told ? hold_own(answer, id, (uint64_t)number) : NULL;
}

void *jp_callback_context(const struct jp_callback *callback)
{
  return callback->context;
}
