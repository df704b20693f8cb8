/* Shared memory as a protocol of connections, the HTTP request included. */
#include "shm_fixture.h"
#include "tests/unit/await.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

static int open_plain(void **state)
{
  return shm_fixture_open(state, (struct duplex_options){0});
}

static int share_plain(void **state)
{
  return shm_fixture_share(state, (struct duplex_options){0});
}

static int share_small(void **state)
{
  return shm_fixture_share(state, (struct duplex_options){.ring_size = RING_SIZE_MIN});
}

static int open_impatient(void **state)
{
  return shm_fixture_open(state, (struct duplex_options){.body_timeout_ms = 3000});
}

/* Expects the end of the connection, and that another client is served. */
static void expect_last(struct fixture *f, const char *reason)
{
  expect_end(&f->c, reason);
  close(f->c.fd);
  ring_region_unmap(&f->c.region);
  AWAIT(atomic_load(&f->server.pool.total) == 0);
  f->c.fd = duplex_connect_http(&f->server);
}

/* --- the request --- */

SHM_TEST(malformed_requests_are_refused, open_plain)
{
  static const struct {
    const char *request;
    const char *begin;
    const char *words;
  } cases[] = {
      {RING_REQUEST "x", "HTTP/1.1 400 ", "the last one of its connection"},
      {RING_REQUEST RING_REQUEST, "HTTP/1.1 400 ", "the last one of its connection"},
      {RING_REQUEST_OF("GET", "Content-Length: 1\r\n") "x", "HTTP/1.1 400 ", "has no body"},
      {RING_REQUEST_OF("GET", "Transfer-Encoding: chunked\r\n") "0\r\n\r\n", "HTTP/1.1 400 ", "has no body"},
      {RING_REQUEST_OF("GET", "peer-id: x\r\n"), "HTTP/1.1 400 ", "peer-id"},
      {RING_REQUEST_OF("HEAD", ""), "HTTP/1.1 405 ", "Allow: "},
      {RING_REQUEST_OF("PUT", "Content-Length: 0\r\n"), "HTTP/1.1 405 ", "Allow: "},
      {"GET /rpc HTTP/1.1\r\nHost: x\r\nUpgrade: jpeer-shm/1\r\n\r\n", "HTTP/1.1 400 ",
       "Connection: Upgrade"},
      {"GET /rpc HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n\r\n", "HTTP/1.1 400 ",
       "HTTP/1.1"},
      {"GET /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/2\r\n\r\n", "HTTP/1.1 405 ",
       ""},
      {"GET /other HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n\r\n",
       "HTTP/1.1 404 ", ""},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char head[1024];
    send_text(f->c.fd, cases[i].request);
    assert_int_equal(receive_head(f->c.fd, head, sizeof head), -1);
    if (strncmp(head, cases[i].begin, strlen(cases[i].begin)) != 0 || strstr(head, cases[i].words) == NULL)
      fail_msg("case %zu: got \"%s\"", i, head);
    close(f->c.fd);
    f->c.fd = duplex_connect_http(&f->server);
  }
  assert_int_equal(atomic_load(&f->server.pool.total), 0);
}

/* --- messages --- */

SHM_TEST(messages_of_all_lengths_are_echoed, share_plain)
{
  static const size_t lengths[] = {0,    1,    7,     8,     9,      4087,   4088,
                                   4089, 5000, 16368, 16376, 100000, 300000, MESSAGE_MAX - 1};
  char *bytes = malloc(MESSAGE_MAX);
  for (size_t i = 0; i < MESSAGE_MAX; i++)
    bytes[i] = (char)('a' + i * 31 % 23);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
      expect_echo(&f->c, (struct text){bytes, lengths[i]});
    }
  }
  free(bytes);
}
UNIT_TEST_ALSO(messages_of_all_lengths_are_echoed, share_small, shm_fixture_close)

SHM_TEST(streams_are_sent_in_parts, share_plain)
{
  send_message(&f->c, TEXT("stream"));
  send_message(&f->c, TEXT("next"));
  expect_frame(&f->c, RING_JSON_PART, TEXT("<"));
  for (int i = 0; i < 3; i++)
    expect_frame(&f->c, RING_JSON_PART, TEXT("part "));
  expect_frame(&f->c, RING_JSON, TEXT(">"));
  expect_answer(&f->c, TEXT("next"));
}

SHM_TEST(a_stream_that_breaks_ends_the_connection, share_plain)
{
  send_message(&f->c, TEXT("broken stream"));
  expect_frame(&f->c, RING_JSON_PART, TEXT("<"));
  expect_end(&f->c, "the answer could not be finished");
}

