/*
 * The requests in flight. Each is written after the queued releases, kept in a table by its id, and ended by
 * the message that answers it, by its deadline or by the end of the connection. The caller either waits
 * (jp_client_call and chains, by client_exchange) or gets its completion called (jp_client_send).
 */
#include "base/capabilities.h"
#include "base/clock.h"
#include "client/client_state.h"
#include "client/messages/answer_binary.h"
#include "client/messages/request_binary.h"
#include "client/messages/request_json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NS_IN_MS = 1000000 };
enum { FIRST_CAPACITY = 128 };
/* The free answers keep small buffers, and a few large ones: a program that reads pages needs them again at once. */
enum { FREE_ANSWERS_MAX = 1024, SMALL_BYTES_MAX = 64 * 1024, LARGE_BYTES_MAX = 2 * 1024 * 1024 };
enum { RELEASES_A_MESSAGE = 1000, RELEASES_MAX = 10000 };
enum { ID_SIZE = 24 };  /* the digits of 64 bits */
enum { TRIES_MAX = 8 }; /* of one message, to one peer after the other */

/* ---- the table of requests ---- */

static size_t home_of(const struct pending_table *table, uint64_t id)
{
  return (size_t)id & (table->capacity - 1);
}

static size_t next_place(const struct pending_table *table, size_t place)
{
  return (place + 1) & (table->capacity - 1);
}

static void insert_request(struct pending_table *table, const struct pending_request *request)
{
  size_t home = home_of(table, request->id);
  size_t place = home;
  while (table->places[place].id != 0)
    place = next_place(table, place);
  table->places[place] = *request;
  table->displaced += place != home;
}

static bool grow_table(struct pending_table *table)
{
  struct pending_table larger = {.capacity = table->capacity * 2, .count = table->count};
  larger.places = calloc(larger.capacity, sizeof *larger.places);
  if (larger.places == NULL)
    return false;
  for (size_t i = 0; i < table->capacity; i++) {
    if (table->places[i].id != 0)
      insert_request(&larger, &table->places[i]);
  }
  free(table->places);
  *table = larger;
  return true;
}

static bool add_request(struct pending_table *table, const struct pending_request *request)
{
  if (table->count >= table->capacity / 2 && !grow_table(table))
    return false;
  insert_request(table, request);
  table->count++;
  return true;
}

static struct pending_request *find_request(const struct pending_table *table, uint64_t id)
{
  for (size_t place = home_of(table, id); table->places[place].id != 0; place = next_place(table, place)) {
    if (table->places[place].id == id)
      return &table->places[place];
  }
  return NULL;
}

static struct pending_request *find_oldest_request(const struct pending_table *table)
{
  struct pending_request *oldest = NULL;
  for (size_t i = 0; i < table->capacity; i++) {
    struct pending_request *request = &table->places[i];
    if (request->id != 0 && (oldest == NULL || request->id < oldest->id))
      oldest = request;
  }
  return oldest;
}

/* Moves the entries after the hole closer to their own places, so that no search stops at the hole. */
static size_t close_hole(struct pending_table *table, size_t hole)
{
  for (size_t at = next_place(table, hole); table->places[at].id != 0; at = next_place(table, at)) {
    size_t home = home_of(table, table->places[at].id);
    size_t from_home = (at - home) & (table->capacity - 1);
    size_t from_hole = (at - hole) & (table->capacity - 1);
    if (from_home < from_hole)
      continue;
    table->places[hole] = table->places[at];
    table->displaced -= hole == home;
    hole = at;
  }
  return hole;
}

static void remove_request(struct pending_table *table, struct pending_request *request)
{
  size_t hole = (size_t)(request - table->places);
  table->displaced -= hole != home_of(table, request->id);
  if (table->displaced > 0)
    hole = close_hole(table, hole);
  table->places[hole].id = 0;
  table->count--;
}

/* ---- the queue of completions ---- */

static struct completion *completion_at(const struct completion_queue *queue, size_t number)
{
  return &queue->ring[(queue->first + number) & (queue->capacity - 1)];
}

static bool reserve_completions(struct completion_queue *queue, size_t count)
{
  if (count <= queue->capacity)
    return true;
  size_t capacity = queue->capacity == 0 ? FIRST_CAPACITY : queue->capacity;
  while (capacity < count)
    capacity *= 2;
  struct completion *ring = calloc(capacity, sizeof *ring);
  if (ring == NULL)
    return false;
  for (size_t i = 0; i < queue->count; i++)
    ring[i] = *completion_at(queue, i);
  free(queue->ring);
  *queue = (struct completion_queue){.ring = ring, .capacity = capacity, .count = queue->count};
  return true;
}

/* ---- answers ---- */

static size_t count_large_bytes(const struct jp_answer *answer)
{
  return answer->bytes.cap > SMALL_BYTES_MAX ? answer->bytes.cap : 0;
}

/* Called by jp_answer_free with the cleared answer: keeps it for later use, or destroys it. */
static void recycle_answer(void *owner, struct jp_answer *answer)
{
  struct jp_client *client = owner;
  if (fork_guard_is_child(&client->fork_guard))
    return;
  const size_t large = count_large_bytes(answer);
  client_lock(client);
  bool is_kept = client->free_count < FREE_ANSWERS_MAX && client->free_bytes + large <= LARGE_BYTES_MAX;
  if (is_kept) {
    answer->next = client->free_answers;
    client->free_answers = answer;
    client->free_count++;
    client->free_bytes += large;
  }
  if (!is_kept)
    answer_destroy(answer); /* it has no handles */
  client_leave(client);
}

struct jp_answer *client_acquire_answer(struct jp_client *client)
{
  struct jp_answer *answer = client->free_answers;
  if (answer != NULL) {
    client->free_answers = answer->next;
    client->free_count--;
    client->free_bytes -= count_large_bytes(answer);
  } else {
    answer = answer_create();
  }
  if (answer != NULL) {
    answer->recycle = recycle_answer;
    answer->owner = client;
    answer->next = NULL;
  }
  return answer;
}

