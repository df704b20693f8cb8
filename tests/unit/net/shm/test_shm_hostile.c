/* What a client may do wrong over shared memory, or not at all. */
#include "shm_fixture.h"
#include "tests/unit/await.h"

static void put_frame(struct fixture *f, uint32_t kind, uint32_t length, uint64_t written)
{
  uint64_t head = (uint64_t)kind << 32 | length;
  memcpy(f->out.bytes + f->out.offset, &head, sizeof head);
  f->region.control->client.written = written;
  ring_peer(f);
}

static void wrong_frames_end_the_connection(void **state)
{
  struct fixture *f = *state;
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
    begin_sharing(f);
    put_frame(f, cases[i].kind, cases[i].length, cases[i].written);
    expect_end(f, cases[i].reason);
    close(f->fd);
    ring_region_unmap(&f->region);
    AWAIT(atomic_load(&f->pool.total) == 0);
    f->fd = connect_client(f);
  }
}

static void positions_that_change_in_a_message_end_the_connection(void **state)
{
  struct fixture *f = *state;
  static const uint64_t wrong[] = {0, 8, 15, RING_SIZE + 17, UINT64_MAX};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    begin_sharing(f);
    put_frame(f, RING_JSON, 100000, 16);
    AWAIT(f->region.control->peer.taken >= 16);
    f->region.control->client.written = wrong[i];
    ring_peer(f);
    expect_end(f, "the positions in shared memory are wrong");
    close(f->fd);
    ring_region_unmap(&f->region);
    AWAIT(atomic_load(&f->pool.total) == 0);
    f->fd = connect_client(f);
  }
}

/* The answers cannot be sent; there is no way to say why. */
static void a_taken_position_that_is_none_drops_the_connection(void **state)
{
  struct fixture *f = *state;
  begin_sharing(f);
  f->region.control->client.taken = 12345;
  struct buffer frames;
  buffer_init(&frames);
  for (int i = 0; i < 2000; i++)
    ring_append_frame(&frames, RING_JSON, TEXT("some bytes, and then some more"));
  size_t sent = 0;
  char bells[64];
  ssize_t count;
  const int64_t since_ms = clock_now_ms();
  do {
    sent += ring_write(&f->out, frames.data + sent, frames.len - sent);
    show_written(f);
    ring_writer_await_room(&f->out);
    count = recv(f->fd, bells, sizeof bells, MSG_DONTWAIT);
    AWAIT_PAUSE(since_ms, "the peer to end the connection");
  } while (count != 0 && !(count < 0 && errno != EAGAIN));
  buffer_fini(&frames);
}

static void bells_that_nobody_needs_change_nothing(void **state)
{
  struct fixture *f = *state;
  static char bells[100000];
  begin_sharing(f);
  for (int i = 0; i < 30; i++) {
    (void)!send(f->fd, bells, sizeof bells, MSG_DONTWAIT | MSG_NOSIGNAL);
    send_message(f, TEXT("one"));
    expect_answer(f, TEXT("one"));
  }
}

/* What the client does with the descriptor, its map and the sleep words hurts nobody. */
static void the_memory_stays_the_peers(void **state)
{
  struct fixture *f = *state;
  char head[1024];
  struct jp_error error = {0};
  send_text(f->fd, REQUEST);
  int memory = receive_head(f->fd, head, sizeof head);
  assert_int_not_equal(ftruncate(memory, 0), 0);
  assert_int_not_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  assert_int_equal(fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  assert_int_equal(ring_region_map(memory, RING_SIZE, &f->region, &error),
                   JP_INVALID); /* no magic any more */
  close(memory);
  close(f->fd);
  AWAIT(atomic_load(&f->pool.total) == 0);
  f->fd = connect_client(f);
  begin_sharing(f);
  send_message(f, TEXT("one"));
  expect_answer(f, TEXT("one"));
}

/* All input together is bounded, and a message that grows beyond that is cut. */
static void too_much_input_is_cut(void **state)
{
  struct fixture *f = *state;
  static char bytes[300000];
  begin_sharing(f);
  struct buffer frame;
  buffer_init(&frame);
  ring_append_frame(&frame, RING_JSON, (struct text){bytes, sizeof bytes});
  size_t sent = 0;
  uint32_t kind = 0;
  size_t length;
  const int64_t since_ms = clock_now_ms();
  while (ring_read_head(&f->in, &kind, &length) == RING_NOTHING) {
    ring_reader_look(&f->in);
    sent += ring_write(&f->out, frame.data + sent, frame.len - sent);
    show_written(f);
    AWAIT_PAUSE(since_ms, "an answer, or the end");
  }
  assert_int_equal(kind, RING_END);
  assert_int_equal(ring_read(&f->in, bytes, sizeof bytes), length);
  assert_string_equal(bytes, "too much input is under way (input-max-total): try again later");
  assert_true(sent < frame.len);
  buffer_fini(&frame);
}

static void many_come_and_go(void **state)
{
  struct fixture *f = *state;
  for (int i = 0; i < 300; i++) {
    begin_sharing(f);
    if (i % 3 == 0)
      send_message(f, TEXT("one"));
    if (i % 3 == 1)
      put_frame(f, RING_JSON, 100, 16);
    close(f->fd);
    ring_region_unmap(&f->region);
    AWAIT(atomic_load(&f->pool.total) == 0);
    f->fd = connect_client(f);
  }
}

int main(void)
{
#define SHM_TEST(test) cmocka_unit_test_setup_teardown(test, shm_fixture_open, shm_fixture_close)
  const struct CMUnitTest tests[] = {
      SHM_TEST(wrong_frames_end_the_connection),
      SHM_TEST(positions_that_change_in_a_message_end_the_connection),
      SHM_TEST(a_taken_position_that_is_none_drops_the_connection),
      SHM_TEST(bells_that_nobody_needs_change_nothing),
      SHM_TEST(the_memory_stays_the_peers),
      cmocka_unit_test_setup_teardown(too_much_input_is_cut, shm_fixture_open_short_of_input,
                                      shm_fixture_close),
      SHM_TEST(many_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
