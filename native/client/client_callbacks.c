/*
 * The program's objects that Java can hold (docs/internals/client-library.md, "Callbacks in the client
 * library"): this file knows who holds each object, the calls that Java makes, and which thread runs each
 * call.
 *
 * The client's lock guards all of it, with three exceptions: the constant members of a callback, the members
 * of a call that belong to the thread that runs the call, and the members guarded by the lock of a group
 * (client/callback_group.h).
 */
#include "base/array.h"
#include "base/process_limits.h"
#include "base/transitions.h"
#include "client/callback_group.h"
#include "client/client_state.h"

#include <stdlib.h>
#include <string.h>

enum { FREE_CALLS_MAX = 512 };

/* Error codes for refused calls. UNKNOWN: the callback does not exist any more. CALLBACK_FAILED: the call is
 * correct, but the client cannot answer it. */
enum { UNKNOWN = -32602, CALLBACK_FAILED = -32000 };

/* A function needs some stack itself. Python needs about 4 KiB before it runs any code of the program. */
enum { NESTED_MAX = 1000, STACK_MIN = 112 * 1024 };

/*
 * A call from Java. Under the client's lock.
 *
 * | state         | meaning                                                          | what ends it              |
 * | CALL_WAITING  | a thread runs it next, or it is in a list                        | the thread that runs or   |
 * |               |                                                                  | refuses it                |
 * | CALL_RUNNING  | the function runs on call->thread                                | the function: it answers, |
 * |               |                                                                  | defers or returns         |
 * | CALL_DEFERRED | the function runs; the call may be answered after it             | the function: it returns; |
 * |               |                                                                  | an answer                 |
 * | CALL_ANSWERED | the function runs; the call is answered, or cannot be any more   | the function: it returns  |
 * | CALL_OPEN     | the function has returned; the program must answer               | the program's answer      |
 * | CALL_OVER     | the function does not run, and the call cannot be answered       | nothing                   |
 */
