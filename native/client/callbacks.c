/* The objects of the program that Java can have: their table, and who keeps them. */
#include "client/client_state.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

/* ---- the table ---- */

/* Ids count up. */
static struct jp_callback **place_of(const struct client_callbacks *callbacks, int64_t id)
{
  return &callbacks->places[(size_t)id & (callbacks->capacity - 1)];
}

struct jp_callback *callback_find(const struct jp_client *client, int64_t id)
{
  const struct client_callbacks *callbacks = &client->callbacks;
  struct jp_callback *callback = callbacks->capacity == 0 ? NULL : *place_of(callbacks, id);
  while (callback != NULL && callback->id != id)
    callback = callback->next;
  return callback;
}

static void put(struct client_callbacks *callbacks, struct jp_callback *callback)
{
  struct jp_callback **place = place_of(callbacks, callback->id);
  callback->next = *place;
  *place = callback;
}

static bool grow(struct client_callbacks *callbacks)
{
  struct client_callbacks larger = {.capacity =
                                        callbacks->capacity == 0 ? FIRST_CAPACITY : callbacks->capacity * 2};
  larger.places = calloc(larger.capacity, sizeof(struct jp_callback *));
  if (larger.places == NULL)
    return false;
  for (size_t i = 0; i < callbacks->capacity; i++) {
    for (struct jp_callback *callback = callbacks->places[i]; callback != NULL;) {
      struct jp_callback *next = callback->next;
      put(&larger, callback);
      callback = next;
    }
  }
  free(callbacks->places);
  callbacks->places = larger.places;
  callbacks->capacity = larger.capacity;
  return true;
}

static void forget(struct client_callbacks *callbacks, const struct jp_callback *callback)
{
  struct jp_callback **at = place_of(callbacks, callback->id);
  while (*at != callback)
    at = &(*at)->next;
  *at = callback->next;
  callbacks->count--;
}

/* ---- who keeps them ---- */

static void destroy(struct jp_callback *callback)
{
  buffer_fini(&callback->interfaces);
  buffer_fini(&callback->facts);
  free(callback);
}

static void end_unused(struct jp_callback *callback)
{
  struct jp_client *client = callback->client;
  struct client_callbacks *callbacks = &client->callbacks;
  if (callback->is_held || callback->given > 0 || callback->users > 0 || callback->giving > 0)
    return;
  forget(callbacks, callback);
  if (callback->released == NULL) {
    destroy(callback);
    client->holders--;
    return;
  }
  callback->has_ended = true;
  callback->next = callbacks->ended;
  callbacks->ended = callback;
}

void callback_drop_user(struct jp_callback *callback)
{
  callback->users--;
  end_unused(callback);
}

bool callback_take_release(struct jp_callback *callback, uint64_t given)
{
  if (given > callback->given)
    return false;
  callback->given -= given;
  end_unused(callback);
  return true;
}

void callbacks_end_connection(struct jp_client *client)
{
  for (size_t i = 0; i < client->callbacks.capacity; i++) {
    for (struct jp_callback *callback = client->callbacks.places[i]; callback != NULL;) {
      struct jp_callback *next = callback->next;
      callback->given = 0;
      end_unused(callback);
      callback = next;
    }
  }
}

void callbacks_report_ended(struct jp_client *client)
{
  struct jp_callback *callback;
  while ((callback = client->callbacks.ended) != NULL) {
    client->callbacks.ended = callback->next;
    client_unlock(client);
    callback->released(callback->context);
    destroy(callback);
    client_lock(client);
    client->holders--;
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
  return client->url_kind->has_callbacks && !client->options.binary;
}

static enum jp_client_status fail_unsupported(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_UNSUPPORTED,
                     "a callback needs a connection over WebSocket or shared memory");
}

bool callback_list_add(struct callback_list *list, struct jp_callback *callback)
{
  if (list->count == list->capacity) {
    size_t capacity = list->capacity == 0 ? 4 : list->capacity * 2;
    struct jp_callback **wider = reallocarray(list->items, capacity, sizeof(struct jp_callback *));
    if (wider == NULL)
      return false;
    list->items = wider;
    list->capacity = capacity;
  }
  list->items[list->count++] = callback;
  return true;
}

