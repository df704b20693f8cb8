/* Calls that a thread waits for, and what is written before each message. */
#include "client/client_state.h"

#include <stdio.h>

enum { RELEASES_A_MESSAGE = 1000, RELEASES_MAX = 10000 };
enum { ID_SIZE = 24 }; /* the digits of 64 bits */

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
  return client->url_kind->names_in_messages && client->peer_id[0] != '\0' ? client->options.peer_id
                                                                           : TEXT_ABSENT;
}

bool client_tells_epoch_in_messages(const struct jp_client *client)
{
  return client->url_kind->names_in_messages && ref_table_epoch(&client->refs) != EPOCH_UNKNOWN;
}

static struct message_binary binary_form(struct jp_client *client, struct text id)
{
  arena_reset(&client->binary_arena);
  return (struct message_binary){.session = client->peer_id[0] == '\0' ? NULL : client->session.bytes,
                                 .id = id,
                                 .arena = &client->binary_arena,
                                 .scratch = &client->binary_scratch};
}

enum jp_client_status client_write_request(struct jp_client *client, const struct jp_request *request,
                                           uint64_t id, struct buffer *out, struct jp_client_error *error)
{
  char digits[ID_SIZE];
  struct text id_text = write_id(id, digits);
  if (!client->options.binary) {
    struct message_json how = {.id = id_text,
                               .peer_id = client_name_in_messages(client),
                               .within = callback_within(client),
                               .callbacks = callbacks_begin_message(client),
                               .refs = &client->named,
                               .has_epoch = client_tells_epoch_in_messages(client)};
    return message_write_json(request, &how, out, error);
  }
  if (id == 0)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "binary messages have no notifications");
  struct message_binary how = binary_form(client, id_text);
  return message_write_binary(request, &how, out, error);
}

/* ---- releases ---- */

static void write_releases(struct jp_client *client, const struct message_release *releases, size_t count,
                           struct text within)
{
  struct buffer *out = client_begin_message(client);
  if (client->options.binary) {
    char digits[ID_SIZE];
    const uint64_t id = client->last_id + 1;
    const struct pending nobody = {.id = id, .first_id = id, .kind = PENDING_ABANDONED};
    struct message_binary how = binary_form(client, write_id(nobody.id, digits));
    message_write_release_binary(releases, count, &how, out);
    if (!out->failed && pending_table_add(&client->pending, &nobody))
      client->last_id = nobody.id;
    else
      out->failed = true;
  } else {
    client->named.are_named = true;
    message_write_release_json(
        releases, count, client_name_in_messages(client), within,
        client_tells_epoch_in_messages(client) ? ref_table_epoch(&client->refs) : EPOCH_UNKNOWN, out);
  }
  if (out->failed) /* these stay in the peer until the session ends: memory is short */
    client->kind->take_back(client->transport);
  else
    client_end_message(client, client->options.binary);
}

/* Binary messages cannot say how many tellings they mean: an answer that is on its way may tell of the
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
  size_t count = ref_table_take_releases(&client->refs, releases, RELEASES_A_MESSAGE);
  if (count > 0)
    write_releases(client, releases, count, within);
}

static bool is_open(const struct jp_client *client)
{
  return client->transport != NULL && client->ended.status == JP_CLIENT_OK;
}

static void send_all_releases(struct jp_client *client)
{
  while (may_release(client))
    client_write_releases(client, callback_within(client));
  client_flush(client);
}

void client_write_overdue_releases(struct jp_client *client)
{
  if (client->refs.releases >= RELEASES_MAX && is_open(client) && may_release(client))
    send_all_releases(client);
}

bool jp_client_flush(struct jp_client *client)
{
  if (fork_guard_is_child(&client->fork_guard))
    return true;
  client_lock(client);
  bool is_idle = is_open(client) && client->pending.count == 0;
  if (is_idle)
    send_all_releases(client);
  bool has_left = !is_idle || !is_open(client) || !client->kind->wants_to_write(client->transport);
  client_unlock(client);
  return has_left;
}

void client_write_all_tellings(struct jp_client *client)
{
  struct message_release releases[RELEASES_A_MESSAGE];
  size_t from = 0;
  size_t count;
  while ((count = ref_table_take_tellings(&client->refs, &from, releases, RELEASES_A_MESSAGE)) > 0)
    write_releases(client, releases, count, TEXT_ABSENT);
}

/* ---- exchanges ---- */