enum call_state {
  CALL_WAITING,  /* the call waits for a thread that runs it */
  CALL_RUNNING,  /* the function runs, and has not answered */
  CALL_DEFERRED, /* the function runs; the call may be answered after it */
  CALL_ANSWERED, /* the function runs; the call is answered, or cannot be answered any more */
  CALL_OPEN,     /* the function has returned, and the call is not answered yet */
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
  struct jp_client *client;     /* the call is a holder */
  struct jp_callback *callback; /* NULL: no callback has the id any more */
  struct arena arena;
  struct text id; /* the JSON of the id; data NULL: an event. In the arena, like the texts */
  struct callback_texts texts;
  struct jp_answer **args; /* each answer is a holder */
  size_t arg_count;
  uint64_t connection; /* the connection that it arrived on */
  uint64_t number;     /* calls are numbered in the order in which they are read */
  size_t size;         /* of its message */
  enum call_state state;
  pthread_t thread; /* runs the call */
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

/* ---- who holds callbacks ---- */

static void destroy_callback(struct jp_callback *callback)
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

/* Under the group's lock as well. This client reports the ended callback, whichever client created it. */
static void end_unused(struct jp_client *client, struct jp_callback *callback)
{
  if (callback->state == CALLBACK_HELD || callback->given > 0 || callback->users > 0 || callback->awaited > 0)
    return;
  callback_group_remove(client->callbacks.group, callback);
  callback_set_state(callback, CALLBACK_ENDED);
  if (callback->released == NULL && callback->client == client) {
    destroy_callback(callback);
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

/* Java's hold on the callbacks of a process ends with the last connection of the process. */
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
    destroy_callback(callback);
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

/* A struct jp_argument has a pointer to a constant callback, but sending the argument changes the callback's
 * counts. */
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

/* ---- messages with callbacks ---- */

static enum jp_client_status record_callback(struct message_callbacks *callbacks,
                                             const struct jp_callback *callback,
                                             struct message_callback *form, struct jp_client_error *error)
{
  struct callback_recorder *recorder = (struct callback_recorder *)callbacks;
  if (callback->client->callbacks.group != recorder->client->callbacks.group)
    return fail_foreign(error);
  if (!add_to_list(&recorder->list, callback_of(callback)))
    return fail_memory(error);
  *form = form_of(callback);
  return JP_CLIENT_OK;
}

struct message_callbacks *callbacks_begin_message(struct jp_client *client)
{
  client->callbacks.recorder.list.count = 0;
  return has_callbacks(client) ? &client->callbacks.recorder.callbacks : NULL;
}

bool callbacks_give(struct jp_client *client, struct jp_callback *callback)
{
  return add_to_list(&client->callbacks.recorder.list, callback);
}

void callbacks_end_message(struct jp_client *client, struct waiter *waiter)
{
  struct callback_list *list = &client->callbacks.recorder.list;
  if (list->count == 0)
    return;
  lock_group(client);
  for (size_t i = 0; i < list->count; i++) {
    struct jp_callback *callback = list->items[i];
    callback->given++;
    if (waiter == NULL)
      continue;
    callback->has_many_senders |= callback->awaited > 0 && !pthread_equal(callback->sender, waiter->thread);
    callback->sender = waiter->thread;
    callback->awaited++;
  }
  unlock_group(client);
  if (waiter == NULL)
    return;
  waiter->given = *list;
  *list = (struct callback_list){0};
}

/* ---- creation and release ---- */

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

static enum jp_client_status add_callback(struct jp_client *client, struct jp_callback *callback,
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
    return client_fail(
        error, JP_CLIENT_UNSUPPORTED,
        "oneway is not for a process: its events may arrive over any connection, in any order");
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
    status = add_callback(client, made, error);
  if (status != JP_CLIENT_OK) {
    destroy_callback(made);
    return status;
  }
  *callback = made;
  return JP_CLIENT_OK;
}

/* Under the group's lock. False: the callback has ended. */
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
  bool is_held = hold_callback(callback);
  unlock_group(client);
  return is_held;
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

/* The call is answered, or cannot be answered any more. */
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

static const struct jp_callback_call *find_enclosing_call(const struct jp_client *client)
{
  const struct jp_callback_call *call = client->callbacks.running;
  while (call != NULL && !(pthread_equal(call->thread, pthread_self()) && is_open(call)))
    call = call->next;
  return call;
}

struct text callback_within(const struct jp_client *client)
{
  const struct jp_callback_call *call = find_enclosing_call(client);
  return call == NULL ? TEXT_ABSENT : text_of(call->texts.id);
}

/* Writes the answer. May be called only while the call is open. failure NULL: value is the result. */
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
    client->kind->discard(client->transport);
    return status;
  }
  client_end_message(client, false);
  callbacks_end_message(client, NULL);
  note_answered(call);
  return JP_CLIENT_OK;
}

/* Answers a call with an error. If memory is too short even for this, Java waits until its own timeout. */
static void refuse_call(struct jp_callback_call *call, int code, const char *why)
{
  const struct callback_failure failure = {.code = code, .thrown = {.message = why}};
  if (is_open(call))
    (void)!write_answer(call, NULL, &failure, NULL);
  note_answered(call);
}

/* ---- which thread runs a call ---- */

static bool is_free(const struct waiter *waiter)
{
  return waiter != NULL && waiter->runs_calls && waiter->left > 0 && waiter->call == NULL;
}

static bool is_for_other_thread(const struct jp_callback_call *call, const struct waiter *waiter)
{
  const struct jp_callback *callback = call->callback;
  lock_group(call->client);
  bool has_one_sender = callback->awaited > 0 && !callback->has_many_senders;
  bool is_for_other = has_one_sender && (waiter == NULL || !pthread_equal(callback->sender, waiter->thread));
  unlock_group(call->client);
  return is_for_other;
}

/* The running call with that id; NULL: it is over. */
static const struct jp_callback_call *find_running(const struct jp_client *client, const char *id)
{
  const struct jp_callback_call *call = client->callbacks.running;
  while (call != NULL && (call->texts.id == NULL || strcmp(call->texts.id, id) != 0))
    call = call->next;
  return call;
}

/* The waiter whose request caused the call, for a call with an origin. The requests of a connection are
 * served in order. */
static struct waiter *find_origin(const struct jp_callback_call *call)
{
  const struct jp_client *client = call->client;
  const char *origin = call->texts.origin;
  bool is_request = strcmp(origin, "request") == 0;
  const struct jp_callback_call *outer = is_request ? NULL : find_running(client, origin);
  struct waiter *waiter = is_request || outer != NULL ? client->callbacks.requesters : NULL;
  while (waiter != NULL && waiter->outer != outer)
    waiter = waiter->next_requester;
  return waiter;
}

/* waiter NULL: jp_client_process. */
static bool may_run(const struct jp_callback_call *call, const struct waiter *waiter)
{
  return call->texts.origin == NULL ? !is_for_other_thread(call, waiter) : find_origin(call) == waiter;
}

/* The waiter that runs the call; NULL: none may. The leader is preferred, because it is running or wakes
 * next. */
static struct waiter *find_runner(const struct jp_client *client, const struct jp_callback_call *call)
{
  if (is_free(client->leader) && may_run(call, client->leader))
    return client->leader;
  struct waiter *waiter = client->sleepers;
  while (waiter != NULL && (!is_free(waiter) || !may_run(call, waiter)))
    waiter = waiter->next;
  return waiter;
}

void callback_add_requester(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  waiter->outer = find_enclosing_call(client);
  waiter->previous_requester = callbacks->last_requester;
  if (callbacks->requesters == NULL)
    callbacks->requesters = waiter;
  else
    callbacks->last_requester->next_requester = waiter;
  callbacks->last_requester = waiter;
}

void callback_remove_requester(struct jp_client *client, struct waiter *waiter)
{
  struct client_callbacks *callbacks = &client->callbacks;
  if (waiter->previous_requester == NULL)
    callbacks->requesters = waiter->next_requester;
  else
    waiter->previous_requester->next_requester = waiter->next_requester;
  if (waiter->next_requester == NULL)
    callbacks->last_requester = waiter->previous_requester;
  else
    waiter->next_requester->previous_requester = waiter->previous_requester;
}

static void append_call(struct jp_callback_call **first, struct jp_callback_call **last,
                        struct jp_callback_call *call)
{
  call->next = NULL;
  if (*first == NULL)
    *first = call;
  else
    (*last)->next = call;
  *last = call;
}

/* Counts a call as started. Call it when the call's function begins to run, or when it is clear that it will
 * never run. */
static void count_started(struct jp_callback_call *call)
{
  struct client_callbacks *callbacks = &call->client->callbacks;
  callbacks->waiting--;
  callbacks->waiting_size -= call->size;
}

/* Gives the call to a waiter that may run it, or queues it. */
static void offer_call(struct jp_callback_call *call)
{
  struct jp_client *client = call->client;
  if (!is_event(call) && !is_open(call)) {
    count_started(call);
    end_call(call);
    return;
  }
  struct waiter *runner = find_runner(client, call);
  if (runner != NULL) {
    runner->call = call;
    client_wake_waiter(client, runner);
    return;
  }
  append_call(&client->callbacks.first, &client->callbacks.last, call);
  bool is_for_loop = may_run(call, NULL);
  if (is_for_loop && call->texts.origin != NULL)
    client_need_processors(client); /* a thread may remain inside jp_client_process for a long time */
  if (is_for_loop && (client->processors == 0 || client->processed_by == PROCESSED_BY_MANY))
    client_wake_loop(client);
}

/* Removes a queued call with a number up to `limit`. waiter NULL: for jp_client_process. */
static struct jp_callback_call *remove_waiting(struct jp_client *client, const struct waiter *waiter,
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

/* The number of the last call that the waiter may run. A thread whose answers have arrived runs only the
 * calls that arrived before them. */
static uint64_t last_call_for(const struct waiter *waiter)
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

static void offer_remaining(struct jp_client *client, struct waiter *waiter)
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
    offer_call(call);
    call = next;
  }
}

