/* What a client may do wrong over shared memory, or not at all. */
#include "shm_fixture.h"
#include "tests/unit/await.h"

static int open_plain(void **state)
{
  return shm_fixture_open(state, (struct duplex_options){0});
}

static int open_short_of_input(void **state)
{
  return shm_fixture_open(state, (struct duplex_options){.input_max = 64 * 1024});
}

static void put_frame(struct fixture *f, uint32_t kind, uint32_t length, uint64_t written)
{
  uint64_t head = (uint64_t)kind << 32 | length;
  memcpy(f->c.out.bytes + f->c.out.offset, &head, sizeof head);
  f->c.region.control->client.written = written;
  ring_end_notify(&f->c);
}

/* The end, and another connection. */
static void expect_last(struct fixture *f, const char *reason)
{
  expect_end(&f->c, reason);
  close(f->c.fd);
  ring_region_unmap(&f->c.region);
  AWAIT(atomic_load(&f->server.pool.total) == 0);
  f->c.fd = duplex_connect_http(&f->server);
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
      {RING_JSON, MESSAGE_MAX + 1, 8, "the message is longer than message-max"},
      {RING_JSON, UINT32_MAX, RING_SIZE, "the message is longer than message-max"},
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

/* The answers cannot be sent; there is no way to say why. */
SHM_TEST(a_taken_position_that_is_none_drops_the_connection, open_plain)
{
  begin_sharing(&f->c);
  f->c.region.control->client.taken = 12345;
  struct buffer frames = {0};
  for (int i = 0; i < 2000; i++)
    ring_append_frame(&frames, RING_JSON, TEXT("some bytes, and then some more"));
  size_t sent = 0;
  char bells[64];
  ssize_t count;
  const int64_t since_ms = clock_now_ms();
  do {
    sent += ring_write(&f->c.out, frames.data + sent, frames.len - sent);
    ring_end_publish(&f->c);
    ring_writer_await_room(&f->c.out);
    count = recv(f->c.fd, bells, sizeof bells, MSG_DONTWAIT);
    AWAIT_PAUSE(since_ms, "the peer to end the connection");
  } while (count != 0 && !(count < 0 && errno != EAGAIN));
  buffer_fini(&frames);
}

/* All input together is bounded, and a message that grows beyond that is cut. */
SHM_TEST(too_much_input_is_cut, open_short_of_input)
{
  static char bytes[300000];
  begin_sharing(&f->c);
  struct buffer frame = {0};
  ring_append_frame(&frame, RING_JSON, (struct text){bytes, sizeof bytes});
  size_t sent = 0;
  uint32_t kind = 0;
  size_t length;
  const int64_t since_ms = clock_now_ms();
  while (ring_read_head(&f->c.in, &kind, &length) == RING_NOTHING) {
    ring_reader_look(&f->c.in);
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
