#include "ring_client.h"

#include "unit.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void send_text(int fd, const char *text)
{
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

int receive_head(int fd, char *head, size_t room)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(2 * sizeof(int))];
  } control = {0};
  struct iovec bytes = {.iov_base = head, .iov_len = room - 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  assert_true(count > 0);
  head[count] = '\0';
  struct cmsghdr *found = CMSG_FIRSTHDR(&message);
  if (found == NULL)
    return -1;
  assert_int_equal(found->cmsg_len, CMSG_LEN(sizeof(int)));
  int memory;
  memcpy(&memory, CMSG_DATA(found), sizeof memory);
  return memory;
}

void begin_sharing(struct ring_end *c)
{
  static const char begin[] =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jpeer-shm/1\r\nConnection: Upgrade\r\n"
      "jpeer-shm-ring: ";
  char head[1024];
  char *end;
  struct jp_error error = {0};
  send_text(c->fd, RING_REQUEST);
  int memory = receive_head(c->fd, head, sizeof head);
  assert_memory_equal(head, begin, sizeof begin - 1);
  size_t ring_size = strtoul(head + sizeof begin - 1, &end, 10);
  assert_string_equal(end, "\r\n\r\n");
  assert_int_equal(ring_region_map(memory, ring_size, &c->region, &error), JP_OK);
  close(memory);
  ring_region_open_client(&c->region, &c->out, &c->in);
}

void send_frames(struct ring_end *c, const struct buffer *frames)
{
  assert_true(ring_end_write(c, frames));
}

void send_message(struct ring_end *c, struct text message)
{
  assert_true(ring_end_write_frame(c, RING_JSON, message));
}

void expect_frame(struct ring_end *c, uint32_t kind, struct text wanted)
{
  struct buffer payload = {0};
  assert_int_equal(ring_end_read(c, &payload), kind);
  assert_true(text_equal(buffer_text(&payload), wanted));
  buffer_fini(&payload);
}

void expect_answer(struct ring_end *c, struct text wanted)
{
  expect_frame(c, RING_JSON, wanted);
}

void expect_end(struct ring_end *c, const char *reason)
{
  struct buffer payload = {0};
  assert_int_equal(ring_end_read(c, &payload), RING_END);
  assert_true(text_equal(buffer_text(&payload), text_of(reason)));
  buffer_clear(&payload);
  assert_int_equal(ring_end_read(c, &payload), 0);
  buffer_fini(&payload);
}