/* ---- errors of the peer ---- */

/* Writes the names that the peer suggests in an error's data: ": did you mean a, b or c?"; "" if there are
 * none. */
static void write_suggestions(struct jp_json suggestions, char *out, size_t size)
{
  enum { ENTRIES_MAX = 8 }; /* a peer sends three */
  struct jp_json_cursor cursor = jp_json_enter(suggestions);
  struct jp_json entry;
  size_t length = 0;
  out[0] = '\0';
  bool has_next = jp_json_next(&cursor, NULL, &entry);
  for (size_t i = 0; has_next && i < ENTRIES_MAX; i++) {
    char name[100];
    size_t name_length = jp_json_string(entry, name, sizeof name);
    has_next = jp_json_next(&cursor, NULL, &entry);
    if (name_length >= sizeof name) /* the suggestion is not a string, or too long */
      continue;
    int written = snprintf(out + length, size - length, "%s%s",
                           length == 0 ? ": did you mean "
                           : has_next  ? ", "
                                       : " or ",
                           name);
    if (written < 0 || (size_t)written >= size - length)
      break;
    length += (size_t)written;
  }
  if (length > 0)
    snprintf(out + length, size - length, "?");
}

static enum jp_client_status status_of_error(const struct jp_answer *answer)
{
  char reason[8];
  static const char stale[] = "stale";
  size_t length = jp_json_string(jp_json_member(jp_answer_json(answer), "reason"), reason, sizeof reason);
  return length == sizeof stale - 1 && memcmp(reason, stale, length) == 0 ? JP_CLIENT_STALE
                                                                          : JP_CLIENT_REMOTE;
}

/* Under the lock, or by the answer's owner. */
static void describe_lack(struct jp_client *client, struct jp_answer *answer)
{
  if (answer->lacking == NULL)
    return;
  struct text text =
      atomic_load(&client->has_version)
          ? arena_printf(&answer->arena, "the peer %s has no %s; upgrade it", client->peer_version,
                         answer->lacking)
          : arena_printf(&answer->arena, "the peer has no %s; upgrade it, or run it without --compat pal",
                         answer->lacking);
  answer->lack = text.data;
}

enum jp_client_status client_report_remote(const struct jp_answer *answer, struct jp_client_error *error)
{
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  const char *what = throwable->type != NULL ? throwable->type : jp_answer_error_message(answer);
  char near[400];
  if (jp_answer_lack(answer) != NULL)
    return client_fail(error, JP_CLIENT_REMOTE, "%s", jp_answer_lack(answer));
  write_suggestions(jp_json_member(jp_answer_json(answer), "suggestions"), near, sizeof near);
  if (what[0] == '\0')
    what = "an error without a message";
  return client_fail(error, status_of_error(answer), "%s%s%s%s", what, throwable->message != NULL ? ": " : "",
                     throwable->message != NULL ? throwable->message : "", near);
}

/* ---- ending requests ---- */

static void answer_waiter(struct jp_client *client, const struct pending_request *request,
                          enum jp_client_status status, struct jp_answer *answer,
                          const struct jp_client_error *error)
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

static void queue_completion(struct jp_client *client, const struct pending_request *request,
                             enum jp_client_status status, struct jp_answer *answer)
{
  struct completion_queue *queue = &client->completed;
  assert(queue->count < queue->capacity); /* jp_client_send has reserved the entry */
  *completion_at(queue, queue->count) = (struct completion){.function = request->as.completed.function,
                                                            .context = request->as.completed.context,
                                                            .status = status,
                                                            .answer = answer};
  queue->count++;
  client->completions_pending--;
  if (client->processors == 0)
    client_wake_loop(client);
}

static bool read_session(const struct jp_answer *answer, struct jp_json *session)
{
  enum { DEPTH = 8 };
  return jp_answer_kind(answer) == JP_ANSWER_STRING &&
         jp_json_parse(jp_answer_text(answer), DEPTH, session, NULL) == JP_JSONRPC_OK;
}

/* Under the lock. */
static void learn_peer(struct jp_client *client, struct jp_json session)
{
  int64_t number;
  if (!atomic_load(&client->has_version)) {
    char version[sizeof client->peer_version];
    size_t length = jp_json_string(jp_json_member(session, "version"), version, sizeof version);
    if (length > 0 && length < sizeof version) {
      text_escape((struct text){version, length}, "", "", client->peer_version, sizeof client->peer_version);
      atomic_store(&client->has_version, true);
    }
  }
  if (jp_json_integer(jp_json_member(session, "client"), &number) && number > 0)
    callbacks_learn_number(client, (uint64_t)number);
}

/* answer NULL: the connection ended. */
static void accept_introduction(struct jp_client *client, const struct jp_answer *answer)
{
  struct jp_json session = {0};
  if (read_session(answer, &session))
    learn_peer(client, session);
  else if (answer != NULL)
    callbacks_refuse(client);
}

static void drop_answer(struct jp_client *client, struct jp_answer *answer)
{
  if (answer == NULL)
    return;
  answer->next = client->dropped;
  client->dropped = answer;
}

static void end_request(struct jp_client *client, const struct pending_request *request,
                        enum jp_client_status status, struct jp_answer *answer,
                        const struct jp_client_error *error)
{
  if (answer != NULL)
    client->holders++;
  switch (request->kind) {
  case PENDING_WAITED:
    answer_waiter(client, request, status, answer, error);
    break;
  case PENDING_COMPLETED:
    queue_completion(client, request, status, answer);
    break;
  case PENDING_INTRODUCTION:
    accept_introduction(client, answer);
    drop_answer(client, answer);
    break;
  case PENDING_ABANDONED:
    drop_answer(client, answer);
    break;
  }
}

