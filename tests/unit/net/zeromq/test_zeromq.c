#include "net/zeromq/zeromq.h"

#include "base/clock.h"
#include "net/zeromq/zeromq_state.h"
#include "stub_service.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  MESSAGE_MAX = 1000,
  PENDING_MAX = 50,
  SEND_BUFFER_MAX = 30000,
  LARGE_ANSWER = 64 * 1024,
  LARGE_MAX = 1024 * 1024,
  RECEIVE_TIMEOUT_MS = 20000,
  CLIENTS_MAX = 8,
  TICK_MS = 10,
  INPUT_MAX_TOTAL = 16 * 1024 * 1024,
  RARE_TICK_MS = 1000
};

struct fixture {
  struct stub stub;
  struct rpc_service service;
  struct crew *crew;
  struct zeromq *zeromq;
  void *context; /* the clients' */
  void *clients[CLIENTS_MAX];
  struct input_budget input;
  _Atomic bool tick_is_rare;
  _Atomic bool never_ticks;
  int64_t last_tick_ms;
};

static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  (void)watcher;
  struct fixture *f = context;
  if (atomic_load(&f->never_ticks))
    return now_ms + TICK_MS;
  if (atomic_load(&f->tick_is_rare) && now_ms - f->last_tick_ms < RARE_TICK_MS)
    return now_ms + TICK_MS;
  f->last_tick_ms = now_ms;
  (void)zeromq_tick(f->zeromq, now_ms);
  return now_ms + TICK_MS;
}

static int open_with_limits(void **state, size_t message_max, size_t send_buffer_max)
{
  struct fixture *f = calloc(1, sizeof *f);
  stub_open(&f->stub, 100, &f->service);
  struct jp_error error;
  f->input.max = INPUT_MAX_TOTAL;
  struct zeromq_config config = {.message_max = message_max,
                                 .input = &f->input,
                                 .pending_max = PENDING_MAX,
                                 .send_buffer_max = send_buffer_max,
                                 .handshake_ms = 1000};
  assert_int_equal(zeromq_bind(&config, &f->zeromq, &error), JP_OK);
  struct crew_config crew = {.threads = 2,
                             .threads_max = 20,
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

static int open_fixture(void **state)
{
  return open_with_limits(state, MESSAGE_MAX, SEND_BUFFER_MAX);
}

/* For what a client does not read. */
static int open_narrow_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, SEND_BUFFER_MAX);
}

static int open_wide_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, LARGE_MAX);
}

/* For a client that a failed assertion left open: its context would wait for it. */
static void close_clients(struct fixture *f)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] != NULL)
      zmq_close(f->clients[i]);
  }
}

static void close_client(struct fixture *f, void *socket)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] == socket)
      f->clients[i] = NULL;
  }
  zmq_close(socket);
}

static void *open_client(struct fixture *f, int type)
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
  struct fixture *f = *state;
  close_clients(f);
  stub_let_go(&f->stub);
  assert_true(crew_stop(f->crew, clock_now_ms() + 20000));
  zeromq_close(f->zeromq, 0);
  zeromq_destroy(f->zeromq);
  crew_destroy(f->crew);
  stub_close(&f->stub);
  assert_int_equal(atomic_load(&f->stub.clients), 0);
  zmq_ctx_term(f->context);
  free(f);
  return 0;
}

static void *connect_client(struct fixture *f, int type)
{
  void *socket = open_client(f, type);
  int timeout = RECEIVE_TIMEOUT_MS;
  int linger = 0;
  int unbounded = 0;
  zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(socket, ZMQ_SNDHWM, &unbounded, sizeof unbounded);
  assert_int_equal(zmq_connect(socket, zeromq_address(f->zeromq)), 0);
  return socket;
}

static void send_text(void *socket, const char *text, int flags)
{
  assert_int_equal(zmq_send(socket, text, strlen(text), flags), (int)strlen(text));
}

static void expect(void *socket, const char *wanted)
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

static void answers_in_the_envelope_that_came(void **state)
{
  struct fixture *f = *state;
  void *dealer = connect_client(f, ZMQ_DEALER);
  send_text(dealer, "bare", 0);
  expect(dealer, "bare");
  send_text(dealer, "", ZMQ_SNDMORE);
  send_text(dealer, "delimited", 0);
  char empty[1];
  assert_int_equal(zmq_recv(dealer, empty, 1, 0), 0);
  expect(dealer, "delimited");
  close_client(f, dealer);

  void *req = connect_client(f, ZMQ_REQ);
  send_text(req, "asked", 0);
  expect(req, "asked");
  close_client(f, req);
}

