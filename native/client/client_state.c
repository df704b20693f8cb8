/* A client: its holders, its connection, and how it is opened and closed. */
#include "client/client_state.h"
#include "base/clock.h"
#include "base/transitions.h"
#include "client/callback_group.h"
#include "client/client_open.h"
#include "client/client_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { NS_IN_MS = 1000000, END_SESSION_MS = 1000 };

/* The pause between two attempts to connect to a peer that does not answer. */
static const int64_t FIRST_PAUSE_NS = 100 * 1000000LL;
static const int64_t LONGEST_PAUSE_NS = 5 * 1000000000LL;

static const struct jp_client_config DEFAULTS = {
    .connect_timeout_ms = 10000, .message_max = (size_t)256 * 1024 * 1024, .pending_max = 65536};

int jp_client_library_version(void)
{
  return JP_CLIENT_VERSION_MAJOR * 1000 + JP_CLIENT_VERSION_MINOR;
}

int64_t client_deadline(int timeout_ms)
{
  return timeout_ms < 0 ? INT64_MAX : clock_now_ns() + (int64_t)timeout_ms * NS_IN_MS;
}

/* ---- the state of the connection ---- */

static const uint16_t client_transitions[] = {
    [CLIENT_UNCONNECTED] = TO(CLIENT_OPENING),
    [CLIENT_OPENING] = TO(CLIENT_OPEN) | TO(CLIENT_BROKEN) | TO(CLIENT_CLOSING_OPENING),
    [CLIENT_OPEN] = TO(CLIENT_BREAKING) | TO(CLIENT_CLOSING),
    [CLIENT_BREAKING] = TO(CLIENT_BROKEN) | TO(CLIENT_CLOSING),
    [CLIENT_BROKEN] = TO(CLIENT_OPENING) | TO(CLIENT_CLOSED),
    [CLIENT_CLOSING_OPENING] = TO(CLIENT_CLOSED),
    [CLIENT_CLOSING] = TO(CLIENT_CLOSED),
    [CLIENT_CLOSED] = 0,
};

static void set_client_state(struct jp_client *client, enum client_state to)
{
  assert(client_is_locked(client));
  ASSERT_TRANSITION(client_transitions, client->state, to);
  client->state = to;
}

/* ---- holders ---- */

/* Frees the client, to which no pointer exists any more. */
static void destroy_client(struct jp_client *client)
{
  assert(client->transport == NULL);
  client_loop_fini(&client->loop);
  if (client->wake_fd >= 0)
    close(client->wake_fd);
  ref_table_fini(&client->refs);
  client_requests_fini(client);
  callbacks_fini(client);
  arena_fini(&client->binary_arena);
  buffer_fini(&client->binary_scratch);
  fork_guard_fini(&client->fork_guard);
  client_drop_token(client->token);
  client_directory_destroy(client->directory);
  client_credentials_fini(&client->credentials);
  pthread_cond_destroy(&client->changed);
  pthread_mutex_destroy(&client->lock);
  free(client->url_text);
  free(client);
}

void client_lock(struct jp_client *client)
{
  pthread_mutex_lock(&client->lock);
}

void client_unlock(struct jp_client *client)
{
  struct jp_answer *dropped = client->dropped;
  client->dropped = NULL;
  bool is_last = client->holders == 0 && client->refs.held == 0;
  pthread_mutex_unlock(&client->lock);
  if (is_last)
    destroy_client(client);
  while (dropped != NULL) { /* each answer is a holder */
    struct jp_answer *next = dropped->next;
    jp_answer_free(dropped);
    dropped = next;
  }
}

void client_leave(struct jp_client *client)
{
  client->holders--;
  client_unlock(client);
}

enum jp_client_status client_check_process(const struct jp_client *client, struct jp_client_error *error)
{
  if (!fork_guard_is_child(&client->fork_guard))
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_CLOSED,
                     "the client was opened before fork(): it is the parent's, open another one");
}

/* ---- tokens of requests ---- */

void client_drop_token(char *token)
{
  if (token != NULL)
    explicit_bzero(token, strlen(token));
  free(token);
}

enum jp_client_status client_ask_for_token(struct jp_client *client, char **token,
                                           struct jp_client_error *error)
{
  char read[JP_TOKEN_SIZE];
  *token = NULL;
  enum jp_client_status status = client_credentials_read_token(&client->credentials, read, error);
  if (status == JP_CLIENT_OK) {
    *token = strdup(read);
    if (*token == NULL)
      status = client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a token");
  }
  explicit_bzero(read, sizeof read);
  return status;
}

