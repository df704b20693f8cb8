#include "shm_fixture.h"
#include "tests/unit/await.h"

/* --- the service --- */

static enum jp_status read_stream(void *state, struct buffer *out, size_t max)
{
  (void)max;
  struct fixture *f = state;
  if (atomic_fetch_add(&f->parts, 1) == 3)
    return JP_CLOSED;
  buffer_append_text(out, TEXT("part "));
  return JP_OK;
}

static enum jp_status break_stream(void *state, struct buffer *out, size_t max)
{
  (void)state;
  (void)out;
  (void)max;
  return JP_IO;
}

static void close_stream(void *state)
{
  (void)state;
}

static enum rpc_served serve(void *context, struct rpc_worker *worker, struct rpc_client *client,
                             struct text message, struct buffer *out, size_t reply_max,
                             struct rpc_stream *stream)
{
  struct fixture *f = context;
  bool breaks = text_equal(message, TEXT("broken stream"));
  if (!breaks && !text_equal(message, TEXT("stream")))
    return stub_codecs[RPC_CODEC_JSONRPC]->serve(context, worker, client, message, out, reply_max, stream);
  atomic_store(&f->parts, 0);
  buffer_append_text(out, TEXT("<"));
  *stream =
      (struct rpc_stream){.body = {f, breaks ? break_stream : read_stream, close_stream}, .tail = TEXT(">")};
  return RPC_STREAM;
}

/* --- the fixture --- */

static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  struct fixture *f = context;
  (void)connection_table_tick(&f->table, watcher, now_ms);
  return now_ms + TICK_MS;
}

int connect_client(struct fixture *f)
{
  int ends[2];
  const struct timeval timeout = {.tv_sec = WAIT_SECONDS};
  const struct rpc_address address = {0};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  connection_table_accept(&f->table, ends[1], &f->http.protocol, &address);
  return ends[0];
}

static int open_with(void **state, int64_t timeout_ms, size_t input_max, size_t ring_size, size_t total)
{
  struct fixture *f = calloc(1, sizeof *f);
  struct jp_error error;
  f->input.max = input_max;
  stub_open(&f->stub, 100, &f->stub_service);
  f->codec = *stub_codecs[RPC_CODEC_JSONRPC];
  f->codec.serve = serve;
  f->codecs[RPC_CODEC_JSONRPC] = &f->codec;
  f->service = f->stub_service;
  f->service.codecs = f->codecs;
  shm_pool_init(&f->pool, ring_size, total);
  const struct http_site site = {.takes_shm = true, .prefix = TEXT("/rpc")};
  http_protocol_init(&f->http, &site, &websocket_protocol, &f->pool.upgrade);
  const struct connection_limits limits = {.message_max = MESSAGE_MAX,
                                           .send_buffer_max = MESSAGE_MAX,
                                           .header_max = 4096,
                                           .connections_max = CONNECTIONS,
                                           .header_timeout_ms = timeout_ms,
                                           .body_timeout_ms = timeout_ms,
                                           .idle_timeout_ms = timeout_ms};
  const struct crew_config crew = {.threads = 2,
                                   .threads_max = 4,
                                   .linger_ms = 1000,
                                   .busy_timeout_ms = 60000,
                                   .tick = tick,
                                   .context = f,
                                   .tick_ms = TICK_MS,
                                   .look_ns = 50000,
                                   .may_pause = true};
  assert_int_equal(crew_create(&crew, &f->crew, &error), JP_OK);
  assert_int_equal(connection_table_init(&f->table, f->crew, &limits, &f->input, &error), JP_OK);
  assert_int_equal(crew_start(f->crew, &f->service, &error), JP_OK);
  f->fd = connect_client(f);
  *state = f;
  return 0;
}

int shm_fixture_open(void **state)
{
  return open_with(state, 60000, INPUT_MAX, RING_SIZE, 2 * ring_region_size(RING_SIZE));
}

int shm_fixture_open_small(void **state)
{
  return open_with(state, 60000, INPUT_MAX, RING_SIZE_MIN, ring_region_size(RING_SIZE_MIN));
}

int shm_fixture_open_short_of_input(void **state)
{
  return open_with(state, 60000, 64 * 1024, RING_SIZE, ring_region_size(RING_SIZE));
}

int shm_fixture_open_large(void **state)
{
  int failure = open_with(state, 60000, INPUT_MAX, 64 * RING_SIZE_STEP,
                          CONNECTIONS * ring_region_size(64 * RING_SIZE_STEP));
  struct fixture *f = *state;
  f->pool.rest_ms = 30;
  return failure;
}

int shm_fixture_open_impatient(void **state)
{
  return open_with(state, SHORT_MS, INPUT_MAX, RING_SIZE, ring_region_size(RING_SIZE));
}

int shm_fixture_open_without(void **state)
{
  return open_with(state, 60000, INPUT_MAX, 0, SIZE_MAX);
}

/* The crew has to close what was seized when its thread comes back: one that has stopped leaves it. */
static void await_clients(struct fixture *f)
{
  enum { CLOSE_MS = 60000 };
  int64_t deadline_ms = clock_now_ms() + CLOSE_MS;
  while (atomic_load(&f->stub.clients) > 0 && clock_now_ms() < deadline_ms)
    usleep(1000);
  assert_int_equal(atomic_load(&f->stub.clients), 0);
}