static void every_request_of_a_req_client_is_answered(void **state)
{
  struct fixture *f = *state;
  void *req = connect_client(f, ZMQ_REQ);
  send_text(req, "note", 0);
  expect(req, "");
  send_text(req, "", 0);
  expect(req, "unreadable: The message is empty");
  send_text(req, "one", ZMQ_SNDMORE);
  send_text(req, "two", 0);
  expect(req, "invalid: The payload has more than one frame: a message is one");
  char large[MESSAGE_MAX + 2];
  memset(large, 'x', sizeof large);
  large[sizeof large - 1] = '\0';
  send_text(req, large, 0);
  expect(req, "invalid: The message passes the limit message-max of 1000 bytes");
  send_text(req, "ping", 0);
  expect(req, "ping");
  close_client(f, req);
}

static void a_bare_notification_is_not_answered(void **state)
{
  struct fixture *f = *state;
  void *dealer = connect_client(f, ZMQ_DEALER);
  send_text(dealer, "note", 0);
  send_text(dealer, "after", 0);
  expect(dealer, "after");
  send_text(dealer, "", 0);
  expect(dealer, "unreadable: The message is empty");
  close_client(f, dealer);
}

static void keeps_the_order_of_each_client(void **state)
{
  enum { CLIENTS = 8, ROUNDS = 100, IN_FLIGHT = 20 };
  struct fixture *f = *state;
  void *clients[CLIENTS];
  for (int c = 0; c < CLIENTS; c++)
    clients[c] = connect_client(f, ZMQ_DEALER);
  char text[32];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < IN_FLIGHT; i++) {
      for (int c = 0; c < CLIENTS; c++) {
        snprintf(text, sizeof text, "%d/%d/%d", c, round, i);
        send_text(clients[c], text, 0);
      }
    }
    for (int c = 0; c < CLIENTS; c++) {
      for (int i = 0; i < IN_FLIGHT; i++) {
        snprintf(text, sizeof text, "%d/%d/%d", c, round, i);
        expect(clients[c], text);
      }
    }
  }
  for (int c = 0; c < CLIENTS; c++)
    close_client(f, clients[c]);
}

static void a_blocked_call_delays_its_own_client_only(void **state)
{
  struct fixture *f = *state;
  void *slow = connect_client(f, ZMQ_DEALER);
  void *quick = connect_client(f, ZMQ_DEALER);
  send_text(slow, "block", 0);
  send_text(slow, "behind", 0);
  stub_wait_inside(&f->stub, 1);
  for (int i = 0; i < 100; i++) {
    send_text(quick, "quick", 0);
    expect(quick, "quick");
  }
  stub_let_go(&f->stub);
  expect(slow, "block");
  expect(slow, "behind");
  close_client(f, slow);
  close_client(f, quick);
}

static void too_many_waiting_requests_are_refused(void **state)
{
  struct fixture *f = *state;
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  for (int i = 0; i < PENDING_MAX; i++)
    send_text(client, "waiting", 0);
  expect(client, "too many requests are waiting for this client (zmq-pending-max is 50)");
  stub_let_go(&f->stub);
  expect(client, "block");
  for (int i = 1; i < PENDING_MAX; i++)
    expect(client, "waiting");
  send_text(client, "again", 0);
  expect(client, "again");
  close_client(f, client);
}

/* A request that came counts until it is answered; one that does not fit beside what others have collected is
 * refused, and a small one is not. */
static void a_request_that_passes_the_bound_on_input_is_refused(void **state)
{
  struct fixture *f = *state;
  enum { LARGE = 20000, SMALL = 100 };
  char text[LARGE + 1];
  memset(text, 'x', LARGE);
  text[LARGE] = '\0';
  void *client = connect_client(f, ZMQ_DEALER);
  atomic_store(&f->input.total, INPUT_MAX_TOTAL - LARGE + 1);
  send_text(client, text, 0);
  expect(client, "too much input is under way (input-max-total is 16777216 bytes): try again later");
  send_text(client, text + LARGE - SMALL, 0);
  expect(client, text + LARGE - SMALL);

  atomic_store(&f->input.total, INPUT_MAX_TOTAL - LARGE);
  send_text(client, text, 0);
  expect(client, text);
  send_text(client, "block", 0); /* behind the large one, which is through then */
  stub_wait_inside(&f->stub, 1);
  assert_int_equal(f->input.total, INPUT_MAX_TOTAL - LARGE);
  send_text(client, text, 0);
  while (atomic_load(&f->input.total) != INPUT_MAX_TOTAL)
    usleep(1000);
  stub_let_go(&f->stub);
  expect(client, "block");
  expect(client, text);
  close_client(f, client);
}

/* --- a client that does not read --- */

/* What the server has of it. */
struct backlog {
  size_t pending, held_bytes, lent_bytes;
};

