/* What the other side may write anywhere in the region: each fault is found, and nothing else happens. */
#include "tests/unit/ring/pair.h"

struct fixture {
  struct pair pair;
  struct ring_side *client; /* whose words the tests write */
  struct ring_side *peer;
};

/* struct ring_rope */
static void pull_nothing(void *context)
{
  (void)context;
}

static const struct ring_rope rope = {pull_nothing, NULL};

static void begin(struct fixture *f)
{
  pair_open(&f->pair, RING_SIZE_MIN);
  f->client = &f->pair.client_region.control->client;
  f->peer = &f->pair.client_region.control->peer;
}

/* One frame's head as it lies in the ring. */
static void put_head(struct fixture *f, size_t offset, uint32_t kind, uint32_t length)
{
  uint64_t head = (uint64_t)kind << 32 | length;
  memcpy(f->pair.client_out.bytes + offset, &head, sizeof head);
}

static enum ring_found next(struct fixture *f, uint32_t *kind, size_t *length)
{
  ring_reader_look(&f->pair.peer_in);
  return ring_read_head(&f->pair.peer_in, kind, length);
}

static void assert_reader_is_broken(struct fixture *f)
{
  uint32_t kind;
  size_t length;
  char byte;
  assert_int_equal(next(f, &kind, &length), RING_BROKEN);
  assert_true(f->pair.peer_in.is_broken);
  assert_int_equal(ring_reader_available(&f->pair.peer_in), 0);
  assert_int_equal(ring_read(&f->pair.peer_in, &byte, 1), 0);
  assert_false(ring_reader_look(&f->pair.peer_in));
  assert_false(ring_reader_sleep(&f->pair.peer_in));
}

UNIT_TEST(finds_positions_that_are_none)
{
  static const uint64_t wrong[] = {RING_SIZE_MIN + 1, RING_SIZE_MIN + 8, UINT64_MAX,
                                   UINT64_MAX - 7,    UINT64_C(1) << 63, UINT64_C(1) << 32};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct fixture f;
    begin(&f);
    f.client->written = wrong[i];
    assert_reader_is_broken(&f);
    pair_close(&f.pair);
  }
}

UNIT_TEST(finds_positions_that_run_backwards)
{
  static const uint64_t wrong[] = {0, 7, 8, 15, 16, 23, 31};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct fixture f;
    begin(&f);
    pair_send(&f.pair.client_out, TEXT("12345678"));
    pair_send(&f.pair.client_out, TEXT("12345678"));
    pair_receive(&f.pair.peer_in, TEXT("12345678"));
    f.client->written = wrong[i];
    assert_reader_is_broken(&f);
    pair_close(&f.pair);
  }
}

UNIT_TEST(waits_for_a_whole_head)
{
  struct fixture f;
  uint32_t kind;
  size_t length;
  begin(&f);
  put_head(&f, 0, RING_JSON, 3);
  for (uint64_t written = 0; written < RING_HEAD_SIZE; written++) {
    f.client->written = written;
    assert_int_equal(next(&f, &kind, &length), RING_NOTHING);
  }
  f.client->written = RING_HEAD_SIZE;
  assert_int_equal(next(&f, &kind, &length), RING_FRAME);
  assert_int_equal(length, 3);
  pair_close(&f.pair);
}

/* Kinds and lengths are the caller's to judge; the ring only tells them. */
UNIT_TEST(tells_any_kind_and_length)
{
  struct fixture f;
  uint32_t kind;
  size_t length;
  char bytes[RING_SIZE_MIN];
  begin(&f);
  put_head(&f, 0, UINT32_MAX, UINT32_MAX);
  f.client->written = RING_SIZE_MIN;
  assert_int_equal(next(&f, &kind, &length), RING_FRAME);
  assert_int_equal(kind, UINT32_MAX);
  assert_int_equal(length, UINT32_MAX);
  assert_int_equal(ring_read(&f.pair.peer_in, bytes, sizeof bytes), RING_SIZE_MIN - RING_HEAD_SIZE);
  assert_int_equal(ring_read(&f.pair.peer_in, bytes, sizeof bytes), 0);
  pair_close(&f.pair);
}

/* What is written behind a head that was read has no effect. */
UNIT_TEST(reads_a_head_once)
{
  struct fixture f;
  uint32_t kind;
  size_t length;
  char bytes[64];
  begin(&f);
  pair_send(&f.pair.client_out, TEXT("12345"));
  assert_int_equal(next(&f, &kind, &length), RING_FRAME);
  put_head(&f, 0, RING_SKIP, 4000);
  assert_int_equal(ring_read(&f.pair.peer_in, bytes, sizeof bytes), 5);
  assert_int_equal(next(&f, &kind, &length), RING_NOTHING);
  assert_int_equal(f.pair.peer_in.position, 16);
  pair_close(&f.pair);
}

