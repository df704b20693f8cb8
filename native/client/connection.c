/* The connection of a client: opened, written to and read from, and ended; and opened again. */
#include "base/clock.h"
#include "client/client_state.h"

#include <errno.h>

/* Between two tries to reach a dead peer. */
static const int64_t FIRST_PAUSE_NS = 100 * 1000000LL;
static const int64_t LONGEST_PAUSE_NS = 5 * 1000000000LL;

enum jp_client_status client_report_end(const struct jp_client *client, struct jp_client_error *error)
{
  if (client->ended.status != JP_CLIENT_OK && error != NULL)
    *error = client->ended;
  return client->ended.status;
}

/* ---- opening ---- */

static void note_failure(struct jp_client *client)
{
  int64_t pause = client->pause_ns == 0 ? FIRST_PAUSE_NS : client->pause_ns * 2;
  client->pause_ns = pause < LONGEST_PAUSE_NS ? pause : LONGEST_PAUSE_NS;
  client->retry_ns = clock_now_ns() + client->pause_ns;
}

/* A call whose time is shorter than that of connecting does not wait longer for the connection. */
static int opening_timeout(const struct jp_client *client, int64_t deadline_ns)
{
  enum { NS_IN_MS = 1000000 };
  int64_t left_ms = deadline_ns == INT64_MAX ? INT64_MAX : (deadline_ns - clock_now_ns()) / NS_IN_MS;
  if (left_ms >= client->options.timeout_ms)
    return client->options.timeout_ms;
  return left_ms > 0 ? (int)left_ms : 0;
}

static enum jp_client_status open_connection(struct jp_client *client, int64_t deadline_ns,
                                             struct jp_client_error *error)
{
  struct client_transport *transport = NULL;
  struct transport_options options = client->options;
  struct jp_client_error why;
  options.timeout_ms = opening_timeout(client, deadline_ns);
  client->is_opening = true;
  client_unlock(client);
  enum jp_client_status status = client->url_kind->open(&client->url, &options, &transport, &why);
  client_lock(client);
  client->is_opening = false;
  pthread_cond_broadcast(&client->changed);
  if (status == JP_CLIENT_OK) {
    client->transport = transport;
    client->kind = transport->kind;
    client->ended.status = JP_CLIENT_OK;
    client->connection++;
    client->pause_ns = 0;
    if (!client->kind->epoch_is_in_answers)
      ref_table_enter_epoch(&client->refs, ref_epoch_parse(text_of(transport->epoch)));
    client_watch_connection(client);
    client_rest(client);
    return JP_CLIENT_OK;
  }
  client->ended = why;
  note_failure(client);
  return client_report_end(client, error);
}

/* Waits while another thread opens a connection, or still reads from the one that has ended. */
static enum jp_client_status await_change(struct jp_client *client, int64_t deadline_ns,
                                          struct jp_client_error *error)
{
  enum { NS_IN_S = 1000000000 };
  const struct timespec until = {.tv_sec = deadline_ns / NS_IN_S, .tv_nsec = deadline_ns % NS_IN_S};
  if (deadline_ns == INT64_MAX)
    pthread_cond_wait(&client->changed, &client->lock);
  else if (pthread_cond_clockwait(&client->changed, &client->lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT)
    return client_fail(error, JP_CLIENT_TIMEOUT, "there was no connection in time");
  return JP_CLIENT_OK;
}

/* A connection that the peer has closed while nobody used it shows when it is read. */
static void check_idle(struct jp_client *client)
{
  if (client_is_open(client) && client->kind->ends_when_idle && client->pending.count == 0 &&
      !client->is_polled)
    client_read(client);
}

enum jp_client_status client_connect(struct jp_client *client, int64_t deadline_ns,
                                     struct jp_client_error *error)
{
  check_idle(client);
  for (;;) {
    if (client->is_closed)
      return client_fail(error, JP_CLIENT_CLOSED, "the client was closed");
    if (client_is_open(client))
      return JP_CLIENT_OK;
    if (!client->is_opening && client->transport == NULL)
      break;
    enum jp_client_status status = await_change(client, deadline_ns, error);
    if (status != JP_CLIENT_OK)
      return status;
  }
  bool was_open = client->ended.status != JP_CLIENT_OK;
  if (was_open && (!client->reconnects || clock_now_ns() < client->retry_ns))
    return client_report_end(client, error);
  return open_connection(client, deadline_ns, error);
}

/* ---- ending ---- */

void client_close_transport(struct jp_client *client)
{
  client->kind->close(client->transport);
  client->transport = NULL;
  pthread_cond_broadcast(&client->changed);
}

void client_break(struct jp_client *client, const struct jp_client_error *why)
{
  if (client->ended.status != JP_CLIENT_OK)
    return;
  client->ended = *why;
  client_forget_connection(client);
  client_end_requests(client, why);
  callback_calls_end(client, false);
  callbacks_end_connection(client);
  client_give_room(client, why->status, why);
  client_wake_loop(client);
  if (client->is_polled)
    client_call_leader(client);
  else
    client_close_transport(client);
}

/* ---- reading and writing ---- */

struct message_refs client_message_refs(const struct jp_client *client)
{
  return (struct message_refs){.epoch = ref_table_epoch(&client->refs),
                               .may_adopt = client->url_kind->name_epoch != NULL};
}

struct buffer *client_begin_message(struct jp_client *client)
{
  client->named = client_message_refs(client);
  return client->kind->begin(client->transport);
}

void client_end_message(struct jp_client *client, bool is_answered)
{
  char digits[MESSAGE_EPOCH_LENGTH + 1];
  if (client->kind->name_epoch != NULL && client->named.are_named && client->named.epoch != EPOCH_UNKNOWN) {
    message_format_epoch(client->named.epoch, digits);
    client->kind->name_epoch(client->transport, text_of(digits));
  }
  client->kind->end(client->transport, is_answered);
}

bool client_polls_writing(const struct jp_client *client)
{
  return !client->kind->shows_room_as_input && client->kind->wants_to_write(client->transport);
}

bool client_has_input(const struct jp_client *client)
{
  return !client->is_looking && client->kind->has_input(client->transport);
}

void client_flush(struct jp_client *client)
{
  struct jp_client_error error;
  client->unflushed = 0;
  if (client->kind->flush(client->transport, &error) != JP_CLIENT_OK) {
    client_break(client, &error);
    return;
  }
  if (!client->kind->wants_to_write(client->transport))
    client_give_room(client, JP_CLIENT_OK, NULL);
  if (client->is_polled &&
      ((client_polls_writing(client) && !client->is_polled_to_write) || client_has_input(client)))
    client_call_leader(client);
  client_watch_connection(client);
}

void client_read(struct jp_client *client)
{
  struct jp_client_error error;
  if (client->kind->receive(client->transport, &client->listener.listener, &error) != JP_CLIENT_OK)
    client_break(client, &error);
  else if (client->kind->wants_to_write(client->transport))
    client_flush(client);
}
