#include "duplex_service.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "net/connection/connection_duplex.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, TIMEOUT_MS = 50 };

/* --- calls: on the thread that calls --- */

struct caller {
  struct rpc_callbacks *callbacks;
  struct rpc_worker *worker; /* NULL: a foreign thread */
  const struct rpc_waits *waits;
  unsigned number;
  unsigned rooms;
  bool (*is_over)(const struct caller *caller); /* the wait */
};

static struct duplex_service *service_of(const struct caller *caller)
{
  return caller->callbacks->service;
}

/* The caller holds the lock. */
static bool is_call_over(const struct caller *caller)
{
  const struct open_call *call = &service_of(caller)->calls[caller->number];
  return call->state != CALL_OPEN || call->nested[0] != '\0';
}

/* The caller holds the lock. */
static bool is_room_over(const struct caller *caller)
{
  return caller->callbacks->rooms != caller->rooms || caller->callbacks->is_gone;
}

static bool is_over(void *state)
{
  const struct caller *caller = state;
  pthread_mutex_lock(&service_of(caller)->lock);
  bool is_over = caller->is_over(caller);
  pthread_mutex_unlock(&service_of(caller)->lock);
  return is_over;
}

/* Waits until `ends` returns true. `ends` is called with the lock held. */
static void wait_for(struct caller *caller, bool (*ends)(const struct caller *), int64_t deadline_ms)
{
  struct duplex_service *s = service_of(caller);
  caller->is_over = ends;
  if (caller->waits != NULL) {
    caller->waits->wait(caller->waits->thread, is_over, caller, deadline_ms);
    return;
  }
  pthread_mutex_lock(&s->lock);
  for (const int64_t since_ms = clock_now_ms(); !ends(caller);)
    await_signal(&s->changed, &s->lock, since_ms, "what a caller of no crew waits for");
  pthread_mutex_unlock(&s->lock);
}

/* A member has a place in for_room; a foreign thread has none, and waits for `changed`. */
static void wait_for_room(struct caller *caller)
{
  struct duplex_service *s = service_of(caller);
  unsigned place = 0;
  if (caller->waits == NULL) {
    wait_for(caller, is_room_over, INT64_MAX);
    return;
  }
  pthread_mutex_lock(&s->lock);
  while (s->for_room[place] != NULL)
    place++;
  s->for_room[place] = caller->waits;
  pthread_mutex_unlock(&s->lock);
  wait_for(caller, is_room_over, INT64_MAX);
  pthread_mutex_lock(&s->lock);
  s->for_room[place] = NULL;
  pthread_mutex_unlock(&s->lock);
}

static enum rpc_pushed push_with_room(struct caller *caller, enum rpc_push_kind kind, struct text message)
{
  struct duplex_service *s = service_of(caller);
  for (;;) {
    pthread_mutex_lock(&s->lock);
    caller->rooms = caller->callbacks->rooms;
    pthread_mutex_unlock(&s->lock);
    enum rpc_pushed pushed =
        caller->callbacks->push->send(caller->callbacks->duplex, caller->worker, kind, message);
    if (pushed != RPC_PUSH_NO_ROOM)
      return pushed;
    wait_for_room(caller);
  }
}

/* False: the client has gone. */
static bool begin_call(struct caller *caller)
{
  struct duplex_service *s = service_of(caller);
  pthread_mutex_lock(&s->lock);
  caller->number = ++s->call_count;
  assert_true(caller->number < DUPLEX_CALLS);
  s->calls[caller->number] = (struct open_call){.state = caller->callbacks->is_gone ? CALL_GONE : CALL_OPEN,
                                                .callbacks = caller->callbacks,
                                                .waits = caller->waits};
  pthread_mutex_unlock(&s->lock);
  char text[DUPLEX_TEXT];
  snprintf(text, sizeof text, "call %u", caller->number);
  return push_with_room(caller, RPC_PUSH_CALL, text_of(text)) == RPC_PUSHED;
}

static void serve_text(struct caller *caller, const char *text, struct buffer *out);

/* Serves the request that is nested in the call. */
static void serve_nested(struct caller *caller)
{
  struct duplex_service *s = service_of(caller);
  struct buffer out = {0};
  char text[DUPLEX_TEXT];
  pthread_mutex_lock(&s->lock);
  memcpy(text, s->calls[caller->number].nested, sizeof text);
  s->calls[caller->number].nested[0] = '\0';
  pthread_mutex_unlock(&s->lock);
  if (text[0] == '\0')
    return;
  BUFFER_LITERAL(&out, "nested ");
  struct caller inner = {.callbacks = caller->callbacks, .worker = caller->worker, .waits = caller->waits};
  serve_text(&inner, text, &out);
  caller->callbacks->push->send(caller->callbacks->duplex, caller->worker, RPC_PUSH_ANSWER,
                                buffer_text(&out));
  buffer_fini(&out);
}