/* ---- running ---- */

/* Starts the next event of the callback, on the same thread if it may run it. */
static void end_event(struct jp_client *client, struct jp_callback *callback, struct waiter *waiter)
{
  struct jp_callback_call *next;
  callback->has_event = false;
  while ((next = callback->first_event) != NULL && !callback->has_event) {
    callback->first_event = next->next;
    if (client->callbacks.is_closing) {
      count_started(next);
      end_call(next);
      continue;
    }
    callback->has_event = true;
    if (waiter != NULL && next->number <= last_call_for(waiter) && may_run(next, waiter))
      waiter->call = next;
    else
      offer_call(next);
  }
}

static size_t count_nested_calls(const struct jp_client *client)
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
    refuse_call(call, CALLBACK_FAILED, "the client's function has not answered");
  set_call_state(call, call->state == CALL_DEFERRED ? CALL_OPEN : CALL_OVER);
}

static void run_call(struct jp_callback_call *call, struct waiter *waiter)
{
  struct jp_client *client = call->client;
  struct jp_callback *callback = call->callback;
  bool was_event = is_event(call);
  count_started(call);
  if (client->callbacks.is_closing || (!was_event && !is_open(call)))
    refuse_call(call, CALLBACK_FAILED, "the client closes");
  else if (count_nested_calls(client) > 0 && stack_left() < STACK_MIN)
    refuse_call(call, CALLBACK_FAILED, "the stack of the client's thread has no room for one more function");
  else if (!was_event && count_nested_calls(client) >= NESTED_MAX)
    refuse_call(call, CALLBACK_FAILED, "the client runs 1000 functions inside one another");
  else
    call_function(call);
  add_user(client, callback); /* keeps the callback until the call has ended */
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
    client_pass_lead(client);
    callbacks_report_ended(client);
    return true;
  }
  struct jp_callback_call *call =
      waiter->call != NULL ? waiter->call : remove_waiting(client, waiter, last_call_for(waiter));
  waiter->call = NULL;
  if (call == NULL)
    return false;
  client_pass_lead(client);
  run_call(call, waiter);
  return true;
}

