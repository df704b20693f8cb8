#include "duplex_fixture.h"
#include "tests/unit/await.h"

#include "base/clock.h"
#include "net/websocket/websocket_protocol.h"
#include "ring_client.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MEBIBYTE = 1024 * 1024, TICK_MS = 5, SLEEP_MAX_MS = 1000, RECEIVE_SECONDS = 60, DESCRIPTORS = 4096 };

/* The connected clients, by descriptor. */
static struct {
  atomic_bool is_connected;
  _Atomic(struct ring_end *) ring; /* NULL: a WebSocket */
} clients[DESCRIPTORS];

static size_t or_else(size_t value, size_t otherwise)
{
  return value > 0 ? value : otherwise;
}

/* --- the fixture --- */

/* Like the tick of the server, due after at most one second. */
static int64_t tick(void *context, struct crew_member *watcher, int64_t now_ms)
{
  struct duplex_fixture *f = context;
  if (atomic_load(&f->has_no_ticks))
    return now_ms + TICK_MS;
  int64_t due_ms = connection_table_tick(&f->table, watcher, now_ms);
  due_ms = due_ms < now_ms + SLEEP_MAX_MS ? due_ms : now_ms + SLEEP_MAX_MS;
  return due_ms <= now_ms ? now_ms + TICK_MS : due_ms;
}

void duplex_fixture_open(struct duplex_fixture *f, struct duplex_options options)
{
  memset(f, 0, sizeof *f);
  f->options = options;
  duplex_service_open(&f->s);
  f->input.max = or_else(options.input_max, (size_t)16 * MEBIBYTE);
  struct crew_config config = {.threads = options.threads,
                               .threads_max = options.threads_max,
                               .linger_ms = 1000,
                               .busy_timeout_ms = (int64_t)or_else((size_t)options.busy_timeout_ms, 60000),
                               .poll_ns = options.poll_ns,
                               .may_pause = options.poll_ns > 0,
                               .tick = tick,
                               .context = f,
                               .tick_ms = TICK_MS};
  struct jp_error error;
  assert_int_equal(crew_create(&config, &f->crew, &error), JP_OK);
  struct connection_limits limits = {.message_max = or_else(options.message_max, MEBIBYTE / 4),
                                     .send_buffer_max = or_else(options.send_buffer_max, MEBIBYTE),
                                     .header_max = 4096,
                                     .connections_max = 100,
                                     .header_timeout_ms = 60000,
                                     .body_timeout_ms =
                                         (int64_t)or_else((size_t)options.body_timeout_ms, 60000),
                                     .idle_timeout_ms = 60000,
                                     .numbers = &f->connection_numbers};
  assert_int_equal(connection_table_init(&f->table, f->crew, &limits, &f->input, &error), JP_OK);
  struct http_site site = {.is_loopback = options.ring_size == 0,
                           .has_shm = options.ring_size > 0,
                           .host = TEXT_ABSENT,
                           .prefix = TEXT("/rpc")};
  shm_pool_init(&f->pool, options.ring_size, (size_t)64 * MEBIBYTE);
  http_protocol_init(&f->http, &site, &websocket_protocol, options.ring_size > 0 ? &f->pool.upgrade : NULL);
  assert_int_equal(crew_start(f->crew, &f->s.service, &error), JP_OK);
}

void duplex_fixture_drain(struct duplex_fixture *f, int64_t grace_ms)
{
  crew_refuse_all(f->crew);
  connection_table_drain(&f->table, clock_now_ms() + grace_ms);
}

void duplex_fixture_close(struct duplex_fixture *f)
{
  for (int fd = 0; fd < DESCRIPTORS; fd++) {
    if (atomic_load(&clients[fd].is_connected))
      duplex_leave(fd);
  }
  stub_release(&f->s.stub);
  duplex_fixture_drain(f, 0);
  AWAIT(connection_table_is_drained(&f->table));
  duplex_service_join(&f->s);
  /* A seized connection counts as drained while its thread is still inside the service. When the thread
   * returns, it must close the connection and the client. The thread cannot close them after the crew has
   * stopped. */
  AWAIT(atomic_load(&f->s.stub.clients) == 0);
  assert_true(crew_stop(f->crew, clock_now_ms() + 60000));
  connection_table_fini(&f->table);
  crew_destroy(f->crew);
  duplex_service_close(&f->s);
}

/* --- clients --- */

static void write_all(int fd, const void *bytes, size_t count)
{
  for (size_t done = 0; done < count;) {
    ssize_t written = send(fd, (const char *)bytes + done, count - done, MSG_NOSIGNAL);
    if (written < 0)
      return; /* the connection has ended, and the next receive will report this */
    done += (size_t)written;
  }
}

int duplex_connect_http(struct duplex_fixture *f)
{
  int fds[2];
  struct timeval timeout = {.tv_sec = RECEIVE_SECONDS};
  struct rpc_address address = {0};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout), 0);
  connection_table_accept(&f->table, fds[0], &f->http.protocol, &address, NULL);
  return fds[1];
}

