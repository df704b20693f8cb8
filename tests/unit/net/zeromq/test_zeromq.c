/* Requests and identities, and the sending of answers: to a client that does not read, and before or after a slow
 * call. */
#include "base/clock.h"
#include "net/zeromq/zeromq_router.h"
#include "net/zeromq/zeromq_state.h"
#include "stub_service.h"
#include "tests/unit/await.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

enum {
  MESSAGE_MAX = 1000,
  PENDING_MAX = 50,
  LARGE_ANSWER = 64 * 1024,
  INPUT_MAX_TOTAL = 16 * 1024 * 1024,
  CLIENTS_MAX = 8,
  SEND_BUFFER_MAX = 30000,
  LARGE_MAX = 1024 * 1024,
  RECEIVE_TIMEOUT_MS = 60000,
  TICK_MS = 10,
  RARE_TICK_MS = 1000
};

struct zeromq_fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
  struct zeromq_router *zeromq;
  char address[ZEROMQ_ADDRESS_MAX];
  void *context; /* of the clients' sockets */
  void *clients[CLIENTS_MAX];
  struct input_budget input;
  _Atomic bool tick_is_rare; /* a second apart */
  _Atomic bool never_ticks;
  int64_t last_tick_ms; /* the watcher's */
};

/* --- a socket with a crew over the stub service, and clients of it --- */

static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  (void)watcher;
  struct zeromq_fixture *f = context;
  if (atomic_load(&f->never_ticks))
    return now_ms + TICK_MS;
  if (atomic_load(&f->tick_is_rare) && now_ms - f->last_tick_ms < RARE_TICK_MS)
    return now_ms + TICK_MS;
  f->last_tick_ms = now_ms;
  (void)zeromq_tick(f->zeromq);
  return now_ms + TICK_MS;
}

static int open_with_threads(void **state, size_t message_max, size_t send_buffer_max, unsigned threads_max)
{
  struct zeromq_fixture *f = calloc(1, sizeof *f);
  stub_open(&f->stub, 100, &f->service);
  struct jp_error error;
  f->input.max = INPUT_MAX_TOTAL;
  struct zeromq_config config = {.message_max = message_max,
                                 .input = &f->input,
                                 .pending_max = PENDING_MAX,
                                 .send_buffer_max = send_buffer_max,
                                 .handshake_ms = 1000};
  assert_int_equal(zeromq_create(&config, &f->zeromq, &error), JP_OK);
  assert_int_equal(zeromq_listen(f->zeromq, NULL, 0, 0, f->address, &error), JP_OK);
  struct crew_config crew = {.threads = 2,
                             .threads_max = threads_max,
                             .linger_ms = 100,
                             .busy_timeout_ms = 60000,
                             .tick = tick,
                             .context = f,
                             .tick_ms = TICK_MS};
  assert_int_equal(crew_create(&crew, &f->crew, &error), JP_OK);
  assert_int_equal(zeromq_start(f->zeromq, f->crew, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
  f->context = zmq_ctx_new();
  *state = f;
  return 0;
}

static int open_with_limits(void **state, size_t message_max, size_t send_buffer_max)
{
  return open_with_threads(state, message_max, send_buffer_max, 20);
}

static int open_fixture(void **state)
{
  return open_with_limits(state, MESSAGE_MAX, SEND_BUFFER_MAX);
}

/* Accepts large messages, and holds few bytes for a client that does not read. */
static int open_narrow_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, SEND_BUFFER_MAX);
}

/* Accepts large messages, and holds some of them. */
static int open_wide_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, LARGE_MAX);
}

/* While two calls block, only the watcher serves. */
static int open_two_threads(void **state)
{
  return open_with_threads(state, MESSAGE_MAX, SEND_BUFFER_MAX, 2);
}

/* Closes all sockets of the clients, because zmq_ctx_term waits for open sockets. */
static void close_clients(struct zeromq_fixture *f)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] != NULL)
      zmq_close(f->clients[i]);
  }
}

static void close_client(struct zeromq_fixture *f, void *socket)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] == socket)
      f->clients[i] = NULL;
  }
  zmq_close(socket);
}

