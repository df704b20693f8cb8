/* The other side may write anything anywhere in the region: each fault is found and has no other effect. */
#include "tests/unit/ring/pair.h"

/* struct ring_notifier */
static void notify_nobody(void *context)
{
  (void)context;
}

static const struct ring_notifier notifier = {notify_nobody, NULL};

/* One frame's head as it lies in the ring. */
static void put_head(struct pair *pair, size_t offset, uint32_t kind, uint32_t length)
{
  uint64_t head = (uint64_t)kind << 32 | length;
  memcpy(pair->client_out.bytes + offset, &head, sizeof head);
}

static enum ring_found next(struct pair *pair, uint32_t *kind, size_t *length)
{
  ring_reader_poll(&pair->peer_in);
  return ring_read_head(&pair->peer_in, kind, length);
}

static void assert_reader_is_broken(struct pair *pair)
{
  uint32_t kind;
  size_t length;
  char byte;
  assert_int_equal(next(pair, &kind, &length), RING_BROKEN);
  assert_true(pair->peer_in.is_broken);
  assert_int_equal(ring_reader_available(&pair->peer_in), 0);
  assert_int_equal(ring_read(&pair->peer_in, &byte, 1), 0);
  assert_false(ring_reader_poll(&pair->peer_in));
  assert_false(ring_reader_sleep(&pair->peer_in));
}

UNIT_TEST(finds_positions_that_are_none)
{
  static const uint64_t wrong[] = {RING_SIZE_MIN + 1, RING_SIZE_MIN + 8, UINT64_MAX,
                                   UINT64_MAX - 7,    UINT64_C(1) << 63, UINT64_C(1) << 32};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct pair pair;
    pair_open(&pair, RING_SIZE_MIN);
    pair.client->written = wrong[i];
    assert_reader_is_broken(&pair);
    pair_close(&pair);
  }
}

UNIT_TEST(finds_positions_that_run_backwards)
{
  static const uint64_t wrong[] = {0, 7, 8, 15, 16, 23, 31};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct pair pair;
    pair_open(&pair, RING_SIZE_MIN);
    pair_send(&pair.client_out, TEXT("12345678"));
    pair_send(&pair.client_out, TEXT("12345678"));
    pair_receive(&pair.peer_in, TEXT("12345678"));
    pair.client->written = wrong[i];
    assert_reader_is_broken(&pair);
    pair_close(&pair);
  }
}

PAIR_TEST(waits_for_a_whole_head, RING_SIZE_MIN)
{
  uint32_t kind;
  size_t length;
  put_head(pair, 0, RING_JSON, 3);
  for (uint64_t written = 0; written < RING_HEAD_SIZE; written++) {
    pair->client->written = written;
    assert_int_equal(next(pair, &kind, &length), RING_NOTHING);
  }
  pair->client->written = RING_HEAD_SIZE;
  assert_int_equal(next(pair, &kind, &length), RING_FRAME);
  assert_int_equal(length, 3);
}

/* The caller judges kinds and lengths; the ring only reports them. */
PAIR_TEST(reports_any_kind_and_length, RING_SIZE_MIN)
{
  uint32_t kind;
  size_t length;
  char bytes[RING_SIZE_MIN];
  put_head(pair, 0, UINT32_MAX, UINT32_MAX);
  pair->client->written = RING_SIZE_MIN;
  assert_int_equal(next(pair, &kind, &length), RING_FRAME);
  assert_int_equal(kind, UINT32_MAX);
  assert_int_equal(length, UINT32_MAX);
  assert_int_equal(ring_read(&pair->peer_in, bytes, sizeof bytes), RING_SIZE_MIN - RING_HEAD_SIZE);
  assert_int_equal(ring_read(&pair->peer_in, bytes, sizeof bytes), 0);
}

/* A change of a head that was read already has no effect. */
PAIR_TEST(reads_a_head_once, RING_SIZE_MIN)
{
  uint32_t kind;
  size_t length;
  char bytes[64];
  pair_send(&pair->client_out, TEXT("12345"));
  assert_int_equal(next(pair, &kind, &length), RING_FRAME);
  put_head(pair, 0, RING_SKIP, 4000);
  assert_int_equal(ring_read(&pair->peer_in, bytes, sizeof bytes), 5);
  assert_int_equal(next(pair, &kind, &length), RING_NOTHING);
  assert_int_equal(pair->peer_in.position, 16);
}