/* With a directory the errors say which requests were sent, because the program may send the others again. */
__attribute__((cold, noinline)) void client_end_requests(struct jp_client *client,
                                                         const struct jp_client_error *why)
{
  struct pending_table *table = &client->pending;
  struct jp_client_error sent = *why;
  struct jp_client_error unsent = *why;
  if (client->directory != NULL) {
    client_fail(&sent, why->status, "%s; the request was sent, and may have run", why->text);
    client_fail(&unsent, client_is_closed(client) ? why->status : JP_CLIENT_UNSENT,
                "%s; the request was not sent", why->text);
  }
  for (size_t i = 0; i < table->capacity; i++) {
    const struct pending_request *request = &table->places[i];
    bool is_unsent = client->directory != NULL && client->kind->waiting != NULL &&
                     request->begins_at >= client->output_sent;
    const struct jp_client_error *reason = is_unsent ? &unsent : &sent;
    if (request->id != 0)
      end_request(client, request, reason->status, NULL, reason);
  }
  memset(table->places, 0, table->capacity * sizeof *table->places);
  table->count = 0;
  table->displaced = 0;
}

/* Ends the request with its answer, or with the error of reading the answer. If the error is lack of memory,
 * the connection is not closed. */
static enum jp_client_status end_with_status(struct jp_client *client, const struct pending_request *request,
                                             struct jp_answer *answer, enum jp_client_status status,
                                             struct jp_client_error *error)
{
  const struct pending_request nobody = {.kind = PENDING_ABANDONED};
  if (status == JP_CLIENT_OK) {
    describe_lack(client, answer);
    end_request(client, request, answer->kind == JP_ANSWER_ERROR ? status_of_error(answer) : JP_CLIENT_OK,
                answer, NULL);
    return JP_CLIENT_OK;
  }
  if (answer != NULL)
    end_request(client, &nobody, status, answer, error);
  end_request(client, request, status, NULL, error);
  return status == JP_CLIENT_NO_MEMORY ? JP_CLIENT_OK : status;
}

/* ---- received messages ---- */

/* Fails because the peer's message belongs to no request. */
static enum jp_client_status refuse_without_id(struct text body, struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers without an id: %.*s",
                     TEXT_ARGS(text_cut(body, 500)));
}

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

/* Removes the answered request from the table. *is_found is false if it was answered before: the second
 * answer is ignored. JP_CLIENT_PROTOCOL: no request with this id was ever sent. */
static enum jp_client_status remove_answered(struct jp_client *client, struct text id_text,
                                             struct pending_request *request, bool *is_found,
                                             struct jp_client_error *error)
{
  uint64_t id;
  *is_found = false;
  if (!read_id(id_text, &id) || id == 0 || id > client->last_id)
    return client_fail(error, JP_CLIENT_PROTOCOL, "the peer answers a request that was never sent: %.*s",
                       TEXT_ARGS(text_cut(id_text, 100)));
  struct pending_request *found = find_request(&client->pending, id);
  if (found == NULL)
    return JP_CLIENT_OK;
  *request = *found;
  *is_found = true;
  remove_request(&client->pending, found);
  return JP_CLIENT_OK;
}

/* True if the message can be read as a usual answer of its request. The form of an answer depends on the
 * request, so an answer that looks usual may still need to be read in another form. */
static bool is_usual(const struct jp_client *client, struct text message, struct usual_answer *usual,
                     struct pending_request **request)
{
  uint64_t id;
  *request = NULL;
  if (answer_read_usual(message, usual) && read_id(usual->id, &id))
    *request = find_request(&client->pending, id);
  return *request != NULL && (*request)->form == ANSWER_ENVELOPE;
}

static enum jp_client_status accept_usual(struct jp_client *client, const struct usual_answer *usual,
                                          struct pending_request *found, struct jp_client_error *error)
{
  struct pending_request request = *found;
  remove_request(&client->pending, found);
  struct jp_answer *answer = client_acquire_answer(client);
  enum jp_client_status status = answer == NULL
                                     ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                                     : answer_fill_usual(answer, usual, error);
  return end_with_status(client, &request, answer, status, error);
}

/* Ends one request with the result or error in the message. */
static enum jp_client_status end_with_answer(struct jp_client *client, const struct pending_request *request,
                                             const struct answer_message *message,
                                             struct jp_client_error *error)
{
  struct jp_answer *answer = client_acquire_answer(client);
  enum jp_client_status status =
      answer == NULL ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                     : answer_fill_json(answer, message, request->form, &client->refs.refs, error);
  return end_with_status(client, request, answer, status, error);
}

/* If the peer refuses a whole message, such as a batch with too many requests, its error has no id. The error
 * comes in order, so it belongs to the oldest message without an answer. */
static enum jp_client_status accept_error_without_id(struct jp_client *client,
                                                     const struct answer_message *message,
                                                     struct jp_client_error *error)
{
  const struct pending_request *oldest = find_oldest_request(&client->pending);
  if (!message->is_error || oldest == NULL)
    return refuse_without_id(message->body.span, error);
  const uint64_t first_id = oldest->first_id;
  enum jp_client_status status = JP_CLIENT_OK;
  for (uint64_t id = oldest->id; status == JP_CLIENT_OK; id++) {
    struct pending_request *found = find_request(&client->pending, id);
    if (found == NULL || found->first_id != first_id)
      break;
    struct pending_request request = *found;
    remove_request(&client->pending, found);
    status = end_with_answer(client, &request, message, error);
  }
  return status;
}

static enum jp_client_status accept_json(struct answer_reader *reader, const struct answer_message *message,
                                         struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_reader *)reader)->client;
  struct pending_request request;
  bool is_found;
  if (message->id.data == NULL)
    return accept_error_without_id(client, message, error);
  enum jp_client_status status = remove_answered(client, message->id, &request, &is_found, error);
  return status != JP_CLIENT_OK || !is_found ? status : end_with_answer(client, &request, message, error);
}

static enum jp_client_status accept_binary(struct jp_client *client, struct text message,
                                           struct jp_client_error *error)
{
  struct pending_request request;
  struct text id;
  bool is_found;
  enum jp_client_status status = answer_find_binary_id(message, &id, error);
  if (status == JP_CLIENT_OK && id.data == NULL)
    return refuse_without_id(TEXT("a reply to no message"), error);
  if (status == JP_CLIENT_OK)
    status = remove_answered(client, id, &request, &is_found, error);
  if (status != JP_CLIENT_OK || !is_found)
    return status;
  struct jp_answer *answer = client_acquire_answer(client);
  status = answer == NULL ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for an answer")
                          : answer_fill_binary(answer, message, &client->refs.refs, error);
  return end_with_status(client, &request, answer, status, error);
}

