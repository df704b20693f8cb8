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

void begin_sharing(struct ring_client *c)
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

void ring_peer(struct ring_client *c)
{
  char bell = 0;
  assert_int_equal(send(c->fd, &bell, 1, MSG_NOSIGNAL), 1);
}

void show_written(struct ring_client *c)
{
  if (ring_writer_publish(&c->out))
    ring_peer(c);
}

/* Sleeps until the peer has written more, or has taken something where this side waits for room. False: it has
 * ended the connection. */
static bool wait_for_peer(struct ring_client *c, bool for_room)
{
  bool is_open = true;
  bool sleeps = ring_reader_sleep(&c->in);
  if (sleeps && for_room)
    sleeps = ring_writer_await_room(&c->out);
  if (sleeps) {
    char bells[64];
    is_open = recv(c->fd, bells, sizeof bells, 0) > 0;
  }
  ring_reader_wake(&c->in);
  ring_writer_wake(&c->out);
  ring_reader_look(&c->in);
  return is_open;
}

void send_frames(struct ring_client *c, const struct buffer *frames)
{
  size_t sent = 0;
  for (;;) {
    sent += ring_write(&c->out, frames->data + sent, frames->len - sent);
    show_written(c);
    if (sent == frames->len)
      return;
    assert_true(wait_for_peer(c, true));
  }
}

void send_message(struct ring_client *c, struct text message)
{
  struct buffer frame;
  buffer_init(&frame);
  ring_append_frame(&frame, RING_JSON, message);
  send_frames(c, &frame);
  buffer_fini(&frame);
}

uint32_t receive_frame(struct ring_client *c, struct buffer *payload)
{
  uint32_t kind = 0;
  size_t length;
  enum ring_found found;
  bool is_open = true;
  while ((found = ring_read_head(&c->in, &kind, &length)) != RING_FRAME) {
    assert_int_not_equal(found, RING_BROKEN);
    if (found == RING_SKIPPED)
      continue;
    if (!is_open)
      return 0;
    is_open = wait_for_peer(c, false);
  }
  while (c->in.left > 0) {
    char *into = buffer_reserve(payload, c->in.left);
    size_t count = ring_read(&c->in, into, c->in.left);
    payload->len += count;
    if (ring_reader_publish(&c->in))
      ring_peer(c);
    if (count == 0)
      assert_true(wait_for_peer(c, false));
  }
  if (ring_reader_publish(&c->in))
    ring_peer(c);
  return kind;
}

void expect_frame(struct ring_client *c, uint32_t kind, struct text wanted)
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(c, &payload), kind);
  assert_true(text_equal(buffer_text(&payload), wanted));
  buffer_fini(&payload);
}

void expect_answer(struct ring_client *c, struct text wanted)
{
  expect_frame(c, RING_JSON, wanted);
}

void expect_end(struct ring_client *c, const char *reason)
{
  struct buffer payload;
  buffer_init(&payload);
  assert_int_equal(receive_frame(c, &payload), RING_END);
  assert_true(text_equal(buffer_text(&payload), text_of(reason)));
  buffer_clear(&payload);
  assert_int_equal(receive_frame(c, &payload), 0);
  buffer_fini(&payload);
}
