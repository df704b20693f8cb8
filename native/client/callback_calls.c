/* Calls from Java: how they come, and what they are answered. callback_runs.c runs them. */
#include "client/client_state.h"

#include <stdlib.h>

enum { FREE_CALLS_MAX = 512, UNKNOWN = -32602 };

/* ---- one call ---- */

bool callback_is_open(const struct jp_callback_call *call)
{
  const struct jp_client *client = call->client;
  return !callback_is_event(call) && !call->is_answered && call->connection == client->connection &&
         client->transport != NULL && client->ended.status == JP_CLIENT_OK;
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

void callback_end_call(struct jp_callback_call *call)
{
  struct jp_client *client = call->client;
  struct client_callbacks *callbacks = &client->callbacks;
  for (size_t i = 0; i < call->arg_count; i++) {
    call->args[i]->next = client->dropped;
    client->dropped = call->args[i];
  }
  if (call->callback != NULL)
    callback_drop_user(call->callback);
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

const struct jp_callback_call *callback_outer(const struct jp_client *client)
{
  const struct jp_callback_call *call = client->callbacks.running;
  while (call != NULL && !(pthread_equal(call->thread, pthread_self()) && callback_is_open(call)))
    call = call->next;
  return call;
}

struct text callback_within(const struct jp_client *client)
{
  const struct jp_callback_call *call = callback_outer(client);
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
  call->is_answered = true;
  return JP_CLIENT_OK;
}

/* Where not even that can be written, Java waits until its own time is over. */
void callback_refuse(struct jp_callback_call *call, int code, const char *why)
{
  const struct callback_failure failure = {.code = code, .message = why};
  if (callback_is_open(call))
    (void)!write_answer(call, NULL, &failure, NULL);
  call->is_answered = true;
}

/* ---- coming in ---- */

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
  call->callback = callback_find(client, read->callback);
  if (call->callback != NULL)
    call->callback->users++;
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
  if (read->callback > client->callbacks.last_id)
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
    callback_arrive(call);
    return JP_CLIENT_OK;
  }
  if (status == JP_CLIENT_OK)
    callback_refuse(call, UNKNOWN, call->callback == NULL ? "the callback has ended" : "the client closes");
  callback_end_call(call);
  return status;
}

static enum jp_client_status take_release(struct callback_reader *reader, int64_t id, uint64_t given,
                                          struct jp_client_error *error)
{
  struct jp_callback *callback = callback_find(client_of(reader), id);
  if (callback != NULL && callback_take_release(callback, given))
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer lets go of callback %lld, which it has not",
                     (long long)id);
}

enum jp_client_status callback_take_message(struct jp_client *client, struct json_value message,
                                            struct jp_client_error *error)
{
  return callback_read_json(message, &client->callbacks.listener.reader, error);
}

void callback_calls_init(struct jp_client *client)
{
  client->callbacks.listener =
      (struct callback_listener){.reader = {.called = take_call, .released = take_release}, .client = client};
}

void callback_calls_fini(struct jp_client *client)
{
  struct jp_callback_call *call;
  while ((call = client->callbacks.free_calls) != NULL) {
    client->callbacks.free_calls = call->next;
    destroy_call(call);
  }
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

const char *jp_callback_id(const struct jp_callback_call *call)
{
  return call->texts.id;
}

void jp_callback_answer_later(struct jp_callback_call *call)
{
  if (fork_guard_is_child(&call->client->fork_guard))
    return;
  client_lock(call->client);
  call->is_kept = true;
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
  if (client->ended.status == JP_CLIENT_OK && !call->is_running)
    (void)!client_await_room(client, INT64_MAX, NULL); /* it fails where the connection ends */
  return client->ended.status == JP_CLIENT_OK ? JP_CLIENT_OK : fail_closed(error);
}

static enum jp_client_status answer_once(struct jp_callback_call *call, const struct jp_argument *value,
                                         const struct callback_failure *failure,
                                         struct jp_client_error *error)
{
  if (call->is_answered)
    return client_fail(error, JP_CLIENT_INVALID, "the call is answered already");
  if (!callback_is_event(call) && callback_is_open(call)) {
    enum jp_client_status status = write_answer(call, value, failure, error);
    return status == JP_CLIENT_OK ? send_answer(call, error) : status;
  }
  call->is_answered = true;
  return callback_is_event(call) ? JP_CLIENT_OK : fail_closed(error);
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
  status = answer_once(call, value, failure, error);
  if (call->is_answered && !call->is_running)
    callback_end_call(call);
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

enum jp_client_status jp_callback_return(struct jp_callback_call *call, const struct jp_argument *value,
                                         struct jp_client_error *error)
{
  return answer(call, value, NULL, error);
}

enum jp_client_status jp_callback_throw(struct jp_callback_call *call, const char *throwable_type,
                                        const char *message, struct jp_client_error *error)
{
  const struct callback_failure failure = {
      .code = CALLBACK_FAILED, .message = message, .throwable_type = throwable_type};
  return answer(call, NULL, &failure, error);
}

enum jp_client_status jp_callback_throw_object(struct jp_callback_call *call, const struct jp_ref *throwable,
                                               struct jp_client_error *error)
{
  if (throwable == NULL)
    return client_fail(error, JP_CLIENT_INVALID, "the throwable is NULL");
  if (!message_may_name(throwable, ref_table_epoch(&call->client->refs)))
    return message_fail_stale(throwable, error);
  const struct callback_failure failure = {.code = CALLBACK_FAILED, .ref = jp_ref_number(throwable)};
  return answer(call, NULL, &failure, error);
}