/* Opens a socket of the clients' context. The fixture closes sockets that a failed test leaves open. */
static void *open_client(struct zeromq_fixture *f, int type)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] == NULL)
      return f->clients[i] = zmq_socket(f->context, type);
  }
  fail_msg("more than %d clients", CLIENTS_MAX);
  return NULL;
}

static int close_fixture(void **state)
{
  struct zeromq_fixture *f = *state;
  close_clients(f);
  stub_release(&f->stub);
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  zeromq_close(f->zeromq, 0);
  zeromq_destroy(f->zeromq);
  crew_destroy(f->crew);
  stub_close(&f->stub);
  assert_int_equal(atomic_load(&f->stub.clients), 0);
  zmq_ctx_term(f->context);
  free(f);
  return 0;
}

/* The same, connected. */
static void *connect_client(struct zeromq_fixture *f, int type)
{
  void *socket = open_client(f, type);
  int timeout = RECEIVE_TIMEOUT_MS;
  int linger = 0;
  int unbounded = 0;
  zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(socket, ZMQ_SNDHWM, &unbounded, sizeof unbounded);
  assert_int_equal(zmq_connect(socket, f->address), 0);
  return socket;
}

static void send_text(void *socket, const char *text, int flags)
{
  assert_int_equal(zmq_send(socket, text, strlen(text), flags), (int)strlen(text));
}

/* Expects a message with only this frame. */
static void expect_text(void *socket, const char *wanted)
{
  static char answer[32 * 1024];
  int length = zmq_recv(socket, answer, sizeof answer - 1, 0);
  assert_true(length >= 0);
  answer[length] = '\0';
  assert_string_equal(answer, wanted);
  int more;
  size_t size = sizeof more;
  zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
  assert_false(more);
}

static void ask(void *socket, const char *text, const char *wanted)
{
  send_text(socket, text, 0);
  expect_text(socket, wanted);
}

#define ZEROMQ_TEST(name, open) UNIT_TEST_OF(name, struct zeromq_fixture *f, open, close_fixture)

/* --- requests --- */

ZEROMQ_TEST(every_request_of_a_req_client_is_answered, open_fixture)
{
  void *req = connect_client(f, ZMQ_REQ);
  ask(req, "note", "");
  ask(req, "", "unreadable: The message is empty");
  send_text(req, "one", ZMQ_SNDMORE);
  ask(req, "two", "invalid: The payload has more than one frame: a message is one");
  send_text(req, "!one", ZMQ_SNDMORE);
  send_text(req, "two", ZMQ_SNDMORE);
  ask(req, "", "other invalid: The payload has more than one frame: a message is one");
  send_text(req, "", ZMQ_SNDMORE);
  ask(req, "!two", "invalid: The payload has more than one frame: a message is one");
  char large[MESSAGE_MAX + 2];
  memset(large, 'x', sizeof large);
  large[sizeof large - 1] = '\0';
  send_text(req, large, 0);
  expect_text(req, "invalid: The message passes the limit message-max of 1000 bytes");
  ask(req, "ping", "ping");
  close_client(f, req);
}

enum { LATE_TURNS = 2000 };

static void *take_late_turns(void *argument)
{
  struct zeromq_identity *identity = argument;
  struct crew_member member = {0};
  for (int i = 0; i < LATE_TURNS; i++)
    identity->source.turn(&identity->source, &member);
  return NULL;
}

/* Can fail under TSan only: a turn of an identity without requests reads its fields before it locks. */
ZEROMQ_TEST(a_late_turn_may_get_an_identity_that_is_used_again, open_fixture)
{
  pthread_mutex_lock(&f->zeromq->lock);
  struct zeromq_identity *identity = zeromq_identity_get(f->zeromq, "first", 5);
  zeromq_identity_release(identity);
  pthread_mutex_unlock(&f->zeromq->lock);

  pthread_t late;
  assert_int_equal(pthread_create(&late, NULL, take_late_turns, identity), 0);
  for (int i = 0; i < LATE_TURNS; i++) {
    pthread_mutex_lock(&f->zeromq->lock);
    assert_ptr_equal(zeromq_identity_get(f->zeromq, &i, sizeof i), identity);
    zeromq_identity_release(identity);
    pthread_mutex_unlock(&f->zeromq->lock);
  }
  pthread_join(late, NULL);
}

