#include "tests/unit/ring/pair.h"

#include <sys/mman.h>

/* struct ring_notifier */
static void count_notification(void *context)
{
  unsigned *notifications = context;
  *notifications += 1;
}

/* All lengths of messages, which wrap around the end of the ring many times. */
UNIT_TEST(wraps_around)
{
  static const size_t sizes[] = {RING_SIZE_MIN, 3 * RING_SIZE_STEP, 16 * RING_SIZE_STEP};
  static char bytes[5000];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (char)(i * 7 + i / 251);
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    struct pair pair;
    pair_open(&pair, sizes[i]);
    for (size_t n = 0; n < 4000; n++) {
      struct text payload = {bytes + n % 97, (n * 37) % (RING_SIZE_MIN - 16)};
      pair_send(&pair.client_out, payload);
      pair_receive(&pair.peer_in, payload);
    }
    assert_true(pair.client_out.position > 10 * sizes[i]);
    pair_close(&pair);
  }
}

/* A position may pass 2^64. */
PAIR_TEST(positions_may_pass_their_end, RING_SIZE_MIN)
{
  uint64_t begin = UINT64_MAX - 4095;
  struct ring_side *client = pair->client_out.mine;
  struct ring_side *peer = pair->peer_in.mine;
  client->written = begin;
  peer->taken = begin;
  pair->client_out.position = pair->client_out.published = pair->client_out.taken = begin;
  pair->client_out.home_poll_at = begin;
  pair->peer_in.position = pair->peer_in.published = pair->peer_in.written = begin;
  for (int i = 0; i < 1000; i++) {
    pair_send(&pair->client_out, TEXT("0123456789"));
    pair_receive(&pair->peer_in, TEXT("0123456789"));
  }
  assert_int_equal(pair->client_out.position, begin + 24000);
}

/* A message of many times the ring's size, in pieces of all lengths, and a frame after it. */
PAIR_TEST(carries_a_message_longer_than_the_ring, RING_SIZE_MIN)
{
  size_t length = 100003;
  char *bytes = malloc(length);
  char *got = malloc(length);
  for (size_t i = 0; i < length; i++)
    bytes[i] = (char)(i ^ i >> 8);
  struct buffer rest;
  buffer_init(&rest);
  unsigned notifications = 0;
  const struct ring_notifier notifier = {count_notification, &notifications};
  assert_true(ring_reader_sleep(&pair->peer_in));
  ring_write_frame(&pair->client_out, RING_JSON, (struct text){bytes, length}, &notifier, &rest);
  assert_int_equal(notifications, 1); /* the reader was notified before the whole message was written */
  ring_reader_wake(&pair->peer_in);
  assert_int_equal(rest.len, ring_frame_size(length) - RING_SIZE_MIN);
  ring_append_frame(&rest, RING_JSON, TEXT("next"));
  ring_writer_publish(&pair->client_out);
  uint32_t kind;
  size_t announced;
  assert_int_equal(pair_next(&pair->peer_in, &kind, &announced), RING_FRAME);
  assert_int_equal(announced, length);
  size_t sent = 0;
  size_t received = 0;
  for (size_t step = 1; pair->peer_in.left > 0; step = step % 611 + 1) {
    ring_reader_poll(&pair->peer_in);
    received += ring_read(&pair->peer_in, got + received, step);
    ring_reader_publish(&pair->peer_in);
    sent += ring_write(&pair->client_out, rest.data + sent, rest.len - sent);
    ring_writer_publish(&pair->client_out);
  }
  assert_int_equal(received, length);
  assert_memory_equal(got, bytes, length);
  pair_receive(&pair->peer_in, TEXT("next"));
  assert_int_equal(sent, rest.len);
  buffer_fini(&rest);
  free(got);
  free(bytes);
}

/* --- home --- */

PAIR_TEST(stays_at_home_with_small_messages, 64 * RING_SIZE_STEP)
{
  for (int i = 0; i < 10000; i++) {
    pair_send(&pair->client_out, TEXT("{\"jsonrpc\":\"2.0\"}"));
    assert_true(pair->client_out.offset <= RING_HOME);
    pair_receive(&pair->peer_in, TEXT("{\"jsonrpc\":\"2.0\"}"));
  }
  assert_false(ring_writer_has_pages_to_release(&pair->client_out));
}

/* A ring with room for twice the bytes in flight is enough, at every position. With more room, the writer
 * moves through the whole ring. */