SHM_TEST(no_part_of_an_answer_without_memory_is_sent, share_plain)
{
  struct buffer answer = {0};
  send_message(&f->c, TEXT("no memory"));
  assert_int_equal(ring_end_read(&f->c, &answer), 0);
  assert_int_equal(answer.len, 0);
  buffer_fini(&answer);
}

/* --- waiting --- */

/* The answers are larger than the ring and the output buffer: requests then wait until the client reads. */
SHM_TEST(a_client_that_does_not_read_waits_for_itself, share_plain)
{
  enum { MESSAGES = 300, LENGTH = 10000 };
  static char bytes[LENGTH];
  memset(bytes, 'x', sizeof bytes);
  struct buffer frames = {0};
  for (int i = 0; i < MESSAGES; i++)
    ring_append_frame(&frames, RING_JSON, (struct text){bytes, LENGTH});
  size_t sent = 0;
  int64_t until = clock_now_ms() + 300;
  while (clock_now_ms() < until) {
    sent += ring_write(&f->c.out, frames.data + sent, frames.len - sent);
    ring_end_publish(&f->c);
    usleep(1000);
  }
  assert_true(sent < frames.len);
  /* this client is served while the first client does not read */
  int other = duplex_connect_http(&f->server);
  send_text(
      other,
      "POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\none");
  char answer[256];
  assert_true(recv(other, answer, sizeof answer, 0) > 0);
  close(other);
  for (int i = 0; i < MESSAGES; i++) {
    sent += ring_write(&f->c.out, frames.data + sent, frames.len - sent);
    ring_end_publish(&f->c);
    expect_answer(&f->c, (struct text){bytes, LENGTH});
  }
  assert_int_equal(sent, frames.len);
  buffer_fini(&frames);
}

SHM_TEST(a_client_that_never_reads_is_dropped, open_impatient)
{
  static char bytes[RING_SIZE];
  memset(bytes, 'x', sizeof bytes);
  begin_sharing(&f->c);
  send_message(&f->c, (struct text){bytes, RING_SIZE - 100});
  send_message(&f->c, (struct text){bytes, RING_SIZE - 100});
  expect_dropped(f);
}

/* Sends requests and reads no answer, until the peer reads no more requests. */
static void send_until_blocked(struct fixture *f)
{
  enum { LENGTH = 10000, IDLE_LOOKS = 50 };
  static char bytes[LENGTH];
  memset(bytes, 'x', sizeof bytes);
  struct buffer frame = {0};
  ring_append_frame(&frame, RING_JSON, (struct text){bytes, LENGTH});
  const int64_t since_ms = clock_now_ms();
  for (int idle = 0; idle < IDLE_LOOKS || atomic_load(&f->c.out.other->wants_room) == RING_POLLING;) {
    size_t sent = 0;
    while (sent < frame.len && idle < IDLE_LOOKS) {
      size_t count = ring_write(&f->c.out, frame.data + sent, frame.len - sent);
      ring_end_publish(&f->c);
      sent += count;
      idle = count > 0 ? 0 : idle + 1;
      usleep(count > 0 ? 0 : 1000);
    }
    AWAIT_PAUSE(since_ms, "the peer to read no more, and to need a notification");
  }
  buffer_fini(&frame);
}

/* An unread notification, or an unnoticed end, on the socket would cause turns in an endless loop. */
SHM_TEST(the_socket_of_a_client_that_does_not_read_is_consumed, share_plain)
{
  int left = 1;
  send_until_blocked(f);
  ring_end_notify(&f->c);
  AWAIT(ioctl(f->c.fd, SIOCOUTQ, &left) != 0 || left == 0);
  assert_int_equal(left, 0);
  close(f->c.fd);
  f->c.fd = -1;
  AWAIT(atomic_load(&f->server.pool.total) == 0);
}

/* A part of a head, or a head and a part of its payload. */
SHM_TEST(an_incomplete_message_times_out, open_impatient)
{
  static const size_t shown[] = {3, 16};
  struct buffer frame = {0};
  ring_append_frame(&frame, RING_JSON, TEXT("a message of some length"));
  for (size_t i = 0; i < COUNT_OF(shown); i++) {
    begin_sharing(&f->c);
    assert_int_equal(ring_write(&f->c.out, frame.data, shown[i]), shown[i]);
    ring_end_publish(&f->c);
    expect_last(f, "the message took too long");
  }
  buffer_fini(&frame);
}

SHM_TEST(the_end_of_the_server_is_announced, share_plain)
{
  expect_echo(&f->c, TEXT("one"));
  crew_refuse_all(f->server.crew);
  connection_table_drain(&f->server.table, clock_now_ms() + 1000);
  expect_end(&f->c, CREW_SHUTTING_DOWN);
}

