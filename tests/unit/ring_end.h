#ifndef JPEER_TESTS_UNIT_RING_END_H
#define JPEER_TESTS_UNIT_RING_END_H
/* One side of shared memory, the peer's or the client's, which sleeps whenever it waits. One thread at a time. */
#include "base/buffer.h"
#include "ring/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

struct ring_end {
  int fd; /* borrowed: the socket */
  struct ring_region region;
  struct ring_writer out;
  struct ring_reader in;
};

static inline void ring_end_check(bool good, const char *what)
{
  if (good)
    return;
  fprintf(stderr, "the other side: %s\n", what);
  abort();
}

static inline void ring_end_notify(const struct ring_end *end)
{
  (void)send(end->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Publishes the positions of the writer and the reader. */
static inline void ring_end_publish(struct ring_end *end)
{
  if (ring_writer_publish(&end->out))
    ring_end_notify(end);
  if (ring_reader_publish(&end->in))
    ring_end_notify(end);
}

/* Sleeps until there are bytes, or there is room. False: the other side has ended the connection. It may have
 * written bytes before the end. */
static inline bool ring_end_wait(struct ring_end *end, bool for_room)
{
  char notifications[64];
  bool sleeps = for_room ? ring_writer_await_room(&end->out) : ring_reader_sleep(&end->in);
  bool is_open = !sleeps || recv(end->fd, notifications, sizeof notifications, 0) > 0;
  if (for_room)
    ring_writer_wake(&end->out);
  else
    ring_reader_wake(&end->in);
  ring_reader_poll(&end->in);
  ring_end_check(!end->in.is_broken && !end->out.is_broken, "a position is wrong");
  return is_open;
}

/* Waits for room without a time limit. False: the other side has ended the connection. */
static inline bool ring_end_write(struct ring_end *end, const struct buffer *frames)
{
  size_t sent = 0;
  for (bool is_open = true; sent < frames->len; is_open = sent == frames->len || ring_end_wait(end, true)) {
    if (!is_open)
      return false;
    sent += ring_write(&end->out, frames->data + sent, frames->len - sent);
    ring_end_publish(end);
  }
  return true;
}

static inline bool ring_end_write_frame(struct ring_end *end, enum ring_kind kind, struct text payload)
{
  struct buffer frame = {0};
  ring_append_frame(&frame, kind, payload);
  bool is_open = ring_end_write(end, &frame);
  buffer_fini(&frame);
  return is_open;
}

/* Appends the payload of the next frame, and returns its kind; 0: the other side has ended the connection. */
static inline uint32_t ring_end_read(struct ring_end *end, struct buffer *payload)
{
  uint32_t kind = 0;
  size_t length;
  enum ring_found found;
  bool is_open = true;
  while ((found = ring_read_head(&end->in, &kind, &length)) != RING_FRAME) {
    ring_end_check(found != RING_BROKEN, "a frame is wrong");
    ring_end_publish(end);
    if (found == RING_SKIPPED)
      continue;
    if (!is_open)
      return 0;
    is_open = ring_end_wait(end, false);
  }
  while (end->in.left > 0) {
    size_t count = ring_read(&end->in, buffer_reserve(payload, end->in.left), end->in.left);
    payload->len += count;
    ring_end_publish(end);
    if (count == 0 && !ring_end_wait(end, false))
      return 0;
  }
  ring_end_publish(end);
  return kind;
}

#endif
