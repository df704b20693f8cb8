#include "callback_bench.h"

#include "rpc/jsonrpc/json_codec.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- rpc_push ---- */

static struct rpc_duplex *open_duplex(void *connection, struct rpc_callbacks *callbacks)
{
  struct rpc_duplex *duplex = connection;
  duplex->callbacks = callbacks;
  atomic_fetch_add(&duplex->opened, 1);
  return duplex;
}

static enum rpc_pushed find_obstacle(const struct rpc_duplex *duplex, enum rpc_push_kind kind, size_t length)
{
  if (duplex->is_closed)
    return RPC_PUSH_CLOSED;
  if (kind == RPC_PUSH_ANSWER && duplex->answer_max > 0 && length > duplex->answer_max)
    return RPC_PUSH_TOO_LONG;
  if (kind != RPC_PUSH_ANSWER && duplex->too_long > 0 && length >= duplex->too_long)
    return RPC_PUSH_TOO_LONG;
  return duplex->has_no_room && kind != RPC_PUSH_ANSWER ? RPC_PUSH_NO_ROOM : RPC_PUSHED;
}

/* The caller holds the lock. */
static void keep_sent(struct rpc_duplex *duplex, char kind, struct text message)
{
  buffer_append_char(&duplex->sent, kind);
  buffer_append_text(&duplex->sent, message);
  buffer_append_char(&duplex->sent, '\n');
  duplex->count++;
  pthread_cond_signal(&duplex->sent_one);
}

static enum rpc_pushed send_message(struct rpc_duplex *duplex, struct rpc_worker *worker,
                                    enum rpc_push_kind kind, struct text message)
{
  static const char letters[] = {
      [RPC_PUSH_CALL] = 'C', [RPC_PUSH_EVENT] = 'E', [RPC_PUSH_ANSWER] = 'A', [RPC_PUSH_NOTICE] = 'N'};
  (void)worker;
  pthread_mutex_lock(&duplex->lock);
  enum rpc_pushed pushed = find_obstacle(duplex, kind, message.len);
  if (pushed == RPC_PUSHED) {
    keep_sent(duplex, letters[kind], message);
    if (kind == RPC_PUSH_CALL)
      atomic_fetch_add(&duplex->calls_open, 1);
  }
  pthread_mutex_unlock(&duplex->lock);
  return pushed;
}

static void settle_call(struct rpc_duplex *duplex, struct rpc_worker *worker)
{
  (void)worker;
  atomic_fetch_sub(&duplex->calls_open, 1);
}

static size_t find_reply_max(struct rpc_duplex *duplex)
{
  (void)duplex;
  return 10000;
}

static void close_duplex(struct rpc_duplex *duplex)
{
  atomic_fetch_sub(&duplex->opened, 1);
}

static const struct rpc_push push = {.open = open_duplex,
                                     .send = send_message,
                                     .settle = settle_call,
                                     .reply_max = find_reply_max,
                                     .close = close_duplex};

/* ---- connections ---- */

struct rpc_duplex *bench_connect_named(struct service_bench *bench, const char *peer_id)
{
  struct rpc_duplex *duplex = test_calloc(1, sizeof *duplex);
  pthread_mutex_init(&duplex->lock, NULL);
  pthread_cond_init(&duplex->sent_one, NULL);
  buffer_init(&duplex->sent);
  duplex->bench = bench;
  duplex->client =
      bench_open(bench, &(struct rpc_client_info){.channel = OP_CHANNEL_WEBSOCKET,
                                                  .peer_id = peer_id == NULL ? TEXT_ABSENT : text_of(peer_id),
                                                  .push = &push,
                                                  .connection = duplex});
  return duplex;
}

struct rpc_duplex *bench_connect(struct service_bench *bench)
{
  return bench_connect_named(bench, NULL);
}

void bench_close_client(struct rpc_duplex *duplex)
{
  pthread_mutex_lock(&duplex->lock);
  duplex->is_closed = true;
  pthread_mutex_unlock(&duplex->lock);
  bench_close(duplex->bench, duplex->client, NULL);
  duplex->client = NULL;
}

void bench_disconnect(struct rpc_duplex *duplex)
{
  if (duplex->client != NULL)
    bench_close_client(duplex);
  assert_int_equal(atomic_load(&duplex->calls_open), 0);
  assert_int_equal(atomic_load(&duplex->opened), 0);
  pthread_mutex_destroy(&duplex->lock);
  pthread_cond_destroy(&duplex->sent_one);
  buffer_fini(&duplex->sent);
  test_free(duplex);
}

struct rpc_callbacks *bench_callbacks(const struct rpc_duplex *duplex)
{
  return duplex->callbacks;
}

/* ---- messages ---- */

enum rpc_served bench_serve_from(struct rpc_duplex *duplex, const char *message)
{
  return bench_serve(duplex->bench, duplex->client, text_of(message), 0);
}

