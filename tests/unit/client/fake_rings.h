#ifndef JPEER_TESTS_UNIT_CLIENT_FAKE_RINGS_H
#define JPEER_TESTS_UNIT_CLIENT_FAKE_RINGS_H
/* The peer's end of shared memory, for fake peers. It sleeps whenever it waits. One thread at a time. */
#include "base/buffer.h"
#include "ring/region.h"
#include "tests/unit/unit.h"

struct fake_rings {
  int fd; /* borrowed: the socket */
  struct ring_region region;
  struct ring_writer writer;
  struct ring_reader reader;
};

/* Makes the memory, and sends the 101 that brings it. */
void fake_rings_open(struct fake_rings *rings, int fd, size_t ring_size);
void fake_rings_close(struct fake_rings *rings);
/* Appends the payload of the next frame. False: the client has closed. */
bool fake_rings_read(struct fake_rings *rings, struct buffer *message);
/* Waits for room. False: the client has closed. */
bool fake_rings_write(struct fake_rings *rings, enum ring_kind kind, struct text payload);
void fake_rings_ring(const struct fake_rings *rings);

/* Sends bytes and descriptors by one sendmsg. */
void fake_send_descriptors(int fd, struct text bytes, const int *descriptors, size_t count);

#endif