struct deaf {
  struct fixture *f;
  void *socket;
  size_t size; /* of its messages, each of which begins with its number */
  int sent;
  int others; /* messages of others that were served meanwhile */
};

/* An address whose connections fill soon: the system's buffers would take thousands of answers. */
static void bind_narrow(struct zeromq *zeromq, char *address, size_t size)
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

static void open_deaf(struct deaf *deaf, struct fixture *f, size_t size)
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
  struct zeromq *zeromq = deaf->f->zeromq;
  pthread_mutex_lock(&zeromq->lock);
  struct zeromq_identity *identity = zeromq_identity_get(zeromq, "deaf", 4);
  struct backlog backlog = {identity->pending, identity->held_bytes, atomic_load(&identity->lent_bytes)};
  zeromq_identity_release(identity);
  pthread_mutex_unlock(&zeromq->lock);
  /* Or one answer alone; and one more than there is room for. */
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

/* The number of its next answer; -1: a refusal. */
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

/* The last number so far, which no later one is below. */
static int receive_later(struct deaf *deaf, int last)
{
  int number = receive_numbered(deaf);
  assert_true(number == -1 || number > last);
  return number == -1 ? last : number;
}

/* Until the server has seen all that was sent, and has served or refused it or keeps it behind what is held.
 */
static struct backlog settle(const struct deaf *deaf)
{
  struct stub *stub = &deaf->f->stub;
  for (;; usleep(100)) {
    struct backlog backlog = backlog_of(deaf);
    int done = atomic_load(&stub->served) - deaf->others + atomic_load(&stub->refused);
    if (done >= deaf->sent || (backlog.held_bytes > 0 && done + (int)backlog.pending >= deaf->sent))
      return backlog;
  }
}

static void serve_another(struct deaf *deaf)
{
  enum { CALLS = 20 };
  void *other = connect_client(deaf->f, ZMQ_REQ);
  for (int i = 0; i < CALLS; i++) {
    send_text(other, "other", 0);
    expect(other, "other");
  }
  deaf->others += CALLS;
  close_client(deaf->f, other);
}

/* Until the system's buffers and the pipe are full: answers are held, requests wait behind them, and others
 * are served. While the buffers still fill, what is held may be taken: then there is more to send. */
static void fill_until_held(struct deaf *deaf)
{
  enum { BATCH = 12 }; /* twice that may wait, and what they get may be held */
  struct backlog backlog;
  do {
    do {
      send_numbered(deaf, BATCH);
      backlog = settle(deaf);
    } while (backlog.held_bytes == 0 || backlog.pending < BATCH);
    serve_another(deaf);
  } while (backlog_of(deaf).held_bytes == 0);
}

static void all_comes_in_order_once_a_client_reads(void **state, size_t size)
{
  struct deaf deaf;
  open_deaf(&deaf, *state, size);
  fill_until_held(&deaf);
  for (int i = 0; i < deaf.sent; i++)
    assert_int_equal(receive_numbered(&deaf), i);
  struct backlog left;
  while (left = backlog_of(&deaf), left.pending + left.held_bytes + left.lent_bytes > 0)
    usleep(100);
  close_client(deaf.f, deaf.socket);
}

static void small_answers_are_held_by_their_number(void **state)
{
  all_comes_in_order_once_a_client_reads(state, COUNTED_ABOVE - 24);
}

/* Those that are held go on when libzmq has sent others: no tick is needed. */
static void large_answers_are_held_by_their_bytes(void **state)
{
  struct fixture *f = *state;
  atomic_store(&f->never_ticks, true);
  all_comes_in_order_once_a_client_reads(state, LARGE_ANSWER);
}

static void answers_above_the_limit_wait_for_a_slow_client(void **state)
{
  enum { ANSWERS = 6 };
  struct deaf deaf;
  open_deaf(&deaf, *state, 2 * LARGE_ANSWER);
  assert_true(deaf.size > deaf.f->zeromq->config.send_buffer_max);
  send_numbered(&deaf, ANSWERS);
  assert_int_equal(settle(&deaf).held_bytes, deaf.size);
  for (int i = 0; i < ANSWERS; i++)
    assert_int_equal(receive_numbered(&deaf), i);
  close_client(deaf.f, deaf.socket);
}

/* Refusals come behind what is held, until it is too much. */
static void a_client_goes_on_whose_held_answers_were_dropped(void **state)
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

/* So that few answers fill the pipe of a client that is connected. */
static void lower_the_mark(struct fixture *f, void *client, int mark)
{
  send_text(client, "connected", 0);
  expect(client, "connected");
  pthread_mutex_lock(&f->zeromq->lock);
  assert_int_equal(zmq_setsockopt(f->zeromq->socket, ZMQ_SNDHWM, &mark, sizeof mark), 0);
  pthread_mutex_unlock(&f->zeromq->lock);
}

