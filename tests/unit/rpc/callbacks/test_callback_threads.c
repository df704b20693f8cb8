/*
 * Many threads call a client's objects at once, while a thread in the role of the transport passes the
 * client's messages to the service; also for a build with TSan. Each call gets its own answer.
 */
#include "callback_bench.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { CALLERS = 100, ROUNDS = 20, IDS = 4, CHURNERS = 8 };

static struct stub_member members[] = {
    {.type = "C",
     .member = "keep",
     .kind = OP_MEMBER_STATIC_METHOD,
     .modifiers = OP_ACC_PUBLIC | OP_ACC_STATIC},
};

struct fixture {
  struct service_bench *bench;
  struct rpc_duplex *duplex;
  struct rpc_callbacks *callbacks;
  uint64_t proxies[IDS];
};

struct caller {
  const struct fixture *fixture;
  pthread_t thread;
  size_t number;
  unsigned answered; /* with its own ID */
  unsigned failed;
  unsigned wrong;
};

static struct fixture *f;

static int set_up(void **state)
{
  f = test_calloc(1, sizeof *f);
  f->bench = service_bench_create(&(struct service_bench_options){
      .members = members, .member_count = COUNT_OF(members), .callbacks_max = 2 * CALLERS});
  f->duplex = bench_connect(f->bench);
  for (size_t i = 0; i < IDS; i++)
    f->proxies[i] = bench_give(f->duplex, (int64_t)i + 1);
  f->callbacks = bench_callbacks(f->duplex);
  (void)state;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  if (f->duplex->client != NULL)
    bench_close_client(f->duplex);
  for (size_t i = 0; i < IDS; i++)
    stub_callbacks.hooks->released(f->callbacks, (int64_t)i + 1, f->proxies[i]);
  bench_disconnect(f->duplex);
  bool is_clean = service_bench_destroy(f->bench);
  assert_int_equal(atomic_load(&stub_callbacks.waiters), 0);
  assert_int_equal(atomic_load(&stub_callbacks.threads), 0);
  test_free(f);
  return is_clean ? 0 : -1;
}

/* Some calls are oneway, some are interrupted. */
static void *run_caller(void *argument)
{
  struct caller *caller = argument;
  for (size_t round = 0; round < ROUNDS; round++) {
    size_t id = (caller->number + round) % IDS;
    char wanted[32];
    struct stub_call call = {.callbacks = caller->fixture->callbacks,
                             .id = (int64_t)id + 1,
                             .proxy = caller->fixture->proxies[id],
                             .is_oneway = round % 5 == 4,
                             .is_void = true,
                             .interrupt_after = round % 7 == 6 ? 2 : 0};
    stub_call(&call);
    snprintf(wanted, sizeof wanted, "%zu", id + 1);
    if (call.result == STUB_RESULT_FAILURE)
      caller->failed++;
    else if (call.is_oneway || strcmp(call.text, wanted) == 0)
      caller->answered++;
    else
      caller->wrong++;
  }
  return NULL;
}