UNIT_TEST(finds_skips_that_are_not_there)
{
  static const uint32_t wrong[] = {1, 9, RING_SIZE_MIN - 8, RING_SIZE_MIN, INT32_MAX, UINT32_MAX};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct fixture f;
    uint32_t kind;
    size_t length;
    begin(&f);
    put_head(&f, 0, RING_SKIP, 0);
    put_head(&f, 8, RING_SKIP, wrong[i]);
    f.client->written = 16;
    assert_int_equal(next(&f, &kind, &length), RING_SKIPPED);
    assert_reader_is_broken(&f);
    pair_close(&f.pair);
  }
}

/* The longest skip leads around to the same place. */
UNIT_TEST(skips_a_whole_ring)
{
  struct fixture f;
  uint32_t kind;
  size_t length;
  begin(&f);
  put_head(&f, 0, RING_SKIP, RING_SIZE_MIN - RING_HEAD_SIZE);
  f.client->written = RING_SIZE_MIN;
  assert_int_equal(next(&f, &kind, &length), RING_SKIPPED);
  assert_int_equal(f.pair.peer_in.offset, 0);
  assert_int_equal(next(&f, &kind, &length), RING_NOTHING);
  pair_close(&f.pair);
}

/* As a writer, whose reader says what it has taken. */
UNIT_TEST(finds_room_that_is_none)
{
  static const uint64_t wrong[] = {25, 32, UINT64_MAX, UINT64_C(1) << 63, 15, 0};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct fixture f;
    struct buffer out;
    begin(&f);
    buffer_init(&out);
    ring_append_frame(&out, RING_JSON, TEXT("12345678"));
    pair_send(&f.pair.peer_out, TEXT("1"));
    f.client->taken = 16;
    assert_int_equal(ring_writer_room(&f.pair.peer_out), RING_SIZE_MIN);
    pair_send(&f.pair.peer_out, TEXT(""));
    assert_int_equal(ring_write(&f.pair.peer_out, out.data, out.len), out.len);
    f.client->taken = wrong[i]; /* 24 were shown, 40 are written */
    assert_int_equal(ring_writer_room(&f.pair.peer_out), 0);
    assert_true(f.pair.peer_out.is_broken);
    assert_false(ring_writer_is_empty(&f.pair.peer_out));
    assert_false(ring_writer_give_back(&f.pair.peer_out));
    assert_false(ring_writer_await_room(&f.pair.peer_out));
    assert_int_equal(ring_write(&f.pair.peer_out, out.data, out.len), 0);
    buffer_fini(&out);
    pair_close(&f.pair);
  }
}

/* Sleep words and hints may be anything: there is a bell for each new number, and no more. */
UNIT_TEST(takes_any_word)
{
  struct fixture f;
  begin(&f);
  for (uint32_t i = 0; i < 10; i++) {
    f.client->sleeps = i * 0x10001;
    assert_int_equal(pair_send(&f.pair.peer_out, TEXT("a")), i > 0);
    assert_false(pair_send(&f.pair.peer_out, TEXT("a")));
    f.client->processor = i * 0x20000000;
    assert_true(ring_processor_of(f.client) >= -1);
  }
  pair_close(&f.pair);
}

static uint32_t next_random(uint32_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  return *seed;
}

/* Anything anywhere: the sanitizers see accesses out of the region, and no loop is endless. */
UNIT_TEST(survives_noise)
{
  uint32_t seed = 20231;
  for (int round = 0; round < 300; round++) {
    struct fixture f;
    begin(&f);
    char into[100];
    struct buffer rest;
    buffer_init(&rest);
    for (int i = 0; i < 200; i++) {
      uint32_t random = next_random(&seed);
      bool stays_valid = random % 32 != 0;
      put_head(&f, random % 512 * 8, next_random(&seed) % 4, next_random(&seed) >> random % 32);
      uint64_t written = f.client->written;
      f.client->written = stays_valid ? written + random % 9 * 8 : next_random(&seed);
      f.client->taken = stays_valid ? f.peer->written : next_random(&seed);
      uint32_t kind;
      size_t length;
      if (f.pair.peer_in.left == 0)
        next(&f, &kind, &length);
      ring_reader_look(&f.pair.peer_in);
      ring_read(&f.pair.peer_in, into, sizeof into);
      ring_reader_publish(&f.pair.peer_in);
      ring_write_frame(&f.pair.peer_out, RING_JSON, (struct text){into, random % sizeof into}, &rope, &rest);
      if (rest.len > 0)
        break;
      ring_writer_publish(&f.pair.peer_out);
      ring_writer_give_back(&f.pair.peer_out);
      assert_true(f.pair.peer_in.offset < RING_SIZE_MIN);
    }
    buffer_fini(&rest);
    pair_close(&f.pair);
  }
}

UNIT_MAIN
