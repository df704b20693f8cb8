#ifndef JPEER_TESTS_UNIT_RING_PAIR_H
#define JPEER_TESTS_UNIT_RING_PAIR_H
/* A peer's and a client's end of one region in one process; the client has its own map. */
#include "ring/region.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

struct pair {
  struct ring_region peer_region;
  struct ring_region client_region;
  struct ring_writer peer_out;
  struct ring_reader peer_in;
  struct ring_writer client_out;
  struct ring_reader client_in;
  struct ring_side *client; /* words of the control page, as a hostile client writes them */
  struct ring_side *peer;
};

static inline void pair_open(struct pair *pair, size_t ring_size)
{
  struct jp_error error = {0};
  int fd;
  assert_int_equal(ring_region_create(ring_size, &pair->peer_region, &fd, &error), JP_OK);
  assert_int_equal(ring_region_map(fd, ring_size, &pair->client_region, &error), JP_OK);
  close(fd);
  ring_region_open_peer(&pair->peer_region, &pair->peer_out, &pair->peer_in);
  ring_region_open_client(&pair->client_region, &pair->client_out, &pair->client_in);
  pair->client = &pair->client_region.control->client;
  pair->peer = &pair->client_region.control->peer;
}

static inline void pair_close(struct pair *pair)
{
  ring_region_unmap(&pair->client_region);
  ring_region_unmap(&pair->peer_region);
}

/* A test of a pair with rings of this size. */
#define PAIR_TEST(name, size)                                                                                \
  static void name##_of(struct pair *pair);                                                                  \
  UNIT_TEST(name)                                                                                            \
  {                                                                                                          \
    struct pair pair;                                                                                        \
    pair_open(&pair, size);                                                                                  \
    name##_of(&pair);                                                                                        \
    pair_close(&pair);                                                                                       \
  }                                                                                                          \
  static void name##_of(struct pair *pair)

/* Sends one JSON message that has room; returns the result of ring_writer_publish. */
static inline bool pair_send(struct ring_writer *writer, struct text payload)
{
  struct buffer out;
  buffer_init(&out);
  ring_append_frame(&out, RING_JSON, payload);
  assert_int_equal(ring_write(writer, out.data, out.len), out.len);
  buffer_fini(&out);
  return ring_writer_publish(writer);
}

/* The next frame except skips. */
static inline enum ring_found pair_next(struct ring_reader *reader, uint32_t *kind, size_t *length)
{
  enum ring_found found;
  ring_reader_poll(reader);
  do
    found = ring_read_head(reader, kind, length);
  while (found == RING_SKIPPED);
  return found;
}

/* Reads one whole JSON message and publishes the position. */
static inline void pair_receive(struct ring_reader *reader, struct text wanted)
{
  uint32_t kind;
  size_t length;
  assert_int_equal(pair_next(reader, &kind, &length), RING_FRAME);
  assert_int_equal(kind, RING_JSON);
  assert_int_equal(length, wanted.len);
  char *got = malloc(length + 1);
  assert_int_equal(ring_read(reader, got, length + 1), length);
  assert_memory_equal(got, wanted.data, length);
  free(got);
  ring_reader_publish(reader);
}

#endif