enum jp_client_status client_use_token(struct jp_client *client, char *token, struct jp_client_error *error)
{
  if (token != NULL) {
    client_drop_token(client->token);
    client->token = token;
  }
  if (client->kind->use_token == NULL || client->token == NULL ||
      client->kind->use_token(client->transport, client->token))
    return JP_CLIENT_OK;
  return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a token");
}

/* ---- opening a connection ---- */

enum jp_client_status client_report_end(const struct jp_client *client, struct jp_client_error *error)
{
  if (client_is_open(client))
    return JP_CLIENT_OK;
  if (error != NULL)
    *error = client->ended;
  return client->ended.status;
}

/* A call waits for a connection no longer than its own timeout, even if the connect timeout is longer. */
static int opening_timeout(const struct jp_client *client, int64_t deadline_ns)
{
  int64_t left_ms = deadline_ns == INT64_MAX ? INT64_MAX : (deadline_ns - clock_now_ns()) / NS_IN_MS;
  if (left_ms >= client->options.timeout_ms)
    return client->options.timeout_ms;
  return left_ms > 0 ? (int)left_ms : 0;
}

static enum jp_client_status fail_closed(struct jp_client_error *error)
{
  return client_fail(error, JP_CLIENT_CLOSED, "the client was closed");
}

enum jp_client_status client_say_unsent(const struct jp_client *client, enum jp_client_status status,
                                        struct jp_client_error *error)
{
  bool is_ambiguous = status == JP_CLIENT_REFUSED || status == JP_CLIENT_TIMEOUT ||
                      status == JP_CLIENT_CLOSED || status == JP_CLIENT_PROTOCOL;
  if (client->directory == NULL || !is_ambiguous || client_is_closed(client))
    return status;
  if (error != NULL)
    client_fail(error, JP_CLIENT_UNSENT, "%s; the request was not sent", error->text);
  return JP_CLIENT_UNSENT;
}

/* Without the lock. */
static enum jp_client_status open_transport(struct jp_client *client, const struct transport_options *options,
                                            struct client_transport **transport,
                                            struct jp_client_error *error)
{
  if (client->directory == NULL)
    return client->url_kind->open(&client->url, options, transport, error);
  return client_directory_connect(client->directory, client->url_kind, options,
                                  client->connection == 0 ? DIRECTORY_FIRST : DIRECTORY_AGAIN, transport,
                                  error);
}

static void begin_epoch(struct jp_client *client)
{
  const uint64_t epoch = ref_epoch_parse(text_of(client->transport->epoch));
  ref_table_enter_epoch(&client->refs, epoch);
  if (epoch == EPOCH_UNKNOWN && client->directory != NULL && client_directory_has_moved(client->directory))
    ref_table_leave_peer(&client->refs);
}

static enum jp_client_status open_connection(struct jp_client *client, int64_t deadline_ns,
                                             struct jp_client_error *error)
{
  struct client_transport *transport = NULL;
  struct transport_options options = client->options;
  struct jp_client_error why;
  options.timeout_ms = opening_timeout(client, deadline_ns);
  set_client_state(client, CLIENT_OPENING);
  client_unlock(client);
  enum jp_client_status status = open_transport(client, &options, &transport, &why);
  client_lock(client);
  pthread_cond_broadcast(&client->changed);
  if (client->state == CLIENT_CLOSING_OPENING) {
    if (status == JP_CLIENT_OK)
      transport->kind->close(transport);
    if (client->directory != NULL)
      client_directory_disconnect(client->directory);
    set_client_state(client, CLIENT_CLOSED);
    return fail_closed(error);
  }
  if (status == JP_CLIENT_OK) {
    set_client_state(client, CLIENT_OPEN);
    client->transport = transport;
    client->kind = transport->kind;
    client->connection++;
    client->pause_ns = 0;
    callbacks_begin_connection(client);
    if (client->callbacks.group->name != NULL)
      client_introduce(client, client->callbacks.group->process);
    if (!client->kind->epoch_is_in_answers)
      begin_epoch(client);
    client_watch_connection(client);
    client_prepare_sleep(client);
    return JP_CLIENT_OK;
  }
  set_client_state(client, CLIENT_BROKEN);
  client->ended = why;
  int64_t pause_ns = client->pause_ns == 0 ? FIRST_PAUSE_NS : client->pause_ns * 2;
  client->pause_ns = pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS;
  client->retry_ns = clock_now_ns() + client->pause_ns;
  return client_report_end(client, error);
}