uint64_t bench_give(struct rpc_duplex *duplex, int64_t id)
{
  char message[200];
  snprintf(message, sizeof message,
           REQUEST("call", "\"type\":\"C\",\"method\":\"keep\",\"args\":[{\"ref\":{\"callback\":%lld}}]"),
           (long long)id);
  assert_int_equal(bench_serve_from(duplex, message), RPC_REPLY);
  unit_assert_text(buffer_text(&duplex->bench->out), text_of(VOID_ANSWER), __FILE__, __LINE__);
  return stub_callbacks.hooks->find(bench_callbacks(duplex), id, UINT64_MAX);
}

enum rpc_received bench_receive(struct rpc_duplex *duplex, struct buffer *message)
{
  const struct rpc_service *service = duplex->bench->service;
  struct buffer answer;
  buffer_init(&answer);
  enum rpc_received taken = service->receive(service->context, duplex->callbacks, message, &answer);
  if (answer.len > 0) {
    pthread_mutex_lock(&duplex->lock);
    keep_sent(duplex, 'R', buffer_text(&answer));
    pthread_mutex_unlock(&duplex->lock);
  }
  buffer_fini(&answer);
  return taken;
}

enum rpc_received bench_receive_text(struct rpc_duplex *duplex, const char *message)
{
  struct buffer buffer;
  buffer_init(&buffer);
  buffer_append_text(&buffer, text_of(message));
  enum rpc_received taken = bench_receive(duplex, &buffer);
  buffer_fini(&buffer);
  return taken;
}

/* The caller holds the lock. NULL: nothing was sent. */
static char *cut_first(struct rpc_duplex *duplex)
{
  const char *end = duplex->sent.len == 0 ? NULL : memchr(duplex->sent.data, '\n', duplex->sent.len);
  if (end == NULL)
    return NULL;
  size_t length = (size_t)(end - duplex->sent.data);
  char *taken = strndup(duplex->sent.data, length);
  buffer_consume(&duplex->sent, length + 1);
  return taken;
}

char *bench_read_sent(struct rpc_duplex *duplex)
{
  char *taken;
  pthread_mutex_lock(&duplex->lock);
  for (const int64_t since_ms = clock_now_ms(); (taken = cut_first(duplex)) == NULL;)
    await_signal(&duplex->sent_one, &duplex->lock, since_ms, "a message that is sent");
  pthread_mutex_unlock(&duplex->lock);
  return taken;
}

void assert_sent(struct rpc_duplex *duplex, const char *wanted)
{
  pthread_mutex_lock(&duplex->lock);
  char *sent = cut_first(duplex);
  pthread_mutex_unlock(&duplex->lock);
  if (sent == NULL || strcmp(sent, wanted) != 0)
    fail_msg("sent   %s\nwanted %s", sent == NULL ? "nothing" : sent, wanted);
  free(sent);
}

void assert_nothing_sent(struct rpc_duplex *duplex)
{
  pthread_mutex_lock(&duplex->lock);
  char *sent = cut_first(duplex);
  pthread_mutex_unlock(&duplex->lock);
  if (sent != NULL)
    fail_msg("sent %s", sent);
}

struct rpc_callback_call *bench_hold_call(struct rpc_duplex *duplex, int64_t id, uint64_t proxy)
{
  static const struct jvm_callback_method method = {.interface = TEXT("a.B"), .name = TEXT("m")};
  const struct jvm_callback_given given = {.id = id};
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  struct rpc_callback_call *call;
  struct jvm_callback_failure failure;
  struct jvm_request request;
  assert_int_equal(hooks->open(bench_callbacks(duplex), &given, proxy, &method, NULL, &call, &failure),
                   JP_OK);
  assert_int_equal(hooks->enter(call, &request), JP_OK);
  assert_int_equal(hooks->send(call, NULL, 0, &failure), JVM_CALLBACK_SENT);
  hooks->leave(call);
  free(bench_read_sent(duplex));
  return call;
}

/* ---- the client of a test ---- */

struct rpc_duplex *duplex;
uint64_t proxy_of_7;

static struct stub_member members[] = {
    {.type = "C",
     .member = "keep",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PUBLIC | OP_ACC_STATIC},
    STUB_MEMBER_CONSTRUCTOR,
};

int duplex_set_up(void **state)
{
  (void)state;
  bench = service_bench_create(
      &(struct service_bench_options){.members = members, .member_count = COUNT_OF(members)});
  duplex = bench_connect(bench);
  proxy_of_7 = 0;
  return 0;
}

int duplex_set_up_with_7(void **state)
{
  duplex_set_up(state);
  proxy_of_7 = bench_give(duplex, 7);
  return 0;
}

int duplex_tear_down(void **state)
{
  struct rpc_callbacks *callbacks = bench_callbacks(duplex);
  if (duplex->client != NULL)
    bench_close_client(duplex);
  if (proxy_of_7 != 0)
    stub_callbacks.hooks->released(callbacks, 7, proxy_of_7);
  bench_disconnect(duplex);
  int status = bench_tear_down(state);
  assert_int_equal(atomic_load(&stub_callbacks.waiters), 0);
  assert_int_equal(atomic_load(&stub_callbacks.threads), 0);
  return status;
}