void callback_run_waiting(struct jp_client *client)
{
  const uint64_t limit = client->callbacks.last_number;
  struct jp_callback_call *call;
  while ((call = remove_waiting(client, NULL, limit)) != NULL) {
    if (client->processed_by == PROCESSED_BY_MANY && callback_has_waiting(client))
      client_wake_loop(client);
    run_call(call, NULL);
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
      run_call(call, NULL); /* run_call refuses it */
    else
      offer_call(call);
    call = next;
  }
}

/* ---- the end of a wait ---- */

void callbacks_end_wait(struct jp_client *client, struct waiter *waiter)
{
  if (waiter->given.count > 0) {
    lock_group(client);
    for (size_t i = 0; i < waiter->given.count; i++) {
      struct jp_callback *callback = waiter->given.items[i];
      callback->awaited--;
      callback->has_many_senders &= callback->awaited > 0;
      end_unused(client, callback);
    }
    unlock_group(client);
  }
  fini_list(&waiter->given);
  offer_remaining(client, waiter);
}

/* ---- received calls ---- */

static void enqueue_call(struct jp_callback_call *call)
{
  struct client_callbacks *callbacks = &call->client->callbacks;
  struct jp_callback *callback = call->callback;
  callbacks->waiting++;
  callbacks->waiting_size += call->size;
  call->number = ++callbacks->last_number;
  if (is_event(call) && callback->has_event) {
    append_call(&callback->first_event, &callback->last_event, call);
    return;
  }
  callback->has_event |= is_event(call);
  offer_call(call);
}

/* False: no memory. */
static bool acquire_answers(struct jp_callback_call *call, size_t count)
{
  call->args = arena_alloc(&call->arena, count * sizeof(struct jp_answer *));
  for (; call->args != NULL && call->arg_count < count; call->arg_count++) {
    struct jp_answer *answer = client_acquire_answer(call->client);
    if (answer == NULL)
      return false;
    call->client->holders++;
    call->args[call->arg_count] = answer;
  }
  return call->args != NULL;
}

/* Once a callback that borrows has answered, the peer itself releases the refs in the arguments. */
static void uncount_borrowed_refs(const struct jp_callback_call *call)
{
  for (size_t i = 0; i < call->arg_count; i++) {
    if (call->args[i]->ref != NULL)
      call->args[i]->ref->sent_count--;
  }
}

static enum jp_client_status fill_call(struct jp_callback_call *call, const struct callback_call *read,
                                       struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  bool good = callback_keep_texts(read, &call->arena, &call->texts) && acquire_answers(call, read->arg_count);
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
    uncount_borrowed_refs(call);
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

static enum jp_client_status accept_call(struct callback_reader *reader, const struct callback_call *read,
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
    enqueue_call(call);
    return JP_CLIENT_OK;
  }
  if (status == JP_CLIENT_OK)
    refuse_call(call, UNKNOWN, call->callback == NULL ? "the callback has ended" : "the client closes");
  end_call(call);
  return status;
}