/* Waits while another thread opens a connection, or still reads from the ended connection. */
static enum jp_client_status await_change(struct jp_client *client, int64_t deadline_ns,
                                          struct jp_client_error *error)
{
  const struct timespec until = clock_timespec(deadline_ns);
  if (deadline_ns == INT64_MAX)
    pthread_cond_wait(&client->changed, &client->lock);
  else if (pthread_cond_timedwait(&client->changed, &client->lock, &until) == ETIMEDOUT)
    return client_fail(error, JP_CLIENT_TIMEOUT, "there was no connection in time");
  return JP_CLIENT_OK;
}

enum jp_client_status client_connect(struct jp_client *client, int64_t deadline_ns,
                                     struct jp_client_error *error)
{
  /* The peer may have closed the idle connection. Reading finds this out. */
  if (client->reads_when_idle && client_is_open(client) && client->pending.count == 0 &&
      !client_is_polled(client)) {
    client_read(client);
    bool is_refused = !client_is_open(client) && !client_is_closed(client) && client->directory == NULL &&
                      client->ended.status != JP_CLIENT_CLOSED;
    if (is_refused) /* the peer has refused a notification: the next call reports that */
      return client_report_end(client, error);
  }
  while (client->state == CLIENT_OPENING || client->state == CLIENT_BREAKING) {
    if (client_credentials_are_asked(&client->credentials)) /* this thread itself opens the connection */
      return client_fail(error, JP_CLIENT_NO_TOKEN,
                         "a token function cannot use the client that asks for the token");
    enum jp_client_status status = await_change(client, deadline_ns, error);
    if (status != JP_CLIENT_OK)
      return status;
  }
  if (client_is_open(client))
    return JP_CLIENT_OK;
  if (client_is_closed(client))
    return fail_closed(error);
  if (client->state == CLIENT_BROKEN && (!client->reconnects || clock_now_ns() < client->retry_ns))
    return client_report_end(client, error);
  return open_connection(client, deadline_ns, error);
}

/* ---- ending a connection ---- */

bool client_close_transport(struct jp_client *client)
{
  if (client->state != CLIENT_BREAKING && client->state != CLIENT_CLOSING)
    return false;
  client->kind->close(client->transport);
  client->transport = NULL;
  set_client_state(client, client->state == CLIENT_BREAKING ? CLIENT_BROKEN : CLIENT_CLOSED);
  pthread_cond_broadcast(&client->changed);
  return true;
}

/* Call while the connection is open. Ends everything that is pending, with the reason `why`. */
static void end_transport(struct jp_client *client, enum client_state to, const struct jp_client_error *why)
{
  set_client_state(client, to);
  client->ended = *why;
  if (client->directory != NULL)
    client_directory_disconnect(client->directory);
  client_forget_connection(client);
  client_end_requests(client, why);
  callback_calls_end(client, false);
  callbacks_end_connection(client);
  client_end_output_waits(client, why->status, why);
  client_wake_loop(client);
  if (client_is_polled(client))
    client_notify_leader(client);
  else
    (void)client_close_transport(client);
}

void client_break_connection(struct jp_client *client, const struct jp_client_error *why)
{
  if (client_is_open(client))
    end_transport(client, CLIENT_BREAKING, why);
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
  if (client->directory != NULL && client->kind->waiting != NULL)
    client->message_begins_at = client->output_sent + client->kind->waiting(client->transport);
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
  return !client_is_busy_polled(client) && client->kind->has_input(client->transport);
}

/* Notes that all requests may have been sent, unless no byte was. */
__attribute__((cold, noinline)) static enum jp_client_status flush_noting(struct jp_client *client,
                                                                          struct jp_client_error *error)
{
  const size_t waiting = client->kind->waiting == NULL ? 0 : client->kind->waiting(client->transport);
  enum jp_client_status status = client->kind->flush(client->transport, error);
  if (client->kind->waiting != NULL)
    client->output_sent += waiting - client->kind->waiting(client->transport);
  return status;
}

