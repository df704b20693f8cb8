#include "zeromq_fixture.h"

#include "base/clock.h"

#include <stdlib.h>

enum {
  SEND_BUFFER_MAX = 30000,
  LARGE_MAX = 1024 * 1024,
  RECEIVE_TIMEOUT_MS = 60000,
  TICK_MS = 10,
  RARE_TICK_MS = 1000
};

static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  (void)watcher;
  struct zeromq_fixture *f = context;
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
  assert_int_equal(zeromq_listen(f->zeromq, NULL, 0, f->address, &error), JP_OK);
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

int open_fixture(void **state)
{
  return open_with_limits(state, MESSAGE_MAX, SEND_BUFFER_MAX);
}

int open_narrow_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, SEND_BUFFER_MAX);
}

int open_wide_fixture(void **state)
{
  return open_with_limits(state, LARGE_MAX, LARGE_MAX);
}

/* A context waits for its sockets when it ends. */
static void close_clients(struct zeromq_fixture *f)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] != NULL)
      zmq_close(f->clients[i]);
  }
}

void close_client(struct zeromq_fixture *f, void *socket)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] == socket)
      f->clients[i] = NULL;
  }
  zmq_close(socket);
}

void *open_client(struct zeromq_fixture *f, int type)
{
  for (int i = 0; i < CLIENTS_MAX; i++) {
    if (f->clients[i] == NULL)
      return f->clients[i] = zmq_socket(f->context, type);
  }
  fail_msg("more than %d clients", CLIENTS_MAX);
  return NULL;
}

int close_fixture(void **state)
{
  struct zeromq_fixture *f = *state;
  close_clients(f);
  stub_let_go(&f->stub);
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

void *connect_client(struct zeromq_fixture *f, int type)
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

void send_text(void *socket, const char *text, int flags)
{
  assert_int_equal(zmq_send(socket, text, strlen(text), flags), (int)strlen(text));
}

void expect_text(void *socket, const char *wanted)
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