enum jp_client_status client_check_pending(const struct jp_client *client, size_t count,
                                           struct jp_client_error *error)
{
  if (client->pending.count + count <= client->pending_max)
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_LIMIT,
                     "%zu requests have no answer: %zu more would pass pending_max, %zu",
                     client->pending.count, count, client->pending_max);
}

static void forget_requests(struct jp_client *client, uint64_t first_id, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct pending *request = pending_table_find(&client->pending, first_id + i);
    if (request != NULL)
      pending_table_remove(&client->pending, request);
  }
}

static enum jp_client_status note_requests(struct jp_client *client, const struct exchange *exchange,
                                           uint64_t first_id, struct waiter *waiter,
                                           struct jp_client_error *error)
{
  for (size_t i = 0; i < exchange->count; i++) {
    const struct pending request = {.id = first_id + i,
                                    .first_id = first_id,
                                    .kind = PENDING_WAITED,
                                    .form = exchange->forms[i],
                                    .as = {.waited = {.waiter = waiter, .index = i}}};
    if (pending_table_add(&client->pending, &request))
      continue;
    forget_requests(client, first_id, i);
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  }
  client->last_id += exchange->count;
  return JP_CLIENT_OK;
}

/* Writes the message and notes whom its answers are for. */
static enum jp_client_status send_message(struct exchange *exchange, struct waiter *waiter,
                                          uint64_t *first_id, struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  enum jp_client_status status = client_check_pending(client, exchange->count, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_write_releases(client, callback_within(client));
  *first_id = client->last_id + 1;
  struct buffer *out = client_begin_message(client);
  status = exchange->write(exchange, *first_id, out, error);
  if (status == JP_CLIENT_OK && out->failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status == JP_CLIENT_OK)
    status = note_requests(client, exchange, *first_id, waiter, error);
  if (status == JP_CLIENT_OK) {
    client_end_message(client, exchange->count > 0);
    callbacks_end_message(client, waiter);
  } else {
    client->kind->take_back(client->transport);
  }
  client_flush(client);
  return status;
}

/* Late answers are taken, and their objects let go of. */
static void abandon_requests(struct jp_client *client, uint64_t first_id, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct pending *request = pending_table_find(&client->pending, first_id + i);
    if (request != NULL)
      request->kind = PENDING_ABANDONED;
  }
}

static enum jp_client_status run_exchange(struct exchange *exchange, int timeout_ms,
                                          struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  struct waiter waiter = {.left = exchange->count,
                          .answers = exchange->answers,
                          .error = error,
                          .runs_calls = true,
                          .thread = pthread_self()};
  int64_t deadline_ns = client_deadline(timeout_ms);
  uint64_t first_id = 0;
  enum jp_client_status status = client_connect(client, deadline_ns, error);
  if (status == JP_CLIENT_OK)
    status = send_message(exchange, &waiter, &first_id, error);
  if (status != JP_CLIENT_OK)
    return status;
  callback_begin_asking(client, &waiter);
  bool is_over = client_wait(client, &waiter, deadline_ns);
  callback_end_asking(client, &waiter);
  callbacks_end_wait(client, &waiter);
  if (is_over)
    return waiter.status;
  abandon_requests(client, first_id, exchange->count);
  if (waiter.was_interrupted)
    return client_fail(error, JP_CLIENT_INTERRUPTED, "the wait was interrupted");
  return client_fail(error, JP_CLIENT_TIMEOUT, "no answer in %d ms", timeout_ms);
}

enum jp_client_status client_exchange(struct exchange *exchange, int timeout_ms,
                                      struct jp_client_error *error)
{
  struct jp_client *client = exchange->client;
  for (size_t i = 0; i < exchange->count; i++)
    exchange->answers[i] = NULL;
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  status = run_exchange(exchange, timeout_ms, error);
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}

/* ---- one call ---- */