/* --- sending answers --- */

/* The server's data for one client. */
struct backlog {
  size_t pending, held_bytes, lent_bytes;
};

struct deaf {
  struct zeromq_fixture *f;
  void *socket;
  size_t size; /* of the client's messages, each of which begins with its number */
  int sent;
  int others; /* messages of other clients that were served while this client did not read */
};

/* Binds an address with small system buffers, which otherwise would hold thousands of answers. */
static void bind_narrow(struct zeromq_router *zeromq, char *address, size_t size)
{
  const int buffer = 16 * 1024;
  const int mark = 100;
  pthread_mutex_lock(&zeromq->lock);
  int failed = zmq_setsockopt(zeromq->socket, ZMQ_SNDBUF, &buffer, sizeof buffer) |
               zmq_setsockopt(zeromq->socket, ZMQ_SNDHWM, &mark, sizeof mark) |
               zmq_bind(zeromq->socket, "tcp://127.0.0.1:*") |
               zmq_getsockopt(zeromq->socket, ZMQ_LAST_ENDPOINT, address, &size);
  if (zeromq_has_input(zeromq, false))
    crew_submit(zeromq->crew, &zeromq->source);
  pthread_mutex_unlock(&zeromq->lock);
  assert_int_equal(failed, 0);
}

static void open_deaf(struct deaf *deaf, struct zeromq_fixture *f, size_t size)
{
  char address[64];
  bind_narrow(f->zeromq, address, sizeof address);
  *deaf = (struct deaf){.f = f, .socket = open_client(f, ZMQ_DEALER), .size = size};
  const struct {
    int option;
    int value;
  } options[] = {{ZMQ_RCVHWM, 1}, {ZMQ_RCVBUF, 4096}, {ZMQ_SNDHWM, 0}, {ZMQ_LINGER, 0}};
  for (size_t i = 0; i < COUNT_OF(options); i++)
    zmq_setsockopt(deaf->socket, options[i].option, &options[i].value, sizeof options[i].value);
  zmq_setsockopt(deaf->socket, ZMQ_ROUTING_ID, "deaf", 4);
  assert_int_equal(zmq_connect(deaf->socket, address), 0);
}

static struct backlog backlog_of(const struct deaf *deaf)
{
  struct zeromq_router *zeromq = deaf->f->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  struct zeromq_identity *identity = zeromq_identity_get(zeromq, "deaf", 4);
  struct backlog backlog = {identity->pending, identity->held_bytes, atomic_load(&identity->lent_bytes)};
  zeromq_identity_release(identity);
  pthread_mutex_unlock(&zeromq->lock);
  /* Lent bytes are at most half of the limit, or a single answer of any size. The total exceeds the limit by
   * at most one lent and one held answer. */
  size_t limit = zeromq->config.send_buffer_max;
  assert_true(backlog.lent_bytes <= limit / 2 || backlog.lent_bytes == deaf->size);
  assert_true(backlog.lent_bytes + backlog.held_bytes <= limit + 2 * deaf->size);
  return backlog;
}

static void send_numbered(struct deaf *deaf, int count)
{
  char *message = test_malloc(deaf->size);
  memset(message, 'x', deaf->size);
  for (int i = 0; i < count; i++) {
    snprintf(message, deaf->size, "%d ", deaf->sent++);
    assert_int_equal(zmq_send(deaf->socket, message, deaf->size, 0), (int)deaf->size);
  }
  test_free(message);
}

/* Returns the number of the next answer; -1: a refusal. */
static int receive_numbered(struct deaf *deaf)
{
  zmq_msg_t answer;
  zmq_msg_init(&answer);
  assert_true(zmq_msg_recv(&answer, deaf->socket, 0) >= 0);
  int number = -1;
  if (zmq_msg_size(&answer) == deaf->size)
    assert_int_equal(sscanf(zmq_msg_data(&answer), "%d ", &number), 1);
  else
    assert_memory_equal(zmq_msg_data(&answer), "too many requests", 17);
  zmq_msg_close(&answer);
  return number;
}

/* Receives an answer and checks the order. Returns the last number so far. */
static int receive_later(struct deaf *deaf, int last)
{
  int number = receive_numbered(deaf);
  assert_true(number == -1 || number > last);
  return number == -1 ? last : number;
}