void client_flush(struct jp_client *client)
{
  struct jp_client_error error;
  client->unflushed = 0;
  enum jp_client_status status = client->directory == NULL ? client->kind->flush(client->transport, &error)
                                                           : flush_noting(client, &error);
  if (status != JP_CLIENT_OK) {
    client_break_connection(client, &error);
    return;
  }
  if (!client->kind->wants_to_write(client->transport))
    client_end_output_waits(client, JP_CLIENT_OK, NULL);
  if (client_is_polled(client) &&
      ((client_polls_writing(client) && client->leader_state != LEADER_POLLING_TO_WRITE) ||
       client_has_input(client)))
    client_notify_leader(client);
  client_watch_connection(client);
}

void client_read(struct jp_client *client)
{
  struct jp_client_error error;
  if (client->kind->receive(client->transport, &client->listener.listener, &error) != JP_CLIENT_OK) {
    if (client->token != NULL) /* the error may quote the answer of a proxy, which may quote the request with
                                * the token */
      client_credentials_hide_token(client->token, &error);
    client_break_connection(client, &error);
  } else if (client->kind->wants_to_write(client->transport)) {
    client_flush(client);
  }
}

/* ---- opening a client ---- */

enum jp_client_status client_copy_config(const struct jp_client_config *given,
                                         struct jp_client_config *config, struct jp_client_error *error)
{
  const size_t first_size = offsetof(struct jp_client_config, ca_file); /* the first version ended there */
  if (given->size < first_size)
    return client_fail(error, JP_CLIENT_INVALID, "size of jp_client_config is not set");
  if (given->size > sizeof *config)
    return client_fail(error, JP_CLIENT_UNSUPPORTED,
                       "jp_client_config is of a later version than the library");
  *config = (struct jp_client_config){0};
  memcpy(config, given, given->size);
  config->size = sizeof *config;
  return JP_CLIENT_OK;
}

static enum jp_client_status read_config(const struct jp_client_config *given,
                                         struct jp_client_config *config, struct jp_client_error *error)
{
  *config = DEFAULTS;
  if (given == NULL)
    return JP_CLIENT_OK;
  enum jp_client_status status = client_copy_config(given, config, error);
  if (status != JP_CLIENT_OK)
    return status;
  size_t process_length = given->process == NULL ? PROCESS_LENGTH_MIN : strlen(given->process);
  if (process_length < PROCESS_LENGTH_MIN || process_length > PROCESS_LENGTH_MAX ||
      (given->process != NULL && text_valid_utf8(text_of(given->process)) < process_length))
    return client_fail(error, JP_CLIENT_INVALID, "process is a text of %d to %d bytes of UTF-8",
                       (int)PROCESS_LENGTH_MIN, (int)PROCESS_LENGTH_MAX);
  if (given->connect_timeout_ms < 0)
    return client_fail(error, JP_CLIENT_INVALID, "connect_timeout_ms is negative");
  if (config->connect_timeout_ms == 0)
    config->connect_timeout_ms = DEFAULTS.connect_timeout_ms;
  if (config->message_max == 0)
    config->message_max = DEFAULTS.message_max;
  if (config->pending_max == 0)
    config->pending_max = DEFAULTS.pending_max;
  return JP_CLIENT_OK;
}

/* A session gets a name if the program gives a name, if the transport needs a name, or if the session
 * outlives a connection. */
static enum jp_client_status name_session(struct jp_client *client, const char *peer_id,
                                          struct jp_client_error *error)
{
  bool is_needed = client->url_kind->session_is_named || client->reconnects;
  if (peer_id == NULL && !is_needed)
    return JP_CLIENT_OK;
  if (peer_id == NULL)
    uuid_random(&client->session);
  else if (!uuid_parse(text_of(peer_id), &client->session))
    return client_fail(error, JP_CLIENT_INVALID, "peer_id is no UUID");
  client->session_owner = peer_id == NULL ? SESSION_OF_CLIENT : SESSION_OF_PROGRAM;
  uuid_format(&client->session, client->peer_id);
  client->options.peer_id = text_of(client->peer_id);
  return JP_CLIENT_OK;
}

/* Refuses credentials that would have no effect, because a program that gives a certificate or authorities
 * expects TLS. */
