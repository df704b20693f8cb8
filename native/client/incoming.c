/* From messages that came to the requests that they answer. */
#include "client/client_state.h"
#include "client/messages/answer_usual.h"

#include <stdlib.h>

enum { FREE_ANSWERS_MAX = 1024, KEPT_BYTES_MAX = 64 * 1024 };

/* ---- answers ---- */

/* The end of jp_answer_free: the answer is clear. */
static void take_back(void *owner, struct jp_answer *answer)
{
  struct jp_client *client = owner;
  if (fork_guard_is_child(&client->fork_guard))
    return;
  buffer_trim(&answer->bytes, KEPT_BYTES_MAX);
  client_lock(client);
  bool is_kept = client->free_count < FREE_ANSWERS_MAX;
  if (is_kept) {
    answer->next = client->free_answers;
    client->free_answers = answer;
    client->free_count++;
  }
  if (!is_kept)
    answer_destroy(answer); /* it has no handles */
  client_leave(client);
}

struct jp_answer *client_take_answer(struct jp_client *client)
{
  struct jp_answer *answer = client->free_answers;
  if (answer != NULL) {
    client->free_answers = answer->next;
    client->free_count--;
  } else {
    answer = answer_create();
  }
  if (answer != NULL) {
    answer->give_back = take_back;
    answer->owner = client;
    answer->next = NULL;
  }
  return answer;
}

/* ---- ending requests ---- */

static void tell_waiter(struct jp_client *client, const struct pending *request, enum jp_client_status status,
                        struct jp_answer *answer, const struct jp_client_error *error)
{
  struct waiter *waiter = request->as.waited.waiter;
  waiter->answers[request->as.waited.index] = answer;
  if (answer == NULL) {
    waiter->status = status;
    if (waiter->error != NULL)
      *waiter->error = *error;
  }
  waiter->left--;
  if (waiter->left == 0)
    client_end_wait(client, waiter);
}

static void queue_completion(struct jp_client *client, const struct pending *request,
                             enum jp_client_status status, struct jp_answer *answer)
{
  completion_queue_push(&client->completed, &(struct completion){.function = request->as.completed.function,
                                                                 .context = request->as.completed.context,
                                                                 .status = status,
                                                                 .answer = answer});
  client->completions_pending--;
  if (client->processors == 0)
    client_wake_loop(client);
}

void client_end_request(struct jp_client *client, const struct pending *request, enum jp_client_status status,
                        struct jp_answer *answer, const struct jp_client_error *error)
{
  if (answer != NULL)
    client->holders++;
  switch (request->kind) {
  case PENDING_WAITED:
    tell_waiter(client, request, status, answer, error);
    break;
  case PENDING_COMPLETED:
    queue_completion(client, request, status, answer);
    break;
  default:
    if (answer != NULL) {
      answer->next = client->dropped;
      client->dropped = answer;
    }
  }
}

void client_end_requests(struct jp_client *client, const struct jp_client_error *why)
{
  struct pending_table *table = &client->pending;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->places[i].id != 0)
      client_end_request(client, &table->places[i], why->status, NULL, why);
  }
  pending_table_clear(table);
}

/* ---- reading ---- */

static bool read_id(struct text digits, uint64_t *id)
{
  *id = 0;
  for (size_t i = 0; digits.data != NULL && i < digits.len; i++) {
    uint64_t digit = (uint64_t)(digits.data[i] - '0');
    if (digit > 9 || __builtin_mul_overflow(*id, 10, id) || __builtin_add_overflow(*id, digit, id))
      return false;
  }
  return digits.len > 0;
}

/* Takes the request out of the table. One that was answered before is not there: a second answer is
 * nobody's. False: there is nothing to fill. JP_CLIENT_PROTOCOL: no such request was ever sent. */
static enum jp_client_status take_request(struct jp_client *client, struct text id_text,
                                          struct pending *request, bool *is_taken,
                                          struct jp_client_error *error)
{
  uint64_t id;
  *is_taken = false;
  if (!read_id(id_text, &id) || id == 0 || id > client->last_id)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers a request that was never sent: %.*s",
                       TEXT_ARGS(text_cut(id_text, 100)));
  struct pending *found = pending_table_find(&client->pending, id);
  if (found == NULL)
    return JP_CLIENT_OK;
  *request = *found;
  *is_taken = true;
  pending_table_remove(&client->pending, found);
  return JP_CLIENT_OK;
}

/* What an answer could not be filled with. Only a lack of memory leaves the connection as it is. */
static enum jp_client_status end_unfilled(struct jp_client *client, const struct pending *request,
                                          struct jp_answer *answer, enum jp_client_status status,
                                          struct jp_client_error *error)
{
  struct pending nobody = {.kind = PENDING_ABANDONED};
  if (answer != NULL)
    client_end_request(client, &nobody, status, answer, error);
  client_end_request(client, request, status, NULL, error);
  return status == JP_CLIENT_NO_MEMORY ? JP_CLIENT_OK : status;
}

static enum jp_client_status end_filled(struct jp_client *client, const struct pending *request,
                                        struct jp_answer *answer)
{
  enum jp_client_status status =
      answer->kind == JP_ANSWER_ERROR ? client_status_of_error(answer) : JP_CLIENT_OK;
  client_end_request(client, request, status, answer, NULL);
  return JP_CLIENT_OK;
}