PAIR_TEST(stays_near_home_with_some_in_flight, 64 * RING_SIZE_STEP)
{
  for (int i = 0; i < 600; i++)
    pair_send(&pair->client_out, TEXT("0123456789"));
  for (int i = 0; i < 10000; i++) {
    pair_send(&pair->client_out, TEXT("0123456789"));
    pair_receive(&pair->peer_in, TEXT("0123456789"));
    assert_true(pair->client_out.offset < 5 * RING_HOME);
  }
  assert_true(ring_writer_has_pages_to_release(&pair->client_out));
  assert_false(ring_writer_release_pages(&pair->client_out));
  for (int i = 0; i < 600; i++)
    pair_receive(&pair->peer_in, TEXT("0123456789"));
  for (int i = 0; i < 200; i++) {
    pair_send(&pair->client_out, TEXT("0123456789"));
    pair_receive(&pair->peer_in, TEXT("0123456789"));
  }
  assert_true(pair->client_out.offset < RING_HOME);
  assert_true(ring_writer_release_pages(&pair->client_out));
}

/* The system's count of the pages of one region's map. */
static size_t count_pages(const struct ring_region *region)
{
  size_t pages = ring_region_size(region->ring_size) / 4096;
  unsigned char present[1024];
  assert_true(pages <= sizeof present);
  assert_int_equal(mincore(region->control, pages * 4096, present), 0);
  size_t count = 0;
  for (size_t i = 0; i < pages; i++)
    count += present[i] & 1;
  return count;
}

PAIR_TEST(releases_pages_only_of_an_empty_ring, 128 * RING_SIZE_STEP)
{
  size_t size = 128 * RING_SIZE_STEP;
  char *bytes = calloc(1, size);
  struct text large = {bytes, size - 64};
  pair_send(&pair->peer_out, large);
  assert_true(count_pages(&pair->peer_region) >= 128);
  assert_false(ring_writer_release_pages(&pair->peer_out));
  pair_receive(&pair->client_in, large);
  assert_true(ring_writer_has_pages_to_release(&pair->peer_out));
  assert_true(ring_writer_release_pages(&pair->peer_out));
  assert_false(ring_writer_has_pages_to_release(&pair->peer_out));
  assert_true(count_pages(&pair->peer_region) <= 3);
  for (int i = 0; i < 1000; i++) {
    pair_send(&pair->peer_out, TEXT("and on"));
    pair_receive(&pair->client_in, TEXT("and on"));
  }
  pair_send(&pair->peer_out, large);
  pair_receive(&pair->client_in, large);
  free(bytes);
}

/* A poll inside of a message reports that more bytes have arrived, so that the reader does not sleep. A skip
 * frame is read as a whole. */
PAIR_TEST(sees_no_more_than_it_polls_for, 16 * RING_SIZE_STEP)
{
  uint32_t kind;
  size_t length;
  for (int i = 0; i < 3; i++)
    pair_send(&pair->client_out, TEXT("12345678"));
  assert_true(ring_reader_poll_within(&pair->peer_in, 20));
  assert_int_equal(ring_reader_available(&pair->peer_in), 20);
  assert_false(ring_reader_poll_within(&pair->peer_in, 20));
  assert_true(ring_reader_has_more(&pair->peer_in));
  assert_false(ring_reader_sleep(&pair->peer_in));
  for (int i = 0; i < 3; i++)
    pair_receive(&pair->peer_in, TEXT("12345678"));
  assert_false(ring_reader_has_more(&pair->peer_in));

  static const char bytes[RING_HOME];
  pair_send(&pair->client_out, (struct text){bytes, sizeof bytes});
  pair_receive(&pair->peer_in, (struct text){bytes, sizeof bytes});
  pair_send(&pair->client_out, TEXT("home")); /* after a skip frame */
  assert_true(ring_reader_poll_within(&pair->peer_in, 16));
  assert_int_equal(ring_read_head(&pair->peer_in, &kind, &length), RING_SKIPPED);
  pair_receive(&pair->peer_in, TEXT("home"));
  assert_int_equal(pair->client_out.offset, 16);
}

/* --- notifications --- */

PAIR_TEST(notifies_a_sleeper_once, RING_SIZE_MIN)
{
  assert_false(pair_send(&pair->client_out, TEXT("a")));
  ring_reader_poll(&pair->peer_in);
  assert_true(ring_reader_sleep(&pair->peer_in));
  assert_true(pair_send(&pair->client_out, TEXT("b")));
  assert_false(pair_send(&pair->client_out, TEXT("c")));
  ring_reader_wake(&pair->peer_in);
  assert_false(pair_send(&pair->client_out, TEXT("d")));
  assert_false(ring_reader_sleep(&pair->peer_in)); /* three messages arrived after its poll */
  assert_int_equal(pair->client_out.other->sleeps, RING_POLLING);
  ring_reader_poll(&pair->peer_in);
  assert_true(ring_reader_sleep(&pair->peer_in));
  assert_true(pair_send(&pair->client_out, TEXT("e")));
  assert_false(ring_writer_publish(&pair->client_out));
}