/* A client that has got a connection may believe that the peer serves, and the start of the peer may have failed. */
SHM_TEST(a_server_that_ends_refuses_upgrades, open_plain)
{
  static const char *const protocols[] = {"jpeer-shm/1", "websocket"};
  crew_refuse_all(f->server.crew);
  for (size_t i = 0; i < COUNT_OF(protocols); i++) {
    char text[500] = "";
    const int fd = duplex_connect_http(&f->server);
    dprintf(fd,
            "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: %s\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            protocols[i]);
    assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    assert_non_null(strstr(text, CREW_SHUTTING_DOWN));
    close(fd);
  }
}

/* --- clients that break the protocol --- */

static int share_little_input(void **state)
{
  return shm_fixture_share(state, (struct duplex_options){.input_max = (size_t)64 * 1024});
}

static void put_frame(struct fixture *f, uint32_t kind, uint32_t length, uint64_t written)
{
  uint64_t head = (uint64_t)kind << 32 | length;
  memcpy(f->c.out.bytes + f->c.out.offset, &head, sizeof head);
  f->c.region.control->client.written = written;
  ring_end_notify(&f->c);
}

SHM_TEST(wrong_frames_end_the_connection, open_plain)
{
  static const struct {
    uint32_t kind;
    uint32_t length;
    uint64_t written;
    const char *reason;
  } cases[] = {
      {0, 0, 8, "a frame of a kind that a client does not send"},
      {RING_JSON_PART, 0, 8, "a frame of a kind that a client does not send"},
      {RING_END, 0, 8, "a frame of a kind that a client does not send"},
      {UINT32_MAX, UINT32_MAX, 8, "a frame of a kind that a client does not send"},
      {RING_JSON, 64 * MESSAGE_MAX + 1, 8, "the message is longer than 64 times message-max"},
      {RING_JSON, UINT32_MAX, RING_SIZE, "the message is longer than 64 times message-max"},
      {RING_SKIP, 8, 8, "the positions in shared memory are wrong"},
      {RING_SKIP, UINT32_MAX, RING_SIZE, "the positions in shared memory are wrong"},
      {RING_JSON, 1, RING_SIZE + 8, "the positions in shared memory are wrong"},
      {RING_JSON, 1, UINT64_MAX, "the positions in shared memory are wrong"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    begin_sharing(&f->c);
    put_frame(f, cases[i].kind, cases[i].length, cases[i].written);
    expect_last(f, cases[i].reason);
  }
}

SHM_TEST(positions_that_change_in_a_message_end_the_connection, open_plain)
{
  static const uint64_t wrong[] = {0, 8, 15, RING_SIZE + 17, UINT64_MAX};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    begin_sharing(&f->c);
    put_frame(f, RING_JSON, 100000, 16);
    AWAIT(f->c.region.control->peer.taken >= 16);
    f->c.region.control->client.written = wrong[i];
    ring_end_notify(&f->c);
    expect_last(f, "the positions in shared memory are wrong");
  }
}

/* The answers cannot be written into the ring, and neither can an end frame. */
SHM_TEST(an_invalid_taken_position_drops_the_connection, share_plain)
{
  f->c.region.control->client.taken = 12345;
  struct buffer frames = {0};
  for (int i = 0; i < 2000; i++)
    ring_append_frame(&frames, RING_JSON, TEXT("some bytes, and then some more"));
  size_t sent = 0;
  char notifications[64];
  ssize_t count;
  const int64_t since_ms = clock_now_ms();
  do {
    sent += ring_write(&f->c.out, frames.data + sent, frames.len - sent);
    ring_end_publish(&f->c);
    ring_writer_await_room(&f->c.out);
    count = recv(f->c.fd, notifications, sizeof notifications, MSG_DONTWAIT);
    AWAIT_PAUSE(since_ms, "the peer to end the connection");
  } while (count != 0 && !(count < 0 && errno != EAGAIN));
  buffer_fini(&frames);
}

/* A message that exceeds the bound on all input is cut. */
SHM_TEST(too_much_input_is_cut, share_little_input)
{
  static char bytes[300000];
  struct buffer frame = {0};
  ring_append_frame(&frame, RING_JSON, (struct text){bytes, sizeof bytes});
  size_t sent = 0;
  uint32_t kind = 0;
  size_t length;
  const int64_t since_ms = clock_now_ms();
  while (ring_read_head(&f->c.in, &kind, &length) == RING_NOTHING) {
    ring_reader_poll(&f->c.in);
    sent += ring_write(&f->c.out, frame.data + sent, frame.len - sent);
    ring_end_publish(&f->c);
    AWAIT_PAUSE(since_ms, "an answer, or the end");
  }
  assert_int_equal(kind, RING_END);
  assert_int_equal(ring_read(&f->c.in, bytes, sizeof bytes), length);
  assert_string_equal(bytes, "too much input is under way (input-max-total): try again later");
  assert_true(sent < frame.len);
  buffer_fini(&frame);
}

UNIT_MAIN