int shm_fixture_close(void **state)
{
  struct fixture *f = *state;
  if (f->fd >= 0)
    close(f->fd);
  ring_region_unmap(&f->region);
  stub_let_go(&f->stub);
  crew_refuse_all(f->crew);
  connection_table_drain(&f->table, 0);
  AWAIT(connection_table_is_drained(&f->table));
  await_clients(f);
  assert_true(crew_stop(f->crew, clock_now_ms() + WAIT_SECONDS * 1000));
  connection_table_fini(&f->table);
  crew_destroy(f->crew);
  stub_close(&f->stub);
  assert_int_equal(atomic_load(&f->pool.total), 0);
  free(f);
  return 0;
}

/* --- the client --- */

void send_text(int fd, const char *text)
{
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

int receive_head(int fd, char *head, size_t room)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(2 * sizeof(int))];
  } control = {0};
  struct iovec bytes = {.iov_base = head, .iov_len = room - 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  assert_true(count > 0);
  head[count] = '\0';
  struct cmsghdr *found = CMSG_FIRSTHDR(&message);
  if (found == NULL)
    return -1;
  assert_int_equal(found->cmsg_len, CMSG_LEN(sizeof(int)));
  int memory;
  memcpy(&memory, CMSG_DATA(found), sizeof memory);
  return memory;
}

void begin_sharing(struct fixture *f)
{
  char head[1024];
  char wanted[160];
  struct jp_error error = {0};
  send_text(f->fd, REQUEST);
  int memory = receive_head(f->fd, head, sizeof head);
  snprintf(wanted, sizeof wanted,
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
           "jpeer-shm-ring: %zu\r\n\r\n",
           f->pool.ring_size);
  assert_string_equal(head, wanted);
  assert_int_equal(ring_region_map(memory, f->pool.ring_size, &f->region, &error), JP_OK);
  close(memory);
  ring_region_open_client(&f->region, &f->out, &f->in);
}

void ring_peer(struct fixture *f)
{
  char bell = 0;
  assert_int_equal(send(f->fd, &bell, 1, MSG_NOSIGNAL), 1);
}

void show_written(struct fixture *f)
{
  if (ring_writer_publish(&f->out))
    ring_peer(f);
}

/* Sleeps until the peer has written more, or has taken something where this side waits for room. False: it has
 * ended the connection. */
static bool wait_for_peer(struct fixture *f, bool for_room)
{
  bool is_open = true;
  bool sleeps = ring_reader_sleep(&f->in);
  if (sleeps && for_room)
    sleeps = ring_writer_await_room(&f->out);
  if (sleeps) {
    char bells[64];
    is_open = recv(f->fd, bells, sizeof bells, 0) > 0;
  }
  ring_reader_wake(&f->in);
  ring_writer_wake(&f->out);
  ring_reader_look(&f->in);
  return is_open;
}

void send_frames(struct fixture *f, const struct buffer *frames)
{
  size_t sent = 0;
  for (;;) {
    sent += ring_write(&f->out, frames->data + sent, frames->len - sent);
    show_written(f);
    if (sent == frames->len)
      return;
    assert_true(wait_for_peer(f, true));
  }
}

void send_message(struct fixture *f, struct text message)
{
  struct buffer frame;
  buffer_init(&frame);
  ring_append_frame(&frame, RING_JSON, message);
  send_frames(f, &frame);
  buffer_fini(&frame);
}

uint32_t receive_frame(struct fixture *f, struct buffer *payload)
{
  uint32_t kind = 0;
  size_t length;
  enum ring_found found;
  bool is_open = true;
  while ((found = ring_read_head(&f->in, &kind, &length)) != RING_FRAME) {
    assert_int_not_equal(found, RING_BROKEN);
    if (found == RING_SKIPPED)
      continue;
    if (!is_open)
      return 0;
    is_open = wait_for_peer(f, false);
  }
  while (f->in.left > 0) {
    char *into = buffer_reserve(payload, f->in.left);
    size_t count = ring_read(&f->in, into, f->in.left);
    payload->len += count;
    if (ring_reader_publish(&f->in))
      ring_peer(f);
    if (count == 0)
      assert_true(wait_for_peer(f, false));
  }
  if (ring_reader_publish(&f->in))
    ring_peer(f);
  return kind;
}

void expect_frame(struct fixture *f, uint32_t kind, struct text wanted)
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(f, &payload), kind);
  assert_true(text_equal(buffer_text(&payload), wanted));
  buffer_fini(&payload);
}

void expect_answer(struct fixture *f, struct text wanted)
{
  expect_frame(f, RING_JSON, wanted);
}

void expect_end(struct fixture *f, const char *reason)
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(f, &payload), RING_END);
  assert_true(text_equal(buffer_text(&payload), text_of(reason)));
  buffer_clear(&payload);
  assert_int_equal(receive_frame(f, &payload), 0);
  buffer_fini(&payload);
}