static void begin_callers(struct fixture *f, struct caller *callers)
{
  for (size_t i = 0; i < CALLERS; i++) {
    callers[i] = (struct caller){.fixture = f, .number = i};
    assert_int_equal(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
  }
}

/* ---- the client ---- */

struct client {
  struct rpc_duplex *duplex;
  void (*answer)(struct client *client, unsigned long number, long id); /* NULL: `answer` */
  pthread_t thread;
  unsigned long calls;
  unsigned long answers; /* to nested requests */
};

static void hand_in(struct rpc_duplex *duplex, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void hand_in(struct rpc_duplex *duplex, const char *format, ...)
{
  char message[400];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  (void)bench_receive_text(duplex, message); /* a message that is too late is an ordinary one */
}

static void answer(struct client *client, unsigned long number, long id)
{
  struct rpc_duplex *duplex = client->duplex;
  if (number % 3 == 0)
    hand_in(
        duplex,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"ping\"},\"options\":{"
        "\"within\":\"cb-%lu\"}}",
        number);
  if (number % 11 == 0) { /* a wrong answer, and then the right answer twice */
    hand_in(duplex, "{\"id\":\"cb-%lu\",\"result\":0}", number + 1000000);
    hand_in(duplex, "[{\"id\":\"cb-%lu\",\"result\":%ld},{\"id\":\"cb-%lu\",\"result\":0}]", number, id,
            number);
  } else {
    hand_in(duplex, "{\"id\":\"cb-%lu\",\"result\":%ld}", number, id);
  }
}

/* Answers until a message "Q" is sent. */
static void *run_client(void *argument)
{
  struct client *client = argument;
  bool goes_on = true;
  while (goes_on) {
    char *sent = bench_read_sent(client->duplex);
    unsigned long number;
    long id;
    goes_on = *sent != 'Q';
    client->answers += *sent == 'A';
    if (sscanf(sent,
               "C{\"jsonrpc\":\"2.0\",\"id\":\"cb-%lu\",\"method\":\"callback\",\"params\":{\"callback\":%ld",
               &number, &id) == 2) {
      client->calls++;
      (client->answer != NULL ? client->answer : answer)(client, number, id);
    }
    free(sent);
  }
  return NULL;
}

static void begin_client(struct client *client, struct rpc_duplex *duplex)
{
  *client = (struct client){.duplex = duplex};
  assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
}

static void end_client(struct client *client)
{
  struct rpc_duplex *duplex = client->duplex;
  pthread_mutex_lock(&duplex->lock);
  BUFFER_LITERAL(&duplex->sent, "Q\n");
  pthread_cond_signal(&duplex->sent_one);
  pthread_mutex_unlock(&duplex->lock);
  assert_int_equal(pthread_join(client->thread, NULL), 0);
}

/* ---- */

UNIT_TEST_WITH(test_each_call_gets_its_own_answer, set_up, tear_down)
{
  struct caller callers[CALLERS];
  struct client client;
  unsigned answered = 0;
  begin_client(&client, f->duplex);
  begin_callers(f, callers);
  for (size_t i = 0; i < CALLERS; i++) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(callers[i].wrong, 0);
    answered += callers[i].answered;
  }
  end_client(&client);
  assert_true(answered > CALLERS * ROUNDS / 2);
  assert_true(client.answers > 0);
  assert_int_equal(atomic_load(&f->duplex->calls_open), 0);
}

/* The client closes during the calls: every thread returns. */
UNIT_TEST_WITH(test_all_return_when_the_client_closes, set_up, tear_down)
{
  struct caller callers[CALLERS];
  struct client client;
  begin_client(&client, f->duplex);
  begin_callers(f, callers);
  pthread_mutex_lock(&f->duplex->lock);
  for (int64_t since_ms = clock_now_ms(); f->duplex->count < CALLERS;)
    await_signal(&f->duplex->sent_one, &f->duplex->lock, since_ms, "a call of each thread");
  pthread_cond_signal(&f->duplex->sent_one); /* this thread may have consumed the client's signal */
  pthread_mutex_unlock(&f->duplex->lock);
  f->bench->service->client_gone(f->bench->service->context, f->duplex->callbacks, false);
  for (size_t i = 0; i < CALLERS; i++) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(callers[i].wrong, 0);
  }
  end_client(&client);
}

/* ---- nested requests that call back ---- */

/* The Java code of the nested requests: it calls the last object. */
static struct {
  const struct fixture *fixture;
  _Atomic unsigned answered;
  _Atomic unsigned wrong;
} inner;

static void call_inside(void)
{
  struct stub_call call = {
      .callbacks = inner.fixture->callbacks, .id = IDS, .proxy = inner.fixture->proxies[IDS - 1]};
  char wanted[32];
  stub_call(&call);
  snprintf(wanted, sizeof wanted, "%d", IDS);
  atomic_fetch_add(strcmp(call.text, wanted) == 0 ? &inner.answered : &inner.wrong, 1);
}

static void *run_outer_caller(void *argument)
{
  struct caller *caller = argument;
  for (size_t round = 0; round < ROUNDS; round++) {
    size_t id = (caller->number + round) % (IDS - 1);
    char wanted[32];
    struct stub_call call = {.callbacks = caller->fixture->callbacks,
                             .id = (int64_t)id + 1,
                             .proxy = caller->fixture->proxies[id]};
    stub_call(&call);
    snprintf(wanted, sizeof wanted, "%zu", id + 1);
    caller->answered += strcmp(call.text, wanted) == 0 && call.nested == 1;
  }
  return NULL;
}

/* Nests a request in each call that is not nested itself, and answers at once. */
static void answer_after_request(struct client *client, unsigned long number, long id)
{
  if (id < IDS)
    hand_in(
        client->duplex,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"control\",\"params\":{\"method\":\"stats\"},\"options\":{"
        "\"within\":\"cb-%lu\"}}",
        number);
  hand_in(client->duplex, "{\"id\":\"cb-%lu\",\"result\":%ld}", number, id);
}