UNIT_TEST(finds_skips_that_are_not_there)
{
  static const uint32_t wrong[] = {1, 9, RING_SIZE_MIN - 8, RING_SIZE_MIN, INT32_MAX, UINT32_MAX};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct pair pair;
    uint32_t kind;
    size_t length;
    pair_open(&pair, RING_SIZE_MIN);
    put_head(&pair, 0, RING_SKIP, 0);
    put_head(&pair, 8, RING_SKIP, wrong[i]);
    pair.client->written = 16;
    assert_int_equal(next(&pair, &kind, &length), RING_SKIPPED);
    assert_reader_is_broken(&pair);
    pair_close(&pair);
  }
}

/* The longest skip leads around to the same place. */
PAIR_TEST(skips_a_whole_ring, RING_SIZE_MIN)
{
  uint32_t kind;
  size_t length;
  put_head(pair, 0, RING_SKIP, RING_SIZE_MIN - RING_HEAD_SIZE);
  pair->client->written = RING_SIZE_MIN;
  assert_int_equal(next(pair, &kind, &length), RING_SKIPPED);
  assert_int_equal(pair->peer_in.offset, 0);
  assert_int_equal(next(pair, &kind, &length), RING_NOTHING);
}

/* Tests a writer whose reader publishes a wrong position. */
UNIT_TEST(finds_a_wrong_position_of_the_reader)
{
  static const uint64_t wrong[] = {25, 32, UINT64_MAX, UINT64_C(1) << 63, 15, 0};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct pair pair;
    struct buffer out;
    pair_open(&pair, RING_SIZE_MIN);
    buffer_init(&out);
    ring_append_frame(&out, RING_JSON, TEXT("12345678"));
    pair_send(&pair.peer_out, TEXT("1"));
    pair.client->taken = 16;
    assert_true(ring_writer_is_empty(&pair.peer_out));
    pair_send(&pair.peer_out, TEXT(""));
    assert_int_equal(ring_write(&pair.peer_out, out.data, out.len), out.len);
    pair.client->taken = wrong[i]; /* 24 are published, 40 written */
    assert_false(ring_writer_is_empty(&pair.peer_out));
    assert_true(pair.peer_out.is_broken);
    assert_false(ring_writer_release_pages(&pair.peer_out));
    assert_false(ring_writer_await_room(&pair.peer_out));
    assert_int_equal(ring_write(&pair.peer_out, out.data, out.len), 0);
    buffer_fini(&out);
    pair_close(&pair);
  }
}

/* Sleep words and hints may be anything: each new number gets one notification. */
PAIR_TEST(accepts_any_word, RING_SIZE_MIN)
{
  for (uint32_t i = 0; i < 10; i++) {
    pair->client->sleeps = i * 0x10001;
    assert_int_equal(pair_send(&pair->peer_out, TEXT("a")), i > 0);
    assert_false(pair_send(&pair->peer_out, TEXT("a")));
    pair->client->processor = i * 0x20000000;
    assert_true(ring_processor_of(pair->client) >= -1);
  }
}

static uint32_t next_random(uint32_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  return *seed;
}

/* Random bytes anywhere: the sanitizers find accesses outside of the region, and no loop is endless. */
UNIT_TEST(survives_noise)
{
  uint32_t seed = 20231;
  for (int round = 0; round < 300; round++) {
    struct pair pair;
    pair_open(&pair, RING_SIZE_MIN);
    char into[100];
    struct buffer rest;
    buffer_init(&rest);
    for (int i = 0; i < 200; i++) {
      uint32_t random = next_random(&seed);
      bool stays_valid = random % 32 != 0;
      put_head(&pair, random % 512 * 8, next_random(&seed) % 4, next_random(&seed) >> random % 32);
      uint64_t written = pair.client->written;
      pair.client->written = stays_valid ? written + random % 9 * 8 : next_random(&seed);
      pair.client->taken = stays_valid ? pair.peer->written : next_random(&seed);
      uint32_t kind;
      size_t length;
      if (pair.peer_in.left == 0)
        next(&pair, &kind, &length);
      ring_reader_poll(&pair.peer_in);
      ring_read(&pair.peer_in, into, sizeof into);
      ring_reader_publish(&pair.peer_in);
      ring_write_frame(&pair.peer_out, RING_JSON, (struct text){into, random % sizeof into}, &notifier,
                       &rest);
      if (rest.len > 0)
        break;
      ring_writer_publish(&pair.peer_out);
      ring_writer_release_pages(&pair.peer_out);
      assert_true(pair.peer_in.offset < RING_SIZE_MIN);
    }
    buffer_fini(&rest);
    pair_close(&pair);
  }
}

UNIT_MAIN