struct call {
  struct exchange exchange; /* first: an exchange is its call */
  const struct jp_request *request;
};

static enum jp_client_status write_call(struct exchange *exchange, uint64_t first_id, struct buffer *out,
                                        struct jp_client_error *error)
{
  const struct call *call = (const struct call *)exchange;
  return client_write_request(exchange->client, call->request, first_id, out, error);
}

/* The names that the peer suggests in an error's data: ": did you mean a, b or c?"; "" where it suggests none. */
static void write_suggestions(struct jp_json suggestions, char *out, size_t size)
{
  enum { ENTRIES_MAX = 8 }; /* a peer gives three */
  struct jp_json_cursor cursor = jp_json_enter(suggestions);
  struct jp_json entry;
  size_t length = 0;
  out[0] = '\0';
  bool has_next = jp_json_next(&cursor, NULL, &entry);
  for (size_t i = 0; has_next && i < ENTRIES_MAX; i++) {
    char name[100];
    size_t name_length = jp_json_string(entry, name, sizeof name);
    has_next = jp_json_next(&cursor, NULL, &entry);
    if (name_length >= sizeof name) /* no string, or no name that helps */
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

enum jp_client_status client_status_of_error(const struct jp_answer *answer)
{
  char reason[8];
  static const char stale[] = "stale";
  size_t length = jp_json_string(jp_json_member(jp_answer_json(answer), "reason"), reason, sizeof reason);
  return length == sizeof stale - 1 && memcmp(reason, stale, length) == 0 ? JP_CLIENT_STALE
                                                                          : JP_CLIENT_REMOTE;
}

enum jp_client_status client_report_remote(const struct jp_answer *answer, struct jp_client_error *error)
{
  const struct jp_throwable *throwable = jp_answer_throwable(answer);
  const char *what = throwable->type != NULL ? throwable->type : jp_answer_error_message(answer);
  char near[400];
  write_suggestions(jp_json_member(jp_answer_json(answer), "suggestions"), near, sizeof near);
  if (what[0] == '\0')
    what = "an error without a message";
  return client_fail(error, client_status_of_error(answer), "%s%s%s%s", what,
                     throwable->message != NULL ? ": " : "",
                     throwable->message != NULL ? throwable->message : "", near);
}

enum jp_client_status jp_client_call(struct jp_client *client, const struct jp_request *request,
                                     int timeout_ms, struct jp_answer **answer, struct jp_client_error *error)
{
  const enum answer_form form = answer_form_of(request);
  struct call call = {
      .exchange = {.write = write_call, .client = client, .forms = &form, .count = 1, .answers = answer},
      .request = request};
  enum jp_client_status status = client_exchange(&call.exchange, timeout_ms, error);
  if (status == JP_CLIENT_OK && jp_answer_kind(*answer) == JP_ANSWER_ERROR)
    return client_report_remote(*answer, error);
  return status;
}

/* ---- notifications ---- */

static enum jp_client_status write_notification(struct jp_client *client, const struct jp_request *request,
                                                struct jp_client_error *error)
{
  client_write_releases(client, callback_within(client));
  struct buffer *out = client_begin_message(client);
  enum jp_client_status status = client_write_request(client, request, 0, out, error);
  if (status == JP_CLIENT_OK && out->failed)
    status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a request");
  if (status == JP_CLIENT_OK) {
    client_end_message(client, false);
    callbacks_end_message(client, NULL);
  } else {
    client->kind->take_back(client->transport);
  }
  client_flush(client);
  return status != JP_CLIENT_OK ? status : client_report_end(client, error);
}

enum jp_client_status jp_client_notify(struct jp_client *client, const struct jp_request *request,
                                       struct jp_client_error *error)
{
  enum jp_client_status status = client_check_process(client, error);
  if (status != JP_CLIENT_OK)
    return status;
  client_lock(client);
  client->holders++;
  status = client_connect(client, INT64_MAX, error);
  if (status == JP_CLIENT_OK)
    status = write_notification(client, request, error);
  if (status == JP_CLIENT_OK)
    status = client_await_room(client, INT64_MAX, error);
  callbacks_report_ended(client);
  client_leave(client);
  return status;
}