/* More answers at a time than a pipe takes: what is held goes out when the client has read. A tick a round
 * would take longer than this suite may; now and then one is needed, where libzmq's word of room came with
 * the last look at the events. */
static void held_answers_seldom_need_a_tick(void **state)
{
  enum { ROUNDS = 100, BURST = 8 * PENDING_MAX };
  struct fixture *f = *state;
  atomic_store(&f->tick_is_rare, true);
  void *client = connect_client(f, ZMQ_DEALER);
  lower_the_mark(f, client, 2 * PENDING_MAX);
  char answer[MESSAGE_MAX];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < BURST; i++)
      send_text(client, "burst", 0);
    for (int i = 0; i < BURST; i++) /* an echo, or a refusal where too many wait */
      assert_true(zmq_recv(client, answer, sizeof answer, 0) > 0);
  }
  close_client(f, client);
}

static void what_is_running_at_the_end_gets_an_error(void **state)
{
  struct fixture *f = *state;
  void *client = connect_client(f, ZMQ_REQ);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  zeromq_refuse_rest(f->zeromq, "shutting down");
  expect(client, "shutting down");
  assert_int_equal(atomic_load(&f->stub.taken_back), 0);
  stub_let_go(&f->stub);
  /* What it gives later is dropped, and so are the objects that it told of. */
  while (atomic_load(&f->stub.taken_back) == 0)
    usleep(1000);
  close_client(f, client);
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

/* TSan is what can fail here: a turn of a identity that has nothing any more looks at it before the lock. */
static void a_late_turn_may_meet_an_identity_that_is_used_again(void **state)
{
  struct fixture *f = *state;
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

static void answers_do_not_wait_for_a_slow_call_behind_them(void **state)
{
  struct fixture *f = *state;
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "one", 0);
  send_text(client, "two", 0);
  send_text(client, "block", 0);
  expect(client, "one");
  expect(client, "two");
  stub_let_go(&f->stub);
  expect(client, "block");
  close_client(f, client);
}

/* Whether they were sent already, or not yet because no tick has come. */
static void answers_come_before_the_error_at_the_end(void **state)
{
  struct fixture *f = *state;
  atomic_store(&f->tick_is_rare, true);
  void *client = connect_client(f, ZMQ_DEALER);
  send_text(client, "one", 0);
  send_text(client, "two", 0);
  send_text(client, "block", 0);
  stub_wait_inside(&f->stub, 1);
  zeromq_refuse_rest(f->zeromq, "shutting down");
  expect(client, "one");
  expect(client, "two");
  expect(client, "shutting down");
  close_client(f, client);
}

static void a_port_in_use_is_an_error_that_names_it(void **state)
{
  struct fixture *f = *state;
  unsigned port;
  assert_int_equal(sscanf(zeromq_address(f->zeromq), "tcp://127.0.0.1:%u", &port), 1);
  struct zeromq_config config = {.port = (uint16_t)port, .message_max = MESSAGE_MAX};
  struct zeromq *second;
  struct jp_error error;
  assert_int_equal(zeromq_bind(&config, &second, &error), JP_IO);
  assert_non_null(strstr(error.text, zeromq_address(f->zeromq)));
  assert_non_null(strstr(error.text, "in use"));
}

int main(void)
{
#define CASE_WITH(open, test) cmocka_unit_test_setup_teardown(test, open, close_fixture)
#define CASE(test)            CASE_WITH(open_fixture, test)
  const struct CMUnitTest tests[] = {
      CASE(answers_in_the_envelope_that_came),
      CASE(every_request_of_a_req_client_is_answered),
      CASE(a_bare_notification_is_not_answered),
      CASE(keeps_the_order_of_each_client),
      CASE(a_blocked_call_delays_its_own_client_only),
      CASE(too_many_waiting_requests_are_refused),
      CASE_WITH(open_wide_fixture, a_request_that_passes_the_bound_on_input_is_refused),
      CASE_WITH(open_narrow_fixture, small_answers_are_held_by_their_number),
      CASE_WITH(open_wide_fixture, large_answers_are_held_by_their_bytes),
      CASE_WITH(open_narrow_fixture, answers_above_the_limit_wait_for_a_slow_client),
      CASE_WITH(open_narrow_fixture, a_client_goes_on_whose_held_answers_were_dropped),
      CASE(held_answers_seldom_need_a_tick),
      CASE(a_late_turn_may_meet_an_identity_that_is_used_again),
      CASE(answers_do_not_wait_for_a_slow_call_behind_them),
      CASE(answers_come_before_the_error_at_the_end),
      CASE(what_is_running_at_the_end_gets_an_error),
      CASE(a_port_in_use_is_an_error_that_names_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