void callback_list_fini(struct callback_list *list)
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
  if (status != JP_CLIENT_OK)
    return status;
  if (!has_callbacks(client))
    return fail_unsupported(error);
  if (kept->client != client)
    return fail_foreign(error);
  if (!callback_list_add(list, kept))
    return fail_memory(error);
  client_lock(client);
  kept->users++;
  client_unlock(client);
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
      callback_drop_user(list->items[i]);
    callbacks_report_ended(client);
    client_leave(client);
  }
  callback_list_fini(list);
}

/* ---- giving ---- */

static enum jp_client_status give(struct message_callbacks *callbacks, const struct jp_callback *callback,
                                  struct message_callback *form, struct jp_client_error *error)
{
  struct callback_giver *giver = (struct callback_giver *)callbacks;
  if (callback->client != giver->client)
    return fail_foreign(error);
  if (!callback_list_add(&giver->list, callback_of(callback)))
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
  return callback_list_add(&client->callbacks.giver.list, callback);
}

static void note_giver(struct jp_callback *callback, const struct waiter *waiter)
{
  callback->has_many_givers |= callback->giving > 0 && !pthread_equal(callback->giver, waiter->thread);
  callback->giver = waiter->thread;
  callback->giving++;
}

void callbacks_end_message(struct jp_client *client, struct waiter *waiter)
{
  struct callback_list *list = &client->callbacks.giver.list;
  for (size_t i = 0; i < list->count; i++) {
    list->items[i]->given++;
    if (waiter != NULL)
      note_giver(list->items[i], waiter);
  }
  if (waiter == NULL || list->count == 0)
    return;
  waiter->gives = *list;
  *list = (struct callback_list){0};
}

void callbacks_end_wait(struct jp_client *client, struct waiter *waiter)
{
  for (size_t i = 0; i < waiter->gives.count; i++) {
    struct jp_callback *callback = waiter->gives.items[i];
    callback->giving--;
    callback->has_many_givers &= callback->giving > 0;
    end_unused(callback);
  }
  callback_list_fini(&waiter->gives);
  callback_calls_pass_on(client, waiter);
}

bool callback_is_given_by(const struct jp_callback *callback, pthread_t *thread)
{
  *thread = callback->giver;
  return callback->giving > 0 && !callback->has_many_givers;
}

/* ---- created and released ---- */

void callbacks_init(struct jp_client *client)
{
  client->callbacks.giver = (struct callback_giver){.callbacks = {give}, .client = client};
  callback_calls_init(client);
}

void callbacks_fini(struct jp_client *client)
{
  callback_calls_fini(client);
  callback_list_fini(&client->callbacks.giver.list);
  free(client->callbacks.places);
}

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
  struct client_callbacks *callbacks = &client->callbacks;
  enum jp_client_status status = JP_CLIENT_OK;
  client_lock(client);
  if (client->is_closed) {
    status = client_fail(error, JP_CLIENT_CLOSED, "the client was closed");
  } else if (callbacks->count == callbacks->capacity && !grow(callbacks)) {
    status = fail_memory(error);
  } else {
    callback->id = ++callbacks->last_id;
    put(callbacks, callback);
    callbacks->count++;
    client->holders++;
  }
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
  if (status != JP_CLIENT_OK)
    return status;
  if (!has_callbacks(client))
    return fail_unsupported(error);
  struct jp_callback *made = calloc(1, sizeof *made);
  if (made == NULL)
    return fail_memory(error);
  *made = (struct jp_callback){.client = client,
                               .function = config->function,
                               .released = config->released,
                               .context = config->context,
                               .is_borrowed = config->borrow,
                               .is_held = true};
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

bool jp_callback_keep(struct jp_callback *callback)
{
  struct jp_client *client = callback->client;
  if (fork_guard_is_child(&client->fork_guard))
    return false;
  client_lock(client);
  bool is_there = !callback->has_ended;
  if (is_there)
    callback->is_held = true;
  client_unlock(client);
  return is_there;
}

void jp_callback_release(struct jp_callback *callback)
{
  if (callback == NULL || fork_guard_is_child(&callback->client->fork_guard))
    return;
  struct jp_client *client = callback->client;
  client_lock(client);
  client->holders++;
  callback->is_held = false;
  end_unused(callback);
  callbacks_report_ended(client);
  client_leave(client);
}
