#include "fake_rings.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(bool good, const char *what)
{
  if (good)
    return;
  perror(what);
  abort();
}

void fake_send_descriptors(int fd, struct text bytes, const int *descriptors, size_t count)
{
  enum { MOST = 16 };
  union {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(MOST * sizeof(int))];
  } control = {0};
  struct iovec part = {.iov_base = (void *)(uintptr_t)bytes.data, .iov_len = bytes.len};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  check(count <= MOST, "too many descriptors");
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  check(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)bytes.len, "sendmsg");
}

void fake_rings_open(struct fake_rings *rings, int fd, size_t ring_size)
{
  int memory;
  char head[200];
  *rings = (struct fake_rings){.fd = fd};
  check(ring_region_create(ring_size, &rings->region, &memory, NULL) == JP_OK, "ring_region_create");
  ring_region_open_peer(&rings->region, &rings->writer, &rings->reader);
  check(ring_reader_sleep(&rings->reader), "ring_reader_sleep"); /* nobody looks before the first read */
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\n"
                        "Connection: Upgrade\r\njpeer-shm-ring: %zu\r\n\r\n",
                        ring_size);
  fake_send_descriptors(fd, (struct text){head, (size_t)length}, &memory, 1);
  close(memory);
}

void fake_rings_close(struct fake_rings *rings)
{
  ring_region_unmap(&rings->region);
}

void fake_rings_ring(const struct fake_rings *rings)
{
  (void)send(rings->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* False: the client has closed. */
static bool await_bell(const struct fake_rings *rings)
{
  char bells[64];
  return recv(rings->fd, bells, sizeof bells, 0) > 0;
}

static bool await_bytes(struct fake_rings *rings)
{
  while (!ring_reader_look(&rings->reader)) {
    check(!rings->reader.is_broken, "the client's position");
    if (ring_reader_sleep(&rings->reader) && !await_bell(rings)) {
      /* What was written before the end comes first. */
      ring_reader_wake(&rings->reader);
      return ring_reader_look(&rings->reader);
    }
    ring_reader_wake(&rings->reader);
  }
  return true;
}

static void publish_taken(struct fake_rings *rings)
{
  if (ring_reader_publish(&rings->reader))
    fake_rings_ring(rings);
}

static bool read_head(struct fake_rings *rings)
{
  for (;;) {
    uint32_t kind;
    size_t length;
    enum ring_found found = ring_read_head(&rings->reader, &kind, &length);
    check(found != RING_BROKEN, "a frame of the client");
    check(found != RING_FRAME || kind == RING_JSON, "the kind of a frame of the client");
    if (found == RING_FRAME)
      return true;
    publish_taken(rings);
    if (found == RING_NOTHING && !await_bytes(rings))
      return false;
  }
}

bool fake_rings_read(struct fake_rings *rings, struct buffer *message)
{
  if (!read_head(rings))
    return false;
  while (rings->reader.left > 0) {
    char *room = buffer_reserve(message, rings->reader.left);
    message->len += ring_read(&rings->reader, room, rings->reader.left);
    publish_taken(rings);
    if (rings->reader.left > 0 && !await_bytes(rings))
      return false;
  }
  publish_taken(rings);
  return true;
}

/* struct ring_rope, with the rings */
static void pull_rope(void *context)
{
  fake_rings_ring(context);
}

bool fake_rings_write(struct fake_rings *rings, enum ring_kind kind, struct text payload)
{
  struct buffer rest = {0};
  size_t sent = 0;
  bool is_open = true;
  const struct ring_rope rope = {pull_rope, rings};
  ring_write_frame(&rings->writer, kind, payload, &rope, &rest);
  for (;;) {
    if (ring_writer_publish(&rings->writer))
      fake_rings_ring(rings);
    if (sent == rest.len || !is_open)
      break;
    if (ring_writer_await_room(&rings->writer))
      is_open = await_bell(rings);
    ring_writer_wake(&rings->writer);
    check(!rings->writer.is_broken, "the client's position");
    sent += ring_write(&rings->writer, rest.data + sent, rest.len - sent);
  }
  buffer_fini(&rest);
  return is_open;
}