/* Only a peer with callbacks may send requests. */
static enum jp_client_status accept_call(struct answer_reader *reader, struct json_value message,
                                         struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_reader *)reader)->client;
  if (client->url_kind->has_callbacks)
    return callback_accept_message(client, message, error);
  return client_fail(error, JP_CLIENT_PROTOCOL, "the peer sends an unknown request: %.*s",
                     TEXT_ARGS(text_cut(message.span, 500)));
}

static enum jp_client_status accept_message(struct transport_listener *listener, struct text message,
                                            struct jp_client_error *error)
{
  struct jp_client *client = ((struct client_listener *)listener)->client;
  struct usual_answer usual;
  struct pending_request *request;
  if (client->options.binary)
    return accept_binary(client, message, error);
  if (is_usual(client, message, &usual, &request))
    return accept_usual(client, &usual, request, error);
  return answers_read_json(message, &client->reader.reader, error);
}

static void accept_epoch(struct transport_listener *listener, struct text epoch)
{
  struct jp_client *client = ((struct client_listener *)listener)->client;
  uint64_t number = ref_epoch_parse(epoch);
  if (number != EPOCH_UNKNOWN)
    ref_table_enter_epoch(&client->refs, number);
}

/* ---- requests in the form of the connection ---- */

static struct text write_id(uint64_t id, char digits[ID_SIZE])
{
  char *at = digits + ID_SIZE;
  size_t length = 0;
  for (; id > 0; id /= 10, length++)
    *--at = (char)('0' + id % 10);
  return (struct text){length == 0 ? NULL : at, length};
}

struct text client_name_in_messages(const struct jp_client *client)
{
  return client->url_kind->names_in_messages && client->session_owner != SESSION_OF_CONNECTION
             ? client->options.peer_id
             : TEXT_ABSENT;
}

bool client_names_epoch_in_messages(const struct jp_client *client)
{
  return client->url_kind->names_in_messages && ref_table_epoch(&client->refs) != EPOCH_UNKNOWN;
}

static struct message_binary binary_form(struct jp_client *client, struct text id)
{
  arena_reset(&client->binary_arena);
  return (struct message_binary){
      .session = client->session_owner == SESSION_OF_CONNECTION ? NULL : client->session.bytes,
      .id = id,
      .arena = &client->binary_arena,
      .scratch = &client->binary_scratch};
}

static enum jp_client_status append_request_within(struct jp_client *client, const struct jp_request *request,
                                                   uint64_t id, struct text within, struct buffer *out,
                                                   struct jp_client_error *error)
{
  char digits[ID_SIZE];
  struct text id_text = write_id(id, digits);
  if (!client->options.binary) {
    struct message_json how = {.id = id_text,
                               .peer_id = client_name_in_messages(client),
                               .within = within,
                               .callbacks = callbacks_begin_message(client),
                               .refs = &client->named,
                               .has_epoch = client_names_epoch_in_messages(client)};
    size_t start = out->len;
    enum jp_client_status status = message_write_json(request, &how, out, error);
    size_t max = client->request_max;
    if (status == JP_CLIENT_OK && max > 0 && out->len - start > max)
      status = client_fail(error, JP_CLIENT_TOO_LONG,
                           "the request has %zu bytes, and the peer accepts at most %zu (message-max)",
                           out->len - start, max);
    return status;
  }
  if (id == 0)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "binary messages have no notifications");
  struct message_binary how = binary_form(client, id_text);
  return message_write_binary(request, &how, out, error);
}

/* Appends the request. If the thread is inside a callback, the request is nested in that callback. */
static enum jp_client_status append_request(struct jp_client *client, const struct jp_request *request,
                                            uint64_t id, struct buffer *out, struct jp_client_error *error)
{
  return append_request_within(client, request, id, callback_within(client), out, error);
}

/* ---- releases ---- */

static void write_releases(struct jp_client *client, const struct message_release *releases, size_t count,
                           struct text within)
{
  struct buffer *out = client_begin_message(client);
  if (client->options.binary) {
    char digits[ID_SIZE];
    const uint64_t id = client->last_id + 1;
    const struct pending_request nobody = {.id = id, .first_id = id, .kind = PENDING_ABANDONED};
    struct message_binary how = binary_form(client, write_id(nobody.id, digits));
    message_write_release_binary(releases, count, &how, out);
    if (!out->failed && add_request(&client->pending, &nobody))
      client->last_id = nobody.id;
    else
      out->failed = true;
  } else {
    client->named.are_named = true;
    message_write_release_json(
        releases, count, client_name_in_messages(client), within,
        client_names_epoch_in_messages(client) ? ref_table_epoch(&client->refs) : EPOCH_UNKNOWN, out);
  }
  if (out->failed) /* memory is short: the refs remain in the peer until the session ends */
    client->kind->discard(client->transport);
  else
    client_end_message(client, client->options.binary);
}

/* A binary release cannot say how many sent references it releases, and an answer in flight may send the
 * object again. */
static bool may_release(const struct jp_client *client)
{
  return client->refs.releases > 0 && (!client->options.binary || client->pending.count == 0);
}

void client_write_releases(struct jp_client *client, struct text within)
{
  if (!may_release(client))
    return;
  struct message_release releases[RELEASES_A_MESSAGE];
  size_t count = ref_table_pop_releases(&client->refs, releases, RELEASES_A_MESSAGE);
  if (count > 0)
    write_releases(client, releases, count, within);
}

static void send_all_releases(struct jp_client *client)
{
  while (may_release(client))
    client_write_releases(client, callback_within(client));
  client_flush(client);
}

void client_write_overdue_releases(struct jp_client *client)
{
  if (client->refs.releases >= RELEASES_MAX && client_is_open(client) && may_release(client))
    send_all_releases(client);
}