static bool is_empty(struct backlog backlog)
{
  return backlog.pending + backlog.held_bytes + backlog.lent_bytes == 0;
}

/* Waits until the server has served, refused or queued all messages that were sent. */
static struct backlog settle(const struct deaf *deaf)
{
  struct stub *stub = &deaf->f->stub;
  for (int64_t since_ms = clock_now_ms();;) {
    struct backlog backlog = backlog_of(deaf);
    int done = atomic_load(&stub->served) - deaf->others + atomic_load(&stub->refused);
    if (done >= deaf->sent || (backlog.held_bytes > 0 && done + (int)backlog.pending >= deaf->sent))
      return backlog;
    AWAIT_PAUSE(since_ms, "all requests to be served, refused or queued after held answers");
  }
}

static void serve_another(struct deaf *deaf)
{
  enum { CALLS = 20 };
  void *other = connect_client(deaf->f, ZMQ_REQ);
  for (int i = 0; i < CALLS; i++) {
    ask(other, "other", "other");
  }
  deaf->others += CALLS;
  close_client(deaf->f, other);
}

/* Sends until the system's buffers and the pipe are full: answers are held, requests wait, and other clients are
 * served. While the buffers still fill, held answers may be sent: then more messages are needed. */
static void fill_until_held(struct deaf *deaf)
{
  enum { BATCH = 12 }; /* twice this number of requests may wait, and their answers may be held */
  struct backlog backlog;
  const int64_t since_ms = clock_now_ms();
  do {
    do {
      AWAIT_CHECK(since_ms, "answers to be held");
      send_numbered(deaf, BATCH);
      backlog = settle(deaf);
    } while (backlog.held_bytes == 0 || backlog.pending < BATCH);
    serve_another(deaf);
  } while (backlog_of(deaf).held_bytes == 0);
}

static void check_order_once_the_client_reads(struct zeromq_fixture *f, size_t size)
{
  struct deaf deaf;
  open_deaf(&deaf, f, size);
  fill_until_held(&deaf);
  for (int i = 0; i < deaf.sent; i++)
    assert_int_equal(receive_numbered(&deaf), i);
  AWAIT(is_empty(backlog_of(&deaf)));
  close_client(deaf.f, deaf.socket);
}

UNIT_TEST_WITH(small_answers_are_held_by_their_number, open_narrow_fixture, close_fixture)
{
  check_order_once_the_client_reads(*state, COUNTED_ABOVE - 24);
}

/* Held answers are sent when libzmq has sent earlier answers; no tick is needed. */
ZEROMQ_TEST(large_answers_are_held_by_their_bytes, open_wide_fixture)
{
  atomic_store(&f->never_ticks, true);
  check_order_once_the_client_reads(f, LARGE_ANSWER);
}

UNIT_TEST_WITH(answers_above_the_limit_wait_for_a_slow_client, open_narrow_fixture, close_fixture)
{
  enum { ANSWERS = 6 };
  struct deaf deaf;
  open_deaf(&deaf, *state, 2 * (size_t)LARGE_ANSWER);
  assert_true(deaf.size > deaf.f->zeromq->config.send_buffer_max);
  send_numbered(&deaf, ANSWERS);
  assert_int_equal(settle(&deaf).held_bytes, deaf.size);
  for (int i = 0; i < ANSWERS; i++)
    assert_int_equal(receive_numbered(&deaf), i);
  close_client(deaf.f, deaf.socket);
}

/* Refusals are held after the held answers, until they exceed the limit. */
UNIT_TEST_WITH(a_client_whose_held_answers_were_dropped_is_served, open_narrow_fixture, close_fixture)
{
  struct deaf deaf;
  open_deaf(&deaf, *state, MESSAGE_MAX);
  fill_until_held(&deaf);
  size_t held, before = 0;
  for (; held = settle(&deaf).held_bytes, held >= before; before = held)
    send_numbered(&deaf, 1);

  int last = -1;
  struct backlog left;
  while (left = backlog_of(&deaf), left.pending + left.held_bytes > 0)
    last = receive_later(&deaf, last);
  send_numbered(&deaf, 1);
  while (last != deaf.sent - 1)
    last = receive_later(&deaf, last);
  close_client(deaf.f, deaf.socket);
}