PAIR_TEST(notifies_a_writer_that_waits_for_room, RING_SIZE_MIN)
{
  assert_false(ring_writer_await_room(&pair->client_out));
  char bytes[2 * RING_SIZE_MIN] = {0};
  struct buffer rest;
  buffer_init(&rest);
  unsigned notifications = 0;
  const struct ring_notifier notifier = {count_notification, &notifications};
  ring_write_frame(&pair->client_out, RING_JSON, (struct text){bytes, sizeof bytes}, &notifier, &rest);
  assert_int_equal(notifications, 0); /* the caller publishes a short frame */
  ring_writer_publish(&pair->client_out);
  assert_true(ring_writer_await_room(&pair->client_out));
  uint32_t kind;
  size_t length;
  assert_int_equal(pair_next(&pair->peer_in, &kind, &length), RING_FRAME);
  assert_int_equal(ring_read(&pair->peer_in, bytes, 100), 100);
  assert_true(ring_reader_publish(&pair->peer_in));
  assert_int_equal(ring_read(&pair->peer_in, bytes, 100), 100);
  assert_false(ring_reader_publish(&pair->peer_in));
  ring_writer_wake(&pair->client_out);
  assert_int_equal(ring_write(&pair->client_out, rest.data, rest.len), 208);
  ring_writer_publish(&pair->client_out);
  assert_int_equal(ring_read(&pair->peer_in, bytes, 1), 1);
  ring_reader_publish(&pair->peer_in);
  assert_false(ring_writer_await_room(&pair->client_out)); /* a byte has become free */
  assert_int_equal(pair->client_out.mine->wants_room, RING_POLLING);
  buffer_fini(&rest);
}

PAIR_TEST(numbers_of_sleeps_never_mean_polling, RING_SIZE_MIN)
{
  pair->peer_in.sleeps = UINT32_MAX;
  assert_true(ring_reader_sleep(&pair->peer_in));
  assert_int_equal(pair->peer_in.mine->sleeps, 1);
  assert_true(pair_send(&pair->client_out, TEXT("a")));
}

/* A frame in parts gives the same bytes as a frame that is appended as a whole, for each length of
 * padding. */
UNIT_TEST(makes_frames_where_they_are_written)
{
  struct buffer whole;
  struct buffer parts;
  buffer_init(&whole);
  buffer_init(&parts);
  for (size_t length = 0; length <= 17; length++) {
    struct text payload = {"0123456789abcdefg", length};
    ring_append_frame(&whole, RING_JSON, payload);
    size_t begin = ring_begin_frame(&parts);
    assert_int_equal(begin, whole.len - ring_frame_size(length));
    buffer_append_text(&parts, text_slice(payload, 0, length / 2));
    buffer_append_text(&parts, text_slice(payload, length / 2, length));
    ring_end_frame(&parts, begin, RING_JSON);
  }
  assert_int_equal(parts.len, whole.len);
  assert_memory_equal(parts.data, whole.data, whole.len);
  parts.failed = true; /* as if memory were short */
  ring_end_frame(&parts, parts.len, RING_JSON);
  assert_int_equal(parts.len, whole.len);
  buffer_fini(&parts);
  buffer_fini(&whole);
}

static void notify_nobody(void *context)
{
  (void)context;
  fail_msg("nobody sleeps");
}

/* Writes over the bytes of earlier rounds. Each round passes the end of the ring. */
PAIR_TEST(writes_the_same_frames_at_once, RING_SIZE_MIN)
{
  enum { ROUNDS = 200 };
  const struct ring_notifier notifier = {notify_nobody, NULL};
  char bytes[64];
  struct buffer whole;
  struct buffer rest;
  buffer_init(&rest);
  memset(pair->client_out.bytes, 0xff, RING_SIZE_MIN);
  memset(bytes, 'x', sizeof bytes);
  for (int i = 0; i < ROUNDS; i++) {
    for (size_t length = 0; length <= sizeof bytes; length += 3) {
      struct text payload = {length > 0 ? bytes : NULL, length};
      size_t at = pair->client_out.offset;
      ring_write_frame(&pair->client_out, RING_JSON, payload, &notifier, &rest);
      buffer_init(&whole);
      ring_append_frame(&whole, RING_JSON, payload);
      for (size_t j = 0; j < whole.len; j++)
        assert_int_equal(pair->client_out.bytes[(at + j) % RING_SIZE_MIN], whole.data[j]);
      buffer_fini(&whole);
      assert_false(ring_writer_publish(&pair->client_out));
      pair_receive(&pair->peer_in, payload);
      assert_true(ring_writer_is_empty(&pair->client_out));
    }
  }
  assert_int_equal(rest.len, 0);
}

UNIT_MAIN