bool jp_client_flush(struct jp_client *client)
{
  if (fork_guard_is_child(&client->fork_guard))
    return true;
  client_lock(client);
  bool is_idle = client_is_open(client) && client->pending.count == 0;
  if (is_idle)
    send_all_releases(client);
  bool has_left = !is_idle || !client_is_open(client) || !client->kind->wants_to_write(client->transport);
  client_unlock(client);
  return has_left;
}

void client_write_all_releases(struct jp_client *client)
{
  struct message_release releases[RELEASES_A_MESSAGE];
  size_t from = 0;
  size_t count;
  while ((count = ref_table_pop_sent_counts(&client->refs, &from, releases, RELEASES_A_MESSAGE)) > 0)
    write_releases(client, releases, count, TEXT_ABSENT);
}

/* ---- tokens ---- */

/* Reads the token for a request. Fails if the deadline passes during the read, because the request is then
 * not sent. */
static enum jp_client_status ask_in_time(struct jp_client *client, int64_t deadline_ns, char **token,
                                         struct jp_client_error *error)
{
  if (client_credentials_are_asked(&client->credentials))
    return client_fail(error, JP_CLIENT_NO_TOKEN,
                       "a token function cannot use the client that asks for the token");
  enum jp_client_status status = client_ask_for_token(client, token, error);
  if (status != JP_CLIENT_OK || deadline_ns == INT64_MAX || clock_now_ns() < deadline_ns)
    return status;
  client_drop_token(*token);
  return client_fail(error, JP_CLIENT_TIMEOUT, "there was no token in time; the request was not sent");
}

/* Called without the lock, because the token may come from a function of the program. */
static inline enum jp_client_status begin_request(struct jp_client *client, int64_t deadline_ns, char **token,
                                                  struct jp_client_error *error)
{
  *token = NULL;
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK || atomic_load_explicit(&client->keeps_token, memory_order_relaxed))
    return status;
  return ask_in_time(client, deadline_ns, token, error);
}

/* Takes the token. */
static inline enum jp_client_status connect_with_token(struct jp_client *client, int64_t deadline_ns,
                                                       char *token, struct jp_client_error *error)
{
  enum jp_client_status status = client_connect(client, deadline_ns, error);
  if (token == NULL && client->token == NULL)
    return status;
  if (status == JP_CLIENT_OK)
    return client_use_token(client, token, error);
  client_drop_token(token);
  return status;
}

/* ---- messages that a thread waits for ---- */

static enum jp_client_status check_pending(const struct jp_client *client, size_t count,
                                           struct jp_client_error *error)
{
  if (client->pending.count + count <= client->pending_max)
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_LIMIT,
                     "%zu requests have no answer: %zu more would pass pending_max, %zu",
                     client->pending.count, count, client->pending_max);
}

static enum jp_client_status note_requests(struct jp_client *client, const struct exchange *exchange,
                                           uint64_t first_id, struct waiter *waiter,
                                           struct jp_client_error *error)
{
  for (size_t i = 0; i < exchange->count; i++) {
    const struct pending_request request = {.id = first_id + i,
                                            .first_id = first_id,
                                            .begins_at = client->message_begins_at,
                                            .kind = PENDING_WAITED,
                                            .form = exchange->forms[i],
                                            .as = {.waited = {.waiter = waiter, .index = i}}};
    if (add_request(&client->pending, &request))
      continue;
    while (i > 0)
      remove_request(&client->pending, find_request(&client->pending, first_id + --i));
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  }
  client->last_id += exchange->count;
  return JP_CLIENT_OK;
}