static enum jp_client_status check_credentials(struct jp_client *client,
                                               const struct jp_client_config *config,
                                               struct jp_client_error *error)
{
  const bool has_directory = client->url.endpoints.data != NULL; /* the peer's address is not known yet */
  const struct client_credentials *credentials = &client->credentials;
  enum jp_client_status status = client_credentials_init(&client->credentials, config, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (client_credentials_need_tls(credentials) && !client->url.is_secure && !has_directory)
    return client_fail(error, JP_CLIENT_INVALID, "%s: ca_file and cert_file are for wss: and https: URLs",
                       client->url_text);
  if (credentials->server_key != NULL && !client->url.may_have_curve)
    return client_fail(error, JP_CLIENT_INVALID, "%s: server_key is for tcp: URLs", client->url_text);
  if (!client->url_kind->has_fields &&
      (client_credentials_have_token(credentials) || credentials->fields.len > 0))
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "%s: there are no tokens and headers over ZeroMQ",
                       client->url_text);
  bool is_asked = client->url_kind->use_token != NULL && client_credentials_ask_for_token(credentials);
  atomic_store_explicit(&client->keeps_token, !is_asked, memory_order_relaxed);
  if (client->url_kind->use_token == NULL || credentials->token == NULL)
    return JP_CLIENT_OK;
  client->token = strdup(credentials->token);
  return client->token != NULL ? JP_CLIENT_OK
                               : client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a token");
}

static enum jp_client_status fill_client(struct jp_client *client, const char *url,
                                         const struct jp_client_config *config, struct jp_client_error *error)
{
  client->url_text = strdup(url);
  client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!client_requests_init(client) || client->url_text == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a client");
  if (client->wake_fd < 0)
    return client_fail(error, JP_CLIENT_LIMIT, "no eventfd: %s", strerror(errno));
  enum jp_client_status status = client_url_parse(client->url_text, &client->url, &client->url_kind, error);
  if (status != JP_CLIENT_OK)
    return status;
  if (!callbacks_enter_process(client,
                               client->url_kind->has_callbacks && !config->binary ? config->process : NULL))
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a client");
  if (config->binary && client->url.endpoints.data != NULL && client_url_binary_kind() != NULL) {
    client->url_kind = client_url_binary_kind();
    client->url.may_have_curve = true;
  }
  if (config->binary && !client->url_kind->has_binary)
    return client_fail(error, JP_CLIENT_UNSUPPORTED, "%s: this transport has no binary messages", url);
  status = check_credentials(client, config, error);
  if (status != JP_CLIENT_OK)
    return status;
  client->options = (struct transport_options){.timeout_ms = config->connect_timeout_ms,
                                               .message_max = config->message_max,
                                               .binary = config->binary,
                                               .credentials = &client->credentials};
  client->pending_max = config->pending_max;
  client->request_max = config->request_max;
  client->interrupted = config->interrupted;
  client->interrupted_context = config->interrupted_context;
  const bool has_directory = client->url.endpoints.data != NULL;
  client->reads_when_idle = client->url_kind->ends_when_idle || has_directory;
  client->reconnects = config->reconnects || client->reads_when_idle;
  status = name_session(client, config->peer_id, error);
  if (status == JP_CLIENT_OK && has_directory)
    status =
        client_directory_create(&client->url, config->directory, &client->session, &client->directory, error);
  return status;
}

static struct jp_client *create_client(void)
{
  struct jp_client *client = calloc(1, sizeof *client);
  if (client == NULL)
    return NULL;
  pthread_mutex_init(&client->lock, NULL);
  clock_init_condition(&client->changed);
  fork_guard_init(&client->fork_guard);
  client->holders = 1;
  client->wake_fd = -1;
  client_loop_init(&client->loop);
  ref_table_init(&client->refs, client);
  arena_init(&client->binary_arena);
  callbacks_init(client);
  return client;
}

enum jp_client_status jp_client_open(const char *url, const struct jp_client_config *config,
                                     struct jp_client **client, struct jp_client_error *error)
{
  return client_open(url, config, false, client, error);
}

enum jp_client_status client_open(const char *url, const struct jp_client_config *config,
                                  bool memory_is_optional, struct jp_client **client,
                                  struct jp_client_error *error)
{
  struct jp_client_config settings;
  *client = NULL;
  enum jp_client_status status = read_config(config, &settings, error);
  if (status != JP_CLIENT_OK)
    return status;
  struct jp_client *made = create_client();
  if (made == NULL)
    return client_fail(error, JP_CLIENT_NO_MEMORY, "no memory for a client");
  status = fill_client(made, url, &settings, error);
  made->options.memory_is_optional = memory_is_optional;
  client_lock(made);
  if (status == JP_CLIENT_OK)
    status = client_connect(made, INT64_MAX, error);
  if (status != JP_CLIENT_OK) {
    client_leave(made);
    return status;
  }
  client_unlock(made);
  *client = made;
  return JP_CLIENT_OK;
}