/* Lowers the high-water mark, so that few answers fill the client's pipe. */
static void lower_the_mark(struct zeromq_fixture *f, void *client, int mark)
{
  ask(client, "connected", "connected");
  pthread_mutex_lock(&f->zeromq->lock);
  assert_int_equal(zmq_setsockopt(f->zeromq->socket, ZMQ_SNDHWM, &mark, sizeof mark), 0);
  pthread_mutex_unlock(&f->zeromq->lock);
}

/* More answers at a time than the pipe accepts: held answers are sent when the client has read. With one tick for each
 * round this would take 100 s. Some rounds need a tick, because libzmq has reported room with the last read of the
 * events. */
UNIT_TEST_WITH(held_answers_seldom_need_a_tick, open_fixture, close_fixture)
{
  enum { ROUNDS = 100, BURST = 8 * PENDING_MAX };
  struct zeromq_fixture *f = *state;
  atomic_store(&f->tick_is_rare, true);
  void *client = connect_client(f, ZMQ_DEALER);
  lower_the_mark(f, client, 2 * PENDING_MAX);
  char answer[MESSAGE_MAX];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < BURST; i++)
      send_text(client, "burst", 0);
    for (int i = 0; i < BURST; i++) /* an echo, or a refusal if too many wait */
      assert_true(zmq_recv(client, answer, sizeof answer, 0) > 0);
  }
  close_client(f, client);
}

ZEROMQ_TEST(answers_do_not_wait_for_a_later_slow_call, open_fixture)
{
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "one", 0);
  send_text(client, "two", 0);
  ask(client, "block", "one");
  expect_text(client, "two");
  stub_release(&f->stub);
  expect_text(client, "block");
  close_client(f, client);
}

/* Without a tick. While the test holds the lock, the messages remain in the socket, so that one turn serves
 * all of them. */
UNIT_TEST_WITH(a_turn_sends_its_answers_once_they_are_many, open_fixture, close_fixture)
{
  enum { MESSAGES = PENDING_MAX - 1, SENT = MESSAGES - ANSWERS_MAX + 1 };
  struct zeromq_fixture *f = *state;
  atomic_store(&f->never_ticks, true);
  void *client = connect_client(f, ZMQ_DEALER);
  ask(client, "connected", "connected");
  pthread_mutex_lock(&f->zeromq->lock);
  for (int i = 0; i < MESSAGES; i++)
    send_text(client, "quick", 0);
  send_text(client, "block", 0);
  usleep(20000);
  pthread_mutex_unlock(&f->zeromq->lock);
  for (int i = 0; i < SENT; i++)
    expect_text(client, "quick");
  stub_release(&f->stub);
  for (int i = SENT; i < MESSAGES; i++)
    expect_text(client, "quick");
  expect_text(client, "block");
  close_client(f, client);
}

/* Both answers that were sent already, and answers that wait for a tick. */
ZEROMQ_TEST(answers_precede_the_error_at_the_end, open_fixture)
{
  atomic_store(&f->tick_is_rare, true);
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "one", 0);
  send_text(client, "two", 0);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  zeromq_refuse_rest(f->zeromq, "shutting down");
  expect_text(client, "one");
  expect_text(client, "two");
  expect_text(client, "shutting down");
  close_client(f, client);
}

/* The watcher's turn leaves the request to a member, but the client has received the error already. */
ZEROMQ_TEST(a_request_that_was_refused_at_the_end_does_not_run, open_two_threads)
{
  enum { THREADS = 2, CLIENTS = THREADS + 1 };
  void *clients[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = connect_client(f, ZMQ_DEALER);
    send_text(clients[i], i < THREADS ? "block" : "hold", 0);
    stub_wait_inside(&f->stub, i + 1);
  }
  zeromq_refuse_rest(f->zeromq, "shutting down");
  stub_release(&f->stub);
  for (int i = 0; i < CLIENTS; i++) {
    expect_text(clients[i], "shutting down");
    ask(clients[i], "next", "next");
  }
  assert_int_equal(atomic_load(&f->stub.served), THREADS + CLIENTS); /* no "hold" */
}

UNIT_MAIN