/* Writes the message and adds its requests to the table. */
static enum jp_client_status send_message(struct exchange *exchange, struct waiter *waiter,
                                          uint64_t *first_id, struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  enum jp_client_status status = check_pending(client, exchange->count, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_write_releases(client, callback_within(client));
  *first_id = client->last_id + 1;
  struct buffer *out = client_begin_message(client);
  status = exchange->write(exchange, *first_id, out, error);
  exchange->names_refs = client->named.are_named;
  exchange->was_written = true;
  if (status == JP_CLIENT_OK && out->failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status == JP_CLIENT_OK)
    status = note_requests(client, exchange, *first_id, waiter, error);
  if (status == JP_CLIENT_OK) {
    client_end_message(client, exchange->count > 0);
    callbacks_end_message(client, waiter);
  } else {
    client->kind->discard(client->transport);
  }
  client_flush(client);
  return status;
}

/* Over HTTP a request can be cancelled only by ending its connection; the next call opens another connection.
 * If later messages were sent on the connection, the connection is kept, because these messages would be
 * lost. */
static void end_connection_to_cancel(struct jp_client *client)
{
  struct jp_client_error why;
  if (!client->kind->may_end_to_cancel(client->transport))
    return;
  client_fail(&why, JP_CLIENT_CLOSED, "the request was cancelled by the end of its connection");
  client_break_connection(client, &why);
}

/* Asks the peer by a notification to end an unanswered request. Does not wait until the socket accepts the whole
 * notification. Over transports that answer requests in order nothing is sent, because the peer would read it too late.
 * Cancelling a request ends its whole message. Inside a callback the notification is not nested, because the peer serves
 * nested messages one after the other: it would read the cancel after the request that is to be ended. */
static void send_cancel(struct jp_client *client, uint64_t id)
{
  char digits[ID_SIZE];
  struct buffer json;
  if (client_is_open(client) && client->kind->may_end_to_cancel != NULL)
    end_connection_to_cancel(client);
  if (!client->kind->obeys_cancel || client->options.binary)
    return;
  const struct text number = write_id(id, digits);
  buffer_init(&json);
  buffer_printf(&json, "{\"name\":\"id\",\"value\":%.*s}", TEXT_ARGS(number));
  const struct jp_argument argument = jp_json_argument((struct jp_text){json.data, json.len});
  struct jp_request request = jp_make_request(JP_CONTROL, NULL, "cancel");
  request.args = &argument;
  request.arg_count = 1;
  struct buffer *out = client_begin_message(client);
  if (!json.failed && append_request_within(client, &request, 0, TEXT_ABSENT, out, NULL) == JP_CLIENT_OK &&
      !out->failed) {
    client_end_message(client, false);
    callbacks_end_message(client, NULL);
  } else {
    client->kind->discard(client->transport);
  }
  client_flush(client);
  buffer_fini(&json);
}

/* Late answers are consumed, and their objects released. */
static void abandon_requests(struct jp_client *client, uint64_t first_id, size_t count)
{
  uint64_t unanswered = 0;
  for (size_t i = 0; i < count; i++) {
    struct pending_request *request = find_request(&client->pending, first_id + i);
    if (request == NULL)
      continue;
    request->kind = PENDING_ABANDONED;
    unanswered = request->id;
  }
  if (unanswered != 0)
    send_cancel(client, unanswered);
}

/* token: as client_ask_for_token gives it; takes it. */
__attribute__((always_inline)) static inline enum jp_client_status
run_exchange(struct exchange *exchange, int timeout_ms, int64_t deadline_ns, char *token,
             struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  struct waiter waiter = {.left = exchange->count,
                          .answers = exchange->answers,
                          .error = error,
                          .runs_calls = true,
                          .thread = pthread_self()};
  uint64_t first_id = 0;
  exchange->was_written = false;
  enum jp_client_status status = connect_with_token(client, deadline_ns, token, error);
  if (status != JP_CLIENT_OK)
    return client_say_unsent(client, status, error);
  status = send_message(exchange, &waiter, &first_id, error);
  if (status != JP_CLIENT_OK)
    return status;
  callback_add_requester(client, &waiter);
  enum wait_end end = client_wait(client, &waiter, deadline_ns);
  callback_remove_requester(client, &waiter);
  callbacks_end_wait(client, &waiter);
  if (end == WAIT_OVER)
    return waiter.status;
  abandon_requests(client, first_id, exchange->count);
  const char *fate = client->directory == NULL ? "" : "; the request was sent, and may still run";
  if (end == WAIT_INTERRUPTED)
    return client_fail(error, JP_CLIENT_INTERRUPTED, "the wait was interrupted%s", fate);
  return client_fail(error, JP_CLIENT_TIMEOUT, "no answer in %d ms%s", timeout_ms, fate);
}

/* With its own options, or with those of its text. A struct of another size was refused when the request was written. */
static bool is_idempotent(const struct exchange *exchange)
{
  const struct jp_options *options = exchange->options;
  return exchange->is_idempotent ||
         (options != NULL && options->size >= sizeof *options && options->idempotent);
}

/* A request of a callback: Java's call has ended with the connection. */
static bool is_nested(const struct exchange *exchange)
{
  const struct jp_options *options = exchange->options;
  return callback_within(exchange->client).data != NULL ||
         (options != NULL && options->size >= sizeof *options && options->within != NULL &&
          options->within[0] != '\0');
}

/* True if the message, which has failed, may be written to the next connection. One that names objects may not, because
 * the next peer does not have them. */
__attribute__((cold, noinline)) static bool may_repeat(const struct exchange *exchange,
                                                       enum jp_client_status status, int64_t deadline_ns)
{
  const struct jp_client *client = exchange->client;
  bool is_allowed = (status == JP_CLIENT_UNSENT && exchange->was_written && exchange->may_be_rewritten) ||
                    ((status == JP_CLIENT_CLOSED || status == JP_CLIENT_PROTOCOL) && is_idempotent(exchange));
  return client->directory != NULL && is_allowed && !exchange->names_refs && !client->options.binary &&
         !client_is_closed(client) && !is_nested(exchange) &&
         (deadline_ns == INT64_MAX || clock_now_ns() < deadline_ns);
}

enum jp_client_status client_exchange(struct exchange *exchange, int timeout_ms,
                                      struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  for (size_t i = 0; i < exchange->count; i++)
    exchange->answers[i] = NULL;
  int64_t deadline_ns = client_deadline(timeout_ms);
  char *token;
  enum jp_client_status status = begin_request(client, deadline_ns, &token, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  for (int tries = 1;; tries++) {
    status = run_exchange(exchange, timeout_ms, deadline_ns, token, error);
    if (status == JP_CLIENT_OK || tries == TRIES_MAX || !may_repeat(exchange, status, deadline_ns))
      break;
    token = NULL; /* of the messages of WebSocket, which alone are repeated, none has a token */
  }
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

/* ---- one call ---- */

struct request_call {
  struct exchange exchange; /* first: the exchange is cast back to this struct */
  const struct jp_request *request;
};

static enum jp_client_status write_call(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                        struct jp_client_error *error)
{
  const struct request_call *call = (const struct request_call *)exchange;
  return append_request(exchange->client, call->request, first_id, out, error);
}

enum jp_client_status jp_client_call(struct jp_client *client, const struct jp_request *request,
                                     int timeout_ms, struct jp_answer **answer, struct jp_client_error *error)
{
  const enum answer_form form = answer_form_of(request);
  struct request_call call = {.exchange = {.write = write_call,
                                           .client = client,
                                           .forms = &form,
                                           .count = 1,
                                           .options = request->options,
                                           .may_be_rewritten = true,
                                           .answers = answer},
                              .request = request};
  enum jp_client_status status = client_exchange(&call.exchange, timeout_ms, error);
  if (status != JP_CLIENT_OK || jp_answer_kind(*answer) != JP_ANSWER_ERROR)
    return status;
  client_name_lack(client, *answer);
  return client_report_remote(*answer, error);
}

/* ---- notifications ---- */

static enum jp_client_status write_notification(struct jp_client *client, const struct jp_request *request,
                                                struct jp_client_error *error)
{
  client_write_releases(client, callback_within(client));
  struct buffer *out = client_begin_message(client);
  enum jp_client_status status = append_request(client, request, 0, out, error);
  if (status == JP_CLIENT_OK && out->failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status == JP_CLIENT_OK) {
    client_end_message(client, false);
    callbacks_end_message(client, NULL);
  } else {
    client->kind->discard(client->transport);
  }
  client_flush(client);
  return status != JP_CLIENT_OK ? status : client_report_end(client, error);
}

enum jp_client_status jp_client_notify(struct jp_client *client, const struct jp_request *request,
                                       struct jp_client_error *error)
{
  char *token;
  enum jp_client_status status = begin_request(client, INT64_MAX, &token, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  status = client_say_unsent(client, connect_with_token(client, INT64_MAX, token, error), error);
  if (status == JP_CLIENT_OK)
    status = write_notification(client, request, error);
  if (status == JP_CLIENT_OK)
    status = client_await_output(client, INT64_MAX, error);
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

/* ---- pinned threads ---- */

static enum jp_client_status call_control(struct jp_client *client, const struct jp_request *request,
                                          int timeout_ms, struct jp_client_error *error)
{
  struct jp_answer *answer = NULL;
  enum jp_client_status status = jp_client_call(client, request, timeout_ms, &answer, error);
  jp_answer_free(answer);
  return status;
}

enum jp_client_status jp_client_pin(struct jp_client *client, const char *name, int timeout_ms,
                                    struct jp_client_error *error)
{
  struct jp_request request = jp_make_request(JP_CONTROL, NULL, "pin_thread");
  if (name == NULL)
    return call_control(client, &request, timeout_ms, error);
  if (text_valid_utf8(text_of(name)) < strlen(name))
    return client_fail(error, JP_CLIENT_INVALID, "the name of a thread is not UTF-8");
  struct buffer json;
  buffer_init(&json);
  message_write_control_text(TEXT("name"), text_of(name), &json);
  const struct jp_argument argument = jp_json_argument((struct jp_text){json.data, json.len});
  request.args = &argument;
  request.arg_count = 1;
  enum jp_client_status status = json.failed
                                     ? client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request")
                                     : call_control(client, &request, timeout_ms, error);
  buffer_fini(&json);
  return status;
}

enum jp_client_status jp_client_unpin(struct jp_client *client, int timeout_ms, struct jp_client_error *error)
{
  const struct jp_request request = jp_make_request(JP_CONTROL, NULL, "unpin_thread");
  return timeout_ms == 0 ? jp_client_notify(client, &request, error)
                         : call_control(client, &request, timeout_ms, error);
}

/* ---- requests with a completion ---- */

static enum jp_client_status send_request(struct jp_client *client, const struct jp_request *request,
                                          struct pending_request *pending, struct jp_client_error *error)
{
  enum jp_client_status status = check_pending(client, 1, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (!reserve_completions(&client->completed, client->completed.count + client->completions_pending + 1))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  client_write_releases(client, callback_within(client));
  pending->id = client->last_id + 1;
  pending->first_id = pending->id;
  struct buffer *out = client_begin_message(client);
  pending->begins_at = client->message_begins_at;
  status = append_request(client, request, pending->id, out, error);
  if (status == JP_CLIENT_OK && (out->failed || !add_request(&client->pending, pending)))
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status != JP_CLIENT_OK) {
    client->kind->discard(client->transport);
    return status;
  }
  client->last_id = pending->id;
  client->completions_pending++;
  client_end_message(client, true);
  callbacks_end_message(client, NULL);
  return JP_CLIENT_OK;
}

/* The coarse clock is late by at most one tick of 10 ms. Reading the precise clock costs a tenth of the
 * library's time for a pipelined call. */
static int64_t coarse_deadline(int timeout_ms)
{
  enum { TICK_MS = 10 };
  return timeout_ms < 0 ? INT64_MAX : (clock_coarse_ms() + TICK_MS + timeout_ms) * NS_IN_MS;
}

enum jp_client_status jp_client_send(struct jp_client *client, const struct jp_request *request,
                                     int timeout_ms, jp_client_completion *completion, void *context,
                                     struct jp_client_error *error)
{
  int64_t deadline_ns = coarse_deadline(timeout_ms);
  char *token;
  enum jp_client_status status = begin_request(client, deadline_ns, &token, error);
  if (status != JP_CLIENT_OK)
    return status;
  struct pending_request pending = {
      .kind = PENDING_COMPLETED,
      .form = answer_form_of(request),
      .as = {.completed = {.function = completion, .context = context, .deadline_ns = deadline_ns}}};
  client_lock(client);
  client->holders++;
  status = client_say_unsent(client, connect_with_token(client, deadline_ns, token, error), error);
  if (status == JP_CLIENT_OK)
    status = send_request(client, request, &pending, error);
  if (status == JP_CLIENT_OK) {
    if (deadline_ns < client->loop.timer_ns)
      client_set_timer(client, deadline_ns);
    if (!client_is_processing(client) || ++client->unflushed == client->kind->flushed_after)
      client_flush(client);
  }
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

bool jp_client_cancel(struct jp_client *client, jp_client_completion *completion, const void *context)
{
  struct pending_table *table = &client->pending;
  uint64_t id = 0;
  if (client_check_process(client, NULL) != JP_CLIENT_OK)
    return false;
  client_lock(client);
  client->holders++;
  for (size_t i = 0; i < table->capacity && id == 0; i++) {
    const struct pending_request *request = &table->places[i];
    if (request->id != 0 && request->kind == PENDING_COMPLETED &&
        request->as.completed.function == completion && request->as.completed.context == context)
      id = request->id;
  }
  if (id != 0)
    send_cancel(client, id);
  client_leave(client);
  return id != 0;
}

/* Visits all requests. The larger the table, the later the timer is set (1 ms for 8,192 entries), so that
 * visiting its entries costs little. */
void client_end_overdue(struct jp_client *client, int64_t now_ns)
{
  enum { PLACES_A_MS = 8192 };
  struct pending_table *table = &client->pending;
  struct jp_client_error late;
  int64_t next_ns = INT64_MAX;
  client_fail(&late, JP_CLIENT_TIMEOUT, "no answer in time");
  for (size_t i = 0; i < table->capacity; i++) {
    struct pending_request *request = &table->places[i];
    if (request->id == 0 || request->kind != PENDING_COMPLETED)
      continue;
    int64_t deadline_ns = request->as.completed.deadline_ns;
    if (deadline_ns > now_ns) {
      next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
      continue;
    }
    end_request(client, request, JP_CLIENT_TIMEOUT, NULL, &late);
    request->kind = PENDING_ABANDONED;
    send_cancel(client, request->id);
  }
  int64_t soonest_ns = now_ns + (int64_t)(table->capacity / PLACES_A_MS) * NS_IN_MS;
  client_set_timer(client, next_ns > soonest_ns ? next_ns : soonest_ns);
}

void client_call_completions(struct jp_client *client)
{
  struct completion_queue *queue = &client->completed;
  while (queue->count > 0) {
    const struct completion completion = queue->ring[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    client_unlock(client);
    completion.function(completion.context, completion.status, completion.answer);
    client_lock(client);
  }
}

/* ---- init and fini ---- */

bool client_requests_init(struct jp_client *client)
{
  client->listener = (struct client_listener){.listener = {.message = accept_message, .epoch = accept_epoch},
                                              .client = client};
  client->reader =
      (struct client_reader){.reader = {.answer = accept_json, .request = accept_call}, .client = client};
  client->pending = (struct pending_table){.places = calloc(FIRST_CAPACITY, sizeof(struct pending_request)),
                                           .capacity = FIRST_CAPACITY};
  return client->pending.places != NULL;
}

void client_requests_fini(struct jp_client *client)
{
  for (struct jp_answer *answer = client->free_answers; answer != NULL;) {
    struct jp_answer *next = answer->next;
    answer_destroy(answer);
    answer = next;
  }
  free(client->pending.places);
  free(client->completed.ring);
}

/* ---- the process ---- */

void client_introduce(struct jp_client *client, const char *process)
{
  struct buffer json;
  buffer_init(&json);
  message_write_control_text(TEXT("process"), text_of(process), &json);
  const struct jp_argument argument = jp_json_argument((struct jp_text){json.data, json.len});
  struct jp_request request = jp_make_request(JP_CONTROL, NULL, "session");
  request.args = &argument;
  request.arg_count = 1;
  const uint64_t id = client->last_id + 1;
  const struct pending_request pending = {
      .id = id, .first_id = id, .kind = PENDING_INTRODUCTION, .form = answer_form_of(&request)};
  struct buffer *out = client_begin_message(client);
  bool is_written = !json.failed && append_request(client, &request, id, out, NULL) == JP_CLIENT_OK &&
                    !out->failed && add_request(&client->pending, &pending);
  buffer_fini(&json);
  if (is_written) {
    client->last_id = id;
    client_end_message(client, true);
  } else {
    client->kind->discard(client->transport);
    callbacks_refuse(client);
  }
}

/* ---- the peer's limits ---- */

static bool read_limit(struct jp_json session, const char *name, size_t *limit)
{
  int64_t number;
  if (!jp_json_integer(jp_json_member(session, name), &number) || number < 1)
    return false;
  *limit = (size_t)number;
  return true;
}

/* True if the peer has said what its session is. */
static bool ask_session(struct jp_client *client, int timeout_ms, struct jp_json *session,
                        struct jp_answer **answer)
{
  const struct jp_request request = jp_make_request(JP_CONTROL, NULL, "session");
  *answer = NULL;
  return jp_client_call(client, &request, timeout_ms, answer, NULL) == JP_CLIENT_OK &&
         read_session(*answer, session);
}

void client_name_lack(struct jp_client *client, struct jp_answer *answer)
{
  enum { ASK_MS = 1000 };
  struct jp_answer *described = NULL;
  struct jp_json session;
  if (answer == NULL || answer->lacking == NULL)
    return;
  if (!atomic_load(&client->has_version) && strcmp(answer->lacking, "session") != 0 &&
      ask_session(client, ASK_MS, &session, &described)) {
    client_lock(client);
    learn_peer(client, session);
    client_unlock(client);
  }
  jp_answer_free(described);
  describe_lack(client, answer);
}

const char *jp_client_peer_version(struct jp_client *client)
{
  return atomic_load(&client->has_version) ? client->peer_version : "";
}

/* A later version of the peer that no longer serves this library says so by the number of its protocol. */
static enum jp_client_status check_protocol(struct jp_json session, struct jp_client_error *error)
{
  int64_t protocol;
  char version[32];
  if (!jp_json_integer(jp_json_member(session, "protocol"), &protocol) || protocol <= CAPABILITIES_PROTOCOL)
    return JP_CLIENT_OK;
  size_t length = jp_json_string(jp_json_member(session, "version"), version, sizeof version);
  return client_fail(
      error, JP_CLIENT_UNSUPPORTED,
      "the peer %.*s speaks version %lld of the protocol, and this client version %d; upgrade the client",
      (int)(length < sizeof version ? length : 0), version, (long long)protocol, CAPABILITIES_PROTOCOL);
}

enum jp_client_status jp_client_learn_limits(struct jp_client *client, int timeout_ms,
                                             struct jp_peer_limits *limits, struct jp_client_error *error)
{
  const struct jp_request request = jp_make_request(JP_CONTROL, NULL, "session");
  struct jp_answer *answer = NULL;
  struct jp_json session = {0};
  enum jp_client_status status = jp_client_call(client, &request, timeout_ms, &answer, error);
  if (status == JP_CLIENT_OK &&
      (!read_session(answer, &session) || !read_limit(session, "message_max", &limits->message_max) ||
       !read_limit(session, "values_max", &limits->values_max)))
    status = client_fail(error, JP_CLIENT_UNSUPPORTED, "the peer does not report its limits");
  if (status == JP_CLIENT_OK)
    status = check_protocol(session, error);
  if (status == JP_CLIENT_OK) {
    client->request_max = limits->message_max;
    client_lock(client);
    learn_peer(client, session);
    client_unlock(client);
  }
  jp_answer_free(answer);
  return status;
}