/* ---- closing a client ---- */

/* Deletes a session that nobody else can name. Of a session that the program named, releases the objects that
 * this client received. */
static void end_session(struct jp_client *client)
{
  client_lock(client);
  client->interrupted = NULL; /* the steps below have timeouts of their own */
  atomic_store_explicit(&client->keeps_token, true, memory_order_relaxed);
  callback_calls_end(client, true);
  bool has_objects = client->refs.capacity > 0 || client->pending.count > 0;
  bool leaves_objects = client_is_open(client) && has_objects;
  if (leaves_objects && client->session_owner == SESSION_OF_PROGRAM) {
    client_write_all_releases(client);
    client_flush(client);
    (void)!client_await_output(client, client_deadline(END_SESSION_MS),
                               NULL); /* on failure the session's TTL ends it */
  }
  client_unlock(client);
  if (!leaves_objects || client->session_owner != SESSION_OF_CLIENT)
    return;
  struct jp_request request = jp_build_delete_session();
  struct jp_answer *answer = NULL;
  (void)!jp_client_call(client, &request, END_SESSION_MS, &answer, NULL); /* on failure the TTL ends it */
  jp_answer_free(answer);
}

void client_leave_session(struct jp_client *client)
{
  (void)jp_client_flush(client);
  client_lock(client);
  client->session_owner =
      SESSION_OF_CONNECTION; /* the end of a connection that owns its session sends nothing */
  client_unlock(client);
  jp_client_close(client);
}

/* After fork, the copied descriptors belong to this process and everything else to the parent. */
static void close_in_child(struct jp_client *client)
{
  if (client->transport != NULL)
    close(client->kind->descriptor(client->transport));
  client_loop_fini(&client->loop);
  close(client->wake_fd);
}

static void end_connection(struct jp_client *client)
{
  static const struct jp_client_error why = {.status = JP_CLIENT_CLOSED, .text = "the client was closed"};
  end_session(client);
  client_lock(client);
  switch (client->state) {
  case CLIENT_OPEN:
    end_transport(client, CLIENT_CLOSING, &why);
    break;
  case CLIENT_OPENING:
    set_client_state(client, CLIENT_CLOSING_OPENING);
    break;
  case CLIENT_BREAKING:
    set_client_state(client, CLIENT_CLOSING);
    break;
  case CLIENT_BROKEN:
    set_client_state(client, CLIENT_CLOSED);
    break;
  case CLIENT_CLOSING_OPENING: /* already closed */
  case CLIENT_CLOSING:
  case CLIENT_CLOSED:
    break;
  case CLIENT_UNCONNECTED:
    assert(false); /* jp_client_open never returns an unconnected client */
    break;
  }
  pthread_cond_broadcast(&client->changed); /* ends the waits for a connection */
}

void jp_client_end(struct jp_client *client)
{
  if (client == NULL || fork_guard_is_child(&client->fork_guard))
    return;
  end_connection(client);
  client_unlock(client);
}

void jp_client_close(struct jp_client *client)
{
  if (client == NULL)
    return;
  if (fork_guard_is_child(&client->fork_guard)) {
    close_in_child(client);
    return;
  }
  end_connection(client);
  while (client->state != CLIENT_CLOSED)
    pthread_cond_wait(&client->changed, &client->lock);
  client_call_completions(client);
  callbacks_report_ended(client);
  client_loop_fini(&client->loop);
  client_leave(client);
}

/* ---- figures ---- */

size_t jp_client_pending(const struct jp_client *client)
{
  struct jp_client *locked = (struct jp_client *)client; /* locking does not change what callers see */
  if (fork_guard_is_child(&client->fork_guard))
    return 0;
  client_lock(locked);
  size_t count = locked->pending.count;
  client_unlock(locked);
  return count;
}

size_t jp_client_ref_count(const struct jp_client *client)
{
  struct jp_client *locked = (struct jp_client *)client;
  if (fork_guard_is_child(&client->fork_guard))
    return 0;
  client_lock(locked);
  size_t count = locked->refs.held;
  client_unlock(locked);
  return count;
}