/* The caller holds the lock. */
static bool must_go_on(const struct caller *caller, int64_t deadline_ms)
{
  const struct open_call *call = &service_of(caller)->calls[caller->number];
  return call->nested[0] != '\0' || (call->state == CALL_OPEN && clock_now_ms() < deadline_ms);
}

static void end_call(struct caller *caller, char answer[DUPLEX_TEXT])
{
  struct duplex_service *s = service_of(caller);
  struct open_call *call = &s->calls[caller->number];
  pthread_mutex_lock(&s->lock);
  if (call->state == CALL_ANSWERED)
    snprintf(answer, DUPLEX_TEXT, "%.*s", DUPLEX_TEXT - 1, call->answer);
  else
    strcpy(answer, call->state == CALL_GONE ? "!gone" : "!timeout");
  if (call->state == CALL_GONE)
    atomic_fetch_add(&s->gone, 1);
  call->state = CALL_FREE;
  pthread_mutex_unlock(&s->lock);
}

static void call_client(struct caller *caller, int64_t deadline_ms, char answer[DUPLEX_TEXT])
{
  struct duplex_service *s = service_of(caller);
  bool is_sent = begin_call(caller);
  pthread_mutex_lock(&s->lock);
  if (!is_sent)
    s->calls[caller->number].state = CALL_GONE;
  while (must_go_on(caller, deadline_ms)) {
    pthread_mutex_unlock(&s->lock);
    wait_for(caller, is_call_over, deadline_ms);
    serve_nested(caller);
    pthread_mutex_lock(&s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  if (is_sent)
    caller->callbacks->push->settle(caller->callbacks->duplex, caller->worker);
  end_call(caller, answer);
}

static void send_events(struct caller *caller, unsigned count)
{
  char text[DUPLEX_TEXT];
  for (unsigned i = 0; i < count; i++) {
    snprintf(text, sizeof text, "event %u", i);
    if (push_with_room(caller, RPC_PUSH_EVENT, text_of(text)) != RPC_PUSHED)
      return;
  }
}

/* --- foreign threads --- */

struct foreign {
  struct rpc_callbacks *callbacks;
  unsigned events; /* 0: a call */
};

static void release_callbacks(struct rpc_callbacks *callbacks)
{
  pthread_mutex_lock(&callbacks->service->lock);
  bool is_last = --callbacks->holders == 0;
  pthread_mutex_unlock(&callbacks->service->lock);
  if (!is_last)
    return;
  if (callbacks->duplex != NULL)
    callbacks->push->close(callbacks->duplex);
  free(callbacks);
}

static void *run_foreign(void *argument)
{
  struct foreign *foreign = argument;
  struct duplex_service *s = foreign->callbacks->service;
  struct caller caller = {.callbacks = foreign->callbacks};
  char answer[DUPLEX_TEXT] = "";
  if (foreign->events > 0)
    send_events(&caller, foreign->events);
  else
    call_client(&caller, INT64_MAX, answer);
  pthread_mutex_lock(&s->lock);
  memcpy(s->joined, answer, sizeof answer);
  pthread_mutex_unlock(&s->lock);
  release_callbacks(foreign->callbacks);
  free(foreign);
  return NULL;
}

static void spawn_foreign(struct rpc_callbacks *callbacks, unsigned events)
{
  struct duplex_service *s = callbacks->service;
  struct foreign *foreign = malloc(sizeof *foreign);
  assert_non_null(foreign);
  *foreign = (struct foreign){callbacks, events};
  pthread_mutex_lock(&s->lock);
  callbacks->holders++;
  assert_true(s->thread_count < DUPLEX_THREADS);
  assert_int_equal(pthread_create(&s->threads[s->thread_count++], NULL, run_foreign, foreign), 0);
  pthread_mutex_unlock(&s->lock);
}

void duplex_service_join(struct duplex_service *s)
{
  pthread_t joined[DUPLEX_THREADS];
  pthread_mutex_lock(&s->lock);
  unsigned count = s->thread_count;
  memcpy(joined, s->threads, sizeof joined);
  s->thread_count = 0;
  pthread_mutex_unlock(&s->lock);
  for (unsigned i = 0; i < count; i++)
    pthread_join(joined[i], NULL);
}

/* --- a thread that waits for another client --- */

struct ahead_wait {
  struct caller *caller;
  bool is_done;
  bool sleeps; /* the thread sleeps although a call is open */
};

static bool has_read_ahead(const struct connection *connection)
{
  return connection->duplex->reader == DUPLEX_WAITER && duplex_input(connection->duplex) == COLLECTED_FULL;
}

/* Sends the call after the last poll for input and before the sleep, so that its answer may be in the
 * connection's buffers. */
static bool has_asked_to_sleep(void *state)
{
  struct ahead_wait *wait = state;
  struct rpc_callbacks *callbacks = wait->caller->callbacks;
  struct connection *connection = callbacks->connection;
  int fd = -1;
  short events = 0;
  if (!has_read_ahead(connection))
    return false;
  assert_int_equal(callbacks->push->send(callbacks->duplex, NULL, RPC_PUSH_CALL, TEXT("call")), RPC_PUSHED);
  wait->sleeps = connection_call_ops.prepare_sleep(&connection->source, &fd, &events);
  wait->is_done = true;
  callbacks->push->settle(callbacks->duplex, NULL);
  return true;
}

static void wait_and_call(struct caller *caller, struct buffer *out)
{
  struct ahead_wait wait = {.caller = caller};
  const int64_t end_ms = clock_now_ms() + PATIENCE_MS;
  while (!wait.is_done && clock_now_ms() < end_ms)
    caller->waits->wait(caller->waits->thread, has_asked_to_sleep, &wait, clock_now_ms() + TIMEOUT_MS);
  buffer_printf(out, "%s", !wait.is_done ? "timeout" : wait.sleeps ? "deaf" : "reads");
}

/* --- the service --- */

static void open_duplex(struct rpc_callbacks *callbacks)
{
  if (callbacks->duplex == NULL)
    callbacks->duplex = callbacks->push->open(callbacks->connection, callbacks);
  assert_non_null(callbacks->duplex);
}

static void run_calls(struct caller *caller, unsigned count, struct buffer *out)
{
  char answer[DUPLEX_TEXT] = "";
  for (unsigned i = 0; i < count && answer[0] != '!'; i++)
    call_client(caller, clock_now_ms() + PATIENCE_MS, answer);
  if (answer[0] == '!')
    buffer_printf(out, "%s", answer + 1);
  else
    buffer_printf(out, "got %s", answer);
}

/* A thread of the crew must send events that were held back, without the watcher's help. */
static void stay_after_events(struct caller *caller, unsigned count, struct buffer *out)
{
  struct connection *connection = caller->callbacks->connection;
  send_events(caller, count);
  pthread_mutex_lock(&connection->lock);
  bool is_forgotten = connection_needs_flush(connection) && connection->duplex->reader == DUPLEX_NOBODY;
  pthread_mutex_unlock(&connection->lock);
  AWAIT(atomic_load(&service_of(caller)->may_leave));
  buffer_printf(out, "%s", is_forgotten ? "forgotten" : "left");
}

/* The first of the two events is sent at once, if the call took long enough, and the second is held back. */
static void mix_events_and_calls(struct caller *caller, unsigned count, struct buffer *out)
{
  struct connection *connection = caller->callbacks->connection;
  char answer[DUPLEX_TEXT] = "";
  unsigned asked = 0;
  for (unsigned i = 0; i < count && answer[0] != '!'; i++) {
    send_events(caller, 2);
    pthread_mutex_lock(&connection->lock);
    asked += connection->duplex->reader == DUPLEX_ARMED_TO_SEND;
    pthread_mutex_unlock(&connection->lock);
    call_client(caller, clock_now_ms() + PATIENCE_MS, answer);
  }
  if (answer[0] == '!')
    buffer_printf(out, "%s", answer + 1);
  else
    buffer_printf(out, "asked %u", asked);
}

static void serve_text(struct caller *caller, const char *text, struct buffer *out)
{
  struct duplex_service *s = service_of(caller);
  char answer[DUPLEX_TEXT];
  unsigned count;
  if (strcmp(text, "open") == 0) {
    open_duplex(caller->callbacks);
    BUFFER_LITERAL(out, "opened");
  } else if (sscanf(text, "call %u", &count) == 1) {
    open_duplex(caller->callbacks);
    run_calls(caller, count, out);
  } else if (strcmp(text, "leave and call") == 0) {
    AWAIT(atomic_load(&s->may_leave));
    open_duplex(caller->callbacks);
    run_calls(caller, 1, out);
  } else if (strcmp(text, "call briefly") == 0) {
    call_client(caller, clock_now_ms() + TIMEOUT_MS, answer);
    buffer_printf(out, "%s", answer[0] == '!' ? answer + 1 : answer);
  } else if (strcmp(text, "spawn") == 0) {
    spawn_foreign(caller->callbacks, 0);
    BUFFER_LITERAL(out, "spawned");
  } else if (strcmp(text, "join") == 0) {
    atomic_fetch_add(&s->inside_join, 1);
    duplex_service_join(s);
    atomic_fetch_sub(&s->inside_join, 1);
    buffer_printf(out, "joined %s", s->joined);
  } else if (sscanf(text, "events %u", &count) == 1) {
    send_events(caller, count);
    BUFFER_LITERAL(out, "sent");
  } else if (sscanf(text, "stay %u", &count) == 1) {
    stay_after_events(caller, count, out);
  } else if (sscanf(text, "call and stay %u", &count) == 1) {
    send_events(caller, 2);
    call_client(caller, clock_now_ms() + PATIENCE_MS, answer);
    stay_after_events(caller, count, out);
  } else if (sscanf(text, "mix %u", &count) == 1) {
    mix_events_and_calls(caller, count, out);
  } else if (sscanf(text, "spray %u", &count) == 1) {
    spawn_foreign(caller->callbacks, count);
    BUFFER_LITERAL(out, "spraying");
  } else if (strcmp(text, "wait and call") == 0) {
    wait_and_call(caller, out);
  } else if (strcmp(text, "nap") == 0) {
    usleep(32000);
    BUFFER_LITERAL(out, "nap");
  } else if (strcmp(text, "name") == 0) {
    BUFFER_LITERAL(out, "named");
  } else if (strcmp(text, "no memory") == 0) {
    BUFFER_LITERAL(out, "half an ans");
    out->failed = true;
  } else {
    buffer_printf(out, "%s", text);
  }
}

static enum jp_status read_stream(void *state, struct buffer *out, size_t max)
{
  (void)max;
  struct duplex_service *s = state;
  int left = atomic_fetch_sub(&s->parts, 1);
  if (left <= 0)
    return left == 0 ? JP_CLOSED : JP_IO;
  buffer_append_text(out, TEXT("part "));
  return JP_OK;
}

static void close_stream(void *state)
{
  (void)state;
}

static enum rpc_served serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                             struct text message, struct buffer *out, size_t reply_max,
                             struct rpc_stream *stream)
{
  (void)context, (void)reply_max;
  const struct rpc_waits *waits = &((struct stub_worker *)(void *)worker)->waits;
  struct caller caller = {.callbacks = client->callbacks, .worker = worker, .waits = waits};
  char text[256];
  snprintf(text, sizeof text, "%.*s", TEXT_ARGS(message));
  if (strcmp(text, "stream") == 0 || strcmp(text, "broken stream") == 0) {
    BUFFER_LITERAL(out, "<");
    atomic_store(&service_of(&caller)->parts, text[0] == 'b' ? -1 : 3);
    *stream =
        (struct rpc_stream){.body = {service_of(&caller), read_stream, close_stream}, .tail = TEXT(">")};
    return RPC_STREAM;
  }
  if (message.len >= sizeof text || strcmp(text, "block") == 0 || strcmp(text, "wait") == 0)
    return stub_codecs[RPC_CODEC_JSONRPC]->serve(&service_of(&caller)->stub, worker, NULL, message, out, 0,
                                                 NULL);
  serve_text(&caller, text, out);
  return RPC_REPLY;
}

static bool serve_beside(void *context, struct rpc_client *client, const struct rpc_beside *beside,
                         struct text message, struct buffer *out)
{
  (void)context, (void)client, (void)beside;
  if (!text_equal(message, TEXT("name")))
    return false;
  BUFFER_LITERAL(out, "named");
  return true;
}

/* The caller holds the lock. */
static void wake_caller(struct duplex_service *s, const struct open_call *call)
{
  if (call->waits != NULL)
    call->waits->wake(call->waits->thread);
  pthread_cond_broadcast(&s->changed);
}

/* The caller holds the lock. */
static void wake_all(struct duplex_service *s, const struct rpc_callbacks *callbacks)
{
  for (unsigned i = 1; i <= s->call_count; i++) {
    if (s->calls[i].callbacks == callbacks && s->calls[i].state != CALL_FREE)
      wake_caller(s, &s->calls[i]);
  }
  for (unsigned i = 0; i < DUPLEX_THREADS; i++) {
    if (s->for_room[i] != NULL)
      s->for_room[i]->wake(s->for_room[i]->thread);
  }
  pthread_cond_broadcast(&s->changed);
}

static enum rpc_received take(void *context, struct rpc_callbacks *callbacks, struct buffer *message,
                              struct buffer *refusal)
{
  struct duplex_service *s = context;
  char text[DUPLEX_TEXT + 16];
  char kind;
  unsigned number;
  int read = 0;
  snprintf(text, sizeof text, "%.*s", TEXT_ARGS(buffer_text(message)));
  if (sscanf(text, "%c%u %n", &kind, &number, &read) != 2 || (kind != '#' && kind != '@'))
    return RPC_ORDINARY;
  pthread_mutex_lock(&s->lock);
  bool is_open = number <= s->call_count && s->calls[number].state == CALL_OPEN &&
                 s->calls[number].callbacks == callbacks;
  struct open_call *call = &s->calls[is_open ? number : 0];
  if (is_open && kind == '#') {
    snprintf(call->answer, sizeof call->answer, "%.*s", DUPLEX_TEXT - 1, text + read);
    call->state = CALL_ANSWERED;
    wake_caller(s, call);
  } else if (is_open && call->nested[0] == '\0') {
    snprintf(call->nested, sizeof call->nested, "%.*s", DUPLEX_TEXT - 1, text + read);
    wake_caller(s, call);
  } else if (is_open) {
    BUFFER_LITERAL(refusal, "full");
  } else if (kind == '@') {
    buffer_printf(refusal, "no call %u", number);
  } else {
    atomic_fetch_add(&s->dropped, 1);
  }
  pthread_mutex_unlock(&s->lock);
  return RPC_CONSUMED;
}

static void client_gone(void *context, struct rpc_callbacks *callbacks, bool is_stopping)
{
  (void)is_stopping;
  struct duplex_service *s = context;
  pthread_mutex_lock(&s->lock);
  callbacks->is_gone = true;
  for (unsigned i = 1; i <= s->call_count; i++) {
    if (s->calls[i].callbacks == callbacks && s->calls[i].state == CALL_OPEN)
      s->calls[i].state = CALL_GONE;
  }
  wake_all(s, callbacks);
  pthread_mutex_unlock(&s->lock);
}

static void has_room(void *context, struct rpc_callbacks *callbacks)
{
  struct duplex_service *s = context;
  pthread_mutex_lock(&s->lock);
  callbacks->rooms++;
  wake_all(s, callbacks);
  pthread_mutex_unlock(&s->lock);
}

static void refused(void *context, struct rpc_client *client, struct text message)
{
  (void)message;
  struct duplex_service *s = context;
  open_duplex(client->callbacks); /* the message may contain a callback, which must be released */
  atomic_fetch_add(&s->unread, 1);
}

static enum jp_status open_client(void *context, const struct rpc_client_info *info,
                                  struct rpc_client **client, struct jp_error *error)
{
  (void)error;
  struct duplex_service *s = context;
  struct rpc_client *made = calloc(1, sizeof *made);
  struct rpc_callbacks *callbacks = calloc(1, sizeof *callbacks);
  assert_true(made != NULL && callbacks != NULL);
  *callbacks =
      (struct rpc_callbacks){.service = s, .push = info->push, .connection = info->connection, .holders = 1};
  made->callbacks = callbacks;
  *client = made;
  atomic_fetch_add(&s->stub.clients, 1);
  return JP_OK;
}

static void close_client(void *context, struct rpc_worker *worker, struct rpc_client *client,
                         struct rpc_session_info *session)
{
  (void)worker, (void)session;
  struct duplex_service *s = context;
  client_gone(context, client->callbacks, false);
  release_callbacks(client->callbacks);
  free(client);
  atomic_fetch_sub(&s->stub.clients, 1);
}

/* The stub's codec with two functions replaced. It works here because a struct duplex_service begins with a
 * stub. */
static struct rpc_codec codec;
static const struct rpc_codec *const CODECS[RPC_CODECS] = {[RPC_CODEC_JSONRPC] = &codec};

static bool are_exiting(void *context, struct rpc_callbacks *callbacks)
{
  (void)context, (void)callbacks;
  return false;
}

void duplex_service_open(struct duplex_service *s)
{
  stub_open(&s->stub, 200, &s->service);
  codec = *stub_codecs[RPC_CODEC_JSONRPC];
  codec.name = "duplex";
  codec.serve = serve;
  codec.serve_beside = serve_beside;
  s->service.context = s;
  s->service.codecs = CODECS;
  s->service.client_open = open_client;
  s->service.client_close = close_client;
  s->service.release_unsent = NULL;
  s->service.receive = take;
  s->service.client_gone = client_gone;
  s->service.are_exiting = are_exiting;
  s->service.has_room = has_room;
  s->service.refused = refused;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
}

void duplex_service_close(struct duplex_service *s)
{
  stub_close(&s->stub);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
}