UNIT_TEST_WITH(test_nested_requests_call_back, set_up, tear_down)
{
  struct caller callers[CALLERS];
  struct client client = {.duplex = f->duplex, .answer = answer_after_request};
  inner.fixture = f;
  atomic_store(&inner.answered, 0);
  stub.while_counting = call_inside;
  assert_int_equal(pthread_create(&client.thread, NULL, run_client, &client), 0);
  for (size_t i = 0; i < CALLERS; i++) {
    callers[i] = (struct caller){.fixture = f, .number = i};
    assert_int_equal(pthread_create(&callers[i].thread, NULL, run_outer_caller, &callers[i]), 0);
  }
  for (size_t i = 0; i < CALLERS; i++) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(callers[i].answered, ROUNDS);
  }
  end_client(&client);
  assert_int_equal(atomic_load(&inner.answered), CALLERS * ROUNDS);
  assert_int_equal(atomic_load(&inner.wrong), 0);
  assert_int_equal(client.answers, CALLERS * ROUNDS);
  assert_int_equal(atomic_load(&f->duplex->calls_open), 0);
}

/* ---- giving and releasing ---- */

struct churner {
  const struct fixture *fixture;
  pthread_t thread;
  const atomic_bool *goes_on; /* stop flag, checked after ROUNDS; NULL: stops after ROUNDS */
};

/* Gives an ID like a request, and releases its proxy like Java's Cleaner. */
static void *run_churner(void *argument)
{
  const struct churner *churner = argument;
  const struct jvm_callback_hooks *hooks = stub_callbacks.hooks;
  struct rpc_callbacks *callbacks = churner->fixture->callbacks;
  for (int round = 0; round < ROUNDS || (churner->goes_on != NULL && atomic_load(churner->goes_on));
       round++) {
    struct rpc_given given = {.count = 0};
    struct jp_error error;
    assert_int_equal(rpc_callbacks_note(churner->fixture->duplex->callbacks, 5, &given, &error), JP_OK);
    uint64_t before = hooks->find(callbacks, 5, UINT64_MAX);
    uint64_t number = atomic_fetch_add(&stub_callbacks.proxies, 1) + 1;
    bool is_taken;
    assert_int_equal(hooks->made(callbacks, 5, number, before, &is_taken), JP_OK);
    rpc_callbacks_settle(churner->fixture->duplex->callbacks, &given);
    if (is_taken)
      hooks->released(callbacks, 5, number);
  }
  return NULL;
}

static void begin_churners(const struct fixture *f, struct churner *churners, const atomic_bool *goes_on)
{
  for (int i = 0; i < CHURNERS; i++) {
    churners[i] = (struct churner){.fixture = f, .goes_on = goes_on};
    assert_int_equal(pthread_create(&churners[i].thread, NULL, run_churner, &churners[i]), 0);
  }
}

static void end_churners(const struct churner *churners)
{
  for (int i = 0; i < CHURNERS; i++)
    assert_int_equal(pthread_join(churners[i].thread, NULL), 0);
}

/* However giving and releasing interleave, the releases account for each argument. */
UNIT_TEST_WITH(test_every_argument_is_accounted_for, set_up, tear_down)
{
  struct churner churners[CHURNERS];
  unsigned long sum = 0;
  begin_churners(f, churners, NULL);
  end_churners(churners);
  while (f->duplex->sent.len > 0) {
    char *sent = bench_read_sent(f->duplex);
    for (const char *entry = sent; (entry = strstr(entry, "\"given\":")) != NULL; entry++)
      sum += strtoul(entry + strlen("\"given\":"), NULL, 10);
    free(sent);
  }
  assert_int_equal(sum, CHURNERS * ROUNDS);
}

/* The client's session is deleted, and the client closes, while nested requests run and proxies are
 * collected. */
UNIT_TEST_WITH(test_a_client_closes_during_callbacks, set_up, tear_down)
{
  enum { DELETIONS = 20 };
  struct churner churners[CHURNERS];
  atomic_bool goes_on = true;
  begin_churners(f, churners, &goes_on);
  for (int i = 0; i < DELETIONS; i++)
    assert_int_equal(bench_serve_from(f->duplex, CONTROL("delete_session", "")), RPC_REPLY);
  bench_close_client(f->duplex);
  struct stub_call call = {.callbacks = f->callbacks, .id = 1, .proxy = f->proxies[0]};
  stub_call(&call);
  assert_int_equal(call.result, STUB_RESULT_FAILURE);
  assert_string_equal(call.text, "the connection of the client has ended");
  atomic_store(&goes_on, false);
  end_churners(churners);
}

UNIT_MAIN