int duplex_connect(struct duplex_fixture *f)
{
  static const char request[] = "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                "Sec-WebSocket-Version: 13\r\n\r\n";
  int fd = duplex_connect_http(f);
  assert_true(fd < DESCRIPTORS);
  atomic_store(&clients[fd].is_connected, true);
  if (f->pool.ring_size > 0) {
    struct ring_end *client = calloc(1, sizeof *client);
    assert_non_null(client);
    client->fd = fd;
    begin_sharing(client);
    atomic_store(&clients[fd].ring, client);
    return fd;
  }
  write_all(fd, request, sizeof request - 1);
  char head[512];
  size_t length = 0;
  do {
    assert_int_equal(recv(fd, head + length, 1, 0), 1);
    length++;
  } while (length < 4 || memcmp(head + length - 4, "\r\n\r\n", 4) != 0);
  assert_memory_equal(head, "HTTP/1.1 101", 12);
  return fd;
}

void duplex_leave(int fd)
{
  atomic_store(&clients[fd].is_connected, false);
  struct ring_end *client = atomic_exchange(&clients[fd].ring, NULL);
  if (client != NULL)
    ring_region_unmap(&client->region);
  free(client);
  close(fd);
}

int duplex_connect_open(struct duplex_fixture *f)
{
  int fd = duplex_connect(f);
  duplex_send(fd, "open");
  duplex_expect(fd, "opened");
  return fd;
}

/* Masked with zeros. */
static size_t write_frame(unsigned char *into, const char *text)
{
  size_t length = strlen(text);
  assert_true(length < 126);
  into[0] = 0x81;
  into[1] = (unsigned char)(0x80 | length);
  memset(into + 2, 0, 4);
  memcpy(into + 6, text, length);
  return length + 6;
}

void duplex_send(int fd, const char *text)
{
  unsigned char frame[132];
  struct ring_end *client = atomic_load(&clients[fd].ring);
  if (client != NULL)
    send_message(client, text_of(text));
  else
    write_all(fd, frame, write_frame(frame, text));
}

void duplex_send_nonsense(int fd)
{
  struct ring_end *client = atomic_load(&clients[fd].ring);
  struct buffer frame = {0};
  if (client != NULL) {
    ring_append_frame(&frame, RING_END, TEXT("x"));
    send_frames(client, &frame);
  } else {
    write_all(fd, "\xFF\xFF\xFF", 3);
  }
  buffer_fini(&frame);
}

void duplex_send_together(int fd, const char *const *texts)
{
  unsigned char frames[4096];
  size_t length = 0;
  struct ring_end *client = atomic_load(&clients[fd].ring);
  if (client != NULL) {
    struct buffer all = {0};
    for (; *texts != NULL; texts++)
      ring_append_frame(&all, RING_JSON, text_of(*texts));
    send_frames(client, &all);
    buffer_fini(&all);
    return;
  }
  for (; *texts != NULL; texts++) {
    assert_true(length + 132 <= sizeof frames);
    length += write_frame(frames + length, *texts);
  }
  write_all(fd, frames, length);
}

static bool read_exactly(int fd, void *into, size_t count)
{
  for (size_t done = 0; done < count;) {
    ssize_t got = recv(fd, (char *)into + done, count - done, 0);
    if (got <= 0) {
      assert_true(got == 0 || errno == ECONNRESET); /* the end was received, and the wait has not timed out */
      return false;
    }
    done += (size_t)got;
  }
  return true;
}

static bool receive_from_rings(struct ring_end *client, char text[256])
{
  struct buffer payload = {0};
  bool is_message = ring_end_read(client, &payload) == RING_JSON;
  assert_true(payload.len < 256);
  snprintf(text, 256, "%.*s", TEXT_ARGS(buffer_text(&payload)));
  buffer_fini(&payload);
  return is_message;
}

bool duplex_receive(int fd, char text[256])
{
  struct ring_end *client = atomic_load(&clients[fd].ring);
  if (client != NULL)
    return receive_from_rings(client, text);
  unsigned char head[2];
  unsigned char longer[2];
  if (!read_exactly(fd, head, sizeof head) || head[0] == 0x88)
    return false;
  assert_int_equal(head[0], 0x81);
  size_t length = head[1];
  if (length == 126) {
    assert_true(read_exactly(fd, longer, sizeof longer));
    length = (size_t)longer[0] << 8 | longer[1];
  }
  assert_true(length < 256);
  assert_true(read_exactly(fd, text, length));
  text[length] = '\0';
  return true;
}

void duplex_expect(int fd, const char *text)
{
  char got[256];
  assert_true(duplex_receive(fd, got));
  assert_string_equal(got, text);
}

void duplex_expect_texts(int fd, const char *const *texts)
{
  for (; *texts != NULL; texts++)
    duplex_expect(fd, *texts);
}

unsigned duplex_expect_call(int fd)
{
  char got[256];
  unsigned number;
  assert_true(duplex_receive(fd, got));
  assert_int_equal(sscanf(got, "call %u", &number), 1);
  return number;
}

unsigned duplex_spawn(int fd)
{
  unsigned number = 0;
  duplex_send(fd, "spawn");
  for (int i = 0; i < 2; i++) {
    char got[256];
    assert_true(duplex_receive(fd, got));
    if (sscanf(got, "call %u", &number) != 1)
      assert_string_equal(got, "spawned");
  }
  return number;
}

static void send_of(int fd, char kind, unsigned number, const char *text)
{
  char message[100];
  snprintf(message, sizeof message, "%c%u %s", kind, number, text);
  duplex_send(fd, message);
}

void duplex_nest(int fd, unsigned number, const char *text)
{
  send_of(fd, '@', number, text);
}

void duplex_answer(int fd, unsigned number, const char *text)
{
  send_of(fd, '#', number, text);
}

void duplex_expect_end(int fd)
{
  char got[256];
  while (duplex_receive(fd, got)) {
  }
}