/* Nothing is known that it could be about. */
static enum jp_client_status refuse_without_id(struct text body, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers without an id: %.*s",
                     TEXT_ARGS(text_cut(body, 500)));
}

/* What was asked tells how an answer is read, also one that looks usual. */
static bool is_usual(const struct jp_client *client, struct text message, struct usual_answer *usual,
                     struct pending **request)
{
  uint64_t id;
  *request = NULL;
  if (answer_read_usual(message, usual) && read_id(usual->id, &id))
    *request = pending_table_find(&client->pending, id);
  return *request != NULL && (*request)->form == ANSWER_ENVELOPE;
}

static enum jp_client_status take_usual(struct jp_client *client, const struct usual_answer *usual,
                                        struct pending *found, struct jp_client_error *error)
{
  struct pending request = *found;
  pending_table_remove(&client->pending, found);
  struct jp_answer *answer = client_take_answer(client);
  enum jp_client_status status = answer == NULL
                                     ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                                     : answer_fill_usual(answer, usual, error);
  return status == JP_CLIENT_OK ? end_filled(client, &request, answer)
                                : end_unfilled(client, &request, answer, status, error);
}

/* Ends one request with what the message says of it. */
static enum jp_client_status end_with_answer(struct jp_client *client, const struct pending *request,
                                             const struct answer_message *message,
                                             struct jp_client_error *error)
{
  struct jp_answer *answer = client_take_answer(client);
  enum jp_client_status status =
      answer == NULL ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                     : answer_fill_json(answer, message, request->form, &client->refs.refs, error);
  return status == JP_CLIENT_OK ? end_filled(client, request, answer)
                                : end_unfilled(client, request, answer, status, error);
}

/* What the peer refuses as a whole, as a batch of too many requests, it answers without an id, and in its
 * turn: it is the message that was sent first of those without an answer. */
static enum jp_client_status take_error_without_id(struct jp_client *client,
                                                   const struct answer_message *message,
                                                   struct jp_client_error *error)
{
  const struct pending *oldest = pending_table_find_oldest(&client->pending);
  if (!message->is_error || oldest == NULL)
    return refuse_without_id(message->body.span, error);
  const uint64_t first_id = oldest->first_id;
  enum jp_client_status status = JP_CLIENT_OK;
  for (uint64_t id = oldest->id; status == JP_CLIENT_OK; id++) {
    struct pending *found = pending_table_find(&client->pending, id);
    if (found == NULL || found->first_id != first_id)
      break;
    struct pending request = *found;
    pending_table_remove(&client->pending, found);
    status = end_with_answer(client, &request, message, error);
  }
  return status;
}

static enum jp_client_status take_json(struct answer_reader *reader, const struct answer_message *message,
                                       struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_reader *)reader)->client;
  struct pending request;
  bool is_taken;
  if (message->id.data == NULL)
    return take_error_without_id(client, message, error);
  enum jp_client_status status = take_request(client, message->id, &request, &is_taken, error);
  return status != JP_CLIENT_OK || !is_taken ? status : end_with_answer(client, &request, message, error);
}

static enum jp_client_status take_binary(struct jp_client *client, struct text message,
                                         struct jp_client_error *error)
{
  struct pending request;
  struct text id;
  bool is_taken;
  enum jp_client_status status = answer_find_binary_id(message, &id, error);
  if (status == JP_CLIENT_OK && id.data == NULL)
    return refuse_without_id(TEXT("a reply to no message"), error);
  if (status == JP_CLIENT_OK)
    status = take_request(client, id, &request, &is_taken, error);
  if (status != JP_CLIENT_OK || !is_taken)
    return status;
  struct jp_answer *answer = client_take_answer(client);
  status = answer == NULL ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                          : answer_fill_binary(answer, message, &client->refs.refs, error);
  return status == JP_CLIENT_OK ? end_filled(client, &request, answer)
                                : end_unfilled(client, &request, answer, status, error);
}

/* Of a peer that may speak at any time; another one only answers. */
static enum jp_client_status take_call(struct answer_reader *reader, struct json_value message,
                                       struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_reader *)reader)->client;
  if (client->url_kind->has_callbacks)
    return callback_take_message(client, message, error);
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer asks something of the client: %.*s",
                     TEXT_ARGS(text_cut(message.span, 500)));
}

static enum jp_client_status take_message(struct transport_listener *listener, struct text message,
                                          struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_listener *)listener)->client;
  struct usual_answer usual;
  struct pending *request;
  if (client->options.binary)
    return take_binary(client, message, error);
  if (is_usual(client, message, &usual, &request))
    return take_usual(client, &usual, request, error);
  return answers_read_json(message, &client->reader.reader, error);
}

static void take_epoch(struct transport_listener *listener, struct text epoch)
{
  struct jp_client *client = ((struct client_listener *)listener)->client;
  uint64_t number = ref_epoch_parse(epoch);
  if (number != EPOCH_UNKNOWN)
    ref_table_enter_epoch(&client->refs, number);
}

void client_init_readers(struct jp_client *client)
{
  client->listener =
      (struct client_listener){.listener = {.message = take_message, .epoch = take_epoch}, .client = client};
  client->reader =
      (struct client_reader){.reader = {.answer = take_json, .request = take_call}, .client = client};
}