static enum jp_client_status accept_release(struct callback_reader *reader, int64_t id, uint64_t given,
                                            struct jp_client_error *error)
{
  struct jp_client *client = client_of(reader);
  lock_group(client);
  struct jp_callback *callback = callback_group_find(client->callbacks.group, id);
  bool was_given = callback != NULL && given <= callback->given;
  if (was_given) {
    callback->given -= given;
    end_unused(client, callback);
  }
  unlock_group(client);
  return was_given ? JP_CLIENT_OK
                   : client_fail(error, JP_CLIENT_PROTOCOL,
                                 "the peer releases callback %lld, which it does not have", (long long)id);
}

enum jp_client_status callback_accept_message(struct jp_client *client, struct json_value message,
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
  return client_fail(error, JP_CLIENT_CLOSED, "the connection of the call has ended");
}

/* Sends the answer. A thread that does not wait for an answer itself waits here until everything is sent. */
static enum jp_client_status send_answer(struct jp_callback_call *call, struct jp_client_error *error)
{
  struct jp_client *client = call->client;
  client_flush(client);
  if (client_is_open(client) && call->state == CALL_OVER)
    (void)!client_await_output(client, INT64_MAX,
                               NULL); /* this fails only if the connection ends, which the next line checks */
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

static enum jp_client_status answer_call(struct jp_callback_call *call, const struct jp_argument *value,
                                         const struct callback_failure *failure,
                                         struct jp_client_error *error)
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
  return answer_call(call, value, NULL, error);
}

/* Refuses an object that the peer does not hold any more. */
static enum jp_client_status throw_to_java(struct jp_callback_call *call, const struct jp_thrown *thrown,
                                           struct jp_client_error *error)
{
  const struct callback_failure failure = {.code = CALLBACK_FAILED, .thrown = *thrown};
  for (const struct jp_thrown *each = thrown; each != NULL; each = each->cause) {
    if (each->object != NULL && !message_may_name(each->object, ref_table_epoch(&call->client->refs)))
      return message_fail_stale(each->object, error);
  }
  return answer_call(call, NULL, &failure, error);
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
  size_t causes = 0; /* causes may form a cycle */
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

/* ---- init and fini ---- */

bool callbacks_enter_process(struct jp_client *client, const char *process)
{
  client->callbacks.group = callback_group_enter(process);
  return client->callbacks.group != NULL;
}

void callbacks_init(struct jp_client *client)
{
  client->callbacks.recorder = (struct callback_recorder){.callbacks = {record_callback}, .client = client};
  client->callbacks.listener = (struct callback_listener){
      .reader = {.called = accept_call, .released = accept_release}, .client = client};
}

void callbacks_fini(struct jp_client *client)
{
  struct jp_callback_call *call;
  while ((call = client->callbacks.free_calls) != NULL) {
    client->callbacks.free_calls = call->next;
    destroy_call(call);
  }
  fini_list(&client->callbacks.recorder.list);
  callback_group_leave(client->callbacks.group);
}

/* ---- callbacks in answers ---- */

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
  bool is_held = found != NULL && hold_callback(found);
  unlock_group(client);
  return is_held ? found : NULL;
}

struct jp_callback *jp_answer_keep_callback(const struct jp_answer *answer)
{
  return answer == NULL ? NULL : hold_own(answer, answer->callback_id, answer->callback_client);
}

struct jp_callback *jp_answer_keep_callback_in(const struct jp_answer *answer, struct jp_json value)
{
  int64_t id;
  int64_t number;
  struct jp_json member = jp_json_member(value, "callback");
  bool is_callback = answer != NULL && member.kind == JP_JSON_OBJECT &&
                     jp_json_integer(jp_json_member(member, "id"), &id) &&
                     jp_json_integer(jp_json_member(member, "client"), &number);
  return is_callback ? hold_own(answer, id, (uint64_t)number) : NULL;
}

void *jp_callback_context(const struct jp_callback *callback)
{
  return callback->context;
}
